/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of "heapwise.leaks/1": rows of page->leaks.rows in all three tables. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "views/leaks/leaks_records.h"
#include "views/leaks/leaks_text.h"
#include "views/report/member_columns.h"
#include "views/report/text_parts.h"
#include "views/stacks/frames.h"

/* Holders of one record, largest first; how many there are is said. */
#define HOLDS_SHOWN 16u

/* What holds the first block of a way. */
struct root {
	const char *place, *name, *module, *file, *thread;
	uint32_t line, tid;
};
static const struct column root_columns[] = {
	WORD_OF(root, place,
		"`data`, `stack` (thread-local storage included), `register`, `mapping`, "
		"`region` (memory that the program says to be a root) or `ignored` "
		"(nothing: the program says that the blocks are to be ignored)"),
	WORD_OF(root, name, "of the variable, register or mapped file, or null"),
	WORD_OF(root, module, "of a variable, or null"),
	WORD_OF(root, file, "where a variable is declared, or null"),
	{"line", COLUMN_INTEGER, .says = "in it, or null", .zero_unknown = true,
		COLUMN_OF(root, line)},
	{"tid", COLUMN_INTEGER, .says = "of stacks and registers, or null", .zero_unknown = true,
		COLUMN_OF(root, tid)},
	WORD_OF(root, thread, "its name, or null"), COLUMNS_END};
static const struct table_type root_type = {
	.columns = root_columns, .row_bytes = sizeof(struct root)};

static struct root root_of(const struct leak_holder *holder)
{
	static const char *const places[] = {[LEAK_PLACE_DATA] = "data",
		[LEAK_PLACE_STACK] = "stack",
		[LEAK_PLACE_REGISTERS] = "register",
		[LEAK_PLACE_MAPPING] = "mapping",
		[LEAK_PLACE_REGION] = "region",
		[LEAK_PLACE_IGNORED] = "ignored"};
	struct root root = {.place = places[holder->place], .name = leak_holder_register(holder)};
	if (holder->place == LEAK_PLACE_DATA) {
		root.name = holder->data.name;
		root.module = holder->data.module;
		root.file = holder->data.file;
		root.line = root.file ? holder->data.line : 0;
	} else if (holder->place == LEAK_PLACE_MAPPING && holder->name[0]) {
		root.name = holder->name;
	} else if (holder->place == LEAK_PLACE_STACK || holder->place == LEAK_PLACE_REGISTERS) {
		root.tid = holder->tid;
		root.thread = holder->thread_name;
	}
	return root;
}

/* What cells of records are made with. */
struct records {
	const struct leaks_page *page;
	size_t first; /* that is shown */
	struct frame_rows frames;
	struct root root;             /* of the way whose cell was filled last */
	size_t steps[LEAK_STEPS_MAX]; /* likewise */
	size_t step_count;
	uint32_t skipped;
};

/* From STEP_PLACE on of the frame where they were allocated. */
#define STEP_PLACE 6u
static const struct column step_columns[] = {
	BYTES_OF(leak_path, offset,
		"where the pointer is in what references it: for the first one in the variable or "
		"mapping"),
	BYTES_OF(leak_path, into, "how far into the block it leads"),
	COUNT_OF(leak_path, words,
		"such pointers that lead the same way, and more where `partial_holders` is "
		"true"),
	COUNT_OF(leak_path, blocks, "how many are here"), BYTES_OF(leak_path, bytes, "in these"),
	FLAG_AS("chain", leak_path, repeats, "they reference one another"),
	WORD_OF(shown_frame, function, "where they were allocated, or null"),
	WORD_OF(shown_frame, file, "likewise"),
	{"line", COLUMN_INTEGER, .says = "likewise", .zero_unknown = true,
		COLUMN_OF(shown_frame, line)},
	COLUMNS_END};

