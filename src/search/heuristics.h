/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether an interior pointer is one that a known layout makes as a matter of course. The layouts:
 * memcheck/mc_leakcheck.c, heuristic_reachedness(); Valgrind's manual, --leak-check-heuristics.
 */
#ifndef SEARCH_HEURISTICS_H
#define SEARCH_HEURISTICS_H

#include "search/search.h"

struct heuristics {
	const struct search_memory *memory;
	unsigned enabled; /* enum search_heuristic */
	const struct search_map *maps;
	size_t map_count;
};

/* A block that is pointed into. */
struct heuristic_block {
	uint64_t address;
	struct search_requested asked;
	/* Sizes of an array's elements are multiples of this, in bytes; for arrays of unknown
	 * length. */
	uint64_t step;
};

/* Return whether a block may begin with `number` as the count of bytes or elements that follow (for
 * SEARCH_LENGTH64 and SEARCH_NEWARRAY), or with this length and capacity before the text of a
 * string (for SEARCH_STDSTRING) of characters of 1, 2 or 4 bytes; memcheck's have 1. If not, these
 * heuristics don't explain any pointer into it. */
bool heuristics_fit_number(const struct search_requested *asked, uint64_t number);
bool heuristics_fit_string(
	const struct search_requested *asked, uint64_t length, uint64_t capacity);

/* Returns whether a word is the address of a table in a file's readable part, whose first entries
 * are empty or code of files. SEARCH_MULTIPLEINHERITANCE explains a pointer to such a word of a
 * block that begins with another one. */
bool heuristics_is_vtable(const struct heuristics *heuristics, uint64_t address);

/* Returns the heuristic by which a pointer `into` bytes into a block is as good as one to its
 * start; 0 if there is none. */
enum search_heuristic heuristics_explain(
	const struct heuristics *heuristics, const struct heuristic_block *block, uint64_t into);

#endif
