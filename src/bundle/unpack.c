/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bundle/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/archive_library.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/packing.h"
#include "base/text.h"
#include "bundle/charset.h"
#include "bundle/layout.h"
#include "bundle/manifest.h"

#define BLOCK_BYTES 512u
#define MAGIC_OFFSET 257u
#define PIECE_BYTES ((size_t)256 << 10)
/* What has not shown its first block by then is nothing. */
#define HEAD_BYTES ((size_t)1 << 20)
#define MANIFEST_BYTES_MAX ((size_t)16 << 20)

struct unpacking {
	struct archive_library library;
	struct archive *archive; /* NULL: the library is not loaded */
	const char *name;        /* of the bundle */
	int folder;
	uint64_t packed_bytes, bytes, bytes_max;
	size_t entries, folders;
	char *piece;
	char *manifest; /* NULL: it did not come yet */
	size_t manifest_len;
};

/* The first block of what is packed in the file; false: there is none. */
static bool read_block(int fd, uint8_t block[BLOCK_BYTES])
{
	_cleanup_free_ uint8_t *head = malloc(HEAD_BYTES);
	_cleanup_(unpacker_cleanup) struct unpacker *unpacker = NULL;
	ssize_t len = head ? pread(fd, head, HEAD_BYTES, 0) : -1;
	if (len <= 0)
		return false;
	struct error *error = unpacker_create(packing_of(head, (size_t)len), &unpacker);
	const uint8_t *at = head;
	size_t left = (size_t)len, got = 0, some = 1;
	while (!error && got < BLOCK_BYTES && (left || some)) {
		error = unpacker_run(unpacker, &at, &left, block + got, BLOCK_BYTES - got, &some);
		got += error ? 0 : some;
	}
	error_destroy(error);
	return got == BLOCK_BYTES;
}

bool bundle_recognise(const char *path)
{
	struct stat status;
	uint8_t block[BLOCK_BYTES];
	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode))
		return false;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd >= 0 && read_block(fd, block) && memcmp(block + MAGIC_OFFSET, "ustar", 5) == 0;
}

static struct error *damaged_bundle(const struct unpacking *at)
{
	const char *why = at->library.archive_error_string(at->archive);
	return error_create(ERROR_INPUT, "%s: offset %" PRId64 ": is damaged: %s", at->name,
		at->library.archive_filter_bytes(at->archive, -1), why ? why : "it can't be read");
}

static struct error *refused_member(const struct unpacking *at, const char *path, const char *why)
{
	_cleanup_(text_deinit) struct text shown;
	text_init(&shown);
	text_add_shown(&shown, path, 200);
	return error_create(
		ERROR_INPUT, "%s: '%s' in it %s", at->name, shown.data ? shown.data : "", why);
}

/* Makes the folders on the way to a file. */
static struct error *make_folders(struct unpacking *at, const char *path)
{
	_cleanup_free_ char *part = strdup(path);
	if (!part)
		return error_no_memory();
	for (char *slash = part; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		bool made = mkdirat(at->folder, part, 0700) == 0;
		if (!made && errno != EEXIST)
			return errno == ENOTDIR ? refused_member(at, path, "lies in what is a file")
						: error_errno(ERROR_ENVIRONMENT, errno,
							  "%s: cannot unpack %s", at->name, part);
		at->folders += made;
		if (at->folders > BUNDLE_FOLDERS_MAX)
			return refused_member(at, path, "is in one folder too many");
		*slash = '/';
	}
	return NULL;
}

static struct error *count_bytes(struct unpacking *at, const char *path, size_t len)
{
	at->bytes += len;
	if (at->bytes <= at->bytes_max)
		return NULL;
	_cleanup_(text_deinit) struct text why;
	text_init(&why);
	text_printf(&why,
		"makes it more than %" PRIu64 " MiB, of %" PRIu64 " bytes: no bundle is so",
		at->bytes_max >> 20, at->packed_bytes);
	return refused_member(at, path, why.data ? why.data : "");
}

static struct error *copy_member_bytes(struct unpacking *at, const char *path, int fd)
{
	for (;;) {
		la_ssize_t len = at->library.archive_read_data(at->archive, at->piece, PIECE_BYTES);
		if (len == ARCHIVE_RETRY)
			continue;
		if (len < 0)
			return damaged_bundle(at);
		if (len == 0)
			return NULL;
		struct error *error = count_bytes(at, path, (size_t)len);
		if (!error)
			error = write_all(fd, path, at->piece, (size_t)len);
		if (error)
			return error;
	}
}

static struct error *unpack_file(
	struct unpacking *at, const char *path, struct archive_entry *entry)
{
	struct error *error = make_folders(at, path);
	if (error)
		return error;
	_cleanup_close_ int fd = openat(
		at->folder, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EEXIST)
		return refused_member(at, path, "is there twice");
	if (fd < 0 && errno == ENOTDIR)
		return refused_member(at, path, "lies in what is a file");
	if (fd < 0)
		return error_errno(
			ERROR_ENVIRONMENT, errno, "%s: cannot unpack %s", at->name, path);
	error = copy_member_bytes(at, path, fd);
	/* Recognises sources that are newer than the recording. */
	const struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT}, {at->library.archive_entry_mtime(entry),
						 at->library.archive_entry_mtime_nsec(entry)}};
	if (!error && at->library.archive_entry_mtime_is_set(entry))
		(void)!futimens(fd, times);
	return error;
}

