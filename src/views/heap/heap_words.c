/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `block`, `words`, `refs`: what a block is, its words, and what they point at. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/block_slack.h"
#include "heap/false_pointers.h"
#include "heap/inferred.h"
#include "heap/texts.h"
#include "heap/thread_locals.h"
#include "heap/where.h"
#include "views/heap/heap_extent.h"
#include "views/heap/heap_joined_view.h"
#include "views/heap/heap_parts.h"
#include "views/heap/heuristics.h"
#include "views/heap/where_columns.h"
#include "views/heap_answers.h"
#include "views/heap_where_view.h"

#define PIECE_BYTES 4096u

struct words {
	const struct heap_page *page;
	struct answer *answer;
	uint64_t start, size;
	size_t left;
	enum wanted { WANT_NONE, WANT_POINTERS, WANT_ALL } wanted;
	struct heap_layout layout; /* of the block, if has_layout */
	bool has_layout, is_pool;
	uint32_t block;
	bool is_thread_local; /* variables of a library's are its members */
	struct false_words false_words;
	uint64_t end; /* words from there on hold nothing: nobody asked for them */
	/* The row. */
	uint64_t offset, word;
	struct heap_where where;
};

static const char *const kinds[SEARCH_KINDS] = {"definite", "indirect", "possible", "reachable"};

static void add_characters(uint64_t word, struct text *out)
{
	for (unsigned i = 0; i < 8; i++, word >>= 8)
		text_add_char(
			out, isprint((unsigned char)(word & 0xff)) ? (char)(word & 0xff) : '.');
}

/* Adds the member that begins at an offset. */
static void heap_words_add_member(const struct words *w, uint64_t offset, struct text *text)
{
	if (w->is_thread_local)
		thread_locals_add_member(w->page->scan, w->block, offset, text);
	else if (w->is_pool)
		pools_add_member(w->page->scan, w->block, offset, text);
	if (w->has_layout && !w->is_thread_local && !text->len)
		heap_layout_add_member(w->page->scan, &w->layout, offset, text);
}

static bool has_members(const struct words *w)
{
	return w->has_layout || w->is_thread_local || w->is_pool;
}

static void heap_words_row_text(const void *context, size_t row, struct text *out)
{
	const struct words *w = context;
	(void)row;
	text_printf(out, "%8" PRIu64 "  0x%016" PRIx64 "  ", w->offset, w->word);
	add_characters(w->word, out);
	if (has_members(w)) {
		_cleanup_(text_deinit) struct text member;
		text_init(&member);
		heap_words_add_member(w, w->offset, &member);
		text_printf(out, "  %-12s", member.data ? member.data : "");
	}
	if (w->where.kind != HEAP_WHERE_NOWHERE) {
		text_add(out, "  ");
		heap_where_describe(&w->where, out);
	}
	text_add(out, w->offset >= w->end ? "  (after its end)\n" : "\n");
}

enum { OFFSET, VALUE, MEMBER, WHERE_FIRST, AFTER = WHERE_FIRST + WHERE_COLUMNS };
static const struct column columns[] = {
	{"offset", COLUMN_INTEGER, UNIT_BYTES, .says = "in the block"},
	{"value", COLUMN_ADDRESS, .says = "of the word"},
	{"member", COLUMN_TEXT, .optional = true,
		.says = "where the block's type is described: the member that it is, or null"},
	WHERE_COLUMN_ROWS,
	{"behind_end", COLUMN_BOOLEAN, .optional = true,
		.says = "true of words after what was asked for, which reference nothing"},
	COLUMNS_END};

static void heap_words_cell_of(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct words *w = context;
	(void)row;
	if (column == MEMBER && has_members(w)) {
		heap_words_add_member(w, w->offset, &ret->built);
		cell_take_any(ret);
	} else if (column == MEMBER) {
		ret->state = CELL_ABSENT;
	} else if (column < WHERE_FIRST) {
		ret->number = column == OFFSET ? w->offset : w->word;
	} else if (column == AFTER) {
		ret->truth = true;
		ret->state = w->offset >= w->end ? CELL_KNOWN : CELL_ABSENT;
	} else {
		where_cell(
			w->page->scan, &w->where, (enum where_column)(column - WHERE_FIRST), ret);
	}
}

