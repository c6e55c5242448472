/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "search/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "search/graph.h"
#include "search/heuristics.h"

/* Bits of a node: what is known of a block. A kind of SEARCH_DEFINITE means: not reached so far. */
#define NODE_SITE_BITS 28
#define NODE_KIND_BITS 2
#define NODE_GROUP_SHIFT (NODE_SITE_BITS + NODE_KIND_BITS)

static inline uint64_t node_make(uint32_t site, enum search_kind kind, uint32_t group)
{
	return site | (uint64_t)kind << NODE_SITE_BITS | (uint64_t)group << NODE_GROUP_SHIFT;
}

static inline uint32_t node_site(uint64_t node)
{
	return (uint32_t)node & ((1u << NODE_SITE_BITS) - 1);
}

static inline enum search_kind node_kind(uint64_t node)
{
	return node >> NODE_SITE_BITS & 3;
}

/* Of a held block its group, of a lost one the number of the block that leads it. */
static inline uint32_t node_group(uint64_t node)
{
	return (uint32_t)(node >> NODE_GROUP_SHIFT);
}

DEFINE_VEC(node_vec, uint64_t)
DEFINE_VEC(search_group_vec, struct search_group)
DEFINE_VEC(search_record_vec, struct search_record)

struct group_key {
	uint32_t parent, root, site;
	uint64_t root_address;
};
static inline uint64_t group_hash(struct group_key k)
{
	return hash_u64(((uint64_t)k.parent << 32 | k.site) + hash_u64(k.root_address + k.root));
}
static inline bool group_equal(struct group_key a, struct group_key b)
{
	return a.parent == b.parent && a.root == b.root && a.site == b.site &&
	       a.root_address == b.root_address;
}
DEFINE_MAP(group_map, struct group_key, uint32_t, group_hash, group_equal)

struct record_key {
	uint32_t site, group;
	uint32_t kind;
};
static inline uint64_t record_hash(struct record_key k)
{
	return hash_u64(((uint64_t)k.site << 32 | k.group) + k.kind * 0x9e3779b97f4a7c15ull);
}
static inline bool record_equal(struct record_key a, struct record_key b)
{
	return a.site == b.site && a.group == b.group && a.kind == b.kind;
}
DEFINE_MAP(record_map, struct record_key, uint32_t, record_hash, record_equal)

/* A block that is lost. */
struct lost {
	uint64_t age;
	uint32_t block;
};
DEFINE_VEC(lost_vec, struct lost)
/* So many are asked for their age. */
#define LOST_AGED_MAX (1u << 20)

/* A block that was reached by an interior pointer that a heuristic explains. */
struct explained {
	uint32_t block;
	enum search_heuristic by;
};
DEFINE_VEC(explained_vec, struct explained)

struct search {
	struct search_options options;
	struct space space;
	struct node_vec nodes; /* of each block */
	uint64_t *reached;     /* bit set of blocks: small enough to stay near the processor */
	struct graph graph;
	struct heuristics heuristics;
	struct space_u32 queue; /* blocks that were reached, and from which nobody went on yet */
	struct explained_vec explained;
	struct search_group_vec group_list;
	struct group_map group_map;
	struct search_record_vec records;
	struct search_totals totals;
};

struct error *search_create(const struct search_options *options, struct search **ret)
{
	struct search *s = calloc(1, sizeof(*s));
	if (!s)
		return error_no_memory();
	s->options = *options;
	space_init(&s->space);
	*ret = s;
	return NULL;
}

void search_destroy(struct search *search)
{
	if (!search)
		return;
	space_deinit(&search->space);
	node_vec_deinit(&search->nodes);
	graph_deinit(&search->graph);
	free(search->reached);
	space_u32_deinit(&search->queue);
	explained_vec_deinit(&search->explained);
	search_group_vec_deinit(&search->group_list);
	group_map_deinit(&search->group_map);
	search_record_vec_deinit(&search->records);
	free(search);
}

