/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/watch_recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "capture/collector/tracked_process.h"
#include "capture/recorder/recorder.h"
#include "capture/recording_file.h"
#include "capture/watch/watch_source.h"
#include "process/proc_info.h"

/* The ring of calls has room for much longer; a sample needs less. */
#define WAIT_NS 5000000u
#define WAIT_SAMPLED_NS 50000000u
/* Between what is done now and then: chunks that are old are written. */
#define SERVICE_NS 50000000u

struct watch_recording {
	struct watch_recording_options options;
	struct recording_file file;
	struct watch_source source;
	struct watch *watch;
	struct recorder *recorder;
	struct older_head older_head;
	struct older_list older;
	char command[TRACKED_COMMAND_MAX];
	uint64_t serviced_ns;
	bool has_ended;
};

static struct error *file_open(struct watch_recording *recording)
{
	const struct watch_recording_options *options = &recording->options;
	char program[TRACKED_COMMAND_MAX];
	tracked_process_started_as(options->pid, program);
	tracked_process_command(options->pid, recording->command);
	const struct recording_name name = {.pattern = options->file,
		.program = *program ? program : "program",
		.pid = options->pid,
		.overwrite = options->overwrite};
	return recording_file_open(&name, &recording->file);
}

static struct error *watching_begin(struct watch_recording *recording)
{
	const struct watch_recording_options *options = &recording->options;
	bool is_sampled = options->mode.kind == MODE_SAMPLE;
	const struct watch_options watch = {.pid = options->pid,
		.mean_bytes = is_sampled ? options->mode.sample_bytes : 0,
		.object = options->object,
		.probes = options->probes,
		.on_call = watch_source_call,
		.context = &recording->source};
	struct error *error = watch_open(&watch, &recording->watch);
	recording->source.watch = recording->watch;
	return error;
}

static struct error *recorder_begin(struct watch_recording *recording, uint64_t began_ns)
{
	const struct watch_recording_options *options = &recording->options;
	pid_t parent = process_parent(options->pid), inner = process_inner_pid(options->pid);
	recording->older_head = (struct older_head){.state = OLDER_NONE,
		.why = options->mode.kind == MODE_SAMPLE ? HPW_OLDER_SAMPLED : HPW_OLDER_WATCHED};
	recording->older.head = &recording->older_head;
	const struct recorder_start start = {.pid = options->pid,
		.target_pid = inner,
		.ppid = inner == options->pid ? parent : 0, /* not to be seen from here */
		.outer_ppid = parent,
		.source = &recording->source.source,
		.attached_ns = options->from_start ? 0 : process_age_ns(options->pid),
		.older = options->from_start ? NULL : &recording->older,
		.watched = true,
		.tsc_hz = recording->source.source.hz,
		.mode = options->mode,
		.began = {began_ns, began_ns},
		.file = recording->file.fd,
		.file_name = recording->file.name};
	recording->file.fd = -1; /* taken over */
	return recorder_create(&start, &recording->recorder);
}

static struct error *recording_begin(struct watch_recording *recording)
{
	uint64_t began_ns = clock_pair_now().ns;
	struct error *error = watch_source_init(&recording->source);
	if (!error)
		error = watching_begin(recording);
	if (!error)
		error = recorder_begin(recording, began_ns);
	if (error)
		return error;
	/* Numbers of another PID namespace: whether such a thread lives is not to be seen. */
	recording->recorder->tids_differ |= !watch_sees_threads(recording->watch);
	if (!strcmp(recording->file.now, recording->file.name) ||
		!rename(recording->file.now, recording->file.name))
		return NULL;
	return error_errno(ERROR_ENVIRONMENT, errno, "can't replace %s", recording->file.name);
}

struct error *watch_recording_open(
	const struct watch_recording_options *options, struct watch_recording **ret)
{
	struct watch_recording *recording = calloc(1, sizeof(*recording));
	if (!recording)
		return error_no_memory();
	recording->options = *options;
	recording->file.fd = -1;
	struct error *error = file_open(recording);
	if (!error)
		error = recording_begin(recording);
	if (!error) {
		*ret = recording;
		return NULL;
	}
	if (recording->file.now)
		unlink(recording->file.now);
	watch_recording_close(recording);
	return error;
}

