/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree of retained memory as columns, with its smallest nodes summed up. */
#ifndef PAGE_TREE_H
#define PAGE_TREE_H

#include "page/page.h"
#include "page/parts/stacks.h"

/* Nodes by what they and those below them have: the largest first, each after its parent. */
struct page_tree_ranks {
	uint32_t *nodes;
	size_t count;
};

/* Ranks nodes. `ret` is all 0 before. */
struct error *page_tree_ranks_build(
	const struct page_owner *owners, size_t count, struct page_tree_ranks *ret) must_check_;
void page_tree_ranks_deinit(struct page_tree_ranks *ranks);

/* Adds columns of the root and of the first `count` nodes of `ranks` to `ret`. What they leave out
 * is in one node below each that has some of it, "(12 smaller)": sums stay what they are. */
struct error *page_tree_build(const struct page_owner *owners, const struct page_tree_ranks *ranks,
	size_t count, struct page_stacks *ret) must_check_;

#endif
