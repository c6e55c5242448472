/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "search/graph.h"

#include <pthread.h>
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
	uint64_t unread_bytes;
	bool is_root;
	uint32_t root;
	uint32_t block,
		block_end; /* whose memory is read; the first edges of those before are known */
	struct space_u32 edges;
	uint32_t first_edge; /* number of edges.data[0] */
	struct graph_interiors interiors;
	bool is_lent; /* edges.data is another's, and has room for all there can be */
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
	space_u32_deinit(&graph->faint);
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
	struct reading *r = *reading;
	if (!r)
		return;
	free(r->window);
	if (!r->is_lent)
		space_u32_deinit(&r->edges);
	graph_interiors_deinit(&r->interiors);
	free(r);
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
		r->unread_bytes += hole;
		got += hole;
	}
	r->start = address;
	r->end = address + bytes;
}

static uint32_t next_edge(const struct reading *r)
{
	return r->first_edge + (uint32_t)r->edges.len;
}

static void heads_up_to(struct reading *r, uint32_t block)
{
	uint32_t *heads = r->graph->heads.data;
	for (; r->block <= block; r->block++)
		heads[r->block] = next_edge(r);
}

static bool add_root(struct reading *r, uint64_t place, uint32_t edge, uint32_t offset)
{
	return graph_roots_push(
		&r->graph->roots, (struct graph_root){place, edge, r->root, offset, false});
}

static bool add_edge(struct reading *r, uint32_t source, uint32_t edge, uint32_t offset)
{
	heads_up_to(r, source);
	if (GRAPH_BLOCK(edge) == source)
		return true;
	uint32_t number = next_edge(r);
	if (number > r->graph->heads.data[source] && r->edges.data[r->edges.len - 1] == edge &&
		!offset)
		return true;
	if (number == UINT32_MAX)
		return false;
	struct graph_interior interior = {number, offset};
	return space_u32_push(&r->edges, edge) &&
	       (!offset || graph_interiors_push(&r->interiors, interior));
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

/* Reads the blocks of one part. */
static struct error *read_part(struct reading *r)
{
	const struct space *space = r->graph->space;
	struct space_walk walk = {space, 0, r->block};
	walk.region = space_region_of(space, r->block);
	for (; walk.block < r->block_end; walk.block++) {
		uint64_t address = space_walk_address(&walk);
		uint64_t end = address + space_size(space, walk.block);
		uint64_t readable = end > r->end ? readable_until(&walk, address) : end;
		if (!take_memory(r, address, end, readable, walk.block))
			return error_no_memory();
	}
	if (!look_up(r))
		return error_no_memory();
	heads_up_to(r, r->block_end - 1);
	return NULL;
}

/* A thread's work, and what came of it. */
struct part {
	struct reading *reading;
	struct error *error;
};

static void *read_beside(void *context)
{
	struct part *part = context;
	part->error = read_part(part->reading);
	return NULL;
}

/* Where the second half of the blocks' bytes begins, and how many words there are before. */
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

/*
 * Two parts, if there is enough to read: then the second one's edges stand where there is room for
 * the most that the first can have, in memory of which only what is used is ever there.
 */
static void split(struct graph *graph, struct reading *first, struct reading *second)
{
	uint64_t bytes, before;
	uint32_t block = middle(graph->space, &bytes, &before);
	uint64_t words = bytes / graph->alignment + 1, room = before / graph->alignment + 1;
	if (bytes < (graph->beside_bytes ? graph->beside_bytes : BESIDE_BYTES) || !block ||
		words + 1 >= UINT32_MAX || !space_u32_reserve(&graph->edges, words + 1))
		return;
	graph->split = first->block_end = second->block = block;
	first->edges = (struct space_u32){graph->edges.data, 0, room};
	second->edges = (struct space_u32){graph->edges.data + room, 0, words + 1 - room};
	second->first_edge = (uint32_t)room;
	first->is_lent = second->is_lent = true;
}

/* Puts together what the parts have found. */
static struct error *join(struct graph *graph, struct reading *first, struct reading *second)
{
	graph->edge_count = first->edges.len + second->edges.len;
	graph->unread_bytes += first->unread_bytes + second->unread_bytes;
	graph->split_end = next_edge(first);
	const struct reading *last = graph->split ? second : first;
	graph->heads.data[space_count(graph->space)] = next_edge(last);
	graph->heads.len = (size_t)space_count(graph->space) + 1;
	if (!graph->split) {
		graph->edges = first->edges;
		first->is_lent = true;
	} else {
		graph->edges.len = next_edge(second);
	}
	graph->interiors = first->interiors;
	first->interiors = (struct graph_interiors){NULL, 0, 0};
	size_t more = second->interiors.len;
	if (!graph_interiors_reserve(&graph->interiors, graph->interiors.len + more))
		return error_no_memory();
	if (more)
		memcpy(graph->interiors.data + graph->interiors.len, second->interiors.data,
			more * sizeof(*second->interiors.data));
	graph->interiors.len += more;
	return NULL;
}

struct error *graph_read_blocks(struct graph *graph)
{
	__attribute__((cleanup(reading_cleanup))) struct reading *first = NULL;
	__attribute__((cleanup(reading_cleanup))) struct reading *second = NULL;
	struct error *error = reading_begin(graph, &first);
	if (!error)
		error = reading_begin(graph, &second);
	if (error)
		return error;
	uint32_t count = space_count(graph->space);
	if (!space_u32_reserve(&graph->heads, (size_t)count + 1))
		return error_no_memory();
	first->block_end = second->block_end = count;
	split(graph, first, second);
	struct part beside = {second, NULL};
	pthread_t thread;
	bool is_beside = graph->split && !pthread_create(&thread, NULL, read_beside, &beside);
	error = read_part(first);
	if (is_beside)
		pthread_join(thread, NULL);
	else if (graph->split)
		read_beside(&beside);
	if (error)
		error_destroy(beside.error);
	else
		error = beside.error;
	return error ? error : join(graph, first, second);
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
	bool ok = take_memory(r, start, end, end, 0) && look_up(r);
	graph->unread_bytes += r->unread_bytes;
	return ok ? NULL : error_no_memory();
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
