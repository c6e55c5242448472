/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the leaders among the blocks that no root holds. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "search/impl/search_impl.h"

/* A block that no root holds. */
struct lost_block {
	uint64_t age;
	uint32_t block;
};
DEFINE_VEC(lost_blocks, struct lost_block)

static bool is_led(const struct search *s, uint32_t block)
{
	return node_kind(sites_node(&s->sites, block)) == SEARCH_INDIRECT;
}

static bool set_leader(struct search *s, uint32_t block, uint32_t leader)
{
	uint64_t node = sites_node(&s->sites, block);
	s->leaders[block] = leader;
	return sites_put(
		&s->sites, block, node_make(node_site(node), SEARCH_INDIRECT, node_group(node)));
}

/*
 * Adds to `seen` all blocks that a leader holds and that are not in it yet, and makes it their
 * leader; with `leaders_only` only of those that were leaders so far. Inline, so that each of the
 * two cases becomes a loop of its own.
 */
static inline __attribute__((always_inline)) bool walk_held(
	struct search *s, uint32_t leader, uint64_t *seen, bool leaders_only)
{
	space_u32_clear(&s->queue);
	if (!space_u32_push(&s->queue, leader))
		return false;
	while (s->queue.len) {
		uint32_t block = s->queue.data[--s->queue.len];
		uint32_t end = graph_edges_end(&s->graph, block);
		for (uint32_t i = graph_edges(&s->graph, block); i < end; i++) {
			uint32_t held = GRAPH_BLOCK(s->graph.edges.data[i]);
			if (seen[held / 64] >> held % 64 & 1 || held == leader ||
				!search_holds(s, i))
				continue;
			seen[held / 64] |= 1ull << held % 64;
			bool leads = !leaders_only || !is_led(s, held);
			if ((leads && !set_leader(s, held, leader)) ||
				!space_u32_push(&s->queue, held))
				return false;
		}
	}
	return true;
}

/* Makes a block the leader of all unreachable blocks that it holds and that have no leader yet, or
 * are leaders themselves. */
static bool lead_from(struct search *s, uint32_t leader)
{
	return walk_held(s, leader, s->reached, false);
}

/* Marks all that a leader holds, and makes it the leader of other leaders among it. */
static bool mark_held(struct search *s, uint32_t leader, uint64_t *marked)
{
	return walk_held(s, leader, marked, true);
}

/*
 * A leader may hold an earlier leader through a block that the earlier one already leads. So what
 * each leader holds is walked once more, from the last leader to the first: no leader holds a later
 * one, or it would lead it.
 */
static bool lead_leaders(struct search *s, const struct lost_blocks *order, uint64_t *marked)
{
	for (size_t i = order->len; i-- > 0;) {
		uint32_t block = order->data[i].block;
		bool leads = !(marked[block / 64] >> block % 64 & 1) && !is_led(s, block);
		if (leads && !mark_held(s, block, marked))
			return false;
	}
	return true;
}

static int by_age(const void *a, const void *b)
{
	const struct lost_block *x = a, *y = b;
	if (x->age != y->age)
		return x->age < y->age ? -1 : 1;
	return (x->block > y->block) - (x->block < y->block);
}

/* Lists all blocks that no root holds, the oldest first. */
static bool list_lost(struct search *s, struct lost_blocks *ret)
{
	struct space_walk walk = {&s->space, 0, 0};
	for (; walk.block < space_count(&s->space); walk.block++) {
		uint64_t address = space_walk_address(&walk);
		if (search_is_reached(s, walk.block))
			continue;
		uint64_t age = s->options.age ? s->options.age(s->options.age_context, address)
					      : UINT64_MAX;
		if (!lost_blocks_push(ret, (struct lost_block){age, walk.block}))
			return false;
	}
	if (s->options.age && ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), by_age);
	return true;
}

bool search_find_leaders(struct search *s)
{
	struct lost_blocks order;
	lost_blocks_init(&order);
	size_t bytes = (space_count(&s->space) / 64 + 1) * sizeof(*s->reached);
	_cleanup_free_ uint64_t *marked = malloc(bytes);
	bool ok = marked && list_lost(s, &order);
	/* Only the pages for unreachable blocks are ever touched. */
	if (ok && order.len)
		s->leaders = calloc(space_count(&s->space), sizeof(*s->leaders));
	ok = ok && (s->leaders || !order.len);
	if (ok)
		memcpy(marked, s->reached, bytes);
	for (size_t i = 0; ok && i < order.len; i++)
		ok = search_is_reached(s, order.data[i].block) || lead_from(s, order.data[i].block);
	ok = ok && (!memcmp(marked, s->reached, bytes) || lead_leaders(s, &order, marked));
	lost_blocks_deinit(&order);
	return ok;
}

uint32_t search_leader_of(struct search *s, uint32_t block)
{
	uint32_t *leaders = s->leaders, leader = leaders[block];
	while (is_led(s, leader))
		leader = leaders[leader];
	while (leaders[block] != leader) {
		uint32_t next = leaders[block];
		leaders[block] = leader;
		block = next;
	}
	return leader;
}
