/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The site of each block, by 4 bytes as long as nothing else is known of most: what is asked of one
 * block alone never needs more. From then on by 8, in the same memory, with the site that the block
 * was added with, or what the search makes of it.
 */
#ifndef SEARCH_SITES_H
#define SEARCH_SITES_H

#include "base/map.h"
#include "search/space.h"

static inline uint64_t first_site_hash(uint32_t block)
{
	return hash_u64(block);
}
DEFINE_MAP(first_site_map, uint32_t, uint32_t, first_site_hash, space_same)

struct sites {
	struct space_u32 narrow;
	struct first_site_map firsts; /* of those that were set while they are narrow */
	uint64_t *nodes;              /* NULL: they are narrow; see state.h */
	bool failed;                  /* no memory for what was set */
};

void sites_deinit(struct sites *sites);
/* False, of all: no memory. */
bool sites_reserve(struct sites *sites, uint64_t blocks);
bool sites_push(struct sites *sites, uint32_t site);
/* Takes those of others, by their numbers here; both are narrow. */
bool sites_append(struct sites *sites, struct sites *behind, const uint32_t *numbers);
bool sites_widen(struct sites *sites);

uint32_t sites_get(const struct sites *sites, uint32_t block);
/* That was pushed, until the search says something of the block. */
uint32_t sites_first(const struct sites *sites, uint32_t block);
void sites_set(struct sites *sites, uint32_t block, uint32_t site);
void sites_prefetch(const struct sites *sites, uint32_t block);

#endif
