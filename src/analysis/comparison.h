/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two models looked at together: what views of one are made from, of both. */
#ifndef ANALYSIS_COMPARISON_H
#define ANALYSIS_COMPARISON_H

#include "analysis/diff.h"
#include "analysis/grain.h"
#include "analysis/profile.h"

struct comparison {
	struct profile sides[2]; /* the older, the newer one */
	struct diff diff;
	/* The newer model's, with `base` set and rows of both: those of `diff`, which it borrows.
	 */
	struct profile both;
};

void comparison_init(struct comparison *comparison);
void comparison_deinit(struct comparison *comparison);

/* Fills one that was initialised, with rows of what options->scope says. Models and filter (NULL:
 * none) must outlive it. */
struct error *comparison_build(const struct model *older, const struct model *newer,
	const struct diff_options *options, bool all_frames, const struct filter *filter,
	struct comparison *ret) must_check_;

/*
 * Makes spots for the comparison's rows. What only the older model has is of the newer one's file
 * and module all the same, if just one there is the same as match.h says: a function that is gone
 * does not make a file gone that was in another folder, nor a program that was called otherwise.
 */
struct error *change_spots_create(
	const struct comparison *comparison, enum grain grain, struct spots **ret) must_check_;

#endif
