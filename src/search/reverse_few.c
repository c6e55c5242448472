/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Goes through all pointers from the last block to the first and back until nothing is found any
 * more: each time all holders are found that stand on the way, and theirs. What was built in order
 * has its holders before it or behind, so that is mostly two times.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "search/reverse.h"

/* As much work as turning the whole graph round. */
#define TIMES_MOST 5u

struct climbing {
	const struct graph *graph;
	uint64_t *set; /* bit set of blocks */
	size_t found, most;
};

static inline bool has(const struct climbing *c, uint32_t block)
{
	return c->set[block / 64] >> block % 64 & 1;
}

/* Whether the block points to one of them. */
static inline bool leads(const struct climbing *c, uint32_t block)
{
	const uint32_t *edges = c->graph->edges.data;
	uint32_t end = graph_edges_end(c->graph, block);
	for (uint32_t i = graph_edges(c->graph, block); i < end; i++) {
		if (has(c, GRAPH_BLOCK(edges[i])))
			return true;
	}
	return false;
}

static inline void look_at(struct climbing *c, uint32_t block)
{
	if (__builtin_expect(leads(c, block), 0) && !has(c, block)) {
		c->set[block / 64] |= 1ull << block % 64;
		c->found++;
	}
}

/* Returns whether they were all found. */
static bool climb(struct climbing *c)
{
	uint32_t count = space_count(c->graph->space);
	for (unsigned times = 0; times < TIMES_MOST; times++) {
		size_t before = c->found;
		for (uint32_t i = 0; i < count && c->found <= c->most; i++)
			look_at(c, times % 2 ? i : count - 1 - i);
		if (c->found > c->most)
			return false;
		if (c->found == before)
			return true;
	}
	return false;
}

static bool list(const struct climbing *c, struct space_u32 *ret)
{
	uint32_t words = space_count(c->graph->space) / 64 + 1;
	bool ok = space_u32_reserve(ret, c->found);
	for (uint32_t word = 0; word < words && ok; word++) {
		for (uint64_t left = c->set[word]; left && ok; left &= left - 1)
			ok = space_u32_push(ret, 64 * word + (uint32_t)__builtin_ctzll(left));
	}
	return ok;
}

size_t reverse_place(const struct reverse *reverse, uint32_t block)
{
	size_t low = 0, high = reverse->blocks.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (reverse->blocks.data[middle] < block)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Calls for each pointer between them, by holders ascending; *at: of their targets. */
static void count_or_place(const struct climbing *c, struct reverse *r, bool places)
{
	for (size_t i = 0; i < r->blocks.len; i++) {
		uint32_t block = r->blocks.data[i], end = graph_edges_end(c->graph, block);
		for (uint32_t k = graph_edges(c->graph, block); k < end; k++) {
			uint32_t target = GRAPH_BLOCK(c->graph->edges.data[k]);
			if (!has(c, target))
				continue;
			size_t at = reverse_place(r, target);
			if (places)
				r->sources[r->heads[at + 1]++] = block;
			else
				r->heads[at + 2]++;
		}
	}
}

/* As reverse_make() does. */
static bool turn(const struct climbing *c, struct reverse *r)
{
	r->heads = calloc(r->blocks.len + 2, sizeof(*r->heads));
	if (!r->heads)
		return false;
	count_or_place(c, r, false);
	for (size_t i = 2; i < r->blocks.len + 2; i++)
		r->heads[i] += r->heads[i - 1];
	r->sources = malloc((r->heads[r->blocks.len + 1] + 1) * sizeof(*r->sources));
	if (!r->sources)
		return false;
	count_or_place(c, r, true);
	return true;
}

/* Whether a block points to another, other than faintly. */
static bool leads_firmly(const struct graph *graph, uint32_t source, uint32_t target)
{
	uint32_t end = graph_edges_end(graph, source);
	for (uint32_t i = graph_edges(graph, source); i < end; i++) {
		if (GRAPH_BLOCK(graph->edges.data[i]) == target && !graph_is_faint(graph, i))
			return true;
	}
	return false;
}

void reverse_drop_faint(const struct graph *graph, struct reverse *reverse)
{
	uint32_t kept = 0, next = 0;
	for (size_t i = 0; graph->faint.len && i < reverse->blocks.len; i++) {
		uint32_t end = reverse->heads[i + 1];
		for (; next < end; next++) {
			uint32_t source = reverse->sources[next];
			if (leads_firmly(graph, source, reverse->blocks.data[i]))
				reverse->sources[kept++] = source;
		}
		reverse->heads[i + 1] = kept;
	}
}

struct error *reverse_make_few(
	const struct graph *graph, uint32_t block, size_t most, struct reverse *ret, bool *ret_few)
{
	_cleanup_free_ uint64_t *set = calloc(space_count(graph->space) / 64 + 1, sizeof(*set));
	struct climbing c = {graph, set, 1, most};
	*ret = (struct reverse){.heads = NULL};
	*ret_few = false;
	if (!set)
		return error_no_memory();
	set[block / 64] |= 1ull << block % 64;
	if (!climb(&c))
		return NULL;
	*ret_few = list(&c, &ret->blocks) && turn(&c, ret);
	if (*ret_few)
		return NULL;
	reverse_free(ret);
	return error_no_memory();
}
