/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording file being written: header, chunks one after another (each complete on disk before
 * the next begins), index and trailer at the end.
 *
 * With a queue (writer/write_queue.h) a thread of its own writes what is handed over. All functions
 * but writer_hand_over() wait for it first, so the file never shows whether there is a queue. A
 * writer is used by one thread at a time.
 */
#ifndef CAPTURE_WRITER_H
#define CAPTURE_WRITER_H

#include "base/buf.h"
#include "base/compress.h"
#include "base/error.h"
#include "format/hpw.h"

#include <stdint.h>

struct write_queue;

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
	bool named;          /* the file had a name when it was opened */
	bool stopped;        /* a write failed: nothing more is written */
	bool all_or_nothing; /* the file is for nobody then; false, as writer_open() leaves it */
	/* Borrowed; NULL, as writer_open() leaves it: everything is written at once. While chunks
	 * are in the queue its thread has all of the above. */
	struct write_queue *queue;
	uint32_t queued;    /* chunks in it; guarded by it, as the next one */
	struct error *late; /* the first error of chunks that were handed over; owned */
};

/* Takes over fd, which is empty and writable, and writes the header; features: enum hpw_feature,
 * or'ed. On failure fd is closed too. */
struct error *writer_open(struct writer *writer, int fd, const char *name, uint32_t features);

/* Writes the header again, with further features: before the first chunk that needs them. Returns 0
 * or an errno. */
int writer_require(struct writer *writer, uint32_t features) must_check_;

/* Closes the file as it is; a recording without writer_finish() is a readable, incomplete one. */
void writer_close(struct writer *writer);

/*
 * Appends a chunk. compress: by zstd if that makes it smaller. After the first failure (disk full,
 * quota, file size limit) every call is a no-op that reports success: what is on disk stays
 * valid. Also returns an error of a chunk that was handed over before.
 */
struct error *writer_chunk(
	struct writer *writer, enum hpw_chunk_type type, const struct buf *payload, bool compress);

/*
 * Appends a chunk, as writer_chunk() does, at some time: the thread of the queue writes it if there
 * is one. The payload is empty afterwards. Returns an error of this chunk, or, without waiting, of
 * an earlier one.
 */
struct error *writer_hand_over(struct writer *writer, enum hpw_chunk_type type, struct buf *payload,
	bool compress) must_check_;

/* Waits until all that was handed over is in the file. Returns the first error of it that no call
 * has returned yet. */
struct error *writer_settle(struct writer *writer) must_check_;

/* From now on everything is written at once, without the queue: for another thread that takes over
 * the writer. Errors as in writer_settle(). */
struct error *writer_leave_queue(struct writer *writer) must_check_;

/* Returns how many bytes the file has. */
uint64_t writer_size(struct writer *writer);

/* Appends a chunk as writer_chunk() does, but waits for nothing: for the thread of the queue. */
struct error *writer_append_chunk(
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
void writer_give_back(struct writer *writer, uint64_t at, uint64_t bytes);

/* Appends INDEX and trailer. */
struct error *writer_finish(struct writer *writer);

#endif
