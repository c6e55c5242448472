/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `fragmentation`: free memory of each arena, and what keeps pages of it from being given back. */
#include "heap/fragments.h"

#include "base/cleanup.h"
#include "views/heap/heap_parts.h"
#include "views/heap_answers.h"

#define TEXT_ROWS 20u

static const struct column arena_columns[] = {
	{"allocator", COLUMN_TEXT, .says = "whose arena it is", .title = "ALLOCATOR", .width = -9},
	{"arena", COLUMN_INTEGER, .says = "its number", .ascending = true, .title = "ARENA",
		.gap = 1, .width = 5, .plain = true, COLUMN_OF(fragment_arena, arena)},
	{"bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "all of it", .title = "BYTES", .width = 10,
		COLUMN_OF(fragment_arena, bytes)},
	{"used_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "in blocks in use", .key = "used",
		.title = "USED", .width = 10, COLUMN_OF(fragment_arena, used)},
	{"free_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "in free blocks", .key = "free",
		.title = "FREE", .width = 10, COLUMN_OF(fragment_arena, free)},
	{"spare_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "after the last block", .key = "spare",
		.title = "SPARE", .width = 10, COLUMN_OF(fragment_arena, spare)},
	{"pages", COLUMN_INTEGER, UNIT_COUNT, .says = "pages that blocks lie in", .title = "PAGES",
		.gap = 1, .width = 9, .plain = true, COLUMN_OF(fragment_arena, pages)},
	{"free_pages", COLUMN_INTEGER, UNIT_COUNT, .says = "of these without a block in use",
		.title = "FREE", .gap = 1, .width = 9, .plain = true,
		COLUMN_OF(fragment_arena, free_pages)},
	{"pinned_pages", COLUMN_INTEGER, UNIT_COUNT, .says = "used to less than a quarter",
		.title = "PINNED", .gap = 1, .width = 9, .plain = true,
		COLUMN_OF(fragment_arena, pinned_pages)},
	{"pinned_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "free in these", .title = "BY BYTES",
		.width = 10, COLUMN_OF(fragment_arena, pinned_bytes)},
	COLUMNS_END};

static void arena_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct fragment_arena *arena = &((const struct fragment_arena *)context)[row];
	if (column == 0)
		ret->text = heap_allocator_name(arena->allocator);
	else
		table_member(&arena_columns[column], arena, ret);
}

static const struct table_type arena_type = {.name = "arenas",
	.says = "a row an arena",
	.columns = arena_columns,
	.cell = arena_cell,
	.one = "arena",
	.many = "arenas"};

struct pin_rows {
	const struct heap_scan *scan;
	const struct fragment_pin *pins;
};

static const struct column pin_columns[] = {
	{"free_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "free in pages that they pin",
		.title = "FREE", .width = 10},
	{"blocks", COLUMN_INTEGER, UNIT_COUNT, .says = "how many", .title = "BLOCKS", .gap = 2,
		.width = 10, .plain = true},
	{"type", COLUMN_TEXT, .says = "of which type", .title = "TYPE", .gap = 2}, COLUMNS_END};

static void pin_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct pin_rows *rows = context;
	const struct fragment_pin *pin = &rows->pins[row];
	ret->number = column ? pin->blocks : (uint64_t)pin->bytes;
	ret->text = rows->scan->types.types.data[pin->type].name;
}

static const struct table_type pin_type = {.name = "pins",
	.says = "blocks in use that pin pages, by type",
	.title = "What pins pages that are used to less than a quarter",
	.columns = pin_columns,
	.cell = pin_cell,
	.one = "type",
	.many = "types"};

