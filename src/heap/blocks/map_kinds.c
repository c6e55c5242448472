/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/map_kinds.h"

#include <string.h>

const char *map_kind_name(enum map_kind kind)
{
	static const char *const names[MAP_KINDS] = {[MAP_HEAP] = "heap",
		[MAP_STACK] = "stack",
		[MAP_DATA] = "data",
		[MAP_CODE] = "code",
		[MAP_CONSTANT] = "constant",
		[MAP_FILE] = "file",
		[MAP_SHARED] = "shared",
		[MAP_GUARD] = "guard",
		[MAP_KERNEL] = "kernel",
		[MAP_OTHER] = "other"};
	return names[kind];
}

/* The first area that has some of the mapping; NULL: none. */
static const struct heap_area *area_in(const struct heap_scan *scan, const struct process_map *map)
{
	const struct heap_area_vec *areas = &scan->heap.areas;
	size_t low = 0, high = areas->len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (areas->data[middle].high <= map->start)
			low = middle + 1;
		else
			high = middle;
	}
	return low < areas->len && areas->data[low].low < map->end ? &areas->data[low] : NULL;
}

/* The root in a mapping that is a thread's stack; NULL: none is. */
static const struct heap_root *stack_in(const struct heap_scan *scan, const struct process_map *map)
{
	for (size_t i = 0; i < scan->roots.len; i++) {
		const struct heap_root *root = &scan->roots.data[i];
		if (root->kind == HEAP_ROOT_STACK && root->start >= map->start &&
			root->start < map->end)
			return root;
	}
	return NULL;
}

static bool is_memory(const char *path)
{
	static const char *const names[] = {
		"/dev/zero", "/dev/shm/", "/memfd:", "/SYSV", "/anon_hugepage"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strncmp(path, names[i], strlen(names[i])))
			return true;
	}
	return !*path;
}

enum map_kind map_kind_of(const struct heap_scan *scan, const struct process_map *map)
{
	if (!strncmp(map->path, "[v", 2))
		return MAP_KERNEL;
	if (!map->readable && !map->writable && !map->executable)
		return MAP_GUARD;
	if (area_in(scan, map))
		return MAP_HEAP;
	if (stack_in(scan, map) || !strcmp(map->path, "[stack]"))
		return MAP_STACK;
	if (map->executable)
		return MAP_CODE;
	if (address_space_module(scan->heap.space, map->start))
		return map->writable ? MAP_DATA : MAP_CONSTANT;
	if (map->shared && is_memory(map->path))
		return MAP_SHARED;
	return map->inode ? MAP_FILE : MAP_OTHER;
}

void map_kind_describe(const struct heap_scan *scan, const struct process_map *map,
	enum map_kind kind, struct text *text)
{
	const struct heap_area *area = kind == MAP_HEAP ? area_in(scan, map) : NULL;
	const struct heap_root *stack = kind == MAP_STACK ? stack_in(scan, map) : NULL;
	const struct address_module *module = address_space_module(scan->heap.space, map->start);
	if (area) {
		text_add(text, heap_allocator_name(area->allocator));
		if (area->arena)
			text_printf(text, ", arena %u", area->arena);
	} else if (stack) {
		text_printf(
			text, "thread %d", (int)scan->heap.space->threads.data[stack->thread].tid);
	} else if (module && !*map->path) {
		text_add_shown(text, module->path, 500);
	}
}
