/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of blocks by site, kind and the group that holds them. */
#include <stdlib.h>

#include "search/counting.h"
#include "search/impl/search_impl.h"

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

/* The state of search_count(). */
struct record_counts {
	struct record_map map;
	uint32_t *of_node; /* of each of the sites' nodes: number of its record + 1 */
};

/* Gives the number of the record of a node, which is made if there is none. Returns false if there
 * is no memory. */
static bool record_of(struct search *s, struct record_counts *c, uint64_t node, uint32_t *ret)
{
	enum search_kind kind = node_kind(node);
	bool is_held = kind == SEARCH_REACHABLE || kind == SEARCH_POSSIBLE;
	struct record_key key = {
		node_site(node), is_held ? node_group(node) : SEARCH_NO_GROUP, kind};
	bool is_new;
	uint32_t *at = record_map_insert(&c->map, key, &is_new);
	struct search_record fresh = {.site = key.site, .kind = kind, .group = key.group};
	if (!at || (is_new && !search_record_vec_push(&s->records, fresh)))
		return false;
	if (is_new)
		*at = (uint32_t)s->records.len - 1;
	*ret = *at;
	return true;
}

static struct search_record *record_at(struct search *s, struct record_counts *c, uint32_t block)
{
	uint32_t number = s->sites.numbers.data[block], record;
	if (c->of_node[number])
		return &s->records.data[c->of_node[number] - 1];
	if (!record_of(s, c, s->sites.nodes.data[number], &record))
		return NULL;
	c->of_node[number] = record + 1;
	return &s->records.data[record];
}

void search_set_counting(
	struct search *search, bool (*counts)(void *context, uint64_t address), void *context)
{
	search->counts = counts;
	search->counts_context = context;
}

static bool is_counted(const struct search *s, uint64_t address)
{
	return !s->counts || s->counts(s->counts_context, address);
}

static bool count_block(struct search *s, struct record_counts *c, uint32_t block, uint64_t address)
{
	enum search_kind block_kind = node_kind(sites_node(&s->sites, block));
	bool is_lost = block_kind == SEARCH_DEFINITE || block_kind == SEARCH_INDIRECT;
	if (is_lost && !is_counted(s, address))
		return true;
	struct search_record *record = record_at(s, c, block);
	if (!record)
		return false;
	uint64_t size = space_size(&s->space, block);
	if (!record->blocks || size > record->example_size) {
		record->example = address;
		record->example_size = size;
	}
	record->blocks++;
	record->bytes += size;
	enum search_kind kind = record->kind;
	s->totals.blocks[kind]++;
	s->totals.bytes[kind] += size;
	if (kind != SEARCH_INDIRECT)
		return true;
	uint32_t leader = search_leader_of(s, block);
	if (!is_counted(s, space_address(&s->space, leader)))
		return true;
	record = record_at(s, c, leader);
	if (record) {
		record->indirect_blocks++;
		record->indirect_bytes += size;
	}
	return record;
}

bool search_count(struct search *s)
{
	struct record_counts counting = {
		.of_node = calloc(s->sites.nodes.len + 1, sizeof(*counting.of_node))};
	struct space_walk walk = {&s->space, 0, 0};
	bool ok = counting.of_node;
	for (; ok && walk.block < space_count(&s->space); walk.block++)
		ok = count_block(s, &counting, walk.block, space_walk_address(&walk));
	record_map_deinit(&counting.map);
	free(counting.of_node);
	return ok;
}
