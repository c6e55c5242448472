/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "base/util.h"

#define LINKS_MAX 40u /* as the kernel follows (path_resolution(7)) */
#define NAMES_MAX 100u

static struct error *output_file_error(const struct output_file *file, int err)
{
	return error_errno(ERROR_ENVIRONMENT, err, "cannot write %s", file->path);
}

/* The descriptor that a name stands for; -1: it is no such name. */
static int descriptor_of(const char *path)
{
	static const struct {
		const char *name;
		int fd;
	} names[] = {{"/dev/stdout", STDOUT_FILENO}, {"/dev/stderr", STDERR_FILENO}};
	static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(path, names[i].name))
			return names[i].fd;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		size_t len = strlen(folders[i]);
		if (strncmp(path, folders[i], len) != 0)
			continue;
		char *end;
		unsigned long number = strtoul(path + len, &end, 10);
		if (end != path + len && !*end && number <= INT_MAX)
			return (int)number;
	}
	return -1;
}

static bool is_trusted(const struct stat *status)
{
	return status->st_uid == geteuid() || status->st_uid == 0;
}

/* Where the link leads that `at` is, which is at *path: the caller frees the new *path. */
static struct error *link_follow(const struct output_file *file, int at, char **path)
{
	char to[PATH_MAX];
	ssize_t len = readlinkat(at, "", to, sizeof(to) - 1);
	if (len < 0)
		return output_file_error(file, errno);
	to[len] = '\0';
	const char *slash = strrchr(*path, '/');
	int folder = *to != '/' && slash ? (int)(slash - *path) + 1 : 0;
	char *next;
	if (asprintf(&next, "%.*s%s", folder, *path, to) < 0)
		return error_no_memory();
	free(*path);
	*path = next;
	return NULL;
}

