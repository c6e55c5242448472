/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 *	ADDRESS         WHERE
 *	0x55d4c8a012b0  block 0x55d4c8a012a0 + 16, node, number
 *	0x55d4c8a01ff8  free block 0x55d4c8a01fe0 + 24 of 120 bytes  "GET /index.html"
 *	3 places: 1 in blocks in use, 1 in free ones, 1 elsewhere
 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "heap/layouts.h"
#include "views/heap_find_view.h"
#include "views/heap_notes.h"
#include "views/heap_where_view.h"
#include "views/report/json_parts.h"

#define PIECE_BYTES (64u << 10)
#define TEXT_SHOWN 60u

struct find_listing {
	const struct heap_page *page;
	const struct sink *sink;
	struct text out;
	struct json *json; /* NULL: text */
	bool is_text;      /* what stands there is shown */
	size_t left;
	uint64_t used, free, rest;
};

static void flush(struct find_listing *l)
{
	if (l->out.len && !l->sink->write(l->sink->ctx, l->out.data, l->out.len))
		l->left = 0;
	text_clear(&l->out);
}

/* What can be printed from there on. */
static void add_text(const struct find_listing *l, uint64_t address, struct text *ret)
{
	char bytes[TEXT_SHOWN];
	size_t got = address_space_read(l->page->survey->heap.space, address, bytes, sizeof(bytes));
	size_t len = 0;
	while (len < got && (isprint((unsigned char)bytes[len]) || (bytes[len] & 0x80)))
		len++;
	text_add_plain_n(ret, bytes, len);
}

/* The member there, also a block's first. */
static void name_member(const struct survey *survey, struct heap_where *where)
{
	struct heap_layout layout;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	if (where->kind != HEAP_WHERE_BLOCK || where->offset || where->tid ||
		!heap_layout_of(survey, where->block, &layout))
		return;
	heap_layout_add_member(survey, &layout, 0, &text);
	if (text.len && text.len < sizeof(where->member))
		memcpy(where->member, text.data, text.len + 1);
}

static void add_free(const struct heap_found *found, struct text *text)
{
	text_printf(text, "%s block 0x%" PRIx64 " + %" PRIu64 " of %" PRIu64 " bytes",
		found->block.state == BLOCK_CACHED ? "cached" : "free", found->block.address,
		found->address - found->block.address, found->block.size);
}

static bool is_free(const struct heap_found *found)
{
	return found->is_in_block && found->block.state != BLOCK_USED;
}

static void put_text(
	struct find_listing *l, const struct heap_found *found, const struct heap_where *where)
{
	text_printf(&l->out, "0x%012" PRIx64 "  ", found->address);
	if (is_free(found))
		add_free(found, &l->out);
	else
		heap_where_describe(where, &l->out);
	if (l->is_text) {
		_cleanup_(text_deinit) struct text text;
		text_init(&text);
		add_text(l, found->address, &text);
		text_printf(&l->out, "  \"%s\"", text.data ? text.data : "");
	}
	text_add_char(&l->out, '\n');
	if (l->out.len >= PIECE_BYTES)
		flush(l);
}

static void put_json(
	struct find_listing *l, const struct heap_found *found, const struct heap_where *where)
{
	struct json *json = l->json;
	json_object_begin(json);
	json_put_hexadecimal(json, "address", found->address, true);
	if (is_free(found)) {
		json_put_string(json, "is", found->block.state == BLOCK_CACHED ? "cached" : "free");
		json_put_hexadecimal(json, "block", found->block.address, true);
		json_put_u64(json, "size", found->block.size);
		json_put_u64(json, "into", found->address - found->block.address);
	} else {
		heap_where_put(l->page->survey, json, where);
	}
	if (l->is_text) {
		_cleanup_(text_deinit) struct text text;
		text_init(&text);
		add_text(l, found->address, &text);
		json_put_string(json, "text", text.data ? text.data : "");
	}
	json_object_end(json);
	if (json->failed)
		l->left = 0;
}

static struct error *take(void *context, const struct heap_found *found)
{
	struct find_listing *l = context;
	struct heap_where where = {.kind = HEAP_WHERE_NOWHERE};
	if (!found->is_in_block)
		l->rest++;
	else if (is_free(found))
		l->free++;
	else
		l->used++;
	if (!l->left)
		return NULL;
	l->left--;
	struct error *error =
		is_free(found) ? NULL : heap_where(l->page->survey, found->address, &where);
	if (error)
		return error;
	name_member(l->page->survey, &where);
	if (l->json)
		put_json(l, found, &where);
	else
		put_text(l, found, &where);
	return l->out.failed ? error_no_memory() : NULL;
}

static struct error *write_json(struct find_listing *l, struct heap_find *find)
{
	struct json json;
	json_init(&json, l->sink->write, l->sink->ctx);
	l->json = &json;
	json_object_begin(&json);
	heap_document_put(&json, l->page, "heapwise.heap-find/1");
	json_key(&json, "found");
	json_array_begin(&json);
	struct error *error = heap_find(&l->page->survey->heap, find);
	json_array_end(&json);
	json_key(&json, "matched");
	json_object_begin(&json);
	json_put_u64(&json, "places", l->used + l->free + l->rest);
	json_put_u64(&json, "used", l->used);
	json_put_u64(&json, "free", l->free);
	json_put_u64(&json, "elsewhere", l->rest);
	json_object_end(&json);
	json_put_u64(&json, "unread_bytes", find->unread_bytes);
	json_object_end(&json);
	json_finish(&json);
	return error;
}

static void add_sums(const struct find_listing *l, const struct heap_find *find, struct text *out)
{
	text_add_counted(out, l->used + l->free + l->rest, "place", "places");
	text_add(out, ": ");
	text_add_count(out, l->used);
	text_add(out, " in blocks in use, ");
	text_add_count(out, l->free);
	text_add(out, " in free ones, ");
	text_add_count(out, l->rest);
	text_add(out, " elsewhere");
	if (!find->in_rest)
		text_add(out, find->in_used ? " (only blocks in use were searched)"
					    : " (only free blocks were searched)");
	text_add_char(out, '\n');
	if (find->unread_bytes) {
		text_add_bytes(out, find->unread_bytes);
		text_add(out, " of memory that the program may have written can't be read here.\n");
	}
}

static struct error *write_text(struct find_listing *l, struct heap_find *find)
{
	text_init(&l->out);
	if (l->left)
		text_add(&l->out, "ADDRESS         WHERE\n");
	struct error *error = heap_find(&l->page->survey->heap, find);
	if (!error)
		add_sums(l, find, &l->out);
	flush(l);
	text_deinit(&l->out);
	return error;
}

struct error *heap_find_write(
	const struct heap_page *page, struct heap_find *find, bool is_text, const struct sink *sink)
{
	struct find_listing l = {.page = page,
		.sink = sink,
		.is_text = is_text,
		.left = page->limit == VIEW_DEFAULT_LIMIT ? SIZE_MAX : page->limit};
	if (page->rows->count_only)
		l.left = 0;
	find->context = &l;
	find->take = take;
	return page->json ? write_json(&l, find) : write_text(&l, find);
}