static const struct table_type word_type = {.name = "words",
	.says = "a row a word; of `refs` only those that point somewhere",
	.columns = columns,
	.cell = heap_words_cell_of,
	.row_text = heap_words_row_text};

static struct error *put_word(struct words *w, uint64_t offset, uint64_t word)
{
	w->where = (struct heap_where){.kind = HEAP_WHERE_NOWHERE};
	struct error *error = word ? heap_where(w->page->scan, word, &w->where) : NULL;
	if (error)
		return error;
	bool is_false = false_words_take(&w->false_words, word);
	bool leads_nowhere = w->where.kind == HEAP_WHERE_NOWHERE || offset >= w->end || is_false;
	if (!w->left || (w->wanted == WANT_POINTERS && leads_nowhere))
		return NULL;
	const struct table table = {&word_type, w, 1, .limit = TABLE_NO_LIMIT};
	w->left--;
	w->offset = offset;
	w->word = word;
	answer_row(w->answer, &table, 0);
	return NULL;
}

static struct error *put_words(struct words *w)
{
	uint64_t words[PIECE_BYTES / 8];
	struct error *error = NULL;
	for (uint64_t at = 0; at + 8 <= w->size && !error && w->left;) {
		uint64_t left = w->size - at;
		size_t wanted = left < PIECE_BYTES ? (size_t)left & ~7ul : PIECE_BYTES;
		size_t got =
			address_space_read(w->page->scan->heap.space, w->start + at, words, wanted);
		for (size_t i = 0; i < got / 8 && !error; i++)
			error = put_word(w, at + 8 * i, words[i]);
		if (got < wanted)
			break;
		at += got;
	}
	return error;
}

static void block_text(const void *context, size_t row, struct text *out)
{
	const struct words *w = context;
	const struct heap_scan *s = w->page->scan;
	const struct heap_type *type = &s->types.types.data[heap_scan_type_of(s, w->block)];
	enum search_heuristic heuristic = search_heuristic_of(s->search, w->block);
	const char *by = inferred_basis_name(s, w->block);
	(void)row;
	text_printf(out, "block 0x%" PRIx64 ": %" PRIu64 " bytes, %s%s%s, ", w->start, w->size,
		kinds[search_kind(s->search, w->block)], heuristic ? " by " : "",
		heuristic ? heuristic_name(heuristic) : "");
	text_add_shown(out, type->name, 200);
	texts_add_quoted(s, w->block, out);
	text_printf(
		out, " (%s%s%s)", heap_type_kind_name(type->kind), by ? ", " : "", by ? by : "");
	if (w->has_layout)
		heap_layout_add_extent(&w->layout, out);
	pools_add_evidence(s, w->block, out);
	text_add_char(out, '\n');
}

enum { BLOCK_TEXT = 4, BLOCK_LEAK, BLOCK_HEURISTIC };
static const struct column block_columns[] = {HEAP_BLOCK_COLUMNS, HEAP_BLOCK_BASIS_COLUMN,
	[BLOCK_TEXT] = {"block_text", COLUMN_TEXT, .optional = true,
		.says = "of texts: the first characters"},
	[BLOCK_LEAK] = {"leak", COLUMN_TEXT,
		.says = "`definite`, `indirect`, `possible` or `reachable`"},
	[BLOCK_HEURISTIC] = {"heuristic", COLUMN_TEXT, .optional = true,
		.says = "that alone finds it referenced (docs/heap.md)"},
	COLUMNS_END};

