/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ranges of estimates against a search for all truths that the estimate would not surprise. */
#include <math.h>

#include "analysis/interval.h"
#include "lib/tap.h"

/* Whether the estimate is within 1.959964 deviations of `truth`, if one sample adds `step`. */
static bool fits(double truth, double estimate, double step)
{
	return fabs(estimate - truth) <= 1.959964 * sqrt(step * truth);
}

/* Bisection between a truth that fits and one that does not. */
static double edge(double fitting, double other, double estimate, double step)
{
	for (int i = 0; i < 200; i++) {
		double middle = (fitting + other) / 2;
		*(fits(middle, estimate, step) ? &fitting : &other) = middle;
	}
	return fitting;
}

static void check(uint64_t estimate, double step)
{
	struct recording recording = {.mode = "sample", .sample_bytes = 4096};
	struct totals totals = {.live_bytes = estimate};
	totals.spread.live_bytes = step * (double)estimate;
	struct interval range;
	CHECK(interval_of_totals(&recording, METRIC_LIVE_BYTES, &totals, &range));
	double value = (double)estimate;
	double low = edge(value, 0, value, step),
	       high = edge(value, value * 100 + 1e9, value, step);
	CHECK(fabs((double)range.low - low) <= 1 + low * 1e-9);
	struct site site = {.live_bytes = estimate, .spread = totals.spread};
	struct interval of_site;
	CHECK(interval_of_site(&recording, METRIC_LIVE_BYTES, &site, &of_site));
	CHECK_U64(of_site.low, range.low);
	CHECK(fabs((double)of_site.high - high) <= 1 + high * 1e-9);
	/* Of all together there is what no sample fell on. */
	high = value + hypot((double)of_site.high - value, 1.959964 * 1.959964 * 4096);
	CHECK(fabs((double)range.high - high) <= 1 + high * 1e-9);
}

CASE(score_interval, "a range holds exactly the truths that would not make it a surprise")
{
	static const double steps[] = {0.001, 1, 37, 4096, 524288};
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		check(1, steps[i]);
		check(4097, steps[i]);
		check(123456789, steps[i]);
	}
}

CASE(no_samples,
	"nothing sampled: the range begins at 0 and its end says what may have been missed")
{
	struct recording recording = {.mode = "sample", .sample_bytes = 524288};
	struct totals totals = {0};
	struct interval range;
	CHECK(interval_of_totals(&recording, METRIC_LIVE_BYTES, &totals, &range));
	CHECK_U64(range.low, 0);
	CHECK_U64(range.high, (uint64_t)ceil(1.959964 * 1.959964 * 524288));
}

CASE(certain, "without variance the range is the figure")
{
	struct recording recording = {.mode = "sample", .sample_bytes = 1};
	struct totals totals = {.peak_bytes = 8388608};
	struct interval range;
	CHECK(interval_of_totals(&recording, METRIC_PEAK_BYTES, &totals, &range));
	CHECK_U64(range.low, 8388608);
	CHECK_U64(range.high, 8388608);
}

CASE(unseen,
	"blocks far beyond the distance of samples say nothing of the small ones, however many")
{
	struct recording recording = {.mode = "sample", .sample_bytes = 524288};
	struct totals totals = {.allocations = 1, .peak_blocks = 1, .peak_bytes = 4 << 20};
	struct interval range;
	CHECK(interval_of_totals(&recording, METRIC_ALLOCATIONS, &totals, &range));
	CHECK_U64(range.low, 1);
	CHECK(range.high > 100000);
	CHECK(interval_of_totals(&recording, METRIC_PEAK_BYTES, &totals, &range));
	CHECK_U64(range.low, 4 << 20);
	CHECK_U64(range.high - (4 << 20), (uint64_t)ceil(1.959964 * 1.959964 * 524288));
}

CASE(failed, "failed calls have a range too")
{
	struct recording recording = {.mode = "sample", .sample_bytes = 4096};
	struct totals totals = {.failed = 200, .spread.failed = 200 * 19.0};
	struct interval range;
	CHECK(interval_of_totals(&recording, METRIC_FAILED, &totals, &range));
	CHECK(range.low > 0 && range.low < 200 && range.high > 200 && range.high < 400);
}

CASE(no_range, "exact recordings, and figures that are not estimated, have no range")
{
	struct recording exact = {.mode = "exact"}, sampled = {.sample_bytes = 4096};
	struct totals totals = {.live_bytes = 5, .temporary = 5};
	struct interval range = {.low = 3, .high = 4};
	CHECK(!interval_of_totals(&exact, METRIC_LIVE_BYTES, &totals, &range));
	CHECK(!interval_of_totals(&sampled, METRIC_TEMPORARY, &totals, &range));
	CHECK_U64(range.low, 3);
	CHECK_U64(range.high, 4);
}

TAP_MAIN