struct error *search_reserve(struct search *search, uint64_t blocks)
{
	bool ok = blocks <= SPACE_BLOCKS_MAX && space_reserve(&search->space, (uint32_t)blocks) &&
		  node_vec_reserve(&search->nodes, blocks) &&
		  space_u32_reserve(&search->queue, blocks);
	return ok ? NULL : error_no_memory();
}

struct error *search_add_block(
	struct search *search, uint64_t address, uint64_t size, uint32_t site)
{
	switch (space_add(&search->space, address, size)) {
	case SPACE_REFUSED:
		return error_create(ERROR_INPUT,
			"block of %llu bytes at 0x%llx: out of order, or no address",
			(unsigned long long)size, (unsigned long long)address);
	case SPACE_NO_MEMORY:
		return error_no_memory();
	default:
		return node_vec_push(&search->nodes, node_make(site, SEARCH_DEFINITE, 0))
			       ? NULL
			       : error_no_memory();
	}
}

/* A pointer that is followed: from a block's word, or a root's. */
struct link {
	uint32_t edge;   /* as in the graph */
	uint32_t offset; /* how far it points into its block */
	uint32_t holder; /* SPACE_NONE: a root's */
	uint32_t holder_group;
	const struct graph_root *root;
};

/* The group that stands for the same site further up the way: it holds more of itself. */
static uint32_t group_above(struct search *s, uint32_t group, uint32_t site)
{
	for (; group != SEARCH_NO_GROUP; group = s->group_list.data[group].parent) {
		if (s->group_list.data[group].site == site)
			return group;
	}
	return SEARCH_NO_GROUP;
}

static void group_describe(
	struct search *s, const struct link *link, uint32_t block, struct search_group *ret)
{
	ret->into = link->offset;
	ret->block = space_address(&s->space, block);
	if (link->holder == SPACE_NONE)
		return;
	ret->holder = space_address(&s->space, link->holder);
	ret->offset = graph_word_offset(&s->graph, ret->holder, space_size(&s->space, link->holder),
		ret->block + ret->into);
}

/* The group of a block that is reached now. False: no memory. */
static bool group_of(struct search *s, const struct link *link, uint32_t block, uint32_t *ret)
{
	uint32_t site = node_site(s->nodes.data[block]);
	uint32_t parent = link->holder == SPACE_NONE ? SEARCH_NO_GROUP : link->holder_group;
	struct group_key key = {parent, 0, site, 0};
	if (link->holder == SPACE_NONE) {
		key.root = link->root->root;
		/* Tables of pointers: not each of their words is told apart for ever. */
		if (s->group_list.len < SEARCH_GROUPS_MAX / 2)
			key.root_address = link->root->address;
	} else if (parent == SEARCH_NO_GROUP) {
		*ret = SEARCH_NO_GROUP;
		return true;
	}
	uint32_t above = group_above(s, parent, site);
	if (above != SEARCH_NO_GROUP) {
		s->group_list.data[above].repeats = 1;
		*ret = above;
		return true;
	}
	uint32_t *known = group_map_find(&s->group_map, key);
	if (known || s->group_list.len == SEARCH_GROUPS_MAX) {
		*ret = known ? *known : SEARCH_NO_GROUP;
		return true;
	}
	struct search_group group = {.parent = parent, .root = key.root, .site = site};
	if (link->root)
		group.root_address = link->root->address;
	if (parent != SEARCH_NO_GROUP) {
		group.root = s->group_list.data[parent].root;
		group.root_address = s->group_list.data[parent].root_address;
	}
	group_describe(s, link, block, &group);
	known = group_map_insert(&s->group_map, key, NULL);
	if (!known || !search_group_vec_push(&s->group_list, group))
		return false;
	*known = *ret = (uint32_t)s->group_list.len - 1;
	return true;
}

/* What explains an interior pointer; 0: nothing. */
static enum search_heuristic explain(const struct search *s, const struct link *link)
{
	uint32_t block = GRAPH_BLOCK(link->edge);
	if (!s->heuristics.enabled)
		return 0;
	return heuristics_explain(&s->heuristics, space_address(&s->space, block),
		space_size(&s->space, block), link->offset);
}

