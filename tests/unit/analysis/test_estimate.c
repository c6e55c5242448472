/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of sampled blocks against the formulas, in long double and the other way round. */
#include <math.h>

#include <stdlib.h>

#include "analysis/interval.h"
#include "base/hash.h"
#include "lib/tap.h"
#include "sources/events/hpw_estimate.h"

#define MEAN 4096

/* 1 / p by its definition. */
static long double stands_for(long double size)
{
	return 1 / (1 - expl(-(size + 1) / MEAN));
}

CASE(weights, "a sampled block stands for 1 / p blocks")
{
	struct hpw_estimate e;
	CHECK_OK(hpw_estimate_init(&e, MEAN, 1));
	for (uint64_t size = 0; size < 1u << 20; size = size * 3 + 1) {
		long double expected = stands_for((long double)size);
		CHECK(fabsl(hpw_estimate_weight(&e, size) - expected) < 1e-9L * expected);
	}
	CHECK(hpw_estimate_weight(&e, UINT64_MAX) == 1);
	hpw_estimate_deinit(&e);
}

CASE(rows, "whole figures in a row add up to their sum, each next to what it stands for")
{
	double so_far = 0, sum = 0;
	uint64_t whole = 0;
	for (unsigned i = 0; i < 1000; i++) {
		double value = 1.0 + 0.37 * (i % 2);
		uint64_t next = hpw_estimate_next(&so_far, value);
		CHECK(next == 1 || next == 2);
		whole += next;
		sum += value;
		CHECK(fabs((double)whole - sum) <= 0.5);
	}
}

static struct totals totals_of(struct hpw_estimate *e)
{
	struct totals ret = {0};
	hpw_estimate_settle(e);
	hpw_estimate_put_totals(e, &ret);
	return ret;
}

static struct site site_of(const struct hpw_estimate *e, size_t place)
{
	struct site ret = {0};
	hpw_estimate_put_site(e, place, &ret);
	return ret;
}

/* A moment of a step and as many ticks. */
static struct hpw_estimate_moment at(uint64_t step)
{
	return (struct hpw_estimate_moment){step, step};
}

CASE(sums, "sites and totals: all and live, with their variances")
{
	struct hpw_estimate e;
	CHECK_OK(hpw_estimate_init(&e, MEAN, 2));
	const struct hpw_estimate_block blocks[] = {
		{0, 100, 1, true}, {1, 5000, 2, true}, {1, 10, 3, true}};
	hpw_estimate_alloc(&e, &blocks[0], at(10));
	hpw_estimate_alloc(&e, &blocks[1], at(20));
	hpw_estimate_free(&e, &blocks[0]);
	hpw_estimate_alloc(&e, &blocks[2], at(30));
	struct totals totals = totals_of(&e);
	struct site first = site_of(&e, 0), second = site_of(&e, 1);
	long double a = stands_for(100), b = stands_for(5000), c = stands_for(10);
	CHECK_U64(first.allocations, (uint64_t)roundl(a));
	CHECK_U64(first.allocated_bytes, (uint64_t)roundl(100 * a));
	CHECK_U64(first.live_bytes, 0);
	CHECK_U64(second.live_bytes, (uint64_t)roundl(5000 * b + 10 * c));
	CHECK_U64(totals.allocations, (uint64_t)roundl(a) + (uint64_t)roundl(b + c));
	CHECK_U64(totals.frees, (uint64_t)roundl(a));
	/* Of one block with the probability p: x^2 (1 - p) / p^2. */
	long double p = 1 / a, variance = 100.0L * 100 * (1 - p) / (p * p);
	CHECK(fabsl(first.spread.allocated_bytes - variance) < 1e-9L * variance);
	CHECK(first.spread.live_bytes >= 0 && first.spread.live_bytes < 1e-6);
	hpw_estimate_deinit(&e);
}

