/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The runs of a main arena: in the program break, and where its top chunk is. */
#include "base/cleanup.h"
#include "heap/allocators/glibc.h"
#include "heap/blocks/window.h"

#define PAGE_BYTES 4096ull
#define LEADING_MIN 4u

/* The first place from which chunks lead to `end` without a break, of those that are so far from
 * each other; `end`: there is none. */
static uint64_t find_leads(struct window *window, uint64_t from, uint64_t end, uint64_t step)
{
	for (uint64_t at = from, next; at < end; at = next) {
		at = step == CHUNK_ALIGN ? glibc_piece_from(window, at, end) : at;
		next = at + step;
		struct glibc_piece piece = glibc_piece_read(window, at, end);
		if (piece.end == end && piece.closes &&
			(step != CHUNK_ALIGN || piece.chunks >= LEADING_MIN))
			return at;
		/* Of others on its way none leads further. */
		if (piece.chunks >= GLIBC_CHAIN)
			next = (piece.end + step - 1) & ~(step - 1);
	}
	return end;
}

/*
 * Where chunks begin that lead to the top one. Of mappings that is at a page; of the program break
 * it may be amid one, and a later chunk is at a page by chance.
 */
static struct error *find_start(struct glibc *glibc, const struct glibc_arena *arena,
	const struct process_map *map, uint64_t *ret)
{
	uint64_t top = arena->top;
	_cleanup_(window_cleanup) struct window window;
	struct error *error = window_open(glibc->space, &window);
	if (error)
		return error;
	uint64_t base = glibc_break_start(glibc, arena);
	if (base >= map->start && base < top) {
		struct glibc_piece piece = glibc_piece_read(&window, base, top);
		*ret = base;
		if (piece.closes && piece.end == top)
			return NULL;
	}
	uint64_t page = find_leads(&window, map->start, top, PAGE_BYTES);
	uint64_t amid = find_leads(&window, map->start, page, CHUNK_ALIGN);
	*ret = amid < top || top % PAGE_BYTES == 0 ? amid : map->start;
	return NULL;
}

/* Where the program break's first chunks end, past those whose heads were overwritten. */
static uint64_t first_end(struct window *window, uint64_t base, uint64_t end)
{
	struct glibc_piece piece = glibc_piece_read(window, base, end);
	uint64_t at = piece.end;
	while (!piece.closes && (at = glibc_piece_from(window, at + CHUNK_ALIGN, end)) < end)
		piece = glibc_piece_read(window, at, end);
	return piece.end;
}

/* The program break's run, if the main arena went on elsewhere: it goes up to what others took, and
 * on after that. */
static struct error *add_break(struct glibc *glibc, struct heap_area_vec *ret)
{
	_cleanup_(window_cleanup) struct window window;
	struct error *error = window_open(glibc->space, &window);
	const struct glibc_arena *arena = &glibc->arenas.data[0];
	uint64_t base = arena->apart ? glibc_break_start(glibc, arena) : 0;
	const struct process_map *map = base ? address_space_map(glibc->space, base) : NULL;
	if (error || !map || heap_areas_find(ret, base))
		return error;
	uint64_t top = ret->len && !ret->data[0].arena ? ret->data[0].low : 0;
	uint64_t end = top > base && top < map->end ? top : map->end;
	struct heap_area area = {.low = base,
		.start = base,
		.end = first_end(&window, base, end),
		.allocator = HEAP_GLIBC,
		.kind = GLIBC_RUN};
	area.high = area.end;
	while (area.end > area.start) {
		if (!heap_areas_add(ret, &area))
			return error_no_memory();
		struct glibc_piece piece = {.end = area.end};
		do {
			area.low = area.start = glibc_piece_from(&window, piece.end, end);
			piece = glibc_piece_read(&window, area.start, end);
			area.end = area.high = piece.end;
			piece.end = area.start + CHUNK_ALIGN;
		} while (area.start < end && !piece.closes && piece.chunks < GLIBC_CHAIN);
	}
	return NULL;
}

/*
 * The program break's run ends with the top chunk; it is as long as what the system gave, unless a
 * thread is just getting more. Where other memory came in between, it begins elsewhere.
 */
static struct error *add_main(struct glibc *glibc, uint32_t number, struct heap_area_vec *ret)
{
	const struct glibc_arena *arena = &glibc->arenas.data[number];
	struct error *error = NULL;
	uint64_t end = arena->top + arena->top_size;
	const struct process_map *map = address_space_map(glibc->space, arena->top);
	if (glibc_arena_is_unused(arena) || !map)
		return NULL;
	uint64_t start = end > arena->system_bytes ? end - arena->system_bytes : map->start;
	uint64_t lowest = address_space_joined_start(glibc->space, arena->top);
	start = ((start > lowest ? start : lowest) + 15) & ~15ull;
	if (arena->apart || !glibc_chain_is(glibc->space, start, arena->top, 4))
		error = find_start(glibc, arena, map, &start);
	if (error)
		return error;
	struct heap_area area = {.low = start,
		.start = start,
		.end = arena->top,
		.high = end,
		.allocator = HEAP_GLIBC,
		.arena = number,
		.kind = GLIBC_RUN,
		.data = arena->top};
	return heap_areas_add(ret, &area) ? NULL : error_no_memory();
}

/* Another libc than the program's own has no program break: what it has apart is in mappings. */
struct error *glibc_main_runs(struct glibc *glibc, uint32_t number, struct heap_area_vec *ret)
{
	struct error *error = add_main(glibc, number, ret);
	return error || number ? error : add_break(glibc, ret);
}
