/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `isolated`: blocks that neither hold pointers nor are pointed at, their contents and neighbours.
 */
#include "heap/isolated.h"

#include <ctype.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "views/heap/heap_extent.h"
#include "views/heap/heap_parts.h"
#include "views/heap_answers.h"
#include "views/report/figure_text.h"

#define TEXT_ROWS 40u
#define CONTENT_BYTES 32u

static const char *type_name(const struct heap_scan *scan, uint32_t block)
{
	return scan->types.types.data[heap_scan_type_of(scan, block)].name;
}

static size_t read_content(
	const struct heap_scan *scan, uint32_t block, uint8_t ret[static CONTENT_BYTES])
{
	uint64_t size = search_block_size(scan->search, block);
	return address_space_read(scan->heap.space, search_block_address(scan->search, block), ret,
		size < CONTENT_BYTES ? (size_t)size : CONTENT_BYTES);
}

struct isolated_rows {
	const struct heap_scan *scan;
	const uint32_t *blocks;
};

/* A neighbour, as a record: `context` is the rows, `row` the block. */
static const struct column neighbour_columns[] = {HEAP_BLOCK_COLUMNS, COLUMNS_END};

static void neighbour_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct isolated_rows *rows = context;
	heap_block_cell(rows->scan, (uint32_t)row, column, ret);
}

static const struct table_type neighbour_type = {
	.columns = neighbour_columns, .cell = neighbour_cell};

static void text_neighbour(
	const struct heap_scan *scan, const char *where, uint32_t block, struct text *out)
{
	text_printf(out, "                                %s 0x%" PRIx64 ", ", where,
		search_block_address(scan->search, block));
	text_add_shown(out, type_name(scan, block), 120);
	text_add_char(out, '\n');
}

static void heap_isolated_row_text(const void *context, size_t row, struct text *out)
{
	const struct isolated_rows *rows = context;
	const struct heap_scan *scan = rows->scan;
	uint32_t block = rows->blocks[row];
	uint8_t content[CONTENT_BYTES];
	size_t len = read_content(scan, block, content);
	text_printf(out, "0x%012" PRIx64 " %12" PRIu64 "   |",
		search_block_address(scan->search, block), search_block_size(scan->search, block));
	for (size_t i = 0; i < len; i++)
		text_add_char(
			out, isprint(content[i]) && content[i] < 128 ? (char)content[i] : '.');
	text_add(out, "|\n");
	if (block)
		text_neighbour(scan, "after  ", block - 1, out);
	if (block + 1 < search_block_count(scan->search))
		text_neighbour(scan, "before ", block + 1, out);
}

enum { ISOLATED_BYTES = 3, ISOLATED_AFTER, ISOLATED_BEFORE };
static const struct column isolated_columns[] = {HEAP_BLOCK_COLUMNS,
	{"bytes", COLUMN_TEXT, .says = "the first 32, in hexadecimal"},
	{"behind", COLUMN_RECORD, .says = "the block in use that lies before it in memory, or null",
		.nested = &neighbour_type},
	{"before", COLUMN_RECORD, .says = "the block in use that lies after it, or null",
		.nested = &neighbour_type},
	COLUMNS_END};

static void add_content(const struct heap_scan *scan, uint32_t block, struct text *out)
{
	uint8_t content[CONTENT_BYTES];
	size_t len = read_content(scan, block, content);
	for (size_t i = 0; i < len; i++)
		text_printf(out, "%02x", content[i]);
}

static void isolated_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct isolated_rows *rows = context;
	uint32_t block = rows->blocks[row];
	uint32_t beside = column == ISOLATED_AFTER ? block - 1 : block + 1;
	if (column < ISOLATED_BYTES) {
		heap_block_cell(rows->scan, block, column, ret);
	} else if (column == ISOLATED_BYTES) {
		add_content(rows->scan, block, &ret->built);
		cell_take_built(ret);
	} else if (beside >= search_block_count(rows->scan->search)) {
		ret->state = CELL_UNKNOWN;
	} else {
		ret->row = beside;
		ret->nested = (struct table){&neighbour_type, context, 1, .limit = 1};
	}
}

static const struct table_type isolated_type = {.name = "alone",
	.says = "a row a block",
	.columns = isolated_columns,
	.cell = isolated_cell,
	.row_text = heap_isolated_row_text,
	.one = "block",
	.many = "blocks"};

static void sums_text(const void *context, size_t row, struct text *out)
{
	const struct heap_matched *sums = context;
	(void)row;
	text_add_counted(out, sums->blocks, "block", "blocks");
	text_printf(out, ", %s: without pointers, and nothing points at them\n",
		FMT_BYTES(sums->bytes));
}

static const struct table_type sum_type = {.columns = heap_matched_columns, .row_text = sums_text};

const struct answer_type heap_isolated_type = {
	HEAP_ANSWER("alone", " alone", "blocks in use without pointers that nothing points at"),
	.tables = (const struct table_type *const[]){HEAP_HEAD_TYPES, &sum_type, &isolated_type,
		NULL},
	.main = &isolated_type};

/* Leaves those that are wanted. */
static void keep_chosen(const struct heap_page *page, struct heap_isolated *isolated)
{
	size_t kept = 0;
	isolated->bytes = 0;
	for (size_t i = 0; i < isolated->blocks.len; i++) {
		uint32_t block = isolated->blocks.data[i];
		if (!heap_block_filter_takes_used(page->chosen, page->scan, block))
			continue;
		isolated->blocks.data[kept++] = block;
		isolated->bytes += search_block_size(page->scan->search, block);
	}
	isolated->blocks.len = kept;
}

struct error *heap_isolated_answer(const struct heap_page *page, struct answer *answer)
{
	_cleanup_(heap_isolated_deinit) struct heap_isolated isolated;
	struct error *error = heap_isolated_find(page->scan, &isolated);
	if (error)
		return error;
	keep_chosen(page, &isolated);
	const struct isolated_rows rows = {page->scan, isolated.blocks.data};
	const struct heap_matched sums = {isolated.blocks.len, isolated.bytes};
	const struct table blocks = {&isolated_type, &rows, isolated.blocks.len,
		.limit = heap_page_limit(page, answer, TEXT_ROWS)};
	struct text *prose = answer_prose(answer);
	answer_begin(answer, &heap_isolated_type);
	heap_head_answer(answer, page->scan);
	answer_record_of(answer, &sum_type, &sums);
	if (prose && blocks.count && blocks.limit)
		text_add(prose, "\nADDRESS                SIZE   CONTENT, AND BLOCKS BESIDE IT\n");
	answer_table(answer, &blocks);
	return answer_end(answer);
}
