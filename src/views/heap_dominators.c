/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "heap/retained.h"
#include "views/heap_notes.h"
#include "views/heap_view.h"
#include "views/json_parts.h"

#define ROWS 40u

static const char *const kinds[HEAP_ROOT_KINDS] = {[HEAP_ROOT_DATA] = "global",
	[HEAP_ROOT_STACK] = "stack",
	[HEAP_ROOT_TLS] = "thread-local storage",
	[HEAP_ROOT_REGISTERS] = "registers",
	[HEAP_ROOT_MAPPING] = "mapping",
	[HEAP_ROOT_COLLECTOR] = "collector"};

enum { COLUMN_RETAINED, COLUMN_KIND, COLUMN_ADDRESS, COLUMN_TYPE, COLUMN_SYMBOL };
static const struct rows_column columns[] = {{"retained", ROWS_AMOUNT}, {"kind", ROWS_TEXT},
	{"address", ROWS_PLACE}, {"type", ROWS_TEXT}, {"symbol", ROWS_TEXT}, {NULL, ROWS_TEXT}};

struct cells {
	const struct survey *survey;
	const struct retained *retained;
};

static void cell_of(const void *context, size_t number, unsigned column, struct rows_cell *ret)
{
	const struct cells *cells = context;
	const struct survey *s = cells->survey;
	const struct retained_row *row = &cells->retained->rows.data[number];
	uint32_t blocks = cells->retained->dominators.block_count;
	bool is_block = row->node < blocks;
	const struct retained_holder *holder =
		is_block ? NULL : &cells->retained->holders.data[row->node - blocks];
	switch (column) {
	case COLUMN_RETAINED:
		ret->number = row->bytes;
		break;
	case COLUMN_KIND:
		ret->text = is_block ? "block" : kinds[holder->kind];
		break;
	case COLUMN_ADDRESS:
		ret->number = is_block ? search_block_address(s->search, row->node) : holder->start;
		ret->is_unknown = !ret->number;
		break;
	case COLUMN_TYPE:
		ret->text =
			is_block ? s->types.types.data[survey_type_of(s, row->node)].name : NULL;
		break;
	default:
		ret->text = is_block ? NULL : holder->place.name;
	}
}

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
	text_add(out, is_thread_local ? "thread-local" : kinds[holder->kind]);
	if (holder->kind == HEAP_ROOT_DATA || is_thread_local)
		text_variable(holder, out);
	if (holder->tid)
		text_printf(out, " of thread %d", (int)holder->tid);
	if (holder->kind == HEAP_ROOT_MAPPING) {
		text_printf(out, " 0x%" PRIx64 " ", holder->start);
		text_add_shown(out, holder->map ? holder->map->path : "", 200);
	}
}

