/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which blocks are sampled: distances against the distribution they claim, the table of sampled
 * addresses against an array of flags. */
#include <math.h>
#include <stdlib.h>

#include "base/util.h"
#include "lib/tap.h"
#include "runtime/core/sampler.h"

#define DRAWS 1000000u
#define BINS 20u
#define MEAN (1u << 19)

static struct rt_sampler *sampler_new(void)
{
	struct rt_sampler *s = calloc(1, sizeof(*s));
	uint64_t *filter = malloc(RT_FILTER_WORDS * sizeof(*filter));
	uint64_t *places = calloc(1, RT_SAMPLER_BYTES);
	CHECK(s && filter && places);
	rt_sampler_prepare(s, filter, places);
	return s;
}

static void sampler_free(struct rt_sampler *s)
{
	free(s->filter);
	free(s->places);
	free(s);
}

/* Bins that are equally likely: chi-square with 19 degrees of freedom is above 43.8 once in 1,000
 * seeds. The seeds are fixed. */
CASE(gaps_are_exponential, "distances are exponential with the mean asked for")
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		uint64_t random = rt_sampler_seed(seed, 7), bins[BINS] = {0};
		double sum = 0, chi2 = 0, expected = (double)DRAWS / BINS;
		for (uint32_t i = 0; i < DRAWS; i++) {
			double gap = (double)rt_sampler_gap(&random, MEAN);
			unsigned bin = (unsigned)(-expm1(-(gap + 0.5) / MEAN) * BINS);
			bins[bin < BINS ? bin : BINS - 1]++;
			sum += gap;
		}
		for (unsigned i = 0; i < BINS; i++)
			chi2 += ((double)bins[i] - expected) * ((double)bins[i] - expected) /
				expected;
		/* The mean's own deviation is a thousandth of it. */
		CHECK(fabs(sum / DRAWS - MEAN) < 4e-3 * MEAN);
		CHECK(chi2 < 43.8);
	}
}

CASE(gaps_at_the_ends, "means of 1 byte and of 2^64 - 1 give distances that make sense")
{
	uint64_t random = rt_sampler_seed(3, 0), zeros = 0;
	for (uint32_t i = 0; i < DRAWS; i++) {
		zeros += rt_sampler_gap(&random, 1) == 0;
		CHECK(rt_sampler_gap(&random, UINT64_MAX) <= 1000000000000000000ull);
	}
	/* 1 - 1/e of them, with a deviation of 0.00048. */
	CHECK(fabs((double)zeros / DRAWS + expm1(-1)) < 0.002);
}

CASE(seeds_differ, "threads of one seed draw different distances, the same ones again each time")
{
	uint64_t a = rt_sampler_seed(9, 0), b = rt_sampler_seed(9, 1),
		 again = rt_sampler_seed(9, 0);
	CHECK(a && b && a != b);
	CHECK_U64(again, a);
	CHECK(rt_sampler_gap(&a, MEAN) != rt_sampler_gap(&b, MEAN));
}

CASE(weights, "a sampled block stands for as many bytes as the reader says, whatever its size and "
	      "the mean")
{
	static const uint64_t means[] = {1, 2, 4096, 512 << 10, 64ull << 30};
	for (size_t m = 0; m < ARRAY_SIZE(means); m++) {
		CHECK_U64(rt_sampler_weight(0, means[m]), 0);
		for (uint64_t size = 1; size < 1ull << 46; size = size * 3 + 1) {
			double exact =
				(double)size / -expm1(-((double)size + 1) / (double)means[m]);
			double found = (double)rt_sampler_weight(size, means[m]);
			CHECK(fabs(found - exact) <= 0.501 + exact * 1e-12);
		}
	}
}

#define ADDRESSES 200000u

/* Addresses whose classes collide: the second half is a whole filter's span further on. */
static uint64_t address_of(uint32_t i)
{
	return 0x7f0000000000ull + 16ull * (i % 50000) + ((uint64_t)(i / 50000) << 20) * 16;
}

