/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rings of a process, with memory behind them: while their events have to wait for something
 * else to be recorded first, words are moved from each ring to a lane of this source that has
 * HELD_LAPS times its room. Threads go on meanwhile, and nothing is lost or out of order.
 *
 *     ring      ░░░░░▓▓▓        threads write here and see its tail
 *                  ╰──▶ copied when it is looked at
 *     lane      ▓▓▓▓▓▓▓▓▓▓▓▓▓▓  the merge reads here, as soon as it may
 *
 * Once a lane is empty it is the ring itself again. Numbers of words are the ring's all the time.
 */
#ifndef CAPTURE_HELD_SOURCE_H
#define CAPTURE_HELD_SOURCE_H

#include "capture/recorder/ring_source.h"

#define HELD_LAPS 64u
/* Of all lanes together, that are in memory: then no more is moved than what leaves. */
#define HELD_BYTES_MAX (512ull << 20)

struct held_lane {
	uint64_t filled, taken; /* words */
	bool is_ring;           /* nothing is moved any more */
};

struct held_source {
	struct ring_source rings; /* with other functions */
	const struct event_source_ops *under;
	struct event_source_ops ops;
	uint64_t *words; /* of all lanes */
	uint64_t moved;  /* words that are in lanes */
	uint64_t most;   /* that may be there: once nothing is held, only fewer and fewer */
	uint32_t calls;  /* of taken() */
	bool holds;      /* the merge takes nothing yet */
	bool takes_all;  /* what is in a ring is wanted now, whatever that takes */
	struct held_lane lanes[EVENT_LANES_MAX];
};

/* Makes a source that begins as `rings`, which nobody has taken from so far. Returns NULL if there
 * is no memory. */
struct held_source *held_source_create(const struct ring_source *rings);
void held_source_destroy(struct held_source *held);

/* Moves what there is. Returns false if there is no room for more of it: threads begin to wait. */
bool held_source_fill(struct held_source *held);

/* Whether a lane that is empty has become its ring again, just now; *ret is its memory. */
bool held_source_lane_ends(struct held_source *held, uint32_t lane, struct event_lane *ret);

#endif
