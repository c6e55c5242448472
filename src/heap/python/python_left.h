/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stale words of the interpreter itself, of CPython 3.11 to 3.13: slots after the last entry of a
 * list of free objects, and words above the top of a thread's stack of frames. In frames so are
 * values above a frame's top; and of one that runs all values may be, since only a register has its
 * top. (Tested on 3.11, and by hand on 3.13.)
 *
 *     list, dict, dict's keys:  | free | free | left | left | 0 … 0 | count: 2 |   80 places each
 *     stack of frames:          | previous, size, top | frame | frame | left …      |
 *                                                                     ^ top         ^ limit
 */
#ifndef HEAP_PYTHON_LEFT_H
#define HEAP_PYTHON_LEFT_H

#include "heap/blocks/areas.h"
#include "process/address_space.h"

/* Returns whether a word of a module's data is such a place. */
bool python_left_is_place(const struct address_space *space, uint64_t address);

/* Adds what is left on threads' stacks of frames, from their tops to their limits, and what may be
 * left in frames; nothing of
 * threads whose state is not found. The only errors are of memory. */
struct error *python_left_stacks(
	const struct address_space *space, struct heap_ranges *ret) must_check_;

#endif
