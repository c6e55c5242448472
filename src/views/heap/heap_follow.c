/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 *	From 3,000 blocks 120 objects are reached, in 118 blocks, 5.6 KiB
 *	2,880 pointers on the way are NULL
 *
 *	     BYTES      BLOCKS  KIND         TYPE
 *	   5.6 KiB         118  inferred     user
 */
#include "views/heap/heap_type_table.h"
#include "views/heap_follow_view.h"
#include "views/heap_notes.h"
#include "views/report/json_parts.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"

#define ROWS 40u

static void add_sums(
	const struct follow *f, uint64_t from, const struct type_table *table, struct text *out)
{
	text_add(out, "From ");
	text_add_counted(out, from, "block ", "blocks ");
	text_add_counted(out, f->at.len, "object is", "objects are");
	text_add(out, " reached, in ");
	text_add_counted(out, table->blocks, "block, ", "blocks, ");
	text_add_bytes(out, table->bytes);
	text_add_char(out, '\n');
	if (f->nulls)
		text_add_counted(out, f->nulls, "pointer on the way leads nowhere\n",
			"pointers on the way lead nowhere\n");
	if (f->outside)
		text_add_counted(out, f->outside,
			"pointer on the way leads to what is no block in use\n",
			"pointers on the way lead to what is no block in use\n");
	if (f->memberless)
		text_add_counted(out, f->memberless,
			"object on the way has no such member, or is of no known type\n",
			"objects on the way have no such member, or are of no known type\n");
	if (f->broken)
		text_add_counted(out, f->broken,
			"container on the way could not be read to its end\n",
			"containers on the way could not be read to their ends\n");
}

static const char *type_of(const struct survey *s, uint32_t block)
{
	return s->types.types.data[survey_type_of(s, block)].name;
}

static void text_types(const struct type_table *table, size_t limit, struct text *out)
{
	text_add(out, "\n     BYTES      BLOCKS  KIND         TYPE\n");
	for (size_t i = 0; i < table->count && i < limit; i++) {
		const struct heap_type *type = table->types[i];
		_cleanup_(text_deinit) struct text cell;
		text_init(&cell);
		text_add_bytes(&cell, type->bytes);
		text_printf(out, "%10s", cell.data ? cell.data : "");
		text_clear(&cell);
		text_add_count(&cell, type->blocks);
		text_printf(out, "  %10s  %-11s  ", cell.data ? cell.data : "",
			heap_type_kind_name(type->kind));
		text_add_shown(out, type->name, 200);
		text_add_char(out, '\n');
	}
	if (table->count > limit)
		text_printf(out, "… and %zu more types (--limit)\n", table->count - limit);
}

static void text_list(
	const struct survey *s, const uint64_t *blocks, size_t limit, struct text *out)
{
	uint32_t count = search_block_count(s->search);
	text_add(out, "\nADDRESS                SIZE  TYPE\n");
	for (uint32_t block = 0; block < count && limit; block++) {
		if (!(blocks[block / 64] >> block % 64 & 1))
			continue;
		text_printf(out, "0x%012" PRIx64 " %12" PRIu64 "  ",
			search_block_address(s->search, block),
			search_block_size(s->search, block));
		text_add_shown(out, type_of(s, block), 200);
		text_add_char(out, '\n');
		limit--;
	}
}

static void put_list(
	const struct survey *s, const uint64_t *blocks, size_t limit, struct json *json)
{
	uint32_t count = search_block_count(s->search);
	json_key(json, "blocks");
	json_array_begin(json);
	for (uint32_t block = 0; block < count && limit && !json->failed; block++) {
		if (!(blocks[block / 64] >> block % 64 & 1))
			continue;
		json_object_begin(json);
		json_put_hexadecimal(json, "address", search_block_address(s->search, block), true);
		json_put_u64(json, "size", search_block_size(s->search, block));
		json_put_string(json, "type", type_of(s, block));
		json_object_end(json);
		limit--;
	}
	json_array_end(json);
}

static void write_json(const struct heap_page *page, const struct follow *f, uint64_t from,
	const struct type_table *table, const uint64_t *listed, const struct sink *sink)
{
	struct json json;
	size_t limit = page->limit == VIEW_DEFAULT_LIMIT ? VIEW_NO_LIMIT : page->limit;
	json_init(&json, sink->write, sink->ctx);
	json_object_begin(&json);
	heap_document_put(&json, page->survey);
	json_put_u64(&json, "from_blocks", from);
	json_put_u64(&json, "objects", f->at.len);
	heap_matched_put(&json, table->blocks, table->bytes);
	json_put_u64(&json, "nulls", f->nulls);
	json_put_u64(&json, "outside", f->outside);
	json_put_u64(&json, "memberless", f->memberless);
	json_put_u64(&json, "broken", f->broken);
	json_key(&json, "types");
	json_array_begin(&json);
	for (size_t i = 0; i < table->count && i < limit; i++) {
		json_object_begin(&json);
		json_put_string(&json, "name", table->types[i]->name);
		json_put_string(&json, "kind", heap_type_kind_name(table->types[i]->kind));
		json_put_u64(&json, "blocks", table->types[i]->blocks);
		json_put_u64(&json, "bytes", table->types[i]->bytes);
		json_object_end(&json);
	}
	json_array_end(&json);
	if (listed)
		put_list(page->survey, listed, limit, &json);
	json_object_end(&json);
	json_finish(&json);
}

static struct error *write_text(const struct heap_page *page, const struct follow *f, uint64_t from,
	const struct type_table *table, const uint64_t *listed, const struct sink *sink)
{
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	bool is_default = page->limit == VIEW_DEFAULT_LIMIT;
	add_sums(f, from, table, &out);
	if (listed)
		text_list(page->survey, listed, is_default ? VIEW_NO_LIMIT : page->limit, &out);
	else if (!page->rows->count_only)
		text_types(table, is_default ? ROWS : page->limit, &out);
	if (out.failed)
		return error_no_memory();
	sink->write(sink->ctx, out.data, out.len);
	return NULL;
}

struct error *heap_follow_write(const struct heap_page *page, const struct follow *follow,
	uint64_t from, bool lists, const struct sink *sink)
{
	struct heap_chosen reached;
	heap_chosen_init(&reached);
	reached.held = follow_blocks(follow);
	reached.is_asked = true;
	struct heap_page own = *page;
	own.chosen = &reached;
	_cleanup_(type_table_deinit) struct type_table table = {.count = 0};
	struct error *error = reached.held ? type_table_make(&own, &table) : error_no_memory();
	const uint64_t *listed = lists ? reached.held : NULL;
	if (!error && page->json)
		write_json(page, follow, from, &table, listed, sink);
	else if (!error)
		error = write_text(page, follow, from, &table, listed, sink);
	heap_chosen_deinit(&reached);
	return error;
}
