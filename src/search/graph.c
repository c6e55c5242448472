/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "search/graph.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW_BYTES (1u << 20)
#define PAGE_BYTES 4096u
/* From so many bytes on it is worth asking whether they were ever touched. */
#define UNTOUCHED_ASK (128u << 10)
/* Words are looked up in batches, so that the processor waits for many at once. */
#define BATCH 1024u
/* So far ahead what is needed of them is fetched: as much as a processor can fetch at a time. */
#define AHEAD_REGION 32u
#define AHEAD 16u

/* What was read last, and the words in it that may point to blocks. */
struct reading {
	struct graph *graph;
	uint8_t *window;
	uint64_t start, end; /* what is in the window */
	bool is_root;
	uint32_t root;
	uint32_t heads; /* blocks whose first edge is known */
	uint32_t count;
	uint64_t values[BATCH];
	uint64_t places[BATCH]; /* a block's number, or the address of a root's word */
};

void graph_init(struct graph *graph, const struct space *space, const struct search_memory *memory,
	unsigned alignment)
{
	*graph = (struct graph){.space = space, .memory = memory, .alignment = alignment};
}

void graph_deinit(struct graph *graph)
{
	space_u32_deinit(&graph->heads);
	space_u32_deinit(&graph->edges);
	graph_interiors_deinit(&graph->interiors);
	graph_roots_deinit(&graph->roots);
}

static struct error *reading_begin(struct graph *graph, struct reading **ret)
{
	struct reading *r = calloc(1, sizeof(*r));
	uint8_t *window = malloc(WINDOW_BYTES);
	if (!r || !window) {
		free(r);
		free(window);
		return error_no_memory();
	}
	r->graph = graph;
	r->window = window;
	*ret = r;
	return NULL;
}

static void reading_cleanup(struct reading **reading)
{
	if (*reading)
		free((*reading)->window);
	free(*reading);
}

/* Fills the window; what can't be read is zero, and counted. */
static void fetch(struct reading *r, uint64_t address, size_t bytes)
{
	const struct search_memory *memory = r->graph->memory;
	size_t got = 0;
	while (got < bytes) {
		size_t n =
			memory->read(memory->context, address + got, r->window + got, bytes - got);
		got += n < bytes - got ? n : bytes - got;
		if (got == bytes)
			break;
		size_t hole = PAGE_BYTES - (size_t)((address + got) % PAGE_BYTES);
		hole = hole < bytes - got ? hole : bytes - got;
		memset(r->window + got, 0, hole);
		r->graph->unread_bytes += hole;
		got += hole;
	}
	r->start = address;
	r->end = address + bytes;
}

static bool heads_up_to(struct reading *r, uint32_t block)
{
	struct graph *g = r->graph;
	for (; r->heads <= block; r->heads++) {
		if (!space_u32_push(&g->heads, (uint32_t)g->edges.len))
			return false;
	}
	return true;
}

static bool add_root(struct reading *r, uint64_t place, uint32_t edge, uint32_t offset)
{
	return graph_roots_push(
		&r->graph->roots, (struct graph_root){place, edge, r->root, offset});
}

static bool add_edge(struct reading *r, uint32_t source, uint32_t edge, uint32_t offset)
{
	struct graph *g = r->graph;
	if (!heads_up_to(r, source))
		return false;
	if (GRAPH_BLOCK(edge) == source)
		return true;
	uint32_t first = g->heads.data[source];
	if (g->edges.len > first && g->edges.data[g->edges.len - 1] == edge && !offset)
		return true;
	if (g->edges.len == UINT32_MAX)
		return false;
	struct graph_interior interior = {(uint32_t)g->edges.len, offset};
	return space_u32_push(&g->edges, edge) &&
	       (!offset || graph_interiors_push(&g->interiors, interior));
}

/* Looks the batch up. False: no memory. */
static bool look_up(struct reading *r)
{
	const struct space *space = r->graph->space;
	for (uint32_t i = 0; i < r->count; i++) {
		if (i + AHEAD_REGION < r->count)
			space_prefetch_region(space, r->values[i + AHEAD_REGION]);
		if (i + AHEAD < r->count)
			space_prefetch(space, r->values[i + AHEAD]);
		uint64_t distance;
		uint32_t block = space_find(space, r->values[i], &distance);
		if (block == SPACE_NONE)
			continue;
		uint32_t offset = distance < UINT32_MAX ? (uint32_t)distance : UINT32_MAX;
		uint32_t edge = block | (offset ? GRAPH_INTERIOR : 0);
		bool ok = r->is_root ? add_root(r, r->places[i], edge, offset)
				     : add_edge(r, (uint32_t)r->places[i], edge, offset);
		if (!ok)
			return false;
	}
	r->count = 0;
	return true;
}

static inline bool take_word(struct reading *r, uint64_t value, uint64_t place)
{
	const struct space *space = r->graph->space;
	if (__builtin_expect(value - space->low >= space->high - space->low, 1))
		return true;
	r->values[r->count] = value;
	r->places[r->count++] = place;
	return r->count < BATCH || look_up(r);
}