static const struct column class_columns[] = {
	{"size_class", COLUMN_INTEGER, .says = "its number in Go's runtime; 0: large elements",
		.ascending = true, .title = "CLASS", .width = 5, .plain = true,
		COLUMN_OF(fragment_span_class, size_class)},
	{"scan", COLUMN_BOOLEAN, .says = "whether the elements may have pointers", .title = "SCAN",
		.gap = 1, .width = 5, COLUMN_OF(fragment_span_class, has_pointers)},
	{"element_bytes", COLUMN_INTEGER, UNIT_BYTES,
		.says = "of an element; null: each has its own", .zero_unknown = true,
		.unknown = "-", .title = "ELEMENT", .width = 10,
		COLUMN_OF(fragment_span_class, element_bytes)},
	{"spans", COLUMN_INTEGER, UNIT_COUNT, .says = "how many", .title = "SPANS", .gap = 1,
		.width = 8, .plain = true, COLUMN_OF(fragment_span_class, spans)},
	{"bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "of these spans", .title = "BYTES",
		.width = 10, COLUMN_OF(fragment_span_class, bytes)},
	{"used_elements", COLUMN_INTEGER, UNIT_COUNT, .says = "elements in use", .title = "USED",
		.gap = 1, .width = 9, .plain = true, COLUMN_OF(fragment_span_class, used_elements)},
	{"used_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "of these", .title = "OF BYTES",
		.width = 10, COLUMN_OF(fragment_span_class, used_bytes)},
	{"free_bytes", COLUMN_INTEGER, UNIT_BYTES,
		.says = "slack: free elements, which serve this class alone", .title = "SLACK",
		.width = 10, COLUMN_OF(fragment_span_class, free_bytes)},
	{"tail_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "behind the last element of each span",
		.title = "TAILS", .width = 10, COLUMN_OF(fragment_span_class, tail_bytes)},
	COLUMNS_END};

static const struct table_type class_type = {.name = "span_classes",
	.says = "spans of Go's runtime, by span class (elements of one size, with pointers or "
		"without); left out if there are none",
	.title = "Go's spans by class (slack: free elements, which serve their class alone)",
	.columns = class_columns,
	.row_bytes = sizeof(struct fragment_span_class),
	.one = "class",
	.many = "classes"};

const struct answer_type heap_fragments_type = {
	HEAP_ANSWER("fragmentation", " fragmentation",
		"free memory of each arena, and what pins its pages"),
	.tables = (const struct table_type *const[]){HEAP_HEAD_TYPES, &arena_type,
		&heap_matched_rows_type, &pin_type, &class_type, NULL},
	.main = &arena_type};

struct error *heap_fragments_answer(const struct heap_page *page, struct answer *answer)
{
	_cleanup_(heap_fragments_deinit) struct fragments fragments = {.arenas = {.len = 0}};
	_cleanup_free_ size_t *order = NULL;
	struct table_select select;
	struct error *error = table_select_open(&arena_type, page->rows, &select);
	if (error)
		return error;
	error = heap_fragments(page->scan, &fragments);
	struct table arenas = {&arena_type, fragments.arenas.data, fragments.arenas.len,
		.limit = heap_page_limit(page, answer, TEXT_ROWS)};
	if (!error)
		error = table_select_order(&select, &arenas, &order);
	table_select_close(&select);
	if (error)
		return error;
	const struct pin_rows rows = {page->scan, fragments.pins.data};
	const struct table pins = {&pin_type, &rows, fragments.pins.len, .limit = arenas.limit};
	const struct table classes = {
		&class_type, fragments.classes.data, fragments.classes.len, .limit = arenas.limit};
	answer_begin(answer, &heap_fragments_type);
	heap_head_answer(answer, page->scan);
	answer_table(answer, &arenas);
	if (heap_page_is_choosy(page))
		heap_matched_rows_answer(answer, arenas.count);
	if (!heap_page_is_choosy(page) || !answer_is_brief(answer))
		answer_table(answer, &pins);
	if (classes.count && (!heap_page_is_choosy(page) || !answer_is_brief(answer)))
		answer_table(answer, &classes);
	return answer_end(answer);
}
