/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `dominators`: how much memory hangs on which globals, stacks and blocks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/retained.h"
#include "heap/thread_locals.h"
#include "views/heap/heap_parts.h"
#include "views/heap_answers.h"
#include "views/report/figure_text.h"
#include "views/report/member_columns.h"

#define ROWS 40u

/* " cache in app" */
static void text_variable(const struct retained_holder *holder, struct text *out)
{
	text_add_char(out, ' ');
	if (holder->place.name)
		text_add_shown(out, holder->place.name, 200);
	else
		text_printf(out, "0x%" PRIx64, holder->start);
	if (holder->place.module) {
		text_add(out, " in ");
		text_add_shown(out, holder->place.module->path, 200);
	}
}

static void text_holder(const struct retained_holder *holder, struct text *out)
{
	bool is_thread_local = holder->kind == HEAP_ROOT_TLS && holder->place.name;
	text_add(out, is_thread_local ? "thread-local" : heap_root_names[holder->kind]);
	if (holder->kind == HEAP_ROOT_DATA || is_thread_local)
		text_variable(holder, out);
	if (holder->tid)
		text_printf(out, " of thread %d", (int)holder->tid);
	if (holder->kind == HEAP_ROOT_MAPPING) {
		text_printf(out, " 0x%" PRIx64 " ", holder->start);
		text_add_shown(out, holder->map ? holder->map->path : "", 200);
	}
}

static const char *heap_dominators_type_of(const struct heap_scan *s, uint32_t block)
{
	return s->types.types.data[heap_scan_type_of(s, block)].name;
}

/* Of the blocks whose types come again below a row that one, from the first. */
static uint32_t folded_block(
	const struct retained *retained, const struct retained_row *row, uint32_t number)
{
	uint32_t block = row->cycle;
	for (uint32_t i = number + 1; i < row->period; i++)
		block = retained->dominators.above[block];
	return block;
}

/* "… 1,998 more: A → B" */
static void text_folded(const struct heap_scan *s, const struct retained *retained,
	const struct retained_row *row, unsigned depth, struct text *out)
{
	text_printf(out, "%12s%*s… %s more", "", (int)(2 * depth), "", FMT_COUNT(row->folded));
	for (uint32_t i = 0; i < row->period; i++) {
		text_add(out, i ? " → " : ": ");
		text_add_shown(out, heap_dominators_type_of(s, folded_block(retained, row, i)), 60);
	}
	text_add_char(out, '\n');
}

#define NO_ROW UINT32_MAX

/* What of globals and the like a row hangs on in the end; NULL: several such hold it together, or
 * none does, or the row is one. */
static const struct retained_holder *holder_of(
	const struct retained *retained, const struct retained_row *row)
{
	if (row->above == NO_ROW)
		return NULL;
	while (row->above != NO_ROW)
		row = &retained->rows.data[row->above];
	uint32_t blocks = retained->dominators.block_count;
	return row->node < blocks ? NULL : &retained->holders.data[row->node - blocks];
}

/* A row that stands alone says what it hangs on. */
static void text_above(
	const struct retained *retained, const struct retained_row *row, struct text *out)
{
	const struct retained_holder *holder = holder_of(retained, row);
	if (!holder)
		return;
	text_add(out, "  (below ");
	text_holder(holder, out);
	text_add(out, ")");
}

#define DEPTH_SHOWN 20u

/* What is laid out: all rows as a tree, or those that were chosen. */
struct dominator_rows {
	const struct heap_scan *scan;
	const struct retained *retained;
	uint32_t *depths; /* of rows, as far as the text shows them */
	bool is_chosen;   /* each says what it hangs on in the end, which may not be among them */
};

static const struct retained_holder *holder_at(
	const struct retained *retained, const struct retained_row *row)
{
	uint32_t blocks = retained->dominators.block_count;
	return row->node < blocks ? NULL : &retained->holders.data[row->node - blocks];
}

/* "0x7f12a0b0  thread-local memory for libapp.so of thread 4711" */
static void text_block(const struct heap_scan *s, uint32_t block, struct text *out)
{
	const struct address_module *module = thread_locals_module(s, block);
	text_printf(out, "0x%" PRIx64 "  ", search_block_address(s->search, block));
	text_add_shown(out, heap_dominators_type_of(s, block), 200);
	if (!module)
		return;
	text_add(out, " for ");
	text_add_shown(out, module->path, 200);
	text_printf(out, " of thread %d", (int)thread_locals_owner(s, block));
}

