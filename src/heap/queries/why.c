/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/why.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "heap/false_pointers.h"
#include "search/reverse.h"

struct row_key {
	uint32_t type, target_type;
};
static inline uint64_t row_hash(struct row_key key)
{
	return hash_u64((uint64_t)key.type << 32 | key.target_type);
}
static inline bool row_equal(struct row_key a, struct row_key b)
{
	return a.type == b.type && a.target_type == b.target_type;
}
DEFINE_MAP(row_map, struct row_key, uint32_t, row_hash, row_equal)

struct asking {
	const struct heap_scan *scan;
	const struct graph *graph;
	const struct reverse *reverse;
	uint64_t *seen; /* bit set of blocks */
	struct space_u32 layer, next;
	struct row_map map; /* of the next layer's rows */
	/* Words outside of blocks by what they hold: block << 32 | index. NULL: not sorted yet. */
	uint64_t *held;
	size_t held_count;
	struct why *why;
};

static inline bool why_see(struct asking *a, uint32_t block)
{
	uint64_t bit = 1ull << block % 64;
	bool fresh = !(a->seen[block / 64] & bit);
	a->seen[block / 64] |= bit;
	return fresh;
}

static inline uint32_t why_type_of(const struct asking *a, uint32_t block)
{
	return heap_scan_type_of(a->scan, block);
}

/* Where in `block` the pointer stands that leads to `target`, and how far into that. */
static void describe_pointer(
	const struct asking *a, uint32_t block, uint32_t target, struct why_row *row)
{
	uint32_t end = graph_edges_end(a->graph, block);
	for (uint32_t i = graph_edges(a->graph, block); i < end; i++) {
		if (GRAPH_BLOCK(a->graph->edges.data[i]) != target ||
			graph_is_false_pointer(a->graph, i))
			continue;
		row->into = graph_offset(a->graph, i);
		row->offset = graph_word_offset(a->graph, row->example,
			search_block_size(a->scan->search, block), row->target + row->into);
		return;
	}
}

static struct why_row *row_of(struct asking *a, uint32_t block, uint32_t target, unsigned layer)
{
	struct row_key key = {why_type_of(a, block), why_type_of(a, target)};
	bool is_new;
	uint32_t *number = row_map_insert(&a->map, key, &is_new);
	if (!number)
		return NULL;
	if (is_new) {
		struct why_row row = {.layer = layer,
			.type = key.type,
			.target_type = key.target_type,
			.example = search_block_address(a->scan->search, block),
			.target = search_block_address(a->scan->search, target)};
		describe_pointer(a, block, target, &row);
		*number = (uint32_t)a->why->rows.len;
		if (!why_rows_push(&a->why->rows, row))
			return NULL;
	}
	return &a->why->rows.data[*number];
}

/* Those that point at a block of the layer, and at each other if they are of one type. */
static bool take_sources(struct asking *a, uint32_t target, unsigned layer)
{
	uint32_t count;
	const uint32_t *sources = reverse_sources(a->reverse, target, &count);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t block = sources[i];
		if (!why_see(a, block))
			continue;
		struct why_row *row = row_of(a, block, target, layer);
		if (!row || !space_u32_push(&a->next, block))
			return false;
		row->blocks++;
	}
	return true;
}

/* What holds blocks of the layer and is of their own type belongs to the layer, too. */
static bool close_layer(struct asking *a, unsigned layer)
{
	for (size_t i = 0; layer && i < a->layer.len; i++) {
		uint32_t target = a->layer.data[i], count;
		const uint32_t *sources = reverse_sources(a->reverse, target, &count);
		for (uint32_t k = 0; k < count; k++) {
			uint32_t block = sources[k];
			if (why_type_of(a, block) != why_type_of(a, target) || !why_see(a, block))
				continue;
			struct why_row *row = row_of(a, block, target, layer);
			if (!row || !space_u32_push(&a->layer, block))
				return false;
			row->blocks++;
			row->repeats = true;
		}
	}
	return true;
}

