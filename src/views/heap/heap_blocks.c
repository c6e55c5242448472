/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `blocks`: all blocks of a heap, one after the other as they are found; output never waits for the
 * end. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "heap/inferred.h"
#include "heap/texts.h"
#include "views/heap/heap_joined_view.h"
#include "views/heap/heap_parts.h"
#include "views/heap/heuristics.h"
#include "views/heap_answers.h"
#include "views/stacks/frames.h"

/* So much of a text is shown. */
#define BEGINNING_BYTES 48u

struct listed_block {
	struct heap_block block;
	uint32_t number;      /* SPACE_NONE: it is not in use */
	const uint8_t *bytes; /* what of it is at hand, `len` of them; NULL: nothing is */
	size_t len;
};
DEFINE_VEC(listed_blocks, struct listed_block)

struct listing {
	const struct heap_page *page;
	struct answer *answer;
	const struct listed_block *blocks; /* the rows: one, or those that were sorted */
	uint8_t *sites; /* bit set of the recording's that were shown; NULL without one */
	struct table table;
	struct table_select select;
	struct cell cell;
	struct listed_blocks found; /* if they are sorted */
	uint64_t count, bytes;      /* that match */
	size_t left;
};

static const char *const states[BLOCK_STATES] = {"used", "free", "cached", "allocator"};
static const char *const kinds[SEARCH_KINDS] = {"definite", "indirect", "possible", "reachable"};

static const struct heap_type *heap_blocks_type_of(
	const struct listing *l, const struct listed_block *row)
{
	const struct heap_scan *s = l->page->scan;
	return &s->types.types.data[heap_scan_type_of(s, row->number)];
}

/* A type, the first characters of a text, and by what heuristic alone it is held. */
static void show_type(const void *context, size_t number, const struct cell *cell, struct text *out)
{
	const struct listing *l = context;
	const struct listed_block *row = &l->blocks[number];
	const struct heap_scan *s = l->page->scan;
	_cleanup_(text_deinit) struct text beginning;
	text_init(&beginning);
	text_add_shown(out, cell->text, 200);
	texts_add_beginning(s, row->number, row->bytes, row->len, BEGINNING_BYTES, &beginning);
	if (beginning.data) {
		text_add(out, " \"");
		text_add_shown(out, beginning.data, BEGINNING_BYTES);
		text_add_char(out, '"');
	}
	enum search_heuristic heuristic = search_heuristic_of(s->search, row->number);
	if (heuristic)
		text_printf(out, " (by heuristic %s)", heuristic_name(heuristic));
}

enum { ADDRESS, SIZE, STATE, LEAK, TYPE, BY, TEXT, HEURISTIC, REQUESTED, SITE };
static const struct column columns[] = {
	[ADDRESS] = {"address", COLUMN_ADDRESS, .says = "where it begins", .title = "ADDRESS",
		.width = -14},
	[SIZE] = {"size", COLUMN_INTEGER, UNIT_BYTES, .says = "what it has room for",
		.title = "SIZE", .gap = 1, .width = 12, .plain = true},
	[STATE] = {"state", COLUMN_TEXT, .says = "`used`, `free`, `cached` or `allocator`",
		.title = "STATE", .gap = 2, .width = -9},
	[LEAK] = {"leak", COLUMN_TEXT, .optional = true,
		.says = "of used ones: `definite`, `indirect`, `possible` or `reachable`",
		.title = "LEAK", .gap = 2, .width = -9},
	[TYPE] = {"type", COLUMN_TEXT, .optional = true, .says = "of used ones", .title = "TYPE",
		.gap = 2, .show = show_type},
	[BY] = {"by", COLUMN_TEXT, .fixed = true, .optional = true,
		.says = "of inferred types: `declared` (members lead there from a variable or an "
			"object) or `look-alike`"},
	[TEXT] = {"text", COLUMN_TEXT, .fixed = true, .optional = true,
		.says = "of a `text` its first 48 bytes"},
	[HEURISTIC] = {"heuristic", COLUMN_TEXT, .fixed = true, .optional = true,
		.says = "of blocks that only a heuristic finds referenced (docs/heap.md): "
			"`stdstring`, `length64`, "
			"`newarray` or `multipleinheritance`"},
	[REQUESTED] = {"requested", COLUMN_INTEGER, UNIT_BYTES, .fixed = true, .optional = true,
		.says = "what was asked for; of blocks that a recording knows"},
	[SITE] = {"site", COLUMN_INTEGER, .fixed = true, .optional = true,
		.says = "of `sites`; of blocks that a recording knows"},
	COLUMNS_END};

