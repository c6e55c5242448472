/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tree of calls as text, CSV and JSON: "heapwise.calltree/1", described in
 * docs/schema/calltree-1.md.
 */
#ifndef VIEWS_CALLTREE_H
#define VIEWS_CALLTREE_H

#include "analysis/calltree.h"
#include "analysis/profile.h"
#include "table/answer.h"
#include "views/views.h"

/* Deeper JSON is more than its readers take: jq 256 levels, Python's about 1000. */
#define CALLTREE_JSON_DEPTH 100u
#define CALLTREE_JSON_DEPTH_MAX 400u

extern const struct answer_type calltree_answer_type;

struct calltree_options {
	struct view_options view;
	const char *wanted; /* functions that callers or callees are of, as given; else NULL */
	double threshold;   /* percent of the process's figure; what has less is summed up */
	size_t depth;       /* levels below the root; VIEW_NO_LIMIT: all, in JSON as above */
};

/* Writes the tree. NULL also when the sink stopped it: the sink knows. */
struct error *calltree_write(const struct profile *profile, const struct calltree *tree,
	const struct calltree_options *options, const struct sink *sink) must_check_;

#endif
