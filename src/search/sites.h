/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The site of each block, by 4 bytes as long as nothing else is known of most: what is asked of one
 * block alone never needs more. From then on by 8 (a node), in the same memory, with the site that
 * the block was added with, or what the search makes of it.
 */
#ifndef SEARCH_SITES_H
#define SEARCH_SITES_H

#include "base/map.h"
#include "search/search.h"

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

/* Of a held block its group, of a lost one the number of the block that leads it; before either is
 * known the site that it was added with. */
static inline uint32_t node_group(uint64_t node)
{
	return (uint32_t)(node >> NODE_GROUP_SHIFT);
}

static inline uint64_t first_site_hash(uint32_t block)
{
	return hash_u64(block);
}
DEFINE_MAP(first_site_map, uint32_t, uint32_t, first_site_hash, space_same)

struct sites {
	struct space_u32 narrow;
	struct first_site_map firsts; /* of those that were set while they are narrow */
	uint64_t *nodes;              /* NULL: they are narrow; of each block */
	bool failed;                  /* no memory for what was set */
};

void sites_deinit(struct sites *sites);
/* False, of all: no memory. */
bool sites_reserve(struct sites *sites, uint64_t blocks);
bool sites_push(struct sites *sites, uint32_t site);
/* Takes those of others, by their numbers here; both are narrow. */
bool sites_append(struct sites *sites, struct sites *behind, const uint32_t *numbers);
bool sites_widen(struct sites *sites);

static inline uint32_t sites_get(const struct sites *sites, uint32_t block)
{
	return sites->nodes ? node_site(sites->nodes[block]) : sites->narrow.data[block];
}
/* That was pushed, until the search says something of the block. */
uint32_t sites_first(const struct sites *sites, uint32_t block);
void sites_set(struct sites *sites, uint32_t block, uint32_t site);
void sites_prefetch(const struct sites *sites, uint32_t block);

#endif
