/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trees of a timeline's snapshots: who had allocated what was live, from the functions that
 * allocate outward, distinguished by addresses. What is below the threshold is summed up, and its
 * stacks are not followed any further: of a million stacks few branches are ever looked at. A whole
 * calltree for each snapshot, cut afterwards, took gigabytes and seconds there.
 */
#ifndef ANALYSIS_TIMELINE_TREE_H
#define ANALYSIS_TIMELINE_TREE_H

#include "analysis/timeline.h"

struct timeline_trees;

/* Creates trees. Model, resolver and options must outlive them. */
struct error *timeline_trees_create(const struct model *model, struct resolver *resolver,
	const struct timeline_options *options, struct timeline_trees **ret) must_check_;
void timeline_trees_destroy(struct timeline_trees *trees);

static inline void timeline_trees_cleanup(struct timeline_trees **trees)
{
	timeline_trees_destroy(*trees);
}

/* Adds the live bytes of a site to the snapshot whose tree is made next. */
struct error *timeline_trees_add(
	struct timeline_trees *trees, uint32_t site, uint64_t bytes) must_check_;
/*
 * Makes the tree of what was added since the last one: nodes of `least` bytes or more, in the empty
 * `ret`. `useful`: what the root says.
 */
struct error *timeline_trees_make(struct timeline_trees *trees, double least, uint64_t useful,
	struct timeline_nodes *ret) must_check_;

/* Finds the innermost function of a site, allocation functions left out; NULL: it has no stack. */
struct error *timeline_trees_innermost(
	struct timeline_trees *trees, uint32_t site, const struct shown_frame **ret) must_check_;

/* Returns whether a function is one of these names: the whole name, or what is before its
 * parameters.
 */
bool timeline_is_named(const struct shown_frame *frame, const char *const *names, size_t count);

#endif