static void heap_dominators_row_text(const void *context, size_t number, struct text *out)
{
	const struct dominator_rows *rows = context;
	const struct retained_row *row = &rows->retained->rows.data[number];
	const struct retained_holder *holder = holder_at(rows->retained, row);
	unsigned depth = rows->is_chosen ? 0 : rows->depths[number];
	_cleanup_(text_deinit) struct text cell;
	text_init(&cell);
	text_add_bytes(&cell, row->bytes);
	text_printf(out, "%10s  ", cell.data ? cell.data : "");
	text_printf(out, "%*s", (int)(2 * depth), "");
	if (holder)
		text_holder(holder, out);
	else
		text_block(rows->scan, row->node, out);
	if (rows->is_chosen)
		text_above(rows->retained, row, out);
	text_add_char(out, '\n');
	if (row->folded)
		text_folded(rows->scan, rows->retained, row, depth + 1, out);
}

#define KIND_SAYS "`block`, or as of the roots of `why`"
#define SYMBOL_SAYS "of globals and thread-local variables; null: not known"

enum { HOLDER_KIND, HOLDER_ADDRESS, HOLDER_SYMBOL, HOLDER_THREAD };
static const struct column holder_columns[] = {
	[HOLDER_KIND] = {"kind", COLUMN_TEXT, .says = "as of the roots of `why`"},
	[HOLDER_ADDRESS] = {"address", COLUMN_ADDRESS, .says = "of the variable or the mapping"},
	[HOLDER_SYMBOL] = {"symbol", COLUMN_TEXT, .says = SYMBOL_SAYS},
	[HOLDER_THREAD] = {"thread", COLUMN_INTEGER, .optional = true, .says = "whose it is"},
	COLUMNS_END};

static void fill_holder(const struct retained_holder *holder, unsigned column, struct cell *ret)
{
	switch (column) {
	case HOLDER_KIND:
		ret->text = heap_root_names[holder->kind];
		break;
	case HOLDER_ADDRESS:
		ret->number = holder->start;
		ret->state = holder->start ? CELL_KNOWN : CELL_UNKNOWN;
		break;
	case HOLDER_SYMBOL:
		ret->text = holder->place.name;
		break;
	default:
		ret->number = (uint64_t)holder->tid;
		ret->state = holder->tid ? CELL_KNOWN : CELL_ABSENT;
	}
}

static void holder_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)row;
	fill_holder(context, column, ret);
}

static const struct table_type holder_type = {.columns = holder_columns, .cell = holder_cell};

static const struct column folded_columns[] = {{"", COLUMN_TEXT, .says = "a type"}, COLUMNS_END};

static void folded_cell(const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct dominator_rows *rows = context;
	/* The row and the place in its period are one number. */
	const struct retained_row *row = &rows->retained->rows.data[number >> 32];
	(void)column;
	ret->text = heap_dominators_type_of(
		rows->scan, folded_block(rows->retained, row, (uint32_t)number));
}

static const struct table_type folded_type = {.columns = folded_columns, .cell = folded_cell};

enum { RETAINED, KIND, ADDRESS, SYMBOL, THREAD, TYPE, MODULE, BELOW, HOLDER, FOLDED, FOLDED_TYPES };
static const struct column columns[] = {
	[RETAINED] = {"retained_bytes", COLUMN_INTEGER, UNIT_BYTES, .key = "retained",
		.says = "that nothing else references"},
	[KIND] = {"kind", COLUMN_TEXT, .says = KIND_SAYS},
	[ADDRESS] = {"address", COLUMN_ADDRESS, .says = "of the block, the variable, the mapping"},
	[SYMBOL] = {"symbol", COLUMN_TEXT, .optional = true, .says = SYMBOL_SAYS},
	[THREAD] = {"thread", COLUMN_INTEGER, .fixed = true, .optional = true,
		.says = "of stacks, registers and thread-local storage; of blocks that are a "
			"library's "
			"thread-local memory"},
	[TYPE] = {"type", COLUMN_TEXT, .optional = true, .says = "of blocks"},
	[MODULE] = {"module", COLUMN_TEXT, .fixed = true, .optional = true,
		.says = "the library whose thread-local memory a block is"},
	[BELOW] = {"below", COLUMN_INTEGER, .fixed = true, .optional = true,
		.says = "the number of the row that it hangs on, or null; left out where rows were "
			"chosen or sorted"},
	[HOLDER] = {"holder", COLUMN_RECORD, .fixed = true, .optional = true,
		.says = "of rows that were chosen or sorted: what they hang on in the end, or null",
		.nested = &holder_type},
	[FOLDED] = {"folded_blocks", COLUMN_INTEGER, UNIT_COUNT, .fixed = true, .optional = true,
		.says = "of the last row of a chain that is folded: so many blocks below it are no "
			"rows"},
	[FOLDED_TYPES] = {"folded_types", COLUMN_LIST, .fixed = true, .optional = true,
		.says = "their types from the first on, over and over", .nested = &folded_type},
	COLUMNS_END};

