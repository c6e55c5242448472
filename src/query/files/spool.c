/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"

#define PIECE_BYTES ((size_t)64 << 10)

struct spooled_file {
	char *name; /* as the user calls it */
	int fd;
	char path[32];
	struct spooled_file *next;
};

static bool is_stdin(const char *path)
{
	return strcmp(path, "-") == 0;
}

static bool is_pipe(const char *path)
{
	struct stat status;
	if (is_stdin(path))
		return true;
	return stat(path, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

static struct error *source_open(const char *path, int *ret)
{
	if (is_stdin(path) && isatty(STDIN_FILENO))
		return error_create(
			ERROR_INPUT, "-: standard input is a terminal: expected a file or a pipe");
	*ret = is_stdin(path) ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
			      : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return *ret >= 0 ? NULL : error_errno(ERROR_INPUT, errno, "%s: cannot open", path);
}

static struct error *copy_open(const char *name, int *ret)
{
	const char *folder = getenv("TMPDIR");
	if (!folder || !*folder)
		folder = "/tmp";
	*ret = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (*ret >= 0)
		return NULL;
	_cleanup_free_ char *path = NULL;
	if (asprintf(&path, "%s/heapwise-XXXXXX", folder) < 0) {
		path = NULL;
		return error_no_memory();
	}
	*ret = mkostemp(path, O_CLOEXEC);
	if (*ret < 0)
		return error_errno(ERROR_ENVIRONMENT, errno,
			"%s is a pipe, and can't be copied to %s (TMPDIR)", name, folder);
	unlink(path);
	return NULL;
}

static struct error *copy_all(const char *name, int from, int to)
{
	_cleanup_free_ char *piece = malloc(PIECE_BYTES);
	if (!piece)
		return error_no_memory();
	for (;;) {
		ssize_t got = read(from, piece, PIECE_BYTES);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_errno(ERROR_INPUT, errno, "%s: cannot read", name);
		if (!got)
			return NULL;
		struct error *error = write_all(to, "its copy in TMPDIR", piece, (size_t)got);
		if (error)
			return error_prefix(error, "%s", name);
	}
}

static struct error *spool_copy(
	struct query_context *context, const char *path, struct spooled_file **ret)
{
	_cleanup_close_ int from = -1, to = -1;
	struct error *error = source_open(path, &from);
	if (!error)
		error = copy_open(path, &to);
	struct query_task task;
	query_task_begin(context, &task, "reading %s", path);
	if (!error)
		error = copy_all(path, from, to);
	query_task_end(context, &task);
	if (error)
		return error;
	struct spooled_file *one = malloc(sizeof(*one));
	char *name = strdup(path);
	if (!one || !name) {
		free(one);
		free(name);
		return error_no_memory();
	}
	*one = (struct spooled_file){.name = name, .fd = to, .next = context->spooled};
	snprintf(one->path, sizeof(one->path), "/proc/self/fd/%d", to);
	to = -1; /* it stays open */
	*ret = context->spooled = one;
	return NULL;
}

struct error *spool_path(struct query_context *context, const char *path, const char **ret)
{
	struct spooled_file *one = context->spooled;
	while (one && strcmp(one->name, path) != 0)
		one = one->next;
	if (!one && is_pipe(path)) {
		struct error *error = spool_copy(context, path, &one);
		if (error)
			return error;
	}
	*ret = one ? one->path : path;
	return NULL;
}

void spool_forget(struct query_context *context)
{
	for (struct spooled_file *one = context->spooled, *next; one; one = next) {
		next = one->next;
		close(one->fd);
		free(one->name);
		free(one);
	}
	context->spooled = NULL;
}
