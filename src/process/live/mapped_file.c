/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/mapped_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define DELETED " (deleted)"

/* Devices are left aside: file systems in layers say another one to stat(2) than to maps. */
static bool is_of_map(const char *path, const struct process_map *map)
{
	struct stat status;
	return !stat(path, &status) && S_ISREG(status.st_mode) && status.st_ino == map->inode &&
	       !access(path, R_OK);
}

static bool is_deleted(const char *path)
{
	size_t n = strlen(path), tail = strlen(DELETED);
	return n > tail && !strcmp(path + n - tail, DELETED);
}

static bool is_in_root(pid_t pid, const struct process_map *map, char **ret)
{
	_cleanup_free_ char *path = NULL;
	if (asprintf(&path, "/proc/%d/root%s", (int)pid, map->path) < 0) {
		path = NULL;
		return false;
	}
	if (!is_of_map(path, map))
		return false;
	*ret = steal_ptr(path);
	return true;
}

static bool is_held(pid_t pid, const struct process_map *map, bool is_program, char **ret)
{
	char path[96];
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (!is_program || !is_of_map(path, map))
		snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)pid,
			(unsigned long long)map->start, (unsigned long long)map->end);
	if (!is_of_map(path, map))
		return false;
	*ret = strdup(path);
	return *ret;
}

char *mapped_file_find(
	pid_t pid, const struct process_map *map, bool is_program, enum mapped_file_place *ret)
{
	char *path = NULL;
	*ret = MAPPED_FILE_AT_PATH;
	bool deleted = is_deleted(map->path);
	if (!map->inode || *map->path != '/' || (!deleted && is_of_map(map->path, map)))
		return NULL;
	if (!deleted && is_in_root(pid, map, &path))
		*ret = MAPPED_FILE_IN_ROOT;
	else
		*ret = is_held(pid, map, is_program, &path) ? MAPPED_FILE_HELD : MAPPED_FILE_LOST;
	return path;
}
