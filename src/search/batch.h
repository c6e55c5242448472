/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words that may point to blocks are looked up in batches, so that the processor waits for many at
 * once; what they lead to becomes edges of a graph, or roots. */
#ifndef SEARCH_BATCH_H
#define SEARCH_BATCH_H

#include "search/graph.h"

#define BATCH_WORDS 1024u

struct batch {
	struct graph *graph;
	bool is_root;
	uint32_t root;
	uint32_t block, block_end; /* whose words come; the first edges of those before are known */
	uint32_t head;             /* of the last of those: its first edge */
	uint32_t begins;           /* the first of them */
	uint32_t beginning[GRAPH_ROW];  /* first edges of its row, as far as another batch has some
					 * of that */
	struct space_u32 far, far_rows; /* as in the graph, and of which rows */
	bool is_far;                    /* the row of the last of those is */
	struct space_u32 edges;
	uint32_t first_edge; /* number of edges.data[0] */
	struct graph_interiors interiors;
	bool is_lent; /* edges.data is another's, and has room for all there can be */
	uint32_t count;
	uint64_t values[BATCH_WORDS];
	uint64_t places[BATCH_WORDS]; /* a block's number, or the address of a root's word */
};

/* NULL: no memory. */
struct batch *batch_new(struct graph *graph);
void batch_free(struct batch *batch);

/* Looks up what was taken. False: no memory. */
bool batch_look_up(struct batch *batch) must_check_;
/* The same, at the end of its blocks: all have their first edge then; behind the last block of all
 * one more begins. */
bool batch_finish(struct batch *batch) must_check_;

/* The number that the next edge gets. */
static inline uint32_t batch_next_edge(const struct batch *batch)
{
	return batch->first_edge + (uint32_t)batch->edges.len;
}

/* Blocks come in order. False: no memory. */
static inline bool batch_take(struct batch *batch, uint64_t value, uint64_t place)
{
	const struct space *space = batch->graph->space;
	/* The last block may be an empty array that somebody points behind. */
	if (__builtin_expect(value - space->low > space->high - space->low, 1))
		return true;
	batch->values[batch->count] = value;
	batch->places[batch->count++] = place;
	return batch->count < BATCH_WORDS || batch_look_up(batch);
}

static inline void batch_cleanup(struct batch **batch)
{
	batch_free(*batch);
}

#endif
