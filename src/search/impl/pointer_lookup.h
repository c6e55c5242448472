/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks up words that may point to blocks, in batches, so that the processor waits for many loads
 * at once. Words that do point to a block become edges of a graph, or roots. */
#ifndef SEARCH_POINTER_LOOKUP_H
#define SEARCH_POINTER_LOOKUP_H

#include "search/graph.h"

#define POINTER_LOOKUP_WORDS 1024u

struct pointer_lookup {
	struct graph *graph;
	bool is_root;
	uint32_t root;
	/* The next block, and the first one of another part; blocks before have their first edge.
	 */
	uint32_t block, block_end;
	uint32_t head;   /* first edge of the block before `block` */
	uint32_t begins; /* the first block of this part */
	/* If this part begins within a row: the first edges of its blocks in that row. */
	uint32_t beginning[GRAPH_ROW];
	struct space_u32 far, far_rows; /* as graph.far, and the rows whose edges are there */
	bool is_far;                    /* the current row is one of these */
	struct space_u32 edges;
	uint32_t first_edge; /* number of edges.data[0] */
	struct graph_interiors interiors;
	bool is_borrowed; /* edges.data belongs to another one, and has room for all edges */
	uint32_t count;   /* of the words that were not looked up yet */
	uint64_t values[POINTER_LOOKUP_WORDS];
	/* Of each word the number of its block, or the address of a root's word. */
	uint64_t places[POINTER_LOOKUP_WORDS];
};

/* Creates a lookup that adds to `graph` (borrowed). Returns NULL if there is no memory. */
struct pointer_lookup *pointer_lookup_new(struct graph *graph);
void pointer_lookup_free(struct pointer_lookup *lookup);

/* Looks up all words that were added and not looked up yet. Returns false if there is no memory. */
bool pointer_lookup_flush(struct pointer_lookup *lookup) must_check_;
/* Looks up the last words and gives the remaining blocks their first edge. After the heap's last
 * block one more first edge is set, as the end. Returns false if there is no memory. */
bool pointer_lookup_finish(struct pointer_lookup *lookup) must_check_;

/* Returns the number that the next edge gets. */
static inline uint32_t pointer_lookup_next_edge(const struct pointer_lookup *lookup)
{
	return lookup->first_edge + (uint32_t)lookup->edges.len;
}

/* Adds a word with the given value. `place` is the number of the block that it is in, or the
 * address of a root's word. Blocks come in ascending order. Returns false if there is no memory. */
static inline bool pointer_lookup_add(struct pointer_lookup *lookup, uint64_t value, uint64_t place)
{
	const struct space *space = lookup->graph->space;
	/* `high` itself is let through: the last block may be an empty array, whose pointers lead
	 * to its end. */
	if (__builtin_expect(value - space->low > space->high - space->low, 1))
		return true;
	lookup->values[lookup->count] = value;
	lookup->places[lookup->count++] = place;
	return lookup->count < POINTER_LOOKUP_WORDS || pointer_lookup_flush(lookup);
}

static inline void pointer_lookup_cleanup(struct pointer_lookup **lookup)
{
	pointer_lookup_free(*lookup);
}

#endif
