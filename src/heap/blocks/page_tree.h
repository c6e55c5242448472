/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables by which jemalloc and tcmalloc know each page's description: a root in the library's
 * data has an entry for each leaf, a leaf a word for each of its pages (2^18 of 4 KiB).
 *
 * Nothing tells where the root is but that it works: a word of some module's data that points to a
 * leaf whose words lead to descriptions that have these pages' addresses.
 */
#ifndef HEAP_PAGE_TREE_H
#define HEAP_PAGE_TREE_H

#include "base/error.h"
#include "process/address_space.h"

struct page_tree {
	const struct address_space *space;
	uint32_t root_words;
	uint8_t leaf_bits; /* a leaf has two to the power of it words */
	void *context;
	/* *ret: the number of the first page of what a leaf's word leads to. False: no leaf has
	 * such a word. */
	bool (*decode)(void *context, uint64_t word, uint64_t *ret);
	/* The bits of a leaf's word that lead to something. A word that has none of them is empty,
	 * whatever its other bits are: pages that were given back leave such after. */
	uint64_t leading_bits;
	uint64_t root;       /* once found; 0: nowhere */
	uint64_t read_bytes; /* for it, in what was no leaf */
};

static inline uint64_t page_tree_leaf_bytes(const struct page_tree *tree)
{
	return 8ull << tree->leaf_bits;
}

/* Looks for the root. */
struct error *page_tree_find(struct page_tree *tree) must_check_;

/* Tells all words that stand for the first page of something, ascending; an error of `take` ends
 * it. `leaf`: where it is. */
struct error *page_tree_read(const struct page_tree *tree, void *context,
	struct error *(*take)(void *context, uint64_t word, uint64_t leaf)) must_check_;

#endif
