/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise collect: what the runtime starts in a program that was started without the command. */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "capture/autostart_session.h"
#include "capture/daemonize.h"
#include "cli/options/leak_judge.h"
#include "cli/options/recording_options.h"
#include "cli/options/shims.h"
#include "cli/terminal/message.h"

/* The program goes on now; from here on its standard error is its own. */
static void on_first(const char *text)
{
	if (*text)
		message("%s", text);
	daemonize_close_streams(3);
}

DEFINE_VEC(recording_ends, struct collector_recording)

/* Without memory it is left out; nobody reads a message. */
static void keep_recording(void *context, const struct collector_recording *recording)
{
	(void)!recording_ends_push(context, *recording);
}

/* Records, and has the tool that the program is recorded as write its files at the end. */
static struct error *cmd_collect_record(struct recording_options *options, int connection)
{
	char folder[PATH_MAX];
	_cleanup_(recording_ends_deinit) struct recording_ends ends = {.data = NULL};
	struct shim_run run = {.folder = getcwd(folder, sizeof(folder)), .quiet = true};
	options->launch.on_recording = keep_recording;
	options->launch.on_recording_context = &ends;
	_cleanup_(http_server_deinit) struct http_server http;
	struct error *error = recording_options_serve(options, &http);
	if (error) { /* the program is recorded all the same */
		message("%s", error->message);
		error_destroy(error);
	}
	error = autostart_record(&options->launch, connection, on_first);
	run.recordings = ends.data;
	run.recording_count = ends.len;
	if (!error)
		shim_conclude(options->shim, &run);
	return error;
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
	struct error *error = cmd_collect_record(&options, connection);
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
