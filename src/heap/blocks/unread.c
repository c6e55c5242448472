/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/unread.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/allocators/allocator.h"
#include "heap/map_kinds.h"

/* Whether memory was written to is asked of so much at a time. */
#define STEP_BYTES (64u << 10)

static uint64_t unread_written(const struct address_space *space, const struct process_map *map)
{
	uint64_t bytes = 0, at = map->start;
	while (at < map->end) {
		uint64_t left = map->end - at, step = left < STEP_BYTES ? left : STEP_BYTES;
		uint64_t empty = address_space_empty(space, at, (size_t)left);
		bytes += empty < step ? step - empty : 0;
		at += empty > step ? empty : step;
	}
	return bytes;
}

bool heap_is_cut_away(const struct heap_scan *scan)
{
	const struct address_space *space = scan->heap.space;
	uint64_t blocks = 0;
	if (space->is_live || !(space->core.missing_bytes || space->core.unpacked_cut))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(scan->totals.blocks); i++)
		blocks += scan->totals.blocks[i];
	return !blocks;
}

struct heap_unread heap_unread_find(const struct heap_scan *scan)
{
	const struct address_space *space = scan->heap.space;
	struct heap_unread found = {.largest = NULL};
	bool has_break = false;
	/* Of others it is known why (heap_absence()). */
	if (!space->is_live && (space->core.missing_bytes || space->core.unpacked_cut))
		return found;
	for (size_t i = 0; !scan->heap.areas.len && i < space->maps.maps.len; i++) {
		const struct process_map *map = &space->maps.maps.data[i];
		if (!map->writable || map->shared || map_kind_of(scan, map) != MAP_OTHER)
			continue;
		uint64_t bytes = unread_written(space, map);
		found.bytes += bytes;
		found.mappings += bytes != 0;
		has_break |= bytes && !strcmp(map->path, "[heap]");
		if (bytes > found.largest_bytes) {
			found.largest = map;
			found.largest_bytes = bytes;
		}
	}
	if (!has_break && found.bytes < UNREAD_LEAST)
		found = (struct heap_unread){.largest = NULL};
	return found;
}

bool heap_is_unknown(const struct heap_scan *scan)
{
	return heap_is_cut_away(scan) ||
	       (!scan->heap.areas.len && (address_space_lacks_private(scan->heap.space) ||
						 heap_unread_find(scan).largest));
}

/* The module that malloc would be in. */
static const struct address_module *libc_of(const struct address_space *space)
{
	for (size_t i = 0; i < space->modules.len; i++) {
		const char *path = space->modules.data[i].path, *base = strrchr(path, '/');
		base = base ? base + 1 : path;
		if (!strncmp(base, "libc.", 5) || !strncmp(base, "libc-", 5) ||
			!strncmp(base, "ld-musl", 7))
			return &space->modules.data[i];
	}
	return NULL;
}

bool heap_unread_seen(const struct heap_scan *scan, enum heap_allocator id, struct text *text)
{
	const struct allocator *allocator = allocator_of(id);
	if (allocator->refused)
		allocator->refused(&scan->heap, text);
	return allocator->refused != NULL;
}

void heap_unread_describe(
	const struct heap_scan *scan, const struct heap_unread *unread, struct text *text)
{
	const struct address_module *libc = libc_of(scan->heap.space);
	text_add(text, "no heap was found, although there is memory: ");
	text_add_bytes(text, unread->bytes);
	text_printf(text, " in %" PRIu64 " mapping%s of no file, the largest ", unread->mappings,
		unread->mappings == 1 ? "" : "s");
	text_add_bytes(text, unread->largest_bytes);
	text_printf(text, " at 0x%" PRIx64, unread->largest->start);
	if (*unread->largest->path) {
		text_add(text, " (");
		text_add_shown(text, unread->largest->path, 100);
		text_add_char(text, ')');
	}
	text_add(text, ". Looked for in the data of ");
	if (libc)
		text_add_shown(text, libc->path, 200);
	else
		text_add(text, "all modules (no libc is known)");
	text_add(text, ", of other modules, and in memory:");
	const char *between = " ";
	for (enum heap_allocator allocator = 0; allocator < HEAP_ALLOCATORS; allocator++) {
		_cleanup_(text_deinit) struct text seen;
		text_init(&seen);
		if (heap_unread_seen(scan, allocator, &seen)) {
			text_printf(text, "%s%s, %s", between, heap_allocator_name(allocator),
				seen.data);
			between = "; ";
		}
		text->failed |= seen.failed;
	}
	text_add(text, ". The allocator is another one, or its metadata is damaged. `maps`, "
		       "`hexdump` and `strings` show that memory");
}
