/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marks the blocks that roots hold, directly or not: by start pointers alone, then by any pointers.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "search/counting.h"
#include "search/impl/search_impl.h"

enum search_heuristic search_explain(const struct search *search, uint32_t block, uint64_t into,
	const struct search_requested *asked)
{
	const struct search *s = search;
	bool has_edges = graph_edges(&s->graph, block) < graph_edges_end(&s->graph, block);
	/* The size of elements that contain pointers is a multiple of 8. */
	const struct heuristic_block at = {
		space_address(&s->space, block), *asked, has_edges ? 8 : 1};
	return heuristics_explain(&s->heuristics, &at, into);
}

/* Returns the heuristic that explains an interior pointer; 0 if none does. */
static enum search_heuristic explain_link(const struct search *s, const struct link *link)
{
	uint32_t block = GRAPH_BLOCK(link->edge);
	if (!s->heuristics.enabled || link->offset % 8)
		return 0;
	uint64_t size = space_size(&s->space, block);
	struct search_requested asked = {size, size, size};
	const struct search_options *options = &s->options;
	enum search_chance chance = SEARCH_CHANCE;
	if (options->may_explain)
		chance = options->may_explain(
			options->may_explain_context, block, link->offset, &asked);
	if (chance == SEARCH_SURE_BASE)
		return SEARCH_MULTIPLEINHERITANCE;
	return chance ? search_explain(s, block, link->offset, &asked) : 0;
}

/* Returns whether the search's user says that an interior pointer counts as one to the start. */
static bool is_start(const struct search *s, const struct link *link)
{
	uint32_t site = sites_get(&s->sites, GRAPH_BLOCK(link->edge));
	return s->options.is_start &&
	       s->options.is_start(s->options.is_start_context, site, link->offset);
}

bool search_holds(const struct search *s, uint32_t edge_number)
{
	uint32_t edge = s->graph.edges.data[edge_number];
	if (!s->options.starts_only || !(edge & GRAPH_INTERIOR))
		return true;
	struct link link = {.edge = edge, .offset = graph_offset(&s->graph, edge_number)};
	return is_start(s, &link);
}

/* Returns whether a pointer is to hold nothing. */
static bool is_dropped(const struct search *search, const struct link *link, uint64_t beyond)
{
	return link->edge & GRAPH_INTERIOR && link->offset > beyond && !is_start(search, link);
}

void search_drop_far_interiors(struct search *search, uint64_t bytes)
{
	struct graph *graph = &search->graph;
	struct graph_roots *roots = &graph->roots;
	size_t kept = 0;
	for (uint32_t block = 0; block < search_block_count(search); block++) {
		uint32_t end = graph_edges_end(graph, block);
		for (uint32_t i = graph_edges(graph, block); i < end; i++) {
			struct link link = {.edge = graph->edges.data[i]};
			if (!(link.edge & GRAPH_INTERIOR))
				continue;
			link.offset = graph_offset(graph, i);
			if (is_dropped(search, &link, bytes))
				graph->edges.data[i] = block;
		}
	}
	for (size_t i = 0; i < roots->len; i++) {
		const struct graph_root *root = &roots->data[i];
		struct link link = {.edge = root->edge, .offset = root->offset};
		if (!is_dropped(search, &link, bytes))
			roots->data[kept++] = *root;
	}
	roots->len = kept;
}

void search_drop_interiors(struct search *search)
{
	search_drop_far_interiors(search, 0);
}

/*
 * Follows a pointer: if `kind` is SEARCH_REACHABLE, only if it points to a start. Returns false if
 * there is no memory.
 */
static bool follow_link(struct search *s, const struct link *link, enum search_kind kind)
{
	uint32_t block = GRAPH_BLOCK(link->edge), group;
	if (search_is_reached(s, block))
		return true;
	if (kind == SEARCH_REACHABLE && link->edge & GRAPH_INTERIOR && !is_start(s, link)) {
		enum search_heuristic by = explain_link(s, link);
		if (!by)
			return true;
		if (!explained_vec_push(&s->explained, (struct explained){block, by}))
			return false;
	}
	s->reached[block / 64] |= 1ull << block % 64;
	if (!search_group_of(s, link, block, &group))
		return false;
	uint64_t node = node_make(sites_get(&s->sites, block), kind, group);
	return sites_put(&s->sites, block, node) && space_u32_push(&s->queue, block);
}

