/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: any thread, any moment. May touch: the shared nodes and buckets only.
 *
 * A hash of chains, in three tables: small programs touch only the 16 KiB of the first, large ones
 * get short chains from the third. A chain holds at most CHAIN nodes in the first two tables; a
 * search that finds it full goes on in the next. Since chains only grow, what was full stays full,
 * so two threads that add the same child always meet on the same bucket, and the loser of the
 * compare-and-swap looks again. A bucket has the number of its newest node and, above it, how many
 * there are. Numbers along a chain fall (a node's number is drawn after the bucket was read), and a
 * child's is larger than its parent's: a search ends where they are not, so that what is new in a
 * tree of millions is not looked for among the first of its nodes. (One table that grows would need
 * readers to follow a move: not worth it for an append-only set.)
 */
#include "runtime/core/stacks.h"

#include "runtime/core/sys.h"

#define CHAIN 4
/* A few nodes stay for the mark that says "the table is full". */
#define NODES_KEPT 64

static inline uint64_t hash_node(uint32_t parent, uint64_t frame)
{
	uint64_t h = (frame ^ ((uint64_t)parent << 40 | parent)) * 0x9e3779b97f4a7c15ull;
	return h ^ (h >> 29);
}

static const uint32_t level_size[HW_BUCKET_LEVELS] = {
	HW_BUCKETS_LEVEL0, HW_BUCKETS_LEVEL1, HW_BUCKETS_LEVEL2};

#define NUMBER_BITS 23
#define NUMBER_MASK ((1u << NUMBER_BITS) - 1)
_Static_assert(HW_NODES_MAX - 1 <= NUMBER_MASK, "a bucket holds any number");
_Static_assert(CHAIN << NUMBER_BITS >> NUMBER_BITS == CHAIN, "and how long its chain is");

/* A bucket to whose chain a node was added; beyond CHAIN lengths do not matter. */
static inline uint32_t bucket_with(uint32_t bucket, uint32_t id)
{
	uint32_t length = bucket >> NUMBER_BITS;
	return (length < CHAIN ? length + 1 : CHAIN) << NUMBER_BITS | id;
}

/* Searches one chain; 0: it is not there. */
static inline uint32_t chain_find(
	const struct rt_stacks *stacks, uint32_t bucket, uint32_t parent, uint64_t frame)
{
	for (uint32_t id = bucket & NUMBER_MASK; id > parent;) {
		const struct hw_node *node = &stacks->nodes[id];
		if (node->frame == frame && node->parent == parent)
			return id;
		id = node->next;
	}
	return 0;
}

static __attribute__((noinline)) uint32_t table_full(
	const struct rt_stacks *stacks, uint32_t parent, uint64_t frame)
{
	__atomic_fetch_add(&stacks->shm->stacks_full, 1, __ATOMIC_RELAXED);
	return frame == HW_MARK_TABLE_FULL ? parent
					   : rt_stacks_child(stacks, parent, HW_MARK_TABLE_FULL);
}

static __attribute__((noinline)) uint32_t child_add(const struct rt_stacks *stacks,
	uint32_t *bucket, uint32_t seen, uint32_t parent, uint64_t frame)
{
	uint32_t limit =
		frame < HW_MARK_FRAMES ? stacks->nodes_max - 1 : stacks->nodes_max - 1 - NODES_KEPT;
	if (__atomic_load_n(&stacks->shm->nodes, __ATOMIC_RELAXED) >= limit)
		return UINT32_MAX;
	/* In this order: the table may become smaller meanwhile (rt_memory_shrink()). */
	uint32_t id = __atomic_fetch_add(&stacks->shm->nodes, 1, __ATOMIC_SEQ_CST);
	if (id >= __atomic_load_n(&stacks->nodes_max, __ATOMIC_SEQ_CST) - 1)
		return UINT32_MAX;
	struct hw_node *node = &stacks->nodes[id];
	node->frame = frame;
	node->parent = parent;
	node->next = seen & NUMBER_MASK;
	/* Publishes the node to other threads; the collector learns of it through a ring's head. */
	if (__atomic_compare_exchange_n(bucket, &seen, bucket_with(seen, id), false,
		    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return id;
	node->frame = 0; /* a number that is never used: FORMAT.md allows for gaps */
	node->parent = 0;
	return 0;
}

uint32_t rt_stacks_child(const struct rt_stacks *stacks, uint32_t parent, uint64_t frame)
{
	uint64_t h = hash_node(parent, frame);
	uint32_t *table = stacks->buckets;
	for (int level = 0; level < HW_BUCKET_LEVELS;) {
		uint32_t *bucket = &table[(h >> (level * 7)) & (level_size[level] - 1)];
		uint32_t seen = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
		uint32_t id = chain_find(stacks, seen, parent, frame);
		if (rt_likely(id))
			return id;
		if (seen >> NUMBER_BITS >= CHAIN && level < HW_BUCKET_LEVELS - 1) {
			table += level_size[level++];
			continue;
		}
		id = child_add(stacks, bucket, seen, parent, frame);
		if (id == UINT32_MAX)
			return table_full(stacks, parent, frame);
		if (id)
			return id;
		/* Another thread was faster on this bucket: look again. */
	}
	return parent;
}
