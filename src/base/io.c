/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/util.h"

#define READ_STEP ((size_t)64 << 10)

static struct error *open_read(const char *path, int flags, int *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | flags);
	if (fd < 0)
		return error_errno(ERROR_INPUT, errno, "cannot open %s", path);
	*ret = fd;
	return NULL;
}

static struct error *read_to_end(int fd, const char *path, size_t max, struct buf *ret)
{
	for (;;) {
		/* One byte beyond the limit tells that there is more. */
		size_t room = min(READ_STEP, max - ret->len + 1);
		if (!buf_reserve(ret, room + 1))
			return error_no_memory();
		ssize_t got = read(fd, ret->data + ret->len, room);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_errno(ERROR_INPUT, errno, "cannot read %s", path);
		if (got == 0)
			return NULL;
		if ((size_t)got > max - ret->len)
			return error_create(ERROR_INPUT, "%s is longer than %zu bytes", path, max);
		ret->len += (size_t)got;
	}
}

static struct error *read_whole(
	int fd, const char *path, size_t max, uint8_t **ret_data, size_t *ret_len)
{
	_cleanup_(buf_deinit) struct buf data;
	buf_init(&data);
	struct error *error = read_to_end(fd, path, min(max, SIZE_MAX / 2), &data);
	if (error)
		return error;
	data.data[data.len] = '\0';
	*ret_len = data.len;
	*ret_data = steal_ptr(data.data);
	return NULL;
}

struct error *read_file(const char *path, size_t max, uint8_t **ret_data, size_t *ret_len)
{
	_cleanup_close_ int fd = -1;
	struct error *error = open_read(path, 0, &fd);
	return error ? error : read_whole(fd, path, max, ret_data, ret_len);
}

static struct error *check_stored(int fd, const char *path)
{
	struct stat status;
	if (fstat(fd, &status) < 0)
		return error_errno(ERROR_INPUT, errno, "cannot examine %s", path);
	const char *what = S_ISDIR(status.st_mode)    ? "a directory"
			   : S_ISFIFO(status.st_mode) ? "a pipe"
			   : isatty(fd)               ? "a terminal"
						      : NULL;
	return what ? error_create(ERROR_INPUT, "%s is %s; expected a regular file", path, what)
		    : NULL;
}

struct error *read_stored_file(const char *path, size_t max, uint8_t **ret_data, size_t *ret_len)
{
	_cleanup_close_ int fd = -1;
	struct error *error = open_read(path, O_NONBLOCK, &fd);
	if (!error)
		error = check_stored(fd, path);
	return error ? error : read_whole(fd, path, max, ret_data, ret_len);
}

struct error *write_all(int fd, const char *name, const void *data, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t put = write(fd, (const char *)data + done, len - done);
		if (put < 0 && errno != EINTR)
			return error_errno(ERROR_ENVIRONMENT, errno, "cannot write %s", name);
		if (put > 0)
			done += (size_t)put;
	}
	return NULL;
}

static struct error *map_regular(int fd, const char *path, struct file_map *ret)
{
	struct stat status;
	if (fstat(fd, &status) < 0)
		return error_errno(ERROR_INPUT, errno, "cannot examine %s", path);
	if (!S_ISREG(status.st_mode))
		return error_create(ERROR_INPUT, "%s is %s", path,
			S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
	if (status.st_size == 0) {
		*ret = (struct file_map){0};
		return NULL;
	}
	void *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return error_errno(ERROR_ENVIRONMENT, errno, "cannot map %s", path);
	*ret = (struct file_map){.data = data, .len = (size_t)status.st_size};
	return NULL;
}

struct error *file_map_open(const char *path, struct file_map *ret)
{
	_cleanup_close_ int fd = -1;
	struct error *error = open_read(path, O_NONBLOCK, &fd);
	return error ? error : map_regular(fd, path, ret);
}

void file_map_deinit(struct file_map *map)
{
	if (map->data)
		munmap((void *)(uintptr_t)map->data, map->len);
	*map = (struct file_map){0};
}