static bool follow_block(struct search *s, uint32_t block, enum search_kind kind)
{
	uint32_t group = node_group(sites_node(&s->sites, block));
	uint32_t end = graph_edges_end(&s->graph, block);
	for (uint32_t i = graph_edges(&s->graph, block); i < end; i++) {
		uint32_t edge = s->graph.edges.data[i];
		if (search_is_reached(s, GRAPH_BLOCK(edge)))
			continue;
		struct link link = {.edge = edge, .holder = block, .holder_group = group};
		if (edge & GRAPH_INTERIOR)
			link.offset = graph_offset(&s->graph, i);
		if (!follow_link(s, &link, kind))
			return false;
	}
	return true;
}

/* How many blocks ahead in the queue their data is prefetched, in three steps. */
#define AHEAD_HEAD 24u
#define AHEAD_EDGES 16u
#define AHEAD_NODES 8u

static void fetch_ahead(const struct search *s, size_t at)
{
	const struct space_u32 *queue = &s->queue;
	const uint32_t *edges = s->graph.edges.data;
	if (at + AHEAD_HEAD < queue->len) {
		graph_prefetch(&s->graph, queue->data[at + AHEAD_HEAD]);
		sites_prefetch(&s->sites, queue->data[at + AHEAD_HEAD]);
	}
	if (at + AHEAD_EDGES < queue->len)
		prefetch(&edges[graph_edges(&s->graph, queue->data[at + AHEAD_EDGES])]);
	if (at + AHEAD_NODES >= queue->len)
		return;
	uint32_t block = queue->data[at + AHEAD_NODES], first = graph_edges(&s->graph, block);
	for (uint32_t i = first, end = graph_edges_end(&s->graph, block); i < end && i < first + 8;
		i++) {
		uint32_t target = GRAPH_BLOCK(edges[i]);
		if (search_is_reached(s, target))
			continue;
		sites_prefetch(&s->sites, target);
		if (edges[i] & GRAPH_INTERIOR)
			prefetch(s->graph.interiors.data + graph_interior_guess(&s->graph, i));
	}
}

/* The done part of the queue is removed if it is longer than the rest and at least this long. */
#define QUEUE_DONE (1u << 18)

/* Follows all pointers of what was reached, level by level, until the queue is empty. */
static bool mark_from(struct search *s, enum search_kind kind)
{
	for (size_t at = 0; at < s->queue.len; at++) {
		fetch_ahead(s, at);
		if (!follow_block(s, s->queue.data[at], kind))
			return false;
		if (at >= QUEUE_DONE && at > s->queue.len / 2) {
			s->queue.len -= at + 1;
			memmove(s->queue.data, s->queue.data + at + 1,
				s->queue.len * sizeof(*s->queue.data));
			at = (size_t)-1;
		}
	}
	space_u32_clear(&s->queue);
	return true;
}

/* How far apart words of one object in a root may be, in words that hold blocks and in bytes. */
#define BESIDE_WORDS 8u
#define BESIDE_BYTES 64u

/*
 * Returns whether a word that points to the start of a block is rather the end pointer of the block
 * before: that block ends there, and a word nearby points to it, as in a stream or a vector.
 */
static bool is_end(const struct search *s, size_t which)
{
	const struct graph_roots *roots = &s->graph.roots;
	const struct graph_root *root = &roots->data[which];
	uint32_t block = GRAPH_BLOCK(root->edge);
	size_t from = which > BESIDE_WORDS ? which - BESIDE_WORDS : 0;
	if (root->edge & GRAPH_INTERIOR || !block)
		return false;
	for (size_t i = from; i < roots->len && i <= which + BESIDE_WORDS; i++) {
		const struct graph_root *beside = &roots->data[i];
		if (GRAPH_BLOCK(beside->edge) == block - 1 && beside->root == root->root &&
			beside->address + BESIDE_BYTES >= root->address &&
			beside->address <= root->address + BESIDE_BYTES)
			return space_address(&s->space, block - 1) +
				       space_size(&s->space, block - 1) ==
			       space_address(&s->space, block);
	}
	return false;
}

/* Follows end pointers, after all other pointers to starts. */
static bool mark_ends(struct search *s)
{
	for (size_t i = 0; i < s->graph.roots.len; i++) {
		const struct graph_root *root = &s->graph.roots.data[i];
		struct link link = {root->edge, root->offset, SPACE_NONE, SEARCH_NO_GROUP, root};
		if (is_end(s, i) && !follow_link(s, &link, SEARCH_REACHABLE))
			return false;
	}
	return mark_from(s, SEARCH_REACHABLE);
}

static bool mark_roots(struct search *s, enum search_kind kind)
{
	for (size_t i = 0; i < s->graph.roots.len; i++) {
		const struct graph_root *root = &s->graph.roots.data[i];
		if (kind == SEARCH_REACHABLE && is_end(s, i))
			continue;
		struct link link = {root->edge, root->offset, SPACE_NONE, SEARCH_NO_GROUP, root};
		if (!follow_link(s, &link, kind))
			return false;
	}
	return true;
}

