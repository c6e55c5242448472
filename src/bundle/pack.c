/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bundle/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/archive_library.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/packing.h"
#include "base/text.h"
#include "bundle/charset.h"

#define PIECE_BYTES ((size_t)256 << 10)

struct writing {
	struct archive_library library;
	struct archive *archive; /* NULL: the library is not loaded */
};

static void writing_end(struct writing *to)
{
	if (to->archive)
		to->library.archive_write_free(to->archive);
}

static struct error *not_written(const struct writing *to)
{
	const char *why = to->library.archive_error_string(to->archive);
	return error_create(
		ERROR_ENVIRONMENT, "cannot be written: %s", why ? why : "out of memory");
}

static struct error *open_archive(const struct writing *to, const char *path, int fd)
{
	const struct archive_library *library = &to->library;
	enum packing packing = packing_by_name(path);
	bool good = library->archive_write_set_format_pax_restricted(to->archive) == ARCHIVE_OK;
	if (packing == PACKING_GZIP)
		good = good && library->archive_write_add_filter_gzip(to->archive) == ARCHIVE_OK;
	else if (packing == PACKING_ZSTD)
		good = good && library->archive_write_add_filter_zstd(to->archive) == ARCHIVE_OK;
	good = good && library->archive_write_open_fd(to->archive, fd) == ARCHIVE_OK;
	return good ? NULL : not_written(to);
}

static struct error *begin_entry(
	const struct writing *to, const char *place, uint64_t bytes, const struct timespec *changed)
{
	const struct archive_library *library = &to->library;
	struct archive_entry *entry = library->archive_entry_new();
	if (!entry)
		return error_no_memory();
	library->archive_entry_set_pathname(entry, place);
	library->archive_entry_set_filetype(entry, AE_IFREG);
	library->archive_entry_set_perm(entry, 0600);
	library->archive_entry_set_size(entry, (int64_t)bytes);
	library->archive_entry_set_mtime(entry, changed->tv_sec, changed->tv_nsec);
	/* A warning: the name is no UTF-8, and stays as it is. */
	int written = library->archive_write_header(to->archive, entry);
	library->archive_entry_free(entry);
	return written == ARCHIVE_OK || written == ARCHIVE_WARN ? NULL : not_written(to);
}

static struct error *write_archive_piece(const struct writing *to, const void *data, size_t len)
{
	la_ssize_t written = len ? to->library.archive_write_data(to->archive, data, len) : 0;
	return written == (la_ssize_t)len ? NULL : not_written(to);
}

static struct error *has_changed(const struct bundle_file *file)
{
	return error_create(ERROR_INPUT, "%s: was changed while it was packed", file->from);
}

static struct error *pack_file_bytes(
	const struct writing *to, int fd, const struct bundle_file *file)
{
	_cleanup_free_ char *piece = malloc(PIECE_BYTES);
	struct error *error = piece ? NULL : error_no_memory();
	uint64_t done = 0;
	while (!error) {
		ssize_t some = read(fd, piece, PIECE_BYTES);
		if (some < 0 && errno == EINTR)
			continue;
		if (some < 0)
			return error_errno(ERROR_INPUT, errno, "%s: cannot read", file->from);
		if (some == 0)
			break;
		done += (uint64_t)some;
		error = done > file->bytes ? has_changed(file)
					   : write_archive_piece(to, piece, (size_t)some);
	}
	return error || done == file->bytes ? error : has_changed(file);
}

/* `undated`: the time of its last change is left out. */
static struct error *add_file(
	const struct writing *to, const struct bundle_file *file, bool undated)
{
	struct stat status;
	_cleanup_close_ int fd = open(file->from, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &status) < 0)
		return error_errno(ERROR_INPUT, errno, "%s: cannot read", file->from);
	if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size != file->bytes)
		return has_changed(file);
	const struct timespec never = {.tv_sec = 0};
	struct error *error =
		begin_entry(to, file->to, file->bytes, undated ? &never : &status.st_mtim);
	return error ? error : pack_file_bytes(to, fd, file);
}

static struct error *add_manifest(const struct writing *to, const struct bundle_manifest *manifest)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	_cleanup_free_ struct json *json = malloc(sizeof(*json));
	if (!json)
		return error_no_memory();
	json_init(json, text_write, &text);
	bundle_manifest_write(manifest, json);
	if (!json_finish(json))
		return error_no_memory();
	/* An anonymous bundle has no times of change. */
	struct timespec now = {.tv_sec = manifest->anonymous ? 0 : time(NULL)};
	struct error *error = begin_entry(to, BUNDLE_MANIFEST, text.len, &now);
	return error ? error : write_archive_piece(to, text.data, text.len);
}

static struct error *write_archive(const struct bundle_manifest *manifest, const char *path, int fd)
{
	_cleanup_(charset_end) struct charset charset = charset_begin();
	(void)charset;
	_cleanup_(writing_end) struct writing to = {.archive = NULL};
	struct error *error = archive_library_load(&to.library);
	if (error)
		return error;
	to.archive = to.library.archive_write_new();
	if (!to.archive)
		return error_no_memory();
	error = open_archive(&to, path, fd);
	if (!error)
		error = add_manifest(&to, manifest);
	for (size_t i = 0; i < manifest->files.len && !error; i++)
		error = add_file(&to, &manifest->files.data[i], manifest->anonymous);
	if (!error && to.library.archive_write_close(to.archive) != ARCHIVE_OK)
		error = not_written(&to);
	return error;
}

static uint64_t sum_of(const struct bundle_manifest *manifest)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < manifest->files.len; i++)
		bytes += manifest->files.data[i].bytes;
	return bytes;
}

struct error *bundle_pack(
	const struct bundle_manifest *manifest, const char *path, int fd, uint64_t *ret_bytes)
{
	struct stat status;
	struct error *error = write_archive(manifest, path, fd);
	if (!error && fstat(fd, &status) < 0)
		error = error_errno(ERROR_ENVIRONMENT, errno, "cannot be written");
	/* A pipe may have no end to flush. */
	if (!error && S_ISREG(status.st_mode) && fsync(fd) < 0)
		error = error_errno(ERROR_ENVIRONMENT, errno, "cannot be written");
	if (error)
		return error->code == ERROR_ENVIRONMENT ? error_prefix(error, "%s", path) : error;
	if (S_ISREG(status.st_mode) &&
		sum_of(manifest) > bundle_bytes_max((uint64_t)status.st_size))
		return error_create(ERROR_INPUT,
			"%s: becomes so small by packing that it would be refused as a bomb; "
			"without .gz and .zst at its end it is not packed",
			path);
	*ret_bytes = (uint64_t)status.st_size;
	return NULL;
}
