/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/heap_recording.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/proc_info.h"
#include "query/bundles.h"
#include "query/recordings.h"
#include "sources/heap_join.h"

/* Of a folder, so many files are looked into at most. */
#define FILES_MAX 1000u

void heap_recording_deinit(struct heap_recording *recording)
{
	model_destroy(recording->model);
	free(recording->blocks);
	free(recording->path);
	if (recording->is_asked)
		close(recording->live_blocks.pipe);
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
	struct error *error = process_maps_read(process_first_live_thread(pid), &maps);
	bool is = !error && has_rings(&maps);
	if (!error)
		process_maps_deinit(&maps);
	error_destroy(error);
	return is;
}

/* What the collector tells, up to the end. */
static struct error *read_blocks(struct query_context *context, struct heap_recording *r)
{
	const uint64_t announced = r->live_blocks.blocks;
	struct error *error =
		context->listener.collector->read(&r->live_blocks, &r->blocks, &r->count);
	r->is_asked = false;
	if (error || r->count == announced)
		return error;
	return error_create(ERROR_ENVIRONMENT,
		"%s: its collector sent %zu of %llu live blocks, then ended", r->path, r->count,
		(unsigned long long)announced);
}

static struct error *ask_collector(
	struct query_context *context, pid_t pid, bool anyhow, struct query_live_blocks *ret)
{
	const struct query_collector *collector = context->listener.collector;
	return collector ? collector->ask(pid, anyhow, ret)
			 : error_create(ERROR_ENVIRONMENT,
				   "process %d is being recorded, but its collector can't be asked "
				   "from here",
				   (int)pid);
}

bool heap_recording_ask(
	struct query_context *context, pid_t pid, bool anyhow, struct heap_recording *ret)
{
	struct error *error = ask_collector(context, pid, anyhow, &ret->live_blocks);
	if (!error && ret->live_blocks.pipe < 0)
		return false;
	ret->is_asked = !error;
	if (!error) {
		ret->path = ret->live_blocks.path;
		return true;
	}
	query_note(context, "not combined with its recording: %s", error->message);
	error_destroy(error);
	heap_recording_deinit(ret);
	return true;
}

static bool heap_recording_ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);
	return len > end_len && !strcmp(name + len - end_len, end);
}

static inline void closedir_cleanup(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static struct error *open_model(
	struct query_context *context, const char *path, bool runs, struct model **ret)
{
	unsigned flags = SOURCE_TABLES | (runs ? SOURCE_OF_RUNNING : SOURCE_WITH_LIVE);
	return recording_open(context, path, flags, NULL, ret);
}

/* Whether a file is the recording of this process. */
static bool is_its(
	struct query_context *context, const char *path, const struct address_space *space)
{
	struct model *model = NULL;
	struct error *error = recording_open(context, path, SOURCE_TABLES, NULL, &model);
	if (!error && space->owner.pid &&
		model_target(model)->outer_pid != (uint32_t)space->owner.pid &&
		model_target(model)->pid != (uint32_t)space->owner.pid)
		error = error_create(ERROR_INPUT, "it is of another process");
	if (!error)
		error = heap_join_check(space, model, path);
	bool is = !error;
	error_destroy(error);
	model_destroy(model);
	return is;
}

/* Looks into a folder for it: first among those that are called after the process. *ret_cut: it has
 * more recordings than were looked into. */
static char *find_in(struct query_context *context, const char *folder,
	const struct address_space *space, bool *ret_cut)
{
	char number[32];
	snprintf(number, sizeof(number), ".%d.", (int)space->owner.pid);
	for (int pass = 0; pass < 2; pass++) {
		_cleanup_(closedir_cleanup) DIR *dir = opendir(folder);
		size_t left = FILES_MAX;
		for (struct dirent *entry; dir && (entry = readdir(dir));) {
			_cleanup_free_ char *path = NULL;
			bool named = strstr(entry->d_name, number);
			if (!heap_recording_ends_with(entry->d_name, ".hpw") ||
				named == (pass == 1))
				continue;
			*ret_cut |= !left;
			if (!left)
				break;
			left--;
			bool here = !strcmp(folder, ".");
			if (asprintf(&path, "%s%s%s", here ? "" : folder, here ? "" : "/",
				    entry->d_name) < 0)
				return NULL;
			if (is_its(context, path, space))
				return steal_ptr(path);
		}
	}
	return NULL;
}

static char *find_beside(struct query_context *context, const char *core,
	const struct address_space *space, bool *ret_cut)
{
	const char *slash = core ? strrchr(core, '/') : NULL;
	_cleanup_free_ char *folder =
		slash ? strndup(core, slash == core ? 1 : (size_t)(slash - core)) : NULL;
	char *found = folder ? find_in(context, folder, space, ret_cut) : NULL;
	return found ? found : find_in(context, ".", space, ret_cut);
}

struct error *heap_recording_open(struct query_context *context, const char *path, const char *core,
	const struct address_space *space, struct heap_recording *ret)
{
	if (path) {
		free(ret->path);
		ret->path = strdup(path);
		if (!ret->path)
			return error_no_memory();
	}
	bool is_cut = false;
	if (!ret->path && core)
		ret->path = find_beside(context, core, space, &is_cut);
	if (!ret->path) {
		if (core && is_cut)
			query_note(context,
				"%s was recorded, but its recording is not among the %u that were "
				"looked into next to it or here (there are more): use --recording "
				"FILE to see where blocks were allocated",
				core, FILES_MAX);
		else if (core)
			query_note(context,
				"%s was recorded, but its recording is neither next to it nor "
				"here: use --recording FILE to see where blocks were allocated",
				core);
		return NULL;
	}
	struct error *error = ret->is_asked ? read_blocks(context, ret) : NULL;
	if (!error)
		error = open_model(context, ret->path, ret->blocks, &ret->model);
	if (!error)
		error = heap_join_check(space, ret->model, ret->path);
	if (error)
		return error;
	if (!ret->blocks)
		recording_warn(context, ret->model, ret->path);
	ret->joined = (struct joined){.recording = ret->model,
		.name = ret->path,
		.blocks = ret->blocks,
		.count = ret->count};
	if (!ret->blocks)
		ret->joined.blocks = model_live(ret->model, &ret->joined.count);
	return NULL;
}
