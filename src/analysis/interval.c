/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/interval.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Of the normal distribution, 95 % lie within so many deviations. */
#define DEVIATIONS 1.959964

/* Where a metric's variance stands in struct spread, + 1; 0: it has none. */
static const size_t places[METRICS] = {
	[METRIC_ALLOCATIONS] = offsetof(struct spread, allocations) + 1,
	[METRIC_ALLOCATED_BYTES] = offsetof(struct spread, allocated_bytes) + 1,
	[METRIC_LIVE_BYTES] = offsetof(struct spread, live_bytes) + 1,
	[METRIC_LIVE_BLOCKS] = offsetof(struct spread, live_blocks) + 1,
	[METRIC_PEAK_BYTES] = offsetof(struct spread, peak_bytes) + 1,
	[METRIC_PEAK_BLOCKS] = offsetof(struct spread, peak_blocks) + 1,
	[METRIC_FAILED] = offsetof(struct spread, failed) + 1,
};

static bool interval(const struct recording *recording, enum metric metric,
	const struct spread *spread, uint64_t estimate, struct interval *ret)
{
	if (!recording->sample_bytes || !places[metric] || !metric_is_known(metric, recording))
		return false;
	double variance, value = (double)estimate, z2 = DEVIATIONS * DEVIATIONS;
	memcpy(&variance, (const char *)spread + places[metric] - 1, sizeof(variance));
	/* What one more sample would add: the variance is this times the truth. */
	double step = estimate ? variance / value : (double)recording->sample_bytes;
	double middle = value + z2 * step / 2;
	double half = sqrt(z2 * value * step + z2 * z2 * step * step / 4);
	*ret = (struct interval){(uint64_t)fmin(fmax(0, floor(middle - half)), 1e19),
		(uint64_t)fmin(ceil(middle + half), 1e19)};
	return true;
}

bool interval_of_site(const struct recording *recording, enum metric metric,
	const struct site *site, struct interval *ret)
{
	return interval(recording, metric, &site->spread, metric_of_site(metric, site), ret);
}

/* Blocks without a sample are taken to be at least this large on average (malloc's unit): a sample
 * bounds how many bytes they can be, not how many blocks. */
#define UNSEEN_BLOCK_BYTES 16.0

static bool is_of_bytes(enum metric metric)
{
	return metric == METRIC_ALLOCATED_BYTES || metric == METRIC_LIVE_BYTES ||
	       metric == METRIC_PEAK_BYTES;
}

/*
 * The score interval sees only what was sampled. Blocks much larger than the sampling distance are
 * all sampled and have no variance, while many small ones may have no sample at all; so the upper
 * end of a total has room for as much as may be there when nothing was sampled. With a distance of
 * one byte nearly every block is sampled.
 */
bool interval_of_totals(const struct recording *recording, enum metric metric,
	const struct totals *totals, struct interval *ret)
{
	uint64_t value = metric_of_totals(metric, totals);
	if (!interval(recording, metric, &totals->spread, value, ret))
		return false;
	if (metric == METRIC_FAILED || !value || recording->sample_bytes == 1)
		return true;
	double unseen = DEVIATIONS * DEVIATIONS * (double)recording->sample_bytes /
			(is_of_bytes(metric) ? 1.0 : UNSEEN_BLOCK_BYTES);
	double more = ret->high > value ? (double)(ret->high - value) : 0;
	ret->high = (uint64_t)fmin((double)value + ceil(sqrt(more * more + unseen * unseen)), 1e19);
	return true;
}
