/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/ranges.h"

#include <stdlib.h>

bool address_ranges_add(struct address_ranges *ranges, uint64_t start, uint64_t end)
{
	return start >= end || address_ranges_push(ranges, (struct address_range){start, end});
}

static int compare_address_ranges(const void *a, const void *b)
{
	const struct address_range *x = a, *y = b;
	return (x->start > y->start) - (x->start < y->start);
}

void address_ranges_join(struct address_ranges *ranges)
{
	if (!ranges->len)
		return;
	qsort(ranges->data, ranges->len, sizeof(*ranges->data), compare_address_ranges);
	size_t last = 0;
	for (size_t i = 1; i < ranges->len; i++) {
		struct address_range *into = &ranges->data[last], *range = &ranges->data[i];
		if (range->start > into->end)
			ranges->data[++last] = *range;
		else if (range->end > into->end)
			into->end = range->end;
	}
	ranges->len = last + 1;
}

const struct address_range *address_ranges_from(
	const struct address_ranges *ranges, uint64_t address)
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
