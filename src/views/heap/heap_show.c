/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 *	block 0x55d4c8a012a0: 24 bytes, node (inferred, declared)
 *	       0  next    0x55d4c8a01260 → block 0x55d4c8a01260, node
 *	       8  name    0x55d4c8a012c0 "n000001" → block 0x55d4c8a012c0, char[]
 *	      16  number  1
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/cxx.h"
#include "heap/inferred.h"
#include "views/heap/heap_contents_view.h"
#include "views/heap/heap_parts.h"
#include "views/heap/heap_show_parts.h"
#include "views/heap_answers.h"

#define TEXT_SHOWN 1000u
/* Of a container's elements on a line, if nobody says how many; JSON has them all. */
#define LINE_BYTES 400u
/* Of an array, if nobody says how many. */
#define ELEMENTS_SHOWN 64u

/* Where the characters begin: after what stands before them in a string's memory. */
static size_t text_start(const struct heap_layout *layout, const struct heap_values *values)
{
	size_t at = heap_show_is_string(layout) ? (size_t)layout->header : 0;
	return min(at, values->len);
}

static void heap_show_add_text(struct show *s, struct text *text)
{
	size_t at = text_start(&s->layout, &s->values), room = s->values.len - at;
	const char *bytes = (const char *)s->values.bytes + at;
	if (s->layout.unit > 1) {
		heap_show_add_wide(&s->values, &s->layout, text);
		return;
	}
	size_t end = strnlen(bytes, room);
	text_add_char(text, '"');
	text_add_n(text, bytes, end < TEXT_SHOWN ? end : TEXT_SHOWN);
	text_add_char(text, '"');
}

static void member_text(struct show *s, const struct shown_member *row, struct text *out)
{
	int indent = (int)(2 * row->level);
	if (row->is_more) {
		text_printf(
			out, "%8s  %*s… %" PRIu64 " more (--limit)\n", "", indent, "", row->more);
		return;
	}
	text_printf(out, "%8" PRIu64 "  %*s", row->bits / 8, indent, "");
	text_add_shown(out, row->name, 200);
	if (row->has_value) {
		text_add(out, "  ");
		heap_values_add(&s->values, row->type, row->bits, row->bit_size, out);
	}
	text_add_char(out, '\n');
}

static void add_declared(const struct show *s, struct text *text)
{
	if (heap_show_is_string(&s->layout))
		text_add(text, s->layout.unit == 2   ? "char16_t[]"
			       : s->layout.unit == 4 ? "wchar_t[]"
						     : "char[]");
	else if (heap_show_is_pool(&s->layout))
		text_add(text, s->type->name);
	else
		cxx_add_declaration(text, s->values.types, s->layout.type, "");
}

static void heap_show_head_text(const struct show *s, struct text *out)
{
	const struct heap_scan *scan = s->page->scan;
	const struct heap_layout *layout = &s->layout;
	text_printf(out, "block 0x%" PRIx64 ": %" PRIu64 " bytes, ",
		search_block_address(scan->search, s->block),
		search_block_size(scan->search, s->block));
	text_add_shown(out, s->type->name, 200);
	const char *by = inferred_basis_name(scan, s->block);
	text_printf(
		out, " (%s%s%s)", heap_type_kind_name(s->type->kind), by ? ", " : "", by ? by : "");
	heap_layout_add_extent(layout, out);
	pools_add_evidence(scan, s->block, out);
	bool is_within = layout->header && !layout->is_array;
	if (!heap_show_is_pool(layout) &&
		(is_within ||
			!types_are_same(s->values.types, types_plain(s->values.types, layout->type),
				types_plain(s->values.types, s->type->layout)))) {
		_cleanup_(text_deinit) struct text declared;
		text_init(&declared);
		add_declared(s, &declared);
		text_add(out, ", as ");
		text_add_shown(out, declared.data ? declared.data : "", 200);
		if (is_within)
			text_printf(out, " at %" PRIu64, layout->header);
	}
	text_add_char(out, '\n');
}

