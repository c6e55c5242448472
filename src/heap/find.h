/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Searches for bytes in memory that a program has written: in blocks, free ones too, and elsewhere.
 * Memory is read once, in order, alongside the walk through the blocks. */
#ifndef HEAP_FIND_H
#define HEAP_FIND_H

#include "heap/heap.h"

struct heap_found {
	uint64_t address;
	struct heap_block block; /* in which all of it lies */
	bool is_in_block;        /* else in none that the program has or had */
};

struct heap_find {
	const void *bytes; /* not all zero: memory that was never written to is passed over */
	size_t len;
	size_t step; /* addresses are multiples of it; 1: any. Otherwise it is `len`, 2, 4 or 8 */
	bool in_used, in_free, in_rest; /* where it is looked for */
	void *context;
	/* Called for each match, ascending. An error ends the search and is returned. */
	struct error *(*take)(void *context, const struct heap_found *found);
	uint64_t unread_bytes; /* of memory that is searched: could not be read */
};

struct error *heap_find(struct heap *heap, struct heap_find *find) must_check_;

#endif
