/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which threads of two models are the same, and what they allocated. Of one recording these are
 * those of one number. Of two the first threads are, whatever the programs are called, and others
 * of one name in the order in which they began: the third "worker" is the third one.
 */
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
