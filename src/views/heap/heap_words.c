/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "heap/faint.h"
#include "heap/inferred.h"
#include "heap/tails.h"
#include "heap/texts.h"
#include "heap/thread_locals.h"
#include "heap/where.h"
#include "views/heap/heap_joined_view.h"
#include "views/heap/heuristics.h"
#include "views/heap_layout_view.h"
#include "views/heap_notes.h"
#include "views/heap_where_view.h"
#include "views/report/json_parts.h"

#define PIECE_BYTES 4096u

struct words {
	const struct heap_page *page;
	struct text out;
	struct json *json; /* NULL: text */
	uint64_t start, size;
	size_t left;
	enum wanted { WANT_NONE, WANT_POINTERS, WANT_ALL } wanted;
	struct heap_layout layout; /* of the block, if has_layout */
	bool has_layout, is_pool;
	uint32_t block;
	bool is_thread_local; /* variables of a library's are its members */
	struct faint_words faint;
	uint64_t end; /* words from there on hold nothing: nobody asked for them */
};

static const char *const kinds[SEARCH_KINDS] = {"definite", "indirect", "possible", "reachable"};
static const char *const where_names[] = {[HEAP_WHERE_NOWHERE] = "nowhere",
	[HEAP_WHERE_BLOCK] = "block",
	[HEAP_WHERE_ALLOCATOR] = "allocator",
	[HEAP_WHERE_MODULE] = "module",
	[HEAP_WHERE_STACK] = "stack",
	[HEAP_WHERE_THREAD_LOCAL] = "thread-local",
	[HEAP_WHERE_MAPPING] = "mapping"};

static const char *const schemas[] = {[WANT_NONE] = "heapwise.heap-block/1",
	[WANT_POINTERS] = "heapwise.heap-refs/1",
	[WANT_ALL] = "heapwise.heap-words/1"};

static void add_characters(uint64_t word, struct text *out)
{
	for (unsigned i = 0; i < 8; i++, word >>= 8)
		text_add_char(
			out, isprint((unsigned char)(word & 0xff)) ? (char)(word & 0xff) : '.');
}

/* Adds the member that begins at an offset. */
static void add_member(const struct words *w, uint64_t offset, struct text *text)
{
	if (w->is_thread_local)
		thread_locals_add_member(w->page->survey, w->block, offset, text);
	else if (w->is_pool)
		pools_add_member(w->page->survey, w->block, offset, text);
	if (w->has_layout && !w->is_thread_local && !text->len)
		heap_layout_add_member(w->page->survey, &w->layout, offset, text);
}

static void put_text(
	struct words *w, uint64_t offset, uint64_t word, const struct heap_where *where)
{
	text_printf(&w->out, "%8" PRIu64 "  0x%016" PRIx64 "  ", offset, word);
	add_characters(word, &w->out);
	if (w->has_layout || w->is_thread_local || w->is_pool) {
		_cleanup_(text_deinit) struct text member;
		text_init(&member);
		add_member(w, offset, &member);
		text_printf(&w->out, "  %-12s", member.data ? member.data : "");
	}
	if (where->kind != HEAP_WHERE_NOWHERE) {
		text_add(&w->out, "  ");
		heap_where_describe(where, &w->out);
	}
	text_add(&w->out, offset >= w->end ? "  (behind its end)\n" : "\n");
}

void heap_where_put_frame(struct json *json, const struct heap_where *where)
{
	const struct heap_stack_place *frame = &where->frame;
	json_put_u64(json, "thread", (uint64_t)where->tid);
	json_put_string(json, "function", frame->function);
	json_put_string(json, "variable", frame->variable);
	if (frame->variable)
		json_put_u64(json, "variable_offset", frame->offset);
}