static void block_text(const void *context, size_t number, struct text *out)
{
	struct show *s = *(struct show *const *)context;
	(void)number;
	heap_show_head_text(s, out);
	if (heap_show_is_text(s, &s->layout)) {
		_cleanup_(text_deinit) struct text text;
		text_init(&text);
		heap_show_add_text(s, &text);
		text_printf(out, "%8zu  ", text_start(&s->layout, &s->values));
		text_add_shown(out, text.data ? text.data : "", TEXT_SHOWN + 100);
		text_add_char(out, '\n');
	}
	for (size_t i = 0; i < s->members.len; i++)
		member_text(s, &s->members.data[i], out);
}

enum { MEMBER_NAME, MEMBER_OFFSET, MEMBER_TYPE, MEMBER_VALUE, MEMBER_CONTENTS, MEMBER_MORE };
static const struct column member_columns[] = {
	[MEMBER_NAME] = {"name", COLUMN_TEXT, .says = "of the member, or its number as `[0]`"},
	[MEMBER_OFFSET] = {"offset", COLUMN_INTEGER, UNIT_BYTES, .says = "in what is shown"},
	[MEMBER_TYPE] = {"type", COLUMN_TEXT, .says = "as it is declared"},
	[MEMBER_VALUE] = {"value", COLUMN_TEXT, .optional = true, .says = "as text"},
	[MEMBER_CONTENTS] = {"contents", COLUMN_RECORD, .optional = true,
		.says = "of containers and the like: what they hold",
		.nested = &heap_contents_type},
	[MEMBER_MORE] = {"more", COLUMN_INTEGER, UNIT_COUNT, .optional = true,
		.says = "of an array that is cut: elements that are left out"},
	COLUMNS_END};

/* A container's content, read again: few rows have one. */
static void contents_cell(struct show *s, const struct shown_member *row, struct cell *ret)
{
	struct contents contents;
	uint32_t plain = types_plain(s->values.types, row->type);
	ret->state = CELL_ABSENT;
	if (!row->is_held || !heap_contents_read(&s->values, plain, row->bits, &contents))
		return;
	ret->state = CELL_KNOWN;
	heap_contents_fill(&s->values, &contents, &s->held);
	ret->built.failed |= s->held.no_memory;
	ret->nested = (struct table){&heap_contents_type, &s->held, 1, .limit = 1};
}

static void member_cell(const void *context, size_t number, unsigned column, struct cell *ret)
{
	struct show *s = *(struct show *const *)context;
	const struct shown_member *row = &s->members.data[number];
	switch (column) {
	case MEMBER_NAME:
		ret->text = row->name;
		break;
	case MEMBER_OFFSET:
		ret->number = row->bits / 8;
		break;
	case MEMBER_TYPE:
		cxx_add_declaration(&ret->built, s->values.types, row->type, "");
		cell_take_any(ret);
		break;
	case MEMBER_VALUE:
		ret->state = row->has_value ? CELL_KNOWN : CELL_ABSENT;
		if (row->has_value)
			heap_values_add(
				&s->values, row->type, row->bits, row->bit_size, &ret->built);
		cell_take_built(ret);
		break;
	case MEMBER_CONTENTS:
		contents_cell(s, row, ret);
		break;
	default:
		ret->number = row->more;
		ret->state = row->more ? CELL_KNOWN : CELL_ABSENT;
	}
}

static unsigned member_level(const void *context, size_t number, bool *ret_opens)
{
	const struct shown_member *row = &(*(struct show *const *)context)->members.data[number];
	*ret_opens = row->opens;
	return row->level;
}

static const struct table_type member_type = {
	.columns = member_columns, .cell = member_cell, .level = member_level, .below = "members"};

static const struct column text_columns[] = {{"", COLUMN_TEXT, .says = "the text"}, COLUMNS_END};

