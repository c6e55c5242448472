/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long blocks live in two models, in the same buckets. */
#ifndef ANALYSIS_LIFE_CHANGES_H
#define ANALYSIS_LIFE_CHANGES_H

#include "model/lives.h"

/*
 * Prepares the lifetimes of an older model for a comparison. normalize: each figure is scaled so
 * that the sums over all buckets agree.
 */
void lifetimes_as_base(const struct lifetimes *older, const struct lifetimes *newer, bool normalize,
	struct lifetimes *ret);

#endif
