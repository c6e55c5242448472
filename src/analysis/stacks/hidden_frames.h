/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames that stacks are shown without: those of the allocator that was called, those of the
 * interpreter in a stack of Python, those that a profile asks to drop, and the runtime's own. With
 * all frames wanted, only the last kind is left out.
 */
#ifndef ANALYSIS_HIDDEN_FRAMES_H
#define ANALYSIS_HIDDEN_FRAMES_H

#include "analysis/stacks/shown_frame.h"
#include "base/error.h"

struct pattern;

struct hidden_frames {
	struct pattern *drop, *keep; /* of whole functions; NULL: none */
	bool allocators, interpreters;
	bool hid_interpreter; /* frames of one were taken out of some stack */
};

/* Must be deinitialised also if this fails. */
struct error *hidden_frames_init(struct hidden_frames *hidden_frames,
	const struct recording *recording, bool all_frames) must_check_;
void hidden_frames_deinit(struct hidden_frames *hidden_frames);

/* Which kinds of frames there are at all. */
struct hidden_kinds {
	bool of_recorder, of_interpreter;
};

/* Takes them out of a stack, innermost frame first. */
void hidden_frames_apply(
	struct hidden_frames *hidden_frames, struct hidden_kinds any, struct frame_vec *frames);

#endif