CASE(rows_add_up, "rounded sites add up to the rounded totals, each figure")
{
	struct hpw_estimate e;
	const size_t sites = 7;
	const uint64_t steps = 3000;
	CHECK_OK(hpw_estimate_init(&e, MEAN, sites));
	for (uint64_t i = 0; i < steps; i++) {
		struct hpw_estimate_block block = {i % sites, hash_u64(i) % 9000, i, i >= 1000};
		if (i == 1000)
			hpw_estimate_begin_range(&e, at(i));
		hpw_estimate_alloc(&e, &block, at(i));
		if (i % 5 == 0)
			hpw_estimate_failed(&e, block.place, block.size);
		if (i % 3 && i > 2000)
			hpw_estimate_free(&e, &block);
	}
	struct totals totals = totals_of(&e), sum = {0};
	for (size_t i = 0; i <= sites; i++) {
		struct site site = site_of(&e, i);
		sum.allocations += site.allocations;
		sum.allocated_bytes += site.allocated_bytes;
		sum.live_blocks += site.live_blocks;
		sum.live_bytes += site.live_bytes;
		sum.kept_blocks += site.kept_blocks;
		sum.kept_bytes += site.kept_bytes;
		sum.peak_blocks += site.peak_blocks;
		sum.peak_bytes += site.peak_bytes;
		sum.failed += site.failed;
	}
	CHECK_U64(totals.allocations, sum.allocations);
	CHECK_U64(totals.allocated_bytes, sum.allocated_bytes);
	CHECK_U64(totals.live_blocks, sum.live_blocks);
	CHECK_U64(totals.live_bytes, sum.live_bytes);
	CHECK_U64(totals.kept_blocks, sum.kept_blocks);
	CHECK_U64(totals.kept_bytes, sum.kept_bytes);
	CHECK_U64(totals.peak_blocks, sum.peak_blocks);
	CHECK_U64(totals.peak_bytes, sum.peak_bytes);
	CHECK_U64(totals.failed, sum.failed);
	CHECK(fabsl((long double)totals.live_bytes - e.totals.live.bytes) <= (long double)sites);
	hpw_estimate_deinit(&e);
}

CASE(shares, "far larger blocks than the mean are exact at the peak, and shares of sites its sum")
{
	struct hpw_estimate e;
	CHECK_OK(hpw_estimate_init(&e, 8, 3));
	for (uint64_t i = 0; i < 9; i++)
		hpw_estimate_alloc(
			&e, &(struct hpw_estimate_block){i % 3, 1000 + i, i, true}, at(i));
	for (uint64_t i = 0; i < 6; i++)
		hpw_estimate_free(&e, &(struct hpw_estimate_block){i % 3, 1000 + i, i, true});
	hpw_estimate_alloc(&e, &(struct hpw_estimate_block){0, 2000, 9, true}, at(20));
	struct totals totals = totals_of(&e);
	CHECK_U64(totals.peak_bytes, 9036);
	CHECK_U64(totals.peak_blocks, 9);
	CHECK_U64(hpw_estimate_peak_moment(&e).step, 8);
	CHECK_U64(totals.live_bytes, 5021);
	for (size_t i = 0; i < 3; i++) {
		CHECK_U64(site_of(&e, i).peak_bytes, 3009 + 3 * i);
		CHECK_U64(site_of(&e, i).peak_blocks, 3);
	}
	hpw_estimate_deinit(&e);
}

CASE(at_end, "a heap that only grows peaks with what is live at the end")
{
	struct hpw_estimate e;
	CHECK_OK(hpw_estimate_init(&e, MEAN, 2));
	for (uint64_t i = 0; i < 100; i++)
		hpw_estimate_alloc(
			&e, &(struct hpw_estimate_block){i % 2, 100 * i, i, true}, at(i));
	struct totals totals = totals_of(&e);
	CHECK_U64(totals.peak_bytes, totals.live_bytes);
	CHECK_U64(totals.peak_blocks, totals.live_blocks);
	CHECK_U64(hpw_estimate_peak_moment(&e).step, 99);
	CHECK(totals.spread.peak_bytes == totals.spread.live_bytes);
	for (size_t i = 0; i < 2; i++)
		CHECK_U64(site_of(&e, i).peak_bytes, site_of(&e, i).live_bytes);
	hpw_estimate_deinit(&e);
}

CASE(failed, "a failed call stands for 1 / p calls for as many bytes, and is no allocation")
{
	struct hpw_estimate e;
	CHECK_OK(hpw_estimate_init(&e, MEAN, 2));
	hpw_estimate_failed(&e, 0, 100);
	hpw_estimate_failed(&e, 1, UINT64_MAX - 4096);
	struct site site = {0};
	struct totals totals = {0};
	hpw_estimate_put_site(&e, 0, &site);
	hpw_estimate_put_totals(&e, &totals);
	long double a = stands_for(100), p = 1 / a, variance = (1 - p) / (p * p);
	CHECK_U64(site.failed, (uint64_t)roundl(a));
	CHECK_U64(totals.failed, (uint64_t)roundl(a + 1));
	CHECK_U64(totals.allocations, 0);
	CHECK(fabsl(totals.spread.failed - variance) < 1e-9L * variance);
	hpw_estimate_deinit(&e);
}

