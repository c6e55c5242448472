/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of a model as suppressions see them. */
#ifndef ANALYSIS_SUPPRESS_STACK_H
#define ANALYSIS_SUPPRESS_STACK_H

#include "analysis/resolve.h"
#include "analysis/suppress.h"
#include "base/vec.h"

DEFINE_VEC(suppress_frame_vec, struct suppress_frame)

/*
 * Replaces what is in `ret` by the frames of a block's stack, innermost first, beginning with the
 * allocation function. The resolver shows all frames and their aliases; strings belong to it. Marks
 * (of signals, of where a stack was cut) are left out. The only errors are of memory.
 */
struct error *suppress_stack(struct resolver *resolver, struct stack_id stack, enum alloc_kind kind,
	struct suppress_frame_vec *ret) must_check_;

/* As above, for frames that were resolved like this, after the called function. */
struct error *suppress_shown_stack(const struct shown_frame *const *frames, size_t count,
	enum alloc_kind kind, struct suppress_frame_vec *ret) must_check_;

/* Adds frames that were resolved like this to `ret`, without a called function before them. */
struct error *suppress_add_frames(const struct shown_frame *const *frames, size_t count,
	struct suppress_frame_vec *ret) must_check_;

/* Adds a frame's function as Valgrind shows it: with parameters; "???" if it is unknown. */
void suppress_frame_add_name(struct text *text, const struct suppress_frame *frame);

#endif
