/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/recording/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"

static struct error *read_fd(const struct input *input, uint64_t offset, void *buffer, size_t len)
{
	char *to = buffer;
	while (len) {
		ssize_t got = pread(input->fd, to, len, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_errno(ERROR_INPUT, errno, "%s: cannot read", input->name);
		if (got == 0)
			return error_create(
				ERROR_INPUT, "%s: was truncated while it was read", input->name);
		to += got;
		offset += (uint64_t)got;
		len -= (size_t)got;
	}
	return NULL;
}

static struct error *read_buffer(
	const struct input *input, uint64_t offset, void *buffer, size_t len)
{
	if (len)
		memcpy(buffer, (const char *)input->data + offset, len);
	return NULL;
}

static struct error *refuse_type(const char *path, mode_t mode)
{
	static const struct {
		mode_t type;
		const char *name;
	} types[] = {
		{S_IFDIR, "a directory"},
		{S_IFIFO, "a pipe"},
		{S_IFCHR, "a device"},
		{S_IFBLK, "a device"},
		{S_IFSOCK, "a socket"},
	};
	const char *name = "not a regular file";
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if ((mode & S_IFMT) == types[i].type)
			name = types[i].name;
	return error_create(ERROR_INPUT, "%s: is %s; expected a regular file%s", path, name,
		S_ISDIR(mode) ? ". 'heapwise report DIR' shows a table of its recordings; other "
				"commands take DIR/*.hpw (with --merge: their sum)"
			      : "");
}

struct error *input_open_file(struct input *input, const char *path)
{
	/* Looked at before it is opened: opening a device or a pipe can have effects. */
	struct stat st;
	if (stat(path, &st) < 0)
		return error_errno(ERROR_INPUT, errno, "%s: cannot open", path);
	if (!S_ISREG(st.st_mode))
		return refuse_type(path, st.st_mode);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return error_errno(ERROR_INPUT, errno, "%s: cannot open", path);
	if (fstat(fd, &st) < 0)
		return error_errno(ERROR_INPUT, errno, "%s: cannot read", path);
	if (!S_ISREG(st.st_mode))
		return refuse_type(path, st.st_mode);
	*input = (struct input){.name = path,
		.path = path,
		.bytes = (uint64_t)st.st_size,
		.read = read_fd,
		.fd = fd};
	fd = -1;
	return NULL;
}

void input_of_buffer(struct input *input, const char *name, const void *data, size_t len)
{
	*input = (struct input){
		.name = name, .bytes = len, .read = read_buffer, .data = data, .fd = -1};
}

bool input_is_being_written(const struct input *input)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	return input->fd >= 0 && !fcntl(input->fd, F_GETLK, &lock) && lock.l_type != F_UNLCK;
}

void input_close(struct input *input)
{
	if (input->fd >= 0)
		close(input->fd);
	input->fd = -1;
}
