/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the threads of two models allocated, each beside the same one (thread_pairs.h). */
#ifndef ANALYSIS_THREAD_CHANGES_H
#define ANALYSIS_THREAD_CHANGES_H

#include "analysis/metric.h"
#include "base/error.h"
#include "base/vec.h"
#include "model/model.h"

struct thread_change {
	const struct thread *older, *newer; /* NULL: it allocated and freed nothing there */
	struct thread base, value;          /* their figures, the older ones scaled; else all 0 */
};
DEFINE_VEC(thread_change_vec, struct thread_change)

/*
 * Fills the empty list, the largest change first, equals by order. sort: METRIC_ALLOCATED_BYTES or
 * METRIC_TEMPORARY, else allocations. normalize: each older figure is scaled so that sums agree.
 */
struct error *thread_changes_build(const struct model *older, const struct model *newer,
	bool same_recording, enum metric sort, bool normalize,
	struct thread_change_vec *ret) must_check_;

#endif