CASE(absurd, "absurd sample rates and sizes end at what a number holds")
{
	static const uint64_t means[] = {1, UINT64_MAX};
	for (int i = 0; i < 2; i++) {
		struct hpw_estimate e;
		CHECK_OK(hpw_estimate_init(&e, means[i], 1));
		for (uint64_t n = 0; n < 10; n++)
			hpw_estimate_alloc(&e,
				&(struct hpw_estimate_block){0, UINT64_MAX - 1, n, true}, at(1));
		hpw_estimate_alloc(&e, &(struct hpw_estimate_block){0, 0, 10, true}, at(2));
		struct totals totals = totals_of(&e);
		CHECK_U64(totals.allocated_bytes, (uint64_t)1e19);
		CHECK(totals.allocations >= 11);
		CHECK(isfinite(totals.spread.allocated_bytes));
		CHECK(totals.spread.allocated_bytes >= 0);
		hpw_estimate_deinit(&e);
	}
}

/* A program whose every step is known, and what a sampled recording would say of it. */
struct program {
	struct hpw_estimate estimate;
	uint64_t random, identity;
	struct totals truth;
	struct site site_truth[2], live[2];
	struct hpw_estimate_block slots[4096];
	bool used[4096], sampled[4096];
};

static double chance(struct program *program)
{
	return ldexp((double)(hash_u64(program->random += 0x9e3779b97f4a7c15u) >> 11), -53);
}

static void take_away(struct program *program, size_t slot)
{
	const struct hpw_estimate_block *block = &program->slots[slot];
	if (!program->used[slot])
		return;
	program->used[slot] = false;
	program->truth.live_bytes -= block->size;
	program->truth.live_blocks--;
	program->live[block->place].live_bytes -= block->size;
	if (program->sampled[slot])
		hpw_estimate_free(&program->estimate, block);
}

static void put(struct program *program, size_t slot, uint64_t size)
{
	struct totals *truth = &program->truth;
	take_away(program, slot);
	size_t place = chance(program) < 0.25;
	program->slots[slot] = (struct hpw_estimate_block){place, size, ++program->identity, true};
	program->used[slot] = true;
	truth->live_bytes += size;
	truth->live_blocks++;
	program->live[place].live_bytes += size;
	if (truth->live_bytes > truth->peak_bytes) {
		truth->peak_bytes = truth->live_bytes;
		truth->peak_blocks = truth->live_blocks;
		for (int i = 0; i < 2; i++)
			program->site_truth[i].peak_bytes = program->live[i].live_bytes;
	}
	program->sampled[slot] =
		chance(program) * hpw_estimate_weight(&program->estimate, size) < 1;
	if (program->sampled[slot])
		hpw_estimate_alloc(
			&program->estimate, &program->slots[slot], at(program->identity));
}

/* 1,024 blocks of 1 KiB, replaced in turn. */
static void run_plateau(struct program *program)
{
	for (size_t i = 0; i < 30000; i++)
		put(program, i % 1024, 1024);
}

/* Up to 1 MiB and at once down again, then a twentieth of that for the rest of the time. */
static void run_sharp_peak(struct program *program)
{
	for (size_t i = 0; i < 4096; i++)
		put(program, i, 256);
	for (size_t i = 4096; i-- > 0;)
		take_away(program, i);
	for (size_t i = 0; i < 20000; i++)
		put(program, i % 200, 256);
}

/* 8 B to 8 MiB, as many of each magnitude. */
static void run_mix(struct program *program)
{
	for (size_t i = 0; i < 10000; i++)
		put(program, (size_t)(chance(program) * 400),
			(uint64_t)(8 * exp2(20 * chance(program))));
}

#define RUNS 200

struct tried {
	double peak_bytes, peak_blocks, share; /* mean ratios to the truth */
	int bytes_held, blocks_held, share_held;
};

