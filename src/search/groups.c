/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who holds blocks: groups of those that were first reached the same way. */
#include "search/impl/search_impl.h"

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

/* Tables of pointers: not each of their words gets a group for ever. Numbers of registers
 * are. */
static bool is_together(const struct search *s, uint64_t address)
{
	size_t fine = s->options.words_fine ? s->options.words_fine : SEARCH_WORDS_MOST;
	return s->group_list.len >= fine && address >= SEARCH_TOGETHER_BYTES;
}

static bool find_group(struct search *s, const struct link *link, uint32_t block, uint32_t *ret)
{
	uint32_t site = sites_get(&s->sites, block);
	uint32_t parent = link->holder == SPACE_NONE ? SEARCH_NO_GROUP : link->holder_group;
	struct group_key key = {parent, 0, site, 0};
	bool together = false;
	if (link->holder == SPACE_NONE) {
		key.root = link->root->root;
		key.root_address = link->root->address;
		together = is_together(s, key.root_address);
		if (together)
			key.root_address |= SEARCH_TOGETHER_BYTES - 1;
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
	if (known) {
		*ret = *known;
		return true;
	}
	size_t most = s->options.groups_most ? s->options.groups_most : SEARCH_GROUPS_MAX;
	if (s->group_list.len >= most) {
		s->group_list.data[most - 1].together = true;
		*ret = SEARCH_NO_GROUP;
		return true;
	}
	struct search_group group = {
		.parent = parent, .root = key.root, .site = site, .together = together};
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

/* Of most blocks the group is that of one before: what was found for it is kept. */
bool search_group_of(struct search *s, const struct link *link, uint32_t block, uint32_t *ret)
{
	uint32_t site = sites_get(&s->sites, block), parent = link->holder_group;
	struct recent_group *recent = &s->recent[(parent * 31 + site) % GROUPS_RECENT];
	if (link->holder == SPACE_NONE || parent == SEARCH_NO_GROUP)
		return find_group(s, link, block, ret);
	if (recent->parent == parent && recent->site == site) {
		*ret = recent->group;
		return true;
	}
	if (!find_group(s, link, block, ret))
		return false;
	*recent = (struct recent_group){parent, site, *ret};
	return true;
}