/* Finds the reached blocks with an interior pointer to one that is not reached. Returns how many
 * there are. */
static uint32_t find_open(const struct search *s, uint64_t *ret_open)
{
	const struct graph_interiors *interiors = &s->graph.interiors;
	uint32_t block = 0, found = 0;
	for (size_t i = 0; i < interiors->len; i++) {
		uint32_t edge = interiors->data[i].edge;
		if (search_is_reached(s, GRAPH_BLOCK(s->graph.edges.data[edge])))
			continue;
		while (graph_edges_end(&s->graph, block) <= edge)
			block++;
		if (!search_is_reached(s, block))
			continue;
		found += !(ret_open[block / 64] >> block % 64 & 1);
		ret_open[block / 64] |= 1ull << block % 64;
	}
	return found;
}

/*
 * Follows the interior pointers of blocks that are reachable by start pointers alone. In most heaps
 * few of them lead to new blocks. They are found in the list of interior pointers, without another
 * pass over all blocks.
 */
static bool mark_interiors(struct search *s)
{
	_cleanup_free_ uint64_t *open =
		calloc(space_count(&s->space) / 64 + 1, sizeof(*s->reached));
	if (!open)
		return false;
	uint32_t left = find_open(s, open);
	for (uint32_t block = 0; left && block < space_count(&s->space); block++) {
		if (!(open[block / 64] >> block % 64 & 1))
			continue;
		left--;
		if (!follow_block(s, block, SEARCH_POSSIBLE))
			return false;
	}
	return true;
}

/* Removes blocks to whose start a root or a reached block points, too. */
static void forget_plain(const struct search *s, uint64_t *explained)
{
	const uint32_t *edges = s->graph.edges.data;
	for (size_t i = 0; i < s->graph.roots.len; i++) {
		uint32_t edge = s->graph.roots.data[i].edge;
		if (!(edge & GRAPH_INTERIOR))
			explained[edge / 64] &= ~(1ull << edge % 64);
	}
	for (uint32_t block = 0; block < space_count(&s->space); block++) {
		uint32_t end = search_is_reached(s, block) ? graph_edges_end(&s->graph, block) : 0;
		for (uint32_t i = end ? graph_edges(&s->graph, block) : 0; i < end; i++)
			if (!(edges[i] & GRAPH_INTERIOR))
				explained[edges[i] / 64] &= ~(1ull << edges[i] % 64);
	}
}

static int by_block(const void *a, const void *b)
{
	uint32_t x = ((const struct explained *)a)->block, y = ((const struct explained *)b)->block;
	return (x > y) - (x < y);
}

/* Sums up the blocks that are reachable by heuristics alone, as memcheck does, and keeps their
 * list. Returns false if there is no memory. */
static bool count_explained(struct search *s)
{
	if (!s->explained.len)
		return true;
	_cleanup_free_ uint64_t *explained =
		calloc(space_count(&s->space) / 64 + 1, sizeof(*explained));
	if (!explained)
		return false;
	for (size_t i = 0; i < s->explained.len; i++) {
		uint32_t block = s->explained.data[i].block;
		explained[block / 64] |= 1ull << block % 64;
	}
	forget_plain(s, explained);
	size_t kept = 0;
	for (size_t i = 0; i < s->explained.len; i++) {
		struct explained one = s->explained.data[i];
		if (!(explained[one.block / 64] >> one.block % 64 & 1))
			continue;
		unsigned number = (unsigned)__builtin_ctz(one.by);
		s->totals.heuristic_blocks[number]++;
		s->totals.heuristic_bytes[number] += space_size(&s->space, one.block);
		s->explained.data[kept++] = one;
	}
	s->explained.len = kept;
	qsort(s->explained.data, kept, sizeof(*s->explained.data), by_block);
	return true;
}

enum search_heuristic search_heuristic_of(const struct search *search, uint32_t block)
{
	const struct explained key = {.block = block}, *found = NULL;
	if (search->explained.len)
		found = bsearch(
			&key, search->explained.data, search->explained.len, sizeof(key), by_block);
	return found ? found->by : 0;
}

bool search_mark(struct search *s)
{
	bool ok = mark_roots(s, SEARCH_REACHABLE) && mark_from(s, SEARCH_REACHABLE) && mark_ends(s);
	if (!s->options.starts_only)
		ok = ok && mark_roots(s, SEARCH_POSSIBLE) && mark_interiors(s) &&
		     mark_from(s, SEARCH_POSSIBLE);
	return ok && count_explained(s);
}
