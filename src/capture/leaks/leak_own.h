/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that an allocator's library allocated for itself. The library holds them in its data,
 * which is no root, since most pointers to blocks there belong to lists of free blocks. They are
 * found by their stacks, which contain frames of the library:
 *
 *   - a block that the library allocated when the loader called it (constructors, destructors), or
 *     a thread with no frames but libc's, is its own;
 *   - a block that it allocated when the program called it, even free(), is its own if a word of
 * its data or of its thread-local memory holds the block. Blocks that it allocated on behalf of the
 *     program (its operator new may call malloc) or has handed over are not held there.
 *
 * Libc's own data is a root, apart from its arena, and so is the data of a program that is linked
 * with its allocator.
 */
#ifndef CAPTURE_LEAK_OWN_H
#define CAPTURE_LEAK_OWN_H

#include "base/ranges.h"
#include "capture/leaks/leak_roots.h"

/* Adds what holds such blocks to `ret`: the data of the allocator's library, and its thread-local
 * memory, which is at `locals`. */
struct error *leak_own_find(const struct leak_target *place, const struct address_ranges *locals,
	struct leak_roots *ret) must_check_;

#endif
