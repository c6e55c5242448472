/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "search/batch.h"

#include <stdlib.h>

/* So far ahead what is needed of them is fetched: as much as a processor can fetch at a time. */
#define AHEAD_REGION 32u
#define AHEAD 16u

struct batch *batch_new(struct graph *graph)
{
	struct batch *batch = calloc(1, sizeof(*batch));
	if (batch)
		batch->graph = graph;
	return batch;
}

void batch_free(struct batch *batch)
{
	if (!batch)
		return;
	if (!batch->is_lent)
		space_u32_deinit(&batch->edges);
	graph_interiors_deinit(&batch->interiors);
	free(batch);
}

static void heads_up_to(struct batch *b, uint32_t block)
{
	uint32_t *heads = b->graph->heads.data;
	for (; b->block <= block; b->block++)
		heads[b->block] = batch_next_edge(b);
}

static bool add_root(struct batch *b, uint64_t place, uint32_t edge, uint32_t offset)
{
	return graph_roots_push(
		&b->graph->roots, (struct graph_root){place, edge, b->root, offset, false});
}

static bool add_edge(struct batch *b, uint32_t source, uint32_t edge, uint32_t offset)
{
	heads_up_to(b, source);
	if (GRAPH_BLOCK(edge) == source)
		return true;
	uint32_t number = batch_next_edge(b);
	if (number > b->graph->heads.data[source] && b->edges.data[b->edges.len - 1] == edge &&
		!offset)
		return true;
	if (number == UINT32_MAX)
		return false;
	struct graph_interior interior = {number, offset};
	return space_u32_push(&b->edges, edge) &&
	       (!offset || graph_interiors_push(&b->interiors, interior));
}

/* The number of elements before an array of a class with a destructor (Itanium C++ ABI, 2.7). */
#define COOKIE_BYTES 8u

/* The block that an array without elements is all of, by the address behind it; or SPACE_NONE. */
static uint32_t find_empty_array(const struct graph *graph, uint64_t behind)
{
	const struct search_memory *memory = graph->memory;
	uint64_t distance, number, address = behind - COOKIE_BYTES;
	if (!graph->is_array || behind % 16 != COOKIE_BYTES || address < graph->space->low)
		return SPACE_NONE;
	uint32_t block = space_find(graph->space, address, &distance);
	if (block == SPACE_NONE || distance || space_size(graph->space, block) != COOKIE_BYTES ||
		!graph->is_array(graph->is_array_context, block) ||
		memory->read(memory->context, address, &number, sizeof(number)) != sizeof(number) ||
		number)
		return SPACE_NONE;
	return block;
}

bool batch_look_up(struct batch *batch)
{
	struct batch *b = batch;
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

bool batch_finish(struct batch *batch)
{
	if (!batch_look_up(batch))
		return false;
	heads_up_to(batch, batch->block_end - 1);
	return true;
}
