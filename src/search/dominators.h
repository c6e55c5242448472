/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What would be free if a block were: A dominates B if every way from a root to B leads through A.
 * What a block retains is itself and all that it dominates.
 *
 * Dominators by T. Lengauer and R. E. Tarjan, "A Fast Algorithm for Finding Dominators in a
 * Flowgraph" (1979), with path compression: O(pointers * log blocks), whatever the heap looks like.
 * It takes 24 bytes a block in addition to the reversed graph.
 *
 * The roots that hold blocks are given as *holders*. A holder is a place outside of blocks, or all
 * words of a variable or a stack. Holders are numbered after the blocks, and dominate them. *Weak*
 * holders count only for blocks that no other holder holds: a stale pointer on a stack does not
 * take from a global variable what it retains.
 */
#ifndef SEARCH_DOMINATORS_H
#define SEARCH_DOMINATORS_H

#include "search/reverse.h"

struct dominators {
	uint32_t block_count, holder_count;
	/* Of each block and holder the number of its immediate dominator. DOMINATORS_NONE: of
	 * holders, and of blocks that only several holders together hold. DOMINATORS_LOST: nothing
	 * holds the block. */
	uint32_t *above;
	uint64_t *retained; /* bytes; of lost ones 0 */
};
#define DOMINATORS_NONE UINT32_MAX
#define DOMINATORS_LOST (UINT32_MAX - 1)

/* The holders: `of_root` has of each of graph->roots the number of its holder, from 0; `is_weak`
 * has of each holder whether it is weak. */
struct dominators_holders {
	const uint32_t *of_root;
	const bool *is_weak;
	uint32_t count;
	/* Of each holder whether it counts only for blocks that no other holder holds, not even a
	 * weak one; NULL: none does. */
	const bool *is_last;
};

/* Computes the immediate dominators and retained sizes. `reverse` is the whole reversed graph. Free
 * the result by dominators_free(). */
struct error *dominators_find(const struct graph *graph, const struct reverse *reverse,
	const struct dominators_holders *holders, struct dominators *ret) must_check_;
void dominators_free(struct dominators *dominators);

#endif