/* Whether the caller says that an interior pointer is none. */
static bool is_start(const struct search *s, const struct link *link)
{
	uint32_t site = node_site(s->nodes.data[GRAPH_BLOCK(link->edge)]);
	return s->options.is_start &&
	       s->options.is_start(s->options.is_start_context, site, link->offset);
}

static inline bool is_reached(const struct search *s, uint32_t block)
{
	return s->reached[block / 64] >> block % 64 & 1;
}

/*
 * Follows a pointer. Only those to starts, if `kind` is SEARCH_REACHABLE; any, if it is
 * SEARCH_POSSIBLE. False: no memory.
 */
static bool follow(struct search *s, const struct link *link, enum search_kind kind)
{
	uint32_t block = GRAPH_BLOCK(link->edge), group;
	if (is_reached(s, block))
		return true;
	if (kind == SEARCH_REACHABLE && link->edge & GRAPH_INTERIOR && !is_start(s, link)) {
		enum search_heuristic by = explain(s, link);
		if (!by)
			return true;
		if (!explained_vec_push(&s->explained, (struct explained){block, by}))
			return false;
	}
	s->reached[block / 64] |= 1ull << block % 64;
	if (!group_of(s, link, block, &group))
		return false;
	s->nodes.data[block] = node_make(node_site(s->nodes.data[block]), kind, group);
	return space_u32_push(&s->queue, block);
}

static bool follow_block(struct search *s, uint32_t block, enum search_kind kind)
{
	const uint32_t *heads = s->graph.heads.data;
	uint32_t group = node_group(s->nodes.data[block]);
	for (uint32_t i = heads[block], end = graph_edges_end(&s->graph, block); i < end; i++) {
		uint32_t edge = s->graph.edges.data[i];
		if (is_reached(s, GRAPH_BLOCK(edge)))
			continue;
		struct link link = {.edge = edge, .holder = block, .holder_group = group};
		if (edge & GRAPH_INTERIOR)
			link.offset = graph_offset(&s->graph, i);
		if (!follow(s, &link, kind))
			return false;
	}
	return true;
}

/* How many blocks ahead in the queue what is needed of them is fetched, step by step. */
#define AHEAD_HEAD 24u
#define AHEAD_EDGES 16u
#define AHEAD_NODES 8u

static void fetch_ahead(const struct search *s, size_t at)
{
	const struct space_u32 *queue = &s->queue;
	const uint32_t *heads = s->graph.heads.data, *edges = s->graph.edges.data;
	if (at + AHEAD_HEAD < queue->len)
		prefetch(&heads[queue->data[at + AHEAD_HEAD]]);
	if (at + AHEAD_EDGES < queue->len)
		prefetch(&edges[heads[queue->data[at + AHEAD_EDGES]]]);
	if (at + AHEAD_NODES >= queue->len)
		return;
	uint32_t block = queue->data[at + AHEAD_NODES];
	for (uint32_t i = heads[block], end = graph_edges_end(&s->graph, block);
		i < end && i < heads[block] + 8; i++) {
		uint32_t target = GRAPH_BLOCK(edges[i]);
		if (!is_reached(s, target))
			prefetch(&s->nodes.data[target]);
	}
}

/* What was gone on from makes room once there is more of it than of the rest, and a lot. */
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

static bool mark_roots(struct search *s, enum search_kind kind)
{
	for (size_t i = 0; i < s->graph.roots.len; i++) {
		const struct graph_root *root = &s->graph.roots.data[i];
		struct link link = {root->edge, root->offset, SPACE_NONE, SEARCH_NO_GROUP, root};
		if (!follow(s, &link, kind))
			return false;
	}
	return true;
}

/* The reached blocks with an interior pointer to one that is not. Returns how many there are. */
static uint32_t find_open(const struct search *s, uint64_t *ret_open)
{
	const struct graph_interiors *interiors = &s->graph.interiors;
	uint32_t block = 0, found = 0;
	for (size_t i = 0; i < interiors->len; i++) {
		uint32_t edge = interiors->data[i].edge;
		if (is_reached(s, GRAPH_BLOCK(s->graph.edges.data[edge])))
			continue;
		while (graph_edges_end(&s->graph, block) <= edge)
			block++;
		if (!is_reached(s, block))
			continue;
		found += !(ret_open[block / 64] >> block % 64 & 1);
		ret_open[block / 64] |= 1ull << block % 64;
	}
	return found;
}

