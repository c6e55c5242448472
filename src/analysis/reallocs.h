/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places where blocks are reallocated, and which of them make blocks grow step by step: each step
 * may copy all that there is, so that n steps copy in the order of n² bytes, where growing by a
 * factor copies less than twice the last size.
 */
#ifndef ANALYSIS_REALLOCS_H
#define ANALYSIS_REALLOCS_H

#include "analysis/rows.h"
#include "base/text.h"

struct realloc_row {
	const struct row *row;
	struct realloc_site sums; /* site: that of the first one */
	double factor;            /* geometric mean of new / old size where blocks grew; 0: none */
	bool stepwise;            /* it grows blocks by little, often */
	unsigned doublings;       /* what the longest chain would have needed instead */
};
DEFINE_VEC(realloc_rows, struct realloc_row)

struct reallocs {
	struct realloc_rows rows; /* those that may have copied most first */
	struct text verdict;      /* sentences, each with a newline */
};

void reallocs_init(struct reallocs *reallocs);
void reallocs_deinit(struct reallocs *reallocs);

/* Fills an empty one; the model has its reallocs. `rows` must outlive it. */
struct error *reallocs_build(const struct model *model, struct resolver *resolver,
	const struct rows *rows, struct reallocs *ret) must_check_;

/* Adds a sentence on a place that grows blocks step by step, with a newline. */
void realloc_row_describe(const struct realloc_row *row, struct text *text);

/* Adds a site's sums to those of another; of the longest chain and the usual step the larger one.
 */
void realloc_site_add(struct realloc_site *sums, const struct realloc_site *more);
/* Sets what follows from the sums: factor, doublings, stepwise. */
void realloc_row_conclude(struct realloc_row *row);

#endif
