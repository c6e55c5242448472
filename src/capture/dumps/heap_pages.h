/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many pages jemalloc would need for the live blocks: what its prof_gdump goes by. It has
 * blocks of up to 14 KiB in slabs, one size class in each, and larger ones in extents of their own.
 * That many slabs are needed at least; where blocks lie in them only the allocator knows.
 */
#ifndef CAPTURE_HEAP_PAGES_H
#define CAPTURE_HEAP_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#define HEAP_PAGE_BYTES 4096u
#define HEAP_PAGES_CLASSES 36u

struct heap_pages {
	bool is_on;
	/* Parts of blocks, since a sampled block stands for more than itself; likewise of pages. */
	uint64_t parts[HEAP_PAGES_CLASSES], large_parts;
	uint64_t pages, peak; /* now, and at most */
};

/* Begins to count, with no blocks. */
void heap_pages_begin(struct heap_pages *pages);

/* Adds a block of `size` bytes that stands for `weight` of them, 1 or more. */
void heap_pages_add(struct heap_pages *pages, uint64_t size, double weight);

/* Takes one off, if it was added. */
void heap_pages_remove(struct heap_pages *pages, uint64_t size, double weight);

#endif
