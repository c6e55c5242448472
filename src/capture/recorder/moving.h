/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks in the middle of a realloc, of which only the beginning has been told so far: their place
 * in the heap may be somebody else's already, and may be theirs after all if the call fails. By
 * thread: each has one, or a few when signal handlers resize too (HW_R_MOVING).
 */
#ifndef CAPTURE_MOVING_H
#define CAPTURE_MOVING_H

#include "base/map.h"
#include "capture/recorder/live.h"

struct moving_block {
	struct live_block block; /* address alone, if it is not known */
	bool known;
};

/* A handler's realloc in a handler's realloc … in a thread's. */
#define MOVING_DEPTH 4

struct moving_thread {
	uint32_t count;
	struct moving_block blocks[MOVING_DEPTH]; /* the latest last */
};

static inline uint64_t moving_hash(uint32_t thread)
{
	return hash_u64(thread);
}

static inline bool moving_same(uint32_t a, uint32_t b)
{
	return a == b;
}
DEFINE_MAP(moving, uint32_t, struct moving_thread, moving_hash, moving_same)

/* Takes the block at address, known or not, out of the table. False: no memory or too many, nothing
 * done. */
bool moving_begin(struct moving *moving, struct live *live, uint32_t thread, uint64_t address);

/* The thread's latest of these, whatever its address (0) or at that address: fills *ret and takes
 * it off the list. False: there is none. */
bool moving_end(struct moving *moving, uint32_t thread, uint64_t address, struct moving_block *ret);

/* Some thread that has any; false: there is none. */
bool moving_any(const struct moving *moving, uint32_t *ret_thread);

#endif
