/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/stacks/frames.h"

bool frame_rows_fill(struct frame_rows *rows, const struct shown_frame *const *frames, size_t depth,
	bool own_doing)
{
	rows->frames = frames;
	frame_order_clear(&rows->order);
	folding_init(&rows->folding, frames, depth, own_doing);
	for (size_t i = 0; i < depth; i++) {
		bool is_frame = frames[i]->mark == MARK_NONE || frames[i]->mark == MARK_SIGNAL;
		if (is_frame && !frame_order_push(&rows->order, i))
			return false;
	}
	return true;
}

void frame_rows_deinit(struct frame_rows *rows)
{
	frame_order_deinit(&rows->order);
}

enum { FUNCTION, SHORT, SOURCE, LINE, MODULE, INLINED, ADDRESS, OFFSET, FOLDED };
static const struct column columns[] = {
	[FUNCTION] = {"function", COLUMN_TEXT, .says = "its name, or null"},
	[SHORT] = {"short", COLUMN_TEXT, .says = "the same without arguments and the like"},
	[SOURCE] = {"file", COLUMN_TEXT, .says = "the source file, or null"},
	[LINE] = {"line", COLUMN_INTEGER, .says = "in it, or null"},
	[MODULE] = {"module", COLUMN_TEXT, .says = "the path of the loaded file, or null"},
	[INLINED] = {"inlined", COLUMN_BOOLEAN,
		.says = "the compiler made it part of the frame after it"},
	[ADDRESS] = {"address", COLUMN_ADDRESS, .says = "in memory, or null"},
	[OFFSET] = {"offset", COLUMN_ADDRESS, .says = "in the module, or null"},
	[FOLDED] = {"folded", COLUMN_BOOLEAN, .says = "reports leave it out"},
	COLUMNS_END};

static void cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct frame_rows *rows = context;
	const struct shown_frame *frame = rows->frames[row];
	bool has_offset = frame->module && !frame->unplaced && (frame->offset || !frame->given);
	switch (column) {
	case FUNCTION:
		ret->text = frame->mark == MARK_SIGNAL ? SIGNAL_FRAME_NAME : frame->function;
		break;
	case SHORT:
		ret->text = frame->brief;
		break;
	case SOURCE:
		ret->text = frame->file;
		break;
	case LINE:
		ret->number = frame->line;
		ret->state = frame->file ? CELL_KNOWN : CELL_UNKNOWN;
		break;
	case MODULE:
		ret->text = frame->module_path;
		break;
	case INLINED:
		ret->truth = frame->inlined;
		break;
	case ADDRESS:
		ret->number = frame->address - frame->names_call;
		ret->state = frame->address ? CELL_KNOWN : CELL_UNKNOWN;
		break;
	case OFFSET:
		ret->number = frame->offset;
		ret->state = has_offset ? CELL_KNOWN : CELL_UNKNOWN;
		break;
	default:
		ret->truth = folding_hides(&rows->folding, row);
	}
}

/* Frames are the same objects wherever they come again. */
static uint64_t again(const void *context, size_t row)
{
	const struct frame_rows *rows = context;
	return (uint64_t)(uintptr_t)rows->frames[row] << 1 | folding_hides(&rows->folding, row);
}

const struct table_type frame_type = {.name = "stack",
	.says = "innermost frame first",
	.columns = columns,
	.cell = cell,
	.again = again};

struct table frame_rows_table(const struct frame_rows *rows)
{
	return (struct table){&frame_type, rows, rows->order.len, .order = rows->order.data,
		.limit = TABLE_NO_LIMIT};
}
