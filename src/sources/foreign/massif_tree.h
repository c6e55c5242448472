/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tree of massif.out: a node a line, indented by its depth, "n2: 4096 0x1234: main (x.c:1)" with
 * two children below it. From the functions that allocate (depth 1) outward. What a node has more
 * than its children ends there.
 */
#ifndef SOURCES_MASSIF_TREE_H
#define SOURCES_MASSIF_TREE_H

#include "sources/foreign/foreign.h"
#include "sources/recording/stream.h"

/* A node whose children are not all there yet. */
struct massif_node {
	uint64_t children, bytes; /* that are still to come */
	const char *text;         /* what it says of its code; the same text is the same pointer */
};
DEFINE_VEC(massif_nodes, struct massif_node)
DEFINE_VEC(massif_shares, struct series_site)

struct massif_tree {
	struct massif_nodes path;   /* from the root to the node of the last line */
	struct massif_shares sites; /* after massif_tree_end: ascending, each once */
	uint64_t bytes;             /* of the root */
	bool begun;
};

void massif_tree_init(struct massif_tree *tree);
void massif_tree_deinit(struct massif_tree *tree);
void massif_tree_clear(struct massif_tree *tree);

/* Returns whether all nodes have been read. */
static inline bool massif_tree_is_whole(const struct massif_tree *tree)
{
	return tree->begun && !tree->path.len;
}

struct error *massif_tree_line(struct massif_tree *tree, struct foreign *foreign,
	const struct stream *stream, const char *line, size_t len) must_check_;

/* Sorts the sites. */
void massif_tree_end(struct massif_tree *tree);

#endif
