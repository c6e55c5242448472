/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/owner_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"

static inline bool owner_key_equal(uint64_t a, uint64_t b)
{
	return a == b;
}
/* By node and what lies below it: the node of that. */
DEFINE_MAP(owner_map, uint64_t, uint32_t, hash_u64, owner_key_equal)
/* Of each node how many are above it. */
DEFINE_VEC(owner_depths, uint8_t)

#define NODE_NONE UINT32_MAX
/* Types that come again after this many levels are those of the first turn. */
#define TURN_LEVELS 8u

struct owner_making {
	const struct heap_scan *scan;
	const struct dominators *dominators;
	struct heap_owner_vec *nodes;
	struct owner_depths depths;
	struct owner_map below;
	uint32_t *node_of; /* of each block; NODE_NONE: not yet */
	uint32_t *waiting; /* blocks on the way up that have no node yet */
};

/* What a node is among those below its parent. */
static uint64_t owner_key(uint32_t parent, enum heap_owner_kind kind, uint32_t number)
{
	/* Nothing but holders and what stands for them is below the root, types are below others.
	 */
	uint64_t own = kind == HEAP_OWNER_HOLDER || kind == HEAP_OWNER_TYPE
			       ? number
			       : UINT32_MAX - (uint64_t)kind;
	return (uint64_t)parent << 32 | own;
}

/* NODE_NONE: no memory. */
static uint32_t node_add(
	struct owner_making *m, uint32_t parent, enum heap_owner_kind kind, uint32_t number)
{
	uint32_t node = (uint32_t)m->nodes->len;
	uint8_t depth = node ? (uint8_t)(m->depths.data[parent] + 1) : 0;
	const struct heap_owner owner = {.parent = parent, .kind = kind, .number = number};
	return heap_owner_vec_push(m->nodes, owner) && owner_depths_push(&m->depths, depth)
		       ? node
		       : NODE_NONE;
}

static bool node_is_type(const struct owner_making *m, uint32_t node, uint32_t type)
{
	const struct heap_owner *owner = &m->nodes->data[node];
	return owner->kind == HEAP_OWNER_TYPE && owner->number == type;
}

/* Whether the `turn` levels that end with a type below `parent` are those before once more. */
static bool node_is_turn(
	const struct owner_making *m, uint32_t parent, uint32_t type, uint32_t turn)
{
	uint32_t before = parent, at = parent;
	for (uint32_t i = 1; i < turn; i++)
		before = m->nodes->data[before].parent;
	if (!node_is_type(m, before, type))
		return false;
	for (uint32_t i = 1; i < turn; i++, at = m->nodes->data[at].parent) {
		before = m->nodes->data[before].parent;
		const struct heap_owner *owner = &m->nodes->data[at];
		if (owner->kind != HEAP_OWNER_TYPE || !node_is_type(m, before, owner->number))
			return false;
	}
	return true;
}

/* The node above that a type below `parent` comes back to; NODE_NONE: none. */
static uint32_t node_again(const struct owner_making *m, uint32_t parent, uint32_t type)
{
	for (uint32_t turn = 1; turn <= TURN_LEVELS; turn++) {
		if (!node_is_turn(m, parent, type, turn))
			continue;
		uint32_t node = parent;
		for (uint32_t i = 1; i < turn; i++)
			node = m->nodes->data[node].parent;
		return node;
	}
	return NODE_NONE;
}

/* The node of what lies below another one, which may be above; NODE_NONE: no memory. */
static uint32_t node_below(
	struct owner_making *m, uint32_t parent, enum heap_owner_kind kind, uint32_t number)
{
	bool is_new;
	if (m->nodes->data[parent].kind == HEAP_OWNER_DEEPER)
		return parent;
	if (m->depths.data[parent] >= LIMIT_OWNER_DEPTH - 1) {
		kind = HEAP_OWNER_DEEPER;
		number = 0;
	}
	uint32_t *known = owner_map_insert(&m->below, owner_key(parent, kind, number), &is_new);
	if (!known)
		return NODE_NONE;
	if (!is_new)
		return *known;
	uint32_t node = kind == HEAP_OWNER_TYPE ? node_again(m, parent, number) : NODE_NONE;
	if (node == NODE_NONE)
		node = node_add(m, parent, kind, number);
	*known = node;
	return node;
}

/* The node of what a block hangs on that is no block. */
static uint32_t node_of_holder(struct owner_making *m, uint32_t above)
{
	if (above == DOMINATORS_LOST)
		return node_below(m, 0, HEAP_OWNER_LOST, 0);
	if (above == DOMINATORS_NONE)
		return node_below(m, 0, HEAP_OWNER_SEVERAL, 0);
	return node_below(m, 0, HEAP_OWNER_HOLDER, above - m->dominators->block_count);
}

/* Places a block, after all those that it hangs on. False: no memory. */
static bool place_block(struct owner_making *m, uint32_t block)
{
	const struct dominators *d = m->dominators;
	uint32_t at = block, count = 0;
	for (; at < d->block_count && m->node_of[at] == NODE_NONE; at = d->above[at])
		m->waiting[count++] = at;
	uint32_t node = at < d->block_count ? m->node_of[at] : node_of_holder(m, at);
	while (node != NODE_NONE && count) {
		at = m->waiting[--count];
		node = node_below(m, node, HEAP_OWNER_TYPE, heap_scan_type_of(m->scan, at));
		if (node == NODE_NONE)
			return false;
		m->node_of[at] = node;
		m->nodes->data[node].blocks++;
		m->nodes->data[node].bytes += search_block_size(m->scan->search, at);
	}
	return node != NODE_NONE;
}

static bool place_blocks(struct owner_making *m)
{
	for (uint32_t block = 0; block < m->dominators->block_count; block++)
		if (m->node_of[block] == NODE_NONE && !place_block(m, block))
			return false;
	return true;
}

struct error *heap_owner_tree_make(
	const struct heap_scan *scan, const struct retained *retained, struct heap_owner_tree *ret)
{
	size_t count = retained->dominators.block_count;
	_cleanup_free_ uint32_t *node_of = malloc((count + 1) * sizeof(*node_of));
	_cleanup_free_ uint32_t *waiting = malloc((count + 1) * sizeof(*waiting));
	struct owner_making m = {.scan = scan,
		.dominators = &retained->dominators,
		.nodes = &ret->nodes,
		.node_of = node_of,
		.waiting = waiting};
	*ret = (struct heap_owner_tree){.nodes = {.len = 0}};
	if (!node_of || !waiting)
		return error_no_memory();
	memset(node_of, 0xff, (count + 1) * sizeof(*node_of));
	owner_map_init(&m.below);
	bool ok = node_add(&m, 0, HEAP_OWNER_ROOT, 0) != NODE_NONE && place_blocks(&m);
	owner_map_deinit(&m.below);
	owner_depths_deinit(&m.depths);
	return ok ? NULL : error_no_memory();
}

void heap_owner_tree_deinit(struct heap_owner_tree *tree)
{
	heap_owner_vec_deinit(&tree->nodes);
}
