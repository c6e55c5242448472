/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks in the middle of a realloc, of which only the beginning has been told so far: their place
 * in the heap may be somebody else's already, and may be theirs after all if the call fails. Few at
 * a time, and only of threads without a ring of their own (HW_R_MOVING), so a plain list will do.
 */
#ifndef CAPTURE_MOVING_H
#define CAPTURE_MOVING_H

#include "base/vec.h"
#include "capture/live.h"

struct moving_block {
	struct live_block block; /* address alone, if it is not known */
	uint32_t thread;         /* that resizes it */
	bool known;
};
DEFINE_VEC(moving, struct moving_block)

/* Takes the block at address, known or not, out of the table. False: no memory, nothing done. */
bool moving_begin(struct moving *moving, struct live *live, uint32_t thread, uint64_t address);

/* The thread's latest of these, whatever its address (0) or at that address: fills *ret and takes
 * it off the list. False: there is none. */
bool moving_end(struct moving *moving, uint32_t thread, uint64_t address, struct moving_block *ret);

#endif
