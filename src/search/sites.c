/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "search/sites.h"

void sites_deinit(struct sites *sites)
{
	space_u32_deinit(&sites->numbers);
	node_vec_deinit(&sites->nodes);
	node_map_deinit(&sites->map);
}

bool sites_reserve(struct sites *sites, uint64_t blocks)
{
	return space_u32_reserve(&sites->numbers, blocks);
}

bool sites_push(struct sites *sites, uint32_t site)
{
	if (site >= sites->end)
		sites->end = site + 1;
	return space_u32_push(&sites->numbers, site);
}

bool sites_append(struct sites *sites, struct sites *after, const uint32_t *numbers)
{
	struct space_u32 *to = &sites->numbers;
	size_t count = after->numbers.len;
	if (!space_u32_reserve(to, to->len + count))
		return false;
	for (size_t i = 0; i < count; i++)
		to->data[to->len + i] = numbers[after->numbers.data[i]];
	to->len += count;
	for (uint32_t site = 0; site < after->end; site++) {
		if (numbers[site] >= sites->end)
			sites->end = numbers[site] + 1;
	}
	space_u32_deinit(&after->numbers);
	return true;
}

bool sites_open(struct sites *sites)
{
	if (sites->nodes.data)
		return true;
	if (!node_vec_reserve(&sites->nodes, (size_t)sites->end + 1))
		return false;
	for (uint32_t site = 0; site < sites->end; site++)
		sites->nodes.data[site] = node_make(site, SEARCH_DEFINITE, site);
	sites->nodes.len = sites->end;
	return true;
}

static bool find_number(struct sites *s, uint64_t node, uint32_t *ret)
{
	bool is_new;
	uint32_t *number = node_map_insert(&s->map, node, &is_new);
	if (!number || (is_new && !node_vec_push(&s->nodes, node)))
		return false;
	if (is_new)
		*number = (uint32_t)s->nodes.len - 1;
	*ret = *number;
	return true;
}

static bool node_number(struct sites *s, uint64_t node, uint32_t *ret)
{
	uint32_t site = node_site(node);
	if (site < s->end && node == node_make(site, SEARCH_DEFINITE, site)) {
		*ret = site;
		return true;
	}
	size_t slot = node * 0x9e3779b97f4a7c15ull >> 32 & (NODES_RECENT - 1);
	if (s->recent[slot].number && s->recent[slot].node == node) {
		*ret = s->recent[slot].number;
		return true;
	}
	if (!find_number(s, node, ret))
		return false;
	s->recent[slot].node = node;
	s->recent[slot].number = *ret;
	return true;
}

bool sites_put(struct sites *sites, uint32_t block, uint64_t node)
{
	return node_number(sites, node, &sites->numbers.data[block]);
}

void sites_set(struct sites *sites, uint32_t block, uint32_t site)
{
	struct sites *s = sites;
	uint32_t *number = &s->numbers.data[block], from = *number;
	size_t slot = (from * 31u + site) & (NODES_RECENT - 1);
	if (s->changes[slot].to && s->changes[slot].from == from && s->changes[slot].site == site) {
		*number = s->changes[slot].to;
		return;
	}
	uint64_t node = node_make(site, SEARCH_DEFINITE, sites_first(s, block));
	if (!sites_open(s) || !node_number(s, node, number)) {
		s->failed = true;
		return;
	}
	s->changes[slot].from = from;
	s->changes[slot].site = site;
	s->changes[slot].to = *number;
}

void sites_prefetch(const struct sites *sites, uint32_t block)
{
	prefetch(&sites->numbers.data[block]);
}