/* What a block that is a text begins with. */
static void put_text_of(const struct survey *survey, uint32_t block, struct json *json)
{
	_cleanup_(text_deinit) struct text beginning;
	text_init(&beginning);
	texts_add_beginning(survey, block, NULL, 0, TEXTS_BEGINNING_BYTES, &beginning);
	if (beginning.len)
		json_put_string(json, "block_text", beginning.data);
}

void heap_where_put(const struct survey *survey, struct json *json, const struct heap_where *where)
{
	json_put_string(json, "is", where_names[where->kind]);
	if (where->kind == HEAP_WHERE_BLOCK) {
		json_put_hexadecimal(json, "block", where->start, true);
		json_put_string(json, "type", where->type);
		put_text_of(survey, where->block, json);
		if (*where->member)
			json_put_string(json, "into_member", where->member);
	}
	if (where->tid && where->kind != HEAP_WHERE_STACK)
		json_put_u64(json, "thread", (uint64_t)where->tid);
	if (where->place.module) {
		json_put_string(json, "module", where->place.module->path);
		json_put_string(json, "symbol", where->place.name);
	}
	if (where->kind == HEAP_WHERE_STACK)
		heap_where_put_frame(json, where);
	if (where->kind != HEAP_WHERE_NOWHERE)
		json_put_u64(json, "into", where->offset);
}

static void put_json(
	struct words *w, uint64_t offset, uint64_t word, const struct heap_where *where)
{
	json_object_begin(w->json);
	json_put_u64(w->json, "offset", offset);
	json_put_hexadecimal(w->json, "value", word, true);
	if (w->has_layout || w->is_thread_local || w->is_pool) {
		_cleanup_(text_deinit) struct text member;
		text_init(&member);
		add_member(w, offset, &member);
		json_put_string(w->json, "member", member.data);
	}
	heap_where_put(w->page->survey, w->json, where);
	if (offset >= w->end)
		json_put_bool(w->json, "behind_end", true);
	json_object_end(w->json);
}

static struct error *put_word(struct words *w, uint64_t offset, uint64_t word)
{
	struct heap_where where = {.kind = HEAP_WHERE_NOWHERE};
	struct error *error = word ? heap_where(w->page->survey, word, &where) : NULL;
	if (error)
		return error;
	bool is_faint = faint_words_take(&w->faint, word);
	if (!w->left || (w->wanted == WANT_POINTERS &&
				(where.kind == HEAP_WHERE_NOWHERE || offset >= w->end || is_faint)))
		return NULL;
	w->left--;
	if (w->json)
		put_json(w, offset, word, &where);
	else
		put_text(w, offset, word, &where);
	return w->out.failed ? error_no_memory() : NULL;
}

static struct error *put_words(struct words *w)
{
	uint64_t words[PIECE_BYTES / 8];
	struct error *error = NULL;
	for (uint64_t at = 0; at + 8 <= w->size && !error && w->left;) {
		uint64_t left = w->size - at;
		size_t wanted = left < PIECE_BYTES ? (size_t)left & ~7ul : PIECE_BYTES;
		size_t got = address_space_read(
			w->page->survey->heap.space, w->start + at, words, wanted);
		for (size_t i = 0; i < got / 8 && !error; i++)
			error = put_word(w, at + 8 * i, words[i]);
		if (got < wanted)
			break;
		at += got;
	}
	return error;
}

static struct error *write_text(struct words *w, uint32_t block, const struct sink *sink)
{
	const struct survey *s = w->page->survey;
	const struct heap_type *type = &s->types.types.data[survey_type_of(s, block)];
	enum search_heuristic heuristic = search_heuristic_of(s->search, block);
	text_printf(&w->out, "block 0x%" PRIx64 ": %" PRIu64 " bytes, %s%s%s, ", w->start, w->size,
		kinds[search_kind(s->search, block)], heuristic ? " by " : "",
		heuristic ? heuristic_name(heuristic) : "");
	text_add_shown(&w->out, type->name, 200);
	texts_add_quoted(s, block, &w->out);
	const char *by = inferred_basis_name(s, block);
	text_printf(&w->out, " (%s%s%s)", heap_type_kind_name(type->kind), by ? ", " : "",
		by ? by : "");
	if (w->has_layout)
		heap_layout_add_extent(&w->layout, &w->out);
	pools_add_evidence(s, block, &w->out);
	text_add_char(&w->out, '\n');
	struct error *error = heap_allocation_text(w->page, w->start, w->size, &w->out);
	if (!error && w->wanted)
		error = put_words(w);
	if (!error && w->out.len)
		sink->write(sink->ctx, w->out.data, w->out.len);
	return error;
}

