/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "search/impl/pointer_lookup.h"

#include <stdlib.h>

/* How many words ahead memory is prefetched: as much as a processor can fetch at a time. */
#define AHEAD_REGION 32u
#define AHEAD 16u

struct pointer_lookup *pointer_lookup_new(struct graph *graph)
{
	struct pointer_lookup *lookup = calloc(1, sizeof(*lookup));
	if (lookup)
		lookup->graph = graph;
	return lookup;
}

void pointer_lookup_free(struct pointer_lookup *lookup)
{
	if (!lookup)
		return;
	if (!lookup->is_borrowed)
		space_u32_deinit(&lookup->edges);
	graph_interiors_deinit(&lookup->interiors);
	space_u32_deinit(&lookup->far);
	space_u32_deinit(&lookup->far_rows);
	free(lookup);
}

/* Keeps the first edges of a row in full from here on. */
static bool keep_far(struct pointer_lookup *b, uint32_t row)
{
	struct graph *graph = b->graph;
	size_t at = b->far.len;
	if (!space_u32_reserve(&b->far, at + GRAPH_ROW) || !space_u32_push(&b->far_rows, row))
		return false;
	b->far.len += GRAPH_ROW;
	for (uint32_t i = 0; i < GRAPH_ROW; i++) {
		uint32_t block = row * GRAPH_ROW + i;
		bool is_known = block < b->block;
		b->far.data[at + i] =
			is_known ? graph->rows.data[row] + graph->heads.data[block] : 0;
		if (is_known)
			graph->heads.data[block] = GRAPH_FAR;
	}
	graph->rows.data[row] = (uint32_t)at;
	b->is_far = true;
	return true;
}

/* Sets the first edge of a block. */
static inline bool put_head(struct pointer_lookup *b, uint32_t block, uint32_t edge)
{
	struct graph *graph = b->graph;
	uint32_t row = block / GRAPH_ROW, at = block % GRAPH_ROW;
	b->head = edge;
	if (row == b->begins / GRAPH_ROW && b->begins % GRAPH_ROW) {
		b->beginning[at] = edge;
		return true;
	}
	if (!at) {
		graph->rows.data[row] = edge;
		b->is_far = false;
	} else if (!b->is_far && edge - graph->rows.data[row] >= GRAPH_FAR && !keep_far(b, row)) {
		return false;
	}
	if (b->is_far)
		b->far.data[graph->rows.data[row] + at] = edge;
	graph->heads.data[block] = b->is_far ? GRAPH_FAR : (uint16_t)(edge - graph->rows.data[row]);
	return true;
}

static inline bool put_heads(struct pointer_lookup *b, uint32_t block)
{
	bool ok = true;
	for (; b->block <= block && ok; b->block++)
		ok = put_head(b, b->block, pointer_lookup_next_edge(b));
	return ok;
}

static bool add_root(struct pointer_lookup *b, uint64_t place, uint32_t edge, uint32_t offset)
{
	return graph_roots_push(
		&b->graph->roots, (struct graph_root){place, edge, b->root, offset, false});
}

static bool add_edge(struct pointer_lookup *b, uint32_t source, uint32_t edge, uint32_t offset)
{
	if (!put_heads(b, source))
		return false;
	if (GRAPH_BLOCK(edge) == source)
		return true;
	uint32_t number = pointer_lookup_next_edge(b);
	if (number > b->head && b->edges.data[b->edges.len - 1] == edge && !offset)
		return true;
	if (number == UINT32_MAX)
		return false;
	struct graph_interior interior = {number, offset};
	return space_u32_push(&b->edges, edge) &&
	       (!offset || graph_interiors_push(&b->interiors, interior));
}

/* The number of elements before an array of a class with a destructor (Itanium C++ ABI, 2.7). */
#define COOKIE_BYTES 8u

/* Returns the block that is an array without elements and ends at the address `after`; SPACE_NONE
 * if there is none. */
static uint32_t find_empty_array(const struct graph *graph, uint64_t after)
{
	const struct search_memory *memory = graph->memory;
	uint64_t distance, number, address = after - COOKIE_BYTES;
	if (!graph->is_array || after % 16 != COOKIE_BYTES || address < graph->space->low)
		return SPACE_NONE;
	uint32_t block = space_find(graph->space, address, &distance);
	if (block == SPACE_NONE || distance || space_size(graph->space, block) != COOKIE_BYTES ||
		!graph->is_array(graph->is_array_context, block) ||
		memory->read(memory->context, address, &number, sizeof(number)) != sizeof(number) ||
		number)
		return SPACE_NONE;
	return block;
}

bool pointer_lookup_flush(struct pointer_lookup *lookup)
{
	struct pointer_lookup *b = lookup;
	const struct space *space = b->graph->space;
	for (uint32_t i = 0; i < b->count; i++) {
		if (i + AHEAD_REGION < b->count)
			space_prefetch_region(space, b->values[i + AHEAD_REGION]);
		if (i + AHEAD < b->count)
			space_prefetch(space, b->values[i + AHEAD]);
		uint64_t distance = COOKIE_BYTES;
		uint32_t block = b->values[i] < space->high
					 ? space_find(space, b->values[i], &distance)
					 : SPACE_NONE;
		if (block == SPACE_NONE) {
			distance = COOKIE_BYTES;
			block = find_empty_array(b->graph, b->values[i]);
		}
		if (block == SPACE_NONE)
			continue;
		uint32_t offset = distance < UINT32_MAX ? (uint32_t)distance : UINT32_MAX;
		uint32_t edge = block | (offset ? GRAPH_INTERIOR : 0);
		bool ok = b->is_root ? add_root(b, b->places[i], edge, offset)
				     : add_edge(b, (uint32_t)b->places[i], edge, offset);
		if (!ok)
			return false;
	}
	b->count = 0;
	return true;
}

bool pointer_lookup_finish(struct pointer_lookup *lookup)
{
	bool is_last = lookup->block_end == space_count(lookup->graph->space);
	return pointer_lookup_flush(lookup) && put_heads(lookup, lookup->block_end - !is_last);
}