static void step_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct leaks *leaks = &((const struct records *)context)->page->leaks;
	const struct leak_path *path = &leaks->paths.paths.data[row];
	const struct shown_frame *place = leaks->stacks.data[path->stack].place;
	if (column < STEP_PLACE)
		table_member(&step_columns[column], path, ret);
	else if (place)
		table_member(&step_columns[column], place, ret);
	else
		ret->state = CELL_UNKNOWN;
}

static const struct table_type step_type = {.columns = step_columns, .cell = step_cell};

enum { HOLD_TEXT = 2, HOLD_ROOT, HOLD_PATH, HOLD_HIDDEN_FRAMES };
static const struct column hold_columns[] = {
	COUNT_OF(leak_hold, blocks, "how many of the record are referenced so"),
	BYTES_OF(leak_hold, bytes, "in these"),
	[HOLD_TEXT] = {"text", COLUMN_TEXT, .says = "a line for people"},
	[HOLD_ROOT] = {"root", COLUMN_RECORD, .says = "what references the first block",
		.nested = &root_type},
	[HOLD_PATH] = {"path", COLUMN_TABLE,
		.says = "the blocks on the way, with the record's at last", .nested = &step_type},
	[HOLD_HIDDEN_FRAMES] = {"left_out", COLUMN_INTEGER, UNIT_COUNT,
		.says = "blocks on the way that are left out after the first"},
	COLUMNS_END};

static void find_steps(struct records *records, uint32_t path)
{
	uint32_t steps[LEAK_STEPS_MAX];
	records->step_count =
		leak_path_steps(&records->page->leaks.paths, path, steps, &records->skipped);
	for (size_t i = 0; i < records->step_count; i++)
		records->steps[i] = steps[i];
}

static void hold_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	struct records *records = *(struct records *const *)context;
	const struct leaks *leaks = &records->page->leaks;
	const struct leak_hold *hold = &leaks->holds.data[row];
	if (hold_columns[column].bytes) {
		table_member(&hold_columns[column], hold, ret);
		return;
	}
	find_steps(records, hold->path);
	switch (column) {
	case HOLD_TEXT:
		leaks_add_path(leaks, hold->path, &ret->built);
		cell_take_built(ret);
		break;
	case HOLD_ROOT:
		records->root = root_of(
			&leaks->paths.holders.data[leaks->paths.paths.data[hold->path].holder]);
		ret->nested = (struct table){&root_type, &records->root, 1, .limit = 1};
		break;
	case HOLD_PATH:
		ret->nested = (struct table){&step_type, records, records->step_count,
			.order = records->steps, .limit = TABLE_NO_LIMIT};
		break;
	default:
		ret->number = records->skipped;
	}
}

static const struct table_type hold_type = {.columns = hold_columns, .cell = hold_cell};

enum { EXAMPLE_TID = 2, EXAMPLE_THREAD, EXAMPLE_AGE };
static const struct column example_columns[] = {
	ADDRESS_AS("address", leak_row, example.address, "of the block"),
	BYTES_AS("size", leak_row, example.size, "of it"),
	[EXAMPLE_TID] = NUMBER_OF(thread, tid, "of the thread that allocated it, or null"),
	[EXAMPLE_THREAD] = WORD_AS("thread", thread, name, "its name, or null"),
	[EXAMPLE_AGE] = {"age_ns", COLUMN_INTEGER, UNIT_NS,
		.says = "from its allocation to the search, or a little more; null if the events "
			"do not tell"},
	COLUMNS_END};

static void example_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct leaks *leaks = &((const struct records *)context)->page->leaks;
	const struct leak_row *of = &leaks->rows.data[row];
	const struct thread *thread = leaks_example_thread(leaks, of);
	bool is_known = true;
	if (column < EXAMPLE_TID)
		table_member(&example_columns[column], of, ret);
	else if (column == EXAMPLE_AGE)
		is_known = leaks_example_age(leaks, of, &ret->number);
	else if (thread)
		table_member(&example_columns[column], thread, ret);
	else
		is_known = false;
	if (!is_known)
		ret->state = CELL_UNKNOWN;
}

