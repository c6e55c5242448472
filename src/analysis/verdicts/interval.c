/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/interval.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Of the normal distribution, 95 % lie within this many deviations. */
#define DEVIATIONS 1.959964

/* Where a metric's variance is in struct spread, + 1; 0: it has none. */
static const size_t places[METRICS] = {
	[METRIC_ALLOCATIONS] = offsetof(struct spread, allocations) + 1,
	[METRIC_ALLOCATED_BYTES] = offsetof(struct spread, allocated_bytes) + 1,
	[METRIC_LIVE_BYTES] = offsetof(struct spread, live_bytes) + 1,
	[METRIC_LIVE_BLOCKS] = offsetof(struct spread, live_blocks) + 1,
	[METRIC_PEAK_BYTES] = offsetof(struct spread, peak_bytes) + 1,
	[METRIC_PEAK_BLOCKS] = offsetof(struct spread, peak_blocks) + 1,
	[METRIC_FAILED] = offsetof(struct spread, failed) + 1,
};

/* Likewise, how much larger the estimate may be for sizes that are not known. */
static const size_t more_places[METRICS] = {
	[METRIC_ALLOCATIONS] = offsetof(struct spread, allocations_more) + 1,
	[METRIC_ALLOCATED_BYTES] = offsetof(struct spread, allocated_bytes_more) + 1,
	[METRIC_LIVE_BYTES] = offsetof(struct spread, live_bytes_more) + 1,
	[METRIC_LIVE_BLOCKS] = offsetof(struct spread, live_blocks_more) + 1,
};

static double place_value(const struct spread *spread, size_t place)
{
	double value = 0;
	if (place)
		memcpy(&value, (const char *)spread + place - 1, sizeof(value));
	return value;
}

/* Less than half a block is what rounding leaves. */
static bool rests_on_mean(double more)
{
	return more >= 0.5;
}

static bool is_of_bytes(enum metric metric)
{
	return metric == METRIC_ALLOCATED_BYTES || metric == METRIC_LIVE_BYTES ||
	       metric == METRIC_PEAK_BYTES;
}

/* Of estimates between `least` and `most`; what one more sample would add to each: the variance is
 * this times the truth. */
static void set_score(
	double least, double least_step, double most, double most_step, struct interval *ret)
{
	double z2 = DEVIATIONS * DEVIATIONS;
	double low = least + z2 * least_step / 2, high = most + z2 * most_step / 2;
	low -= sqrt(z2 * least * least_step + z2 * z2 * least_step * least_step / 4);
	high += sqrt(z2 * most * most_step + z2 * z2 * most_step * most_step / 4);
	*ret = (struct interval){
		(uint64_t)fmin(fmax(0, floor(low)), 1e19), (uint64_t)fmin(ceil(high), 1e19), false};
}

static bool interval_one(const struct recording *recording, enum metric metric,
	const struct spread *spread, uint64_t estimate, struct interval *ret)
{
	if (!recording->sample_bytes || !places[metric] || !metric_is_known(metric, recording))
		return false;
	double value = (double)estimate;
	double variance = place_value(spread, places[metric]);
	double more = place_value(spread, more_places[metric]);
	double most = is_of_bytes(metric) ? value + more : value;
	double distance = (double)recording->sample_bytes;
	set_score(value, estimate ? variance / value : distance, most,
		estimate ? variance / most : distance, ret);
	ret->by_mean_sizes = rests_on_mean(more) && !is_of_bytes(metric);
	return true;
}

/* An estimate is above the truth, on average the same, this many times in one of as many cases at
 * most (Markov's inequality): 2.5 % of all. */
#define TIMES_TOO_MUCH 40.0

/* A number of blocks whose sizes are not known: each sample may be of a block of one byte. */
static void interval_widen(const struct recording *recording, enum metric metric,
	const struct spread *spread, uint64_t estimate, struct interval *range)
{
	if (!range->by_mean_sizes)
		return;
	double value = (double)estimate, step = (double)recording->sample_bytes;
	double more = place_value(spread, more_places[metric]);
	set_score(value, step, value + more, step, range);
	range->by_mean_sizes = true;
	double least = floor(value / TIMES_TOO_MUCH);
	if ((double)range->low < least)
		range->low = (uint64_t)least;
}

bool interval_is_open(const struct recording *recording, enum metric metric)
{
	return recording->biased_samples &&
	       (metric == METRIC_ALLOCATIONS || metric == METRIC_ALLOCATED_BYTES);
}

bool interval_of_site(const struct recording *recording, enum metric metric,
	const struct site *site, struct interval *ret)
{
	return !interval_is_open(recording, metric) &&
	       interval_one(recording, metric, &site->spread, metric_of_site(metric, site), ret);
}

bool interval_of_site_any_sizes(const struct recording *recording, enum metric metric,
	const struct site *site, struct interval *ret)
{
	if (!interval_of_site(recording, metric, site, ret))
		return false;
	interval_widen(recording, metric, &site->spread, metric_of_site(metric, site), ret);
	return true;
}

/* Blocks without a sample are assumed to be at least this large on average (malloc's unit): a
 * sample bounds how many bytes they can be, not how many blocks. */
#define UNSEEN_BLOCK_BYTES 16.0

/*
 * The score interval sees only what was sampled. Blocks much larger than the sampling distance are
 * all sampled and have no variance, while many small ones may have no sample at all; so the upper
 * end of a total has room for as much as may be there when nothing was sampled. With a distance of
 * one byte nearly every block is sampled.
 */
static void add_unseen(const struct recording *recording, enum metric metric, uint64_t value,
	struct interval *range)
{
	if (metric == METRIC_FAILED || !value || recording->sample_bytes == 1)
		return;
	double unseen = DEVIATIONS * DEVIATIONS * (double)recording->sample_bytes /
			(is_of_bytes(metric) ? 1.0 : UNSEEN_BLOCK_BYTES);
	double more = range->high > value ? (double)(range->high - value) : 0;
	range->high =
		(uint64_t)fmin((double)value + ceil(sqrt(more * more + unseen * unseen)), 1e19);
}

bool interval_of_totals(const struct recording *recording, enum metric metric,
	const struct totals *totals, struct interval *ret)
{
	uint64_t value = metric_of_totals(metric, totals);
	if (!interval_one(recording, metric, &totals->spread, value, ret))
		return false;
	add_unseen(recording, metric, value, ret);
	return true;
}

bool interval_of_totals_any_sizes(const struct recording *recording, enum metric metric,
	const struct totals *totals, struct interval *ret)
{
	uint64_t value = metric_of_totals(metric, totals);
	if (!interval_one(recording, metric, &totals->spread, value, ret))
		return false;
	interval_widen(recording, metric, &totals->spread, value, ret);
	add_unseen(recording, metric, value, ret);
	return true;
}

bool interval_model_is_by_mean_sizes(const struct model *model)
{
	const struct spread *spread = &model_totals(model)->spread;
	return model_recording(model)->sample_bytes &&
	       (rests_on_mean(spread->allocations_more) || rests_on_mean(spread->live_blocks_more));
}
