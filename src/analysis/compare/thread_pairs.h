/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which threads of two models are the same. Of one recording these are those of one number. Of two
 * the first threads are, whatever the programs are called, and others of one name in the order in
 * which they began: the third "worker" is the third one.
 */
#ifndef ANALYSIS_THREAD_PAIRS_H
#define ANALYSIS_THREAD_PAIRS_H

#include "base/error.h"
#include "base/vec.h"
#include "model/model.h"

struct thread_pair {
	const struct thread *older, *newer; /* NULL: it is not there */
};
DEFINE_VEC(thread_pair_vec, struct thread_pair)

/* Adds to the empty list the threads that count, in no order that means anything. */
struct error *thread_pairs_build(const struct model *older, const struct model *newer,
	bool same_recording, bool (*counts)(const struct thread *thread),
	struct thread_pair_vec *ret) must_check_;

#endif
