/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise detach: lets a process go that was attached. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "capture/attach.h"
#include "cli/attach/attach_go.h"
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
		if (end->collector)
			text_printf(&text,
				" without its collector (process %d), which completes the "
				"recording when it goes on; ",
				(int)end->collector);
		else
			text_add(&text, ": nobody records it; ");
		text_add_counted(&text, end->slots, "reference was", "references were");
		text_add(&text, " put back");
	}
	if (text.failed)
		message_error(error_no_memory());
	else
		message("%s", text.data);
}

static void describe_wait(void *context, pid_t collector, bool stopped)
{
	const pid_t *pid = context;
	if (stopped)
		message("the collector of process %d (process %d) is stopped (SIGSTOP?): 'kill "
			"-CONT %d' "
			"lets it go on; waiting for a second",
			(int)*pid, (int)collector, (int)collector);
	else
		message("waiting for the collector of process %d (process %d), which is busy",
			(int)*pid, (int)collector);
}

static int cmd_detach(const struct command *command, int argc, char **argv)
{
	struct options options = {.command = command, .argc = argc, .argv = argv};
	struct attach_end end;
	bool quiet = false;
	pid_t pid;
	int id;
	while ((id = options_next(&options)) > 0)
		quiet |= id == 'q';
	if (id < 0)
		return options.exit_code;
	if (!options_one_pid(&options, &pid))
		return ERROR_USAGE;
	struct error *error = attach_let_go(pid, describe_wait, &pid, &end);
	if (error)
		return message_error(attach_go_explain(pid, error));
	if (!quiet)
		describe_end(pid, &end);
	if (end.late_tid)
		message("thread %d does not return from the kernel (it waits for its vfork child, "
			"or "
			"for a dead disk)",
			(int)end.late_tid);
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
