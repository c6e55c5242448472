/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What lies in the heap of a core or a process, as text and as JSON "heapwise.heap/1"
 * (docs/schema/heap-1.md).
 */
#ifndef VIEWS_HEAP_VIEW_H
#define VIEWS_HEAP_VIEW_H

#include "heap/chosen.h"
#include "heap/survey.h"
#include "model/joined.h"
#include "views/heap_rows.h"
#include "views/views.h"

struct heap_page {
	struct survey *survey;       /* typed and judged */
	const struct model *model;   /* made of it */
	const struct joined *joined; /* with its recording; NULL: there is none */
	const char *name;            /* the core's path, or the process's number */
	uint64_t pause_ns;           /* for which a process stood still; 0: none did */
	const struct process_maps *maps_before;
	const struct process_map_usage *usage; /* of those maps; NULL: not known */
	bool json, colour;
	size_t limit;                     /* rows of tables; VIEW_DEFAULT_LIMIT */
	const struct heap_chosen *chosen; /* which blocks are wanted */
	const struct rows_asked *rows;    /* which rows of the table, in which order */
	unsigned leak_kinds;              /* bit set of enum search_kind, of leaks; 0: as usual */
	bool raw;                         /* what the library keeps is shown as its members */
};

/* Whether blocks or rows were asked for: then it is said how many match. */
static inline bool heap_page_is_choosy(const struct heap_page *page)
{
	return page->chosen->is_asked || page->rows->where.len || page->rows->count_only;
}

/* Adds "1,234 blocks, 5.6 MiB match". */
void heap_matched_text(struct text *out, uint64_t blocks, uint64_t bytes);
/* "matched": {"blocks": …, "bytes": …} */
struct json;
void heap_matched_put(struct json *json, uint64_t blocks, uint64_t bytes);
/* The same of rows of a table that has no blocks: "3 rows match", "matched": {"rows": …}. */
void heap_matched_rows_text(struct text *out, uint64_t rows);
void heap_matched_rows_put(struct json *json, uint64_t rows);

/* A verdict, what is in use and free, the largest types, what leaked. */
struct error *heap_summary_write(const struct heap_page *page, const struct sink *sink) must_check_;
/* The table of types alone, by bytes. */
struct error *heap_types_write(const struct heap_page *page, const struct sink *sink) must_check_;
/* Every block: address, size, state, kind of leak, type. */
struct error *heap_blocks_write(const struct heap_page *page, const struct sink *sink) must_check_;
/* Blocks without pointers that nothing points at: their contents and neighbours. */
struct error *heap_alone_write(const struct heap_page *page, const struct sink *sink) must_check_;
/* Free memory of each arena, and what keeps pages of it from being given back. */
struct error *heap_fragments_write(
	const struct heap_page *page, const struct sink *sink) must_check_;

/* What globals, stacks and blocks retain. */
struct error *heap_dominators_write(
	const struct heap_page *page, const struct sink *sink) must_check_;

/* All mappings, and what they are for: by kind, then one by one. */
struct error *heap_maps_write(const struct heap_page *page, const struct sink *sink) must_check_;

/* The call stack of each thread. */
struct error *heap_threads_write(const struct address_space *space, struct heap_names *names,
	bool as_json, const struct sink *sink) must_check_;

#endif