/*
 * Follows the interior pointers of what is reachable by start pointers alone. Most heaps have few
 * that lead anywhere new: those are found in the list of interior pointers, without another look at
 * all blocks.
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

static bool mark(struct search *s)
{
	return mark_roots(s, SEARCH_REACHABLE) && mark_from(s, SEARCH_REACHABLE) &&
	       mark_roots(s, SEARCH_POSSIBLE) && mark_interiors(s) && mark_from(s, SEARCH_POSSIBLE);
}

/* Takes out what a pointer to a start leads to as well, from a root or from what is reached. */
static void forget_plain(const struct search *s, uint64_t *explained)
{
	const uint32_t *heads = s->graph.heads.data, *edges = s->graph.edges.data;
	for (size_t i = 0; i < s->graph.roots.len; i++) {
		uint32_t edge = s->graph.roots.data[i].edge;
		if (!(edge & GRAPH_INTERIOR))
			explained[edge / 64] &= ~(1ull << edge % 64);
	}
	for (uint32_t block = 0; block < space_count(&s->space); block++) {
		uint32_t end = is_reached(s, block) ? graph_edges_end(&s->graph, block) : 0;
		for (uint32_t i = heads[block]; i < end; i++)
			if (!(edges[i] & GRAPH_INTERIOR))
				explained[edges[i] / 64] &= ~(1ull << edges[i] % 64);
	}
}

/* Sums up what is reachable by heuristics alone, as memcheck does. False: no memory. */
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
	for (size_t i = 0; i < s->explained.len; i++) {
		const struct explained *one = &s->explained.data[i];
		if (!(explained[one->block / 64] >> one->block % 64 & 1))
			continue;
		unsigned number = (unsigned)__builtin_ctz(one->by);
		s->totals.heuristic_blocks[number]++;
		s->totals.heuristic_bytes[number] += space_size(&s->space, one->block);
	}
	return true;
}

/* The block leads all lost ones that it holds and that nobody led so far, or that led others. */
static bool lead(struct search *s, uint32_t leader)
{
	const uint32_t *heads = s->graph.heads.data;
	space_u32_clear(&s->queue);
	s->nodes.data[leader] =
		node_make(node_site(s->nodes.data[leader]), SEARCH_DEFINITE, leader);
	if (!space_u32_push(&s->queue, leader))
		return false;
	while (s->queue.len) {
		uint32_t block = s->queue.data[--s->queue.len];
		for (uint32_t i = heads[block], end = graph_edges_end(&s->graph, block); i < end;
			i++) {
			uint32_t held = GRAPH_BLOCK(s->graph.edges.data[i]);
			if (is_reached(s, held) || held == leader)
				continue;
			s->reached[held / 64] |= 1ull << held % 64;
			s->nodes.data[held] =
				node_make(node_site(s->nodes.data[held]), SEARCH_INDIRECT, leader);
			if (!space_u32_push(&s->queue, held))
				return false;
		}
	}
	return true;
}

/* Marks all that a leader holds; other leaders among it are led by it from now on. */
static bool mark_held(struct search *s, uint32_t leader, uint64_t *marked)
{
	const uint32_t *heads = s->graph.heads.data;
	space_u32_clear(&s->queue);
	if (!space_u32_push(&s->queue, leader))
		return false;
	while (s->queue.len) {
		uint32_t block = s->queue.data[--s->queue.len];
		for (uint32_t i = heads[block], end = graph_edges_end(&s->graph, block); i < end;
			i++) {
			uint32_t held = GRAPH_BLOCK(s->graph.edges.data[i]);
			if (marked[held / 64] >> held % 64 & 1)
				continue;
			marked[held / 64] |= 1ull << held % 64;
			uint64_t *node = &s->nodes.data[held];
			if (node_kind(*node) == SEARCH_DEFINITE && held != leader)
				*node = node_make(node_site(*node), SEARCH_INDIRECT, leader);
			if (!space_u32_push(&s->queue, held))
				return false;
		}
	}
	return true;
}

