/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/blocks/mapped.h"

#include <stdlib.h>

struct error *mapped_open(
	const struct process_maps *maps, enum pointer_rule rule, struct mapped *ret)
{
	const uint64_t pages = 1ull << (MAPPED_ADDRESS_BITS - MAPPED_BITS);
	*ret = (struct mapped){.maps = maps,
		.pages = calloc(pages / 64, sizeof(*ret->pages)),
		.marks = rule == POINTERS_TAGGED ? 7 : 0};
	if (!ret->pages)
		return error_no_memory();
	for (size_t i = 0; i < maps->maps.len; i++) {
		const struct process_map *map = &maps->maps.data[i];
		uint64_t last = (map->end - 1) >> MAPPED_BITS;
		for (uint64_t page = map->start >> MAPPED_BITS; page <= last && page < pages;
			page++)
			ret->pages[page / 64] |= 1ull << page % 64;
	}
	return NULL;
}

void mapped_close(struct mapped *mapped)
{
	free(mapped->pages);
	mapped->pages = NULL;
}

bool mapped_look_up(struct mapped *mapped, uint64_t word)
{
	const struct process_map *map = process_maps_find(mapped->maps, word);
	if (!map)
		return false;
	mapped->start_before = mapped->start;
	mapped->end_before = mapped->end;
	mapped->start = map->start;
	mapped->end = map->end;
	return true;
}
