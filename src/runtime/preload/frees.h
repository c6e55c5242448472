/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: in every hook that gives a block back. May touch: the block, which the real function
 * is about to read as well; what is known of the allocator.
 *
 * Which frees are worth a stack. Stacks of all frees would cost as much as those of allocations, so
 * that is on request (hw_shm.free_stacks). Else a look at the block picks out the frees that are
 * likely to be wrong: glibc writes a key of its own into each block that it takes into a thread's
 * cache, at the block's second word (malloc.c, tcache_put and e->key: since 2.29), and clears it
 * when the block is given out again. A block with the key in it has been freed already. Larger
 * blocks don't go to a cache: of those a small table has the ones that were freed lately. No block
 * is at an address that is no multiple of 16, or on the caller's own stack, or without a sane size
 * in the word before it. What looks wrong and is not costs a stack and nothing else: whether a free
 * was right, the collector's table of live blocks says.
 *
 * The key is random (since 2.34), in no symbol, and learned: from what is in the second word
 * after the program's first frees of small blocks. Two that agree, and that were other words
 * before, are the key. This is done with libc's own allocator alone.
 */
#ifndef RUNTIME_FREES_H
#define RUNTIME_FREES_H

#include "runtime/core/sys.h"

#include <stdbool.h>
#include <stdint.h>

enum rt_frees_watch {
	RT_FREES_OFF = 0,   /* nothing is examined */
	RT_FREES_LEARN = 1, /* rt_frees_learn() does the real free */
	RT_FREES_KEY = 2,   /* the key is known */
	RT_FREES_ALL = 3,   /* every free is recorded with its stack */
};

/* glibc's malloc.c: the size of a chunk is in the word before its block; its lowest three bits
 * are flags. Chunks up to RT_CHUNK_CACHED go to a thread's cache (TCACHE_MAX_BINS). */
#define RT_CHUNK_FLAGS 7u
#define RT_CHUNK_MAPPED 2u
#define RT_CHUNK_ODD 8u /* no chunk's size has this bit */
#define RT_CHUNK_LEAST 32u
#define RT_CHUNK_CACHED 1040u
#define RT_CHUNK_MOST ((uint64_t)1 << 47)

#define RT_FREES_LARGE 256u
/* How far above the stack pointer an address still counts as the stack, in bytes. */
#define RT_FREES_STACK (256u << 10)

struct rt_frees {
	uint32_t watch; /* enum rt_frees_watch; any thread writes it, as each comes to the same */
	uint32_t tries;
	uint64_t key, candidate;        /* candidate: seen once; 0: none yet */
	uint64_t large[RT_FREES_LARGE]; /* addresses of large blocks freed lately; relaxed */
};
extern struct rt_frees rt_frees;

/* Prepares when a recording begins. all: stacks of all frees are recorded. */
void rt_frees_prepare(bool all);

/* Ends the examination of frees, until it is prepared again. */
void rt_frees_end(void);

/* Frees a block while the key is not known, and examines the word that the real free left. */
void rt_frees_learn(void *block);

static inline uint64_t *rt_frees_place(uint64_t block)
{
	return &rt_frees.large[(block >> 4) % RT_FREES_LARGE];
}

/* Called after an allocation that gave `block`. */
static inline void rt_frees_given(const void *block, uint64_t size)
{
	if (rt_unlikely(size > RT_CHUNK_CACHED - 8) &&
		__atomic_load_n(rt_frees_place((uint64_t)block), __ATOMIC_RELAXED) ==
			(uint64_t)block)
		__atomic_store_n(rt_frees_place((uint64_t)block), 0, __ATOMIC_RELAXED);
}

/* Returns whether a large block was freed lately and not allocated since, and marks it as freed. */
static inline bool rt_frees_again(uint64_t block)
{
	uint64_t before = __atomic_load_n(rt_frees_place(block), __ATOMIC_RELAXED);
	__atomic_store_n(rt_frees_place(block), block, __ATOMIC_RELAXED);
	return before == block;
}

/* Returns whether the stack of a free is to be recorded. Called before the real free of a block
 * that is not NULL, by a caller whose stack pointer is `sp`. */
static inline bool rt_frees_wants_stack(const void *block, uint64_t sp)
{
	uint32_t watch = rt_frees.watch;
	if (rt_unlikely(watch == RT_FREES_OFF || watch == RT_FREES_ALL))
		return watch == RT_FREES_ALL;
	uint64_t at = (uint64_t)block;
	if (rt_unlikely(at & 15) || rt_unlikely(at - sp < RT_FREES_STACK))
		return true;
	uint64_t chunk = ((const uint64_t *)block)[-1];
	uint64_t size = chunk & ~(uint64_t)RT_CHUNK_FLAGS;
	if (rt_likely(size - RT_CHUNK_LEAST <= RT_CHUNK_CACHED - RT_CHUNK_LEAST))
		return rt_unlikely(rt_frees.key && ((const uint64_t *)block)[1] == rt_frees.key) ||
		       rt_unlikely(chunk & RT_CHUNK_ODD);
	return size < RT_CHUNK_LEAST || size > RT_CHUNK_MOST || chunk & RT_CHUNK_ODD ||
	       rt_frees_again(at);
}

#endif