static bool take_root(struct asking *a, size_t number, unsigned layer)
{
	const struct graph_root *from = &a->graph->roots.data[number];
	uint32_t block = GRAPH_BLOCK(from->edge);
	uint64_t address = heap_root_address(&a->scan->roots.data[from->root], from->address);
	struct why_root root = {layer, from->root, address,
		search_block_address(a->scan->search, block), from->offset, false};
	return why_roots_push(&a->why->roots, root);
}

/* By going through all words: for a layer of many blocks. */
static bool scan_roots(struct asking *a, unsigned layer)
{
	const struct graph_roots *roots = &a->graph->roots;
	uint32_t count = search_block_count(a->scan->search);
	_cleanup_free_ uint64_t *set = calloc(count / 64 + 1, sizeof(*set));
	if (!set)
		return false;
	for (size_t i = 0; i < a->layer.len; i++)
		set[a->layer.data[i] / 64] |= 1ull << a->layer.data[i] % 64;
	bool ok = true;
	for (size_t i = 0; i < roots->len && ok; i++) {
		uint32_t block = GRAPH_BLOCK(roots->data[i].edge);
		if (!roots->data[i].is_false_pointer && set[block / 64] >> block % 64 & 1)
			ok = take_root(a, i, layer);
	}
	return ok;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static bool sort_roots(struct asking *a)
{
	const struct graph_roots *roots = &a->graph->roots;
	a->held = malloc((roots->len + 1) * sizeof(*a->held));
	if (!a->held)
		return false;
	for (size_t i = 0; i < roots->len; i++) {
		if (!roots->data[i].is_false_pointer)
			a->held[a->held_count++] =
				(uint64_t)GRAPH_BLOCK(roots->data[i].edge) << 32 | i;
	}
	if (a->held_count)
		qsort(a->held, a->held_count, sizeof(*a->held), by_value);
	return true;
}

/* By looking up each block: where layers are many. */
static bool look_up_roots(struct asking *a, unsigned layer)
{
	bool ok = a->held || sort_roots(a);
	for (size_t i = 0; i < a->layer.len && ok; i++) {
		uint64_t from = (uint64_t)a->layer.data[i] << 32;
		size_t low = 0, high = a->held_count;
		while (low < high) {
			size_t middle = low + (high - low) / 2;
			if (a->held[middle] < from)
				low = middle + 1;
			else
				high = middle;
		}
		for (; low < a->held_count && a->held[low] >> 32 == a->layer.data[i] && ok; low++)
			ok = take_root(a, (uint32_t)a->held[low], layer);
	}
	return ok;
}

/* This many times all words may be gone through before they are sorted. */
#define SCANNED_LAYERS 16u

static bool take_roots(struct asking *a, unsigned layer)
{
	return layer < SCANNED_LAYERS ? scan_roots(a, layer) : look_up_roots(a, layer);
}

static int by_blocks(const void *a, const void *b)
{
	const struct why_row *x = a, *y = b;
	if (x->layer != y->layer)
		return x->layer < y->layer ? -1 : 1;
	if (x->blocks != y->blocks)
		return x->blocks > y->blocks ? -1 : 1;
	return (x->example > y->example) - (x->example < y->example);
}

/* Of this many words on stacks it is asked whether they are variables, since those come first;
 * further ones are among these. */
#define NAMED_MOST 1024u

static struct error *name_roots(struct asking *a)
{
	struct error *error = NULL;
	unsigned left = NAMED_MOST;
	for (size_t i = 0; i < a->why->roots.len && !error; i++) {
		struct why_root *root = &a->why->roots.data[i];
		const struct heap_root *of = &a->scan->roots.data[root->root];
		struct heap_stack_place place = {.variable = NULL};
		if (of->kind != HEAP_ROOT_STACK || !left)
			continue;
		left--;
		error = stack_places_find(a->scan->stacks, of->thread, root->address, &place);
		root->is_unnamed = !place.variable;
	}
	return error;
}

/* The scan's roots are in order, and words ascending in each. */
static int by_name(const void *a, const void *b)
{
	const struct why_root *x = a, *y = b;
	if (x->layer != y->layer)
		return x->layer < y->layer ? -1 : 1;
	if (x->is_unnamed != y->is_unnamed)
		return x->is_unnamed ? 1 : -1;
	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

static bool ask_for(struct asking *a, uint32_t block, const struct subtype_set *types,
	const struct heap_block_filter *chosen)
{
	uint32_t count = search_block_count(a->scan->search);
	bool ok = true;
	for (uint32_t i = block != SPACE_NONE ? block : 0; i < count && ok; i++) {
		if (block == SPACE_NONE &&
			((types && !heap_subtypes_of(a->scan, types, i)) ||
				!heap_block_filter_takes_used(chosen, a->scan, i)))
			continue;
		why_see(a, i);
		ok = space_u32_push(&a->layer, i);
		a->why->asked = search_block_address(a->scan->search, i);
		a->why->asked_blocks++;
		a->why->asked_bytes += search_block_size(a->scan->search, i);
		if (block != SPACE_NONE)
			break;
	}
	return ok;
}

static bool why_ascend(struct asking *a, unsigned layers)
{
	unsigned layer = 0;
	bool ok = take_roots(a, 0);
	for (; ok && a->layer.len && layer < layers; layer++) {
		row_map_deinit(&a->map);
		space_u32_clear(&a->next);
		for (size_t i = 0; ok && i < a->layer.len; i++)
			ok = take_sources(a, a->layer.data[i], layer + 1);
		struct space_u32 swap = a->layer;
		a->layer = a->next;
		a->next = swap;
		if (ok && a->layer.len) {
			ok = close_layer(a, layer + 1) && take_roots(a, layer + 1);
			a->why->layers = layer + 1;
		}
	}
	a->why->cut = a->layer.len > 0;
	return ok;
}

static struct error *why_ask(struct asking *a, uint32_t block, const struct subtype_set *types,
	const struct heap_block_filter *chosen, unsigned layers)
{
	struct why *why = a->why;
	a->seen = calloc(search_block_count(a->scan->search) / 64 + 1, sizeof(*a->seen));
	bool ok = a->seen && ask_for(a, block, types, chosen) && why_ascend(a, layers);
	if (ok && why->rows.len)
		qsort(why->rows.data, why->rows.len, sizeof(*why->rows.data), by_blocks);
	free(a->seen);
	free(a->held);
	space_u32_deinit(&a->layer);
	space_u32_deinit(&a->next);
	row_map_deinit(&a->map);
	if (!ok)
		return error_no_memory();
	struct error *error = name_roots(a);
	if (why->roots.len)
		qsort(why->roots.data, why->roots.len, sizeof(*why->roots.data), by_name);
	return error;
}

struct error *heap_why(const struct heap_scan *scan, uint32_t block,
	const struct subtype_set *types, const struct heap_block_filter *chosen, unsigned layers,
	const struct reverse *reverse, struct why *ret)
{
	*ret = (struct why){.layers = 0};
	struct asking a = {
		.scan = scan, .graph = search_graph(scan->search), .reverse = reverse, .why = ret};
	struct reverse own = {.heads = NULL};
	struct error *error = false_pointers_find(scan, reverse ? &reverse->blocks : NULL);
	if (!error && !reverse)
		error = reverse_make(a.graph, &own);
	if (!reverse)
		a.reverse = &own;
	if (!error)
		error = why_ask(&a, block, types, chosen, layers);
	reverse_free(&own);
	return error;
}

void heap_why_deinit(struct why *why)
{
	why_rows_deinit(&why->rows);
	why_roots_deinit(&why->roots);
}