static const struct table_type example_type = {.columns = example_columns, .cell = example_cell};

enum {
	KIND,
	RETAINED = 5,
	SUPPRESSION,
	LIBRARY,
	FUNCTION,
	TRUNCATED,
	GUESSED,
	STACK,
	EXAMPLE,
	HELD_BY_TOTAL,
	HELD_BY,
	WRITTEN
};
static const struct column record_columns[] = {
	[KIND] = {"kind", COLUMN_TEXT,
		.says = "`definite`, `indirect`, `possible`, `reachable`, or `never_freed`"},
	COUNT_OF(leak_row, blocks, "how many"),
	BYTES_OF(leak_row, bytes, "in these"),
	COUNT_OF(leak_row, indirect_blocks,
		"of definite ones: what is lost with them; these blocks are in records of "
		"kind `indirect` as well"),
	BYTES_OF(leak_row, indirect_bytes, "in these"),
	[RETAINED] = {"retained_bytes", COLUMN_INTEGER, UNIT_BYTES,
		.says = "`bytes` and `indirect_bytes`"},
	[SUPPRESSION] = {"suppression", COLUMN_TEXT,
		.says = "name of the entry that fits, or null"},
	[LIBRARY] = WORD_OF(leak_row, library, "of `libraries`: what it is; or null"),
	[FUNCTION] = {"function", COLUMN_TEXT,
		.says = "the allocation function: `malloc`, `operator new`…, or `unknown`"},
	[TRUNCATED] = {"truncated", COLUMN_BOOLEAN, .says = "the stack is not whole"},
	[GUESSED] = {"guessed", COLUMN_BOOLEAN,
		.says = "some outer frames were found by frame pointers alone"},
	[STACK] = {"stack", COLUMN_TABLE, .says = "innermost frame first", .nested = &frame_type},
	[EXAMPLE] = {"example", COLUMN_RECORD, .says = "the largest block, or null",
		.nested = &example_type},
	[HELD_BY_TOTAL] =
		COUNT_AS("held_by_total", leak_row, hold_count, "ways from roots to these blocks"),
	[HELD_BY] = {"held_by", COLUMN_TABLE,
		.says = "of reachable and possible ones: the first 16 ways, those of most bytes "
			"first",
		.nested = &hold_type},
	[WRITTEN] = {"written_suppression", COLUMN_TEXT, .optional = true,
		.says = "with `--gen-suppressions`: an entry that fits"},
	COLUMNS_END};

static void written_cell(
	const struct leaks_page *page, const struct leak_row *row, struct cell *ret)
{
	ret->state = CELL_ABSENT;
	if (!page->options->write_suppressions || row->class >= LEAK_CLASS_SUPPRESSED)
		return;
	leaks_put_suppression(page, row, &ret->built);
	ret->state = CELL_KNOWN;
	cell_take_any(ret);
}

/* What of a record is nested. */
static void nested_cell(
	struct records *const *context, size_t number, unsigned column, struct cell *ret)
{
	struct records *records = *context;
	const struct leak_row *row = &records->page->leaks.rows.data[number];
	const struct leak_stack *stack = leaks_stack(records->page, row);
	if (column == EXAMPLE) {
		ret->nested = (struct table){&example_type, records, 1, .limit = 1};
		ret->row = number;
		ret->state = row->example.address ? CELL_KNOWN : CELL_UNKNOWN;
	} else if (column == HELD_BY) {
		ret->nested = (struct table){&hold_type, context, row->hold_count,
			.first = row->first_hold, .limit = HOLDS_SHOWN};
	} else {
		ret->built.failed |=
			!frame_rows_fill(&records->frames, stack->frames, stack->depth, false);
		ret->nested = frame_rows_table(&records->frames);
	}
}