static struct error *write_json(struct words *w, uint32_t block, const struct sink *sink)
{
	const struct survey *s = w->page->survey;
	struct json json;
	json_init(&json, sink->write, sink->ctx);
	w->json = &json;
	json_object_begin(&json);
	heap_document_put(&json, w->page, schemas[w->wanted]);
	json_put_hexadecimal(&json, "address", w->start, true);
	json_put_u64(&json, "size", w->size);
	json_put_string(&json, "type", s->types.types.data[survey_type_of(s, block)].name);
	const char *by = inferred_basis_name(s, block);
	if (by)
		json_put_string(&json, "by", by);
	put_text_of(s, block, &json);
	json_put_string(&json, "leak", kinds[search_kind(s->search, block)]);
	heuristic_put(&json, search_heuristic_of(s->search, block));
	if (w->has_layout)
		heap_extent_put(&w->layout, &json);
	heap_pool_put(s, block, &json);
	struct error *error = heap_allocation_put(w->page, w->start, w->size, &json);
	if (!error && w->wanted) {
		json_key(&json, "words");
		json_array_begin(&json);
		error = put_words(w);
		json_array_end(&json);
	}
	json_object_end(&json);
	json_finish(&json);
	return error;
}

/* Where the block ends as far as that is known: by its recording, or by its type. */
static uint64_t end_of(const struct words *w, uint32_t block)
{
	const struct survey *s = w->page->survey;
	const struct live_block *known =
		w->page->joined ? joined_find(w->page->joined, w->start, w->size) : NULL;
	if (known)
		return known->size;
	bool ends = tails_is_cut(s, block);
	return ends && w->has_layout && !w->layout.is_array ? w->layout.size : w->size;
}

static struct error *write_words(
	const struct heap_page *page, uint64_t address, enum wanted wanted, const struct sink *sink)
{
	uint32_t block;
	struct error *error = heap_where_block(page->survey, address, &block);
	if (error)
		return error;
	struct words w = {.page = page,
		.start = search_block_address(page->survey->search, block),
		.size = search_block_size(page->survey->search, block),
		.left = page->limit == VIEW_DEFAULT_LIMIT ? SIZE_MAX : page->limit,
		.wanted = wanted};
	w.block = block;
	w.is_thread_local = thread_locals_owner(page->survey, block) != 0;
	w.has_layout = heap_layout_of(page->survey, block, &w.layout);
	w.is_pool = pools_find(&page->survey->pools, block);
	w.end = end_of(&w, block);
	error = faint_find(page->survey, NULL);
	if (error)
		return error;
	w.faint = faint_words_of(page->survey, block);
	text_init(&w.out);
	error = page->json ? write_json(&w, block, sink) : write_text(&w, block, sink);
	text_deinit(&w.out);
	return error;
}

struct error *heap_words_write(
	const struct heap_page *page, uint64_t address, const struct sink *sink)
{
	return write_words(page, address, WANT_ALL, sink);
}

struct error *heap_refs_write(
	const struct heap_page *page, uint64_t address, const struct sink *sink)
{
	return write_words(page, address, WANT_POINTERS, sink);
}

struct error *heap_block_write(
	const struct heap_page *page, uint64_t address, const struct sink *sink)
{
	return write_words(page, address, WANT_NONE, sink);
}
