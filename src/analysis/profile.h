/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What every view of stacks begins with: the rows of a model as they are to be shown, what their
 * figures are shares of, and what limits them.
 */
#ifndef ANALYSIS_PROFILE_H
#define ANALYSIS_PROFILE_H

#include "analysis/filter.h"
#include "analysis/folding.h"

struct profile {
	const struct model *model;
	const struct model *base;    /* what it is compared with; NULL: with nothing */
	const struct filter *filter; /* NULL: none */
	struct resolver *resolver;   /* owned; NULL while `all` is empty */
	struct rows all;             /* of the model, with figures of the base in them */
	struct filtered left;        /* of these, what a filter leaves; empty without one */
	struct filtered folded;      /* of these, what profile_fold() leaves; empty without it */
	bool folds;
	struct text notes; /* sentences, each with a newline */
};

/* Returns an error if nothing is known of the heap that the model is of: "0 B" would be wrong. */
struct error *profile_check_heap(const struct model *model) must_check_;

void profile_init(struct profile *profile);
void profile_deinit(struct profile *profile);

/* Fills one that was initialised. The filter (NULL: none) and the model must outlive it. */
struct error *profile_build(const struct model *model, bool all_frames, const struct filter *filter,
	struct profile *ret) must_check_;

/* Sets `left` and notes from what is in `all`, for callers that fill that themselves. */
struct error *profile_filter(struct profile *profile, const struct filter *filter) must_check_;

/* Takes folded frames (folding.h) out of the rows to show, and says so in the notes. */
struct error *profile_fold(struct profile *profile) must_check_;

/* Returns the rows to show. */
const struct rows *profile_rows(const struct profile *profile);

/* Returns the whole process's figure, or that of the one it is compared with unless that is 0: what
 * shares are of. */
uint64_t profile_whole(const struct profile *profile, enum metric metric);

#endif
