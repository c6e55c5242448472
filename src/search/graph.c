/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "search/graph.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES 4096u /* a page: what can't be read ends where one does */

void graph_init(struct graph *graph, const struct space *space, const struct search_memory *memory,
	unsigned alignment)
{
	*graph = (struct graph){.space = space, .memory = memory, .alignment = alignment};
}

void graph_deinit(struct graph *graph)
{
	space_u32_deinit(&graph->rows);
	space_u16_deinit(&graph->heads);
	space_u32_deinit(&graph->far);
	space_u32_deinit(&graph->edges);
	graph_interiors_deinit(&graph->interiors);
	space_u32_deinit(&graph->interior_marks);
	graph_roots_deinit(&graph->roots);
	space_u32_deinit(&graph->false_edges);
	free(graph->texts);
	graph->texts = NULL;
}

uint32_t graph_offset(const struct graph *graph, uint32_t edge_number)
{
	if (!(graph->edges.data[edge_number] & GRAPH_INTERIOR))
		return 0;
	/* It is one of them, mostly near. */
	const struct graph_interior *at =
		graph->interiors.data + graph_interior_guess(graph, edge_number);
	while (at->edge < edge_number)
		at++;
	while (at->edge > edge_number)
		at--;
	return at->offset;
}

uint64_t graph_word_offset(const struct graph *graph, uint64_t block, uint64_t size, uint64_t value)
{
	const struct search_memory *memory = graph->memory;
	unsigned step = graph->alignment;
	uint8_t bytes[PIECE_BYTES];
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
			i = PIECE_BYTES - (size_t)((block + at + n) % PIECE_BYTES) + n;
		at += (i + step - 1) / step * step;
	}
	return 0;
}
