/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The engine of `heapwise check --engine=valgrind` alone. */
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/check/engine_valgrind.h"
#include "cli/options/leak_options.h"
#include "cli/options/options.h"
#include "cli/terminal/message.h"

#define EXIT_OURS 125

enum { OPT_TRACE = 256, OPT_ORIGINS, OPT_LEAKS, OPT_SUPP, OPT_GEN, OPT_CODE, OPT_FIRST };

static const struct option_spec option_specs[] = {
	{'o', "output", "FILE", "keep memcheck's XML"},
	{'f', "force", NULL, "replace any file"},
	{'q', "quiet", NULL, "show errors alone"},
	{OPT_TRACE, "trace-children", NULL, "check what the program executes, too"},
	{OPT_ORIGINS, "track-origins", NULL, "say where uninitialised values come from"},
	{OPT_LEAKS, "leak-check", "WHAT", "full, yes, summary or no"},
	{OPT_SUPP, "suppressions", "FILE", "known errors"},
	{OPT_GEN, "gen-suppressions", NULL, "print entries"},
	{OPT_CODE, "error-exitcode", "N", "exit status if there are errors"},
	{OPT_FIRST, "first", NULL, "end at the first error"},
	{0},
};

static int cmd_engine(const struct command *command, int argc, char **argv)
{
	const char *files[16];
	struct check_engine_request request = {
		.error_exitcode = LEAK_NO_EXITCODE, .suppressions = files, .log = STDERR_FILENO};
	struct options options = {.command = command, .argc = argc, .argv = argv};
	int id;
	while ((id = options_next(&options)) > 0) {
		if (id == 'o')
			request.output = options.argument;
		request.overwrite |= id == 'f';
		request.quiet |= id == 'q';
		request.trace_children |= id == OPT_TRACE;
		request.track_origins |= id == OPT_ORIGINS;
		request.gen_suppressions |= id == OPT_GEN;
		request.first |= id == OPT_FIRST;
		if (id == OPT_LEAKS)
			request.leak_check = options.argument;
		if (id == OPT_CODE)
			request.error_exitcode = atoi(options.argument);
		if (id == OPT_SUPP && request.suppression_count < 16)
			files[request.suppression_count++] = options.argument;
	}
	if (id < 0)
		return options.exit_code ? EXIT_OURS : 0;
	if (options.operand >= argc)
		return options_wrong(command, "missing PROGRAM"), EXIT_OURS;
	request.argv = argv + options.operand;
	return check_engine_valgrind(&request);
}

const struct command command_engine = {
	.name = "check-engine",
	.synopsis = "PROGRAM [ARGUMENT…]",
	.what = "Runs a program under Valgrind's memcheck.",
	.options = option_specs,
	.stops_at_operand = true,
	.hidden = true,
	.no_files = true,
	.run = cmd_engine,
};
