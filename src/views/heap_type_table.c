/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/heap_type_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "heap/inferred.h"
#include "views/json_parts.h"

void heap_matched_text(struct text *out, uint64_t blocks, uint64_t bytes)
{
	text_add_counted(out, blocks, "block", "blocks");
	text_add(out, ", ");
	text_add_bytes(out, bytes);
	text_add(out, blocks == 1 ? " matches\n" : " match\n");
}

void heap_matched_put(struct json *json, uint64_t blocks, uint64_t bytes)
{
	json_key(json, "matched");
	json_object_begin(json);
	json_put_u64(json, "blocks", blocks);
	json_put_u64(json, "bytes", bytes);
	json_object_end(json);
}

void heap_matched_rows_text(struct text *out, uint64_t rows)
{
	text_add_counted(out, rows, "row matches\n", "rows match\n");
}

void heap_matched_rows_put(struct json *json, uint64_t rows)
{
	json_key(json, "matched");
	json_object_begin(json);
	json_put_u64(json, "rows", rows);
	json_object_end(json);
}

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

enum { COLUMN_BYTES, COLUMN_BLOCKS, COLUMN_KIND, COLUMN_TYPE };
static const struct rows_column columns[] = {{"bytes", ROWS_AMOUNT}, {"blocks", ROWS_AMOUNT},
	{"kind", ROWS_TEXT}, {"type", ROWS_TEXT}, {NULL, ROWS_TEXT}};

static void cell_of(const void *context, size_t row, unsigned column, struct rows_cell *ret)
{
	const struct heap_type *type = ((const struct heap_type *const *)context)[row];
	switch (column) {
	case COLUMN_BYTES:
		ret->number = type->bytes;
		break;
	case COLUMN_BLOCKS:
		ret->number = type->blocks;
		break;
	case COLUMN_KIND:
		ret->text = heap_type_kind_name(type->kind);
		break;
	default:
		ret->text = type->name;
		ret->is_makeshift = type->kind == HEAP_TYPE_GROUP;
	}
}

void type_table_deinit(struct type_table *table)
{
	free(table->own);
	free(table->types);
}

static struct error *count_chosen(const struct heap_page *page, struct type_table *table)
{
	const struct survey *s = page->survey;
	uint32_t count = search_block_count(s->search);
	table->own = calloc(s->types.types.len + 1, sizeof(*table->own));
	if (!table->own)
		return error_no_memory();
	for (size_t i = 0; i < s->types.types.len; i++) {
		table->own[i] = s->types.types.data[i];
		table->own[i].blocks = table->own[i].bytes = table->own[i].alike = 0;
	}
	for (uint32_t block = 0; block < count; block++) {
		if (!heap_chosen_takes_used(page->chosen, s, block))
			continue;
		struct heap_type *type = &table->own[survey_type_of(s, block)];
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
	struct heap_rows rows;
	_cleanup_free_ size_t *order = NULL;
	size_t count = 0;
	struct error *error = heap_rows_open(columns, cell_of, page->rows, &rows);
	if (error)
		return error;
	error = heap_rows_choose(&rows, table->types, table->count, &order, &count);
	heap_rows_close(&rows);
	const struct heap_type **chosen = error ? NULL : calloc(count + 1, sizeof(*chosen));
	if (!chosen)
		return error ? error : error_no_memory();
	for (size_t i = 0; i < count; i++) {
		chosen[i] = table->types[order[i]];
		table->blocks += chosen[i]->blocks;
		table->bytes += chosen[i]->bytes;
	}
	free(table->types);
	table->types = chosen;
	table->count = count;
	return NULL;
}

struct error *type_table_make(const struct heap_page *page, struct type_table *ret)
{
	const struct heap_type_vec *types = &page->survey->types.types;
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
