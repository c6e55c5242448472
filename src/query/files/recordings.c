/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/recordings.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "model/model.h"

static bool recordings_ends_with(const char *name, const char *end)
{
	size_t name_len = strlen(name), end_len = strlen(end);
	return name_len > end_len && strcmp(name + name_len - end_len, end) == 0;
}

static bool is_newer(const struct stat *a, const struct stat *b)
{
	if (a->st_mtim.tv_sec != b->st_mtim.tv_sec)
		return a->st_mtim.tv_sec > b->st_mtim.tv_sec;
	return a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
}

static inline void closedir_cleanup(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

struct error *recording_newest(char **ret)
{
	_cleanup_(closedir_cleanup) DIR *dir = opendir(".");
	if (!dir)
		return error_errno(ERROR_ENVIRONMENT, errno, "can't list the current directory");
	_cleanup_free_ char *best = NULL;
	struct stat best_stat = {0};
	for (struct dirent *entry; (entry = readdir(dir));) {
		struct stat stat;
		if (!recordings_ends_with(entry->d_name, ".hpw") ||
			fstatat(dirfd(dir), entry->d_name, &stat, 0) != 0 || !S_ISREG(stat.st_mode))
			continue;
		if (best && !is_newer(&stat, &best_stat) &&
			(is_newer(&best_stat, &stat) || strcmp(entry->d_name, best) < 0))
			continue;
		char *name = strdup(entry->d_name);
		if (!name)
			return error_no_memory();
		free(best);
		best = name;
		best_stat = stat;
	}
	if (!best)
		return error_create(ERROR_INPUT, "no recording (*.hpw) in this directory; create "
						 "one with 'heapwise run PROGRAM'");
	*ret = steal_ptr(best);
	return NULL;
}

static int is_recording_name(const struct dirent *entry)
{
	return *entry->d_name != '.' && recordings_ends_with(entry->d_name, ".hpw");
}

static struct error *add_path(const char *folder, const char *name, struct recording_paths *ret)
{
	char *path;
	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return error_no_memory();
	if (recording_paths_push(ret, path))
		return NULL;
	free(path);
	return error_no_memory();
}

struct error *recordings_in_folder(const char *folder, struct recording_paths *ret)
{
	struct dirent **entries = NULL;
	struct error *error = NULL;
	int count = scandir(folder, &entries, is_recording_name, alphasort);
	if (count < 0)
		return error_errno(ERROR_INPUT, errno, "can't list the folder %s", folder);
	for (int i = 0; i < count; i++) {
		if (!error)
			error = add_path(folder, entries[i]->d_name, ret);
		free(entries[i]);
	}
	free(entries);
	if (!error && !count)
		error = error_create(ERROR_INPUT, "no recording (*.hpw) in %s", folder);
	return error;
}

void recording_warn(struct query_context *context, const struct model *model, const char *path)
{
	size_t count;
	const char *const *damage = model_damage(model, &count);
	if (!model_recording(model)->complete)
		query_note(context, "%s is incomplete: figures %s", path,
			model_recording(model)->types ? "are of what is there"
						      : "are valid up to where it ends");
	for (size_t i = 0; i < count; i++)
		query_note(context, "%s: %s", path, damage[i]);
	if (model_recording(model)->lost_events)
		query_note(context, "%s: events were lost while recording", path);
}
