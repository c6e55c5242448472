/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks in the middle of a realloc, of which only the beginning was recorded so far. Their address
 * may already belong to another block, and may remain theirs if the call fails. They are kept by
 * thread: each has one, or a few if signal handlers call realloc, too (HW_R_MOVING).
 */
#ifndef CAPTURE_MOVING_H
#define CAPTURE_MOVING_H

#include "base/map.h"
#include "capture/recorder/live_table.h"

struct moving_block {
	struct live_entry block; /* only the address, if the block is not known */
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

/* Moves the block at an address, known or not, out of the table. Returns false, and does nothing,
 * if there is no memory or the thread has too many. */
bool moving_begin(
	struct moving *moving, struct live_table *live, uint32_t thread, uint64_t address);

/* Finds the thread's latest of these, whatever its address (0) or at that address: fills *ret and
 * takes it off the list. False: there is none. */
bool moving_end(struct moving *moving, uint32_t thread, uint64_t address, struct moving_block *ret);

/* Some thread that has any; false: there is none. */
bool moving_any(const struct moving *moving, uint32_t *ret_thread);

#endif
