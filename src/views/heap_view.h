/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What answers about the heap of a core or a process are given: what is asked of whom. */
#ifndef VIEWS_HEAP_VIEW_H
#define VIEWS_HEAP_VIEW_H

#include "heap/block_filter.h"
#include "heap/heap_scan.h"
#include "model/joined.h"
#include "table/select.h"
#include "views/views.h"

struct heap_page {
	struct heap_scan *scan;    /* typed and judged */
	const struct model *model; /* made of it */
	const struct address_space *space;
	struct heap_names *names;    /* of functions */
	const struct joined *joined; /* with its recording; NULL: there is none */
	const char *name;            /* the core's path, or the process's number */
	uint64_t pause_ns;           /* for which a process stood still; 0: none did */
	const struct process_maps *maps_before;
	const struct process_map_usage *usage; /* of those maps; NULL: not known */
	bool json, csv, colour;
	bool json_before;                       /* documents are called as in the release before */
	size_t limit;                           /* rows of tables; VIEW_DEFAULT_LIMIT */
	const struct heap_block_filter *chosen; /* which blocks are wanted */
	const struct table_asked *rows;         /* which rows of the table, in which order */
	unsigned leak_kinds; /* bit set of enum search_kind, of leaks; 0: as usual */
	bool raw;            /* what the library keeps is shown as its members */
	/* Increased by how many rows of tables the limit left out; NULL: nobody asks. */
	size_t *left_out;
};

/* Whether blocks or rows were asked for: then it is said how many match. */
static inline bool heap_page_is_choosy(const struct heap_page *page)
{
	return page->chosen->is_asked || page->rows->where.len || page->rows->count_only;
}

#endif
