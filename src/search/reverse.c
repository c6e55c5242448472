/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "search/reverse.h"

#include <stdlib.h>

/* Counts the sources of each block, or puts them in place: a transposition of sparse rows.
 * heads[b + 1] is where the next source of b goes, and in the end where those of b end. */
static inline void count_sources(
	const struct graph *graph, bool places, bool has_false_pointers, struct reverse *ret)
{
	uint32_t count = space_count(graph->space);
	const uint32_t *edges = graph->edges.data;
	const struct space_u32 *false_numbers = &graph->false_edges;
	size_t next = 0;
	for (uint32_t block = 0; block < count; block++) {
		for (uint32_t i = graph_edges(graph, block), end = graph_edges_end(graph, block);
			i < end; i++) {
			if (has_false_pointers && next < false_numbers->len &&
				false_numbers->data[next] == i) {
				next++;
				continue;
			}
			if (places)
				ret->sources[ret->heads[GRAPH_BLOCK(edges[i]) + 1]++] = block;
			else
				ret->heads[GRAPH_BLOCK(edges[i]) + 2]++;
		}
	}
}

static void count_source(const struct graph *graph, bool places, struct reverse *ret)
{
	if (graph->false_edges.len)
		count_sources(graph, places, true, ret);
	else
		count_sources(graph, places, false, ret);
}

struct error *reverse_make(const struct graph *graph, struct reverse *ret)
{
	uint32_t count = space_count(graph->space);
	*ret = (struct reverse){.heads = calloc((size_t)count + 2, sizeof(*ret->heads)),
		.sources = malloc((graph->edge_count + 1) * sizeof(*ret->sources))};
	if (!ret->heads || !ret->sources) {
		reverse_free(ret);
		return error_no_memory();
	}
	count_source(graph, false, ret);
	for (uint32_t i = 2; i < count + 2; i++)
		ret->heads[i] += ret->heads[i - 1];
	count_source(graph, true, ret);
	return NULL;
}

void reverse_free(struct reverse *reverse)
{
	free(reverse->heads);
	free(reverse->sources);
	space_u32_deinit(&reverse->blocks);
	*reverse = (struct reverse){.heads = NULL};
}
