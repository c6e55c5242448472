/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/autostart_session.h"

#include "base/cleanup.h"
#include "base/util.h"
#include "capture/collector/collector.h"
#include "capture/daemonize.h"
#include "capture/recording_file.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What was typed, as far as that makes a file's name: the base name of its first argument. */
static void program_name(pid_t pid, char ret[static TRACKED_COMMAND_MAX])
{
	char path[64], line[4096] = "";
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	line[n > 0 ? n : 0] = 0;
	const char *slash = strrchr(line, '/'), *name = slash ? slash + 1 : line;
	name += *name == '-'; /* a login shell */
	size_t bytes = 0;
	while (name[bytes] && !isspace((unsigned char)name[bytes]) && name[bytes] != ':')
		bytes++;
	if (bytes)
		snprintf(ret, TRACKED_COMMAND_MAX, "%.*s", (int)bytes, name);
	else
		tracked_process_command(pid, ret);
	if (!*ret)
		strcpy(ret, "program");
}

static struct error *open_all(const struct launch_options *options, pid_t pid,
	struct recording_file *file, struct session *session)
{
	char program[TRACKED_COMMAND_MAX];
	program_name(pid, program);
	const struct recording_name name = {.pattern = options->file,
		.program = program,
		.pid = pid,
		.overwrite = options->overwrite};
	struct error *error = daemonize_check_limits();
	if (!error)
		error = recording_file_open(&name, file);
	if (!error)
		error = session_create(file->name, session);
	if (error)
		recording_file_discard(file);
	return error;
}

void autostart_decline(int connection, bool heard)
{
	struct session_caller caller = {.connection = connection};
	/* A socket that is closed with something unread takes the answer along. */
	if (heard || session_take(connection, &caller) == SESSION_HELLO)
		session_answer(&caller, -1);
}

struct error *autostart_record(
	const struct launch_options *options, int connection, void (*on_first)(const char *message))
{
	struct clock_pair began = clock_pair_now();
	struct foreign_descriptors apart;
	struct session_caller caller;
	struct recording_file file = {.fd = -1};
	struct session session;
	fcntl(connection, F_SETFD, 0); /* not a library's */
	daemonize_note_descriptors(&apart);
	if (session_take(connection, &caller) != SESSION_HELLO)
		return error_create(
			ERROR_ENVIRONMENT, "the program to record is of another version, or gone");
	struct error *error = open_all(options, caller.pid, &file, &session);
	/* The connection stays open, so that the program waits until the reason has been said. */
	if (error)
		return error;
	caller.session = session.path;
	const int kept[] = {caller.connection, file.fd, session.socket, session.abstract,
		session.lock, options->lifeline, options->errors};
	if (options->on_start)
		options->on_start(options->on_start_context, caller.pid, session.path);
	daemonize(&apart, kept, ARRAY_SIZE(kept));
	daemonize_close_streams(2);
	struct collector_start start = {.session = session,
		.control = -1,
		.root = caller.pid,
		.file = file.fd,
		.file_name = file.name,
		.file_now = file.now,
		.children = options->children,
		.all_processes = options->all_processes,
		.mode = options->mode,
		.leak_check = options->leak_check,
		.dumps = options->dumps,
		.verdict = options->verdict,
		.verdict_context = options->verdict_context,
		.errors = options->errors,
		.began = began,
		.first = &caller,
		.on_first = on_first,
		.on_recording = options->on_recording,
		.on_recording_context = options->on_recording_context};
	bool ok = !collector_run(&start);
	recording_file_deinit(&file);
	return ok ? NULL : error_no_memory();
}
