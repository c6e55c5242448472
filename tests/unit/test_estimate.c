/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of sampled blocks against the formulas, in long double and the other way round. */
#include <math.h>

#include "lib/tap.h"
#include "sources/hpw_estimate.h"

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

CASE(sums, "sites and totals: all, live, and the share at the peak, with their variances")
{
	struct hpw_estimate e;
	CHECK_OK(hpw_estimate_init(&e, MEAN, 2));
	hpw_estimate_alloc(&e, 0, 100, 10);
	hpw_estimate_alloc(&e, 1, 5000, 20); /* the peak */
	hpw_estimate_free(&e, 0, 100);
	hpw_estimate_alloc(&e, 1, 10, 30);
	struct site first = {0}, second = {0};
	struct totals totals = {0};
	hpw_estimate_put_site(&e, 0, &first);
	hpw_estimate_put_site(&e, 1, &second);
	hpw_estimate_put_totals(&e, &totals);
	long double a = stands_for(100), b = stands_for(5000), c = stands_for(10);
	CHECK_U64(first.allocations, (uint64_t)roundl(a));
	CHECK_U64(first.allocated_bytes, (uint64_t)roundl(100 * a));
	CHECK_U64(first.live_bytes, 0);
	CHECK_U64(second.live_bytes, (uint64_t)roundl(5000 * b + 10 * c));
	CHECK_U64(first.peak_bytes, (uint64_t)roundl(100 * a));
	CHECK_U64(second.peak_bytes, (uint64_t)roundl(5000 * b));
	CHECK_U64(totals.peak_bytes, (uint64_t)roundl(100 * a + 5000 * b));
	CHECK_U64(totals.allocations, (uint64_t)roundl(a + b + c));
	CHECK_U64(totals.frees, (uint64_t)roundl(a));
	CHECK_U64(e.peak_stamp, 20);
	/* Of one block with the probability p: x^2 (1 - p) / p^2. */
	long double p = 1 / a, variance = 100.0L * 100 * (1 - p) / (p * p);
	CHECK(fabsl(first.spread.allocated_bytes - variance) < 1e-9L * variance);
	CHECK(first.spread.live_bytes >= 0 && first.spread.live_bytes < 1e-6);
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
		for (int n = 0; n < 10; n++)
			hpw_estimate_alloc(&e, 0, UINT64_MAX - 1, 1);
		hpw_estimate_alloc(&e, 0, 0, 2);
		struct totals totals = {0};
		hpw_estimate_put_totals(&e, &totals);
		CHECK_U64(totals.allocated_bytes, (uint64_t)1e19);
		CHECK(totals.allocations >= 11);
		CHECK(isfinite(totals.spread.allocated_bytes));
		CHECK(totals.spread.allocated_bytes >= 0);
		hpw_estimate_deinit(&e);
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
