/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A large heap's blocks are gone through in two parts, by two threads. */
#ifndef SEARCH_PARTS_H
#define SEARCH_PARTS_H

#include "search/batch.h"
#include "search/sweep.h"
#include "search/told.h"

struct graph_part {
	struct batch *batch;   /* knows which blocks */
	struct sweep sweep;    /* of their memory; or */
	struct told_walk told; /* of their words */
};

/* The first part gets all blocks. False: no memory. */
bool graph_parts_open(struct graph *graph, struct graph_part parts[2]);
void graph_parts_close(struct graph_part parts[2]);

/*
 * Lets the second part begin with a block (not 0): its edges stand `room` behind the first one's,
 * in graph->edges, which has been reserved.
 */
void graph_parts_split(
	struct graph *graph, struct graph_part parts[2], uint32_t block, size_t room);

/* Calls for each part, both at a time if there are two, and puts together what was found. False, as
 * of the function: no memory. */
bool graph_parts_run(struct graph *graph, struct graph_part parts[2],
	bool (*go_through)(struct graph_part *part)) must_check_;

#endif
