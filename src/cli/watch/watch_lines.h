/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines that all kinds of watching print alike: frames of a stack, and what was lost. */
#ifndef CLI_WATCH_LINES_H
#define CLI_WATCH_LINES_H

#include "base/text.h"
#include "cli/watch/watch_names.h"

/* Adds the lines of `count` frames: several for one into which functions were inlined. `modules`
 * NULL: they are the kernel's. */
struct error *watch_frames_add(struct text *text, struct watch_names *names,
	const struct watch_modules *modules, const uint64_t *frames, unsigned count) must_check_;

/* Adds the line after the frames that says why there are no more; nothing if the stack is whole.
 * `is_overflow`: it stands for all stacks that found no room. */
void watch_outermost_add(struct text *text, bool is_overflow, bool is_incomplete);

/* Adds "[COUNT what]", if the count is not 0. */
void watch_loss_add(struct text *text, uint64_t count, const char *what);

/* Adds the share of incomplete stacks, if there are any. */
void watch_incomplete_add(struct text *text, uint64_t incomplete, uint64_t all);

#endif
