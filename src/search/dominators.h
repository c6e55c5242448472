/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What would be free if a block were: A dominates B if every way from a root to B leads through A.
 * What a block retains is itself and all that it dominates.
 *
 * Dominators by T. Lengauer and R. E. Tarjan, "A Fast Algorithm for Finding Dominators in a
 * Flowgraph" (1979), with paths that are shortened as they are gone: O(pointers * log blocks),
 * whatever the heap looks like. 24 bytes a block beside the graph turned round.
 *
 * The roots that hold blocks are given as *holders*: a holder is a place outside of blocks, or all
 * words of a variable, a stack. They are numbered behind the blocks, and come first of all. *Weak*
 * ones count only for what no other holds: a pointer that was left on a stack does not take from a
 * global what hangs on it.
 */
#ifndef SEARCH_DOMINATORS_H
#define SEARCH_DOMINATORS_H

#include "search/reverse.h"

struct dominators {
	uint32_t block_count, holder_count;
	/* Of each block and holder: the number of what dominates it directly; of holders, and of
	 * blocks that only several holders together hold, DOMINATORS_NONE. DOMINATORS_LOST: nothing
	 * holds it. */
	uint32_t *above;
	uint64_t *retained; /* bytes; of lost ones 0 */
};
#define DOMINATORS_NONE UINT32_MAX
#define DOMINATORS_LOST (UINT32_MAX - 1)

/* What holds blocks: of each of graph->roots the number of its holder, from 0; of each of these
 * whether it is weak. */
struct dominators_holders {
	const uint32_t *of_root;
	const bool *is_weak;
	uint32_t count;
	/* The same of those that count only for what no other holds, weak or not; NULL: none. */
	const bool *is_last;
};

struct error *dominators_find(const struct graph *graph, const struct reverse *reverse,
	const struct dominators_holders *holders, struct dominators *ret) must_check_;
void dominators_free(struct dominators *dominators);

#endif
