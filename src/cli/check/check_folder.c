/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/check/check_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME "heapwise-check-"

static int folder_open(int parent, const char *name)
{
	return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Removes the files of a folder: there are no folders in it. */
static void folder_empty(int fd)
{
	int copy = folder_open(fd, ".");
	DIR *files = copy < 0 ? NULL : fdopendir(copy);
	if (!files && copy >= 0)
		close(copy);
	for (const struct dirent *one; files && (one = readdir(files));)
		if (strcmp(one->d_name, ".") != 0 && strcmp(one->d_name, "..") != 0)
			unlinkat(fd, one->d_name, 0);
	if (files)
		closedir(files);
}

/* Whether it is one of ours that nobody has any more. */
static bool folder_is_left(int fd)
{
	struct stat st;
	return !fstat(fd, &st) && st.st_uid == geteuid() &&
	       time(NULL) - st.st_mtime > CHECK_FOLDER_OLD_S && !flock(fd, LOCK_EX | LOCK_NB);
}

static void remove_left(const char *parent)
{
	DIR *folder = opendir(parent);
	for (const struct dirent *one; folder && (one = readdir(folder));) {
		if (strncmp(one->d_name, NAME, strlen(NAME)) != 0)
			continue;
		int fd = folder_open(dirfd(folder), one->d_name);
		if (fd < 0)
			continue;
		if (folder_is_left(fd)) {
			folder_empty(fd);
			unlinkat(dirfd(folder), one->d_name, AT_REMOVEDIR);
		}
		close(fd);
	}
	if (folder)
		closedir(folder);
}

struct error *check_folder_create(struct check_folder *ret)
{
	const char *parent = getenv("TMPDIR");
	if (!parent || *parent != '/')
		parent = "/tmp";
	remove_left(parent);
	if (asprintf(&ret->path, "%s/" NAME "XXXXXX", parent) < 0) {
		ret->path = NULL;
		return error_no_memory();
	}
	if (!mkdtemp(ret->path)) {
		struct error *error = error_errno(ERROR_ENVIRONMENT, errno,
			"can't create a folder in %s for what is recorded (TMPDIR names another "
			"place)",
			parent);
		free(ret->path);
		ret->path = NULL;
		return error;
	}
	ret->lock = folder_open(AT_FDCWD, ret->path);
	if (ret->lock >= 0)
		(void)flock(ret->lock, LOCK_SH | LOCK_NB);
	return NULL;
}

void check_folder_remove(struct check_folder *folder)
{
	if (!folder->path)
		return;
	if (folder->lock >= 0)
		folder_empty(folder->lock);
	rmdir(folder->path);
	free(folder->path);
	folder->path = NULL;
	if (folder->lock >= 0)
		close(folder->lock);
	folder->lock = -1;
}
