/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording file being written: header, chunks one after another (each complete on disk before
 * the next begins), index and trailer at the end.
 */
#ifndef CAPTURE_WRITER_H
#define CAPTURE_WRITER_H

#include "base/buf.h"
#include "base/compress.h"
#include "base/error.h"
#include "format/hpw.h"

#include <stdint.h>

struct writer_entry {
	uint64_t offset;
	uint16_t type;
};

struct writer {
	int fd;
	char *name; /* for messages */
	uint64_t offset;
	struct compressor compressor;
	struct buf packed; /* reused for each chunk */
	struct writer_entry *entries;
	size_t entry_count, entry_capacity;
	bool named;   /* the file had a name when it was opened */
	bool stopped; /* a write failed: nothing more is written */
};

/* Takes over fd, which is empty and writable, and writes the header; features: enum hpw_feature,
 * or'ed. On failure fd is closed too. */
struct error *writer_open(struct writer *writer, int fd, const char *name, uint32_t features);

/* Closes the file as it is; a recording without writer_finish() is a readable, incomplete one. */
void writer_close(struct writer *writer);

/*
 * Appends a chunk. compress: by zstd if that makes it smaller. After the first failure (disk full,
 * quota, file size limit) every call is a no-op that reports success: what is on disk stays
 * valid.
 */
struct error *writer_chunk(
	struct writer *writer, enum hpw_chunk_type type, const struct buf *payload, bool compress);

/* Returns whether the file was removed or replaced meanwhile: it has no name any more. */
bool writer_is_gone(const struct writer *writer);

/* A chunk as it would be appended, for writer_sealed() to do so later. */
struct error *writer_seal(struct writer *writer, enum hpw_chunk_type type,
	const struct buf *payload, struct buf *ret);
struct error *writer_sealed(
	struct writer *writer, enum hpw_chunk_type type, const struct buf *sealed);

/*
 * Appends a chunk whose payload of this many bytes, zero at first, is written by writer_put(),
 * again and again. CHECKPOINT: INDEX will not have it. *ret: where the payload is; 0: the file has
 * failed before.
 */
struct error *writer_place(
	struct writer *writer, enum hpw_chunk_type type, uint32_t bytes, uint64_t *ret) must_check_;

/* Overwrites a part of such a payload. 0, or an errno value. */
int writer_put(struct writer *writer, uint64_t at, const void *data, size_t bytes) must_check_;

/* The error of a write that failed with `failed`; nothing more is written. */
struct error *writer_stop(struct writer *writer, int failed) must_check_;

/* What is there will not be read again: frees its room on the disk, if the file system can. */
void writer_give_back(const struct writer *writer, uint64_t at, uint64_t bytes);

/* Appends INDEX and trailer. */
struct error *writer_finish(struct writer *writer);

#endif
