/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/alone.h"

#include <ctype.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "views/heap_notes.h"
#include "views/heap_view.h"
#include "views/json_parts.h"

#define TEXT_ROWS 40u
#define CONTENT_BYTES 32u

static const char *type_name(const struct survey *survey, uint32_t block)
{
	return survey->types.types.data[survey_type_of(survey, block)].name;
}

static size_t read_content(
	const struct survey *survey, uint32_t block, uint8_t ret[static CONTENT_BYTES])
{
	uint64_t size = search_block_size(survey->search, block);
	return address_space_read(survey->heap.space, search_block_address(survey->search, block),
		ret, size < CONTENT_BYTES ? (size_t)size : CONTENT_BYTES);
}

static void text_neighbour(
	const struct survey *survey, const char *where, uint32_t block, struct text *out)
{
	text_printf(out, "                                %s 0x%" PRIx64 ", ", where,
		search_block_address(survey->search, block));
	text_add_shown(out, type_name(survey, block), 120);
	text_add_char(out, '\n');
}

static void text_block(const struct survey *survey, uint32_t block, struct text *out)
{
	uint8_t content[CONTENT_BYTES];
	size_t len = read_content(survey, block, content);
	text_printf(out, "0x%012" PRIx64 " %12" PRIu64 "   |",
		search_block_address(survey->search, block),
		search_block_size(survey->search, block));
	for (size_t i = 0; i < len; i++)
		text_add_char(
			out, isprint(content[i]) && content[i] < 128 ? (char)content[i] : '.');
	text_add(out, "|\n");
	if (block)
		text_neighbour(survey, "behind ", block - 1, out);
	if (block + 1 < search_block_count(survey->search))
		text_neighbour(survey, "before ", block + 1, out);
}

static struct error *write_text(
	const struct heap_page *page, const struct heap_alone *alone, const struct sink *sink)
{
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	size_t limit = page->rows->count_only              ? 0
		       : page->limit == VIEW_DEFAULT_LIMIT ? TEXT_ROWS
							   : page->limit;
	text_add_count(&out, alone->blocks.len);
	text_add(&out, alone->blocks.len == 1 ? " block, " : " blocks, ");
	text_add_bytes(&out, alone->bytes);
	text_add(&out, ": without pointers, and nothing points at them\n");
	if (alone->blocks.len && limit)
		text_add(&out, "\nADDRESS                SIZE   CONTENT, AND BLOCKS BESIDE IT\n");
	for (size_t i = 0; i < alone->blocks.len && i < limit; i++)
		text_block(page->survey, alone->blocks.data[i], &out);
	if (alone->blocks.len > limit && limit)
		text_printf(&out, "… and %zu more (--limit)\n", alone->blocks.len - limit);
	if (out.failed)
		return error_no_memory();
	sink->write(sink->ctx, out.data, out.len);
	return NULL;
}

static void put_neighbour(
	struct json *json, const struct survey *survey, const char *key, uint32_t block)
{
	json_key(json, key);
	if (block >= search_block_count(survey->search)) {
		json_null(json);
		return;
	}
	json_object_begin(json);
	json_put_hexadecimal(json, "address", search_block_address(survey->search, block), true);
	json_put_u64(json, "size", search_block_size(survey->search, block));
	json_put_string(json, "type", type_name(survey, block));
	json_object_end(json);
}

static void put_block(struct json *json, const struct survey *survey, uint32_t block)
{
	uint8_t content[CONTENT_BYTES];
	char hex[2 * CONTENT_BYTES + 1];
	size_t len = read_content(survey, block, content);
	for (size_t i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", content[i]);
	hex[2 * len] = 0;
	json_object_begin(json);
	json_put_hexadecimal(json, "address", search_block_address(survey->search, block), true);
	json_put_u64(json, "size", search_block_size(survey->search, block));
	json_put_string(json, "type", type_name(survey, block));
	json_put_string(json, "bytes", hex);
	put_neighbour(json, survey, "behind", block - 1);
	put_neighbour(json, survey, "before", block + 1);
	json_object_end(json);
}

static void write_json(
	const struct heap_page *page, const struct heap_alone *alone, const struct sink *sink)
{
	struct json json;
	size_t limit = page->rows->count_only              ? 0
		       : page->limit == VIEW_DEFAULT_LIMIT ? VIEW_NO_LIMIT
							   : page->limit;
	json_init(&json, sink->write, sink->ctx);
	json_object_begin(&json);
	heap_document_put(&json, page->survey);
	json_put_u64(&json, "blocks", alone->blocks.len);
	json_put_u64(&json, "bytes", alone->bytes);
	json_key(&json, "alone");
	json_array_begin(&json);
	for (size_t i = 0; i < alone->blocks.len && i < limit && !json.failed; i++)
		put_block(&json, page->survey, alone->blocks.data[i]);
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
}

/* Leaves those that are wanted. */
static void keep_chosen(const struct heap_page *page, struct heap_alone *alone)
{
	size_t kept = 0;
	alone->bytes = 0;
	for (size_t i = 0; i < alone->blocks.len; i++) {
		uint32_t block = alone->blocks.data[i];
		if (!heap_chosen_takes_used(page->chosen, page->survey, block))
			continue;
		alone->blocks.data[kept++] = block;
		alone->bytes += search_block_size(page->survey->search, block);
	}
	alone->blocks.len = kept;
}

struct error *heap_alone_write(const struct heap_page *page, const struct sink *sink)
{
	_cleanup_(heap_alone_deinit) struct heap_alone alone;
	struct error *error = heap_alone_find(page->survey, &alone);
	if (!error)
		keep_chosen(page, &alone);
	if (!error && page->json)
		write_json(page, &alone, sink);
	else if (!error)
		error = write_text(page, &alone, sink);
	return error;
}
