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

/* The columns of what a frame is that is not native code: "kind", "language", "instruction", from
 * `first` on; absent in native frames. frame_kind_cell() fills the one with that number, from 0. */
#define FRAME_KIND_COLUMNS(first)                                                                  \
	[(first)] = {"kind", COLUMN_TEXT, .optional = true,                                        \
		.says = "`code-object` of an interpreter, `method` of a virtual machine, or "      \
			"`name`, where a name is all that is known; not in native frames"},        \
	[(first) + 1] = {"language", COLUMN_TEXT, .optional = true,                                \
		.says = "of such code, if it is known: `python`, `java`…"},                        \
	[(first) + 2] = {"instruction", COLUMN_INTEGER, .optional = true,                          \
		.says = "in such code, if it is known"}
void frame_kind_cell(const struct shown_frame *frame, unsigned column, struct cell *ret);

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
