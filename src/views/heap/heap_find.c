/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 *	ADDRESS         WHERE
 *	0x55d4c8a012b0  block 0x55d4c8a012a0 + 16, node, number
 *	0x55d4c8a01ff8  free block 0x55d4c8a01fe0 + 24 of 120 bytes  "GET /index.html"
 *	3 matches: 1 in blocks in use, 1 in free ones, 1 elsewhere
 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/layouts.h"
#include "views/heap/heap_parts.h"
#include "views/heap/where_columns.h"
#include "views/heap_answers.h"
#include "views/heap_find_view.h"
#include "views/report/figure_text.h"
#include "views/report/member_columns.h"

#define TEXT_SHOWN 60u

struct find_listing {
	const struct heap_page *page;
	struct answer *answer;
	struct table table;
	bool is_text; /* what stands there is shown */
	size_t left;
	uint64_t used, free, rest;
	/* The row. */
	const struct heap_found *found;
	struct heap_where where;
};

/* What can be printed from there on. */
static void heap_find_add_text(const struct find_listing *l, uint64_t address, struct text *ret)
{
	char bytes[TEXT_SHOWN];
	size_t got = address_space_read(l->page->scan->heap.space, address, bytes, sizeof(bytes));
	size_t len = 0;
	while (len < got && (isprint((unsigned char)bytes[len]) || (bytes[len] & 0x80)))
		len++;
	text_add_plain_n(ret, bytes, len);
}

/* The member there, also a block's first. */
static void name_member(const struct heap_scan *scan, struct heap_where *where)
{
	struct heap_layout layout;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	if (where->kind != HEAP_WHERE_BLOCK || where->offset || where->tid ||
		!heap_layout_of(scan, where->block, &layout))
		return;
	heap_layout_add_member(scan, &layout, 0, &text);
	if (text.len && text.len < sizeof(where->member))
		memcpy(where->member, text.data, text.len + 1);
}

static void add_free(const struct heap_found *found, struct text *text)
{
	text_printf(text, "%s block 0x%" PRIx64 " + %" PRIu64 " of %" PRIu64 " bytes",
		found->block.state == BLOCK_CACHED ? "cached" : "free", found->block.address,
		found->address - found->block.address, found->block.size);
}

static bool is_free(const struct heap_found *found)
{
	return found->is_in_block && found->block.state != BLOCK_USED;
}

static void heap_find_row_text(const void *context, size_t row, struct text *out)
{
	const struct find_listing *l = context;
	(void)row;
	text_printf(out, "0x%012" PRIx64 "  ", l->found->address);
	if (is_free(l->found))
		add_free(l->found, out);
	else
		heap_where_describe(&l->where, out);
	if (l->is_text) {
		text_add(out, "  \"");
		heap_find_add_text(l, l->found->address, out);
		text_add_char(out, '"');
	}
	text_add_char(out, '\n');
}

enum { ADDRESS, WHERE_FIRST, SIZE = WHERE_FIRST + WHERE_COLUMNS, TEXT };
static const struct column columns[] = {{"address", COLUMN_ADDRESS, .says = "where it stands"},
	WHERE_COLUMN_ROWS,
	{"size", COLUMN_INTEGER, UNIT_BYTES, .optional = true, .says = "of free blocks"},
	{"text", COLUMN_TEXT, .optional = true,
		.says = "of texts: what can be printed from there on, at most 60 bytes"},
	COLUMNS_END};

/* Of a block that is not in use. */
static void free_cell(const struct heap_found *found, unsigned column, struct cell *ret)
{
	const struct heap_block *block = &found->block;
	if (column == WHERE_FIRST + WHERE_IS)
		ret->text = block->state == BLOCK_CACHED ? "cached" : "free";
	else if (column == WHERE_FIRST + WHERE_BLOCK)
		ret->number = block->address;
	else if (column == WHERE_FIRST + WHERE_INTO)
		ret->number = found->address - block->address;
	else if (column == SIZE)
		ret->number = block->size;
	else
		ret->state = CELL_ABSENT;
}

static void heap_find_cell_of(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct find_listing *l = context;
	(void)row;
	if (column == ADDRESS) {
		ret->number = l->found->address;
	} else if (column == TEXT) {
		heap_find_add_text(l, l->found->address, &ret->built);
		cell_take_built(ret);
		ret->state = l->is_text ? CELL_KNOWN : CELL_ABSENT;
	} else if (is_free(l->found)) {
		free_cell(l->found, column, ret);
	} else if (column == SIZE) {
		ret->state = CELL_ABSENT;
	} else {
		where_cell(
			l->page->scan, &l->where, (enum where_column)(column - WHERE_FIRST), ret);
	}
}

