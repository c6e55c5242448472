/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/stacks/frames.h"

#include <inttypes.h>

static bool is_frame(const struct shown_frame *frame)
{
	return frame->mark == MARK_NONE || frame->mark == MARK_SIGNAL;
}

bool frame_rows_fill(struct frame_rows *rows, const struct shown_frame *const *frames, size_t depth,
	bool own_doing)
{
	size_t plain = 0;
	rows->frames = frames;
	frame_order_clear(&rows->order);
	folding_init_whole(&rows->folding, frames, depth, own_doing);
	while (plain < depth && is_frame(frames[plain]))
		plain++;
	rows->count = depth;
	if (plain == depth)
		return true;
	for (size_t i = 0; i < depth; i++)
		if (is_frame(frames[i]) && !frame_order_push(&rows->order, i))
			return false;
	rows->count = rows->order.len;
	return true;
}

void frame_rows_deinit(struct frame_rows *rows)
{
	frame_order_deinit(&rows->order);
}

enum {
	KIND,
	LANGUAGE,
	INSTRUCTION,
	FUNCTION,
	SHORT,
	SOURCE,
	LINE,
	MODULE,
	INLINED,
	ADDRESS,
	OFFSET,
	FOLDED
};
#define PLAIN_COLUMNS                                                                              \
	FRAME_KIND_COLUMNS(KIND),                                                                  \
		[FUNCTION] = {"function", COLUMN_TEXT,                                             \
			.says = "demangled, without parameters; `<signal handler called>` "        \
				"between a "                                                       \
				"handler and the frame that it interrupted; or null"},             \
		[SHORT] = {"short", COLUMN_TEXT,                                                   \
			.says = "the function as text shows it, where that is shorter; or null"},  \
		[SOURCE] = {"file", COLUMN_TEXT, .says = "the source file, or null"},              \
		[LINE] = {"line", COLUMN_INTEGER, .says = "in it, or null"},                       \
		[MODULE] = {"module", COLUMN_TEXT,                                                 \
			.says = "the path of the executable or library; of a code object or "      \
				"method what "                                                     \
				"its language calls so; `[vdso]` for the kernel's own "            \
				"code in the process; null: code without a file, which has a "     \
				"function "                                                        \
				"where the program listed it (`/tmp/perf-PID.map`)"},              \
		[INLINED] = {"inlined", COLUMN_BOOLEAN,                                            \
			.says = "the compiler made it part of the frame after it"},                \
		[ADDRESS] = {"address", COLUMN_ADDRESS,                                            \
			.says = "the return address, of files of other tools the address that "    \
				"they have; "                                                      \
				"the same for all frames that were inlined into one another; "     \
				"null of the "                                                     \
				"allocation function that `--all-frames` adds"},                   \
		[OFFSET] = {"offset", COLUMN_ADDRESS,                                              \
			.says = "of the call in the module, as `addr2line -e MODULE` takes it: "   \
				"the same "                                                        \
				"in each run of one file; null without a module"}
static const struct column columns[] = {
	PLAIN_COLUMNS, [FOLDED] = {"folded", COLUMN_BOOLEAN, .says = "reports leave it out"},
	COLUMNS_END};
static const struct column plain_columns[] = {PLAIN_COLUMNS, COLUMNS_END};

void frame_kind_cell(const struct shown_frame *frame, unsigned column, struct cell *ret)
{
	bool is_number = column == 2;
	if (column == 0)
		ret->text = shown_frame_kind_name(frame);
	else if (!is_number && frame->code)
		ret->text = frame->code->language;
	ret->number = frame->instruction - 1;
	ret->state =
		(is_number ? frame->instruction > 0 : ret->text != NULL) ? CELL_KNOWN : CELL_ABSENT;
}

/* What a person would call a frame: its function, or where its code is. */
static void add_gist(const struct shown_frame *frame, struct text *out)
{
	const char *name = frame->mark == MARK_SIGNAL ? SIGNAL_FRAME_NAME : frame->function;
	bool has_offset = frame->module && !frame->unplaced && (frame->offset || !frame->given);
	if (name)
		text_add(out, name);
	else if (has_offset)
		text_printf(out, "%s+0x%" PRIx64, frame->module_path, frame->offset);
	else if (frame->module_path)
		text_add(out, frame->module_path);
	else if (frame->address)
		text_printf(out, "0x%" PRIx64, frame->address - frame->names_call);
}

static void plain_gist(const void *context, size_t row, struct text *out)
{
	add_gist(((const struct shown_frame *const *)context)[row], out);
}

static void plain_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct shown_frame *frame = ((const struct shown_frame *const *)context)[row];
	bool has_offset = frame->module && !frame->unplaced && (frame->offset || !frame->given);
	switch (column) {
	case KIND:
	case LANGUAGE:
	case INSTRUCTION:
		frame_kind_cell(frame, column - KIND, ret);
		break;
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
	default:
		ret->number = frame->offset;
		ret->state = has_offset ? CELL_KNOWN : CELL_UNKNOWN;
	}
}

static void frames_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct frame_rows *rows = context;
	if (column == FOLDED)
		ret->truth = folding_hides(&rows->folding, row);
	else
		plain_cell(rows->frames, row, column, ret);
}

/* Frames are the same objects wherever they come again. */
static void frames_gist(const void *context, size_t row, struct text *out)
{
	add_gist(((const struct frame_rows *)context)->frames[row], out);
}

static uint64_t frames_again(const void *context, size_t row)
{
	const struct frame_rows *rows = context;
	return (uint64_t)(uintptr_t)rows->frames[row] << 1 | folding_hides(&rows->folding, row);
}

const struct table_type frame_type = {.name = "stack",
	.says = "innermost frame first",
	.columns = columns,
	.cell = frames_cell,
	.gist = frames_gist,
	.again = frames_again};
const struct table_type plain_frame_type = {.name = "frame",
	.says = "a place in the code",
	.columns = plain_columns,
	.cell = plain_cell,
	.gist = plain_gist};

struct table frame_rows_table(const struct frame_rows *rows)
{
	return (struct table){&frame_type, rows, rows->count,
		.order = rows->order.len ? rows->order.data : NULL, .limit = TABLE_NO_LIMIT};
}

void frame_rows_cell(struct frame_rows *rows, const struct shown_frame *const *frames, size_t depth,
	bool own_doing, struct cell *ret)
{
	ret->built.failed |= !frame_rows_fill(rows, frames, depth, own_doing);
	ret->nested = frame_rows_table(rows);
}
