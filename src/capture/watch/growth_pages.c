/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/watch/growth_pages.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "capture/growth.h"

#define HUGE_BYTES (2ull << 20)

struct ranges_reading {
	struct growth_ranges *ranges;
	uint64_t swapped;
	bool no_memory;
};

static void run_take(void *ctx, const struct page_run *run)
{
	struct ranges_reading *reading = ctx;
	struct growth_ranges *ranges = reading->ranges;
	struct growth_range *last = ranges->len ? &ranges->data[ranges->len - 1] : NULL;
	const struct growth_range range = {run->start, run->end, run->is_huge};
	if (run->is_swapped)
		reading->swapped += (run->end - run->start) / GROWTH_PAGE_BYTES;
	if (!run->is_present || run->is_zero)
		return;
	if (last && last->end == range.start && last->is_huge == range.is_huge)
		last->end = range.end;
	else
		reading->no_memory |= !growth_ranges_push(ranges, range);
}

struct error *growth_pages_read(
	const struct page_scan *scan, struct growth_ranges *ret, uint64_t *ret_swapped)
{
	struct ranges_reading reading = {.ranges = ret};
	growth_ranges_clear(ret);
	struct error *error = page_scan_walk(scan, run_take, &reading);
	if (!error && reading.no_memory)
		error = error_no_memory();
	*ret_swapped = reading.swapped;
	return error;
}

uint64_t growth_pages_count(const struct growth_ranges *ranges)
{
	uint64_t pages = 0;
	for (size_t i = 0; i < ranges->len; i++)
		pages += (ranges->data[i].end - ranges->data[i].start) / GROWTH_PAGE_BYTES;
	return pages;
}

bool growth_pages_subtract(const struct growth_ranges *now, const struct growth_ranges *before,
	struct growth_ranges *ret)
{
	size_t next = 0;
	for (size_t i = 0; i < now->len; i++) {
		struct growth_range rest = now->data[i];
		while (next < before->len && before->data[next].end <= rest.start)
			next++;
		for (size_t k = next; k < before->len && before->data[k].start < rest.end; k++) {
			const struct growth_range *old = &before->data[k];
			const struct growth_range piece = {rest.start, old->start, rest.is_huge};
			if (piece.start < piece.end && !growth_ranges_push(ret, piece))
				return false;
			rest.start = min(old->end, rest.end);
		}
		if (rest.start < rest.end && !growth_ranges_push(ret, rest))
			return false;
	}
	return true;
}

static int touches_compare(const void *left, const void *right)
{
	const struct growth_touch *a = left, *b = right;
	return a->page < b->page ? -1 : a->page > b->page;
}

void growth_touches_sort(struct growth_touches *touches)
{
	if (touches->len)
		qsort(touches->data, touches->len, sizeof(touches->data[0]), touches_compare);
}

/* Keeps those whose pages are new. */
static void touches_filter(const struct growth_ranges *fresh, struct growth_touches *touches)
{
	size_t kept = 0, range = 0;
	for (size_t i = 0; i < touches->len && range < fresh->len; i++) {
		uint64_t page = touches->data[i].page;
		while (range < fresh->len && fresh->data[range].end <= page)
			range++;
		if (range < fresh->len && fresh->data[range].start <= page)
			touches->data[kept++] = touches->data[i];
	}
	touches->len = kept;
}