static void try_once(struct program *program, const struct recording *recording, struct tried *ret)
{
	struct interval bytes = {0}, blocks = {0}, share = {0};
	const struct totals found = totals_of(&program->estimate), *truth = &program->truth;
	const struct site site = site_of(&program->estimate, 0),
			  other = site_of(&program->estimate, 1);
	CHECK(interval_of_totals(recording, METRIC_PEAK_BYTES, &found, &bytes));
	CHECK(interval_of_totals(recording, METRIC_PEAK_BLOCKS, &found, &blocks));
	CHECK(interval_of_site(recording, METRIC_PEAK_BYTES, &site, &share));
	CHECK(llabs((long long)(site.peak_bytes + other.peak_bytes - found.peak_bytes)) <= 1);
	uint64_t true_share = program->site_truth[0].peak_bytes;
	ret->peak_bytes += (double)found.peak_bytes / (double)truth->peak_bytes / RUNS;
	ret->peak_blocks += (double)found.peak_blocks / (double)truth->peak_blocks / RUNS;
	ret->share += (double)site.peak_bytes / (double)true_share / RUNS;
	ret->bytes_held += bytes.low <= truth->peak_bytes && truth->peak_bytes <= bytes.high;
	ret->blocks_held += blocks.low <= truth->peak_blocks && truth->peak_blocks <= blocks.high;
	ret->share_held += share.low <= true_share && true_share <= share.high;
}

static struct tried try_runs(void (*run)(struct program *), uint64_t mean)
{
	const struct recording recording = {.sample_bytes = mean};
	struct tried ret = {0};
	for (uint64_t seed = 0; seed < RUNS; seed++) {
		struct program *program = calloc(1, sizeof(*program));
		CHECK(program && !hpw_estimate_init(&program->estimate, mean, 2));
		program->random = hash_u64(seed + 1);
		program->identity = seed << 32;
		run(program);
		try_once(program, &recording, &ret);
		hpw_estimate_deinit(&program->estimate);
		free(program);
	}
	printf("# means: bytes %.3f, blocks %.3f, share %.3f; held: %d, %d, %d of %d\n",
		ret.peak_bytes, ret.peak_blocks, ret.share, ret.bytes_held, ret.blocks_held,
		ret.share_held, RUNS);
	return ret;
}

static bool is_about(double value, double low, double high)
{
	return value >= low && value <= high;
}

/* Nine of ten at least, of each. */
static bool held(const struct tried *tried)
{
	const int enough = RUNS * 9 / 10;
	return tried->bytes_held >= enough && tried->blocks_held >= enough &&
	       tried->share_held >= enough;
}

CASE(plateau, "the peak of a plateau is its height, not the best luck of the samples")
{
	static const struct {
		uint64_t mean;
		double off; /* three deviations of the mean of so many runs */
	} tries[] = {{1 << 14, 0.03}, {1 << 16, 0.06}, {1 << 19, 0.16}};
	for (size_t i = 0; i < 3; i++) {
		struct tried tried = try_runs(run_plateau, tries[i].mean);
		double off = tries[i].off;
		CHECK(is_about(tried.peak_bytes, 1 - off, 1 + off));
		CHECK(is_about(tried.peak_blocks, 1 - off, 1 + off));
		CHECK(is_about(tried.share, 1 - 1.2 * off, 1 + 1.2 * off));
		CHECK(held(&tried));
	}
}

CASE(sharp, "a sharp peak is too low by less than twice the mean distance of samples")
{
	for (uint64_t mean = 1 << 10; mean <= 1 << 15; mean <<= 1) {
		struct tried tried = try_runs(run_sharp_peak, mean);
		double low = 1 - 2.0 * (double)mean / (1 << 20) - 0.02;
		CHECK(is_about(tried.peak_bytes, low, 1.02));
		CHECK(is_about(tried.peak_blocks, low, 1.02));
		CHECK(is_about(tried.share, low - 0.01, 1.03));
		CHECK(held(&tried));
	}
}

CASE(mix, "the peak of sizes from 8 B to 8 MiB, and the blocks in it")
{
	for (uint64_t mean = 1 << 12; mean <= 1 << 16; mean <<= 2) {
		struct tried tried = try_runs(run_mix, mean);
		CHECK(is_about(tried.peak_bytes, 0.995, 1.005));
		CHECK(is_about(tried.share, 0.995, 1.005));
		CHECK(is_about(tried.peak_blocks, 0.75, 1.25));
		CHECK(held(&tried));
	}
}

CASE(whole, "estimates in whole numbers: no negative ones, none that do not fit")
{
	CHECK_U64(hpw_estimate_whole(-1e300), 0);
	CHECK_U64(hpw_estimate_whole(0.49), 0);
	CHECK_U64(hpw_estimate_whole(0.5), 1);
	CHECK_U64(hpw_estimate_whole(1e18), 1000000000000000000ull);
	CHECK_U64(hpw_estimate_whole(INFINITY), (uint64_t)1e19);
}

TAP_MAIN
