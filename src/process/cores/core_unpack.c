/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/cores/core_unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/archive_library.h"
#include "base/cleanup.h"
#include "process/cores/core_lz4.h"

#define PIECE_BYTES (1u << 20)
#define PAGE_BYTES 4096u
/* Of what is not zero: a process's memory packs to a hundredth at most. */
#define WRITTEN_FIXED (64ull << 20)
#define WRITTEN_PER_BYTE 200u
#define BYTES_MAX (1ull << 46)

struct unpacking {
	struct archive_library library;
	struct archive *archive; /* NULL: the library is not loaded */
	const char *path;
	int out;
	uint64_t at, written, limit;
	uint8_t *piece;
	const void *block; /* the archive's: what of it was not taken yet */
	size_t left;
};

bool core_is_packed(const void *head, size_t len)
{
	static const struct {
		const char *magic;
		size_t len;
	} known[] = {{"\x28\xb5\x2f\xfd", 4}, {"\x1f\x8b", 2}, {"\x04\x22\x4d\x18", 4},
		{"\xfd"
		 "7zXZ",
			6}};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (len >= known[i].len && !memcmp(head, known[i].magic, known[i].len))
			return true;
	}
	return false;
}

static struct error *open_nameless(const char *path, int *ret)
{
	const char *folder = getenv("TMPDIR");
	folder = folder && *folder ? folder : "/var/tmp";
	*ret = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return *ret >= 0 ? NULL
			 : error_errno(ERROR_ENVIRONMENT, errno,
				   "can't unpack %s into a file in %s (set TMPDIR)", path, folder);
}

static bool is_zero(const uint8_t *bytes, size_t len)
{
	return !bytes[0] && !memcmp(bytes, bytes + 1, len - 1);
}

static struct error *write_page(struct unpacking *u, const uint8_t *bytes, size_t len)
{
	u->written += len;
	if (u->written > u->limit)
		return error_create(ERROR_INPUT,
			"%s: offset %" PRIu64
			" of what it unpacks to: no core of that size has so much in it",
			u->path, u->at);
	ssize_t n = pwrite(u->out, bytes, len, (off_t)u->at);
	if (n == (ssize_t)len)
		return NULL;
	return error_errno(ERROR_ENVIRONMENT, n < 0 ? errno : ENOSPC,
		"can't unpack %s to a temporary file (set TMPDIR)", u->path);
}

/* Pages of zeros become holes. */
static struct error *write_unpacked(struct unpacking *u, size_t len)
{
	struct error *error = NULL;
	for (size_t i = 0; i < len && !error; i += PAGE_BYTES) {
		size_t n = len - i < PAGE_BYTES ? len - i : PAGE_BYTES;
		if (!is_zero(u->piece + i, n))
			error = write_page(u, u->piece + i, n);
		u->at += n;
	}
	if (!error && u->at > BYTES_MAX)
		error = error_create(ERROR_INPUT, "%s: unpacks to more than any core", u->path);
	return error;
}

/* A whole piece, unless it is the last. False: what follows can't be read. */
static bool read_piece(struct unpacking *u, size_t *ret_len)
{
	*ret_len = 0;
	while (*ret_len < PIECE_BYTES) {
		la_int64_t unused;
		/* Not archive_read_data(): where that fails it keeps what it has unpacked before.
		 */
		int state = u->left ? ARCHIVE_OK
				    : u->library.archive_read_data_block(
					      u->archive, &u->block, &u->left, &unused);
		if (state != ARCHIVE_OK)
			return state == ARCHIVE_EOF;
		if (!u->left)
			continue;
		size_t room = PIECE_BYTES - *ret_len, len = u->left < room ? u->left : room;
		memcpy(u->piece + *ret_len, u->block, len);
		u->block = (const uint8_t *)u->block + len;
		u->left -= len;
		*ret_len += len;
	}
	return true;
}

/* What is unpacked already, which a block that is not the first may refer to. */
static size_t read_window(const struct unpacking *u, uint8_t *ret)
{
	size_t len = u->at < CORE_LZ4_WINDOW ? (size_t)u->at : CORE_LZ4_WINDOW;
	/* Holes at its end have no bytes in the file so far. */
	memset(ret, 0, len);
	ssize_t n = pread(u->out, ret, len, (off_t)(u->at - len));
	return n >= 0 ? len : 0;
}

