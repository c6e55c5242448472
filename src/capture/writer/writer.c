/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/writer.h"

#include "base/checksum.h"
#include "base/cleanup.h"
#include "capture/writer/write_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define ZSTD_LEVEL 1
/* A frame has some 15 bytes of its own: shorter payloads seldom get smaller, and small recordings
 * consist of them. */
#define PACK_LEAST 64u

/* Writes both parts whole, in one call if the system allows. */
static int write_parts(int fd, const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
	struct iovec parts[2] = {{(void *)a, a_bytes}, {(void *)b, b_bytes}};
	struct iovec *at = parts;
	int count = 2;
	while (count) {
		ssize_t n = writev(fd, at, count);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		while (count && (size_t)n >= at->iov_len) {
			n -= (ssize_t)at->iov_len;
			at++;
			count--;
		}
		if (count) {
			at->iov_base = (char *)at->iov_base + n;
			at->iov_len -= (size_t)n;
		}
	}
	return 0;
}

struct error *writer_stop(struct writer *writer, int failed)
{
	struct writer *w = writer;
	w->stopped = true;
	/* What is half on disk would only look like damage. */
	if (ftruncate(w->fd, (off_t)w->offset)) {
		/* then the reader passes over it */
	}
	if (w->all_or_nothing || !w->offset)
		return error_errno(ERROR_ENVIRONMENT, failed, "can't write %s", w->name);
	return error_errno(ERROR_ENVIRONMENT, failed,
		"%s: can't write past %llu bytes; the recording stays readable up to there",
		w->name, (unsigned long long)w->offset);
}

static struct error *writer_append(
	struct writer *w, const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
	int failed = write_parts(w->fd, a, a_bytes, b, b_bytes);
	if (failed)
		return writer_stop(w, failed);
	w->offset += a_bytes + b_bytes;
	return NULL;
}

static struct hpw_header header_of(uint32_t features)
{
	struct hpw_header header = {.magic = HPW_MAGIC,
		.version_major = HPW_VERSION_MAJOR,
		.version_minor = HPW_VERSION_MINOR,
		.required_features = features};
	header.checksum = checksum64(&header, offsetof(struct hpw_header, checksum));
	return header;
}

struct error *writer_open(struct writer *writer, int fd, const char *name, uint32_t features)
{
	memset(writer, 0, sizeof(*writer));
	struct stat st;
	writer->fd = fd;
	/* Says to readers that the recording goes on; where that is not possible they can't know.
	 */
	fcntl(fd, F_SETLK, &(struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET});
	writer->named = !fstat(fd, &st) && st.st_nlink;
	buf_init(&writer->packed);
	writer->name = strdup(name);
	compressor_init(&writer->compressor);
	struct error *error = writer->name ? NULL : error_no_memory();
	struct hpw_header header = header_of(features);
	if (!error)
		error = writer_append(writer, &header, sizeof(header), NULL, 0);
	if (error)
		writer_close(writer);
	return error;
}

static void writer_wait(struct writer *writer)
{
	if (writer->queue)
		write_queue_wait(writer->queue, writer);
}

static struct error *take_late(struct writer *writer)
{
	return writer->queue ? write_queue_take_error(writer->queue, writer) : NULL;
}

struct error *writer_settle(struct writer *writer)
{
	writer_wait(writer);
	return take_late(writer);
}

struct error *writer_leave_queue(struct writer *writer)
{
	struct error *late = writer_settle(writer);
	writer->queue = NULL;
	return late;
}

uint64_t writer_size(struct writer *writer)
{
	writer_wait(writer);
	return writer->offset;
}

/* Takes both over. */
static struct error *first_error(struct error *first, struct error *second)
{
	if (!first)
		return second;
	error_destroy(second);
	return first;
}

void writer_close(struct writer *writer)
{
	error_destroy(writer_settle(writer));
	if (writer->fd >= 0)
		close(writer->fd);
	writer->fd = -1;
	compressor_deinit(&writer->compressor);
	buf_deinit(&writer->packed);
	free(writer->name);
	free(writer->entries);
	writer->name = NULL;
	writer->entries = NULL;
}

static bool writer_remember(struct writer *w, uint16_t type)
{
	if (w->entry_count == w->entry_capacity) {
		size_t capacity = w->entry_capacity ? w->entry_capacity * 2 : 64;
		void *moved = realloc(w->entries, capacity * sizeof(*w->entries));
		if (!moved)
			return false;
		w->entries = moved;
		w->entry_capacity = capacity;
	}
	w->entries[w->entry_count++] = (struct writer_entry){w->offset, type};
	return true;
}

/* Header and stored form (payload itself, or in writer->packed) of a chunk. */
static struct error *writer_pack(struct writer *writer, enum hpw_chunk_type type,
	const struct buf *payload, bool compress, struct hpw_chunk_header *ret_header,
	const struct buf **ret_stored)
{
	const struct buf *stored = payload;
	struct hpw_chunk_header h = {.magic = HPW_CHUNK_MAGIC,
		.type = (uint16_t)type,
		.raw_bytes = (uint32_t)payload->len};
	if (compress && payload->len >= PACK_LEAST) {
		writer->packed.len = 0;
		struct error *error = compressor_pack(&writer->compressor, ZSTD_LEVEL,
			payload->data, payload->len, &writer->packed);
		if (error)
			return error;
		if (writer->packed.len < payload->len) {
			stored = &writer->packed;
			h.flags = HPW_CHUNK_ZSTD;
		}
	}
	h.stored_bytes = (uint32_t)stored->len;
	h.payload_checksum = checksum64(stored->data, stored->len);
	h.header_checksum = checksum64(&h, offsetof(struct hpw_chunk_header, header_checksum));
	*ret_header = h;
	*ret_stored = stored;
	return NULL;
}