/* The place of a block in the recording; HEAP_NO_SITE. */
static uint32_t heap_blocks_place_of(const struct listing *l, uint32_t number)
{
	const struct heap_scan *s = l->page->scan;
	return l->sites && s->sites.len ? s->sites.data[search_block_site(s->search, number)].place
					: HEAP_NO_SITE;
}

/* Of a block that the recording knows: its stack stands at the end, once. */
static void allocation_cell(
	const struct listing *l, const struct listed_block *row, unsigned column, struct cell *ret)
{
	uint32_t place = heap_blocks_place_of(l, row->number);
	const struct live_block *known =
		place == HEAP_NO_SITE
			? NULL
			: joined_find(l->page->joined, row->block.address, row->block.size);
	if (!known) {
		ret->state = CELL_ABSENT;
		return;
	}
	l->sites[place / 8] |= (uint8_t)(1u << place % 8);
	ret->number = column == SITE ? place : known->size;
}

/* Of a block in use. */
static void used_cell(
	const struct listing *l, const struct listed_block *row, unsigned column, struct cell *ret)
{
	const struct heap_scan *s = l->page->scan;
	switch (column) {
	case LEAK:
		ret->text = kinds[search_kind(s->search, row->number)];
		break;
	case TYPE:
		ret->text = heap_blocks_type_of(l, row)->name;
		ret->is_makeshift = heap_blocks_type_of(l, row)->kind == HEAP_TYPE_GROUP;
		break;
	case BY:
		ret->text = inferred_basis_name(s, row->number);
		break;
	case TEXT:
		texts_add_beginning(
			s, row->number, row->bytes, row->len, BEGINNING_BYTES, &ret->built);
		cell_take_any(ret);
		break;
	case HEURISTIC:
		ret->text = heuristic_name(search_heuristic_of(s->search, row->number));
		break;
	default:
		allocation_cell(l, row, column, ret);
		return;
	}
	if (!ret->text)
		ret->state = CELL_ABSENT;
}

static void heap_blocks_cell_of(
	const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct listing *l = context;
	const struct listed_block *row = &l->blocks[number];
	if (column == ADDRESS)
		ret->number = row->block.address;
	else if (column == SIZE)
		ret->number = row->block.size;
	else if (column == STATE)
		ret->text = states[row->block.state];
	else if (row->number == SPACE_NONE)
		ret->state = CELL_ABSENT;
	else
		used_cell(l, row, column, ret);
}

static const struct table_type block_type = {.name = "blocks",
	.says = "a row a block, in the order of addresses of each area unless they are sorted",
	.columns = columns,
	.cell = heap_blocks_cell_of};

/* The number of a block in use; SPACE_NONE: it is not. */
static uint32_t heap_blocks_number_of(const struct heap_scan *scan, const struct heap_block *block)
{
	uint64_t offset;
	return block->state == BLOCK_USED ? search_block_at(scan->search, block->address, &offset)
					  : SPACE_NONE;
}

static void heap_blocks_put(struct listing *l, size_t row)
{
	if (!l->left)
		return;
	l->left--;
	answer_row(l->answer, &l->table, row);
}

static struct error *heap_blocks_take(
	void *context, const struct heap_block *block, const uint8_t *bytes, size_t len)
{
	struct listing *l = context;
	const struct heap_scan *s = l->page->scan;
	bool counts = heap_page_is_choosy(l->page) || l->select.is_sorted;
	if (l->answer->stopped || (!counts && !l->left))
		return NULL;
	struct listed_block found = {*block, heap_blocks_number_of(s, block), bytes, len};
	l->blocks = &found;
	if (!heap_block_filter_takes(l->page->chosen, s, block, found.number) ||
		!table_select_takes(&l->select, &l->table, 0, &l->cell))
		return NULL;
	l->count++;
	l->bytes += block->size;
	if (l->select.is_sorted && !l->page->rows->count_only) {
		found.bytes = NULL;
		found.len = 0;
		return listed_blocks_push(&l->found, found) ? NULL : error_no_memory();
	}
	heap_blocks_put(l, 0);
	return NULL;
}

static struct error *put_sorted(struct listing *l)
{
	_cleanup_free_ size_t *order = NULL;
	l->blocks = l->found.data;
	l->table.count = l->found.len;
	struct error *error = table_select_order(&l->select, &l->table, &order);
	for (size_t i = 0; !error && i < l->table.count && l->left && !l->answer->stopped; i++)
		heap_blocks_put(l, order[i]);
	l->table.order = NULL;
	return error;
}

