/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What lies in the heap of a core or a process, as text and as JSON "heapwise.heap/1"
 * (docs/schema/heap-1.md).
 */
#ifndef VIEWS_HEAP_VIEW_H
#define VIEWS_HEAP_VIEW_H

#include "heap/survey.h"
#include "model/joined.h"
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
	size_t limit; /* rows of tables; VIEW_DEFAULT_LIMIT */
};

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
