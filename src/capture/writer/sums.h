/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a reader needs to know a recording at any moment without going through all events before it
 * (format/FORMAT.md, SUMS and DEATHS): what each chunk of events comes to, and which blocks of
 * earlier chunks die in it.
 */
#ifndef CAPTURE_SUMS_H
#define CAPTURE_SUMS_H

#include "base/buf.h"
#include "capture/recorder/tally.h"
#include "capture/writer/encode.h"

#include <stdbool.h>
#include <stdint.h>

/* The books when the chunk began. */
struct sums_thread {
	uint64_t allocations, allocated_bytes, frees, temporary;
	uint32_t state; /* enum hpw_sums_state */
};

struct sums {
	bool on;
	struct sums_thread *threads; /* by row of the tally */
	uint32_t thread_capacity;
	uint64_t live_blocks, live_bytes, live_padding, lost, unknown_frees, mismatched;
	uint64_t instructions;        /* when the chunk began */
	uint64_t calls, calls_before; /* calls: so far; a realloc is one */
};

/* From the first event on. */
void sums_begin(struct sums *sums, struct tally *tally, struct encoder *encoder);
void sums_deinit(struct sums *sums);

/* No more of it. */
void sums_end(struct sums *sums, struct tally *tally, struct encoder *encoder);

/* Makes
 * the payloads that belong to the chunk that is being closed. Returns false if out of memory. */
bool sums_put(struct sums *sums, struct tally *tally, struct encoder *encoder, struct buf *ret);
bool sums_put_deaths(const struct sums *sums, struct encoder *encoder, struct buf *ret);

/* The next chunk begins. */
void sums_next(struct sums *sums, struct tally *tally, struct encoder *encoder);

#endif
