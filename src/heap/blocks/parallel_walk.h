/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Goes through a large heap by two threads. Where a chunk of glibc's begins is known only from the
 * one before: the second thread begins where chunks seem to follow each other, and what it finds
 * counts if the first one comes by there.
 */
#ifndef HEAP_PARALLEL_WALK_H
#define HEAP_PARALLEL_WALK_H

#include "heap/heap.h"

/* From this many bytes on a second thread is worth it. */
#define HALVES_BYTES (2ull << 20)

/*
 * Tells all blocks as heap_walk() does: `first` those of the first half, and `second`, by a thread
 * of its own, those after. Both are asked at the same time. *ret_halved false: `first` has got
 * all, and what `second` has got counts for nothing. That is so below `least` bytes, of other
 * allocators, and where the second thread began in the midst of a chunk.
 */
struct error *heap_walk_parallel(struct heap *heap, uint64_t least, const struct heap_sink *first,
	const struct heap_sink *second, bool *ret_halved) must_check_;

#endif
