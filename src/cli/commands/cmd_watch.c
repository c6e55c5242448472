/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise watch: allocations of a process that runs, seen from the kernel (BCC's memleak). */
#include "cli/watch/watch_request.h"

#define TOP_USUAL 10u
#define OLDER_USUAL_MS 500u
#define INTERVAL_USUAL_S 5u

static int cmd_watch(const struct command *command, int argc, char **argv)
{
	struct watch_request request = {.watch = {.mean_bytes = WATCH_MEAN_BYTES},
		.shown = {.top = TOP_USUAL, .older_ms = OLDER_USUAL_MS},
		.intervals = {.interval_s = INTERVAL_USUAL_S}};
	struct options options = {.command = command, .argc = argc, .argv = argv};
	int code;
	bool is_taken = options_each(&options, watch_option_take, &request, &code);
	if (is_taken)
		code = watch_request_check(
			command, &request, argv + options.operand, argc - options.operand);
	if (is_taken && code < 0)
		code = watch_request_run(&request);
	watch_names_close(&request.names);
	watch_verify_deinit(&request.verify);
	return code;
}

const struct command command_watch = {
	.name = "watch",
	.synopsis = "PID|-c COMMAND|--kernel [INTERVAL [COUNT]] [OPTION…]",
	.what = "Shows which stacks of a process that runs hold memory, seen from the kernel.",
	.about = "What BCC's memleak does: the functions of the process's allocator are probed by "
		 "eBPF programs, and\n"
		 "every INTERVAL seconds (default: 5) the stacks with the most outstanding bytes "
		 "are "
		 "printed, with what\n"
		 "they grew by since the last time and since the start. heapwise writes nothing to "
		 "the process and never\n"
		 "stops it (but for --verify); the kernel has breakpoints in its code for as long "
		 "as it is watched. "
		 "What "
		 "it had allocated\n"
		 "before is not known.\n"
		 "\nWith -o FILE (a name; a number is memleak's -o OLDER) nothing is printed: all "
		 "calls go to a recording,\n"
		 "on which 'heapwise report' and all other views work.\n"
		 "\nWith --kernel, or without PID and COMMAND, the kernel's own allocations are "
		 "watched, of the whole machine\n"
		 "(its objects and pages, or with --percpu memory that each processor has its own "
		 "of). This takes root.\n"
		 "\nFigures are estimates from samples unless --all is given. It takes CAP_BPF and "
		 "CAP_PERFMON (or root)\n"
		 "and Linux 6.6 (5.17: root); neither compiler nor kernel headers are needed. "
		 "'heapwise attach' "
		 "costs the process\n"
		 "less, but changes it.\n",
	.examples = "  heapwise watch $(pidof redis-server)\n"
		    "  heapwise watch 4711 10 6 --all        six times, every ten seconds\n"
		    "  heapwise watch -c './app --port 80' --all\n"
		    "  heapwise watch --kernel 10 6          six times, every ten seconds\n"
		    "  heapwise watch 4711 -o app.hpw --for 60s && heapwise report app.hpw\n",
	.options = watch_option_specs,
	.no_files = true,
	.run = cmd_watch,
};
