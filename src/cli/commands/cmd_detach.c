/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise detach: lets a process go that was attached. */
#include <limits.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/text.h"
#include "capture/attach.h"
#include "cli/options/options.h"
#include "cli/setup/recording_end.h"
#include "cli/terminal/message.h"

static const struct option_spec option_specs[] = {
	{'q', "quiet", NULL, "print only what is wrong"}, {0}};

static void describe_end(pid_t pid, const struct attach_end *end)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_printf(&text, "process %d is let go", (int)pid);
	if (end->file) {
		text_printf(&text, "; its recording is %s", recording_short_name(end->file));
	} else {
		text_add(&text, ": nobody records it; ");
		text_add_counted(&text, end->slots, "reference was", "references were");
		text_add(&text, " put back");
	}
	if (text.failed)
		message_error(error_no_memory());
	else
		message("%s", text.data);
}

static int cmd_detach(const struct command *command, int argc, char **argv)
{
	struct options options = {.command = command, .argc = argc, .argv = argv};
	struct attach_end end;
	bool quiet = false;
	uint64_t pid;
	int id;
	while ((id = options_next(&options)) > 0)
		quiet |= id == 'q';
	if (id < 0)
		return options.exit_code;
	if (argc - options.operand != 1)
		return options_wrong(
			command, argc == options.operand ? "expected a PID" : "expected one PID");
	if (!number_whole(argv[options.operand], &pid) || pid > INT_MAX || !pid)
		return options_wrong(command, "'%s' is not a PID", argv[options.operand]);
	struct error *error = attach_let_go((pid_t)pid, &end);
	if (error)
		return message_error(error);
	if (!quiet)
		describe_end((pid_t)pid, &end);
	if (end.left_bytes)
		message("%llu MiB of address space stay mapped in it, since a thread may return to "
			"them; nothing is recorded there any more",
			(unsigned long long)end.left_bytes >> 20);
	free(end.file);
	return 0;
}

const struct command command_detach = {
	.name = "detach",
	.synopsis = "PID [-q]",
	.what = "Lets a process go that 'heapwise attach' records.",
	.about =
		"Its recording is completed, the references that were changed are put back, and it "
		"runs on at its own\n"
		"speed. Also where the command that attached it was killed.\n",
	.examples = "  heapwise detach 4711\n",
	.options = option_specs,
	.no_files = true,
	.run = cmd_detach,
};
