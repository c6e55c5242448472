/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Containers of nodes that point to each other: lists, trees, hash tables. Nodes are walked by the
 * pointers that the search has found, not by their memory: the first pointers of a node are its
 * links, as long as they lead to blocks.
 */
#include "heap/values/containers_find.h"

/* A link of a tree's node is among its first pointers. */
#define LINKS 3u

/* The node's pointers to blocks, at most `most`. */
static const uint32_t *links_of(
	const struct container_search *f, uint32_t node, uint32_t most, uint32_t *ret_count)
{
	uint32_t first = graph_edges(f->graph, node), end = graph_edges_end(f->graph, node);
	*ret_count = end - first < most ? end - first : most;
	return f->graph->edges.data + first;
}

static uint32_t first_link(const struct container_search *f, uint32_t node)
{
	uint32_t count;
	const uint32_t *links = links_of(f, node, 1, &count);
	return count && !(*links & GRAPH_INTERIOR) ? *links : SPACE_NONE;
}

static bool has_link(const struct container_search *f, uint32_t node, uint32_t most, uint32_t to)
{
	uint32_t count;
	const uint32_t *links = links_of(f, node, most, &count);
	for (uint32_t i = 0; i < count; i++) {
		if (links[i] == to)
			return true;
	}
	return false;
}

/* Whether the node has the address among its first three words. */
static bool points_to(const struct container_search *f, uint32_t node, uint64_t address)
{
	uint64_t words[LINKS], size = size_of(f, node), at = search_block_address(f->search, node);
	if (size < sizeof(words) ||
		address_space_read(f->heap->space, at, words, sizeof(words)) != sizeof(words))
		return false;
	return words[0] == address || words[1] == address || words[2] == address;
}

/* `offset` bytes after the place's word. */
static bool points_back(const struct container_search *f, uint32_t node,
	const struct container_place *place, int64_t offset)
{
	uint32_t count;
	if (place->holder == SPACE_NONE)
		return points_to(f, node, place->address + (uint64_t)offset);
	const uint32_t *links = links_of(f, node, LINKS, &count);
	uint64_t wanted = place->offset + (uint64_t)offset;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t number = (uint32_t)(links + i - f->graph->edges.data);
		if (GRAPH_BLOCK(links[i]) == place->holder &&
			graph_offset(f->graph, number) == wanted)
			return true;
	}
	return false;
}

static bool containers_linked_add_node(struct container_search *f, uint32_t fresh, uint32_t owner)
{
	if (space_u32_push(&f->nodes, fresh) && space_u32_push(&f->owners, owner))
		return true;
	if (!f->error)
		f->error = error_no_memory();
	return false;
}

static void containers_linked_begin(struct container_search *f)
{
	space_u32_clear(&f->nodes);
	space_u32_clear(&f->owners);
}

/* If they are all right, that is what they are; else the way was without success. */
static bool containers_linked_settle(
	struct container_search *f, bool right, enum container_part part)
{
	if (!right) {
		f->steps -= f->nodes.len < f->steps ? f->nodes.len : f->steps;
		return false;
	}
	find_assign_nodes(f, part);
	return true;
}

static bool is_count(const struct container_search *f, uint64_t word)
{
	return word && word <= f->blocks;
}

/* The node before `node` in a list; SPACE_NONE: no node that it points back to leads to it. */
static uint32_t node_before(const struct container_search *f, uint32_t node)
{
	uint32_t count;
	const uint32_t *links = links_of(f, node, 2, &count);
	while (count-- > 0) {
		uint32_t before = links[count];
		if (!(before & GRAPH_INTERIOR) && before != node && first_link(f, before) == node)
			return before;
	}
	return SPACE_NONE;
}

static bool add_list_node(struct container_search *f, uint32_t node, uint32_t first)
{
	return find_is_free(f, node) && find_alike(f, node, first) &&
	       containers_linked_add_node(f, node, SPACE_NONE);
}

/* What add_list_node() and links_of() read. */
static void fetch_node(const struct container_search *f, uint32_t node)
{
	graph_prefetch(f->graph, node);
	search_prefetch_block(f->search, node);
	prefetch(&f->graph->space->sizes.data[node]);
}

/*
 * Each node must point back to the one before. The way to the next node is a chain of loads that
 * wait for each other, so the list is walked from both ends at once until they meet.
 */