static void heap_words_block_cell(
	const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct words *w = context;
	const struct heap_scan *s = w->page->scan;
	(void)row;
	if (column < BLOCK_TEXT) {
		heap_block_cell(s, w->block, column, ret);
	} else if (column == BLOCK_TEXT) {
		texts_add_beginning(s, w->block, NULL, 0, TEXTS_BEGINNING_BYTES, &ret->built);
		cell_take_any(ret);
	} else {
		ret->text = column == BLOCK_LEAK
				    ? kinds[search_kind(s->search, w->block)]
				    : heuristic_name(search_heuristic_of(s->search, w->block));
	}
	if (block_columns[column].optional && !ret->text)
		ret->state = CELL_ABSENT;
}

static const struct table_type block_type = {.says = "The block",
	.columns = block_columns,
	.cell = heap_words_block_cell,
	.row_text = block_text};

#define WORDS_TABLES                                                                               \
	(const struct table_type *const[])                                                         \
	{                                                                                          \
		HEAP_HEAD_TYPES, &block_type, HEAP_EXTENT_TYPES, &heap_allocation_type,            \
			&word_type, NULL                                                           \
	}
const struct answer_type heap_words_type = {
	HEAP_ANSWER("words", " words ADDR", "every word of a block, and what it is"),
	.tables = WORDS_TABLES, .main = &word_type};
const struct answer_type heap_refs_type = {
	HEAP_ANSWER("refs", " refs ADDR", "what a block points at"), .tables = WORDS_TABLES,
	.main = &word_type};
const struct answer_type heap_block_type = {
	HEAP_ANSWER(
		"block", " block ADDR", "what a block is, and where a recording has it allocated"),
	.tables = (const struct table_type *const[]){HEAP_HEAD_TYPES, &block_type,
		HEAP_EXTENT_TYPES, &heap_allocation_type, NULL},
	.main = &block_type};

static struct error *heap_words_lay_out(struct words *w)
{
	static const struct answer_type *const types[] = {[WANT_NONE] = &heap_block_type,
		[WANT_POINTERS] = &heap_refs_type,
		[WANT_ALL] = &heap_words_type};
	const struct table words = {&word_type, w, 1, .limit = TABLE_NO_LIMIT};
	answer_begin(w->answer, types[w->wanted]);
	heap_head_answer(w->answer, w->page->scan);
	answer_record_of(w->answer, &block_type, w);
	heap_extent_answer(w->answer, w->page->scan, w->block, w->has_layout ? &w->layout : NULL);
	struct error *error = heap_allocation_answer(w->page, w->start, w->size, w->answer);
	if (!error && w->wanted) {
		answer_table_begin(w->answer, &words);
		error = put_words(w);
		answer_table_end(w->answer, &words);
	}
	return error ? error : answer_end(w->answer);
}

/* Where the block ends as far as that is known: by its recording, or by its type. */
static uint64_t heap_words_end_of(const struct words *w, uint32_t block)
{
	const struct heap_scan *s = w->page->scan;
	const struct live_block *known =
		w->page->joined ? joined_find(w->page->joined, w->start, w->size) : NULL;
	if (known)
		return known->size;
	bool ends = block_slack_is_cut(s, block);
	return ends && w->has_layout && !w->layout.is_array ? w->layout.size : w->size;
}

static struct error *write_words(
	const struct heap_page *page, uint64_t address, enum wanted wanted, const struct sink *sink)
{
	uint32_t block;
	struct error *error = heap_where_block(page->scan, address, &block);
	if (error)
		return error;
	struct words w = {.page = page,
		.block = block,
		.start = search_block_address(page->scan->search, block),
		.size = search_block_size(page->scan->search, block),
		.left = page->limit == VIEW_DEFAULT_LIMIT ? SIZE_MAX : page->limit,
		.wanted = wanted};
	w.is_thread_local = thread_locals_owner(page->scan, block) != 0;
	w.has_layout = heap_layout_of(page->scan, block, &w.layout);
	w.is_pool = pools_find(&page->scan->pools, block);
	w.end = heap_words_end_of(&w, block);
	error = false_pointers_find(page->scan, NULL);
	if (error)
		return error;
	w.false_words = false_words_of(page->scan, block);
	w.answer = heap_answer_create(page, sink);
	error = w.answer ? heap_words_lay_out(&w) : error_no_memory();
	answer_destroy(w.answer);
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