static const char *type_of(const struct survey *s, uint32_t block)
{
	return s->types.types.data[survey_type_of(s, block)].name;
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
static void text_folded(const struct survey *s, const struct retained *retained,
	const struct retained_row *row, unsigned depth, struct text *out)
{
	text_printf(out, "%12s%*s… ", "", (int)(2 * depth), "");
	text_add_count(out, row->folded);
	text_add(out, " more");
	for (uint32_t i = 0; i < row->period; i++) {
		text_add(out, i ? " → " : ": ");
		text_add_shown(out, type_of(s, folded_block(retained, row, i)), 60);
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

static void text_row(const struct heap_page *page, const struct retained *retained, size_t number,
	unsigned depth, bool is_alone, struct text *out)
{
	const struct retained_row *row = &retained->rows.data[number];
	const struct survey *s = page->survey;
	_cleanup_(text_deinit) struct text cell;
	text_init(&cell);
	text_add_bytes(&cell, row->bytes);
	text_printf(out, "%10s  ", cell.data ? cell.data : "");
	text_printf(out, "%*s", (int)(2 * depth), "");
	if (row->node >= retained->dominators.block_count) {
		text_holder(
			&retained->holders.data[row->node - retained->dominators.block_count], out);
	} else {
		text_printf(out, "0x%" PRIx64 "  ", search_block_address(s->search, row->node));
		text_add_shown(out, type_of(s, row->node), 200);
	}
	if (is_alone)
		text_above(retained, row, out);
	text_add_char(out, '\n');
	if (row->folded)
		text_folded(s, retained, row, depth + 1, out);
}

#define DEPTH_SHOWN 20u

/* All rows, each with those that hang on it below it; what is larger comes first, as in `rows`. */
static bool text_tree(
	const struct heap_page *page, const struct retained *retained, struct text *out)
{
	uint32_t count = (uint32_t)retained->rows.len, top = NO_ROW, at, depth = 0;
	_cleanup_free_ uint32_t *first = malloc((count + 1ul) * sizeof(*first));
	_cleanup_free_ uint32_t *next = malloc((count + 1ul) * sizeof(*next));
	if (!first || !next)
		return false;
	memset(first, 0xff, (count + 1ul) * sizeof(*first));
	for (uint32_t i = count; i-- > 0;) {
		uint32_t above = retained->rows.data[i].above;
		uint32_t *list = above == NO_ROW ? &top : &first[above];
		next[i] = *list;
		*list = i;
	}
	for (at = top; at != NO_ROW; at = next[at]) {
		text_row(page, retained, at, depth < DEPTH_SHOWN ? depth : DEPTH_SHOWN, false, out);
		while (first[at] != NO_ROW) {
			at = first[at];
			depth++;
			text_row(page, retained, at, depth < DEPTH_SHOWN ? depth : DEPTH_SHOWN,
				false, out);
		}
		for (; next[at] == NO_ROW && depth; depth--)
			at = retained->rows.data[at].above;
	}
	return true;
}

static void text_least(const struct retained *retained, struct text *out)
{
	if (retained->least < 2)
		return;
	text_add(out, "What holds less than ");
	text_add_bytes(out, retained->least);
	text_add(out, " is no row.\n");
}

/* Rows that were chosen: each says what it hangs on in the end, which may not be among them. */
static struct error *write_chosen(const struct heap_page *page, const struct retained *retained,
	const size_t *order, size_t count, const struct sink *sink)
{
	size_t limit = page->rows->count_only              ? 0
		       : page->limit == VIEW_DEFAULT_LIMIT ? ROWS
							   : page->limit;
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	if (limit)
		text_add(&out, "  RETAINED  BY\n");
	for (size_t i = 0; i < count && i < limit; i++)
		text_row(page, retained, order[i], 0, true, &out);
	heap_matched_rows_text(&out, count);
	text_least(retained, &out);
	if (out.failed)
		return error_no_memory();
	sink->write(sink->ctx, out.data, out.len);
	return NULL;
}

static struct error *write_text(const struct heap_page *page, const struct retained *retained,
	size_t limit, const struct sink *sink)
{
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	text_add(&out, "  RETAINED  BY\n");
	if (!text_tree(page, retained, &out))
		return error_no_memory();
	if (retained->rows.len == limit)
		text_add(&out, "There may be more (--limit).\n");
	else
		text_least(retained, &out);
	if (retained->shared_bytes) {
		text_add(&out, "Held only by several of these together: ");
		text_add_bytes(&out, retained->shared_bytes);
		text_add(&out, ".\n");
	}
	if (out.failed)
		return error_no_memory();
	sink->write(sink->ctx, out.data, out.len);
	return NULL;
}

static void put_folded(struct json *json, const struct survey *s, const struct retained *retained,
	const struct retained_row *row)
{
	json_put_u64(json, "folded_blocks", row->folded);
	json_key(json, "folded_types");
	json_array_begin(json);
	for (uint32_t i = 0; i < row->period; i++)
		json_string(json, type_of(s, folded_block(retained, row, i)));
	json_array_end(json);
}

static void put_holder(
	struct json *json, const struct retained *retained, const struct retained_row *row)
{
	const struct retained_holder *holder = holder_of(retained, row);
	json_key(json, "holder");
	if (!holder) {
		json_null(json);
		return;
	}
	json_object_begin(json);
	json_put_string(json, "kind", kinds[holder->kind]);
	json_put_hexadecimal(json, "address", holder->start, holder->start != 0);
	json_put_string(json, "symbol", holder->place.name);
	if (holder->tid)
		json_put_u64(json, "thread", (uint64_t)holder->tid);
	json_object_end(json);
}

static void put_row(struct json *json, const struct heap_page *page,
	const struct retained *retained, const struct retained_row *row, bool has_below)
{
	const struct survey *s = page->survey;
	uint32_t blocks = retained->dominators.block_count;
	json_object_begin(json);
	json_put_u64(json, "retained_bytes", row->bytes);
	if (row->node < blocks) {
		json_put_string(json, "kind", "block");
		json_put_hexadecimal(
			json, "address", search_block_address(s->search, row->node), true);
		json_put_string(json, "type", type_of(s, row->node));
	} else {
		const struct retained_holder *holder = &retained->holders.data[row->node - blocks];
		json_put_string(json, "kind", kinds[holder->kind]);
		json_put_hexadecimal(json, "address", holder->start, holder->start != 0);
		json_put_string(json, "symbol", holder->place.name);
		if (holder->tid)
			json_put_u64(json, "thread", (uint64_t)holder->tid);
	}
	if (has_below)
		json_key(json, "below");
	if (has_below && row->above == UINT32_MAX)
		json_null(json);
	else if (has_below)
		json_u64(json, row->above);
	if (!has_below)
		put_holder(json, retained, row);
	if (row->folded)
		put_folded(json, s, retained, row);
	json_object_end(json);
}

/* order NULL: all rows. */
static void write_json(const struct heap_page *page, const struct retained *retained,
	const size_t *order, size_t count, const struct sink *sink)
{
	struct json json;
	size_t limit = page->rows->count_only                        ? 0
		       : !order || page->limit == VIEW_DEFAULT_LIMIT ? VIEW_NO_LIMIT
								     : page->limit;
	json_init(&json, sink->write, sink->ctx);
	json_object_begin(&json);
	heap_document_put(&json, page->survey);
	json_put_u64(&json, "shared_bytes", retained->shared_bytes);
	json_put_u64(&json, "least_bytes", retained->least);
	json_put_bool(&json, "upper_bounds", false);
	if (order)
		heap_matched_rows_put(&json, count);
	json_key(&json, "dominators");
	json_array_begin(&json);
	for (size_t i = 0; i < count && i < limit; i++)
		put_row(&json, page, retained, &retained->rows.data[order ? order[i] : i], !order);
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
}

struct error *heap_dominators_write(const struct heap_page *page, const struct sink *sink)
{
	_cleanup_(heap_retained_deinit) struct retained retained = {.shared_bytes = 0};
	_cleanup_free_ size_t *order = NULL;
	struct heap_rows rows;
	bool chosen = heap_page_is_choosy(page) || page->rows->sort;
	size_t limit = page->limit == VIEW_DEFAULT_LIMIT ? ROWS : page->limit;
	struct error *error = heap_rows_open(columns, cell_of, page->rows, &rows);
	if (error)
		return error;
	error = heap_retained(page->survey, chosen ? VIEW_NO_LIMIT : limit, &retained);
	const struct cells cells = {page->survey, &retained};
	size_t count = retained.rows.len;
	if (!error && chosen)
		error = heap_rows_choose(&rows, &cells, retained.rows.len, &order, &count);
	heap_rows_close(&rows);
	if (error)
		return error;
	if (page->json)
		write_json(page, &retained, order, count, sink);
	else
		error = chosen ? write_chosen(page, &retained, order, count, sink)
			       : write_text(page, &retained, limit, sink);
	return error;
}
