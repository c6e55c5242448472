/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/node/node_live.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/output_file.h"
#include "cli/node/inspector.h"
#include "cli/node/node_process.h"
#include "process/proc_info.h"

#define ANSWER_WAIT_S 60u
#define CLOSE_WAIT_MS 10000u

/* Only this user's: heaps have secrets. */
#define RESULT_MODE 0600u

static struct error *result_write(struct output_file *file, const char *data, size_t len)
{
	while (len) {
		ssize_t written = write(file->fd, data, len);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return error_errno(ERROR_ENVIRONMENT, errno, "%s: can't write", file->path);
		data += written;
		len -= (size_t)written;
	}
	return NULL;
}

/* The value of {"id":3,"result":{"profile":…}}, with the distance of samples, which V8 does not put
 * in. */
static struct error *profile_write(
	struct output_file *file, const struct text *answer, uint64_t sample_bytes)
{
	char head[64];
	static const char key[] = "\"result\":{\"profile\":";
	const char *at = strstr(answer->data, key);
	size_t before = at ? (size_t)(at - answer->data) + strlen(key) : 0;
	if (!at || answer->len < before + 4 || strcmp(answer->data + answer->len - 2, "}}") != 0 ||
		strncmp(answer->data + before, "{\"", 2) != 0)
		return error_create(ERROR_ENVIRONMENT,
			"the inspector of the process: its answer has no profile");
	snprintf(head, sizeof(head), "{\"samplingInterval\":%" PRIu64 ",", sample_bytes);
	struct error *error = result_write(file, head, strlen(head));
	return error ? error
		     : result_write(file, answer->data + before + 1, answer->len - 3 - before);
}

static sigset_t interrupts_list(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	return set;
}

/* Waits; ^C, which is blocked, ends that. */
static void time_pass(uint64_t for_ns)
{
	const sigset_t set = interrupts_list();
	const struct timespec time = {
		.tv_sec = (time_t)(for_ns / 1000000000u), .tv_nsec = (long)(for_ns % 1000000000u)};
	sigtimedwait(&set, NULL, &time);
}

/* What was asked to end has ended. */
static void interrupts_drop(void)
{
	const sigset_t set = interrupts_list();
	const struct timespec now = {0};
	while (sigtimedwait(&set, NULL, &now) > 0)
		;
}

static struct error *profile_take(
	const struct node_live *live, struct inspector *inspector, struct output_file *file)
{
	_cleanup_(text_deinit) struct text answer;
	char params[64];
	text_init(&answer);
	snprintf(params, sizeof(params), "{\"samplingInterval\":%" PRIu64 "}", live->sample_bytes);
	struct error *error = inspector_ask(inspector, "HeapProfiler.startSampling", params,
		ANSWER_WAIT_S, NULL, NULL, &answer);
	if (error)
		return error;
	time_pass(live->for_ns);
	error = inspector_ask(
		inspector, "HeapProfiler.stopSampling", "{}", ANSWER_WAIT_S, NULL, NULL, &answer);
	return error ? error : profile_write(file, &answer, live->sample_bytes);
}

/* {"method":"HeapProfiler.addHeapSnapshotChunk","params":{"chunk":"…"}}: a piece of the file as a
 * string, in which V8 has escaped quotes, backslashes and line ends, and nothing else. */
static struct error *chunk_write(void *context, const struct text *event)
{
	static const char head[] = "{\"method\":\"HeapProfiler.addHeapSnapshotChunk\"",
			  key[] = "\"chunk\":\"";
	const char *at = strstr(event->data, key);
	if (strncmp(event->data, head, strlen(head)) != 0 || !at)
		return NULL;
	_cleanup_(text_deinit) struct text piece;
	text_init(&piece);
	for (at += strlen(key); *at && *at != '"'; at++) {
		static const char letters[] = "nrtbf", bytes[] = "\n\r\t\b\f";
		size_t plain = strcspn(at, "\"\\");
		text_add_n(&piece, at, plain);
		at += plain;
		if (*at != '\\')
			break;
		at++;
		const char *letter = *at ? strchr(letters, *at) : NULL;
		if (!*at || *at == 'u')
			return error_create(ERROR_ENVIRONMENT,
				"the inspector of the process: a part of the snapshot has "
				"characters that none should have");
		text_add_n(&piece, letter ? &bytes[letter - letters] : at, 1);
	}
	return piece.failed ? error_no_memory() : result_write(context, piece.data, piece.len);
}

