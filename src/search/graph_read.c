/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a heap's memory, and roots'. */
#include <string.h>

#include "search/parts.h"

/*
 * The words of [address, end). A block's words all have its number as their place, a root's their
 * address.
 */
static bool take_memory(struct batch *batch, struct sweep *sweep, uint64_t address, uint64_t end,
	uint64_t readable, uint64_t place)
{
	struct sweep_piece piece;
	unsigned step = sweep->step;
	while (sweep_next(sweep, &address, end, readable, &piece)) {
		for (size_t i = 0; i + 8 <= piece.len; i += step) {
			uint64_t value;
			memcpy(&value, piece.bytes + i, 8);
			if (!batch_take(batch, value, batch->is_root ? piece.address + i : place))
				return false;
		}
	}
	return true;
}

/* Where the blocks that stand close together after `walk` end, within reason. */
static uint64_t readable_until(const struct space_walk *walk, uint64_t address)
{
	const struct space *space = walk->space;
	const struct space_region *r = &space->regions.data[walk->region],
				  *end = space->regions.data + space->regions.len;
	while (r + 1 < end && r[1].count && r[1].key == r->key + 1 &&
		((uint64_t)r->key << SPACE_REGION_BITS) < address + SWEEP_WINDOW_BYTES)
		r++;
	uint32_t last = r->first + r->count - 1;
	return ((uint64_t)r->key << SPACE_REGION_BITS) + space->offsets.data[last] +
	       space_size(space, last);
}

static bool read_blocks(struct graph_part *part)
{
	struct batch *batch = part->batch;
	const struct space *space = batch->graph->space;
	struct space_walk walk = {space, space_region_of(space, batch->block), batch->block};
	for (; walk.block < batch->block_end; walk.block++) {
		uint64_t address = space_walk_address(&walk);
		uint64_t end = address + space_size(space, walk.block);
		uint64_t readable = end > part->sweep.end ? readable_until(&walk, address) : end;
		if (!take_memory(batch, &part->sweep, address, end, readable, walk.block))
			return false;
	}
	return batch_finish(batch);
}

/* Where the second half of the blocks' bytes begins, and how many bytes there are before. */
static uint32_t middle(const struct space *space, uint64_t *ret_bytes, uint64_t *ret_before)
{
	uint64_t all = 0, before = 0;
	uint32_t count = space_count(space), block = 0;
	for (uint32_t i = 0; i < count; i++)
		all += space_size(space, i);
	for (; block + 1 < count && before < all / 2; block++)
		before += space_size(space, block);
	*ret_bytes = all;
	*ret_before = before;
	return block;
}

/* From so many bytes on a second thread is worth it. */
#define BESIDE_BYTES (2ull << 20)

/* If there is enough to read, and room for all edges that there can be: of that only what is used
 * is ever there. */
static void split(struct graph *graph, struct graph_part parts[2])
{
	uint64_t bytes, before;
	uint32_t block = middle(graph->space, &bytes, &before);
	uint64_t words = bytes / graph->alignment + 2;
	if (bytes >= (graph->beside_bytes ? graph->beside_bytes : BESIDE_BYTES) && block &&
		words < UINT32_MAX && space_u32_reserve(&graph->edges, words))
		graph_parts_split(graph, parts, block, before / graph->alignment + 1);
}

struct error *graph_read_blocks(struct graph *graph)
{
	struct graph_part parts[2];
	bool ok = graph_parts_open(graph, parts) &&
		  sweep_open(graph->memory, graph->alignment, &parts[0].sweep) &&
		  sweep_open(graph->memory, graph->alignment, &parts[1].sweep);
	if (ok) {
		split(graph, parts);
		ok = graph_parts_run(graph, parts, read_blocks);
	}
	graph_parts_close(parts);
	return ok ? NULL : error_no_memory();
}

struct error *graph_read_root(struct graph *graph, uint64_t start, uint64_t end, uint32_t root)
{
	__attribute__((cleanup(batch_cleanup))) struct batch *batch = batch_new(graph);
	__attribute__((cleanup(sweep_close))) struct sweep sweep;
	if (!sweep_open(graph->memory, graph->alignment, &sweep) || !batch)
		return error_no_memory();
	batch->is_root = true;
	batch->root = root;
	graph->root_bytes += end - start;
	bool ok = take_memory(batch, &sweep, start, end, end, 0) && batch_look_up(batch);
	graph->unread_bytes += sweep.unread_bytes;
	return ok ? NULL : error_no_memory();
}

struct error *graph_take_values(
	struct graph *graph, const uint64_t *values, size_t count, uint32_t root)
{
	__attribute__((cleanup(batch_cleanup))) struct batch *batch = batch_new(graph);
	if (!batch)
		return error_no_memory();
	batch->is_root = true;
	batch->root = root;
	for (size_t i = 0; i < count; i++) {
		if (!batch_take(batch, values[i], i))
			return error_no_memory();
	}
	return batch_look_up(batch) ? NULL : error_no_memory();
}
