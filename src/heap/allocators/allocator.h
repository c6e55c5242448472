/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the heap inspector asks of an allocator. Each one in HEAP_ALLOCATOR_ROWS (areas.h) defines
 * its row, X_allocator; its state is the member X of struct heap.
 */
#ifndef HEAP_ALLOCATOR_H
#define HEAP_ALLOCATOR_H

#include "heap/heap.h"
#include "search/search.h"

struct text;
struct window;

struct allocator {
	const char *name; /* as users know it */
	/* Looks for the allocator in the heap's address space. If it is there, fills its member of
	 * the heap, and adds its areas and its metadata. */
	struct error *(*find)(struct heap *heap);
	/* Reports the blocks of one of its areas, ascending. */
	struct error *(*walk)(struct heap *heap, const struct heap_area *area,
		struct window *window, const struct heap_sink *sink);
	void (*close)(struct heap *heap); /* NULL: there is nothing to free */
	/* Lowers `least` and `mostly` of a block of asked->most usable bytes in one of its areas.
	 * NULL: its blocks are as large as what was requested. */
	void (*requested)(const struct heap *heap, const struct heap_area *area,
		struct search_requested *asked);
	/* Adds what was seen of the allocator where no heap was found, and why that is no heap.
	 * NULL: nothing is said of it. */
	void (*refused)(const struct heap *heap, struct text *text);
};

#define ALLOCATOR_DECLARE_(id, noun) extern const struct allocator noun##_allocator;
HEAP_ALLOCATOR_ROWS(ALLOCATOR_DECLARE_)
#undef ALLOCATOR_DECLARE_

const struct allocator *allocator_of(enum heap_allocator allocator);

/* Adds memory in which words reference nothing. */
struct error *allocator_add_metadata(
	struct heap *heap, const struct heap_ranges *metadata) must_check_;

/* Requested sizes: at most `spare` bytes fewer than the block has. */
void allocator_requested_but(struct search_requested *asked, uint64_t spare);
/* The size class below one of those that are four up to each double (jemalloc: sz.h; mimalloc:
 * page-queue.c; Go). */
uint64_t allocator_quarter_below(uint64_t size);
void allocator_requested_quarters(
	const struct heap *heap, const struct heap_area *area, struct search_requested *asked);

#endif
