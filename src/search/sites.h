/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of each block: its site, the site that it was added with, its kind and its group.
 * Many blocks have all of that in common. So each combination is kept once, as a *node*, and a
 * block takes 4 bytes for the number of its node.
 */
#ifndef SEARCH_SITES_H
#define SEARCH_SITES_H

#include "base/map.h"
#include "search/search.h"

/* Bits of a node. A kind of SEARCH_DEFINITE means: not reached so far. */
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

/* Returns the group of a held block; of another block the site that it was added with. */
static inline uint32_t node_group(uint64_t node)
{
	return (uint32_t)(node >> NODE_GROUP_SHIFT);
}

static inline bool node_same(uint64_t a, uint64_t b)
{
	return a == b;
}
DEFINE_VEC(node_vec, uint64_t)
DEFINE_MAP(node_map, uint64_t, uint32_t, hash_u64, node_same)

#define NODES_RECENT 256u

struct sites {
	struct space_u32 numbers; /* of each block: which of `nodes`; its site as long as there are
				   * none */
	uint32_t end;             /* all sites that were pushed are below */
	struct node_vec nodes; /* number i < end is that of blocks that were pushed with site i */
	struct node_map map;   /* numbers of the other nodes */
	struct {
		uint64_t node;
		uint32_t number;
	} recent[NODES_RECENT]; /* nodes that were looked up lately; number 0: none */
	/* Lately set sites: from the old number and the site to the new number; `to` 0: none. */
	struct {
		uint32_t from, site, to;
	} changes[NODES_RECENT];
	bool failed; /* there was no memory for a site that was set */
};

void sites_deinit(struct sites *sites);
/* These return false if there is no memory. */
bool sites_reserve(struct sites *sites, uint64_t blocks);
bool sites_push(struct sites *sites, uint32_t site);
/* Appends the sites of `after`: its site i becomes numbers[i]. No site was set of either. */
bool sites_append(struct sites *sites, struct sites *after, const uint32_t *numbers);
/* Gives all blocks nodes; called once, after all blocks were pushed. */
bool sites_open(struct sites *sites);

static inline uint32_t sites_get(const struct sites *sites, uint32_t block)
{
	uint32_t number = sites->numbers.data[block];
	return sites->nodes.data ? node_site(sites->nodes.data[number]) : number;
}
/* Returns the node of a block; after sites_open(). */
static inline uint64_t sites_node(const struct sites *sites, uint32_t block)
{
	return sites->nodes.data[sites->numbers.data[block]];
}
bool sites_put(struct sites *sites, uint32_t block, uint64_t node);
/* Returns the site that was pushed for a block, as long as the block has no group. */
static inline uint32_t sites_first(const struct sites *sites, uint32_t block)
{
	uint32_t number = sites->numbers.data[block];
	return sites->nodes.data ? node_group(sites->nodes.data[number]) : number;
}
void sites_set(struct sites *sites, uint32_t block, uint32_t site);
void sites_prefetch(const struct sites *sites, uint32_t block);

#endif
