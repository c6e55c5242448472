/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/fragments.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "views/heap_view.h"
#include "views/json_parts.h"

#define TEXT_ROWS 20u

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

static struct error *write_text(
	const struct heap_page *page, const struct fragments *fragments, const struct sink *sink)
{
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	size_t limit = page->limit == VIEW_DEFAULT_LIMIT ? TEXT_ROWS : page->limit;
	text_add(&out,
		"ALLOCATOR ARENA     BYTES      USED      FREE     SPARE     PAGES      FREE  "
		"  PINNED   BY BYTES\n");
	for (size_t i = 0; i < fragments->arenas.len && i < limit; i++)
		text_arena(&fragments->arenas.data[i], &out);
	if (fragments->pins.len)
		text_add(&out, "\nWhat pins pages that are used to less than a quarter\n"
			       "      FREE      BLOCKS  TYPE\n");
	for (size_t i = 0; i < fragments->pins.len && i < limit; i++) {
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

static void write_json(
	const struct heap_page *page, const struct fragments *fragments, const struct sink *sink)
{
	struct json json;
	json_init(&json, sink->write, sink->ctx);
	json_object_begin(&json);
	json_put_string(&json, "schema", "heapwise.heap/1");
	json_key(&json, "arenas");
	json_array_begin(&json);
	for (size_t i = 0; i < fragments->arenas.len; i++)
		put_arena(&json, &fragments->arenas.data[i]);
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
	_cleanup_(heap_fragments_deinit) struct fragments fragments;
	struct error *error = heap_fragments(page->survey, &fragments);
	if (error)
		return error;
	if (!page->json)
		return write_text(page, &fragments, sink);
	write_json(page, &fragments, sink);
	return NULL;
}
