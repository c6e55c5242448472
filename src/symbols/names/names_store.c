/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/names/names_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "base/vec.h"
#include "symbols/names/names_file.h"

/* Files are not marked as used more often than this. */
#define USED_SECONDS 3600
/* By then the writer of a temporary file has ended. */
#define STALE_SECONDS 3600
#define SUFFIX ".names"
#define TEMPORARY ".new-"

static bool is_own(const struct stat *status)
{
	return status->st_uid == geteuid() && !(status->st_mode & (S_IWGRP | S_IWOTH));
}

/* The folder itself must be ours too: anyone who may write to it may put anything there. */
static int open_folder(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;
	if (fd >= 0 && (fstat(fd, &status) < 0 || !is_own(&status))) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool names_store_read_bytes(int fd, uint8_t *data, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t count = read(fd, data + done, len - done);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return false;
		done += (size_t)count;
	}
	return true;
}

bool names_store_read(const char *folder, const char *name, uint8_t **ret_data, size_t *ret_len)
{
	_cleanup_close_ int folder_fd = open_folder(folder);
	_cleanup_close_ int fd =
		folder_fd < 0
			? -1
			: openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || !is_own(&status) ||
		status.st_size <= 0 || status.st_size > (off_t)NAMES_FILE_MAX)
		return false;
	size_t len = (size_t)status.st_size;
	_cleanup_free_ uint8_t *data = malloc(len);
	if (!data || !names_store_read_bytes(fd, data, len))
		return false;
	if (time(NULL) - status.st_mtime > USED_SECONDS)
		futimens(fd, NULL);
	*ret_data = steal_ptr(data);
	*ret_len = len;
	return true;
}

void names_store_write(const char *folder, const char *name, const void *data, size_t len)
{
	mkdir(folder, 0700);
	_cleanup_close_ int folder_fd = open_folder(folder);
	_cleanup_(text_deinit) struct text path;
	text_init(&path);
	text_printf(&path, "%s/" TEMPORARY "XXXXXX", folder);
	_cleanup_close_ int fd = folder_fd < 0 || path.failed ? -1 : mkostemp(path.data, O_CLOEXEC);
	if (fd < 0)
		return;
	const char *temporary = strrchr(path.data, '/') + 1;
	_cleanup_error_ struct error *error = write_all(fd, name, data, len);
	if (error || renameat(folder_fd, temporary, folder_fd, name) < 0)
		unlinkat(folder_fd, temporary, 0);
}

struct kept_file {
	char name[NAME_MAX + 1];
	uint64_t bytes;
	struct timespec used;
};

DEFINE_VEC(kept_file_vec, struct kept_file)

/* The most recently used first. */
static int compare_use(const void *a, const void *b)
{
	const struct timespec *left = &((const struct kept_file *)a)->used;
	const struct timespec *right = &((const struct kept_file *)b)->used;
	if (left->tv_sec != right->tv_sec)
		return left->tv_sec < right->tv_sec ? 1 : -1;
	return (left->tv_nsec < right->tv_nsec) - (left->tv_nsec > right->tv_nsec);
}

static bool names_store_ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);
	return len > end_len && strcmp(name + len - end_len, end) == 0;
}

/* Files that are not the store's are left alone. */
static void names_store_add_file(int folder_fd, const char *name, struct kept_file_vec *files)
{
	struct stat status;
	bool is_temporary = strncmp(name, TEMPORARY, strlen(TEMPORARY)) == 0;
	if ((!is_temporary && !names_store_ends_with(name, SUFFIX)) ||
		fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
		!S_ISREG(status.st_mode))
		return;
	if (is_temporary) {
		if (time(NULL) - status.st_mtime > STALE_SECONDS)
			unlinkat(folder_fd, name, 0);
		return;
	}
	struct kept_file file = {.bytes = (uint64_t)status.st_size, .used = status.st_mtim};
	snprintf(file.name, sizeof(file.name), "%s", name);
	/* What is not met without memory stays until the next time. */
	(void)!kept_file_vec_push(files, file);
}

static void cleanup_dir(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

void names_store_trim(const char *folder, uint64_t bytes_max, size_t files_max)
{
	int fd = open_folder(folder);
	_cleanup_(cleanup_dir) DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	if (!stream) {
		if (fd >= 0)
			close(fd);
		return;
	}
	_cleanup_(kept_file_vec_deinit) struct kept_file_vec files;
	kept_file_vec_init(&files);
	for (const struct dirent *entry; (entry = readdir(stream));)
		names_store_add_file(fd, entry->d_name, &files);
	if (files.len)
		qsort(files.data, files.len, sizeof(*files.data), compare_use);
	uint64_t bytes = 0;
	for (size_t i = 0; i < files.len; i++) {
		bytes += files.data[i].bytes;
		if (bytes > bytes_max || i >= files_max)
			unlinkat(fd, files.data[i].name, 0);
	}
}
