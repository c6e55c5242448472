/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which events are kept when not all are to be: the last ones in so many bytes (a ring of whole
 * chunks in memory, written at the end), or the first ones until the file is so large.
 */
#ifndef CAPTURE_KEEP_H
#define CAPTURE_KEEP_H

#include "base/error.h"
#include "capture/mode.h"
#include "capture/writer.h"

#include <stdbool.h>
#include <stddef.h>

/* The smallest ring that makes sense: some chunks of a thousand events. */
#define KEEP_RING_MIN (64u << 10)

/* What a chunk of events is about. */
struct keep_span {
	uint64_t first_step, steps;
	uint64_t from_tsc, until_tsc;
};

struct keep_chunk {
	struct buf sealed; /* as it goes into the file */
	struct keep_span span;
};

struct keep {
	uint64_t ring_bytes, file_bytes; /* as in struct mode */
	struct keep_chunk *chunks;       /* of the ring, oldest first */
	size_t count, capacity;
	uint64_t bytes;        /* of these chunks */
	struct keep_span span; /* of all that is kept */
};

void keep_init(struct keep *keep, const struct mode *mode);
void keep_deinit(struct keep *keep);

/* A chunk is closed after so many steps. */
uint64_t keep_chunk_steps(const struct keep *keep);

/* Whether events are kept no longer, now that the file has so many bytes. */
bool keep_is_full(const struct keep *keep, uint64_t file_bytes);

/* A chunk of events: into the file, or into the ring. */
struct error *keep_events(struct keep *keep, struct writer *writer, const struct buf *payload,
	const struct keep_span *span) must_check_;

/* Writes what the ring holds. */
struct error *keep_finish(struct keep *keep, struct writer *writer) must_check_;

#endif