static struct error *heap_blocks_walk(struct listing *l)
{
	struct heap_sink sink = {l, heap_blocks_take};
	struct error *error = heap_walk(&l->page->scan->heap, &sink);
	return error || !l->select.is_sorted ? error : put_sorted(l);
}

/* A site of the recording and its frames. */
struct site_row {
	const struct heap_page *page;
	uint32_t site;
	const char *function;
	struct frame_rows frames;
};

static const struct column site_columns[] = {{"site", COLUMN_INTEGER, .says = "its number"},
	{"function", COLUMN_TEXT, .says = "that was called: `malloc`…"},
	{"stack", COLUMN_TABLE, .says = "innermost frame first", .nested = &frame_type},
	COLUMNS_END};

static void site_cell(const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct site_row *row = context;
	(void)number;
	ret->number = row->site;
	ret->text = row->function;
	if (column == 2)
		ret->nested = frame_rows_table(&row->frames);
}

static const struct table_type site_type = {.name = "sites",
	.says = "with a recording: allocation sites of the blocks that it knows",
	.columns = site_columns,
	.cell = site_cell};

static struct error *put_site(struct listing *l, struct resolver *resolver, uint32_t number,
	const struct table *table, struct site_row *row)
{
	struct frame_vec frames = {.data = NULL};
	struct error *error = heap_site_frames(l->page, resolver, number, &row->function, &frames);
	if (!error && !frame_rows_fill(&row->frames, frames.data, frames.len, false))
		error = error_no_memory();
	row->site = number;
	if (!error)
		answer_row(l->answer, table, 0);
	frame_vec_deinit(&frames);
	return error;
}

static struct error *heap_blocks_put_sites(struct listing *l)
{
	size_t count;
	struct site_row row = {.page = l->page};
	const struct table table = {&site_type, &row, 1, .limit = TABLE_NO_LIMIT};
	_cleanup_(resolver_cleanup) struct resolver *resolver = NULL;
	struct error *error = resolver_create(l->page->joined->recording, false, &resolver);
	model_sites(l->page->joined->recording, &count);
	answer_table_begin(l->answer, &table);
	for (uint32_t i = 0; i < count && !error; i++) {
		if (l->sites[i / 8] >> i % 8 & 1)
			error = put_site(l, resolver, i, &table, &row);
	}
	answer_table_end(l->answer, &table);
	frame_rows_deinit(&row.frames);
	return error;
}

const struct answer_type heap_blocks_type = {
	HEAP_ANSWER("blocks", " blocks", "every block of the heap, or those that were chosen"),
	.tables = (const struct table_type *const[]){HEAP_HEAD_TYPES, &block_type,
		&heap_matched_type, &heap_joined_type, &site_type, NULL},
	.main = &block_type};

/* With a recording, for programs: room for its sites. */
static struct error *prepare_sites(struct listing *l)
{
	size_t count;
	if (!l->page->joined || answer_is_brief(l->answer))
		return NULL;
	model_sites(l->page->joined->recording, &count);
	l->sites = calloc(count / 8 + 1, 1);
	return l->sites ? NULL : error_no_memory();
}

static struct error *write_all(struct listing *l)
{
	struct error *error = prepare_sites(l);
	if (error)
		return error;
	answer_begin(l->answer, &heap_blocks_type);
	heap_head_answer(l->answer, l->page->scan);
	answer_table_begin(l->answer, &l->table);
	error = heap_blocks_walk(l);
	answer_table_end(l->answer, &l->table);
	if (!error && heap_page_is_choosy(l->page))
		heap_matched_answer(l->answer, l->count, l->bytes);
	if (!error && l->sites) {
		heap_joined_answer(l->page, l->answer);
		error = heap_blocks_put_sites(l);
	}
	return error ? error : answer_end(l->answer);
}

struct error *heap_blocks_answer(const struct heap_page *page, struct answer *answer)
{
	struct listing l = {.page = page,
		.answer = answer,
		.left = heap_page_limit(page, answer, TABLE_NO_LIMIT)};
	l.table = (struct table){&block_type, &l, 1, .limit = l.left};
	struct error *error = table_select_open(&block_type, page->rows, &l.select);
	if (error)
		return error;
	cell_init(&l.cell);
	error = write_all(&l);
	cell_deinit(&l.cell);
	free(l.sites);
	listed_blocks_deinit(&l.found);
	table_select_close(&l.select);
	return error;
}
