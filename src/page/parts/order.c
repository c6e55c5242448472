/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page/parts/order.h"

#include <stdlib.h>

#include "base/cleanup.h"

/* Nodes that are one in the tree of functions are a set, a list from its head to its tail. */
struct node_sets {
	uint32_t *first; /* kids[first[i]] to kids[first[i + 1] - 1] are the children of node i */
	uint32_t *kids;
	uint32_t *head, *tail; /* of each set */
	uint32_t *next;        /* of each node; of a tail it has no meaning */
	uint32_t *latest;      /* of each function: the set that it came last to; 0: none */
	size_t count;
};

/* Children by parent, in their order. */
static void kids_gather(struct node_sets *sets, const uint32_t *parents, size_t count)
{
	/* Of each node where its next child is to be placed: in the end, where the next node's
	 * begin. */
	uint32_t *end = sets->first + 1;
	for (size_t i = 1; i < count; i++)
		end[parents[i] + 1]++;
	for (size_t i = 1; i < count; i++)
		end[i] += end[i - 1];
	for (size_t i = 1; i < count; i++)
		sets->kids[end[parents[i]]++] = (uint32_t)i;
}

/* Adds a node to the set of its function, among those from `from` on, which are its parents'
 * children. */
static void sets_add(struct node_sets *sets, size_t from, uint32_t node, uint32_t function)
{
	uint32_t set = sets->latest[function];
	if (set < from) {
		set = sets->latest[function] = (uint32_t)sets->count++;
		sets->head[set] = node;
	} else {
		sets->next[sets->tail[set]] = node;
	}
	sets->tail[set] = node;
}

/* Adds the sets of the children of a set. */
static void sets_add_below(struct node_sets *sets, size_t set, const uint32_t *functions)
{
	size_t from = sets->count;
	for (uint32_t node = sets->head[set];; node = sets->next[node]) {
		for (uint32_t i = sets->first[node]; i < sets->first[node + 1]; i++)
			sets_add(sets, from, sets->kids[i], functions[sets->kids[i]]);
		if (node == sets->tail[set])
			return;
	}
}

bool page_order_nodes(const uint32_t *parents, const uint32_t *functions, size_t count,
	size_t function_count, uint32_t *ret)
{
	/* `first` has two more than nodes: kids_gather() counts the last one's children behind it.
	 */
	_cleanup_free_ uint32_t *room = calloc(5 * count + 2 + function_count, sizeof(*room));
	if (!room)
		return false;
	struct node_sets sets = {.first = room, .count = 1};
	sets.kids = sets.first + count + 2;
	sets.head = sets.kids + count;
	sets.tail = sets.head + count;
	sets.next = sets.tail + count;
	sets.latest = sets.next + count;
	kids_gather(&sets, parents, count);
	uint32_t number = 0;
	for (size_t set = 0; set < sets.count; set++) {
		sets_add_below(&sets, set, functions);
		for (uint32_t node = sets.head[set];; node = sets.next[node]) {
			ret[node] = number++;
			if (node == sets.tail[set])
				break;
		}
	}
	return true;
}
