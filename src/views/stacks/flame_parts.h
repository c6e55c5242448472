/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What flame graphs share, whatever they are drawn with. Inside views/ only. */
#ifndef VIEWS_FLAME_PARTS_H
#define VIEWS_FLAME_PARTS_H

#include "views/flame.h"

/* From 0 on, in units of the metric; the root has all. */
struct flame_cell {
	uint64_t start, width;
};

/* One cell for each node of the tree, by number; the caller frees them. */
struct error *flame_layout(const struct profile *profile, const struct calltree *tree,
	struct flame_cell **ret) must_check_;

/* A number below `count` for a frame, the same for all frames of a module and a package or
 * outermost namespace. */
unsigned flame_colour(const struct spot *spot, unsigned count);
/* A number below `count` for a frame, another one for most functions. */
unsigned flame_function_colour(const struct spot *spot, unsigned count);
/* How much of a node its function allocated itself, from 0 to 1; bottom-up that is all of the node
 * where a branch begins, and nothing of its callers. */
double flame_self_share(const struct calltree *tree, const struct calltree_node *node);
/* A number from -most to most, which tells functions of one colour apart. */
int flame_shade(const struct spot *spot, int most);
/* From -1 (all of it is gone) to 1 (all of it is new). */
double flame_change(struct figure figure);

/* "all", or the spot's name, with its line where lines are distinguished. */
void flame_add_label(
	struct text *out, const struct calltree *tree, const struct calltree_node *node);
/* "Live at the peak: 8.17 MiB": what widths are. */
void flame_add_caption(struct text *out, const struct profile *profile, const struct calltree *tree,
	enum metric metric);

#endif
