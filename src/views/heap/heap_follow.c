/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 *	From 3,000 blocks 120 objects are reached, in 118 blocks, 5.6 KiB
 *	2,880 pointers on the way are NULL
 *
 *	     BYTES      BLOCKS  KIND         TYPE
 *	   5.6 KiB         118  inferred     user
 */
#include "base/cleanup.h"
#include "views/heap/heap_parts.h"
#include "views/heap/heap_type_table.h"
#include "views/heap_answers.h"
#include "views/heap_follow_view.h"
#include "views/report/figure_text.h"

#define ROWS 40u

/* What the sentences are of. */
struct followed {
	const struct follow *follow;
	uint64_t from;
	const struct type_table *table;
};

static void heap_follow_add_sums(
	const struct follow *f, uint64_t from, const struct type_table *table, struct text *out)
{
	text_add(out, "From ");
	text_add_counted(out, from, "block ", "blocks ");
	text_add_counted(out, f->at.len, "object is", "objects are");
	text_add(out, " reached, in ");
	text_add_counted(out, table->blocks, "block, ", "blocks, ");
	text_printf(out, "%s\n", FMT_BYTES(table->bytes));
	if (f->nulls)
		text_add_counted(out, f->nulls, "pointer on the way leads nowhere\n",
			"pointers on the way lead nowhere\n");
	if (f->outside)
		text_add_counted(out, f->outside, "pointer on the way points to no block in use\n",
			"pointers on the way point to no block in use\n");
	if (f->memberless)
		text_add_counted(out, f->memberless,
			"object on the way has no such member, or is of no known type\n",
			"objects on the way have no such member, or are of no known type\n");
	if (f->broken)
		text_add_counted(out, f->broken,
			"container on the way could not be read to its end\n",
			"containers on the way could not be read to their ends\n");
}

static void sums_text(const void *context, size_t row, struct text *out)
{
	const struct followed *all = context;
	(void)row;
	heap_follow_add_sums(all->follow, all->from, all->table, out);
}

enum { FROM, OBJECTS, NULLS, OUTSIDE, MEMBERLESS, BROKEN };
static const struct column sum_columns[] = {
	[FROM] = {"from_blocks", COLUMN_INTEGER, UNIT_COUNT, .says = "where the walk began"},
	[OBJECTS] = {"objects", COLUMN_INTEGER, UNIT_COUNT, .says = "that it reached"},
	[NULLS] = {"nulls", COLUMN_INTEGER, UNIT_COUNT,
		.says = "pointers on the way that are NULL"},
	[OUTSIDE] = {"outside", COLUMN_INTEGER, UNIT_COUNT,
		.says = "pointers on the way to what is no block in use"},
	[MEMBERLESS] = {"memberless", COLUMN_INTEGER, UNIT_COUNT,
		.says = "objects on the way that have no such member, or are of no known type"},
	[BROKEN] = {"broken", COLUMN_INTEGER, UNIT_COUNT,
		.says = "containers that could not be read to their ends"},
	COLUMNS_END};

static void heap_follow_sum_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct followed *all = context;
	const struct follow *f = all->follow;
	const uint64_t numbers[] = {
		all->from, f->at.len, f->nulls, f->outside, f->memberless, f->broken};
	(void)row;
	ret->number = numbers[column];
}

static const struct table_type sum_type = {
	.columns = sum_columns, .cell = heap_follow_sum_cell, .row_text = sums_text};

/* Of programs alone: people read it in the sentences. */
static const struct table_type matched_type = {.name = "matched",
	.says = "blocks in which the objects lie",
	.columns = heap_matched_columns};

enum { ADDRESS, SIZE, TYPE };
static const struct column block_columns[] = {
	[ADDRESS] = {"address", COLUMN_ADDRESS, .says = "of the block", .title = "ADDRESS",
		.width = -14},
	[SIZE] = {"size", COLUMN_INTEGER, UNIT_BYTES, .says = "what it has room for",
		.title = "SIZE", .gap = 1, .width = 12, .plain = true},
	[TYPE] = {"type", COLUMN_TEXT, .says = "of the block", .title = "TYPE", .gap = 2},
	COLUMNS_END};

static void heap_follow_block_cell(
	const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct heap_scan *s = context;
	uint32_t block = (uint32_t)row;
	ret->number = column == ADDRESS ? search_block_address(s->search, block)
					: search_block_size(s->search, block);
	ret->text = s->types.types.data[heap_scan_type_of(s, block)].name;
}

static const struct table_type block_type = {.name = "blocks",
	.says = "with `--list`: the blocks that were reached",
	.columns = block_columns,
	.cell = heap_follow_block_cell};

#define FOLLOW_TABLES                                                                              \
	(const struct table_type *const[])                                                         \
	{                                                                                          \
		HEAP_HEAD_TYPES, &sum_type, &matched_type, &heap_types_table, &block_type, NULL    \
	}
const struct answer_type heap_follow_type = {
	HEAP_ANSWER("follow", " follow TYPE.MEMBER", "what blocks reference through members"),
	.tables = FOLLOW_TABLES, .main = &heap_types_table};
/* With --list. */
static const struct answer_type list_type = {.schema = "heapwise.heap-follow/1",
	.before = HEAP_SCHEMA_BEFORE,
	.tables = FOLLOW_TABLES,
	.main = &block_type};

static void put_list(const struct heap_page *page, const uint64_t *blocks, struct answer *answer)
{
	const struct heap_scan *s = page->scan;
	size_t left = answer_limit(answer, page->limit, TABLE_NO_LIMIT);
	const struct table table = {&block_type, s, search_block_count(s->search), .limit = left};
	answer_table_begin(answer, &table);
	for (uint32_t block = 0; block < table.count && left && !answer->stopped; block++) {
		if (!(blocks[block / 64] >> block % 64 & 1))
			continue;
		answer_row(answer, &table, block);
		left--;
	}
	answer_table_end(answer, &table);
}

static struct error *heap_follow_lay_out(const struct heap_page *page, const struct followed *all,
	const uint64_t *listed, struct answer *answer)
{
	const struct heap_matched matched = {all->table->blocks, all->table->bytes};
	const struct table types = {&heap_types_table, all->table->types, all->table->count,
		.limit = heap_page_limit(page, answer, ROWS)};
	struct text *prose = answer_prose(answer);
	answer_begin(answer, listed ? &list_type : &heap_follow_type);
	heap_head_answer(answer, page->scan);
	answer_record_of(answer, &sum_type, all);
	answer_record_of(answer, &matched_type, &matched);
	if (prose && (listed || types.limit))
		text_add_char(prose, '\n');
	if (!prose || !listed)
		answer_table(answer, &types);
	if (listed)
		put_list(page, listed, answer);
	return answer_end(answer);
}

struct error *heap_follow_write(const struct heap_page *page, const struct follow *follow,
	uint64_t from, bool lists, const struct sink *sink)
{
	struct heap_block_filter reached;
	heap_block_filter_init(&reached);
	reached.held = follow_blocks(follow);
	reached.is_asked = true;
	struct heap_page own = *page;
	own.chosen = &reached;
	_cleanup_(type_table_deinit) struct type_table table = {.count = 0};
	const struct followed all = {follow, from, &table};
	struct answer *answer = heap_answer_create(page, sink);
	struct error *error =
		reached.held && answer ? type_table_make(&own, &table) : error_no_memory();
	if (!error)
		error = heap_follow_lay_out(page, &all, lists ? reached.held : NULL, answer);
	answer_destroy(answer);
	heap_block_filter_deinit(&reached);
	return error;
}
