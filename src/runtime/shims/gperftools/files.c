/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: a profile is read, or profiles of an earlier run are removed. May touch: these files.
 */
#include "runtime/shims/gperftools/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".heap"
#define SUFFIX_BYTES (sizeof(SUFFIX) - 1)

static size_t read_bytes(int fd, char *to, size_t bytes)
{
	size_t got = 0;
	ssize_t n = 1;
	while (got < bytes && n) {
		n = read(fd, to + got, bytes - got);
		if (n < 0 && errno != EINTR)
			break;
		got += n > 0 ? (size_t)n : 0;
	}
	return got;
}

bool gp_file_begin(const char *path, char *ret, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ret[read_bytes(fd, ret, bytes - 1)] = 0;
	close(fd);
	return true;
}

char *gp_file_read(const char *path)
{
	struct stat status;
	char *ret = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &status))
		ret = malloc((size_t)status.st_size + 1);
	if (ret)
		ret[read_bytes(fd, ret, (size_t)status.st_size)] = 0;
	close(fd);
	return ret;
}

/* "BEGIN.….heap" */
static bool is_profile(const char *name, const char *begin)
{
	size_t bytes = strlen(name), begin_bytes = strlen(begin);
	return bytes > begin_bytes + SUFFIX_BYTES && !memcmp(name, begin, begin_bytes) &&
	       name[begin_bytes] == '.' && !strcmp(name + bytes - SUFFIX_BYTES, SUFFIX);
}

/* Not by readdir(3), which allocates. */
static void remove_profiles(int folder, const char *begin)
{
	char entries[4096] __attribute__((aligned(8)));
	ssize_t bytes;
	while ((bytes = getdents64(folder, entries, sizeof(entries))) > 0) {
		const struct dirent64 *at;
		for (ssize_t i = 0; i < bytes; i += at->d_reclen) {
			at = (const struct dirent64 *)(entries + i);
			if (is_profile(at->d_name, begin))
				unlinkat(folder, at->d_name, 0);
		}
	}
}

void gp_files_remove_old(const char *prefix)
{
	char folder[PATH_MAX] = ".";
	const char *slash = strrchr(prefix, '/'), *begin = slash ? slash + 1 : prefix;
	size_t bytes = slash ? (size_t)(slash - prefix) + 1 : 0;
	if (bytes >= sizeof(folder))
		return;
	if (bytes) {
		memcpy(folder, prefix, bytes);
		folder[bytes] = 0;
	}
	int list = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (list < 0)
		return;
	remove_profiles(list, begin);
	close(list);
}

bool gp_folder_make(char ret[static GP_FOLDER_BYTES])
{
	const char *place = secure_getenv("TMPDIR");
	static const char name[] = "/heapwise-profile-XXXXXX";
	if (!place || !*place)
		place = "/tmp";
	if (strlen(place) + sizeof(name) > GP_FOLDER_BYTES)
		return false;
	strcpy(ret, place);
	strcat(ret, name);
	return mkdtemp(ret) != NULL;
}

void gp_folder_remove(const char *folder)
{
	char file[GP_FOLDER_BYTES + sizeof(GP_FOLDER_FILE)];
	strcpy(file, folder);
	strcat(file, GP_FOLDER_FILE);
	unlink(file);
	rmdir(folder);
}
