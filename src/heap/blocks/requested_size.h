/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of a block the program can have asked for: allocators round that up, each in its way.
 */
#ifndef HEAP_REQUESTED_SIZE_H
#define HEAP_REQUESTED_SIZE_H

#include "heap/heap.h"
#include "search/search.h"

/* Of a block of `size` usable bytes at `address`. */
struct search_requested heap_requested_size(
	const struct heap *heap, uint64_t address, uint64_t size);

#endif