static const struct table_type found_type = {.name = "found",
	.says = "a row for each match, in the order of addresses",
	.columns = columns,
	.cell = heap_find_cell_of,
	.row_text = heap_find_row_text};

static const struct column sum_columns[] = {
	{"places", COLUMN_INTEGER, UNIT_COUNT, .says = "all of them, whatever the limit is"},
	{"used", COLUMN_INTEGER, UNIT_COUNT, .says = "of these in blocks in use"},
	{"free", COLUMN_INTEGER, UNIT_COUNT, .says = "in free ones"},
	{"elsewhere", COLUMN_INTEGER, UNIT_COUNT, .says = "in no block"}, COLUMNS_END};

static void heap_find_sum_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct find_listing *l = context;
	const uint64_t numbers[] = {l->used + l->free + l->rest, l->used, l->free, l->rest};
	(void)row;
	ret->number = numbers[column];
}

static const struct table_type sum_type = {.name = "matched",
	.says = "how many matches there are",
	.columns = sum_columns,
	.cell = heap_find_sum_cell};

static const struct column unread_columns[] = {
	BYTES_OF(heap_find, unread_bytes, "of memory that was to be searched and can't be read"),
	COLUMNS_END};
static const struct table_type unread_type = {.columns = unread_columns};

const struct answer_type heap_find_type = {
	HEAP_ANSWER("find", " find VALUE", "where a value or a text stands in memory"),
	.tables = (const struct table_type *const[]){HEAP_HEAD_TYPES, &found_type, &sum_type,
		&unread_type, NULL},
	.main = &found_type};

static struct error *heap_find_take(void *context, const struct heap_found *found)
{
	struct find_listing *l = context;
	if (!found->is_in_block)
		l->rest++;
	else if (is_free(found))
		l->free++;
	else
		l->used++;
	if (!l->left || l->answer->stopped)
		return NULL;
	l->left--;
	l->found = found;
	l->where = (struct heap_where){.kind = HEAP_WHERE_NOWHERE};
	struct error *error =
		is_free(found) ? NULL : heap_where(l->page->scan, found->address, &l->where);
	if (error)
		return error;
	name_member(l->page->scan, &l->where);
	answer_row(l->answer, &l->table, 0);
	return NULL;
}

static void heap_find_add_sums(
	const struct find_listing *l, const struct heap_find *find, struct text *out)
{
	text_add_counted(out, l->used + l->free + l->rest, "match", "matches");
	text_printf(out, ": %s in blocks in use, %s in free ones, %s elsewhere", FMT_COUNT(l->used),
		FMT_COUNT(l->free), FMT_COUNT(l->rest));
	if (!find->in_rest)
		text_add(out, find->in_used ? " (only blocks in use were searched)"
					    : " (only free blocks were searched)");
	text_add_char(out, '\n');
	if (find->unread_bytes) {
		text_add_bytes(out, find->unread_bytes);
		text_add(out, " of memory that the program may have written can't be read here.\n");
	}
}

static struct error *heap_find_lay_out(struct find_listing *l, struct heap_find *find)
{
	struct text *prose = answer_prose(l->answer);
	answer_begin(l->answer, &heap_find_type);
	heap_head_answer(l->answer, l->page->scan);
	if (prose && l->left)
		text_add(prose, "ADDRESS         WHERE\n");
	answer_table_begin(l->answer, &l->table);
	struct error *error = heap_find(&l->page->scan->heap, find);
	answer_table_end(l->answer, &l->table);
	if (error)
		return error;
	answer_record_of(l->answer, &sum_type, l);
	answer_record_of(l->answer, &unread_type, find);
	if (prose)
		heap_find_add_sums(l, find, prose);
	return answer_end(l->answer);
}

struct error *heap_find_write(
	const struct heap_page *page, struct heap_find *find, bool is_text, const struct sink *sink)
{
	struct find_listing l = {
		.page = page, .answer = heap_answer_create(page, sink), .is_text = is_text};
	if (!l.answer)
		return error_no_memory();
	l.left = heap_page_limit(page, l.answer, TABLE_NO_LIMIT);
	l.table = (struct table){&found_type, &l, 1, .limit = l.left};
	find->context = &l;
	find->take = heap_find_take;
	struct error *error = heap_find_lay_out(&l, find);
	answer_destroy(l.answer);
	return error;
}
