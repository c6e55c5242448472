/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames that stacks are shown without: those of the allocator that was called, those that a
 * profile asks to drop, and the runtime's own. A reader who wants all frames gets all but the last.
 */
#ifndef ANALYSIS_LEFT_OUT_H
#define ANALYSIS_LEFT_OUT_H

#include "analysis/stacks/shown_frame.h"
#include "base/error.h"

struct pattern;

struct left_out {
	struct pattern *drop, *keep; /* of whole functions; NULL: none */
	bool allocators;
};

/* Is to be deinited also when it fails. */
struct error *left_out_init(
	struct left_out *left_out, const struct recording *recording, bool all_frames) must_check_;
void left_out_deinit(struct left_out *left_out);

/* Takes them out of a stack, innermost frame first. */
void left_out_apply(const struct left_out *left_out, struct frame_vec *frames);

#endif