/*
 * The words of [address, end), which is in the window. A block's words all have its number as their
 * place, a root's their address.
 */
static bool take_range(struct reading *r, uint64_t address, uint64_t end, uint64_t place)
{
	unsigned step = r->graph->alignment;
	const uint8_t *at = r->window + (address - r->start);
	for (; address + 8 <= end; address += step, at += step) {
		uint64_t value;
		memcpy(&value, at, 8);
		if (!take_word(r, value, r->is_root ? address : place))
			return false;
	}
	return true;
}

/* Goes through [address, end) by windows; `readable` is how far it is worth reading on. */
static bool take_memory(
	struct reading *r, uint64_t address, uint64_t end, uint64_t readable, uint64_t place)
{
	const struct search_memory *memory = r->graph->memory;
	unsigned step = r->graph->alignment;
	address = (address + step - 1) & ~(uint64_t)(step - 1);
	while (address + 8 <= end) {
		if (address < r->start || address + 8 > r->end) {
			size_t untouched = memory->untouched && end - address >= UNTOUCHED_ASK
						   ? memory->untouched(memory->context, address,
							     (size_t)(end - address))
						   : 0;
			if (untouched >= PAGE_BYTES) {
				address += untouched & ~7ull;
				continue;
			}
			uint64_t left = (readable > end ? readable : end) - address;
			fetch(r, address, left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES);
		}
		uint64_t stop = end < r->end ? end : r->end;
		if (!take_range(r, address, stop, place))
			return false;
		/* The next word that does not fit whole, at its own alignment. */
		address += (stop - address - 8) / step * step + step;
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
		((uint64_t)r->key << SPACE_REGION_BITS) < address + WINDOW_BYTES)
		r++;
	uint32_t last = r->first + r->count - 1;
	return ((uint64_t)r->key << SPACE_REGION_BITS) + space->offsets.data[last] +
	       space_size(space, last);
}

struct error *graph_read_blocks(struct graph *graph)
{
	__attribute__((cleanup(reading_cleanup))) struct reading *r = NULL;
	struct error *error = reading_begin(graph, &r);
	if (error)
		return error;
	const struct space *space = graph->space;
	struct space_walk walk = {space, 0, 0};
	if (!space_u32_reserve(&graph->heads, (size_t)space_count(space) + 1))
		return error_no_memory();
	for (; walk.block < space_count(space); walk.block++) {
		uint64_t address = space_walk_address(&walk);
		uint64_t end = address + space_size(space, walk.block);
		uint64_t readable = end > r->end ? readable_until(&walk, address) : end;
		if (!take_memory(r, address, end, readable, walk.block))
			return error_no_memory();
	}
	if (!look_up(r) || !heads_up_to(r, space_count(space)))
		return error_no_memory();
	return NULL;
}

struct error *graph_read_root(struct graph *graph, uint64_t start, uint64_t end, uint32_t root)
{
	__attribute__((cleanup(reading_cleanup))) struct reading *r = NULL;
	struct error *error = reading_begin(graph, &r);
	if (error)
		return error;
	r->is_root = true;
	r->root = root;
	graph->root_bytes += end - start;
	if (!take_memory(r, start, end, end, 0) || !look_up(r))
		return error_no_memory();
	return NULL;
}

struct error *graph_take_values(
	struct graph *graph, const uint64_t *values, size_t count, uint32_t root)
{
	__attribute__((cleanup(reading_cleanup))) struct reading *r = NULL;
	struct error *error = reading_begin(graph, &r);
	if (error)
		return error;
	r->is_root = true;
	r->root = root;
	for (size_t i = 0; i < count; i++) {
		if (!take_word(r, values[i], i))
			return error_no_memory();
	}
	return look_up(r) ? NULL : error_no_memory();
}

uint32_t graph_offset(const struct graph *graph, uint32_t edge_number)
{
	if (!(graph->edges.data[edge_number] & GRAPH_INTERIOR))
		return 0;
	const struct graph_interior *interiors = graph->interiors.data;
	size_t low = 0, high = graph->interiors.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (interiors[middle].edge < edge_number)
			low = middle + 1;
		else
			high = middle;
	}
	return interiors[low].offset;
}

uint64_t graph_word_offset(const struct graph *graph, uint64_t block, uint64_t size, uint64_t value)
{
	const struct search_memory *memory = graph->memory;
	unsigned step = graph->alignment;
	uint8_t bytes[PAGE_BYTES];
	uint64_t at = -block & (step - 1);
	while (at + 8 <= size) {
		size_t wanted = size - at < sizeof(bytes) ? (size_t)(size - at) : sizeof(bytes);
		size_t n = memory->read(memory->context, block + at, bytes, wanted), i = 0;
		for (; i + 8 <= n; i += step) {
			uint64_t word;
			memcpy(&word, bytes + i, 8);
			if (word == value)
				return at + i;
		}
		if (n < wanted) /* what can't be read holds nothing */
			i = PAGE_BYTES - (size_t)((block + at + n) % PAGE_BYTES) + n;
		at += (i + step - 1) / step * step;
	}
	return 0;
}
