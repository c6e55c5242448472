/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see sampler.h. May touch: the same.
 *
 * Linear probing with removal by moving back: a table that churns for hours has no tombstones. A
 * thread that leaves these functions for good in the middle (a jump out of a signal handler) can
 * leave an address twice: then a later free of that address is recorded that was of no sampled
 * block, which the reader passes over.
 */
#include "runtime/core/sampler.h"

#define GOLDEN 0x9e3779b97f4a7c15ull
#define LN2 0.69314718055994530942

static uint32_t places_of(uint32_t level)
{
	return RT_SAMPLER_PLACES_FIRST << 2 * level;
}

static uint64_t *table_of(const struct rt_sampler *s, uint32_t level)
{
	return s->places + RT_SAMPLER_PLACES_FIRST * ((1u << 2 * level) - 1) / 3;
}

static uint32_t place_of(uint64_t address, uint32_t mask)
{
	return (uint32_t)((address >> 4) * GOLDEN >> 32) & mask;
}

void rt_sampler_prepare(struct rt_sampler *sampler, uint64_t *filter, uint64_t *places)
{
	sampler->filter = filter;
	sampler->places = places;
	for (uint32_t i = 0; i < RT_FILTER_WORDS; i++)
		__atomic_store_n(&filter[i], 0, __ATOMIC_RELAXED);
}

void rt_sampler_clear(struct rt_sampler *s)
{
	/* Atomic, so that no call of memset comes of it. */
	for (uint32_t level = 0; s->places && level <= s->level; level++) {
		uint64_t *table = table_of(s, level);
		for (uint32_t i = 0; i < places_of(level); i++)
			__atomic_store_n(&table[i], 0, __ATOMIC_RELAXED);
	}
	for (uint32_t i = 0; i < RT_FILTER_CLASSES; i++)
		__atomic_store_n(&s->counts[i], 0, __ATOMIC_RELAXED);
	s->level = s->used = 0;
	rt_sampler_prepare(s, s->filter, s->places);
}

static void count_in_filter(struct rt_sampler *s, uint64_t address, bool more)
{
	uint32_t class = rt_filter_class(address);
	uint16_t *blocks = &s->counts[class];
	if (*blocks == UINT16_MAX)
		return; /* stays for good: the filter may say "perhaps" too often */
	*blocks = (uint16_t)(more ? *blocks + 1 : *blocks - 1);
	uint64_t *word = &s->filter[class / 64], bit = 1ull << (class & 63);
	uint64_t now = *blocks ? *word | bit : *word & ~bit;
	__atomic_store_n(word, now, __ATOMIC_RELAXED);
}

static uint32_t find_slot(const uint64_t *table, uint32_t mask, uint64_t address)
{
	uint32_t i = place_of(address, mask);
	while (table[i] && table[i] != address)
		i = (i + 1) & mask;
	return i;
}

/* On to the next level. False: there is none. */
static bool grow_table(struct rt_sampler *s)
{
	if (s->level + 1 == RT_SAMPLER_LEVELS)
		return false;
	uint32_t old_places = places_of(s->level), mask = places_of(s->level + 1) - 1;
	const uint64_t *old = table_of(s, s->level);
	uint64_t *table = table_of(s, s->level + 1);
	for (uint32_t i = 0; i < old_places; i++) {
		if (old[i])
			table[find_slot(table, mask, old[i])] = old[i];
	}
	s->level++;
	return true;
}

enum rt_sampler_answer rt_sampler_add(struct rt_sampler *s, uint64_t address)
{
	if (!rt_lock_try(&s->lock))
		return RT_SAMPLER_BUSY;
	bool room = s->places && (s->used < places_of(s->level) / 4 * 3 || grow_table(s));
	if (room) {
		uint64_t *table = table_of(s, s->level);
		uint32_t at = find_slot(table, places_of(s->level) - 1, address);
		if (!table[at]) {
			table[at] = address;
			s->used++;
			count_in_filter(s, address, true);
		}
	}
	rt_unlock(&s->lock);
	return room ? RT_SAMPLER_YES : RT_SAMPLER_BUSY;
}

static void remove_at(uint64_t *table, uint32_t mask, uint32_t hole)
{
	for (uint32_t i = (hole + 1) & mask; table[i]; i = (i + 1) & mask) {
		uint32_t own = place_of(table[i], mask);
		if (((i - own) & mask) >= ((i - hole) & mask)) {
			table[hole] = table[i];
			hole = i;
		}
	}
	table[hole] = 0;
}

enum rt_sampler_answer rt_sampler_take(struct rt_sampler *s, uint64_t address)
{
	if (!rt_lock_try(&s->lock))
		return RT_SAMPLER_BUSY;
	uint64_t *table = table_of(s, s->level);
	uint32_t mask = places_of(s->level) - 1;
	uint32_t at = s->places ? find_slot(table, mask, address) : 0;
	bool found = s->places && table[at] == address;
	if (found) {
		remove_at(table, mask, at);
		s->used--;
		count_in_filter(s, address, false);
	}
	rt_unlock(&s->lock);
	return found ? RT_SAMPLER_YES : RT_SAMPLER_NO;
}

static uint64_t next_random(uint64_t *random)
{
	uint64_t z = *random += RT_SAMPLER_STEP;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* -ln(x / 2^53) for x from 1 to 2^53: ln m = 2 artanh((m - 1) / (m + 1)) for m from 1 to 2, by its
 * series, to 1e-11. */
static double minus_ln(uint64_t x)
{
	int exponent = 63 - __builtin_clzll(x);
	double m = (double)x / (double)(1ull << exponent), s = (m - 1) / (m + 1), sum = 0;
	for (int n = 21; n > 0; n -= 2)
		sum = sum * s * s + 1.0 / n;
	return (53 - exponent) * LN2 - 2 * s * sum;
}

uint64_t rt_sampler_gap(uint64_t *random, uint64_t mean_bytes)
{
	double gap = minus_ln((next_random(random) >> 11) + 1) * (double)mean_bytes;
	return gap < 1e18 ? (uint64_t)gap : (uint64_t)1e18;
}

/* 1 - exp(-x) for x from 0 on: of a small part of x by its series, to 1e-13, then 1 - exp(-2 h) =
 * u (2 - u) with u = 1 - exp(-h). */
static double part_below(double x)
{
	int halvings = 0;
	double sum = 0;
	for (; x > 0.125; x /= 2)
		halvings++;
	for (int n = 8; n > 0; n--)
		sum = x / n * (1 - sum);
	while (halvings--)
		sum *= 2 - sum;
	return sum;
}

uint64_t rt_sampler_weight(uint64_t size, uint64_t mean_bytes)
{
	double x = ((double)size + 1) / (double)mean_bytes;
	/* Beyond this 1 - exp(-x) is 1 in a double. */
	return x > 40 ? size : (uint64_t)((double)size / part_below(x) + 0.5);
}

uint64_t rt_sampler_seed(uint64_t seed, uint64_t number)
{
	uint64_t state = seed + number * 0xd1342543de82ef95ull;
	return next_random(&state) | 1;
}
