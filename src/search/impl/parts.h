/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Goes through the blocks of a large heap in two parts, by two threads. */
#ifndef SEARCH_PARTS_H
#define SEARCH_PARTS_H

#include "search/impl/candidate_words.h"
#include "search/impl/pointer_lookup.h"
#include "search/impl/scan_reader.h"

struct graph_part {
	struct pointer_lookup *lookup;    /* knows which blocks */
	struct scan_reader reader;        /* of their memory; or */
	struct candidate_walk candidates; /* of their words */
};

/* Opens both parts; the first one gets all blocks. Returns false if there is no memory. */
bool graph_parts_open(struct graph *graph, struct graph_part parts[2]);
void graph_parts_close(struct graph_part parts[2]);

/*
 * Lets the second part begin with `block` (not 0). Its edges begin `room` entries after the first
 * part's in graph->edges, which has been reserved.
 */
void graph_parts_split(
	struct graph *graph, struct graph_part parts[2], uint32_t block, size_t room);

/* Calls go_through() for each part, in two threads if there are two parts, and joins the results.
 * Returns false, as go_through() does, if there is no memory. */
bool graph_parts_run(struct graph *graph, struct graph_part parts[2],
	bool (*go_through)(struct graph_part *part)) must_check_;

#endif
