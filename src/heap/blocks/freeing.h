/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that a thread is just giving back: inside of glibc's free() and realloc() often nothing
 * has the block's address any more but only that of its chunk, 16 bytes before, while the block is
 * in use until it is in a list. It is no leak.
 *
 * Such words count of threads whose next instruction is in glibc, and that wait in no system call
 * but for an arena's lock: in their registers and in the words on top of their stacks, if what they
 * point to is the head of a chunk that is in use. All other words that point to heads of chunks
 * lead to the end of the block before, as everywhere.
 */
#ifndef HEAP_FREEING_H
#define HEAP_FREEING_H

#include "heap/scan/roots.h"

/* Adds a root for each such word of a thread. False: no memory. */
bool freeing_add_roots(const struct heap *heap, uint32_t thread, struct heap_root_vec *roots);

#endif
