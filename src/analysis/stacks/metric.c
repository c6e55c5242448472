/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/metric.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/util.h"

static const struct metric_info {
	const char *name, *title;
	size_t in_site, in_totals;
	uint32_t unknown; /* of recording.unknown */
} metrics[] = {
#define METRIC(member, title, unknown)                                                             \
	{                                                                                          \
#member, title, offsetof(struct site, member), offsetof(struct totals, member),    \
			unknown                                                                    \
	}
	[METRIC_ALLOCATIONS] = METRIC(allocations, "Allocations", UNKNOWN_ALLOCATIONS),
	[METRIC_ALLOCATED_BYTES] = METRIC(allocated_bytes, "Allocated", UNKNOWN_ALLOCATED_BYTES),
	[METRIC_LIVE_BYTES] = METRIC(live_bytes, "Live at the end", UNKNOWN_LIVE_BYTES),
	[METRIC_LIVE_BLOCKS] = METRIC(live_blocks, "Blocks live at the end", UNKNOWN_LIVE_BLOCKS),
	[METRIC_KEPT_BYTES] = METRIC(
		kept_bytes, "Allocated in the range and live at its end", UNKNOWN_LIVE_BYTES),
	[METRIC_KEPT_BLOCKS] = METRIC(kept_blocks,
		"Blocks allocated in the range and live at its end", UNKNOWN_LIVE_BLOCKS),
	[METRIC_PEAK_BYTES] = METRIC(peak_bytes, "Live at the peak", UNKNOWN_PEAK_BYTES),
	[METRIC_PEAK_BLOCKS] = METRIC(peak_blocks, "Blocks live at the peak", UNKNOWN_PEAK_BLOCKS),
	[METRIC_TEMPORARY] = METRIC(temporary, "Temporary allocations", UNKNOWN_TEMPORARY),
	[METRIC_FAILED] = METRIC(failed, "Failed allocations", UNKNOWN_FAILED),
#undef METRIC
};
static_assert(sizeof(metrics) / sizeof(metrics[0]) == METRICS, "each metric has a row");

const char *metric_name(enum metric metric)
{
	return metrics[metric].name;
}

const char *metric_title(enum metric metric)
{
	return metrics[metric].title;
}

bool metric_is_bytes(enum metric metric)
{
	const char *end = strrchr(metrics[metric].name, '_');
	return end && strcmp(end, "_bytes") == 0;
}

bool metric_is_of_live(enum metric metric)
{
	return metric == METRIC_LIVE_BYTES || metric == METRIC_LIVE_BLOCKS ||
	       metric == METRIC_KEPT_BYTES || metric == METRIC_KEPT_BLOCKS;
}

bool metric_find(const char *name, enum metric *ret)
{
	for (int i = 0; i < METRICS; i++) {
		if (strcmp(metrics[i].name, name) == 0) {
			*ret = (enum metric)i;
			return true;
		}
	}
	return false;
}

bool metric_is_known(enum metric metric, const struct recording *recording)
{
	return !(recording->unknown & metrics[metric].unknown);
}

enum metric metric_or_known(enum metric metric, const struct recording *recording)
{
	static const enum metric nearest[] = {METRIC_LIVE_BYTES, METRIC_PEAK_BYTES,
		METRIC_ALLOCATED_BYTES, METRIC_LIVE_BLOCKS, METRIC_PEAK_BLOCKS, METRIC_ALLOCATIONS};
	for (size_t i = 0; i < ARRAY_SIZE(nearest) && !metric_is_known(metric, recording); i++)
		if (metric_is_known(nearest[i], recording))
			return nearest[i];
	return metric;
}

static uint64_t member_at(const void *base, size_t offset)
{
	uint64_t value;
	memcpy(&value, (const char *)base + offset, sizeof(value));
	return value;
}

uint64_t metric_of_site(enum metric metric, const struct site *site)
{
	return member_at(site, metrics[metric].in_site);
}

uint64_t metric_of_totals(enum metric metric, const struct totals *totals)
{
	return member_at(totals, metrics[metric].in_totals);
}