void watch_recording_close(struct watch_recording *recording)
{
	if (!recording)
		return;
	recorder_destroy(recording->recorder);
	watch_close(recording->watch);
	watch_source_deinit(&recording->source);
	if (recording->file.fd >= 0)
		close(recording->file.fd);
	recording_file_deinit(&recording->file);
	free(recording);
}

struct watch *watch_recording_watch(struct watch_recording *recording)
{
	return recording->watch;
}

const char *watch_recording_file(const struct watch_recording *recording)
{
	return recording->file.name;
}

static void recorder_serve(struct watch_recording *recording)
{
	uint64_t now = clock_pair_now().ns;
	if (now - recording->serviced_ns < SERVICE_NS)
		return;
	recording->serviced_ns = now;
	recorder_service(recording->recorder);
}

struct error *watch_recording_step(
	struct watch_recording *recording, uint64_t *ret_wait_ns, bool *ret_ended)
{
	bool has_more;
	struct error *error = watch_source_step(&recording->source, &has_more, ret_ended);
	if (error)
		return error;
	recording->has_ended |= *ret_ended;
	recorder_drain(recording->recorder);
	recorder_serve(recording);
	*ret_wait_ns = has_more                                      ? 0
		       : recording->options.mode.kind == MODE_SAMPLE ? WAIT_SAMPLED_NS
								     : WAIT_NS;
	return NULL;
}

/* What is left in the kernel; the probes are gone, so that it comes to an end. */
static struct error *rest_record(struct watch_recording *recording)
{
	bool has_more = true;
	struct error *error = NULL;
	while (!error && has_more) {
		error = watch_source_rest(&recording->source, &has_more);
		if (!error)
			recorder_drain(recording->recorder);
	}
	return error;
}

/* How it came to an end, as far as that is known: of a child, if it has ended by now. */
static struct recorder_end end_find(const struct watch_recording *recording)
{
	struct recorder_end end = {HPW_EXIT_UNKNOWN, 0};
	int status;
	if (watch_replaced_ns(recording->watch))
		end.kind = HPW_EXIT_EXEC;
	else if (!recording->has_ended)
		end.kind = HPW_EXIT_DETACHED;
	else if (!recording->options.from_start ||
		 waitpid(recording->options.pid, &status, WNOHANG) <= 0)
		return end;
	else if (WIFEXITED(status))
		end = (struct recorder_end){HPW_EXIT_STATUS, (uint32_t)WEXITSTATUS(status)};
	else
		end = (struct recorder_end){HPW_EXIT_SIGNAL, (uint32_t)WTERMSIG(status)};
	return end;
}

static struct error *result_fill(struct watch_recording *recording,
	const struct recorder_totals *totals, struct launch_result *ret)
{
	struct collector_recording *row = calloc(1, sizeof(*row));
	*ret = (struct launch_result){.collector = LAUNCH_COLLECTOR_REPORTED,
		.sampled = totals->is_sampled,
		.file = strdup(recording->file.name),
		.recordings = row,
		.recording_count = 1,
		.end = {.is_end = 1, .recordings = 1, .processes = 1}};
	if (!row || !ret->file) {
		ret->recording_count = 0;
		launch_result_deinit(ret);
		return error_no_memory();
	}
	row->pid = recording->options.pid;
	memcpy(row->command, recording->command, sizeof(row->command));
	snprintf(row->file, sizeof(row->file), "%s", recording->file.name);
	row->totals = *totals;
	return NULL;
}

struct error *watch_recording_finish(struct watch_recording *recording, struct launch_result *ret)
{
	struct recorder_totals totals;
	watch_stop(recording->watch);
	struct error *problem = rest_record(recording);
	const struct recorder_end end = end_find(recording);
	recorder_finish(recording->recorder, &end, &totals);
	struct error *error = result_fill(recording, &totals, ret);
	if (!error && problem)
		snprintf(ret->end.message, sizeof(ret->end.message), "%s", problem->message);
	error_destroy(problem);
	return error;
}
