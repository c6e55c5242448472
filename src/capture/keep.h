/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which events are kept if not all are: the first ones until the file has a given size, or the last
 * ones in a given number of bytes. The last ones go into a few segments of the file
 * (format/FORMAT.md, RING), which are made when needed and filled one after another; when all
 * exist, the oldest is overwritten. Events are in the file at once, as in an exact recording.
 */
#ifndef CAPTURE_KEEP_H
#define CAPTURE_KEEP_H

#include "base/error.h"
#include "capture/recorder/mode.h"
#include "capture/writer.h"

#include <stdbool.h>
#include <stddef.h>

/* The smallest ring that makes sense: some chunks of a thousand events. */
#define KEEP_RING_MIN (64u << 10)
/* The largest: a segment's size has to fit its chunk's header. */
#define KEEP_RING_MAX (16ull << 30)
#define KEEP_SEGMENTS 8

/* The range of steps and time of a chunk of events. */
struct keep_span {
	uint64_t first_step, steps;
	uint64_t from_tsc, until_tsc;
};

struct keep_segment {
	uint64_t at; /* of its payload in the file */
	uint32_t bytes, used;
	struct keep_span span; /* of what is in it */
};

struct keep {
	uint64_t ring_bytes, file_bytes; /* as in struct mode */
	struct keep_segment segments[KEEP_SEGMENTS];
	size_t count, current; /* current: the one that is being filled */
	struct buf sealed;     /* reused for each chunk */
	struct keep_span span; /* of all that is kept, if not in segments */
};

void keep_init(struct keep *keep, const struct mode *mode);
void keep_deinit(struct keep *keep);

/* Returns the number of steps after which a chunk is closed. */
uint64_t keep_chunk_steps(const struct keep *keep);

/* Returns whether no more events are kept, since the file is as large as it may be. */
bool keep_is_full(const struct keep *keep, struct writer *writer);

/* Returns whether the next chunk or a later one will replace older ones. */
bool keep_drops(const struct keep *keep);

/* Writes a chunk of events to the file, or to a segment of it. The payload is empty afterwards;
 * errors as in writer_hand_over(). */
struct error *keep_events(struct keep *keep, struct writer *writer, struct buf *payload,
	const struct keep_span *span) must_check_;

/* Returns what is kept by now: a range of steps without a gap. */
struct keep_span keep_all(const struct keep *keep);

#endif
