/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "accounts/site_columns.h"

#include <string.h>

#define COLUMN(name, how, stored, part, unknown)                                                   \
	{stored, part, SITE_COUNTER_##how, offsetof(struct site_counters, name)},
const struct site_column site_columns[SITE_COUNTERS_COUNT] = {SITE_COUNTERS(COLUMN)};
#undef COLUMN

static uint64_t counter_get(const struct site_column *column, const struct site_counters *from)
{
	uint64_t value;
	memcpy(&value, (const char *)from + column->place, sizeof(value));
	return value;
}

static void counter_set(
	const struct site_column *column, uint64_t value, struct site_counters *counters)
{
	memcpy((char *)counters + column->place, &value, sizeof(value));
}

/* What the counter counts as freed; and back. */
static uint64_t counter_turn(
	const struct site_column *column, uint64_t value, const struct site_counters *counters)
{
	switch (column->how) {
	case SITE_COUNTER_LIVE_BLOCKS:
		return counters->allocations - value;
	case SITE_COUNTER_LIVE_BYTES:
		return counters->allocated_bytes - value;
	default:
		return value;
	}
}

uint64_t site_column_stored(const struct site_column *column, const struct site_counters *from)
{
	bool none = column->how == SITE_COUNTER_LEAST && !from->allocations;
	return none ? 0 : counter_get(column, from);
}

uint64_t site_column_part(const struct site_column *column, const struct site_counters *from)
{
	return counter_turn(column, site_column_stored(column, from), from);
}

void site_column_take_stored(
	const struct site_column *column, uint64_t value, struct site_counters *ret)
{
	counter_set(column, value, ret);
}

void site_column_take_part(
	const struct site_column *column, uint64_t value, struct site_counters *ret)
{
	counter_set(column, counter_turn(column, value, ret), ret);
}

void site_counters_clear_extremes(struct site_counters *counters)
{
	for (size_t i = 0; i < SITE_COUNTERS_COUNT; i++) {
		const struct site_column *column = &site_columns[i];
		if (column->how == SITE_COUNTER_LEAST)
			counter_set(column, UINT64_MAX, counters);
		else if (column->how == SITE_COUNTER_MOST)
			counter_set(column, 0, counters);
	}
}

void site_counters_join_extremes(struct site_counters *counters, const struct site_counters *before)
{
	for (size_t i = 0; i < SITE_COUNTERS_COUNT; i++) {
		const struct site_column *column = &site_columns[i];
		uint64_t now = counter_get(column, counters), then = counter_get(column, before);
		bool less = before->allocations && then < now;
		if (column->how == SITE_COUNTER_LEAST
				? less
				: column->how == SITE_COUNTER_MOST && then > now)
			counter_set(column, then, counters);
	}
}

struct site_counters site_counters_since(
	const struct site_counters *now, const struct site_counters *before)
{
	struct site_counters ret = *now;
	for (size_t i = 0; i < SITE_COUNTERS_COUNT; i++) {
		const struct site_column *column = &site_columns[i];
		if (column->how != SITE_COUNTER_LEAST && column->how != SITE_COUNTER_MOST)
			counter_set(column, counter_get(column, now) - counter_get(column, before),
				&ret);
	}
	return ret;
}