static bool is_of_proc(int at)
{
	struct statfs system;
	return fstatfs(at, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/* What is there in the end: file->there; `ret` is where, for the caller to free. *ret_direct: to be
 * written to as it is. */
static struct error *find_destination(struct output_file *file, char **ret, bool *ret_direct)
{
	_cleanup_free_ char *path = strdup(file->path);
	struct error *error = path ? NULL : error_no_memory();
	for (unsigned links = 0; !error; links++) {
		*ret_direct = descriptor_of(path) >= 0;
		_cleanup_close_ int at =
			*ret_direct ? -1 : open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (at < 0 && !*ret_direct && errno != ENOENT)
			return output_file_error(file, errno);
		file->exists = at >= 0;
		if (at >= 0 && fstat(at, &file->there) < 0)
			return output_file_error(file, errno);
		bool is_link = at >= 0 && S_ISLNK(file->there.st_mode);
		if (is_link && is_of_proc(at)) /* of a descriptor: there may be no name */
			*ret_direct = true;
		if (!is_link || *ret_direct) {
			*ret = steal_ptr(path);
			return NULL;
		}
		if (!is_trusted(&file->there))
			return error_create(ERROR_ENVIRONMENT,
				"cannot write %s: %s is a symbolic link of another user (%u), and "
				"is not followed",
				file->path, path, (unsigned)file->there.st_uid);
		if (links == LINKS_MAX)
			return output_file_error(file, ELOOP);
		error = link_follow(file, at, &path);
	}
	return error;
}

static struct error *open_direct(struct output_file *file, const char *path)
{
	int fd = descriptor_of(path);
	file->exists = false;
	file->fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0)
			   : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	return file->fd >= 0 ? NULL : output_file_error(file, errno);
}

static struct error *name_random(char **ret)
{
	uint64_t number;
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return error_errno(ERROR_ENVIRONMENT, errno, "cannot get a random name");
	if (asprintf(ret, ".heapwise-%016" PRIx64, number) >= 0)
		return NULL;
	*ret = NULL;
	return error_no_memory();
}

/* Names until one is free: `make` is 0 if so, else an errno value. */
static struct error *beside_make(
	struct output_file *file, int (*make)(struct output_file *file, mode_t mode), mode_t mode)
{
	int err = EEXIST;
	for (unsigned i = 0; i < NAMES_MAX && err == EEXIST; i++) {
		free(file->beside);
		file->beside = NULL;
		struct error *error = name_random(&file->beside);
		if (error)
			return error;
		err = make(file, mode);
	}
	if (!err)
		return NULL;
	free(file->beside);
	file->beside = NULL;
	return output_file_error(file, err);
}

static int beside_create(struct output_file *file, mode_t mode)
{
	file->fd = openat(file->folder, file->beside,
		O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	return file->fd >= 0 ? 0 : errno;
}

static int beside_link(struct output_file *file, mode_t mode)
{
	(void)mode;
	char from[64];
	snprintf(from, sizeof(from), "/proc/self/fd/%d", file->fd);
	int linked = linkat(AT_FDCWD, from, file->folder, file->beside, AT_SYMLINK_FOLLOW);
	return linked == 0 ? 0 : errno;
}

/* A file without a name disappears when this process is killed. Where there are none, a temporary
 * name in the same folder is used. */
static struct error *open_temporary(struct output_file *file, mode_t mode)
{
	bool can_link = access("/proc/self/fd", F_OK) == 0;
	if (can_link)
		file->fd = openat(file->folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
	if (file->fd >= 0)
		return NULL;
	if (can_link && errno == EACCES)
		return error_create(ERROR_ENVIRONMENT,
			"cannot write %s: no file can be created in its directory, where results "
			"are first written to a temporary file (permission denied); use -o - > "
			"FILE to write into an existing file",
			file->path);
	return beside_make(file, beside_create, mode);
}

static struct error *open_replacing(struct output_file *file, const char *path, mode_t mode)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	_cleanup_free_ char *folder =
		slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	file->name = strdup(name);
	if (!folder || !file->name)
		return error_no_memory();
	if (!*name || (file->exists && S_ISDIR(file->there.st_mode)))
		return output_file_error(file, *path ? EISDIR : ENOENT);
	file->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (file->folder < 0)
		file->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (file->folder < 0)
		return output_file_error(file, errno);
	struct error *error = open_temporary(file, mode);
	if (!error && file->exists && file->there.st_uid == geteuid() &&
		fchmod(file->fd, file->there.st_mode & mode) < 0)
		error = output_file_error(file, errno);
	return error;
}

static struct error *open_place(struct output_file *file, mode_t mode)
{
	_cleanup_free_ char *path = NULL;
	bool direct;
	struct error *error = find_destination(file, &path, &direct);
	if (error)
		return error;
	const mode_t type = file->exists ? file->there.st_mode & S_IFMT : S_IFREG;
	if (!direct && type == S_IFIFO && !is_trusted(&file->there))
		return error_create(ERROR_ENVIRONMENT,
			"cannot write %s: it is a pipe of another user (%u)", file->path,
			(unsigned)file->there.st_uid);
	if (direct || (type != S_IFREG && type != S_IFDIR))
		return open_direct(file, path);
	/* One that may not be written to is not replaced either. */
	if (file->exists && type == S_IFREG &&
		faccessat(AT_FDCWD, path, W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) < 0)
		return output_file_error(file, errno);
	return open_replacing(file, path, mode);
}

struct error *output_file_open(const char *path, mode_t mode, struct output_file *ret)
{
	_cleanup_(output_file_cleanup) struct output_file file = OUTPUT_FILE_NONE;
	file.path = strdup(path);
	struct error *error = file.path ? open_place(&file, mode) : error_no_memory();
	if (error)
		return error;
	*ret = file;
	file = OUTPUT_FILE_NONE;
	return NULL;
}

struct error *output_file_commit(struct output_file *file)
{
	_cleanup_(output_file_cleanup) struct output_file own = *file;
	*file = OUTPUT_FILE_NONE;
	if (own.folder < 0)
		return NULL;
	struct error *error = own.beside ? NULL : beside_make(&own, beside_link, 0);
	if (error)
		return error;
	/* Network file systems say here that there was no room. */
	int closed = close(own.fd);
	own.fd = -1;
	if (closed < 0 || renameat(own.folder, own.beside, own.folder, own.name) < 0)
		return output_file_error(&own, errno);
	free(own.beside);
	own.beside = NULL;
	return NULL;
}

void output_file_discard(struct output_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	if (file->beside)
		unlinkat(file->folder, file->beside, 0);
	if (file->folder >= 0)
		close(file->folder);
	free(file->name);
	free(file->beside);
	free(file->path);
	*file = OUTPUT_FILE_NONE;
}
