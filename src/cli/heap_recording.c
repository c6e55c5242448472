/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/heap_recording.h"
#include "cli/context.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capture/ask.h"
#include "cli/message.h"
#include "process/living.h"
#include "query/bundles.h"
#include "query/recordings.h"
#include "sources/heap_join.h"

/* Of a folder, so many files are looked into at most. */
#define FILES_MAX 1000u
/* Rows come one after the other; who says nothing for so long says nothing more. */
#define SILENCE_MS 10000
#define ROWS_AT_ONCE 1024

void heap_recording_deinit(struct heap_recording *recording)
{
	model_destroy(recording->model);
	free(recording->blocks);
	free(recording->path);
	if (recording->is_asked)
		close(recording->pipe);
	*recording = (struct heap_recording){.path = NULL};
}

static bool has_rings(const struct process_maps *maps)
{
	for (size_t i = 0; i < maps->maps.len; i++) {
		if (strstr(maps->maps.data[i].path, "heapwise-rings."))
			return true;
	}
	return false;
}

bool heap_recording_is_wanted(const struct address_space *space)
{
	return has_rings(&space->maps);
}

bool heap_recording_is_wanted_of(pid_t pid)
{
	struct process_maps maps;
	struct error *error = process_maps_read(process_living_thread(pid), &maps);
	bool is = !error && has_rings(&maps);
	if (!error)
		process_maps_deinit(&maps);
	error_destroy(error);
	return is;
}

/* Some of what comes through the pipe, in bytes; 0: it has ended, or nothing has come for long. */
static size_t read_some(int pipe, void *ret, size_t room)
{
	struct pollfd more = {.fd = pipe, .events = POLLIN};
	ssize_t n;
	do
		n = poll(&more, 1, SILENCE_MS) == 1 ? read(pipe, ret, room) : 0;
	while (n < 0 && errno == EINTR);
	return n > 0 ? (size_t)n : 0;
}

/* Room for one more: as many as were announced may never come. */
static bool make_room(struct heap_recording *r, size_t *room)
{
	if (r->count < *room)
		return true;
	size_t more = *room ? *room * 2 : 4096;
	void *moved = realloc(r->blocks, more * sizeof(*r->blocks));
	if (!moved)
		return false;
	r->blocks = moved;
	*room = more;
	return true;
}

/* What the collector tells, up to the end. */
static struct error *read_blocks(struct heap_recording *r)
{
	struct ask_block rows[ROWS_AT_ONCE];
	size_t room = 0, held = 0, taken;
	if (!make_room(r, &room))
		return error_no_memory();
	while (r->count < r->told &&
		(taken = read_some(r->pipe, (char *)rows + held, sizeof(rows) - held))) {
		held += taken;
		size_t whole = held / sizeof(*rows);
		for (size_t i = 0; i < whole && r->count < r->told; i++) {
			if (!make_room(r, &room))
				return error_no_memory();
			r->blocks[r->count++] = (struct live_block){.address = rows[i].address,
				.size = rows[i].size,
				.site = {rows[i].site},
				.thread = {rows[i].thread},
				.number = rows[i].number};
		}
		held -= whole * sizeof(*rows);
		memmove(rows, rows + whole, held);
	}
	close(r->pipe);
	r->is_asked = false;
	if (r->count == r->told)
		return NULL;
	return error_create(ERROR_ENVIRONMENT,
		"%s: its collector has told %zu of %llu live blocks, then it ended", r->path,
		r->count, (unsigned long long)r->told);
}

bool heap_recording_ask(pid_t pid, bool anyhow, struct heap_recording *ret)
{
	struct ask_reply reply;
	struct error *error = ask_for_blocks(pid, anyhow, &reply, &ret->pipe);
	if (!error && ret->pipe < 0)
		return false;
	ret->is_asked = !error;
	if (!error) {
		ret->told = reply.blocks;
		ret->path = strdup(reply.file);
		error = ret->path ? NULL : error_no_memory();
	}
	if (!error)
		return true;
	message("it is not joined with its recording: %s", error->message);
	error_destroy(error);
	heap_recording_deinit(ret);
	return true;
}

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);
	return len > end_len && !strcmp(name + len - end_len, end);
}

static inline void closedir_cleanup(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static struct error *open_model(const char *path, bool runs, struct model **ret)
{
	unsigned flags = SOURCE_TABLES | (runs ? SOURCE_OF_RUNNING : SOURCE_WITH_LIVE);
	return recording_open(cli_context(), path, flags, NULL, ret);
}

/* Whether a file is the recording of this process. */
static bool is_its(const char *path, const struct address_space *space)
{
	struct model *model = NULL;
	struct error *error = recording_open(cli_context(), path, SOURCE_TABLES, NULL, &model);
	if (!error && space->owner.pid &&
		model_target(model)->outer_pid != (uint32_t)space->owner.pid &&
		model_target(model)->pid != (uint32_t)space->owner.pid)
		error = error_create(ERROR_INPUT, "another process");
	if (!error)
		error = heap_join_check(space, model, path);
	bool is = !error;
	error_destroy(error);
	model_destroy(model);
	return is;
}

/* Looks into a folder for it: first among those that are called after the process. */
static char *find_in(const char *folder, const struct address_space *space)
{
	char number[32];
	snprintf(number, sizeof(number), ".%d.", (int)space->owner.pid);
	for (int pass = 0; pass < 2; pass++) {
		_cleanup_(closedir_cleanup) DIR *dir = opendir(folder);
		size_t left = FILES_MAX;
		for (struct dirent *entry; dir && left && (entry = readdir(dir));) {
			_cleanup_free_ char *path = NULL;
			bool named = strstr(entry->d_name, number);
			if (!ends_with(entry->d_name, ".hpw") || named == (pass == 1))
				continue;
			left--;
			bool here = !strcmp(folder, ".");
			if (asprintf(&path, "%s%s%s", here ? "" : folder, here ? "" : "/",
				    entry->d_name) < 0)
				return NULL;
			if (is_its(path, space))
				return steal_ptr(path);
		}
	}
	return NULL;
}

static char *find_beside(const char *core, const struct address_space *space)
{
	const char *slash = core ? strrchr(core, '/') : NULL;
	_cleanup_free_ char *folder =
		slash ? strndup(core, slash == core ? 1 : (size_t)(slash - core)) : NULL;
	char *found = folder ? find_in(folder, space) : NULL;
	return found ? found : find_in(".", space);
}

struct error *heap_recording_open(const char *path, const char *core,
	const struct address_space *space, struct heap_recording *ret)
{
	if (path) {
		free(ret->path);
		ret->path = strdup(path);
		if (!ret->path)
			return error_no_memory();
	}
	if (!ret->path && core)
		ret->path = find_beside(core, space);
	if (!ret->path) {
		if (core)
			message("%s was recorded, but its recording is neither beside it nor here: "
				"--recording FILE says where allocations came from",
				core);
		return NULL;
	}
	struct error *error = ret->is_asked ? read_blocks(ret) : NULL;
	if (!error)
		error = open_model(ret->path, ret->blocks, &ret->model);
	if (!error)
		error = heap_join_check(space, ret->model, ret->path);
	if (error)
		return error;
	if (!ret->blocks)
		recording_warn(cli_context(), ret->model, ret->path);
	ret->joined = (struct joined){.recording = ret->model,
		.name = ret->path,
		.blocks = ret->blocks,
		.count = ret->count};
	if (!ret->blocks)
		ret->joined.blocks = model_live(ret->model, &ret->joined.count);
	return NULL;
}
