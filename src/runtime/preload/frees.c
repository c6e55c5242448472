/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see frees.h. May touch: the same. */
#include "runtime/preload/frees.h"

#include "runtime/preload/real.h"

#include <stddef.h>

struct rt_frees rt_frees;

/* Frees of small blocks that are looked at before it is given up. */
#define TRIES 32u

void rt_frees_prepare(bool all)
{
	if (all)
		rt_frees.watch = RT_FREES_ALL;
	else if (rt_frees.watch == RT_FREES_OFF && rt_real_is_libcs())
		rt_frees.watch = RT_FREES_LEARN;
}

void rt_frees_end(void)
{
	__atomic_store_n(&rt_frees.watch, RT_FREES_OFF, __ATOMIC_RELAXED);
}

void rt_frees_learn(void *block)
{
	const volatile uint64_t *words = block;
	uint64_t chunk = (uint64_t)block & 15 ? RT_CHUNK_MAPPED : words[-1];
	if (chunk & RT_CHUNK_MAPPED || (chunk & ~(uint64_t)RT_CHUNK_FLAGS) > RT_CHUNK_CACHED) {
		rt_real.free(block); /* its memory may be gone afterwards */
		return;
	}
	uint64_t before = words[1];
	rt_real.free(block);
	uint64_t after = words[1];
	uint32_t tries = __atomic_add_fetch(&rt_frees.tries, 1, __ATOMIC_RELAXED);
	if (after && after != before && after == rt_frees.key)
		__atomic_store_n(&rt_frees.watch, RT_FREES_KEY, __ATOMIC_RELEASE);
	else if (tries >= TRIES)
		__atomic_store_n(&rt_frees.watch, RT_FREES_OFF, __ATOMIC_RELEASE);
	else if (after != before)
		rt_frees.key = after;
}