struct error *writer_append_chunk(
	struct writer *writer, enum hpw_chunk_type type, const struct buf *payload, bool compress)
{
	if (writer->stopped)
		return NULL;
	struct hpw_chunk_header h;
	const struct buf *stored;
	struct error *error = writer_pack(writer, type, payload, compress, &h, &stored);
	if (error)
		return error;
	if (type != HPW_INDEX && !writer_remember(writer, (uint16_t)type))
		return error_no_memory();
	return writer_append(writer, &h, sizeof(h), stored->data, stored->len);
}

struct error *writer_chunk(
	struct writer *writer, enum hpw_chunk_type type, const struct buf *payload, bool compress)
{
	struct error *late = writer_settle(writer);
	return first_error(late, writer_append_chunk(writer, type, payload, compress));
}

struct error *writer_hand_over(
	struct writer *writer, enum hpw_chunk_type type, struct buf *payload, bool compress)
{
	struct error *error = NULL;
	if (!writer->queue || !write_queue_add(writer->queue, writer, type, payload, compress))
		error = writer_append_chunk(writer, type, payload, compress);
	buf_clear(payload);
	return first_error(take_late(writer), error);
}

bool writer_is_gone(const struct writer *writer)
{
	struct stat st;
	return writer->named && !fstat(writer->fd, &st) && st.st_nlink == 0;
}

struct error *writer_seal(
	struct writer *writer, enum hpw_chunk_type type, const struct buf *payload, struct buf *ret)
{
	struct hpw_chunk_header h;
	const struct buf *stored;
	writer_wait(writer);
	struct error *error = writer_pack(writer, type, payload, true, &h, &stored);
	if (error)
		return error;
	buf_bytes(ret, &h, sizeof(h));
	buf_bytes(ret, stored->data, stored->len);
	return ret->failed ? error_no_memory() : NULL;
}

struct error *writer_sealed(
	struct writer *writer, enum hpw_chunk_type type, const struct buf *sealed)
{
	writer_wait(writer);
	if (writer->stopped)
		return NULL;
	if (!writer_remember(writer, (uint16_t)type))
		return error_no_memory();
	return writer_append(writer, sealed->data, sealed->len, NULL, 0);
}

struct error *writer_place(
	struct writer *writer, enum hpw_chunk_type type, uint32_t bytes, uint64_t *ret)
{
	*ret = 0;
	writer_wait(writer);
	if (writer->stopped)
		return NULL;
	struct hpw_chunk_header h = {.magic = HPW_CHUNK_MAGIC,
		.type = (uint16_t)type,
		.stored_bytes = bytes,
		.raw_bytes = bytes};
	h.header_checksum = checksum64(&h, offsetof(struct hpw_chunk_header, header_checksum));
	if (type != HPW_CHECKPOINT && !writer_remember(writer, (uint16_t)type))
		return error_no_memory();
	struct error *error = writer_append(writer, &h, sizeof(h), NULL, 0);
	if (error)
		return error;
	uint64_t end = writer->offset + bytes;
	if (ftruncate(writer->fd, (off_t)end) || lseek(writer->fd, (off_t)end, SEEK_SET) < 0) {
		int failed = errno;
		writer->offset -= sizeof(h);
		return writer_stop(writer, failed);
	}
	*ret = writer->offset;
	writer->offset = end;
	return NULL;
}

int writer_put(struct writer *writer, uint64_t at, const void *data, size_t bytes)
{
	writer_wait(writer);
	while (bytes) {
		ssize_t n = pwrite(writer->fd, data, bytes, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		data = (const char *)data + n;
		at += (size_t)n;
		bytes -= (size_t)n;
	}
	return 0;
}

int writer_require(struct writer *writer, uint32_t features)
{
	struct hpw_header header = header_of(features);
	return writer->stopped ? 0 : writer_put(writer, 0, &header, sizeof(header));
}

void writer_give_back(struct writer *writer, uint64_t at, uint64_t bytes)
{
	writer_wait(writer);
	if (!writer->stopped)
		(void)!fallocate(writer->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at,
			(off_t)bytes);
}

struct error *writer_finish(struct writer *writer)
{
	struct error *late = writer_settle(writer);
	if (writer->stopped)
		return late;
	struct buf offsets, types, index;
	buf_init(&offsets);
	buf_init(&types);
	buf_init(&index);
	uint64_t before = 0;
	for (size_t i = 0; i < writer->entry_count; i++) {
		buf_varint(&offsets, writer->entries[i].offset - before);
		buf_varint(&types, writer->entries[i].type);
		before = writer->entries[i].offset;
	}
	const uint64_t table[] = {2, 0, offsets.len, 1, types.len};
	for (unsigned i = 0; i < 5; i++)
		buf_varint(&index, table[i]);
	buf_bytes(&index, offsets.data, offsets.len);
	buf_bytes(&index, types.data, types.len);
	bool ok = !offsets.failed && !types.failed && !index.failed;
	struct hpw_trailer trailer = {.index_offset = writer->offset, .magic = HPW_TRAILER_MAGIC};
	trailer.checksum = checksum64(&trailer, offsetof(struct hpw_trailer, checksum));
	struct error *error =
		ok ? writer_chunk(writer, HPW_INDEX, &index, true) : error_no_memory();
	if (!error && !writer->stopped)
		error = writer_append(writer, &trailer, sizeof(trailer), NULL, 0);
	buf_deinit(&offsets);
	buf_deinit(&types);
	buf_deinit(&index);
	return first_error(late, error);
}
