/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/leaks/leak_ranges.h"

#include <stdlib.h>

bool leak_ranges_add(struct leak_ranges *ranges, uint64_t start, uint64_t end)
{
	return start >= end || leak_ranges_push(ranges, (struct leak_range){start, end});
}

bool leak_ranges_add_own(struct leak_ranges *ranges, const struct hw_shm *shm)
{
	bool ok = true;
	for (uint32_t i = 0; ok && i < HW_OWN; i++)
		ok = leak_ranges_add(ranges, shm->own[i].start, shm->own[i].end);
	for (uint32_t i = 0; ok && i < HW_RINGS; i++) {
		const struct hw_ring *ring =
			(const struct hw_ring *)((const char *)shm + HW_SHM_RINGS) + i;
		if (ring->own)
			ok = leak_ranges_add(ranges, ring->own, ring->own + shm->own_ring_bytes);
	}
	return ok;
}

static int by_start(const void *a, const void *b)
{
	const struct leak_range *x = a, *y = b;
	return (x->start > y->start) - (x->start < y->start);
}

void leak_ranges_join(struct leak_ranges *ranges)
{
	if (!ranges->len)
		return;
	qsort(ranges->data, ranges->len, sizeof(*ranges->data), by_start);
	size_t last = 0;
	for (size_t i = 1; i < ranges->len; i++) {
		struct leak_range *into = &ranges->data[last], *range = &ranges->data[i];
		if (range->start > into->end)
			ranges->data[++last] = *range;
		else if (range->end > into->end)
			into->end = range->end;
	}
	ranges->len = last + 1;
}

const struct leak_range *leak_ranges_from(const struct leak_ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ranges->data[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ranges->len ? &ranges->data[low] : NULL;
}
