/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How large the stacks of threads were at two moments, and which threads are the same
 * (thread_pairs.h). */
#ifndef ANALYSIS_STACK_SIZES_H
#define ANALYSIS_STACK_SIZES_H

#include "analysis/compare/thread_pairs.h"
#include "base/error.h"
#include "base/text.h"
#include "model/model.h"

struct stack_sizes {
	uint64_t older, newer; /* bytes of all threads; 0: not known */
	struct thread_pair_vec
		rows; /* that have a stack which is known; the largest change first */
};

void stack_sizes_init(struct stack_sizes *sizes);
void stack_sizes_deinit(struct stack_sizes *sizes);

/* Fills one that was initialised; the models must outlive it. */
struct error *stack_sizes_build(const struct model *older, const struct model *newer,
	bool same_recording, struct stack_sizes *ret) must_check_;

/* Returns by how much the stack of a row grew, in bytes. */
int64_t stack_size_change(const struct thread_pair *row);

/* Adds the thread's name, or "thread 4711" if it has none. */
void stack_size_add_name(const struct thread_pair *row, struct text *out);

/* Both are known. */
static inline bool stack_sizes_known(const struct stack_sizes *sizes)
{
	return sizes->older && sizes->newer;
}

#endif
