/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the graph by reading the memory of blocks and roots. */
#include <string.h>

#include "search/impl/parts.h"

/*
 * Looks up the words of [address, end). The place of a block's word is the block's number, that of
 * a root's word its address.
 */
static bool look_up_memory(struct pointer_lookup *lookup, struct scan_reader *reader,
	uint64_t address, uint64_t end, uint64_t readable, uint64_t place)
{
	struct scan_piece piece;
	unsigned step = reader->step;
	while (scan_next(reader, &address, end, readable, &piece)) {
		for (size_t i = 0; i + 8 <= piece.len; i += step) {
			uint64_t value;
			memcpy(&value, piece.bytes + i, 8);
			if (!pointer_lookup_add(
				    lookup, value, lookup->is_root ? piece.address + i : place))
				return false;
		}
	}
	return true;
}

/* Returns where the blocks that lie close together after `walk` end, within about one window. */
static uint64_t readable_until(const struct space_walk *walk, uint64_t address)
{
	const struct space *space = walk->space;
	const struct space_region *r = &space->regions.data[walk->region],
				  *end = space->regions.data + space->regions.len;
	while (r + 1 < end && r[1].count && r[1].key == r->key + 1 &&
		((uint64_t)r->key << SPACE_REGION_BITS) < address + SCAN_WINDOW_BYTES)
		r++;
	uint32_t last = r->first + r->count - 1;
	return ((uint64_t)r->key << SPACE_REGION_BITS) + space->offsets.data[last] +
	       space_size(space, last);
}

static bool look_up_blocks(struct graph_part *part)
{
	struct pointer_lookup *lookup = part->lookup;
	const struct space *space = lookup->graph->space;
	struct space_walk walk = {space, space_region_of(space, lookup->block), lookup->block};
	for (; walk.block < lookup->block_end; walk.block++) {
		uint64_t address = space_walk_address(&walk);
		uint64_t end = address + space_size(space, walk.block);
		uint64_t readable = end > part->reader.end ? readable_until(&walk, address) : end;
		if (!look_up_memory(lookup, &part->reader, address, end, readable, walk.block))
			return false;
	}
	return pointer_lookup_finish(lookup);
}

/* Returns the block at which the second half of all blocks' bytes begins, and how many bytes there
 * are in all and before it. */
static uint32_t find_middle_block(
	const struct space *space, uint64_t *ret_bytes, uint64_t *ret_before)
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

/* Bytes from which a second thread is worth it. */
#define BESIDE_BYTES (2ull << 20)

/* Splits the blocks between two threads, if there is enough to read, and address space for all
 * edges that there can be. Of that memory only what is used is ever touched. */
static void split_blocks(struct graph *graph, struct graph_part parts[2])
{
	uint64_t bytes, before;
	uint32_t block = find_middle_block(graph->space, &bytes, &before);
	uint64_t words = bytes / graph->alignment + 2;
	if (bytes >= (graph->beside_bytes ? graph->beside_bytes : BESIDE_BYTES) && block &&
		words < UINT32_MAX && space_u32_reserve(&graph->edges, words))
		graph_parts_split(graph, parts, block, before / graph->alignment + 1);
}

struct error *graph_read_blocks(struct graph *graph)
{
	struct graph_part parts[2];
	bool ok = graph_parts_open(graph, parts) &&
		  scan_open(graph->memory, graph->alignment, &parts[0].reader) &&
		  scan_open(graph->memory, graph->alignment, &parts[1].reader);
	if (ok) {
		split_blocks(graph, parts);
		ok = graph_parts_run(graph, parts, look_up_blocks);
	}
	graph_parts_close(parts);
	return ok ? NULL : error_no_memory();
}

struct error *graph_read_root(struct graph *graph, uint64_t start, uint64_t end, uint32_t root)
{
	__attribute__((cleanup(pointer_lookup_cleanup))) struct pointer_lookup *lookup =
		pointer_lookup_new(graph);
	__attribute__((cleanup(scan_close))) struct scan_reader reader;
	if (!scan_open(graph->memory, graph->alignment, &reader) || !lookup)
		return error_no_memory();
	lookup->is_root = true;
	lookup->root = root;
	graph->root_bytes += end - start;
	bool ok =
		look_up_memory(lookup, &reader, start, end, end, 0) && pointer_lookup_flush(lookup);
	graph->unread_bytes += reader.unread_bytes;
	return ok ? NULL : error_no_memory();
}

struct error *graph_read_values(
	struct graph *graph, const uint64_t *values, size_t count, uint32_t root)
{
	__attribute__((cleanup(pointer_lookup_cleanup))) struct pointer_lookup *lookup =
		pointer_lookup_new(graph);
	if (!lookup)
		return error_no_memory();
	lookup->is_root = true;
	lookup->root = root;
	for (size_t i = 0; i < count; i++) {
		if (!pointer_lookup_add(lookup, values[i], i))
			return error_no_memory();
	}
	return pointer_lookup_flush(lookup) ? NULL : error_no_memory();
}
