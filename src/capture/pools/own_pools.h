/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pools of blocks that the program itself reports (heapwise/client.h, Valgrind's MEMPOOL requests).
 * A pool is known by an address, and several may have the same name, which is the innermost frame
 * of its blocks' stacks: a site belongs to one name.
 *
 * What is freed with a pool is decided here, not in the program: a pool lists its blocks by who
 * allocated them and when, so that a block which is gone, or another one at its address, is known
 * without a look at the list when blocks are freed. Dead entries are thrown out now and then.
 *
 * A block of malloc from whose first byte on a pool gives out blocks is *covered*: it keeps its
 * place in all figures, but its address is that of the inner block until this is freed.
 */
#ifndef CAPTURE_OWN_POOLS_H
#define CAPTURE_OWN_POOLS_H

#include "base/map.h"
#include "base/vec.h"
#include "capture/recorder/live_table.h"
#include "format/shm.h"

/* Of names; pools with further ones count as one that is called so. */
#define POOL_NAMES_MAX 4096u
#define POOL_NAME_FURTHER (POOL_NAMES_MAX + 1)
/* Addresses of the frames that stand for names; the first is that of pools without one. No code is
 * there: AMD64 keeps these 47 bits and more for the kernel. */
#define POOL_FRAME_FIRST 0x800000000000ull
#define POOL_FRAME_STEP 16u

struct own_pool_block {
	uint64_t address, number; /* number: of the allocation, of its thread */
	uint32_t thread;
};

DEFINE_VEC(pool_block_vec, struct own_pool_block)
DEFINE_VEC(pool_name_vec, char *)

struct own_pool {
	uint32_t name; /* 0: none */
	struct pool_block_vec blocks;
	size_t full; /* at this many entries freed blocks are removed */
};

static inline uint64_t own_pools_hash(uint64_t key)
{
	return hash_u64(key);
}

static inline bool own_pools_same(uint64_t a, uint64_t b)
{
	return a == b;
}

DEFINE_MAP(pool_map, uint64_t, struct own_pool, own_pools_hash, own_pools_same)
DEFINE_MAP(pool_nodes, uint64_t, uint32_t, own_pools_hash, own_pools_same)
DEFINE_MAP(pool_covers, uint64_t, struct live_entry, own_pools_hash, own_pools_same)

struct own_pools {
	struct pool_map map;        /* by address */
	struct pool_name_vec names; /* name number i + 1 */
	struct pool_nodes nodes;    /* stack << 32 | name: the node for it */
	struct pool_covers covers;  /* by address */
	bool has_further;           /* names than POOL_NAMES_MAX */
	bool is_begun;              /* the program has said something of pools */
};

void own_pools_init(struct own_pools *pools);
void own_pools_deinit(struct own_pools *pools);

/* Finds a pool, or makes one without a name. NULL: there is no memory. */
struct own_pool *own_pools_get(struct own_pools *pools, uint64_t address);
/* Forgets a pool, not its blocks. */
void own_pools_remove(struct own_pools *pools, uint64_t address);
/* The pool is known by another address. One that was there is forgotten. */
void own_pools_move(struct own_pools *pools, uint64_t address, uint64_t to);

/* Returns the number of a name, or POOL_NAME_FURTHER; 0: it is empty. *ret_new: it is a new one.
 * `name` need not end with a NUL. */
uint32_t own_pools_name(struct own_pools *pools, const char *name, size_t bytes, bool *ret_new);

/* Copies the pools of a process to a forked child's, without blocks, which the child's recording
 * does not know. */
void own_pools_inherit(struct own_pools *pools, const struct own_pools *parent);

/* Lists a block that was allocated in the pool. Returns false if there is no memory. */
bool pool_add(
	struct own_pool *pool, const struct live_table *live, const struct own_pool_block *block);

/* Finds a listed block if it lives still. */
bool pool_block_find(
	const struct live_table *live, const struct own_pool_block *block, struct live_entry *ret);

static inline uint64_t pool_frame(uint32_t name)
{
	return POOL_FRAME_FIRST + (uint64_t)name * POOL_FRAME_STEP;
}

static inline bool pool_is_frame(uint64_t frame)
{
	return frame >= POOL_FRAME_FIRST && frame <= pool_frame(POOL_NAME_FURTHER);
}

#endif
