/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Passes over all pointers from the last block to the first and back until a pass finds no new
 * holder. A pass finds all holders that lie in its direction, and their holders. In heaps that were
 * built in order holders lie on one side, so two passes are mostly enough.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "search/reverse.h"

/* More passes take as much work as reversing the whole graph. */
#define TIMES_MOST 5u

struct holder_search {
	const struct graph *graph;
	uint64_t *set; /* bit set of blocks */
	size_t found, most;
};

static inline bool is_in_set(const struct holder_search *c, uint32_t block)
{
	return c->set[block / 64] >> block % 64 & 1;
}

/* Returns whether a block points to one of the set. */
static inline bool points_into_set(const struct holder_search *c, uint32_t block)
{
	const uint32_t *edges = c->graph->edges.data;
	uint32_t end = graph_edges_end(c->graph, block);
	for (uint32_t i = graph_edges(c->graph, block); i < end; i++) {
		if (is_in_set(c, GRAPH_BLOCK(edges[i])))
			return true;
	}
	return false;
}

static inline void add_if_holder(struct holder_search *c, uint32_t block)
{
	if (__builtin_expect(points_into_set(c, block), 0) && !is_in_set(c, block)) {
		c->set[block / 64] |= 1ull << block % 64;
		c->found++;
	}
}

/* Returns whether all holders were found. */
static bool find_all_holders(struct holder_search *c)
{
	uint32_t count = space_count(c->graph->space);
	for (unsigned times = 0; times < TIMES_MOST; times++) {
		size_t before = c->found;
		for (uint32_t i = 0; i < count && c->found <= c->most; i++)
			add_if_holder(c, times % 2 ? i : count - 1 - i);
		if (c->found > c->most)
			return false;
		if (c->found == before)
			return true;
	}
	return false;
}

static bool list_set(const struct holder_search *c, struct space_u32 *ret)
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

/* Counts the pointers between blocks of the set by target, or puts their sources in place. */
static void count_or_place(const struct holder_search *c, struct reverse *r, bool places)
{
	for (size_t i = 0; i < r->blocks.len; i++) {
		uint32_t block = r->blocks.data[i], end = graph_edges_end(c->graph, block);
		for (uint32_t k = graph_edges(c->graph, block); k < end; k++) {
			uint32_t target = GRAPH_BLOCK(c->graph->edges.data[k]);
			if (!is_in_set(c, target))
				continue;
			size_t at = reverse_place(r, target);
			if (places)
				r->sources[r->heads[at + 1]++] = block;
			else
				r->heads[at + 2]++;
		}
	}
}

/* Fills r->heads and r->sources for r->blocks. */
static bool reverse_edges(const struct holder_search *c, struct reverse *r)
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

/* Returns whether `source` holds a pointer to `target` that is not false. */
static bool has_true_pointer(const struct graph *graph, uint32_t source, uint32_t target)
{
	uint32_t end = graph_edges_end(graph, source);
	for (uint32_t i = graph_edges(graph, source); i < end; i++) {
		if (GRAPH_BLOCK(graph->edges.data[i]) == target &&
			!graph_is_false_pointer(graph, i))
			return true;
	}
	return false;
}

void reverse_drop_false(const struct graph *graph, struct reverse *reverse)
{
	uint32_t kept = 0, next = 0;
	for (size_t i = 0; graph->false_edges.len && i < reverse->blocks.len; i++) {
		uint32_t end = reverse->heads[i + 1];
		for (; next < end; next++) {
			uint32_t source = reverse->sources[next];
			if (has_true_pointer(graph, source, reverse->blocks.data[i]))
				reverse->sources[kept++] = source;
		}
		reverse->heads[i + 1] = kept;
	}
}

struct error *reverse_make_subset(
	const struct graph *graph, uint32_t block, size_t most, struct reverse *ret, bool *ret_few)
{
	_cleanup_free_ uint64_t *set = calloc(space_count(graph->space) / 64 + 1, sizeof(*set));
	struct holder_search c = {graph, set, 1, most};
	*ret = (struct reverse){.heads = NULL};
	*ret_few = false;
	if (!set)
		return error_no_memory();
	set[block / 64] |= 1ull << block % 64;
	if (!find_all_holders(&c))
		return NULL;
	*ret_few = list_set(&c, &ret->blocks) && reverse_edges(&c, ret);
	if (*ret_few)
		return NULL;
	reverse_free(ret);
	return error_no_memory();
}