static struct error *snapshot_take(struct inspector *inspector, struct output_file *file)
{
	_cleanup_(text_deinit) struct text answer;
	text_init(&answer);
	return inspector_ask(inspector, "HeapProfiler.takeHeapSnapshot",
		"{\"reportProgress\":false}", ANSWER_WAIT_S * 10, chunk_write, file, &answer);
}

/* The process closes its inspector itself, once we have left. */
static void inspector_have_closed(struct node_live *live, const struct node_process *process)
{
	struct inspector inspector;
	_cleanup_(text_deinit) struct text answer;
	text_init(&answer);
	struct error *error = inspector_open(process->port, &inspector);
	if (!error) {
		error = inspector_ask(&inspector, "Runtime.evaluate",
			"{\"expression\":\"{ const i = require('inspector'); setTimeout(() => "
			"i.close(), 50); }\",\"includeCommandLineAPI\":true}",
			ANSWER_WAIT_S, NULL, NULL, &answer);
		inspector_close(&inspector);
	}
	error_destroy(error);
	for (unsigned waited = 0; waited < CLOSE_WAIT_MS; waited += 50) {
		const struct timespec pause = {.tv_nsec = 50000000};
		live->stays_open = node_process_listens(process);
		if (!live->stays_open)
			break;
		nanosleep(&pause, NULL);
	}
}

/* A listener of the process may be the inspector of another one, as descriptors are inherited. */
static struct error *process_prove(struct inspector *inspector, struct node_process *process)
{
	static const char key[] = "\"result\":{\"type\":\"number\",\"value\":";
	_cleanup_(text_deinit) struct text answer;
	text_init(&answer);
	struct error *error = inspector_ask(inspector, "Runtime.evaluate",
		"{\"expression\":\"process.pid\",\"returnByValue\":true}", ANSWER_WAIT_S, NULL,
		NULL, &answer);
	const char *at = error ? NULL : strstr(answer.data, key);
	long pid = at ? strtol(at + strlen(key), NULL, 10) : 0;
	/* 0: the program has put something else in the place of `process`. */
	if (error || !pid || pid == process_inner_pid(process->pid))
		return error;
	/* Not ours to close. */
	process->opened = false;
	return error_create(ERROR_ENVIRONMENT,
		"the inspector at port %u is that of another process (%ld, as that counts)",
		process->port, pid);
}

static struct error *result_take(
	struct node_live *live, struct node_process *process, struct output_file *file)
{
	struct inspector inspector;
	struct error *error = inspector_open(process->port, &inspector);
	if (error)
		return error;
	error = process_prove(&inspector, process);
	if (!error)
		error = live->snapshot ? snapshot_take(&inspector, file)
				       : profile_take(live, &inspector, file);
	inspector_close(&inspector);
	return error;
}

/* With signals that would end the command blocked. */
static struct error *process_take(struct node_live *live, struct output_file *file)
{
	struct node_process process;
	struct error *error = node_process_open(live->pid, &process);
	if (error)
		return error;
	live->port = process.port;
	error = error_prefix(result_take(live, &process, file), "process %d", (int)live->pid);
	interrupts_drop();
	if (process.opened)
		inspector_have_closed(live, &process);
	node_process_close(&process);
	return error;
}

struct error *node_live_write(struct node_live *live)
{
	_cleanup_(output_file_cleanup) struct output_file file = OUTPUT_FILE_NONE;
	/* What can't be written is told before anything happens to the process. */
	struct error *error = output_file_open(live->path, RESULT_MODE, &file);
	if (error)
		return error;
	const sigset_t set = interrupts_list();
	sigset_t before;
	sigprocmask(SIG_BLOCK, &set, &before);
	error = process_take(live, &file);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return error ? error : output_file_commit(&file);
}
