/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording as rows of stacks: what each allocated, after the filter, beside what it is compared
 * with. What trees, flame graphs and lists of allocation sites begin with.
 */
#ifndef QUERY_STACKS_H
#define QUERY_STACKS_H

#include "analysis/comparison.h"
#include "analysis/spot_totals.h"
#include "query/query.h"

struct stacks {
	const struct model *model;   /* borrowed */
	struct profile profile;      /* with a base that of `compared`, not owned */
	struct comparison *compared; /* NULL: there is no base */
};

/* How they are wanted. */
struct stacks_wanted {
	enum metric metric; /* that is shown or sorted by; METRICS: none in particular */
	bool all_frames;    /* also those of std, runtimes and allocators */
	bool folds;         /* of the others, frames that are folded are taken out */
	bool normalize;     /* with a base: its figures are scaled so that totals agree */
	/* Then those of blocks that libraries keep as well; else these are no share of anything. */
	bool count_libraries;
};

/*
 * The metric to show: `metric`, or, if the user did not say (`given` false) and the recording does
 * not know it, the nearest that it knows. ERROR_INPUT: it does not know the one that was given.
 */
struct error *stacks_metric(
	const struct model *model, bool given, enum metric metric, enum metric *ret) must_check_;

/*
 * Builds them of a model that the query has opened, and of the base (its model is NULL: none); a
 * model that is a difference is compared with what it subtracts. All three must outlive the stacks;
 * stacks_deinit() in either case. ERROR_INPUT: no stack is left by the filter, or the base does not
 * know the metric.
 */
struct error *stacks_build(const struct query *query, const struct model *model,
	const struct operand *base, const struct stacks_wanted *wanted,
	struct stacks *ret) must_check_;

/* All 0 before stacks_build(). */
void stacks_deinit(struct stacks *stacks);

/* Fills the empty list with the rows that have some of the metric, largest first. */
struct error *stacks_select(
	const struct stacks *stacks, enum metric metric, struct row_list *ret) must_check_;

/* Makes all frames of the rows known to the spots. */
struct error *stacks_intern_spots(const struct stacks *stacks, struct spots *spots) must_check_;

/*
 * Sets ret[id] for all spots that `name` stands for (analysis/names.h); the caller frees it.
 * `spots` get all spots of the rows. *ret_count 0: there is none.
 */
struct error *stacks_find(const struct stacks *stacks, struct spots *spots, const char *name,
	bool **ret, size_t *ret_count) must_check_;

#endif
