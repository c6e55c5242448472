/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who leads what nobody holds from outside. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "search/state.h"

/* A block that is lost. */
struct lost {
	uint64_t age;
	uint32_t block;
};
DEFINE_VEC(lost_vec, struct lost)

static bool is_led(const struct search *s, uint32_t block)
{
	return node_kind(sites_node(&s->sites, block)) == SEARCH_INDIRECT;
}

static bool let_lead(struct search *s, uint32_t block, uint32_t leader)
{
	uint64_t node = sites_node(&s->sites, block);
	s->leaders[block] = leader;
	return sites_put(
		&s->sites, block, node_make(node_site(node), SEARCH_INDIRECT, node_group(node)));
}

/*
 * Goes through all that a leader holds and that is not in `seen`, where it is then: the leader
 * leads it from now on, or only what led others so far. Inline, so that each of both is a loop of
 * its own.
 */
static inline __attribute__((always_inline)) bool walk_held(
	struct search *s, uint32_t leader, uint64_t *seen, bool leaders_alone)
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
			bool leads = !leaders_alone || !is_led(s, held);
			if ((leads && !let_lead(s, held, leader)) ||
				!space_u32_push(&s->queue, held))
				return false;
		}
	}
	return true;
}

/* The block leads all lost ones that it holds and that nobody led so far, or that led others. */
static bool lead(struct search *s, uint32_t leader)
{
	return walk_held(s, leader, s->reached, false);
}

/* Marks all that a leader holds; other leaders among it are led by it from now on. */
static bool mark_held(struct search *s, uint32_t leader, uint64_t *marked)
{
	return walk_held(s, leader, marked, true);
}

/*
 * A leader may hold an earlier one by a block that this one led already. So what each of them holds
 * is gone through once more, the last first: no leader holds a later one, or it would have led it.
 */
static bool lead_leaders(struct search *s, const struct lost_vec *order, uint64_t *marked)
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
		if (search_is_reached(s, walk.block))
			continue;
		uint64_t age = s->options.age ? s->options.age(s->options.age_context, address)
					      : UINT64_MAX;
		if (!lost_vec_push(ret, (struct lost){age, walk.block}))
			return false;
	}
	if (s->options.age && ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), by_age);
	return true;
}

bool search_lead(struct search *s)
{
	struct lost_vec order;
	lost_vec_init(&order);
	size_t bytes = (space_count(&s->space) / 64 + 1) * sizeof(*s->reached);
	_cleanup_free_ uint64_t *marked = malloc(bytes);
	bool ok = marked && list_lost(s, &order);
	/* Of this only the pages of lost blocks are ever there. */
	if (ok && order.len)
		s->leaders = calloc(space_count(&s->space), sizeof(*s->leaders));
	ok = ok && (s->leaders || !order.len);
	if (ok)
		memcpy(marked, s->reached, bytes);
	for (size_t i = 0; ok && i < order.len; i++)
		ok = search_is_reached(s, order.data[i].block) || lead(s, order.data[i].block);
	ok = ok && (!memcmp(marked, s->reached, bytes) || lead_leaders(s, &order, marked));
	lost_vec_deinit(&order);
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