static bool walk_list(struct container_search *f, uint32_t first, uint32_t last, uint64_t count)
{
	uint32_t left = first, right = last;
	for (; count > 2; count -= 2) {
		uint32_t next = first_link(f, left), before_count;
		const uint32_t *before = links_of(f, right, 2, &before_count);
		if (next == SPACE_NONE || next == left || !before_count)
			return false;
		fetch_node(f, next);
		fetch_node(f, GRAPH_BLOCK(before[before_count - 1]));
		if (!add_list_node(f, left, first) || !add_list_node(f, right, first) ||
			!has_link(f, next, 2, left))
			return false;
		left = next;
		right = node_before(f, right);
		if (right == SPACE_NONE)
			return false;
	}
	if (count == 2 &&
		(left == right || first_link(f, left) != right || !has_link(f, right, 2, left)))
		return false;
	return (count == 2 || left == right) && add_list_node(f, left, first) &&
	       (count == 1 || add_list_node(f, right, first));
}

/*
 * Both libraries: two pointers to nodes, and how many there are. Where the list's own words are the
 * beginning of a block, each of its nodes looks like it, if a number in it happens to be right:
 * then its size must distinguish it from them.
 */
bool find_list(struct container_search *f, const struct container_place *place)
{
	const uint64_t *w = place->words;
	if (place->after < 3 || !is_count(f, w[2]) || !f->steps)
		return false;
	uint32_t first = block_of(f, w[0]);
	if (first == SPACE_NONE || !find_is_free(f, first) ||
		(place->holder != SPACE_NONE && !place->offset &&
			find_alike(f, place->holder, first)) ||
		!points_back(f, first, place, 0))
		return false;
	uint32_t last = block_of(f, w[1]);
	if (last == SPACE_NONE || (first == last) != (w[2] == 1) || !points_back(f, last, place, 0))
		return false;
	containers_linked_begin(f);
	return containers_linked_settle(f, walk_list(f, first, last, w[2]), PART_LIST);
}

/* Whether the parent of `node` is `of`: libstdc++'s is its first link, libc++'s its last. */
static bool is_child(const struct container_search *f, uint32_t node, uint32_t of, bool libcxx)
{
	return libcxx ? has_link(f, node, LINKS, of) : first_link(f, node) == of;
}

/* How many nodes ahead what is needed of them and of those below is fetched, step by step. */
#define AHEAD_HEAD 16u
#define AHEAD_LINKS 11u
#define AHEAD_BELOW 7u
#define AHEAD_BELOW_LINKS 3u

static void fetch_ahead(const struct container_search *f, size_t at)
{
	const uint32_t *nodes = f->nodes.data, *edges = f->graph->edges.data;
	size_t left = f->nodes.len - at;
	uint32_t count;
	if (left > AHEAD_HEAD) {
		uint32_t node = nodes[at + AHEAD_HEAD];
		graph_prefetch(f->graph, node);
		prefetch(&f->tails[node]);
		search_prefetch_block(f->search, node);
	}
	if (left > AHEAD_LINKS)
		prefetch(&edges[graph_edges(f->graph, nodes[at + AHEAD_LINKS])]);
	if (left > AHEAD_BELOW) {
		const uint32_t *links = links_of(f, nodes[at + AHEAD_BELOW], LINKS, &count);
		for (uint32_t i = 0; i < count; i++) {
			graph_prefetch(f->graph, GRAPH_BLOCK(links[i]));
			prefetch(&f->graph->space->sizes.data[GRAPH_BLOCK(links[i])]);
		}
	}
	if (left > AHEAD_BELOW_LINKS) {
		const uint32_t *links = links_of(f, nodes[at + AHEAD_BELOW_LINKS], LINKS, &count);
		for (uint32_t i = 0; i < count; i++)
			prefetch(&edges[graph_edges(f->graph, GRAPH_BLOCK(links[i]))]);
	}
}

/* All nodes below a root. */
static bool walk_tree(struct container_search *f, uint32_t root, uint64_t count, bool libcxx)
{
	if (!containers_linked_add_node(f, root, SPACE_NONE))
		return false;
	for (size_t at = 0; at < f->nodes.len; at++) {
		uint32_t node = f->nodes.data[at], owner = f->owners.data[at], links_count;
		const uint32_t *links = links_of(f, node, LINKS, &links_count);
		uint32_t before = SPACE_NONE;
		fetch_ahead(f, at);
		if (!find_is_free(f, node))
			return false;
		for (uint32_t i = 0; i < links_count; i++) {
			uint32_t child = links[i];
			if (child & GRAPH_INTERIOR || child == owner || child == before ||
				!find_alike(f, child, root) || !is_child(f, child, node, libcxx))
				continue;
			if (f->nodes.len >= count || !containers_linked_add_node(f, child, node))
				return false;
			before = child;
		}
	}
	return f->nodes.len == count;
}

