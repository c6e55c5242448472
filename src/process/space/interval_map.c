/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/interval_map.h"

#include <stdlib.h>
#include <string.h>

/* Where an interval is; page == pages.len: after all of them. */
struct place {
	size_t page;
	uint32_t row;
};

void interval_map_init(struct interval_map *map)
{
	*map = (struct interval_map){.count = 0};
}

void interval_map_deinit(struct interval_map *map)
{
	for (size_t i = 0; i < map->pages.len; i++)
		free(map->pages.data[i]);
	for (size_t i = 0; i < INTERVAL_SPARES; i++)
		free(map->spares[i]);
	interval_pages_deinit(&map->pages);
	interval_map_init(map);
}

static uint64_t end_of_page(const struct interval_page *page)
{
	return page->rows[page->count - 1].end;
}

/* The first interval that ends after an address. */
static struct place find_place(const struct interval_map *map, uint64_t address)
{
	size_t low = 0, high = map->pages.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (end_of_page(map->pages.data[middle]) > address)
			high = middle;
		else
			low = middle + 1;
	}
	struct place place = {.page = low, .row = 0};
	if (low == map->pages.len)
		return place;
	const struct interval_page *page = map->pages.data[low];
	uint32_t first = 0, last = page->count;
	while (first < last) {
		uint32_t middle = first + (last - first) / 2;
		if (page->rows[middle].end > address)
			last = middle;
		else
			first = middle + 1;
	}
	place.row = first;
	return place;
}

static struct owned_range *interval_at(const struct interval_map *map, struct place place)
{
	return place.page < map->pages.len ? &map->pages.data[place.page]->rows[place.row] : NULL;
}

const struct owned_range *interval_map_from(const struct interval_map *map, uint64_t address)
{
	return interval_at(map, find_place(map, address));
}

/* So that nothing can fail once a change has begun. */
static bool prepare_change(struct interval_map *map)
{
	for (size_t i = 0; i < INTERVAL_SPARES; i++) {
		if (!map->spares[i])
			map->spares[i] = malloc(sizeof(*map->spares[i]));
		if (!map->spares[i])
			return false;
	}
	return interval_pages_reserve(&map->pages, map->pages.len + INTERVAL_SPARES);
}

static struct interval_page *insert_page(struct interval_map *map, size_t at)
{
	size_t spare = map->spares[0] ? 0 : 1;
	struct interval_page *page = map->spares[spare], **pages = map->pages.data;
	map->spares[spare] = NULL;
	memmove(&pages[at + 1], &pages[at], (map->pages.len - at) * sizeof(struct interval_page *));
	pages[at] = page;
	map->pages.len++;
	page->count = 0;
	return page;
}

/* Makes two pages of a full one, and moves the place along. */
static void split_page(struct interval_map *map, struct place *place)
{
	struct interval_page *upper = insert_page(map, place->page + 1),
			     *lower = map->pages.data[place->page];
	/* Where the next ones come at one end, as those of the kernel do, pages stay full. */
	uint32_t keep = place->row == lower->count ? lower->count - 1
			: place->row               ? lower->count / 2
						   : 1;
	upper->count = lower->count - keep;
	memcpy(upper->rows, &lower->rows[keep], upper->count * sizeof(struct owned_range));
	lower->count = keep;
	if (place->row > keep) {
		place->page++;
		place->row -= keep;
	}
}

static void insert_interval(
	struct interval_map *map, struct place place, struct owned_range interval)
{
	if (!map->pages.len)
		insert_page(map, 0);
	if (place.page == map->pages.len) { /* after the last one */
		place.page--;
		place.row = map->pages.data[place.page]->count;
	}
	if (map->pages.data[place.page]->count == INTERVALS_IN_PAGE)
		split_page(map, &place);
	struct interval_page *page = map->pages.data[place.page];
	memmove(&page->rows[place.row + 1], &page->rows[place.row],
		(page->count - place.row) * sizeof(interval));
	page->rows[place.row] = interval;
	page->count++;
	map->count++;
}

static void erase_interval(struct interval_map *map, struct place place)
{
	struct interval_page *page = map->pages.data[place.page];
	page->count--;
	map->count--;
	memmove(&page->rows[place.row], &page->rows[place.row + 1],
		(page->count - place.row) * sizeof(struct owned_range));
	if (page->count)
		return;
	struct interval_page **pages = map->pages.data;
	map->pages.len--;
	memmove(&pages[place.page], &pages[place.page + 1],
		(map->pages.len - place.page) * sizeof(struct interval_page *));
	free(page);
}

static void take_out(
	struct interval_map *map, uint64_t start, uint64_t end, interval_lost *lost, void *context)
{
	for (;;) {
		struct place place = find_place(map, start);
		struct owned_range *row = interval_at(map, place);
		if (!row || row->start >= end)
			return;
		const struct owned_range old = *row;
		bool lower = old.start<start, upper = old.end> end;
		if (lower && upper) {
			row->start = end;
			insert_interval(
				map, place, (struct owned_range){old.start, start, old.owner});
		} else if (lower) {
			row->end = start;
		} else if (upper) {
			row->start = end;
		} else {
			erase_interval(map, place);
		}
		if (lost)
			lost(context, old.owner,
				(upper ? end : old.end) - (lower ? start : old.start));
	}
}

bool interval_map_remove(
	struct interval_map *map, uint64_t start, uint64_t end, interval_lost *lost, void *context)
{
	if (start >= end)
		return true;
	if (!prepare_change(map))
		return false;
	take_out(map, start, end, lost, context);
	return true;
}

bool interval_map_set(struct interval_map *map, uint64_t start, uint64_t end, uint32_t owner,
	interval_lost *lost, void *context)
{
	if (start >= end)
		return true;
	if (!prepare_change(map))
		return false;
	take_out(map, start, end, lost, context);
	insert_interval(map, find_place(map, start), (struct owned_range){start, end, owner});
	return true;
}
