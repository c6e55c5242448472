/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise mark: a mark in the recording of a running process, set from outside. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/text.h"
#include "capture/ask.h"
#include "cli/attach/attach_go.h"
#include "cli/options/options.h"
#include "cli/terminal/message.h"

static const struct option_spec option_specs[] = {{0}};

static int cmd_mark_show(const char *name, const struct hw_reply *reply)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_add(&text, "marked '");
	text_add_shown(&text, name, strlen(name));
	text_add(&text, "' after ");
	text_add_duration_ns(&text, reply->time_ns);
	text_add(&text, " of ");
	text_add_shown(&text, reply->file, sizeof(reply->file));
	if (text.failed)
		return message_error(error_no_memory());
	return puts(text.data) < 0 || fflush(stdout)
		       ? message_error(error_create(ERROR_ENVIRONMENT,
				 "the mark is set, but the confirmation can't be printed"))
		       : 0;
}

static int cmd_mark_run(const struct command *command, int argc, char **argv)
{
	struct options options = {.command = command, .argc = argc, .argv = argv};
	if (options_next(&options) < 0)
		return options.exit_code;
	char **words = argv + options.operand;
	uint64_t pid;
	if (argc - options.operand != 2)
		return options_wrong(command, "expected a PID and a name for the mark");
	if (!number_whole(words[0], &pid) || pid > INT_MAX)
		return options_wrong(command, "'%s' is not a PID", words[0]);
	const char *problem = ask_mark_problem(words[1]);
	if (problem)
		return options_wrong(command, "%s", problem);
	struct hw_reply reply;
	struct error *error = ask_for_mark((pid_t)pid, words[1], &reply);
	return error ? message_error(attach_go_explain((pid_t)pid, error))
		     : cmd_mark_show(words[1], &reply);
}

const struct command command_mark = {
	.name = "mark",
	.synopsis = "PID NAME",
	.what = "Sets a named mark in the recording of a running process.",
	.about = "Everything that the process has allocated and freed so far comes before the "
		 "mark. NAME has at most\n"
		 "255 bytes and may be used again: mark:NAME#2 is the second mark of that name. "
		 "Programs can set\n"
		 "marks themselves with heapwise_mark() from <heapwise/client.h>.\n",
	.examples = "  heapwise mark 4711 loaded\n"
		    "  heapwise report --from mark:loaded app.hpw   what was allocated since\n",
	.options = option_specs,
	.no_files = true,
	.run = cmd_mark_run,
};
