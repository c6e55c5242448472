/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When growth, reallocs and churn are worth a sentence: each threshold from both sides. */
#include "analysis/notable.h"

#include "lib/tap.h"

#define PEAK (UINT64_C(10) * NOTABLE_GROWTH_BYTES)

static bool grows(enum growth_verdict verdict, uint64_t ns, uint64_t bytes, uint64_t peak)
{
	struct growth_row row = {.verdict = verdict, .grown_bytes = (int64_t)bytes};
	return notable_growth(&row, ns, peak);
}

CASE(growth, "growth matters if it lasts, is large, and is a tenth of the peak")
{
	CHECK(grows(GROWTH_LEAK, NOTABLE_GROWTH_NS, NOTABLE_GROWTH_BYTES, PEAK));
	CHECK(!grows(GROWTH_CACHE, NOTABLE_GROWTH_NS, NOTABLE_GROWTH_BYTES, PEAK));
	CHECK(!grows(GROWTH_LEAK, NOTABLE_GROWTH_NS - 1, NOTABLE_GROWTH_BYTES, PEAK));
	CHECK(!grows(GROWTH_LEAK, NOTABLE_GROWTH_NS, NOTABLE_GROWTH_BYTES - 1, 0));
	CHECK(!grows(GROWTH_LEAK, NOTABLE_GROWTH_NS, NOTABLE_GROWTH_BYTES, PEAK + 10));
}

static bool steps(bool stepwise, uint64_t longest, uint64_t copied, uint64_t to)
{
	struct realloc_row row = {.stepwise = stepwise,
		.sums = {.longest = longest, .copied_bytes = copied, .longest_to = to}};
	return notable_reallocs(&row);
}

CASE(reallocs, "reallocs matter in long chains that copy much, and many times what they make")
{
	const uint64_t copied = NOTABLE_COPIED_BYTES, to = copied / NOTABLE_COPIED_TIMES;
	CHECK(steps(true, NOTABLE_CHAIN, copied, to));
	CHECK(!steps(false, NOTABLE_CHAIN, copied, to));
	CHECK(!steps(true, NOTABLE_CHAIN - 1, copied, to));
	CHECK(!steps(true, NOTABLE_CHAIN, copied - 1, 1));
	CHECK(!steps(true, NOTABLE_CHAIN, copied, to + 1));
}

static bool churns(uint64_t allocations, uint64_t bytes, uint64_t peak)
{
	struct totals totals = {
		.allocations = allocations, .allocated_bytes = bytes, .peak_bytes = peak};
	return notable_churn(&totals);
}

CASE(churn, "churn matters in many allocations of far more than was ever there")
{
	const uint64_t peak = 1000, bytes = peak * NOTABLE_CHURN_TIMES;
	CHECK(churns(NOTABLE_CHURN_ALLOCATIONS, bytes, peak));
	CHECK(!churns(NOTABLE_CHURN_ALLOCATIONS - 1, bytes, peak));
	CHECK(!churns(NOTABLE_CHURN_ALLOCATIONS, bytes - 1, peak));
	CHECK(!churns(NOTABLE_CHURN_ALLOCATIONS, bytes, 0));
}

CASE(short_lived, "short-lived are blocks that were freed within a hundred allocations")
{
	struct lifetimes lives = {.known = true};
	lives.by_others[life_bucket_of(0)].freed_blocks = 1;
	lives.by_others[life_bucket_of(NOTABLE_SHORT_OTHERS)].freed_blocks = 10;
	lives.by_others[life_bucket_of(NOTABLE_SHORT_OTHERS + 1)].freed_blocks = 100;
	lives.by_others[life_bucket_of(1)].live_blocks = 1000;
	CHECK_U64(notable_short_lived(&lives), 11);
}

TAP_MAIN
