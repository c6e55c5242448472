/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several models added up to one, as if one process had done all of it: stacks, sites, threads,
 * sizes, totals, errors beside leaks and what was looked at for them. Peaks were at moments of
 * their own; their sum is an upper bound. Searches for leaks, live blocks and what processes were
 * forked with are left out.
 */
#ifndef SOURCES_MERGE_H
#define SOURCES_MERGE_H

#include "base/error.h"
#include "model/model.h"

/* What fits above an address; argument lists of the kernel end before. */
#define MERGE_MODELS_MAX (1u << 17)

/*
 * A new model, of the first one's program; the caller destroys it. The models may be destroyed
 * then. ERROR_INPUT: they are too large together, or of kinds that have no sum, as a recording of
 * errors alone and one of a heap. Precondition: 0 < count <= MERGE_MODELS_MAX.
 */
struct error *merge_models(
	const struct model *const *models, size_t count, struct model **ret) must_check_;

/*
 * Adds the code of a model to one that is being made and has no threads so far: modules, stacks,
 * sites with their figures, threads, names. Their numbers follow those that are there.
 */
struct error *merge_code(struct model *into, const struct model *from) must_check_;

#endif