/* `context` leads to what cells are made with. */
static void record_cell(const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct leaks_page *page = (*(struct records *const *)context)->page;
	const struct leak_row *row = &page->leaks.rows.data[number];
	const struct leak_stack *stack = leaks_stack(page, row);
	bool never = row->class == LEAK_CLASS_NEVER_FREED;
	switch (column) {
	case KIND:
		ret->text = leak_class_name(never ? row->class : (enum leak_class)row->kind);
		break;
	case RETAINED:
		ret->number = leak_row_retained(row);
		break;
	case SUPPRESSION:
		ret->text =
			row->suppression == SUPPRESS_NONE
				? NULL
				: suppressions_get(page->options->suppressions, row->suppression)
					  ->name;
		break;
	case FUNCTION:
		ret->text = alloc_kind_name(stack->kind);
		break;
	case TRUNCATED:
	case GUESSED:
		ret->truth = column == GUESSED ? stack->guessed : stack->cut != MARK_NONE;
		break;
	case STACK:
	case EXAMPLE:
	case HELD_BY:
		nested_cell(context, number, column, ret);
		break;
	case WRITTEN:
		written_cell(page, row, ret);
		break;
	default:
		table_member(&record_columns[column], row, ret);
	}
}

static void record_text(const void *context, size_t number, struct text *out)
{
	const struct records *records = *(struct records *const *)context;
	text_add(out, number == records->first ? "" : "\n");
	leaks_record_text(records->page, &records->page->leaks.rows.data[number], out);
}

#define RECORD_TYPE(title, what)                                                                   \
	{                                                                                          \
		.name = title, .says = what, .columns = record_columns, .cell = record_cell,       \
		.row_text = record_text                                                            \
	}
const struct table_type leaks_record_types[LEAKS_RECORD_TYPES] = {
	RECORD_TYPE("records",
		"of the kinds of `--show-leak-kinds` (default: definite and possible), by kind, "
		"then the largest `retained_bytes` first. Complete unless `--limit` is given. "
		"Without a search: of kind `never_freed`. Not there with `--leak-check=summary` or "
		"`no`, like the next two"),
	RECORD_TYPE("suppressed", "those that a suppression fits"),
	RECORD_TYPE("libraries", "those of the class `library`"),
};

static bool leaks_records_is_wanted(
	const struct leaks_page *page, const struct leak_row *row, size_t type)
{
	return type == 0   ? leaks_shows(page, row)
	       : type == 1 ? row->class == LEAK_CLASS_SUPPRESSED
			   : row->class == LEAK_CLASS_LIBRARY;
}

/* Of a core or process whose blocks nobody recorded. */
static bool is_by_type(const struct leaks_page *page)
{
	return model_recording(page->model)->types;
}

static void add_more(const struct leaks_page *page, size_t count, struct text *out)
{
	if (is_by_type(page))
		text_more(count, "type (--limit)", "types (--limit)", out);
	else
		text_more(count, "allocation site (--limit)", "allocation sites (--limit)", out);
}

/* People get the first of the three alone. */
struct error *leaks_put_records(const struct leaks_page *page, struct answer *answer)
{
	struct text *prose = answer_prose(answer);
	struct records records = {.page = page}, *context = &records;
	_cleanup_free_ size_t *order = calloc(page->leaks.rows.len + 1, sizeof(*order));
	if (!order)
		return error_no_memory();
	for (size_t i = 0; i < (prose ? 1 : LEAKS_RECORD_TYPES); i++) {
		struct table table = {
			&leaks_record_types[i], &context, 0, .order = order, .limit = page->limit};
		for (size_t row = 0; row < page->leaks.rows.len; row++) {
			if (leaks_records_is_wanted(page, &page->leaks.rows.data[row], i))
				order[table.count++] = row;
		}
		records.first = order[0];
		if (prose && table_shown(&table) && !page->options->quiet)
			leaks_add_title(
				page, is_by_type(page) ? "Types" : "Allocation sites", prose);
		answer_table(answer, &table);
		if (prose)
			add_more(page, table.count - table_shown(&table), prose);
	}
	frame_rows_deinit(&records.frames);
	return NULL;
}
