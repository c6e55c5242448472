/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "search/sites.h"

#include <stdlib.h>
#include <string.h>

/* With more that were set it is no question about a few any more. */
#define FIRSTS_MOST (1u << 14)

void sites_deinit(struct sites *sites)
{
	space_u32_deinit(&sites->narrow);
	first_site_map_deinit(&sites->firsts);
	sites->nodes = NULL;
}

/* With room to widen them, of which only what is used is ever there. */
bool sites_reserve(struct sites *sites, uint64_t blocks)
{
	return space_u32_reserve(&sites->narrow, 2 * blocks);
}

bool sites_push(struct sites *sites, uint32_t site)
{
	return space_u32_push(&sites->narrow, site);
}

bool sites_append(struct sites *sites, struct sites *behind, const uint32_t *numbers)
{
	struct space_u32 *to = &sites->narrow;
	size_t count = behind->narrow.len;
	if (!space_u32_reserve(to, to->len + count))
		return false;
	for (size_t i = 0; i < count; i++)
		to->data[to->len + i] = numbers[behind->narrow.data[i]];
	to->len += count;
	space_u32_deinit(&behind->narrow);
	return true;
}

bool sites_widen(struct sites *sites)
{
	size_t count = sites->narrow.len;
	if (sites->nodes)
		return true;
	if (!space_u32_reserve(&sites->narrow, 2 * count + 1))
		return false;
	uint8_t *memory = (uint8_t *)sites->narrow.data;
	for (size_t i = count; i > 0; i--) {
		uint32_t site;
		memcpy(&site, memory + (i - 1) * sizeof(site), sizeof(site));
		uint64_t node = node_make(site, SEARCH_DEFINITE, site);
		memcpy(memory + (i - 1) * sizeof(node), &node, sizeof(node));
	}
	sites->nodes = (uint64_t *)(void *)memory;
	uint32_t position = 0;
	const uint32_t *block;
	for (uint32_t *first; (first = first_site_map_next(&sites->firsts, &position, &block));)
		sites->nodes[*block] =
			node_make(node_site(sites->nodes[*block]), SEARCH_DEFINITE, *first);
	first_site_map_deinit(&sites->firsts);
	return true;
}

uint32_t sites_first(const struct sites *sites, uint32_t block)
{
	if (sites->nodes)
		return node_group(sites->nodes[block]);
	const uint32_t *first = first_site_map_find(&sites->firsts, block);
	return first ? *first : sites->narrow.data[block];
}

static void set_narrow(struct sites *s, uint32_t block, uint32_t site)
{
	bool is_new;
	uint32_t *first = first_site_map_insert(&s->firsts, block, &is_new);
	s->failed = s->failed || !first;
	if (first && is_new)
		*first = s->narrow.data[block];
	s->narrow.data[block] = site;
}

void sites_set(struct sites *sites, uint32_t block, uint32_t site)
{
	struct sites *s = sites;
	if (!s->nodes && s->firsts.len >= FIRSTS_MOST && !sites_widen(s))
		s->failed = true;
	if (s->nodes)
		s->nodes[block] = node_make(site, SEARCH_DEFINITE, node_group(s->nodes[block]));
	else
		set_narrow(s, block, site);
}

void sites_prefetch(const struct sites *sites, uint32_t block)
{
	if (sites->nodes)
		prefetch(&sites->nodes[block]);
	else
		prefetch(&sites->narrow.data[block]);
}
