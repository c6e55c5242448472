/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise run: a program, started and recorded; its ending is ours. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "capture/launch.h"
#include "cli/message.h"
#include "cli/options.h"
#include "process/program.h"

/* As env(1): our own failures leave the program's range of statuses alone. */
enum { EXIT_OURS = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

static const struct option_spec option_specs[] = {
	{'o', "output", "FILE",
		"the recording (default: heapwise.%n.%p.hpw); %n program, %p PID, %h host"},
	{'f', "force", NULL, "replace FILE if it exists"},
	{'q', "quiet", NULL, "no summary at the end"},
	{0},
};

struct request {
	struct launch_options launch;
	bool quiet;
};

static int parse(const struct command *command, int argc, char **argv, struct request *ret)
{
	struct options options = {.command = command, .argc = argc, .argv = argv};
	int id;
	while ((id = options_next(&options)) > 0) {
		switch (id) {
		case 'o':
			ret->launch.file = options.argument;
			break;
		case 'f':
			ret->launch.overwrite = true;
			break;
		case 'q':
			ret->quiet = true;
			break;
		}
	}
	if (id < 0)
		return options.exit_code ? EXIT_OURS : 0;
	if (options.operand >= argc) {
		options_wrong(command, "a program is missing");
		return EXIT_OURS;
	}
	ret->launch.argv = argv + options.operand;
	return -1;
}

/* The library stands in a fixed place relative to the command, built or installed. */
static char *runtime_find(void)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n <= 0)
		return NULL;
	self[n] = 0;
	*strrchr(self, '/') = 0;
	static const char *const places[] = {HW_RT_BUILD_RELPATH, HW_RT_INSTALL_RELPATH};
	for (int i = 0; i < 2; i++) {
		char path[2 * PATH_MAX];
		if (places[i][0] == '/')
			snprintf(path, sizeof(path), "%s", places[i]);
		else
			snprintf(path, sizeof(path), "%s/%s", self, places[i]);
		char *found = realpath(path, NULL);
		if (found && !strpbrk(found, " :"))
			return found;
		free(found);
	}
	return NULL;
}

static void say_totals(const struct launch_result *r)
{
	const struct recorder_totals *t = &r->totals;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_add(&text, "recorded ");
	text_add_count(&text, t->events);
	text_add(&text, " events in ");
	text_add_duration_ns(&text, t->duration_ns);
	text_add(&text, "; peak ");
	text_add_bytes(&text, t->peak_bytes);
	text_add(&text, ", ");
	text_add_count(&text, t->allocations);
	text_add(&text, " allocations of ");
	text_add_bytes(&text, t->allocated_bytes);
	message("%s", text.data ? text.data : "");
	text.len = 0;
	if (t->live_blocks) {
		text_add_bytes(&text, t->live_bytes);
		text_add(&text, " in ");
		text_add_count(&text, t->live_blocks);
		text_add(&text, " blocks were never freed");
	} else if (t->notes & HPW_NOTE_NOT_ATTACHED) {
		text_add(&text, "NOTHING was seen: no room for the recorder inside the program "
				"(ulimit -v?)");
	} else if (t->notes & HPW_NOTE_OWN_MALLOC) {
		text_add(&text, "the executable defines malloc itself, whose calls are NOT seen");
	} else {
		text_add(&text, t->allocations ? "every block was freed" : "nothing was allocated");
	}
	if (t->lost) {
		text_add(&text, "; ");
		text_add_count(&text, t->lost);
		text_add(&text, " events were LOST, figures are too low");
	}
	message("%s", text.data ? text.data : "");
	if (t->children)
		message("%llu other process%s it started were not recorded",
			(unsigned long long)t->children, t->children == 1 ? "" : "es");
}

/* The file as it is shortest to type from here. */
static const char *short_name(const char *file)
{
	char folder[PATH_MAX];
	if (!getcwd(folder, sizeof(folder)))
		return file;
	size_t n = strlen(folder);
	return !strncmp(file, folder, n) && file[n] == '/' ? file + n + 1 : file;
}

static void say_end(const struct launch_result *r, bool quiet)
{
	if (!r->have_totals) {
		message("the collector was killed or stopped; what %s holds can be read",
			short_name(r->file));
		return;
	}
	if (!r->totals.connected) {
		message("nothing was recorded: the program ended without loading the runtime%s%s",
			r->totals.message[0] ? ": " : "", r->totals.message);
		return;
	}
	if (r->totals.write_error)
		message("%s", r->totals.message);
	if (quiet)
		return;
	say_totals(r);
	message("now type: heapwise report %s", short_name(r->file));
}

/* Ends as the program did; a second core file would help nobody. */
static int end_like(int status)
{
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	int number = WTERMSIG(status);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	signal(number, SIG_DFL);
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
	return 128 + number;
}

static int refuse(struct error *error, enum program_state state)
{
	message_error(error);
	return state == PROGRAM_NOT_FOUND        ? EXIT_NOT_FOUND
	       : state == PROGRAM_NOT_EXECUTABLE ? EXIT_NOT_EXECUTABLE
						 : EXIT_OURS;
}

/*
 * A closed standard stream stays closed for the program (the place holder goes at exec), but none
 * of our own descriptors may come to stand in its place.
 */
static void hold_standard_streams(void)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
			return;
	}
}

static int run(const struct command *command, int argc, char **argv)
{
	hold_standard_streams();
	struct request request = {.quiet = false};
	int code = parse(command, argc, argv, &request);
	if (code >= 0)
		return code;
	_cleanup_free_ char *program = NULL;
	enum program_state state;
	struct error *error = program_find(request.launch.argv[0], &program, &state);
	if (error)
		return refuse(error, state);
	_cleanup_free_ char *runtime = runtime_find();
	if (!runtime) {
		message("libheapwise-rt.so is not where it belongs beside this command; build or "
			"install again");
		return EXIT_OURS;
	}
	request.launch.program = program;
	request.launch.runtime = runtime;
	struct launch_result result;
	error = launch(&request.launch, &result);
	if (error) {
		message_error(error);
		return EXIT_OURS;
	}
	_cleanup_free_ char *file = result.file;
	if (result.exec_errno) {
		message("%s: %s", request.launch.argv[0], strerror(result.exec_errno));
		return result.exec_errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
	}
	say_end(&result, request.quiet);
	fflush(stderr);
	return end_like(result.status);
}

const struct command command_run = {
	.name = "run",
	.synopsis = "[-o FILE] [-f] [-q] [--] PROGRAM [ARGUMENT…]",
	.what = "Starts a program and records where its heap goes.",
	.about = "The program's streams, folder, signals and ending are its own: the exit status "
		 "is its status,\n"
		 "or the same signal. Failures of this command are 125, 126 (not executable) and "
		 "127 (not\n"
		 "found), as for env(1).\n",
	.examples = "  heapwise run ./app --fast input.txt\n"
		    "  heapwise run -o before.hpw -- jq . big.json\n",
	.options = option_specs,
	.stops_at_operand = true,
	.run = run,
};
