/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All blocks of a heap, one after the other as they are found: output never waits for the end. */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "views/heap_view.h"
#include "views/json_parts.h"

#define PIECE_BYTES (64u << 10)

struct listing {
	const struct heap_page *page;
	const struct sink *sink;
	struct text out; /* of text; NULL in `json` then */
	struct json *json;
	size_t left;
	bool stopped;
};

static const char *const states[BLOCK_STATES] = {"used", "free", "cached", "allocator"};
static const char *const kinds[SEARCH_KINDS] = {"definite", "indirect", "possible", "reachable"};

/* The number of a block in use; SPACE_NONE: it is not. */
static uint32_t number_of(const struct survey *survey, const struct heap_block *block)
{
	uint64_t offset;
	return block->state == BLOCK_USED ? search_block_at(survey->search, block->address, &offset)
					  : SPACE_NONE;
}

static void put_json(struct listing *l, const struct heap_block *block, uint32_t number)
{
	const struct survey *s = l->page->survey;
	json_object_begin(l->json);
	json_put_hexadecimal(l->json, "address", block->address, true);
	json_put_u64(l->json, "size", block->size);
	json_put_string(l->json, "state", states[block->state]);
	if (number != SPACE_NONE) {
		uint32_t type = survey_type_of(s, number);
		json_put_string(l->json, "type", s->types.types.data[type].name);
		json_put_string(l->json, "leak", kinds[search_kind(s->search, number)]);
	}
	json_object_end(l->json);
	l->stopped = l->json->failed;
}

static void flush(struct listing *l)
{
	if (l->out.len && !l->sink->write(l->sink->ctx, l->out.data, l->out.len))
		l->stopped = true;
	text_clear(&l->out);
}

static void put_text(struct listing *l, const struct heap_block *block, uint32_t number)
{
	const struct survey *s = l->page->survey;
	text_printf(&l->out, "0x%012" PRIx64 " %12" PRIu64 "  %-9s", block->address, block->size,
		states[block->state]);
	if (number != SPACE_NONE) {
		uint32_t type = survey_type_of(s, number);
		text_printf(&l->out, "  %-9s  ", kinds[search_kind(s->search, number)]);
		text_add_shown(&l->out, s->types.types.data[type].name, 200);
	}
	text_add_char(&l->out, '\n');
	if (l->out.len >= PIECE_BYTES)
		flush(l);
}

static struct error *take(
	void *context, const struct heap_block *block, const uint8_t *bytes, size_t len)
{
	struct listing *l = context;
	(void)bytes, (void)len;
	if (!l->left || l->stopped)
		return NULL;
	l->left--;
	uint32_t number = number_of(l->page->survey, block);
	if (l->json)
		put_json(l, block, number);
	else
		put_text(l, block, number);
	return l->out.failed ? error_no_memory() : NULL;
}

static struct error *walk(struct listing *l)
{
	struct heap_sink sink = {l, take};
	return heap_walk(&l->page->survey->heap, &sink);
}

static struct error *write_json(struct listing *l)
{
	struct json json;
	json_init(&json, l->sink->write, l->sink->ctx);
	l->json = &json;
	json_object_begin(&json);
	json_put_string(&json, "schema", "heapwise.heap/1");
	json_key(&json, "blocks");
	json_array_begin(&json);
	struct error *error = walk(l);
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
	return error;
}

struct error *heap_blocks_write(const struct heap_page *page, const struct sink *sink)
{
	struct listing l = {.page = page,
		.sink = sink,
		.left = page->limit == VIEW_DEFAULT_LIMIT ? SIZE_MAX : page->limit};
	if (page->json)
		return write_json(&l);
	text_init(&l.out);
	text_add(&l.out, "ADDRESS                SIZE  STATE      LEAK       TYPE\n");
	struct error *error = walk(&l);
	flush(&l);
	text_deinit(&l.out);
	return error;
}
