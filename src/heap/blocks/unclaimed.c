/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/blocks/unclaimed.h"

static bool walk_range(struct unclaimed_walk *w, uint64_t start, uint64_t end)
{
	const uint64_t page = UNCLAIMED_PAGE_BYTES;
	uint64_t at = (start + page - 1) & ~(page - 1);
	while (at < end) {
		size_t untouched = address_space_empty(w->space, at, end - at);
		if (untouched >= page) {
			at += untouched & ~(page - 1);
			continue;
		}
		/* Whether memory is empty is asked once for each megabyte. */
		uint64_t stop = end - at > WINDOW_BYTES ? at + WINDOW_BYTES : end;
		while (at < stop) {
			uint64_t next = at + page;
			if (!w->look(w, at, end, &next))
				return false;
			at = next;
		}
	}
	return true;
}

/* `next`: of the areas, the first that may be in the way; both are walked in order. */
static bool walk_map(struct unclaimed_walk *w, const struct process_map *map, size_t *next)
{
	const struct heap_area_vec *areas = w->areas;
	uint64_t at = map->start;
	bool ok = true;
	while (*next < areas->len && areas->data[*next].high <= at)
		++*next;
	for (size_t i = *next; ok && i < areas->len && areas->data[i].low < map->end; i++) {
		const struct heap_area *area = &areas->data[i];
		if (area->low > at)
			ok = walk_range(w, at, area->low);
		at = area->high > at ? area->high : at;
	}
	return ok && (at >= map->end || walk_range(w, at, map->end));
}

struct error *unclaimed_walk(struct unclaimed_walk *walk)
{
	const struct process_maps *maps = &walk->space->maps;
	struct error *error = window_open(walk->space, &walk->window);
	size_t next = 0;
	bool ok = true;
	for (size_t i = 0; !error && ok && i < maps->maps.len; i++) {
		if (address_map_is_anonymous(&maps->maps.data[i]))
			ok = walk_map(walk, &maps->maps.data[i], &next);
	}
	window_close(&walk->window);
	return error || ok ? error : error_no_memory();
}
