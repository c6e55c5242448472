/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Removes the edges of words at the end of a block, which the program did not request. */
#include "search/graph.h"

#define PIECE_WORDS 512u
/* The longest tail that is examined: allocators rarely add more to a request. */
#define TAIL_BYTES_MAX 64u

/* Matches the words of a block, which are read again, with its edges: see add_edge(). */
struct tail_cut {
	struct graph *graph;
	uint32_t block;
	uint64_t address, keep; /* words from there on hold nothing */
	uint32_t edge, end;     /* that comes next, and the block's last one */
	bool has_last;
	uint32_t last; /* edge that the word before has led to */
};

/* Gives the edge of a word. Returns false if the word has none in this block. */
static bool edge_of(const struct tail_cut *c, uint64_t word, uint32_t *ret)
{
	const struct space *space = c->graph->space;
	uint64_t distance;
	if (word - space->low >= space->high - space->low)
		return false;
	uint32_t found = space_find(space, word, &distance);
	*ret = found | (distance ? GRAPH_INTERIOR : 0);
	return found != SPACE_NONE && found != c->block;
}

static void match_word(struct tail_cut *c, uint64_t address, uint64_t word)
{
	uint32_t edge;
	if (!edge_of(c, word, &edge))
		return;
	bool again = c->has_last && c->last == edge && !(edge & GRAPH_INTERIOR);
	if (again || c->edge >= c->end)
		return;
	c->has_last = true;
	c->last = edge;
	if (address >= c->address + c->keep && c->graph->edges.data[c->edge] == edge)
		c->graph->edges.data[c->edge] = c->block;
	c->edge++;
}

/* Returns whether a word in [start, end) has an edge; in most blocks none has. */
static bool has_any(const struct tail_cut *c, uint64_t start, uint64_t end)
{
	const struct search_memory *memory = c->graph->memory;
	uint64_t words[TAIL_BYTES_MAX / 8];
	uint32_t edge;
	size_t bytes = (size_t)(end - start) & ~7ul;
	size_t n = memory->read(memory->context, start, words, bytes) / 8;
	for (size_t i = 0; i < n; i++) {
		if (edge_of(c, words[i], &edge))
			return true;
	}
	return false;
}

void graph_ignore_tail(struct graph *graph, uint32_t block, uint64_t bytes)
{
	const struct search_memory *memory = graph->memory;
	struct tail_cut c = {.graph = graph,
		.block = block,
		.address = space_address(graph->space, block),
		.keep = bytes,
		.edge = graph_edges(graph, block),
		.end = graph_edges_end(graph, block)};
	uint64_t at = c.address, end = at + space_size(graph->space, block);
	uint64_t tail = (at + bytes + 7) & ~7ull;
	if (at % 8 || graph->alignment != 8 || c.edge == c.end || tail + 8 > end ||
		end - tail > TAIL_BYTES_MAX || !has_any(&c, tail, end))
		return;
	for (; at + 8 <= end;) {
		uint64_t words[PIECE_WORDS];
		size_t wanted =
			end - at < sizeof(words) ? (size_t)(end - at) & ~7ul : sizeof(words);
		size_t n = memory->read(memory->context, at, words, wanted) / 8;
		for (size_t i = 0; i < n; i++)
			match_word(&c, at + 8 * i, words[i]);
		if (8 * n < wanted)
			return;
		at += wanted;
	}
}
