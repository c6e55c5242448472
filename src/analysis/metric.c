/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/metric.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static const struct metric_info {
	const char *name;
	size_t in_site, in_totals;
} metrics[] = {
#define METRIC(member)                                                                             \
	{                                                                                          \
#member, offsetof(struct site, member), offsetof(struct totals, member)            \
	}
	[METRIC_ALLOCATIONS] = METRIC(allocations),
	[METRIC_ALLOCATED_BYTES] = METRIC(allocated_bytes),
	[METRIC_LIVE_BYTES] = METRIC(live_bytes),
	[METRIC_LIVE_BLOCKS] = METRIC(live_blocks),
	[METRIC_KEPT_BYTES] = METRIC(kept_bytes),
	[METRIC_KEPT_BLOCKS] = METRIC(kept_blocks),
	[METRIC_PEAK_BYTES] = METRIC(peak_bytes),
	[METRIC_PEAK_BLOCKS] = METRIC(peak_blocks),
	[METRIC_TEMPORARY] = METRIC(temporary),
	[METRIC_FAILED] = METRIC(failed),
#undef METRIC
};
static_assert(sizeof(metrics) / sizeof(metrics[0]) == METRICS, "each metric has a row");

const char *metric_name(enum metric metric)
{
	return metrics[metric].name;
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
