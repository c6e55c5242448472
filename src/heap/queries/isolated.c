/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/isolated.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "search/graph.h"

/* Marks all blocks that others point at; roots point at none that is lost. */
static void mark_held(const struct graph *graph, uint32_t count, uint64_t *held)
{
	for (uint32_t block = 0; block < count; block++) {
		uint32_t end = graph_edges_end(graph, block);
		for (uint32_t i = graph_edges(graph, block); i < end; i++) {
			uint32_t target = GRAPH_BLOCK(graph->edges.data[i]);
			if (target != block)
				held[target / 64] |= 1ull << target % 64;
		}
	}
}

/* Whether it has a pointer to another block. */
static bool holds_pointer(const struct graph *graph, uint32_t block)
{
	for (uint32_t i = graph_edges(graph, block); i < graph_edges_end(graph, block); i++) {
		if (GRAPH_BLOCK(graph->edges.data[i]) != block)
			return true;
	}
	return false;
}

struct error *heap_isolated_find(const struct heap_scan *scan, struct heap_isolated *ret)
{
	const struct graph *graph = search_graph(scan->search);
	uint32_t count = search_block_count(scan->search);
	*ret = (struct heap_isolated){.bytes = 0};
	if (!search_totals(scan->search)->blocks[SEARCH_DEFINITE])
		return NULL;
	_cleanup_free_ uint64_t *held = calloc(count / 64 + 1, sizeof(*held));
	if (!held)
		return error_no_memory();
	mark_held(graph, count, held);
	for (uint32_t block = 0; block < count; block++) {
		if (search_kind(scan->search, block) != SEARCH_DEFINITE ||
			held[block / 64] >> block % 64 & 1 || holds_pointer(graph, block))
			continue;
		ret->bytes += search_block_size(scan->search, block);
		if (!space_u32_push(&ret->blocks, block))
			return error_no_memory();
	}
	return NULL;
}

void heap_isolated_deinit(struct heap_isolated *isolated)
{
	space_u32_deinit(&isolated->blocks);
}
