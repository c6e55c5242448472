/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/shared_memory.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Where the room can't be reserved for us alone, there has to be this much more of it. */
#define ROOM_FACTOR 2u

/* Reserves the room, except in memory, where that would take it at once. */
static bool has_room(int fd, uint64_t bytes)
{
	struct statfs fs;
	if (fstatfs(fd, &fs))
		return false;
	if (fs.f_type != TMPFS_MAGIC && fs.f_type != RAMFS_MAGIC)
		return !fallocate(fd, 0, 0, (off_t)bytes);
	/* A tmpfs without a limit says that it has no blocks at all. */
	return !fs.f_blocks || (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize >= ROOM_FACTOR * bytes;
}

static int file_create(const char *folder, size_t folder_bytes, const char *name, uint64_t bytes)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%.*s/%s.XXXXXX", (int)folder_bytes, folder, name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -1;
	_cleanup_close_ int fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0 || unlink(path) || ftruncate(fd, (off_t)bytes) || !has_room(fd, bytes))
		return -1;
	int ret = fd;
	fd = -1;
	return ret;
}

int shared_memory_create(const char *name, uint64_t bytes, const char *beside)
{
	int memory = memfd_create(name, MFD_CLOEXEC), why = errno;
	if (memory >= 0 && !ftruncate(memory, (off_t)bytes))
		return memory;
	if (memory >= 0) {
		why = errno;
		close(memory);
		errno = why;
		return -1;
	}
	const char *runtime = getenv("XDG_RUNTIME_DIR"), *slash = strrchr(beside, '/');
	const char *const places[] = {"/dev/shm", runtime && *runtime == '/' ? runtime : "/run",
		"/tmp", "/var/tmp", slash ? beside : "."};
	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		size_t length = places[i] == beside ? (size_t)(slash - beside) : strlen(places[i]);
		int fd = file_create(places[i], length, name, bytes);
		if (fd >= 0)
			return fd;
	}
	errno = why;
	return -1;
}
