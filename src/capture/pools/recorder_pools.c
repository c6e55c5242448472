/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What programs report of their pools: see own_pools.h. */
#include "capture/pools/own_pools.h"
#include "capture/recorder/recorder_impl.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"

/* Nodes that the process keeps for marks, and some more. */
#define NODES_KEPT 256u

/* The table of stacks is the process's; numbers are handed out by an atomic addition on either
 * side. */
uint32_t recorder_add_node(struct recorder *r, uint32_t parent, uint64_t frame)
{
	struct hw_shm *shm = r->shm;
	uint32_t most = r->source->nodes_max - NODES_KEPT;
	if (!shm || __atomic_load_n(&shm->nodes, __ATOMIC_RELAXED) >= most)
		return 0;
	uint32_t id = __atomic_fetch_add(&shm->nodes, 1, __ATOMIC_SEQ_CST);
	if (id >= most || id <= parent)
		return 0;
	struct hw_node *node = (struct hw_node *)((char *)shm + HW_SHM_NODES) + id;
	node->frame = frame;
	node->parent = parent;
	return id;
}

/* The stack of a block: in its pool, called from there. */
static uint32_t stack_in_pool(struct recorder *r, uint32_t stack, uint32_t name)
{
	uint64_t key = (uint64_t)stack << 32 | name;
	const uint32_t *known = pool_nodes_find(&r->pools.nodes, key);
	if (known)
		return *known;
	uint32_t id =
		stack < r->source->nodes_max ? recorder_add_node(r, stack, pool_frame(name)) : 0;
	uint32_t *place = id ? pool_nodes_insert(&r->pools.nodes, key, NULL) : NULL;
	if (!place)
		return stack;
	return *place = id;
}

static bool is_in_pool(const struct recorder *r, const struct live_entry *block)
{
	uint32_t stack = r->tally.sites[block->site].stack;
	return stack < r->source->nodes_max &&
	       pool_is_frame(__atomic_load_n(&r->source->nodes[stack].frame, __ATOMIC_RELAXED));
}

static void name_frame(struct recorder *r, uint32_t name)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	if (!name)
		text_add(&text, "memory pool");
	else if (name == POOL_NAME_FURTHER)
		text_printf(&text, "pool beyond %u names", POOL_NAMES_MAX);
	else
		text_add(&text, "pool ");
	if (name && name <= r->pools.names.len)
		text_add_plain(&text, r->pools.names.data[name - 1]);
	if (!text.failed)
		code_names_add(&r->code_names, pool_frame(name), text.data, text.len);
}

/* Before the first pool: the name of those without one. */
static void begin_pools(struct recorder *r)
{
	if (!r->pools.is_begun)
		name_frame(r, 0);
	r->pools.is_begun = true;
}

static void create_pool(struct recorder *r, const struct merge_pool *p)
{
	bool is_new;
	uint32_t name = own_pools_name(&r->pools, p->name, p->name_bytes, &is_new);
	struct own_pool *pool = own_pools_get(&r->pools, p->pool);
	if (is_new)
		name_frame(r, name);
	if (pool)
		pool->name = name;
}

bool recorder_cover(struct recorder *r, const struct live_entry *there)
{
	struct live_entry outer;
	if (r->in_flight || recorder_has_lost(r) || is_in_pool(r, there) ||
		pool_covers_find(&r->pools.covers, there->address))
		return false;
	struct live_entry *place = pool_covers_insert(&r->pools.covers, there->address, NULL);
	if (!place)
		return false;
	live_table_take(&r->live, there->address, &outer);
	*place = outer;
	return true;
}

/* The block at the address is gone: a covered one has its place again. */
static void restore_covered(struct recorder *r, uint64_t address)
{
	const struct live_entry *outer = pool_covers_find(&r->pools.covers, address);
	if (outer && live_table_add(&r->live, outer) == LIVE_ADDED)
		pool_covers_remove(&r->pools.covers, address);
}

bool recorder_free_covered(struct recorder *r, uint32_t thread, enum hw_free_kind kind,
	uint64_t address, uint64_t stamp)
{
	const struct live_entry *found = pool_covers_find(&r->pools.covers, address);
	if (!found)
		return false;
	struct live_entry inner, outer = *found;
	bool has_inner = live_table_find(&r->live, address, &inner);
	if (has_inner && !is_in_pool(r, &inner)) {
		/* The one that was given out last is given back first. */
		live_table_take(&r->live, address, &inner);
		recorder_free_block(r, thread, address, &inner, kind, stamp);
		restore_covered(r, address);
		return true;
	}
	/* Blocks of pools are not freed so: its memory is given back, with the pool still there. */
	pool_covers_remove(&r->pools.covers, address);
	recorder_free_block(r, thread, address, &outer, kind, stamp);
	return true;
}

