/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places where blocks are reallocated, of two models: the same ones as match.h says. */
#ifndef ANALYSIS_REALLOC_CHANGES_H
#define ANALYSIS_REALLOC_CHANGES_H

#include "analysis/comparison.h"
#include "analysis/reallocs.h"

struct realloc_change {
	const struct row *row;          /* of the comparison */
	struct realloc_row base, value; /* their `row` NULL, and all 0: nothing was reallocated */
};
DEFINE_VEC(realloc_change_vec, struct realloc_change)

struct realloc_changes {
	struct reallocs sides[2];       /* older, newer */
	struct realloc_change_vec rows; /* by what may have been copied, the largest change first */
	struct realloc_site base, value; /* sums of all */
	struct text verdict;             /* sentences, each with a newline */
};

void realloc_changes_init(struct realloc_changes *changes);
void realloc_changes_deinit(struct realloc_changes *changes);

/* Fills one that was initialised; the comparison, of stacks without a filter, must outlive it. Its
 * models have their reallocs. */
struct error *realloc_changes_build(
	const struct comparison *comparison, struct realloc_changes *ret) must_check_;

#endif