/* Of what only some rows have. */
static void optional_cell(
	const struct dominator_rows *rows, size_t number, unsigned column, struct cell *ret)
{
	const struct retained_row *row = &rows->retained->rows.data[number];
	const struct retained_holder *above = holder_of(rows->retained, row);
	bool is_there = column == BELOW    ? !rows->is_chosen
			: column == HOLDER ? rows->is_chosen
					   : row->folded != 0;
	if (!is_there) {
		ret->state = CELL_ABSENT;
	} else if (column == BELOW) {
		ret->number = row->above;
		ret->state = row->above == NO_ROW ? CELL_UNKNOWN : CELL_KNOWN;
	} else if (column == HOLDER) {
		ret->nested = (struct table){&holder_type, above, above != NULL, .limit = 1};
		ret->state = above ? CELL_KNOWN : CELL_UNKNOWN;
	} else if (column == FOLDED) {
		ret->number = row->folded;
	} else {
		ret->nested = (struct table){&folded_type, rows, row->period, .first = number << 32,
			.limit = TABLE_NO_LIMIT};
	}
}

/* Whose thread-local memory a block is, if it is such. */
static void owner_cell(
	const struct heap_scan *scan, uint32_t block, unsigned column, struct cell *ret)
{
	const struct address_module *module = thread_locals_module(scan, block);
	ret->state = module ? CELL_KNOWN : CELL_ABSENT;
	if (module && column == MODULE)
		ret->text = module->path;
	else if (module)
		ret->number = (uint64_t)thread_locals_owner(scan, block);
}

static void heap_dominators_block_cell(
	const struct heap_scan *scan, uint32_t block, unsigned column, struct cell *ret)
{
	if (column == KIND)
		ret->text = "block";
	else if (column == ADDRESS)
		ret->number = search_block_address(scan->search, block);
	else if (column == TYPE)
		ret->text = heap_dominators_type_of(scan, block);
	else if (column == MODULE || column == THREAD)
		owner_cell(scan, block, column, ret);
	else
		ret->state = CELL_ABSENT;
}

static void heap_dominators_cell_of(
	const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct dominator_rows *rows = context;
	const struct retained_row *row = &rows->retained->rows.data[number];
	const struct retained_holder *holder = holder_at(rows->retained, row);
	if (column == RETAINED)
		ret->number = row->bytes;
	else if (column >= BELOW)
		optional_cell(rows, number, column, ret);
	else if (!holder)
		heap_dominators_block_cell(rows->scan, row->node, column, ret);
	else if (column == TYPE || column == MODULE)
		ret->state = CELL_ABSENT;
	else
		fill_holder(holder, HOLDER_KIND + column - KIND, ret);
}

static const struct table_type dominator_type = {.name = "dominators",
	.says = "what retains at least `least_bytes`, the largest first",
	.columns = columns,
	.cell = heap_dominators_cell_of,
	.row_text = heap_dominators_row_text};

struct dominator_sums {
	uint64_t shared, least;
	bool upper_bounds;
};

static const struct column sum_columns[] = {
	BYTES_AS("shared_bytes", dominator_sums, shared,
		"of blocks that only several rows together retain"),
	BYTES_AS("least_bytes", dominator_sums, least, "what retains less is no row"),
	FLAG_OF(dominator_sums, upper_bounds, "false: figures are exact"), COLUMNS_END};

static const struct table_type sum_type = {.columns = sum_columns};

const struct answer_type heap_dominators_type = {
	HEAP_ANSWER(
		"dominators", " dominators", "how much memory globals, stacks and blocks retain"),
	.tables = (const struct table_type *const[]){HEAP_HEAD_TYPES, &sum_type,
		&heap_matched_rows_type, &dominator_type, NULL},
	.main = &dominator_type};

/* Puts rows into an order in which those that hang on a row come below it; what is larger comes
 * first, as in `rows`. The depths of rows, too. */