static void text_cell(const void *context, size_t number, unsigned column, struct cell *ret)
{
	(void)number, (void)column;
	heap_show_add_text(*(struct show *const *)context, &ret->built);
	cell_take_built(ret);
}

static const struct table_type text_type = {.columns = text_columns, .cell = text_cell};

enum { AS = 4, EXTENT_FIRST, POOL = EXTENT_FIRST + HEAP_EXTENTS, AT, MEMBERS, MORE };
static const struct column block_columns[] = {HEAP_BLOCK_COLUMNS, HEAP_BLOCK_BASIS_COLUMN,
	[AS] = {"as", COLUMN_TEXT,
		.says = "what it is shown as: what was asked for, if that is another type"},
	HEAP_EXTENT_COLUMNS,
	[POOL] = {"pool", COLUMN_TABLE, .optional = true,
		.says = "of pools: the types of what lies in it", .nested = &heap_pool_kind_type},
	[AT] = {"at", COLUMN_INTEGER, UNIT_BYTES, .optional = true,
		.says = "where in the block what is shown begins, if not at its start"},
	[MEMBERS] = {"members", COLUMN_TABLE,
		.says = "with their values; of characters one text alone", .nested = &member_type},
	[MORE] = {"more", COLUMN_INTEGER, UNIT_COUNT, .optional = true,
		.says = "of an array or a pool that is cut: how many are left out"},
	COLUMNS_END};

static void heap_show_block_cell(
	const void *context, size_t number, unsigned column, struct cell *ret)
{
	struct show *s = *(struct show *const *)context;
	(void)number;
	switch (column) {
	case AS:
		add_declared(s, &ret->built);
		cell_take_any(ret);
		break;
	case POOL:
		ret->nested = heap_pool_table(&s->pool);
		ret->state = s->is_pool ? CELL_KNOWN : CELL_ABSENT;
		break;
	case AT:
	case MORE:
		ret->number = column == AT ? s->at : s->more;
		ret->state = ret->number ? CELL_KNOWN : CELL_ABSENT;
		break;
	case MEMBERS:
		ret->nested = heap_show_is_text(s, &s->layout)
				      ? (struct table){&text_type, context, 1, .limit = 1}
				      : (struct table){&member_type, context, s->members.len,
						.limit = TABLE_NO_LIMIT};
		break;
	default:
		if (column < AS)
			heap_block_cell(s->page->scan, s->block, column, ret);
		else
			heap_extent_cell(&s->layout, column - EXTENT_FIRST, ret);
	}
}

static const struct table_type block_type = {.name = "blocks",
	.says = "those that were asked for",
	.columns = block_columns,
	.cell = heap_show_block_cell,
	.row_text = block_text};

const struct answer_type heap_show_type = {
	HEAP_ANSWER("show", " show ADDR|TYPE",
		"blocks as values of their types, those of derived classes, too. CSV has a row a "
		"block, with a column a member, or, of one block, a row a member"),
	.tables = (const struct table_type *const[]){HEAP_HEAD_TYPES, &block_type, NULL},
	.main = &block_type};

static struct error *put_block(
	struct show *s, uint32_t block, const struct heap_layout *layout, uint64_t offset)
{
	const struct heap_scan *scan = s->page->scan;
	struct show *const context = s;
	const struct table table = {&block_type, &context, 1, .limit = TABLE_NO_LIMIT};
	_cleanup_free_ uint8_t *bytes = heap_show_read(s, block, layout, offset);
	if (!bytes)
		return error_no_memory();
	s->block = block;
	s->layout = *layout;
	s->at = offset;
	s->type = &scan->types.types.data[heap_scan_type_of(scan, block)];
	s->is_pool = heap_pool_rows_fill(scan, block, &s->pool);
	heap_show_fill(s);
	const struct table members = {
		&member_type, &context, s->members.len, .limit = TABLE_NO_LIMIT};
	if (!s->no_memory)
		answer_row(s->answer, &table, 0);
	/* Of one block CSV has these. */
	if (!s->no_memory && s->page->csv && s->answer->type->main == &member_type)
		answer_table(s->answer, &members);
	heap_pool_rows_deinit(&s->pool);
	return s->no_memory ? error_no_memory() : s->values.error;
}

