/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frames of a stack as a table. Inside views/ only. */
#ifndef VIEWS_FRAMES_H
#define VIEWS_FRAMES_H

#include "analysis/folding.h"
#include "base/vec.h"
#include "table/table.h"

DEFINE_VEC(frame_order, size_t)

/* A stack, innermost frame first; without what only marks where it was cut. */
struct frame_rows {
	const struct shown_frame *const *frames;
	struct folding folding;
	struct frame_order order; /* empty: none is left out */
	size_t count;
};

extern const struct table_type frame_type;
/* The same without the column "folded"; its context is an array of frames, nothing is left out. */
extern const struct table_type plain_frame_type;

/* Takes another stack; the frames are borrowed. False: no memory. */
bool frame_rows_fill(struct frame_rows *rows, const struct shown_frame *const *frames, size_t depth,
	bool own_doing);
void frame_rows_deinit(struct frame_rows *rows);
/* All of them; valid until another stack is taken. */
struct table frame_rows_table(const struct frame_rows *rows);
/* Takes a stack and makes it the cell's; without memory the cell is one that failed. */
void frame_rows_cell(struct frame_rows *rows, const struct shown_frame *const *frames, size_t depth,
	bool own_doing, struct cell *ret);

#endif
