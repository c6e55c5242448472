/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heap in a core that was cut off before libc's data, and main_arena in it: the rest of memory
 * lies after, so that is where most of them end. Chunks tell themselves where they are: the
 * program break's begin with their mapping and lead to its end; a heap of another arena begins with
 * its header (malloc/arena.c: heap_info).
 */
#include "base/cleanup.h"
#include "heap/allocators/glibc.h"
#include "heap/blocks/window.h"

#define HEAP_BYTES (64ull << 20)
/* heap_info, of 6 words, or 4 before 2.35; its members. */
#define INFO_WORDS 3u
#define INFO_ARENA 0u
#define INFO_SIZE 2u
static const uint8_t headers[] = {0x30, 0x20};
/* struct malloc_state, which follows in an arena's first heap, has between these, in all versions.
 */
#define STATE_BYTES_MIN 0x860u
#define STATE_BYTES_MAX 0x8c0u

/* Where chunks begin in a heap of an arena; 0: it is none. */
static uint64_t first_of_heap(const struct address_space *space, uint64_t heap, uint64_t *ret_end)
{
	uint64_t info[INFO_WORDS];
	if (heap % HEAP_BYTES ||
		address_space_read(space, heap, info, sizeof(info)) != sizeof(info) ||
		info[INFO_SIZE] > HEAP_BYTES || heap + info[INFO_SIZE] > *ret_end)
		return 0;
	for (size_t i = 0; i < sizeof(headers); i++) {
		uint64_t end = heap + info[INFO_SIZE], start = heap + headers[i];
		bool has_arena = info[INFO_ARENA] == start;
		uint64_t last = has_arena ? start + STATE_BYTES_MAX : start;
		for (start += has_arena ? STATE_BYTES_MIN : 0; start <= last;
			start += CHUNK_ALIGN) {
			if (glibc_chain_is(space, start, end, GLIBC_CHAIN)) {
				*ret_end = end;
				return start;
			}
		}
	}
	return 0;
}

/* The last chunk, if chunks lead just to the end: what the heap has not used so far. 0: they do
 * not. */
static uint64_t find_top(struct window *window, uint64_t chunk, uint64_t end)
{
	uint64_t last = 0, head;
	while (chunk < end) {
		const uint8_t *at = window_at(window, chunk + 8, 8, end);
		if (!at)
			return 0;
		__builtin_memcpy(&head, at, sizeof(head));
		uint64_t size = chunk_size(head);
		if (size < CHUNK_MIN || size % CHUNK_ALIGN || size > end - chunk)
			return 0;
		last = chunk;
		chunk += size;
	}
	return last;
}

static bool add_run(struct glibc *glibc, const struct process_map *map, struct window *window,
	struct heap_area_vec *ret)
{
	uint64_t end = map->end, start = first_of_heap(glibc->space, map->start, &end);
	bool is_main = !start && glibc_chain_is(glibc->space, map->start, end, GLIBC_CHAIN);
	if (!start && !is_main)
		return true;
	start = is_main ? map->start : start;
	uint64_t top = find_top(window, start, end);
	struct heap_area area = {.low = map->start,
		.start = start,
		.end = top ? top : end,
		.high = end,
		.allocator = HEAP_GLIBC,
		/* What their chunks have flags of: there is no other arena to tell. */
		.arena = is_main ? 0 : 1,
		.kind = GLIBC_RUN,
		.data = top};
	struct heap_damage damage = {.address = start,
		.what = "the core ends before malloc's data about this memory: free blocks in fast "
			"bins count as used"};
	return heap_areas_add(ret, &area) && heap_damage_vec_push(glibc->damage, damage);
}

bool glibc_is_adrift(const struct glibc *glibc)
{
	const struct address_space *space = glibc->space;
	return !glibc->arenas.len && !space->is_live &&
	       (space->core.missing_bytes || space->core.unpacked_cut);
}

struct error *glibc_adrift_find(struct glibc *glibc, struct heap_area_vec *ret)
{
	_cleanup_(window_cleanup) struct window window;
	const struct process_map_vec *maps = &glibc->space->maps.maps;
	struct error *error = window_open(glibc->space, &window);
	for (size_t i = 0; i < maps->len && !error; i++) {
		const struct process_map *map = &maps->data[i];
		if (map->writable && address_map_is_anonymous(map) &&
			!address_space_module(glibc->space, map->start) &&
			!add_run(glibc, map, &window, ret))
			error = error_no_memory();
	}
	return error;
}