/* Returns the first touch at or after an address. */
static size_t touch_seek(const struct growth_touches *touches, uint64_t address)
{
	size_t first = 0, end = touches->len;
	while (first < end) {
		size_t middle = first + (end - first) / 2;
		if (touches->data[middle].page < address)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

/* New pages of one mapping and one 2 MiB, and where a neighbour may be. */
struct growth_chunk {
	uint64_t start, end, from, to;
	bool has_along, is_file;
};

struct growth_sharing {
	const struct growth_touches *touches;
	void (*take)(void *context, const struct growth_share *share);
	void *context;
};

static void share_give(const struct growth_sharing *sharing, const struct growth_chunk *chunk,
	const struct growth_touch *touch, uint64_t bytes, bool is_along)
{
	const struct growth_share share = {touch ? &touch->site : NULL, bytes / GROWTH_PAGE_BYTES,
		touch && is_along, chunk->is_file};
	if (bytes)
		sharing->take(sharing->context, &share);
}

/* Pages between touched ones are the neighbour's below, or the first one's above. */
static void chunk_share(const struct growth_sharing *sharing, const struct growth_chunk *chunk)
{
	const struct growth_touches *touches = sharing->touches;
	size_t i = touch_seek(touches, chunk->start);
	const struct growth_touch *next = i < touches->len ? &touches->data[i] : NULL;
	const struct growth_touch *owner = NULL;
	uint64_t at = chunk->start;
	if (chunk->has_along && i && touches->data[i - 1].page >= chunk->from)
		owner = &touches->data[i - 1];
	else if (chunk->has_along && next && next->page < chunk->to)
		owner = next;
	for (; i < touches->len && touches->data[i].page < chunk->end; i++) {
		const struct growth_touch *touch = &touches->data[i];
		share_give(sharing, chunk, owner, touch->page - at, true);
		share_give(sharing, chunk, touch, GROWTH_PAGE_BYTES, false);
		at = touch->page + GROWTH_PAGE_BYTES;
		owner = chunk->has_along ? touch : NULL;
	}
	share_give(sharing, chunk, owner, chunk->end - at, true);
}

/* The part of a range from `at` on that is in one mapping and one 2 MiB. */
static struct growth_chunk chunk_make(const struct growth_range *range, uint64_t at,
	const struct process_maps *maps, bool large_folios)
{
	size_t number = process_maps_first(maps, at);
	const struct process_map *map = number < maps->maps.len ? &maps->maps.data[number] : NULL;
	uint64_t block = at & ~(HUGE_BYTES - 1);
	struct growth_chunk chunk = {at, range->end, block, block + HUGE_BYTES, false, false};
	if (map && map->start > at) { /* mapped meanwhile */
		chunk.to = min(chunk.to, map->start);
		map = NULL;
	}
	if (map) {
		chunk.from = max(chunk.from, map->start);
		chunk.to = min(chunk.to, map->end);
		chunk.is_file = map->path[0] == '/';
	}
	chunk.end = min(chunk.end, chunk.to);
	chunk.has_along = range->is_huge || chunk.is_file || large_folios;
	return chunk;
}

void growth_pages_share(const struct growth_ranges *fresh, const struct process_maps *maps,
	bool large_folios, struct growth_touches *touches,
	void (*take)(void *context, const struct growth_share *share), void *context)
{
	const struct growth_sharing sharing = {touches, take, context};
	touches_filter(fresh, touches);
	for (size_t i = 0; i < fresh->len; i++) {
		for (uint64_t at = fresh->data[i].start; at < fresh->data[i].end;) {
			const struct growth_chunk chunk =
				chunk_make(&fresh->data[i], at, maps, large_folios);
			chunk_share(&sharing, &chunk);
			at = chunk.end;
		}
	}
}

static bool folio_is_enabled(const char *path)
{
	char text[64] = "";
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	bool is_read = fgets(text, sizeof(text), file);
	(void)fclose(file);
	return is_read && !strstr(text, "[never]");
}

bool growth_large_folios(void)
{
	glob_t sizes;
	bool is_enabled = false;
	if (glob("/sys/kernel/mm/transparent_hugepage/hugepages-*kB/enabled", 0, NULL, &sizes))
		return false;
	for (size_t i = 0; i < sizes.gl_pathc; i++) {
		if (!strstr(sizes.gl_pathv[i], "-2048kB/"))
			is_enabled |= folio_is_enabled(sizes.gl_pathv[i]);
	}
	globfree(&sizes);
	return is_enabled;
}
