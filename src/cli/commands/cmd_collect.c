/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise collect: what the runtime starts in a program that was started without the command. */
#include <fcntl.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "capture/autostart_session.h"
#include "capture/daemonize.h"
#include "cli/options/leak_judge.h"
#include "cli/options/recording_options.h"
#include "cli/terminal/message.h"

/* The program goes on now; from here on its standard error is its own. */
static void on_first(const char *text)
{
	if (*text)
		message("%s", text);
	daemonize_close_streams(3);
}

static int cmd_collect(const struct command *command, int argc, char **argv)
{
	hold_standard_streams();
	int connection = argc == 2 ? atoi(argv[1]) : -1;
	if (connection < 3 || fcntl(connection, F_GETFD) < 0)
		return options_wrong(
			command, "this command is started by the runtime library only");
	_cleanup_(recording_options_deinit) struct recording_options options =
		RECORDING_OPTIONS_DEFAULT;
	/* How leaks are shown matters to who shows them, which is not us. */
	_cleanup_(leak_options_deinit) struct leak_options shown, leaks;
	leak_options_init(&shown);
	leak_options_init(&leaks);
	if (!recording_options_from_environment(&options, &shown)) {
		autostart_decline(connection, false);
		return ERROR_USAGE;
	}
	struct leak_judge judge;
	leak_judge_init(&judge, &leaks);
	options.launch.verdict = leak_judge;
	options.launch.verdict_context = &judge;
	struct error *error = autostart_record(&options.launch, connection, on_first);
	if (!error)
		return 0;
	int code = message_error(error_prefix(error, "not recorded"));
	autostart_decline(connection, true);
	return code;
}

const struct command command_collect = {
	.name = "collect",
	.synopsis = "CONNECTION",
	.what = "Records a program that was started with LD_PRELOAD only. Started by the runtime "
		"library.",
	.hidden = true,
	.no_files = true,
	.run = cmd_collect,
};
