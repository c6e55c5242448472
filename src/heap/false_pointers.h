/* SPDX-License-Identifier: GPL-2.0-or-later */
/* False pointers, by debug information: words that count as pointers into blocks only if nothing
 * else references these (search/false_pointers.h). */
#ifndef HEAP_FALSE_POINTERS_H
#define HEAP_FALSE_POINTERS_H

#include "heap/heap_scan.h"

/* Finds the false pointers, once; later calls return the same. Call it before you ask about
 * references; the scan has types, and sites if it is to have them. subset: only the words of these
 * blocks, which include all that point to them; NULL: all blocks. */
struct error *false_pointers_find(
	const struct heap_scan *scan, const struct space_u32 *subset) must_check_;

/* An iterator over the false pointers of a block, for callers that go through all its words in
 * order. */
struct graph;
struct false_words {
	const struct graph *graph;
	uint32_t next, end; /* edges */
	uint64_t last;      /* word, to a start; 0: none */
	bool last_is_false;
};
struct false_words false_words_of(const struct heap_scan *scan, uint32_t block);
/* Returns whether the next word, `value`, is a false pointer. */
bool false_words_take(struct false_words *words, uint64_t value);

#endif