static void alloc_in_pool(struct recorder *r, uint32_t thread, const struct merge_pool *p)
{
	if (!p->address || r->stopped)
		return;
	struct own_pool *pool = own_pools_get(&r->pools, p->pool);
	uint32_t stack = stack_in_pool(r, p->stack, pool ? pool->name : 0);
	struct own_pool_block block = {.address = p->address,
		.thread = thread,
		.number = r->tally.threads[thread].allocations};
	struct live_entry found;
	recorder_on_alloc(r, thread, HW_MALLOC, p->address, stack, p->size, p->stamp);
	if (pool_block_find(&r->live, &block, &found) &&
		(!pool || !pool_add(pool, &r->live, &block)))
		r->blocks_dropped++;
}

static void free_listed(
	struct recorder *r, uint32_t thread, const struct live_entry *block, uint64_t stamp)
{
	struct live_entry taken;
	live_table_take(&r->live, block->address, &taken);
	recorder_free_block(r, thread, block->address, &taken, HW_FREE, stamp);
	restore_covered(r, block->address);
}

/* A sample has the frees of sampled blocks alone; that it has one more is a block that has gone
 * with its pool. */
static void free_in_pool(struct recorder *r, uint32_t thread, const struct merge_pool *p)
{
	struct live_entry block;
	if (live_table_find(&r->live, p->address, &block) && is_in_pool(r, &block))
		free_listed(r, thread, &block, p->stamp);
	else if (r->mode.kind != MODE_SAMPLE)
		recorder_free_block(r, thread, p->address, NULL, HW_FREE, p->stamp);
}

static void empty_pool(struct recorder *r, uint32_t thread, const struct merge_pool *p)
{
	struct own_pool *pool = pool_map_find(&r->pools.map, p->pool);
	struct live_entry block;
	for (size_t i = 0; pool && i < pool->blocks.len; i++) {
		if (pool_block_find(&r->live, &pool->blocks.data[i], &block))
			free_listed(r, thread, &block, p->stamp);
	}
	if (pool)
		pool->blocks.len = 0;
}

/* A block that reaches out of what remains becomes smaller, as by a realloc. */
static void shrink_block(struct recorder *r, uint32_t thread, const struct live_entry *block,
	struct own_pool_block *listed, const struct merge_pool *p, uint64_t end)
{
	uint64_t start = max(block->address, p->address);
	uint64_t size = min(block->address + block->size, end) - start;
	uint32_t stack = r->tally.sites[block->site].stack;
	struct live_entry taken;
	live_table_take(&r->live, block->address, &taken);
	recorder_free_block(r, thread, block->address, &taken, HW_FREE_REALLOC, p->stamp);
	restore_covered(r, block->address);
	*listed = (struct own_pool_block){
		.address = start, .thread = thread, .number = r->tally.threads[thread].allocations};
	recorder_on_alloc(r, thread, HW_REALLOC, start, stack, size, p->stamp);
}

static void trim_pool(struct recorder *r, uint32_t thread, const struct merge_pool *p)
{
	struct own_pool *pool = pool_map_find(&r->pools.map, p->pool);
	uint64_t end = p->address + p->size;
	struct live_entry block;
	for (size_t i = 0; pool && i < pool->blocks.len; i++) {
		struct own_pool_block *listed = &pool->blocks.data[i];
		if (!pool_block_find(&r->live, listed, &block))
			continue;
		uint64_t block_end = block.address + block.size;
		if (block.address >= p->address && block_end <= end && block.address < end)
			continue;
		if (block_end <= p->address || block.address >= end)
			free_listed(r, thread, &block, p->stamp);
		else
			shrink_block(r, thread, &block, listed, p, end);
	}
}

void recorder_on_pool(void *context, uint32_t thread, const struct merge_pool *pool)
{
	struct recorder *r = context;
	uint64_t calls = r->sums.calls;
	begin_pools(r);
	switch ((enum hw_pool_what)pool->what) {
	case HW_POOL_CREATE:
		create_pool(r, pool);
		break;
	case HW_POOL_ALLOC:
		alloc_in_pool(r, thread, pool);
		break;
	case HW_POOL_FREE:
		free_in_pool(r, thread, pool);
		break;
	case HW_POOL_DESTROY:
	case HW_POOL_RESET:
		empty_pool(r, thread, pool);
		if (pool->what == HW_POOL_DESTROY)
			own_pools_remove(&r->pools, pool->pool);
		break;
	case HW_POOL_TRIM:
		trim_pool(r, thread, pool);
		break;
	case HW_POOL_MOVE:
		own_pools_move(&r->pools, pool->pool, pool->address);
		break;
	}
	/* The record itself was counted. */
	r->frees_added += r->sums.calls - calls - 1;
}

bool recorder_has_pool(struct recorder *recorder, uint64_t address)
{
	recorder_drain_until(recorder, recorder_now(recorder).tsc);
	return pool_map_find(&recorder->pools.map, address);
}

void recorder_inherit_pools(struct recorder *recorder, const struct recorder *parent)
{
	if (!parent->pools.is_begun)
		return;
	own_pools_inherit(&recorder->pools, &parent->pools);
	begin_pools(recorder);
	for (uint32_t i = 1; i <= recorder->pools.names.len; i++)
		name_frame(recorder, i);
	if (recorder->pools.has_further)
		name_frame(recorder, POOL_NAME_FURTHER);
}
