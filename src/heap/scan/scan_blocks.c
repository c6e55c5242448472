/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/scan/scan_blocks.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "heap/blocks/parallel_walk.h"

/* No block takes less of an area in the mean, but for a few of other allocators. */
#define BLOCK_ROOM 32u
#define BLOCKS_RESERVED (512u << 20)

/* Processors hand memory to each other by such pieces. */
#define SHARED_PIECE 128

/* What one thread finds; the other one's is in another piece of memory. */
struct taking {
	_Alignas(SHARED_PIECE) struct heap_scan_totals totals;
	struct heap_shapes *classes;
	struct search *search;
	const struct heap *heap;
	struct interior *interior; /* NULL: not wanted */
};

static struct error *scan_blocks_take(
	void *context, const struct heap_block *block, const uint8_t *bytes, size_t len)
{
	struct taking *t = context;
	t->totals.blocks[block->state]++;
	t->totals.bytes[block->state] += block->size;
	if (block->state != BLOCK_USED)
		return NULL;
	uint32_t number;
	struct word_bits bits = heap_class_words(block, bytes, len);
	if (t->interior && !interior_take(t->interior, t->heap, search_block_count(t->search),
				   block, bytes, len))
		return error_no_memory();
	struct error *error = heap_shapes_add(t->classes, block, bytes, &bits, &number);
	if (!error)
		error = search_add_block(t->search, block->address, block->size, number);
	if (!error)
		search_note_block(t->search, block->address, block->size, bytes, len, &bits);
	return error;
}

static uint64_t blocks_that_may_be(const struct heap *heap)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < heap->areas.len; i++)
		bytes += heap->areas.data[i].end - heap->areas.data[i].start;
	uint64_t blocks = bytes / BLOCK_ROOM;
	return blocks < BLOCKS_RESERVED ? blocks : BLOCKS_RESERVED;
}

/* Room for all blocks: tables that grow are moved, and of these only what is used is ever there.
 * That it can't be had is no error. */
static void scan_blocks_reserve(const struct heap *heap, struct search *search)
{
	error_destroy(search_reserve(search, blocks_that_may_be(heap)));
}

/* Words are taken along; without memory for that they are read later. */
static void candidate_words_start(struct heap_scan *s)
{
	const struct heap_area_vec *areas = &s->heap.areas;
	_cleanup_free_ struct search_range *ranges = calloc(areas->len + 1, sizeof(*ranges));
	for (size_t i = 0; ranges && i < areas->len; i++)
		ranges[i] = (struct search_range){areas->data[i].start, areas->data[i].end};
	if (ranges)
		search_note_words(
			s->search, &s->memory, ranges, areas->len, blocks_that_may_be(&s->heap));
}

static void add_totals(struct heap_scan *s, const struct heap_scan_totals *more)
{
	for (unsigned i = 0; i < BLOCK_STATES; i++) {
		s->totals.blocks[i] += more->blocks[i];
		s->totals.bytes[i] += more->bytes[i];
	}
}

/* Puts what the second thread has found after what the first one has. */
static struct error *scan_blocks_join(struct heap_scan *s, const struct taking *after)
{
	size_t count = after->classes->classes.len;
	_cleanup_free_ uint32_t *numbers = malloc((count + 1) * sizeof(*numbers));
	if (!numbers)
		return error_no_memory();
	struct error *error = heap_shapes_append(&s->classes, after->classes, numbers);
	if (error)
		return error;
	add_totals(s, &after->totals);
	if (after->interior &&
		!interior_append(&s->interior, search_block_count(s->search), after->interior))
		return error_no_memory();
	return search_append(s->search, after->search, numbers);
}

static struct error *read_by_two(struct heap_scan *s, struct taking *first, struct taking *second)
{
	const struct heap_sink sinks[2] = {{first, scan_blocks_take}, {second, scan_blocks_take}};
	bool halved;
	/* What is known of Python's types, and is looked up on the way, is one thread's. */
	uint64_t least = python_is_there(&s->heap.python) ? UINT64_MAX : HALVES_BYTES;
	scan_blocks_reserve(&s->heap, second->search);
	search_note_words_after(second->search, s->search, blocks_that_may_be(&s->heap));
	struct error *error = heap_walk_parallel(&s->heap, least, &sinks[0], &sinks[1], &halved);
	if (!error)
		add_totals(s, &first->totals);
	return error || !halved ? error : scan_blocks_join(s, second);
}

struct error *scan_blocks_read(struct heap_scan *scan)
{
	struct heap_scan *s = scan;
	struct interior *own = s->heuristics ? &s->interior : NULL,
			after = {.fitting = {.data = NULL}};
	struct taking first = {
		.classes = &s->classes, .search = s->search, .heap = &s->heap, .interior = own};
	struct heap_shapes classes;
	struct taking second = {
		.classes = &classes, .heap = &s->heap, .interior = own ? &after : NULL};
	heap_shapes_use_python(&s->classes, &s->heap.python);
	scan_blocks_reserve(&s->heap, s->search);
	candidate_words_start(s);
	struct error *error = heap_shapes_open(s->heap.space, s->pointers, &classes);
	if (!error)
		error = search_create(&(struct search_options){.alignment = 8}, &second.search);
	if (!error && own)
		error = interior_init(s->heap.space, &after);
	if (!error)
		error = read_by_two(s, &first, &second);
	if (!error && own && !interior_finish(own))
		error = error_no_memory();
	search_destroy(second.search);
	heap_shapes_close(&classes);
	interior_deinit(&after);
	return error;
}