CASE(table_under_churn, "under churn the table knows exactly the sampled blocks, the filter all")
{
	static bool sampled[ADDRESSES];
	struct rt_sampler *s = sampler_new();
	uint64_t random = 42;
	uint32_t count = 0;
	for (uint32_t i = 0; i < 2000000; i++) {
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		uint32_t n = (uint32_t)(random >> 33) % ADDRESSES;
		if (random >> 63) {
			CHECK(rt_sampler_add(s, address_of(n)) == RT_SAMPLER_YES);
			count += !sampled[n];
			sampled[n] = true;
		} else {
			CHECK(rt_sampler_take(s, address_of(n)) ==
				(sampled[n] ? RT_SAMPLER_YES : RT_SAMPLER_NO));
			count -= sampled[n];
			sampled[n] = false;
		}
		CHECK_U64(s->used, count);
	}
	for (uint32_t n = 0; n < ADDRESSES; n++) {
		CHECK(!sampled[n] || rt_filter_has(s->filter, address_of(n)));
		CHECK(rt_sampler_take(s, address_of(n)) ==
			(sampled[n] ? RT_SAMPLER_YES : RT_SAMPLER_NO));
	}
	CHECK_U64(s->used, 0);
	for (uint32_t n = 0; n < ADDRESSES; n++)
		CHECK(!rt_filter_has(s->filter, address_of(n)));
	sampler_free(s);
}

CASE(full_table, "a full table declines, loses nothing, and takes blocks again after a free")
{
	struct rt_sampler *s = sampler_new();
	const uint64_t room = (1024ull << 2 * (RT_SAMPLER_LEVELS - 1)) / 4 * 3;
	for (uint64_t i = 1; i <= room; i++)
		CHECK(rt_sampler_add(s, i * 16) == RT_SAMPLER_YES);
	CHECK(rt_sampler_add(s, (room + 1) * 16) == RT_SAMPLER_BUSY);
	CHECK(rt_sampler_take(s, (room + 1) * 16) == RT_SAMPLER_NO);
	CHECK(rt_sampler_take(s, 16) == RT_SAMPLER_YES);
	CHECK(rt_sampler_add(s, (room + 1) * 16) == RT_SAMPLER_YES);
	for (uint64_t i = 2; i <= room + 1; i++)
		CHECK(rt_sampler_take(s, i * 16) == RT_SAMPLER_YES);
	CHECK_U64(s->used, 0);
	sampler_free(s);
}

CASE(cleared, "a cleared table knows no block, on whatever level it was, and takes new ones")
{
	struct rt_sampler *s = sampler_new();
	for (uint64_t i = 1; i <= 5000; i++)
		CHECK(rt_sampler_add(s, i * 16) == RT_SAMPLER_YES);
	CHECK(s->level > 0);
	rt_sampler_clear(s);
	for (uint64_t i = 1; i <= 5000; i++) {
		CHECK(!rt_filter_has(s->filter, i * 16));
		CHECK(rt_sampler_take(s, i * 16) == RT_SAMPLER_NO);
	}
	for (uint64_t i = 1; i <= 5000; i += 2)
		CHECK(rt_sampler_add(s, i * 16) == RT_SAMPLER_YES);
	for (uint64_t i = 1; i <= 5000; i++)
		CHECK((rt_sampler_take(s, i * 16) == RT_SAMPLER_YES) == (i % 2 == 1));
	sampler_free(s);
}

CASE(no_room, "a sampler without memory takes no block")
{
	struct rt_sampler *s = sampler_new();
	uint64_t *places = s->places;
	rt_sampler_prepare(s, s->filter, NULL);
	CHECK(rt_sampler_add(s, 64) == RT_SAMPLER_BUSY);
	CHECK(rt_sampler_take(s, 64) == RT_SAMPLER_NO);
	rt_sampler_clear(s);
	s->places = places;
	sampler_free(s);
}

CASE(held_lock, "a handler above a held lock is told so and waits for nothing")
{
	struct rt_sampler *s = sampler_new();
	CHECK(rt_lock_try(&s->lock));
	CHECK(rt_sampler_add(s, 64) == RT_SAMPLER_BUSY);
	CHECK(rt_sampler_take(s, 64) == RT_SAMPLER_BUSY);
	rt_unlock(&s->lock);
	CHECK(rt_sampler_add(s, 64) == RT_SAMPLER_YES);
	sampler_free(s);
}

TAP_MAIN