/* libstdc++: colour (red), root, first and last node, and how many there are. */
bool find_tree(struct container_search *f, const struct container_place *place)
{
	const uint64_t *w = place->words;
	if (!place->before || place->after < 4 || (uint32_t)w[-1] || !is_count(f, w[3]) ||
		!f->steps)
		return false;
	uint32_t root = block_of(f, w[0]);
	bool one = w[3] == 1;
	if (root == SPACE_NONE || (w[1] == w[2]) != one || (one && w[0] != w[1]) ||
		!points_back(f, root, place, -8) || block_of(f, w[1]) == SPACE_NONE ||
		block_of(f, w[2]) == SPACE_NONE)
		return false;
	containers_linked_begin(f);
	return containers_linked_settle(f, walk_tree(f, root, w[3], false), PART_TREE);
}

/* libc++: first node, root, and how many there are; the root's parent is where the root is held. */
bool find_tree_of_libcxx(struct container_search *f, const struct container_place *place)
{
	const uint64_t *w = place->words;
	if (place->after < 3 || !is_count(f, w[2]) || !f->steps)
		return false;
	uint32_t root = block_of(f, w[1]);
	if (root == SPACE_NONE || (w[2] == 1 && w[0] != w[1]) || !points_back(f, root, place, 8) ||
		block_of(f, w[0]) == SPACE_NONE)
		return false;
	containers_linked_begin(f);
	return containers_linked_settle(f, walk_tree(f, root, w[2], true), PART_TREE);
}

/* One after the other. Whether the last one has no next cannot be seen here. */
static bool walk_chain(struct container_search *f, uint32_t first, uint64_t count)
{
	uint32_t node = first;
	while (node != SPACE_NONE) {
		uint32_t next = first_link(f, node);
		if (next != SPACE_NONE)
			fetch_node(f, next);
		if (!find_is_free(f, node) || !find_alike(f, node, first) ||
			!containers_linked_add_node(f, node, SPACE_NONE))
			return false;
		if (f->nodes.len == count)
			return true;
		node = next == node ? SPACE_NONE : next;
	}
	return false;
}

static bool is_last(const struct container_search *f, uint32_t node)
{
	uint64_t word, address = search_block_address(f->search, node);
	return address_space_word(f->heap->space, address, &word) && !word;
}

static bool take_chain(struct container_search *f, uint64_t first, uint64_t count)
{
	uint32_t node = block_of(f, first);
	if (node == SPACE_NONE || !f->steps)
		return false;
	containers_linked_begin(f);
	bool right = walk_chain(f, node, count) && is_last(f, f->nodes.data[count - 1]);
	return containers_linked_settle(f, right, PART_HASH);
}

static bool is_load_factor(uint64_t word)
{
	uint32_t bits = (uint32_t)word;
	float factor;
	memcpy(&factor, &bits, sizeof(factor));
	return factor >= 0.01f && factor <= 1000.0f;
}

/*
 * Both libraries: buckets, their number, first node, number of nodes, how full it may become. Of
 * libstdc++ a table with one bucket has that in itself, after all else; then the place is its
 * first node.
 */
bool find_hash(struct container_search *f, const struct container_place *place)
{
	const uint64_t *w = place->words;
	if (place->before >= 2 && place->after >= 5 && w[-1] == 1 && w[1] == 1 &&
		w[-2] == place->address + 32 && is_load_factor(w[2]))
		return take_chain(f, w[0], 1);
	if (place->after < 5 || !w[1] || w[1] > 1ull << 36 || w[3] > f->blocks || !w[2] != !w[3] ||
		!is_load_factor(w[4]))
		return false;
	uint32_t buckets = block_of(f, w[0]);
	if (buckets == SPACE_NONE || !find_is_free(f, buckets) ||
		!find_fits(f, 8 * w[1], buckets) || (w[3] && !take_chain(f, w[2], w[3])))
		return false;
	find_assign(f, buckets, PART_BUCKETS);
	return true;
}
