/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bundles as anybody may send them. One is unpacked to an empty folder beside a file that nobody
 * may touch; whatever is in it, only plain files and folders come to be there, and only there.
 */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In memory, where that is: most of a run is files that come and go. */
static char in_memory[] = "/dev/shm/heapwise-fuzz-XXXXXX", on_disk[] = "/tmp/heapwise-fuzz-XXXXXX";
static const char *folder;

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	if (walk->level == 0)
		return 0;
	if (type != FTW_F && type != FTW_DP)
		abort();
	return type == FTW_F ? unlink(path) : rmdir(path);
}

static void empty_folder(void)
{
	if (nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
		abort();
}

static void remove_folder(void)
{
	rmdir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	if (fd < 0) {
		folder = mkdtemp(in_memory);
		if (!folder)
			folder = mkdtemp(on_disk);
		if (!folder)
			abort();
		fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		atexit(remove_folder);
	}
	char *recording = NULL;
	struct error *error = bundle_unpack_bytes("bundle", data, size, fd, &recording);
	if (!error == !recording || (error && error->code != ERROR_INPUT))
		abort();
	if (recording && faccessat(fd, recording, R_OK, AT_SYMLINK_NOFOLLOW) != 0)
		abort();
	free(recording);
	error_destroy(error);
	empty_folder();
	return 0;
}
