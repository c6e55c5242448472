/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/blocks/areas.h"

#include <stdlib.h>

bool heap_areas_add(struct heap_area_vec *areas, const struct heap_area *area)
{
	return area->start >= area->end || heap_area_vec_push(areas, *area);
}

struct ranked {
	struct heap_area area;
	size_t rank;
};

static int areas_by_start(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->area.start != y->area.start)
		return x->area.start < y->area.start ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Cuts what comes into the way of an earlier one; of two that begin at one place, the later. */
static void areas_cut(struct heap_area_vec *areas, const struct ranked *sorted, size_t count)
{
	areas->len = 0;
	for (size_t i = 0; i < count; i++) {
		struct heap_area one = sorted[i].area;
		struct heap_area *last = areas->len ? &areas->data[areas->len - 1] : NULL;
		if (last && one.start < last->end) {
			if (one.end <= last->end)
				continue;
			one.start = last->end;
		}
		if (last && one.low < last->high)
			one.low = last->high < one.start ? last->high : one.start;
		if (one.high < one.end)
			one.high = one.end;
		areas->data[areas->len++] = one;
	}
}

bool heap_areas_sort(struct heap_area_vec *areas)
{
	struct ranked *sorted = calloc(areas->len + 1, sizeof(*sorted));
	if (!sorted)
		return false;
	for (size_t i = 0; i < areas->len; i++)
		sorted[i] = (struct ranked){areas->data[i], i};
	qsort(sorted, areas->len, sizeof(*sorted), areas_by_start);
	areas_cut(areas, sorted, areas->len);
	free(sorted);
	return true;
}

const struct heap_area *heap_areas_find(const struct heap_area_vec *areas, uint64_t address)
{
	size_t low = 0, high = areas->len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (areas->data[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	const struct heap_area *found = areas->data + low;
	return low < areas->len && address >= found->start ? found : NULL;
}

static int areas_by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

void heap_addresses_sort(struct heap_addresses *addresses)
{
	size_t kept = 0;
	if (addresses->len)
		qsort(addresses->data, addresses->len, sizeof(*addresses->data), areas_by_address);
	for (size_t i = 0; i < addresses->len; i++) {
		if (!kept || addresses->data[kept - 1] != addresses->data[i])
			addresses->data[kept++] = addresses->data[i];
	}
	addresses->len = kept;
}

size_t heap_addresses_from(const struct heap_addresses *addresses, uint64_t address)
{
	size_t low = 0, high = addresses->len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (addresses->data[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
