/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/setup/preload_link.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/util.h"

/* Of other users' folders of these names nobody knows what is in them: the next number is tried. */
#define FOLDER_TRIES 10
#define NAME_BYTES 64

static const char *const parents[] = {"/tmp", "/var/tmp", "/dev/shm", "/run"};

bool preload_can_name(const char *path)
{
	return !strpbrk(path, " :$");
}

/* Whether nobody but root and this user can put another folder in the place of ours: the owner of
 * a folder can, whatever its mode. */
static bool is_safe_parent(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISDIR(st.st_mode) && (!st.st_uid || st.st_uid == geteuid()) &&
	       (!(st.st_mode & (S_IWGRP | S_IWOTH)) || st.st_mode & S_ISVTX);
}

/* The folder, open; made if it is not there. -1: it is not this user's, or can't be made. What root
 * starts may become another user, who has to get through. */
static int folder_open(const char *path)
{
	mode_t mode = geteuid() ? 0700 : 0711;
	bool made = !mkdir(path, 0700);
	_cleanup_close_ int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	if (folder < 0 || (made && fchmod(folder, mode)) || fstat(folder, &st) ||
		st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return -1;
	int ret = folder;
	folder = -1;
	return ret;
}

/* Removes the links in the folder that lead nowhere. */
static void remove_dangling(int folder)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct stat st;
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		if (fstatat(folder, entry->d_name, &st, 0) && errno == ENOENT)
			unlinkat(folder, entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
	else if (copy >= 0)
		close(copy);
}

/* Whether the link is there, leading to `target`. */
static bool is_link_to(int folder, const char *name, const char *target)
{
	char found[PATH_MAX];
	ssize_t n = readlinkat(folder, name, found, sizeof(found));
	return n > 0 && (size_t)n == strlen(target) && !memcmp(found, target, (size_t)n);
}

static bool link_make(int folder, const char *name, const char *target)
{
	if (is_link_to(folder, name, target))
		return true;
	remove_dangling(folder);
	/* Another command may make the same one at the same time. */
	return !symlinkat(target, folder, name) || is_link_to(folder, name, target);
}

/* `number`: of the folder, from 0. */
static bool link_make_at(
	const char *parent, int number, const char *target, char ret[static PATH_MAX])
{
	char name[NAME_BYTES], suffix[NAME_BYTES] = "";
	if (number)
		snprintf(suffix, sizeof(suffix), "-%d", number);
	snprintf(ret, PATH_MAX, "%s/heapwise-%u%s", parent, (unsigned)geteuid(), suffix);
	_cleanup_close_ int folder = folder_open(ret);
	snprintf(name, sizeof(name), "%016llx",
		(unsigned long long)hash_bytes(target, strlen(target)));
	if (folder < 0 || !link_make(folder, name, target))
		return false;
	size_t n = strlen(ret);
	snprintf(ret + n, PATH_MAX - n, "/%s", name);
	return true;
}

struct error *preload_link(const char *library, char **ret)
{
	const char *slash = strrchr(library, '/');
	_cleanup_free_ char *folder = strndup(library, (size_t)(slash - library));
	char link[PATH_MAX];
	if (!folder)
		return error_no_memory();
	for (size_t i = 0; i < ARRAY_SIZE(parents); i++) {
		if (!is_safe_parent(parents[i]))
			continue;
		for (int number = 0; number < FOLDER_TRIES; number++) {
			if (!link_make_at(parents[i], number, folder, link))
				continue;
			return asprintf(ret, "%s%s", link, slash) < 0 ? error_no_memory() : NULL;
		}
	}
	return error_create(ERROR_ENVIRONMENT,
		"LD_PRELOAD can't hold %s, whose path has blanks, colons or $, and no link to it "
		"could be created in /tmp, /var/tmp, /dev/shm or /run; install heapwise in a "
		"directory without them",
		library);
}
