/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: any thread, any moment. May touch: what it is given.
 *
 * Which blocks are sampled. The units of a program's allocations (a block of n bytes has n + 1, so
 * that empty blocks count too) are thought of in one row per thread; the distance from one marked
 * unit to the next is exponential with a mean of this many bytes, rounded up to whole units; a
 * block that has a marked unit is sampled. So a block of n bytes is with the probability 1 -
 * exp(-(n + 1) / mean), whatever came before it (a Poisson process, as in tcmalloc, jemalloc and
 * Go).
 *
 * Addresses of sampled blocks that live are in a table, after a lock; before it stands a filter of
 * one bit for each of 65,536 classes of addresses, which anybody reads without one. The table grows
 * by moving on to the next, larger part of memory that was reserved at the start: no system call is
 * needed when the program may have forbidden them.
 */
#ifndef RUNTIME_SAMPLER_H
#define RUNTIME_SAMPLER_H

#include "runtime/core/sys.h"

#include <stdbool.h>
#include <stdint.h>

#define RT_FILTER_CLASSES (1u << 16)
#define RT_FILTER_WORDS (RT_FILTER_CLASSES / 64)

/* Parts of the table: 1024 places, then four times as many each. */
#define RT_SAMPLER_LEVELS 6u
#define RT_SAMPLER_PLACES_FIRST 1024u
#define RT_SAMPLER_BYTES                                                                           \
	((size_t)RT_SAMPLER_PLACES_FIRST * ((1u << 2 * RT_SAMPLER_LEVELS) - 1) / 3 *               \
		sizeof(uint64_t))

/* Lives in memory that fork() wipes: a child starts with an empty table. */
struct rt_sampler {
	struct rt_lock lock; /* leaf; guards all below */
	uint64_t *filter;    /* RT_FILTER_WORDS; written under the lock, read by any thread */
	uint64_t *places;    /* RT_SAMPLER_BYTES, zero at first; 0: an empty place */
	uint32_t level;
	uint32_t used;                      /* places of the present level */
	uint16_t counts[RT_FILTER_CLASSES]; /* blocks of each class */
};

static inline uint32_t rt_filter_class(uint64_t address)
{
	return (uint32_t)(address >> 4) & (RT_FILTER_CLASSES - 1);
}

/* Returns false if no sampled block has this address; true if one may have. */
static inline bool rt_filter_has(const uint64_t *filter, uint64_t address)
{
	uint32_t class = rt_filter_class(address);
	return __atomic_load_n(&filter[class / 64], __ATOMIC_RELAXED) >> (class & 63) & 1;
}

/* Makes an empty sampler. `places` NULL: one that has no room. */
void rt_sampler_prepare(struct rt_sampler *sampler, uint64_t *filter, uint64_t *places);

/* Removes all blocks. The caller holds the lock. */
void rt_sampler_clear(struct rt_sampler *sampler);

enum rt_sampler_answer {
	RT_SAMPLER_NO,
	RT_SAMPLER_YES,
	RT_SAMPLER_BUSY, /* this thread holds the lock below a signal handler, or it is full */
};

/* Adds a sampled block. Returns RT_SAMPLER_YES or RT_SAMPLER_BUSY. */
enum rt_sampler_answer rt_sampler_add(struct rt_sampler *sampler, uint64_t address);
/* Removes a block. Returns whether it was sampled. */
enum rt_sampler_answer rt_sampler_take(struct rt_sampler *sampler, uint64_t address);

/*
 * Returns the number of units before the next marked one. *random is the state of a generator
 * (splitmix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014),
 * which is advanced.
 */
uint64_t rt_sampler_gap(uint64_t *random, uint64_t mean_bytes);

/* What one call of that adds to the state. */
#define RT_SAMPLER_STEP 0x9e3779b97f4a7c15ull

/*
 * Returns the bytes that a sampled block of `size` bytes stands for, rounded: size / (1 -
 * exp(-(size
 * + 1) / mean)). Their sum is an unbiased estimate of all bytes (Horvitz and Thompson), and what
 * the reader of a recording has for the block (sources/events/hpw_estimate.h).
 */
uint64_t rt_sampler_weight(uint64_t size, uint64_t mean_bytes);

/* Returns initial state number `number` of a seed; never 0. */
uint64_t rt_sampler_seed(uint64_t seed, uint64_t number);

#endif
