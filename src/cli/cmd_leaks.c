/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise leaks: what a recorded search for leaks has found. */
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/leak_report.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/recordings.h"

enum { OPT_DETAIL = 256 };

static const struct option_spec option_specs[] = {
	{OPT_DETAIL, "leak-check", "[=WHAT]",
		"full (default): each place; summary: the kinds alone; no: only what is left"},
	LEAK_OPTIONS,
	{'q', "quiet", NULL, "only places, nothing if there are none"},
	{0},
};

/* False: leave with *ret_code, all is said. */
static bool take(const struct command *command, struct leak_options *options, int id,
	const char *argument, int *ret_code)
{
	bool taken = false;
	if (id == OPT_DETAIL)
		options->detail = argument ? argument : "full";
	else if (id == 'q')
		options->quiet = true;
	struct error *error = leak_options_take(options, id, argument, &taken);
	if (!error)
		return true;
	*ret_code = options_wrong(command, "%s", error->message);
	error_destroy(error);
	return false;
}

static int show(struct leak_report *report, char *const *paths, int count)
{
	if (count == 0) {
		_cleanup_free_ char *newest = NULL;
		struct error *error = recording_newest(&newest);
		if (error)
			return message_error(error);
		message("reading %s, the newest recording here", newest);
		return leak_report_show(report, newest, STDOUT_FILENO);
	}
	int code = 0;
	for (int i = 0; i < count; i++) {
		int this = leak_report_show(report, paths[i], STDOUT_FILENO);
		code = code ? code : this;
	}
	return code;
}

static int run(const struct command *command, int argc, char **argv)
{
	_cleanup_(leak_options_deinit) struct leak_options leaks;
	leak_options_init(&leaks);
	struct options options = {.command = command, .argc = argc, .argv = argv};
	int id, code;
	while ((id = options_next(&options)) > 0)
		if (!take(command, &leaks, id, options.argument, &code))
			return code;
	if (id < 0)
		return options.exit_code;
	_cleanup_(leak_report_cleanup) struct leak_report *report = NULL;
	struct error *error = leak_report_create(&leaks, &report);
	if (error && error->code == ERROR_USAGE) {
		code = options_wrong(command, "%s", error->message);
		error_destroy(error);
		return code;
	}
	if (error)
		return message_error(error);
	return show(report, argv + options.operand, argc - options.operand);
}

const struct command command_leaks = {
	.name = "leaks",
	.synopsis = "[FILE…] [--show-leak-kinds LIST] [--suppressions FILE] [--format FORM] "
		    "[OPTION…]",
	.what = "Says what of a program's memory was lost, and who holds the rest.",
	.about = "Without FILE: the newest recording (*.hpw) in the current folder. Kinds are "
		 "known of a\n"
		 "recording that was made with 'heapwise run --leak-check=full'; of another one "
		 "what was never\n"
		 "freed is shown. Options are called as Valgrind's that mean the same. The exit "
		 "status is 0 unless\n"
		 "--error-exitcode is given and there are errors.\n",
	.examples = "  heapwise leaks app.hpw                            what was lost\n"
		    "  heapwise leaks --show-leak-kinds=all app.hpw      and who holds the rest\n"
		    "  heapwise leaks --format=memcheck app.hpw          as Valgrind would say it\n"
		    "  heapwise leaks --error-exitcode=1 -q --suppressions=known.supp app.hpw\n",
	.options = option_specs,
	.run = run,
};
