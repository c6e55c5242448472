/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes functions of a process that is stopped, and changes them back. */
#ifndef CAPTURE_INLINE_WRITE_H
#define CAPTURE_INLINE_WRITE_H

#include "capture/attach/frame_table.h"
#include "capture/attach/injection.h"
#include "capture/attach/inline_plan.h"

/*
 * Returns NULL if no thread is at an instruction that is to be overwritten, nor a signal handler
 * would return to one; else what to tell about it, constant. *ret_tid: the thread.
 */
const char *inline_find_obstacle(
	const struct injection *in, const struct inline_plan *plan, pid_t *ret_tid);

/* Returns where `bytes` bytes can be mapped near enough to the functions for a jump, below the
 * program if there is room; 0: nowhere. */
uint64_t inline_find_place(
	const struct process_maps *maps, const struct inline_plan *plan, uint64_t bytes);

/* Writes the stubs to the image and makes the settings. Errors are kept. */
void inline_prepare(
	struct injection *in, const struct inline_plan *plan, const struct attach_image *image);

/* Writes the jumps; on failure all functions are as they were. */
void inline_write_jumps(struct injection *in);

/* Writes back the functions that still begin with the jump, or, `last`, only the one of fork.
 * Returns how many; adds to *ret_left how many were changed meanwhile, or can't be written. */
size_t inline_put_back(const struct injection *in, bool last, size_t *ret_left);

/* Returns whether a function begins with its jump. */
bool inline_has_jumps(const struct injection *in);

/* Writes the table of unwind entries to where it has been mapped. */
void inline_write_frames(
	struct injection *in, const struct frame_entry_vec *frames, struct hw_attach_object *row);

#endif
