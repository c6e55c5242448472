/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers about the heap of a core or a process: each lays out its tables with the form that it is
 * given. docs/schema/heap-*.md is made from the columns.
 */
#ifndef VIEWS_HEAP_ANSWERS_H
#define VIEWS_HEAP_ANSWERS_H

#include "table/answer.h"
#include "table/select.h"
#include "views/heap_view.h"

/* What all of them were called in one release. */
#define HEAP_SCHEMA_BEFORE "heapwise.heap/1"

/* Rows of a table: none if only their number is asked for. */
static inline size_t heap_page_limit(
	const struct heap_page *page, const struct answer *answer, size_t brief)
{
	return page->rows->count_only ? 0 : answer_limit(answer, page->limit, brief);
}

/* A view of the heap: fails before it has begun an answer, or with answer_end(). */
typedef struct error *heap_answer_fn(const struct heap_page *page, struct answer *answer);

/* Lays an answer out as the page wants it. */
struct error *heap_answer_write(
	const struct heap_page *page, heap_answer_fn *ask, const struct sink *sink) must_check_;

/* A verdict, what is in use and free, the largest types, what leaked. */
heap_answer_fn heap_summary_answer;
/* The table of types alone, by bytes. */
heap_answer_fn heap_types_answer;
/* The form that a page wants; NULL: no memory. answer_destroy() it. */
struct answer *heap_answer_create(
	const struct heap_page *page, const struct sink *sink) must_check_;

/* Every block: address, size, state, kind of leak, type. */
heap_answer_fn heap_blocks_answer;
/* What globals, stacks and blocks retain. */
heap_answer_fn heap_dominators_answer;
/* Free memory of each arena, and what keeps pages of it from being given back. */
heap_answer_fn heap_fragments_answer;
/* All mappings, and what they are for: by kind, then one by one. */
heap_answer_fn heap_maps_answer;
/* Blocks without pointers that nothing points at: their contents and neighbours. */
heap_answer_fn heap_isolated_answer;
/* The call stack of each thread. */
heap_answer_fn heap_threads_answer;

/* Adds a place with damage as a sentence without an end: "damage at 0x55…: …, 48 bytes were passed
 * over". */
void heap_damage_describe(const struct heap_damage *damage, struct text *out);

/* All kinds of documents, for their schemas; NULL ends them. */
extern const struct answer_type *const heap_answer_types[];
extern const struct answer_type heap_blocks_type, heap_dominators_type, heap_fragments_type,
	heap_block_type, heap_candidates_type, heap_layout_type, heap_show_type, heap_why_type,
	heap_holders_type, heap_pool_type, heap_find_type, heap_follow_type, heap_refs_type,
	heap_words_type, heap_maps_type, heap_isolated_type, heap_hexdump_type, heap_python_type,
	heap_strings_type, heap_summary_type, heap_threads_type, heap_types_type;

#endif