static struct error *keep_manifest(struct unpacking *at)
{
	_cleanup_close_ int fd =
		openat(at->folder, BUNDLE_MANIFEST, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;
	if (fd < 0 || fstat(fd, &status) < 0)
		return error_errno(ERROR_ENVIRONMENT, errno, "%s: cannot be unpacked", at->name);
	if ((uint64_t)status.st_size > MANIFEST_BYTES_MAX)
		return refused_member(at, BUNDLE_MANIFEST, "is too long");
	at->manifest_len = (size_t)status.st_size;
	at->manifest = malloc(at->manifest_len + 1);
	if (!at->manifest)
		return error_no_memory();
	ssize_t len = pread(fd, at->manifest, at->manifest_len, 0);
	return len == (ssize_t)at->manifest_len
		       ? NULL
		       : error_errno(ERROR_ENVIRONMENT, EIO, "%s: cannot be unpacked", at->name);
}

static struct error *take_entry(struct unpacking *at, struct archive_entry *entry)
{
	const struct archive_library *library = &at->library;
	const char *path = library->archive_entry_pathname(entry);
	if (!path)
		return refused_member(at, "?", "has no name");
	while (strncmp(path, "./", 2) == 0)
		path += 2;
	if (library->archive_entry_hardlink(entry) ||
		library->archive_entry_filetype(entry) == AE_IFLNK)
		return refused_member(at, path, "is a link, which no bundle has");
	/* Bundles that were repacked with tar have directories too. */
	if (library->archive_entry_filetype(entry) == AE_IFDIR)
		return NULL;
	if (library->archive_entry_filetype(entry) != AE_IFREG)
		return refused_member(at, path, "is not a regular file");
	if (!bundle_place_is_good(path))
		return refused_member(at, path, "is not what a bundle of heapwise has");
	struct error *error = unpack_file(at, path, entry);
	if (!error && strcmp(path, BUNDLE_MANIFEST) == 0)
		error = keep_manifest(at);
	return error;
}

static struct error *unpack_members(struct unpacking *at)
{
	for (;;) {
		struct archive_entry *entry;
		int got = at->library.archive_read_next_header(at->archive, &entry);
		if (got == ARCHIVE_EOF)
			return NULL;
		if (got == ARCHIVE_RETRY)
			continue;
		if (got != ARCHIVE_OK && got != ARCHIVE_WARN)
			return damaged_bundle(at);
		if (++at->entries > BUNDLE_FILES_MAX)
			return error_create(ERROR_INPUT,
				"%s: has more than %u files, which no bundle has", at->name,
				BUNDLE_FILES_MAX);
		struct error *error = take_entry(at, entry);
		if (error)
			return error;
	}
}

static struct error *find_recording(struct unpacking *at, char **ret)
{
	struct stat status;
	char *place = NULL;
	if (!at->manifest)
		return error_create(ERROR_INPUT,
			"%s: is a tar archive, but not a bundle: it has no " BUNDLE_MANIFEST,
			at->name);
	struct error *error = error_prefix(
		bundle_manifest_recording(at->manifest, at->manifest_len, &place), "%s", at->name);
	if (error)
		return error;
	if (fstatat(at->folder, place, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISREG(status.st_mode)) {
		*ret = place;
		return NULL;
	}
	error = refused_member(at, place, "should be its recording, and is not there");
	free(place);
	return error;
}

/* What can be opened by one call then. */
static struct error *unpacking_begin(struct unpacking *at)
{
	struct archive_library *library = &at->library;
	struct error *error = archive_library_load(library);
	if (error)
		return error_prefix(error, "%s: cannot be unpacked", at->name);
	at->archive = library->archive_read_new();
	if (at->archive && library->archive_read_support_format_tar(at->archive) == ARCHIVE_OK &&
		library->archive_read_support_filter_gzip(at->archive) == ARCHIVE_OK &&
		library->archive_read_support_filter_zstd(at->archive) == ARCHIVE_OK)
		return NULL;
	return error_no_memory();
}

static void unpacking_end(struct unpacking *at)
{
	if (at->archive)
		at->library.archive_read_free(at->archive);
	free(at->manifest);
}

static struct error *unpack_archive(struct unpacking *at, bool opened, char **ret_recording)
{
	at->bytes_max = bundle_bytes_max(at->packed_bytes);
	_cleanup_free_ char *piece = malloc(PIECE_BYTES);
	at->piece = piece;
	if (!piece)
		return error_no_memory();
	struct error *error = opened ? unpack_members(at) : damaged_bundle(at);
	return error ? error : find_recording(at, ret_recording);
}

struct error *bundle_unpack(const char *path, int folder, char **ret_recording)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	if (fd < 0 || fstat(fd, &status) < 0)
		return error_errno(ERROR_INPUT, errno, "%s: cannot open", path);
	_cleanup_(charset_end) struct charset charset = charset_begin();
	(void)charset;
	_cleanup_(unpacking_end) struct unpacking at = {
		.name = path, .folder = folder, .packed_bytes = (uint64_t)status.st_size};
	struct error *error = unpacking_begin(&at);
	if (error)
		return error;
	int opened = at.library.archive_read_open_fd(at.archive, fd, PIECE_BYTES);
	return unpack_archive(&at, opened == ARCHIVE_OK, ret_recording);
}

struct error *bundle_unpack_bytes(
	const char *name, const void *data, size_t len, int folder, char **ret_recording)
{
	_cleanup_(charset_end) struct charset charset = charset_begin();
	(void)charset;
	_cleanup_(unpacking_end) struct unpacking at = {
		.name = name, .folder = folder, .packed_bytes = len};
	struct error *error = unpacking_begin(&at);
	if (error)
		return error;
	int opened = at.library.archive_read_open_memory(at.archive, data, len);
	return unpack_archive(&at, opened == ARCHIVE_OK, ret_recording);
}
