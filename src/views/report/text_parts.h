/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the text forms share. */
#ifndef VIEWS_TEXT_PARTS_H
#define VIEWS_TEXT_PARTS_H

#include "analysis/rows.h"
#include "base/text.h"
#include "model/model.h"

#define TEXT_FRAME_INDENT "      "

#define TEXT_RULER                                                                                 \
	"--------------------------------------------------------------------------------\n"

/* One frame, as a line. */
void text_frame(const struct shown_frame *frame, struct text *out);
/* A stack, a line a frame; unless all frames are wanted those that are folded are one. */
void text_stack(
	const struct shown_frame *const *frames, size_t depth, bool all_frames, struct text *out);
/* As above, for a row; of deep ones, unless all frames are wanted, the innermost. */
void text_row_stack(const struct row *row, bool all_frames, struct text *out);
/* "  … 1,204 more sizes", of a list that was cut; nothing if count is 0. */
void text_more(uint64_t count, const char *one, const char *many, struct text *out);
/* Which program, how it ended, how long it ran. */
void text_heading(const struct model *model, struct text *out);
/* The lines of a verdict, indented, behind an empty one. */
void text_verdict(const struct text *verdict, struct text *out);
/* The same under a title; nothing if there are none. */
void text_notes(const struct text *notes, struct text *out);

/* Adds an argument as a shell needs it; without control characters, which spoil terminals. */
void text_add_argument(const char *argument, struct text *out);

#endif
