/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moments of a chunk that are known more exactly than by TIME, which has one entry for
 * HPW_TIME_STEP steps: column GAPS of EVENTS (format/FORMAT.md).
 */
#ifndef CAPTURE_GAPS_H
#define CAPTURE_GAPS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The step, counted from the chunk's first, and all later ones took place at this stamp or later.
 */
struct gap {
	uint64_t step, stamp;
};

struct gaps {
	struct gap *gaps; /* by step */
	size_t len, capacity;
	bool open;           /* `idle` is not yet in `gaps`: its end moves until a step comes */
	struct gap idle;     /* all events before this stamp have been written, before this step */
	uint64_t idle_after; /* stamp that held before it */
	struct gap peak;     /* of all that was recorded so far, if it is in this chunk */
	bool has_peak;
	uint64_t least; /* shorter gaps are left out */
	bool failed;    /* no memory */
};

void gaps_deinit(struct gaps *gaps);

/* All events before `stamp` have been written, as steps before number `step` of the chunk. after:
 * the last stamp of TIME. */
void gaps_idle(struct gaps *gaps, uint64_t step, uint64_t stamp, uint64_t after);

/* The step is known to be of this moment: a mark, or where a thread begins or ends. */
void gaps_exact(struct gaps *gaps, uint64_t step, uint64_t stamp);

/* As gaps_exact(), of the highest moment so far: a later one takes its place. */
static inline void gaps_peak(struct gaps *gaps, uint64_t step, uint64_t stamp)
{
	gaps->has_peak = true;
	gaps->peak = (struct gap){step, stamp};
}

/* Appends the column's bytes to *ret; none if it has no entry. steps: of the whole chunk. No
 * memory: ret->failed. */
void gaps_put(struct gaps *gaps, uint64_t steps, uint64_t first_stamp, struct buf *ret);

/* The next chunk begins. */
void gaps_clear(struct gaps *gaps);

#endif
