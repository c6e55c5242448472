/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/metric.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static const struct metric_info {
	const char *name, *title;
	size_t in_site, in_totals;
} metrics[] = {
#define METRIC(member, title)                                                                      \
	{                                                                                          \
#member, title, offsetof(struct site, member), offsetof(struct totals, member)     \
	}
	[METRIC_ALLOCATIONS] = METRIC(allocations, "Allocations"),
	[METRIC_ALLOCATED_BYTES] = METRIC(allocated_bytes, "Allocated"),
	[METRIC_LIVE_BYTES] = METRIC(live_bytes, "Live at the end"),
	[METRIC_LIVE_BLOCKS] = METRIC(live_blocks, "Blocks live at the end"),
	[METRIC_KEPT_BYTES] = METRIC(kept_bytes, "Allocated in the range and live at its end"),
	[METRIC_KEPT_BLOCKS] =
		METRIC(kept_blocks, "Blocks allocated in the range and live at its end"),
	[METRIC_PEAK_BYTES] = METRIC(peak_bytes, "Live at the peak"),
	[METRIC_PEAK_BLOCKS] = METRIC(peak_blocks, "Blocks live at the peak"),
	[METRIC_TEMPORARY] = METRIC(temporary, "Temporary allocations"),
	[METRIC_FAILED] = METRIC(failed, "Failed allocations"),
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