/*
 * A leader may hold an earlier one by a block that this one led already. So what each of them holds
 * is gone through once more, the last first: no leader holds a later one, or it would have led it.
 */
static bool lead_leaders(struct search *s, const struct lost_vec *order, uint64_t *marked)
{
	for (size_t i = order->len; i-- > 0;) {
		uint32_t block = order->data[i].block;
		bool leads = !(marked[block / 64] >> block % 64 & 1) &&
			     node_kind(s->nodes.data[block]) == SEARCH_DEFINITE;
		if (leads && !mark_held(s, block, marked))
			return false;
	}
	return true;
}

static int by_age(const void *a, const void *b)
{
	const struct lost *x = a, *y = b;
	if (x->age != y->age)
		return x->age < y->age ? -1 : 1;
	return (x->block > y->block) - (x->block < y->block);
}

/* All that nobody holds from outside, the oldest first. */
static bool list_lost(struct search *s, struct lost_vec *ret)
{
	struct space_walk walk = {&s->space, 0, 0};
	for (; walk.block < space_count(&s->space); walk.block++) {
		uint64_t address = space_walk_address(&walk);
		if (is_reached(s, walk.block))
			continue;
		bool aged = s->options.age && ret->len < LOST_AGED_MAX;
		uint64_t age = aged ? s->options.age(s->options.age_context, address) : UINT64_MAX;
		if (!lost_vec_push(ret, (struct lost){age, walk.block}))
			return false;
	}
	if (s->options.age && ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), by_age);
	return true;
}

static bool lead_all(struct search *s)
{
	struct lost_vec order;
	lost_vec_init(&order);
	size_t bytes = (space_count(&s->space) / 64 + 1) * sizeof(*s->reached);
	_cleanup_free_ uint64_t *marked = malloc(bytes);
	bool ok = marked && list_lost(s, &order);
	if (ok)
		memcpy(marked, s->reached, bytes);
	for (size_t i = 0; ok && i < order.len; i++)
		ok = is_reached(s, order.data[i].block) || lead(s, order.data[i].block);
	ok = ok && (!memcmp(marked, s->reached, bytes) || lead_leaders(s, &order, marked));
	lost_vec_deinit(&order);
	return ok;
}

/* The definite block that an indirect one counts with. */
static uint32_t leader_of(struct search *s, uint32_t block)
{
	uint64_t *nodes = s->nodes.data;
	uint32_t leader = node_group(nodes[block]);
	while (node_kind(nodes[leader]) == SEARCH_INDIRECT)
		leader = node_group(nodes[leader]);
	while (node_group(nodes[block]) != leader) {
		uint32_t next = node_group(nodes[block]);
		nodes[block] = node_make(node_site(nodes[block]), SEARCH_INDIRECT, leader);
		block = next;
	}
	return leader;
}

static struct search_record *record_at(struct search *s, struct record_map *map, uint32_t block)
{
	uint64_t node = s->nodes.data[block];
	enum search_kind kind = node_kind(node);
	bool is_held = (kind == SEARCH_REACHABLE || kind == SEARCH_POSSIBLE) &&
		       s->records.len < SEARCH_RECORDS_FINE;
	struct record_key key = {
		node_site(node), is_held ? node_group(node) : SEARCH_NO_GROUP, kind};
	bool is_new;
	uint32_t *at = record_map_insert(map, key, &is_new);
	struct search_record fresh = {.site = key.site, .kind = kind, .group = key.group};
	if (!at || (is_new && !search_record_vec_push(&s->records, fresh)))
		return NULL;
	if (is_new)
		*at = (uint32_t)s->records.len - 1;
	return &s->records.data[*at];
}

