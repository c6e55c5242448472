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
	struct search_asked asked;
	/* Elements of an array are of multiples of so many bytes; for arrays of which it is not
	 * known how long they are. */
	uint64_t step;
};

/* Whether a block may begin with the number of bytes or elements behind it, or with these words
 * before the text of a string: without that neither of SEARCH_LENGTH64 and SEARCH_NEWARRAY, or
 * SEARCH_STDSTRING, explains anything. */
bool heuristics_fit_number(const struct search_asked *asked, uint64_t number);
bool heuristics_fit_string(const struct search_asked *asked, uint64_t length, uint64_t capacity);

/* The heuristic by which a pointer `into` bytes into a block is as good as one to its start; 0:
 * none. */
enum search_heuristic heuristics_explain(
	const struct heuristics *heuristics, const struct heuristic_block *block, uint64_t into);

#endif