static bool sort_as_tree(struct dominator_rows *rows, size_t **ret_order)
{
	const struct retained_rows *all = &rows->retained->rows;
	uint32_t count = (uint32_t)all->len, top = NO_ROW, depth = 0;
	_cleanup_free_ uint32_t *first = malloc((count + 1ul) * sizeof(*first));
	_cleanup_free_ uint32_t *next = malloc((count + 1ul) * sizeof(*next));
	size_t *order = *ret_order = malloc((count + 1ul) * sizeof(*order)), len = 0;
	rows->depths = calloc(count + 1ul, sizeof(*rows->depths));
	if (!first || !next || !order || !rows->depths)
		return false;
	memset(first, 0xff, (count + 1ul) * sizeof(*first));
	for (uint32_t i = count; i-- > 0;) {
		uint32_t above = all->data[i].above;
		uint32_t *list = above == NO_ROW ? &top : &first[above];
		next[i] = *list;
		*list = i;
	}
	for (uint32_t at = top; at != NO_ROW; at = next[at]) {
		rows->depths[at] = depth < DEPTH_SHOWN ? depth : DEPTH_SHOWN;
		order[len++] = at;
		while (first[at] != NO_ROW) {
			at = first[at];
			depth++;
			order[len++] = at;
			rows->depths[at] = depth < DEPTH_SHOWN ? depth : DEPTH_SHOWN;
		}
		for (; next[at] == NO_ROW && depth; depth--)
			at = all->data[at].above;
	}
	return true;
}

/* What the rows leave out, in sentences. */
static void heap_dominators_add_rest(
	const struct dominator_rows *rows, bool may_be_more, struct text *out)
{
	const struct retained *retained = rows->retained;
	if (may_be_more) {
		text_add(out, "There may be more (--limit).\n");
	} else if (retained->least >= 2) {
		text_printf(out, "What retains less than %s is not listed.\n",
			FMT_BYTES(retained->least));
	}
	if (!retained->shared_bytes || rows->is_chosen)
		return;
	text_printf(out, "Retained only by several of these together: %s.\n",
		FMT_BYTES(retained->shared_bytes));
}

static struct error *heap_dominators_lay_out(const struct heap_page *page,
	const struct dominator_rows *rows, struct table *table, bool may_be_more,
	struct answer *answer)
{
	const struct retained *retained = rows->retained;
	const struct dominator_sums sums = {retained->shared_bytes, retained->least, false};
	struct text *prose = answer_prose(answer);
	answer_begin(answer, &heap_dominators_type);
	heap_head_answer(answer, page->scan);
	answer_record_of(answer, &sum_type, &sums);
	if (prose && table->limit)
		text_add(prose, "  RETAINED  BY\n");
	answer_table(answer, table);
	if (answer->asked_limit)
		answer->left_out += retained->left_out;
	if (rows->is_chosen)
		heap_matched_rows_answer(answer, table->count);
	if (prose)
		heap_dominators_add_rest(rows, may_be_more, prose);
	return answer_end(answer);
}

static struct error *write_rows(const struct heap_page *page, struct dominator_rows *rows,
	const struct table_select *select, size_t limit, struct answer *answer)
{
	_cleanup_free_ size_t *order = NULL;
	struct table table = {&dominator_type, rows, rows->retained->rows.len,
		.limit = rows->is_chosen ? heap_page_limit(page, answer, ROWS) : TABLE_NO_LIMIT};
	bool may_be_more = !rows->is_chosen && table.count == limit;
	if (rows->is_chosen) {
		struct error *error = table_select_order(select, &table, &order);
		if (error)
			return error;
	} else if (answer_is_brief(answer)) {
		if (!sort_as_tree(rows, &order))
			return error_no_memory();
		table.order = order;
	}
	return heap_dominators_lay_out(page, rows, &table, may_be_more, answer);
}

struct error *heap_dominators_answer(const struct heap_page *page, struct answer *answer)
{
	_cleanup_(heap_retained_deinit) struct retained retained = {.shared_bytes = 0};
	struct table_select select;
	struct dominator_rows rows = {.scan = page->scan,
		.retained = &retained,
		.is_chosen = heap_page_is_choosy(page) || page->rows->sort};
	size_t limit = page->limit == VIEW_DEFAULT_LIMIT ? ROWS : page->limit;
	struct error *error = table_select_open(&dominator_type, page->rows, &select);
	if (error)
		return error;
	error = heap_retained(page->scan, rows.is_chosen ? VIEW_NO_LIMIT : limit, &retained);
	if (!error)
		error = write_rows(page, &rows, &select, limit, answer);
	table_select_close(&select);
	free(rows.depths);
	return error;
}
