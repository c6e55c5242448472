/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/search_maps.h"

#include "base/cleanup.h"
#include "process/module_headers.h"

/* Whether the module's own headers say that memory is code. */
static bool is_code_of(const struct address_space *space, const struct address_module *module,
	const struct process_map *map, struct module_headers *headers)
{
	if (headers->space != space || headers->start != module->start) {
		if (!module_headers_in_memory(headers, space, module->start))
			headers->count = 0;
		headers->space = space;
		headers->start = module->start;
	}
	for (unsigned i = 0; i < headers->count; i++) {
		const Elf64_Phdr *part = &headers->parts[i];
		uint64_t start = module->bias + part->p_vaddr;
		if (part->p_type == PT_LOAD && part->p_flags & PF_X &&
			map->start < start + part->p_memsz && start < map->end)
			return true;
	}
	return false;
}

/* Of what a core has no segment for it does not say whether it is code (gcore). */
static bool is_code(const struct address_space *space, const struct process_map *map,
	struct module_headers *headers)
{
	if (map->executable || space->is_live || core_file_segment(&space->core, map->start))
		return map->executable;
	const struct address_module *module = address_space_module(space, map->start);
	return module && is_code_of(space, module, map, headers);
}

struct error *search_maps_find(const struct address_space *space, struct search_map_vec *ret)
{
	_cleanup_free_ struct module_headers *headers = calloc(1, sizeof(*headers));
	if (!headers)
		return error_no_memory();
	for (size_t i = 0; i < space->maps.maps.len; i++) {
		const struct process_map *map = &space->maps.maps.data[i];
		if (!map->inode || !map->readable)
			continue;
		struct search_map one = {map->start, map->end,
			is_code(space, map, headers) ? SEARCH_MAP_FILE_CODE : SEARCH_MAP_FILE};
		if (!search_map_vec_push(ret, one))
			return error_no_memory();
	}
	return NULL;
}
