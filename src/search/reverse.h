/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reversed graph: which blocks hold pointers to a block, without false pointers
 * (false_pointers.h). It takes 4 bytes a block and 4 a pointer. */
#ifndef SEARCH_REVERSE_H
#define SEARCH_REVERSE_H

#include "search/graph.h"

struct reverse {
	uint32_t *heads;   /* of each block the index of its first source; one more at the end */
	uint32_t *sources; /* blocks; a block with several pointers is there several times */
	struct space_u32
		blocks; /* of a subset: the blocks that have heads, ascending; else empty */
};

/* Reverses the whole graph. Free the result by reverse_free(). */
struct error *reverse_make(const struct graph *graph, struct reverse *ret) must_check_;
/* Returns the index in reverse->blocks of the first block that is not below `block`. */
size_t reverse_place(const struct reverse *reverse, uint32_t block);
/*
 * Reverses the part of the graph that leads to `block`: that block and all from which pointers,
 * including false ones, lead to it, directly or not. *ret_few is false, and nothing was made, if
 * there are more than `most` such blocks or finding them takes too many passes over the graph.
 */
struct error *reverse_make_subset(const struct graph *graph, uint32_t block, size_t most,
	struct reverse *ret, bool *ret_few) must_check_;
/* Removes from a subset the sources that have only false pointers to their block. For false
 * pointers that were found after reverse_make_subset(). */
void reverse_drop_false(const struct graph *graph, struct reverse *reverse);
/* Returns the sources of a block, *ret_count blocks. If the graph is a subset, the block has to be
 * in it. */
static inline const uint32_t *reverse_sources(
	const struct reverse *reverse, uint32_t block, uint32_t *ret_count)
{
	size_t at = reverse->blocks.len ? reverse_place(reverse, block) : block;
	*ret_count = reverse->heads[at + 1] - reverse->heads[at];
	return reverse->sources + reverse->heads[at];
}

void reverse_free(struct reverse *reverse);

#endif
