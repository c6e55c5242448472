/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/blocks/search_maps.h"

struct error *search_maps_find(const struct address_space *space, struct search_map_vec *ret)
{
	for (size_t i = 0; i < space->maps.maps.len; i++) {
		const struct process_map *map = &space->maps.maps.data[i];
		if (!map->inode || !map->readable)
			continue;
		struct search_map one = {map->start, map->end,
			map->executable ? SEARCH_MAP_FILE_CODE : SEARCH_MAP_FILE};
		if (!search_map_vec_push(ret, one))
			return error_no_memory();
	}
	return NULL;
}