/* Of arrays each block has elements of its own number. */
static struct heap_layout layout_in(
	const struct show *s, uint32_t block, const struct heap_layout *layout)
{
	struct heap_layout own;
	bool is_its = layout->is_array && heap_layout_of(s->page->scan, block, &own) &&
		      own.is_array && own.type == layout->type && own.header == layout->header;
	return is_its ? own : *layout;
}

static struct error *put_blocks(
	struct show *s, const struct subtype_set *types, const struct heap_layout *layout)
{
	const struct heap_scan *scan = s->page->scan;
	size_t most = s->page->limit == VIEW_DEFAULT_LIMIT ? SIZE_MAX : s->page->limit;
	uint32_t count = search_block_count(scan->search);
	struct error *error = NULL;
	for (uint32_t block = 0; block < count && most && !error && !s->answer->stopped; block++) {
		const struct subtypes *subtypes = heap_subtypes_of(scan, types, block);
		if (!subtypes)
			continue;
		struct heap_layout as = heap_show_layout(s, subtypes, layout);
		struct heap_layout own = layout_in(s, block, &as);
		error = put_block(s, block, &own, subtypes->offset);
		most--;
	}
	return error;
}

/* Where what a block is shown as begins in it; elements of arrays and what lies in pools have their
 * own places. */
static uint64_t place_in(const struct heap_layout *layout)
{
	return layout->is_array || heap_show_is_pool(layout) ? 0 : layout->header;
}

static struct error *heap_show_lay_out(struct show *s, uint32_t block,
	const struct subtype_set *types, const struct heap_layout *layout)
{
	const struct table table = {&block_type, NULL, 0, .limit = TABLE_NO_LIMIT};
	struct answer_type document = heap_show_type;
	bool is_one = block != SPACE_NONE;
	if (s->page->csv && is_one && !heap_show_is_text(s, layout))
		document.main = &member_type;
	answer_begin(s->answer, &document);
	heap_head_answer(s->answer, s->page->scan);
	answer_table_begin(s->answer, &table);
	struct error *error = is_one ? put_block(s, block, layout, place_in(layout))
				     : put_blocks(s, types, layout);
	answer_table_end(s->answer, &table);
	if (!error && types_failed(s->values.types))
		error = error_no_memory();
	return error ? error : answer_end(s->answer);
}

struct error *heap_show_write(const struct heap_page *page, uint32_t block,
	const struct subtype_set *types, const struct heap_layout *layout, const struct sink *sink)
{
	struct answer *answer = heap_answer_create(page, sink);
	if (!answer)
		return error_no_memory();
	struct show s = {.page = page,
		.values = {.scan = page->scan,
			.types = page->scan->layouts.types,
			.most = page->limit == VIEW_DEFAULT_LIMIT ? LINE_BYTES : SIZE_MAX,
			.raw = page->raw},
		.answer = answer,
		.is_brief = answer_is_brief(answer)};
	s.elements = page->limit != VIEW_DEFAULT_LIMIT ? page->limit
		     : s.is_brief                      ? ELEMENTS_SHOWN
						       : SHOW_ROWS_MOST;
	s.values.elements = s.elements;
	/* All of a type are a row each, but in JSON; of pools what lies in them is shown. */
	bool is_table = !page->json && block == SPACE_NONE && !heap_show_is_pool(layout);
	struct error *error = is_table ? heap_show_table(&s, &heap_show_type, types, layout)
				       : heap_show_lay_out(&s, block, types, layout);
	heap_show_deinit(&s);
	answer_destroy(answer);
	return error;
}
