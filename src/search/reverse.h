/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which blocks hold pointers to a block, but for faint ones (faint.h): a graph turned round, 4
 * bytes a block and 4 a pointer. */
#ifndef SEARCH_REVERSE_H
#define SEARCH_REVERSE_H

#include "search/graph.h"

struct reverse {
	uint32_t *heads;   /* of each block: its first source; one more at the end */
	uint32_t *sources; /* blocks; one that holds several pointers stands there several times */
	struct space_u32 blocks; /* of a few: these alone, ascending, have heads; else none */
};

struct error *reverse_make(const struct graph *graph, struct reverse *ret) must_check_;
/* Of a few: the number of the first that is not below a block. */
size_t reverse_place(const struct reverse *reverse, uint32_t block);
/*
 * The same of one block and all from which pointers, faint ones too, lead to it: what points to one
 * of these is one of them. *ret_few false, and nothing made: there are more than `most`, or they
 * stand so that the graph had to be gone through too often.
 */
struct error *reverse_make_few(const struct graph *graph, uint32_t block, size_t most,
	struct reverse *ret, bool *ret_few) must_check_;
/* Takes out, of a few, what has only faint pointers to its block: these may be known later. */
void reverse_drop_faint(const struct graph *graph, struct reverse *reverse);
/* Where a block's sources begin, and how many there are. Of few it must be one of these. */
static inline const uint32_t *reverse_sources(
	const struct reverse *reverse, uint32_t block, uint32_t *ret_count)
{
	size_t at = reverse->blocks.len ? reverse_place(reverse, block) : block;
	*ret_count = reverse->heads[at + 1] - reverse->heads[at];
	return reverse->sources + reverse->heads[at];
}

void reverse_free(struct reverse *reverse);

#endif
