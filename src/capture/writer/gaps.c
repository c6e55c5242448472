/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/writer/gaps.h"

#include <stdlib.h>

#define FIRST_CAPACITY 16u

void gaps_deinit(struct gaps *gaps)
{
	free(gaps->gaps);
	*gaps = (struct gaps){0};
}

static void gaps_add(struct gaps *gaps, struct gap gap)
{
	if (gaps->len == gaps->capacity) {
		size_t capacity = gaps->capacity ? 2 * gaps->capacity : FIRST_CAPACITY;
		struct gap *moved = realloc(gaps->gaps, capacity * sizeof(*moved));
		if (!moved) {
			gaps->failed = true;
			return;
		}
		gaps->gaps = moved;
		gaps->capacity = capacity;
	}
	gaps->gaps[gaps->len++] = gap;
}

static uint64_t last_stamp(const struct gaps *gaps)
{
	return gaps->len ? gaps->gaps[gaps->len - 1].stamp : 0;
}

/* Before step number `steps` comes: a gap that ends there still may grow. */
static void close_idle(struct gaps *gaps, uint64_t steps)
{
	if (!gaps->open)
		return;
	gaps->open = false;
	uint64_t before = gaps->idle_after;
	if (last_stamp(gaps) > before)
		before = last_stamp(gaps);
	if (gaps->idle.step != steps && gaps->idle.stamp >= before &&
		gaps->idle.stamp - before >= gaps->least)
		gaps_add(gaps, gaps->idle);
}

void gaps_idle(struct gaps *gaps, uint64_t step, uint64_t stamp, uint64_t after)
{
	if (gaps->idle.step != step)
		close_idle(gaps, step);
	gaps->open = true;
	gaps->idle = (struct gap){step, stamp};
	gaps->idle_after = after;
}

void gaps_exact(struct gaps *gaps, uint64_t step, uint64_t stamp)
{
	close_idle(gaps, step);
	gaps_add(gaps, (struct gap){step, stamp});
}

void gaps_put(struct gaps *gaps, uint64_t steps, uint64_t first_stamp, struct buf *ret)
{
	close_idle(gaps, steps);
	bool peak_written = !gaps->has_peak;
	struct gap before = {0, first_stamp};
	for (size_t i = 0; i < gaps->len || !peak_written;) {
		struct gap gap = gaps->peak;
		if (!peak_written && (i == gaps->len || gaps->gaps[i].step > gap.step))
			peak_written = true;
		else
			gap = gaps->gaps[i++];
		/* Stamps never go back. */
		if (gap.stamp < before.stamp)
			continue;
		buf_varint(ret, gap.step - before.step);
		buf_varint(ret, gap.stamp - first_stamp);
		before = gap;
	}
	ret->failed |= gaps->failed;
}

void gaps_clear(struct gaps *gaps)
{
	gaps->len = 0;
	gaps->open = gaps->has_peak = gaps->failed = false;
}
