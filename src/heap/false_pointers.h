/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which words count as pointers into blocks only where nothing else holds these
 * (search/false_pointers.h), as debug information has it. */
#ifndef HEAP_FALSE_POINTERS_H
#define HEAP_FALSE_POINTERS_H

#include "heap/heap_scan.h"

/* Call it before references are asked about; the scan is typed, and placed if it is to be. It is
 * found once: what was found stays. few: of these blocks alone, which all from which pointers lead
 * to them are of; NULL: of all. */
struct error *false_pointers_find(
	const struct heap_scan *scan, const struct space_u32 *subset) must_check_;

/* The false words of a block, for callers that go through all its words in order. */
struct graph;
struct false_words {
	const struct graph *graph;
	uint32_t next, end; /* edges */
	uint64_t last;      /* word, to a start; 0: none */
	bool last_is_false;
};
struct false_words false_words_of(const struct heap_scan *scan, uint32_t block);
/* Whether the next word, which is `value`, is one. */
bool false_words_take(struct false_words *words, uint64_t value);

#endif
