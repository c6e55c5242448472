/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/pools/own_pools.h"

#include <stdlib.h>
#include <string.h>

#define FULL_FIRST 64u

void own_pools_init(struct own_pools *pools)
{
	pool_map_init(&pools->map);
	pool_name_vec_init(&pools->names);
	pool_nodes_init(&pools->nodes);
	pool_covers_init(&pools->covers);
}

void own_pools_deinit(struct own_pools *pools)
{
	uint32_t at = 0;
	const uint64_t *address;
	for (struct own_pool *pool; (pool = pool_map_next(&pools->map, &at, &address));)
		pool_block_vec_deinit(&pool->blocks);
	for (size_t i = 0; i < pools->names.len; i++)
		free(pools->names.data[i]);
	pool_map_deinit(&pools->map);
	pool_name_vec_deinit(&pools->names);
	pool_nodes_deinit(&pools->nodes);
	pool_covers_deinit(&pools->covers);
}

struct own_pool *own_pools_get(struct own_pools *pools, uint64_t address)
{
	struct own_pool *pool = pool_map_find(&pools->map, address);
	if (pool)
		return pool;
	pool = pool_map_insert(&pools->map, address, NULL);
	if (pool) {
		*pool = (struct own_pool){.full = FULL_FIRST};
		pool_block_vec_init(&pool->blocks);
	}
	return pool;
}

void own_pools_remove(struct own_pools *pools, uint64_t address)
{
	struct own_pool *pool = pool_map_find(&pools->map, address);
	if (!pool)
		return;
	pool_block_vec_deinit(&pool->blocks);
	pool_map_remove(&pools->map, address);
}

void own_pools_move(struct own_pools *pools, uint64_t address, uint64_t to)
{
	const struct own_pool *pool = pool_map_find(&pools->map, address);
	if (!pool || address == to)
		return;
	struct own_pool moved = *pool;
	own_pools_remove(pools, to);
	pool_map_remove(&pools->map, address);
	struct own_pool *place = pool_map_insert(&pools->map, to, NULL);
	if (place)
		*place = moved;
	else
		pool_block_vec_deinit(&moved.blocks);
}

uint32_t own_pools_name(struct own_pools *pools, const char *name, size_t bytes, bool *ret_new)
{
	*ret_new = false;
	for (size_t i = 0; bytes && i < pools->names.len; i++) {
		const char *known = pools->names.data[i];
		if (!strncmp(known, name, bytes) && !known[bytes])
			return (uint32_t)i + 1;
	}
	if (bytes && pools->names.len >= POOL_NAMES_MAX) {
		*ret_new = !pools->has_further;
		pools->has_further = true;
		return POOL_NAME_FURTHER;
	}
	char *copy = bytes ? strndup(name, bytes) : NULL;
	if (!copy || !pool_name_vec_push(&pools->names, copy)) {
		free(copy);
		return 0;
	}
	*ret_new = true;
	return (uint32_t)pools->names.len;
}

void own_pools_inherit(struct own_pools *pools, const struct own_pools *parent)
{
	uint32_t at = 0;
	const uint64_t *address;
	for (const struct own_pool *one; (one = pool_map_next(&parent->map, &at, &address));) {
		struct own_pool *pool = own_pools_get(pools, *address);
		if (pool)
			pool->name = one->name;
	}
	for (size_t i = 0; i < parent->names.len; i++) {
		const char *name = parent->names.data[i];
		bool is_new;
		own_pools_name(pools, name, strlen(name), &is_new);
	}
	pools->has_further = parent->has_further;
}

bool pool_block_find(
	const struct live_table *live, const struct own_pool_block *block, struct live_entry *ret)
{
	return live_table_find(live, block->address, ret) && ret->thread == block->thread &&
	       ret->number == block->number;
}

static void throw_out_dead(struct own_pool *pool, const struct live_table *live)
{
	struct live_entry found;
	size_t kept = 0;
	for (size_t i = 0; i < pool->blocks.len; i++) {
		if (pool_block_find(live, &pool->blocks.data[i], &found))
			pool->blocks.data[kept++] = pool->blocks.data[i];
	}
	pool->blocks.len = kept;
	pool->full = 2 * kept > FULL_FIRST ? 2 * kept : FULL_FIRST;
}

bool pool_add(
	struct own_pool *pool, const struct live_table *live, const struct own_pool_block *block)
{
	if (pool->blocks.len >= pool->full)
		throw_out_dead(pool, live);
	return pool_block_vec_push(&pool->blocks, *block);
}
