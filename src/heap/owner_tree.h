/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Retained memory as a tree for people: below the root what holds blocks (a global, a stack…),
 * below it their types, each once: all blocks of one type that are dominated by blocks of one node
 * are one node. Each block in use is in exactly one node, so sums are exact. Nodes of a list or a
 * tree, and types that come again in turns, are those of the first turn: the tree stays as flat as
 * the types are, whatever the heap looks like.
 *
 *	struct retained retained;
 *	struct heap_owner_tree tree;
 *	error = heap_retained(scan, 0, &retained);
 *	if (!error)
 *		error = heap_owner_tree_make(scan, &retained, &tree);
 *	…
 *	heap_owner_tree_deinit(&tree);
 *	heap_retained_deinit(&retained);
 */
#ifndef HEAP_OWNER_TREE_H
#define HEAP_OWNER_TREE_H

#include "base/vec.h"
#include "heap/retained.h"

enum heap_owner_kind {
	HEAP_OWNER_ROOT,
	HEAP_OWNER_HOLDER,  /* a global, a stack… */
	HEAP_OWNER_SEVERAL, /* what only several of these together hold */
	HEAP_OWNER_LOST,    /* what nothing holds */
	HEAP_OWNER_TYPE,    /* blocks of one type */
	HEAP_OWNER_DEEPER,  /* blocks of any type below LIMIT_OWNER_DEPTH nodes */
};

struct heap_owner {
	uint32_t parent; /* comes before it; of the root, number 0, itself */
	enum heap_owner_kind kind;
	uint32_t number;        /* of the holder, or of the type; else 0 */
	uint64_t blocks, bytes; /* of the node itself */
};
DEFINE_VEC(heap_owner_vec, struct heap_owner)

struct heap_owner_tree {
	struct heap_owner_vec nodes;
};

/* Levels of the tree below the root. What hangs deeper is one node there. */
#define LIMIT_OWNER_DEPTH 100u

/* Makes it of retained memory, of which no rows are needed. Call heap_owner_tree_deinit() in either
 * case. */
struct error *heap_owner_tree_make(const struct heap_scan *scan, const struct retained *retained,
	struct heap_owner_tree *ret) must_check_;
void heap_owner_tree_deinit(struct heap_owner_tree *tree);

#endif
