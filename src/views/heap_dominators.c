/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "heap/retained.h"
#include "views/heap_view.h"
#include "views/json_parts.h"

#define ROWS 40u

static const char *const kinds[HEAP_ROOT_KINDS] = {[HEAP_ROOT_DATA] = "global",
	[HEAP_ROOT_STACK] = "stack",
	[HEAP_ROOT_TLS] = "thread-local storage",
	[HEAP_ROOT_REGISTERS] = "registers",
	[HEAP_ROOT_MAPPING] = "mapping"};

static void text_holder(const struct retained_holder *holder, struct text *out)
{
	text_add(out, kinds[holder->kind]);
	if (holder->tid)
		text_printf(out, " of thread %d", (int)holder->tid);
	if (holder->kind == HEAP_ROOT_MAPPING) {
		text_printf(out, " 0x%" PRIx64 " ", holder->start);
		text_add_shown(out, holder->map ? holder->map->path : "", 200);
	}
	if (holder->kind != HEAP_ROOT_DATA)
		return;
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

static void text_row(const struct heap_page *page, const struct retained *retained, size_t number,
	struct text *out)
{
	const struct retained_row *row = &retained->rows.data[number];
	const struct survey *s = page->survey;
	_cleanup_(text_deinit) struct text cell;
	text_init(&cell);
	text_add_bytes(&cell, row->bytes);
	text_printf(out, "%10s  ", cell.data ? cell.data : "");
	/* What hangs on a row that is shown stands below it, further in. */
	for (uint32_t above = row->above, depth = 0; above != UINT32_MAX && depth < 20; depth++) {
		text_add(out, "  ");
		above = retained->rows.data[above].above;
	}
	if (row->node >= retained->dominators.block_count) {
		text_holder(
			&retained->holders.data[row->node - retained->dominators.block_count], out);
	} else {
		const char *type = s->types.types.data[survey_type_of(s, row->node)].name;
		text_printf(out, "0x%" PRIx64 "  ", search_block_address(s->search, row->node));
		text_add_shown(out, type, 200);
	}
	text_add_char(out, '\n');
}

static struct error *write_text(
	const struct heap_page *page, const struct retained *retained, const struct sink *sink)
{
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	text_add(&out, "  RETAINED  BY\n");
	for (size_t i = 0; i < retained->rows.len; i++)
		text_row(page, retained, i, &out);
	if (retained->shared_bytes) {
		text_add(&out, "Held only by several of these together: ");
		text_add_bytes(&out, retained->shared_bytes);
		text_add(&out, ".\n");
	}
	if (!retained->dominators.settled)
		text_add(&out, "The heap is so tangled that these figures are upper bounds.\n");
	if (out.failed)
		return error_no_memory();
	sink->write(sink->ctx, out.data, out.len);
	return NULL;
}

static void put_row(struct json *json, const struct heap_page *page,
	const struct retained *retained, const struct retained_row *row)
{
	const struct survey *s = page->survey;
	uint32_t blocks = retained->dominators.block_count;
	json_object_begin(json);
	json_put_u64(json, "retained_bytes", row->bytes);
	if (row->node < blocks) {
		json_put_string(json, "kind", "block");
		json_put_hexadecimal(
			json, "address", search_block_address(s->search, row->node), true);
		json_put_string(
			json, "type", s->types.types.data[survey_type_of(s, row->node)].name);
	} else {
		const struct retained_holder *holder = &retained->holders.data[row->node - blocks];
		json_put_string(json, "kind", kinds[holder->kind]);
		json_put_hexadecimal(json, "address", holder->start, holder->start != 0);
		json_put_string(json, "symbol", holder->place.name);
		if (holder->tid)
			json_put_u64(json, "thread", (uint64_t)holder->tid);
	}
	json_key(json, "below");
	if (row->above == UINT32_MAX)
		json_null(json);
	else
		json_u64(json, row->above);
	json_object_end(json);
}

static void write_json(
	const struct heap_page *page, const struct retained *retained, const struct sink *sink)
{
	struct json json;
	json_init(&json, sink->write, sink->ctx);
	json_object_begin(&json);
	json_put_string(&json, "schema", "heapwise.heap/1");
	json_put_u64(&json, "shared_bytes", retained->shared_bytes);
	json_put_bool(&json, "upper_bounds", !retained->dominators.settled);
	json_key(&json, "dominators");
	json_array_begin(&json);
	for (size_t i = 0; i < retained->rows.len; i++)
		put_row(&json, page, retained, &retained->rows.data[i]);
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
}

struct error *heap_dominators_write(const struct heap_page *page, const struct sink *sink)
{
	_cleanup_(heap_retained_deinit) struct retained retained;
	size_t limit = page->limit == VIEW_DEFAULT_LIMIT ? ROWS : page->limit;
	struct error *error = heap_retained(page->survey, limit, &retained);
	if (error)
		return error;
	if (!page->json)
		return write_text(page, &retained, sink);
	write_json(page, &retained, sink);
	return NULL;
}
