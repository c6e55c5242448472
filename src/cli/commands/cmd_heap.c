/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise heap: the heap of a process that runs. */
#include <limits.h>

#include "base/number.h"
#include "cli/heap/heap_command.h"
#include "cli/heap/heap_verbs.h"

static const struct option_spec option_specs[] = {
	HEAP_SPECS{0},
};

static bool take_process(struct heap_look *look, const char *word)
{
	uint64_t number;
	if (number_whole(word, &number) && number <= INT_MAX) {
		look->heap.pid = (pid_t)number;
		return true;
	}
	options_wrong(&command_heap, "'%s' is not a PID", word);
	return false;
}

static int cmd_heap_run(const struct command *command, int argc, char **argv)
{
	return heap_command_run(command, argc, argv, take_process);
}

const struct command command_heap = {
	.name = "heap",
	.synopsis = "PID [--html[=FILE]] [OPTION…] [VERB…]",
	.what = "Inspects the heap of a running process; no recording needed.",
	.about = "The process is stopped for some milliseconds while it is copied, and then runs "
		 "on unharmed; the\n"
		 "time is reported. Verbs (default: summary; '--help VERB' shows a verb's "
		 "options):\n",
	.describe = heap_verbs_describe,
	.examples = "  heapwise heap $(pidof -s app)\n"
		    "  heapwise heap 1234 leaks\n"
		    "  heapwise heap 1234 save app.core\n"
		    "  heapwise heap --html 1234           a page: heap-1234.html\n",
	.options = option_specs,
	.run = cmd_heap_run,
};