static bool count(struct search *s, struct record_map *map, uint32_t block, uint64_t address)
{
	struct search_record *record = record_at(s, map, block);
	if (!record)
		return false;
	uint64_t size = space_size(&s->space, block);
	if (!record->blocks || size > record->example_size) {
		record->example = address;
		record->example_size = size;
	}
	record->blocks++;
	record->bytes += size;
	enum search_kind kind = node_kind(s->nodes.data[block]);
	s->totals.blocks[kind]++;
	s->totals.bytes[kind] += size;
	if (kind != SEARCH_INDIRECT)
		return true;
	record = record_at(s, map, leader_of(s, block));
	if (record) {
		record->indirect_blocks++;
		record->indirect_bytes += size;
	}
	return record;
}

static bool count_all(struct search *s)
{
	struct record_map map;
	record_map_init(&map);
	struct space_walk walk = {&s->space, 0, 0};
	bool ok = true;
	for (; ok && walk.block < space_count(&s->space); walk.block++)
		ok = count(s, &map, walk.block, space_walk_address(&walk));
	record_map_deinit(&map);
	return ok;
}

static struct error *read_roots(
	struct search *s, const struct search_root *roots, size_t root_count)
{
	struct error *error = NULL;
	for (size_t i = 0; !error && i < root_count; i++) {
		if (roots[i].values)
			error = graph_take_values(
				&s->graph, roots[i].values, roots[i].value_count, (uint32_t)i);
		else
			error = graph_read_root(
				&s->graph, roots[i].start, roots[i].end, (uint32_t)i);
	}
	return error;
}

struct error *search_read(struct search *search, const struct search_memory *memory,
	const struct search_root *roots, size_t root_count)
{
	struct search *s = search;
	size_t count = space_count(&s->space);
	s->heuristics = (struct heuristics){
		memory, s->options.heuristics, s->options.maps, s->options.map_count};
	graph_init(&s->graph, &s->space, memory, s->options.alignment);
	s->graph.beside_bytes = s->options.beside_bytes;
	struct error *error = count ? graph_read_blocks(&s->graph) : NULL;
	if (!error)
		error = read_roots(s, roots, root_count);
	return error;
}

struct error *search_judge(struct search *search)
{
	struct search *s = search;
	size_t count = space_count(&s->space);
	s->reached = calloc(count / 64 + 1, sizeof(*s->reached));
	if (!s->reached)
		return error_no_memory();
	if (count && (!mark(s) || !count_explained(s) || !lead_all(s)))
		return error_no_memory();
	space_u32_deinit(&s->queue);
	s->totals.pointers = s->graph.edge_count;
	s->totals.root_bytes = s->graph.root_bytes;
	s->totals.unread_bytes = s->graph.unread_bytes;
	return count_all(s) ? NULL : error_no_memory();
}

struct error *search_run(struct search *search, const struct search_memory *memory,
	const struct search_root *roots, size_t root_count)
{
	struct error *error = search_read(search, memory, roots, root_count);
	return error ? error : search_judge(search);
}

uint32_t search_block_count(const struct search *search)
{
	return space_count(&search->space);
}

uint64_t search_block_address(const struct search *search, uint32_t block)
{
	return space_address(&search->space, block);
}

uint64_t search_block_size(const struct search *search, uint32_t block)
{
	return space_size(&search->space, block);
}

uint32_t search_block_site(const struct search *search, uint32_t block)
{
	return node_site(search->nodes.data[block]);
}

void search_block_set_site(struct search *search, uint32_t block, uint32_t site)
{
	search->nodes.data[block] = node_make(site, SEARCH_DEFINITE, 0);
}

uint32_t search_block_at(const struct search *search, uint64_t address, uint64_t *ret_offset)
{
	const struct space *space = &search->space;
	if (address - space->low >= space->high - space->low)
		return SPACE_NONE;
	return space_find(space, address, ret_offset);
}

const struct graph *search_graph(const struct search *search)
{
	return &search->graph;
}

enum search_kind search_kind(const struct search *search, uint32_t block)
{
	return node_kind(search->nodes.data[block]);
}

const struct search_record *search_records(const struct search *search, size_t *ret_count)
{
	*ret_count = search->records.len;
	return search->records.data;
}

const struct search_group *search_groups(const struct search *search, size_t *ret_count)
{
	*ret_count = search->group_list.len;
	return search->group_list.data;
}

const struct search_totals *search_totals(const struct search *search)
{
	return &search->totals;
}