/* Of a block that the file ends in the archive's library says nothing. */
static struct error *unpack_cut_block(struct unpacking *u, int fd, uint64_t size)
{
	struct core_lz4_cut cut;
	struct error *error = NULL;
	if (!core_lz4_find_cut(fd, size, &cut) || u->at != cut.before * cut.block_most)
		return NULL;
	size_t room = CORE_LZ4_WINDOW + cut.block_most;
	_cleanup_free_ uint8_t *block = malloc(cut.len), *out = malloc(room);
	if (!block || !out)
		return error_no_memory();
	if (pread(fd, block, cut.len, (off_t)cut.offset) != (ssize_t)cut.len)
		return NULL;
	size_t known = cut.is_independent ? 0 : read_window(u, out), end = known + cut.len;
	if (cut.is_plain)
		memcpy(out + known, block, cut.len);
	else
		end = core_lz4_unpack(block, cut.len, out, known, known + cut.block_most);
	for (size_t at = known; at < end && !error; at += PIECE_BYTES) {
		size_t len = end - at < PIECE_BYTES ? end - at : PIECE_BYTES;
		memcpy(u->piece, out + at, len);
		error = write_unpacked(u, len);
	}
	return error;
}

static struct error *unpack_all(struct unpacking *u, int fd, uint64_t size, bool *ret_cut)
{
	size_t len = PIECE_BYTES;
	struct error *error = NULL;
	while (!error && !*ret_cut && len == PIECE_BYTES) {
		*ret_cut = !read_piece(u, &len);
		error = write_unpacked(u, len);
	}
	if (!error && *ret_cut)
		error = unpack_cut_block(u, fd, size);
	if (!error && ftruncate(u->out, (off_t)u->at) < 0)
		error = error_errno(ERROR_ENVIRONMENT, errno, "can't unpack %s", u->path);
	return error;
}

/* *ret_cut: nothing can be read of it but what its first block has. */
static struct error *begin_unpacking(struct unpacking *u, int fd, uint64_t size, bool *ret_cut)
{
	struct archive_entry *entry;
	struct archive_library *library = &u->library;
	struct error *error = archive_library_load(library);
	if (error)
		return error_prefix(error, "%s: can't be unpacked", u->path);
	u->archive = library->archive_read_new();
	u->piece = malloc(PIECE_BYTES);
	if (!u->archive || !u->piece)
		return error_no_memory();
	library->archive_read_support_format_raw(u->archive);
	library->archive_read_support_filter_zstd(u->archive);
	library->archive_read_support_filter_gzip(u->archive);
	library->archive_read_support_filter_lz4(u->archive);
	library->archive_read_support_filter_xz(u->archive);
	struct core_lz4_cut cut;
	*ret_cut = core_lz4_find_cut(fd, size, &cut) && !cut.before;
	if ((library->archive_read_open_fd(u->archive, fd, PIECE_BYTES) == ARCHIVE_OK &&
		    library->archive_read_next_header(u->archive, &entry) == ARCHIVE_OK) ||
		*ret_cut)
		return NULL;
	const char *why = library->archive_error_string(u->archive);
	return error_create(
		ERROR_INPUT, "%s: can't be unpacked: %s", u->path, why ? why : "damaged");
}

struct error *core_unpack(int fd, const char *path, int *ret_fd, bool *ret_cut)
{
	struct stat status;
	*ret_fd = -1;
	*ret_cut = false;
	if (fstat(fd, &status) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return error_errno(ERROR_INPUT, errno, "can't read %s", path);
	struct unpacking u = {.path = path, .out = -1};
	u.limit = WRITTEN_FIXED + (uint64_t)status.st_size * WRITTEN_PER_BYTE;
	struct error *error = open_nameless(path, &u.out);
	if (!error)
		error = begin_unpacking(&u, fd, (uint64_t)status.st_size, ret_cut);
	if (!error)
		error = unpack_all(&u, fd, (uint64_t)status.st_size, ret_cut);
	if (u.archive)
		u.library.archive_read_free(u.archive);
	free(u.piece);
	if (error && u.out >= 0)
		close(u.out);
	if (!error)
		*ret_fd = u.out;
	return error;
}
