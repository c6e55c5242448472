/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/why.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "search/graph.h"

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
	const struct survey *survey;
	const struct graph *graph;
	uint64_t *layer, *next, *seen; /* bit sets of blocks */
	size_t words;                  /* of each */
	uint32_t count;
	struct row_map map; /* of the layer's rows */
	struct why *why;
};

static inline bool has(const uint64_t *set, uint32_t block)
{
	return set[block / 64] >> block % 64 & 1;
}

static inline void put(uint64_t *set, uint32_t block)
{
	set[block / 64] |= 1ull << block % 64;
}

static struct why_row *row_of(struct asking *a, uint32_t block, uint32_t target, unsigned layer)
{
	struct row_key key = {search_block_site(a->survey->search, block),
		search_block_site(a->survey->search, target)};
	bool is_new;
	uint32_t *number = row_map_insert(&a->map, key, &is_new);
	if (!number)
		return NULL;
	if (is_new) {
		struct why_row row = {.layer = layer,
			.type = key.type,
			.target_type = key.target_type,
			.example = search_block_address(a->survey->search, block),
			.target = search_block_address(a->survey->search, target)};
		*number = (uint32_t)a->why->rows.len;
		if (!why_rows_push(&a->why->rows, row))
			return NULL;
	}
	return &a->why->rows.data[*number];
}

/* One block's pointers into the layer. */
static bool take_block(struct asking *a, uint32_t block, unsigned layer)
{
	const uint32_t *heads = a->graph->heads.data, *edges = a->graph->edges.data;
	uint32_t end = graph_edges_end(a->graph, block);
	for (uint32_t i = heads[block]; i < end; i++) {
		uint32_t target = GRAPH_BLOCK(edges[i]);
		if (!has(a->layer, target))
			continue;
		struct why_row *row = row_of(a, block, target, layer);
		if (!row)
			return false;
		if (!row->pointers++) {
			row->into = graph_offset(a->graph, i);
			row->offset = graph_word_offset(a->graph, row->example,
				search_block_size(a->survey->search, block),
				row->target + row->into);
		}
		if (!has(a->next, block)) {
			row->blocks++;
			put(a->next, block);
		}
	}
	return true;
}

static bool take_roots(struct asking *a, unsigned layer)
{
	const struct graph_roots *roots = &a->graph->roots;
	for (size_t i = 0; i < roots->len; i++) {
		const struct graph_root *from = &roots->data[i];
		uint32_t block = GRAPH_BLOCK(from->edge);
		if (!has(a->layer, block))
			continue;
		struct why_root root = {layer, from->root, from->address,
			search_block_address(a->survey->search, block), from->offset, 1};
		if (!why_roots_push(&a->why->roots, root))
			return false;
	}
	return true;
}

static int by_pointers(const void *a, const void *b)
{
	const struct why_row *x = a, *y = b;
	if (x->pointers != y->pointers)
		return x->pointers > y->pointers ? -1 : 1;
	return (x->example > y->example) - (x->example < y->example);
}

/* The next layer: all that points into this one. *ret_more: whether there is anything in it. */
static bool ascend(struct asking *a, unsigned layer, bool *ret_more)
{
	size_t first = a->why->rows.len;
	memset(a->next, 0, a->words * sizeof(*a->next));
	row_map_deinit(&a->map);
	for (uint32_t block = 0; block < a->count; block++) {
		if (!has(a->seen, block) && !take_block(a, block, layer))
			return false;
	}
	size_t found = a->why->rows.len - first;
	if (found)
		qsort(a->why->rows.data + first, found, sizeof(struct why_row), by_pointers);
	for (size_t i = 0; i < a->words; i++)
		a->seen[i] |= a->next[i];
	uint64_t *swap = a->layer;
	a->layer = a->next;
	a->next = swap;
	*ret_more = found > 0;
	return true;
}

static void ask_for(struct asking *a, uint32_t block, uint32_t type)
{
	for (uint32_t i = 0; i < a->count; i++) {
		if (type == HEAP_TYPE_NONE ? i != block
					   : search_block_site(a->survey->search, i) != type)
			continue;
		put(a->layer, i);
		put(a->seen, i);
		a->why->asked_blocks++;
		a->why->asked_bytes += search_block_size(a->survey->search, i);
	}
}

static bool ask(struct asking *a, uint32_t block, uint32_t type, unsigned layers)
{
	bool more = true;
	ask_for(a, block, type);
	if (!take_roots(a, 0))
		return false;
	for (unsigned layer = 1; more && layer <= layers; layer++) {
		if (!ascend(a, layer, &more) || (more && !take_roots(a, layer)))
			return false;
		a->why->layers += more;
	}
	a->why->cut = more;
	return true;
}

struct error *heap_why(const struct survey *survey, uint32_t block, uint32_t type, unsigned layers,
	struct why *ret)
{
	*ret = (struct why){.layers = 0};
	struct asking a = {.survey = survey,
		.graph = search_graph(survey->search),
		.count = search_block_count(survey->search),
		.why = ret};
	a.words = a.count / 64 + 1;
	a.layer = calloc(a.words, sizeof(*a.layer));
	a.next = calloc(a.words, sizeof(*a.next));
	a.seen = calloc(a.words, sizeof(*a.seen));
	bool ok = a.layer && a.next && a.seen &&
		  ask(&a, block, type, layers < WHY_LAYERS_MAX ? layers : WHY_LAYERS_MAX);
	free(a.layer);
	free(a.next);
	free(a.seen);
	row_map_deinit(&a.map);
	return ok ? NULL : error_no_memory();
}

void heap_why_deinit(struct why *why)
{
	why_rows_deinit(&why->rows);
	why_roots_deinit(&why->roots);
}
