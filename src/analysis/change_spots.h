/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions, files and modules of two models that are compared. */
#ifndef ANALYSIS_CHANGE_SPOTS_H
#define ANALYSIS_CHANGE_SPOTS_H

#include "analysis/comparison.h"
#include "analysis/grain.h"

/*
 * Makes spots for the comparison's rows. What only the older model has is of the newer one's file
 * and module all the same, if just one there is the same as match.h says: a function that is gone
 * does not make a file gone that was in another folder, nor a program that was called otherwise.
 */
struct error *change_spots_create(
	const struct comparison *comparison, enum grain grain, struct spots **ret) must_check_;

#endif
