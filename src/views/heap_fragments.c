/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/fragments.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "views/heap_notes.h"
#include "views/heap_view.h"
#include "views/json_parts.h"

#define TEXT_ROWS 20u

enum {
	COLUMN_ALLOCATOR,
	COLUMN_ARENA,
	COLUMN_BYTES,
	COLUMN_USED,
	COLUMN_FREE,
	COLUMN_SPARE,
	COLUMN_PAGES,
	COLUMN_FREE_PAGES,
	COLUMN_PINNED_PAGES,
	COLUMN_PINNED_BYTES
};
static const struct rows_column columns[] = {{"allocator", ROWS_TEXT}, {"arena", ROWS_PLACE},
	{"bytes", ROWS_AMOUNT}, {"used", ROWS_AMOUNT}, {"free", ROWS_AMOUNT},
	{"spare", ROWS_AMOUNT}, {"pages", ROWS_AMOUNT}, {"free_pages", ROWS_AMOUNT},
	{"pinned_pages", ROWS_AMOUNT}, {"pinned_bytes", ROWS_AMOUNT}, {NULL, ROWS_TEXT}};

static void cell_of(const void *context, size_t row, unsigned column, struct rows_cell *ret)
{
	const struct fragment_arena *arena = &((const struct fragments *)context)->arenas.data[row];
	const uint64_t numbers[] = {[COLUMN_ARENA] = arena->arena,
		[COLUMN_BYTES] = arena->bytes,
		[COLUMN_USED] = arena->used,
		[COLUMN_FREE] = arena->free,
		[COLUMN_SPARE] = arena->spare,
		[COLUMN_PAGES] = arena->pages,
		[COLUMN_FREE_PAGES] = arena->free_pages,
		[COLUMN_PINNED_PAGES] = arena->pinned_pages,
		[COLUMN_PINNED_BYTES] = arena->pinned_bytes};
	if (column == COLUMN_ALLOCATOR)
		ret->text = heap_maker_name(arena->maker);
	else
		ret->number = numbers[column];
}

/* The arenas that are shown, in their order. */
struct arenas {
	size_t *order;
	size_t count;
};

static void add_cell(struct text *out, uint64_t bytes)
{
	_cleanup_(text_deinit) struct text cell;
	text_init(&cell);
	text_add_bytes(&cell, bytes);
	text_printf(out, "%10s", cell.data ? cell.data : "");
}

static void text_arena(const struct fragment_arena *arena, struct text *out)
{
	text_printf(out, "%-9s %5u", heap_maker_name(arena->maker), arena->arena);
	add_cell(out, arena->bytes);
	add_cell(out, arena->used);
	add_cell(out, arena->free);
	add_cell(out, arena->spare);
	text_printf(out, " %9llu %9llu", (unsigned long long)arena->pages,
		(unsigned long long)arena->free_pages);
	text_printf(out, " %9llu", (unsigned long long)arena->pinned_pages);
	add_cell(out, arena->pinned_bytes);
	text_add_char(out, '\n');
}

static struct error *write_text(const struct heap_page *page, const struct fragments *fragments,
	const struct arenas *arenas, const struct sink *sink)
{
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	size_t limit = page->limit == VIEW_DEFAULT_LIMIT ? TEXT_ROWS : page->limit;
	bool choosy = heap_page_is_choosy(page);
	if (page->rows->count_only)
		limit = 0;
	else
		text_add(&out,
			"ALLOCATOR ARENA     BYTES      USED      FREE     SPARE     PAGES      "
			"FREE    PINNED   BY BYTES\n");
	for (size_t i = 0; i < arenas->count && i < limit; i++)
		text_arena(&fragments->arenas.data[arenas->order[i]], &out);
	if (choosy)
		heap_matched_rows_text(&out, arenas->count);
	if (fragments->pins.len && !choosy)
		text_add(&out, "\nWhat pins pages that are used to less than a quarter\n"
			       "      FREE      BLOCKS  TYPE\n");
	for (size_t i = 0; i < fragments->pins.len && i < limit && !choosy; i++) {
		const struct fragment_pin *pin = &fragments->pins.data[i];
		add_cell(&out, (uint64_t)pin->bytes);
		text_printf(&out, "  %10llu  ", (unsigned long long)pin->blocks);
		text_add_shown(&out, page->survey->types.types.data[pin->type].name, 200);
		text_add_char(&out, '\n');
	}
	if (out.failed)
		return error_no_memory();
	sink->write(sink->ctx, out.data, out.len);
	return NULL;
}

static void put_arena(struct json *json, const struct fragment_arena *arena)
{
	json_object_begin(json);
	json_put_string(json, "allocator", heap_maker_name(arena->maker));
	json_put_u64(json, "arena", arena->arena);
	json_put_u64(json, "bytes", arena->bytes);
	json_put_u64(json, "used_bytes", arena->used);
	json_put_u64(json, "free_bytes", arena->free);
	json_put_u64(json, "spare_bytes", arena->spare);
	json_put_u64(json, "pages", arena->pages);
	json_put_u64(json, "free_pages", arena->free_pages);
	json_put_u64(json, "pinned_pages", arena->pinned_pages);
	json_put_u64(json, "pinned_bytes", arena->pinned_bytes);
	json_object_end(json);
}

static void write_json(const struct heap_page *page, const struct fragments *fragments,
	const struct arenas *arenas, const struct sink *sink)
{
	struct json json;
	json_init(&json, sink->write, sink->ctx);
	json_object_begin(&json);
	heap_document_put(&json, page->survey);
	if (heap_page_is_choosy(page))
		heap_matched_rows_put(&json, arenas->count);
	json_key(&json, "arenas");
	json_array_begin(&json);
	for (size_t i = 0; i < arenas->count && !page->rows->count_only; i++)
		put_arena(&json, &fragments->arenas.data[arenas->order[i]]);
	json_array_end(&json);
	json_key(&json, "pins");
	json_array_begin(&json);
	for (size_t i = 0; i < fragments->pins.len; i++) {
		const struct fragment_pin *pin = &fragments->pins.data[i];
		json_object_begin(&json);
		json_put_string(&json, "type", page->survey->types.types.data[pin->type].name);
		json_put_u64(&json, "blocks", pin->blocks);
		json_put_u64(&json, "free_bytes", (uint64_t)pin->bytes);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
}

struct error *heap_fragments_write(const struct heap_page *page, const struct sink *sink)
{
	_cleanup_(heap_fragments_deinit) struct fragments fragments = {.arenas = {.len = 0}};
	_cleanup_free_ size_t *order = NULL;
	struct arenas arenas = {.count = 0};
	struct heap_rows rows;
	struct error *error = heap_rows_open(columns, cell_of, page->rows, &rows);
	if (error)
		return error;
	error = heap_fragments(page->survey, &fragments);
	if (!error)
		error = heap_rows_choose(
			&rows, &fragments, fragments.arenas.len, &order, &arenas.count);
	heap_rows_close(&rows);
	if (error)
		return error;
	arenas.order = order;
	if (!page->json)
		return write_text(page, &fragments, &arenas, sink);
	write_json(page, &fragments, &arenas, sink);
	return NULL;
}
