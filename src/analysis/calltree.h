/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows as a tree of calls: stacks that begin alike share nodes. Top-down a stack begins with its
 * outermost frame, bottom-up with its innermost one. Of some functions alone it begins with the
 * outermost call of one of them and goes inward (callees), or with the innermost one and goes
 * outward (callers): each stack is counted once, however often it calls itself.
 */
#ifndef ANALYSIS_CALLTREE_H
#define ANALYSIS_CALLTREE_H

#include "analysis/grain.h"
#include "analysis/rows.h"

enum calltree_way { CALLTREE_DOWN, CALLTREE_UP, CALLTREE_CALLEES, CALLTREE_CALLERS };

/* Returns "top-down", "bottom-up", "callees", "callers". */
const char *calltree_way_name(enum calltree_way way);

/* A sum over rows, and over what they are compared with (0: nothing). */
struct figure {
	uint64_t now, base;
};

static inline int64_t figure_value(struct figure figure)
{
	return (int64_t)(figure.now - figure.base);
}

void figure_add(struct figure *figure, enum metric metric, const struct row *row);

struct calltree_node {
	const struct spot *spot; /* NULL: the root; below it, rows without a stack */
	/* Downward: what this function allocated itself. Upward: what the function that the branch
	 * begins with allocated itself, along this way. */
	struct figure self;
	struct figure total;
	uint32_t parent;                /* of the root: itself */
	uint32_t first_child, children; /* in `order` of the tree */
	uint32_t depth;                 /* of the root 0 */
};

DEFINE_VEC(calltree_nodes, struct calltree_node)

/* Node 0 is the root, parents come before their children. */
struct calltree {
	enum calltree_way way;
	struct calltree_nodes nodes;
	uint32_t *order;     /* children of each node one after another, the heaviest first */
	struct spots *spots; /* owned */
};

void calltree_init(struct calltree *tree);
void calltree_deinit(struct calltree *tree);

/*
 * Fills an empty tree. `is_chosen` says by spot id which functions callers or callees are of, NULL
 * otherwise. Takes `spots`; rows must outlive the tree.
 */
struct error *calltree_build(const struct rows *rows, enum metric metric, enum calltree_way way,
	const bool *is_chosen, struct spots *spots, struct calltree *ret) must_check_;

static inline const struct calltree_node *calltree_child(
	const struct calltree *tree, const struct calltree_node *node, uint32_t n)
{
	return &tree->nodes.data[tree->order[node->first_child + n]];
}

#endif
