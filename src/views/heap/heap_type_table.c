/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/heap/heap_type_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/inferred.h"
#include "views/report/figure_text.h"

static int by_bytes(const void *a, const void *b)
{
	const struct heap_type *x = *(const struct heap_type *const *)a;
	const struct heap_type *y = *(const struct heap_type *const *)b;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->blocks != y->blocks)
		return x->blocks > y->blocks ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void heap_type_table_show_name(
	const void *context, size_t row, const struct cell *cell, struct text *out)
{
	const struct heap_type *type = ((const struct heap_type *const *)context)[row];
	text_add_shown(out, cell->text, 200);
	if (!type->alike)
		return;
	text_printf(out, " (%s look-alikes)", FMT_COUNT(type->alike));
}

enum { BYTES, BLOCKS, KIND, NAME, ALIKE };
static const struct column columns[] = {
	[BYTES] = {"bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "in its blocks", .title = "BYTES",
		.width = 10},
	[BLOCKS] = {"blocks", COLUMN_INTEGER, UNIT_COUNT, .says = "how many", .title = "BLOCKS",
		.gap = 2, .width = 10},
	[KIND] = {"kind", COLUMN_TEXT, .says = "how it is known (docs/heap.md)", .title = "KIND",
		.gap = 2, .width = -11},
	[NAME] = {"name", COLUMN_TEXT, .says = "of the type, or what its blocks have in common",
		.key = "type", .title = "TYPE", .gap = 2, .show = heap_type_table_show_name},
	[ALIKE] = {"look_alike", COLUMN_INTEGER, UNIT_COUNT, .fixed = true, .optional = true,
		.says = "of inferred types: blocks that only look like it"},
	COLUMNS_END};

static void heap_type_table_cell_of(
	const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct heap_type *type = ((const struct heap_type *const *)context)[row];
	const uint64_t numbers[] = {
		[BYTES] = type->bytes, [BLOCKS] = type->blocks, [ALIKE] = type->alike, [NAME] = 0};
	ret->number = numbers[column];
	ret->text = column == KIND ? heap_type_kind_name(type->kind) : type->name;
	ret->is_makeshift = column == NAME && type->kind == HEAP_TYPE_GROUP;
	if (column == ALIKE && type->kind != HEAP_TYPE_INFERRED)
		ret->state = CELL_ABSENT;
}

const struct table_type heap_types_table = {.name = "types",
	.says = "what there is, by type",
	.columns = columns,
	.cell = heap_type_table_cell_of,
	.one = "type",
	.many = "types"};

void type_table_deinit(struct type_table *table)
{
	free(table->own);
	free(table->types);
}

static struct error *count_chosen(const struct heap_page *page, struct type_table *table)
{
	const struct heap_scan *s = page->scan;
	uint32_t count = search_block_count(s->search);
	table->own = calloc(s->types.types.len + 1, sizeof(*table->own));
	if (!table->own)
		return error_no_memory();
	for (size_t i = 0; i < s->types.types.len; i++) {
		table->own[i] = s->types.types.data[i];
		table->own[i].blocks = table->own[i].bytes = table->own[i].alike = 0;
	}
	for (uint32_t block = 0; block < count; block++) {
		if (!heap_block_filter_takes_used(page->chosen, s, block))
			continue;
		struct heap_type *type = &table->own[heap_scan_type_of(s, block)];
		const char *basis = inferred_basis_name(s, block);
		type->blocks++;
		type->bytes += search_block_size(s->search, block);
		type->alike += basis && !strcmp(basis, "look-alike");
	}
	return NULL;
}

/* Leaves the wanted rows, in the wanted order. */
static struct error *choose_rows(const struct heap_page *page, struct type_table *table)
{
	struct table_select select;
	_cleanup_free_ size_t *order = NULL;
	struct table rows = {&heap_types_table, table->types, table->count, .limit = 0};
	struct error *error = table_select_open(&heap_types_table, page->rows, &select);
	if (error)
		return error;
	error = table_select_order(&select, &rows, &order);
	table_select_close(&select);
	const struct heap_type **chosen = error ? NULL : calloc(rows.count + 1, sizeof(*chosen));
	if (!chosen)
		return error ? error : error_no_memory();
	for (size_t i = 0; i < rows.count; i++) {
		chosen[i] = table->types[order[i]];
		table->blocks += chosen[i]->blocks;
		table->bytes += chosen[i]->bytes;
	}
	free(table->types);
	table->types = chosen;
	table->count = rows.count;
	return NULL;
}

struct error *type_table_make(const struct heap_page *page, struct type_table *ret)
{
	const struct heap_type_vec *types = &page->scan->types.types;
	*ret = (struct type_table){.types = calloc(types->len + 1, sizeof(*ret->types))};
	struct error *error = ret->types ? NULL : error_no_memory();
	if (!error && page->chosen->is_asked)
		error = count_chosen(page, ret);
	const struct heap_type *all = ret->own ? ret->own : types->data;
	for (size_t i = 0; i < types->len && !error; i++) {
		if (all[i].blocks)
			ret->types[ret->count++] = &all[i];
	}
	if (error)
		return error;
	qsort(ret->types, ret->count, sizeof(*ret->types), by_bytes);
	return choose_rows(page, ret);
}
