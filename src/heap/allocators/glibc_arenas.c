/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/cleanup.h"
#include "heap/allocators/glibc.h"
#include "heap/blocks/window.h"

/*
 * struct malloc_state around its bins, in all versions: `top` stands 16 bytes before them; behind
 * them the ring of arenas, and what the system has given. Where it begins depends on what was added
 * in front, and the bytes from the system follow a counter of threads from 2.23 on.
 */
#define TOP_BEFORE 0x10u
#define NEXT_BEHIND 0x800u
#define SYSTEM_BEHIND_OLD 0x810u
#define SYSTEM_BEHIND 0x818u
/* No program has so many threads in one arena: they are bytes. */
#define BYTES_LEAST (64u << 10)
#define LOCK_OFFSET 0u
#define FLAGS_OFFSET 4u
#define APART_FLAG 2u
/* From the beginning to the bins: to 2.26; from 2.27 on (have_fastchunks); without fast bins. */
static const uint32_t before_bins[] = {0x68, 0x70, 0x18};
#define BEFORE_COUNT 3u
#define BEFORE_BARE 0x18u

/* malloc/arena.c: heap_info, of 4 words, or 6 from 2.35 on. */
#define HEAP_HEADER_OLD 0x20u
#define HEAP_HEADER 0x30u
#define PAGE_BYTES 4096ull
#define LEADING_MIN 4u

static bool read_arena(const struct address_space *space, uint64_t address, uint32_t before,
	struct glibc_arena *ret)
{
	uint64_t bins = address + before, counter;
	uint32_t head[2];
	*ret = (struct glibc_arena){.address = address, .bins = bins};
	ret->has_fastbins = before != BEFORE_BARE;
	if (address_space_read(space, address, head, sizeof(head)) != sizeof(head) ||
		!address_space_word(space, bins - TOP_BEFORE, &ret->top) ||
		!address_space_word(space, bins + SYSTEM_BEHIND_OLD, &counter) ||
		!address_space_word(space, bins + SYSTEM_BEHIND, &ret->system_bytes))
		return false;
	/* A counter of threads is small; what the system gives comes in pages, but for the first
	 * one of a program break that others have moved. */
	if (counter >= PAGE_BYTES &&
		(counter % PAGE_BYTES == 0 || (counter >= BYTES_LEAST && counter % 8 == 0)))
		ret->system_bytes = counter;
	ret->is_locked = head[LOCK_OFFSET / 4];
	ret->apart = head[FLAGS_OFFSET / 4] & APART_FLAG;
	uint64_t size;
	const struct process_map *map = ret->top ? address_space_map(space, ret->top) : NULL;
	if (map && address_space_word(space, ret->top + 8, &size)) {
		/* Its head may have been written over: it goes no further than its mapping. */
		uint64_t most = map->end - ret->top;
		ret->top_size = chunk_size(size) < most ? chunk_size(size) : most;
	}
	return true;
}

/*
 * What is gone through by links that damage may have bent: each step is compared with one that is
 * moved up to it after 1, 2, 4… steps (Brent, "An improved Monte Carlo factorization algorithm",
 * BIT 20, 1980), so that a circle ends after some rounds.
 */
struct trail {
	uint64_t mark, steps, until;
};

/* Whether an address was there already. */
static bool trail_returns(struct trail *trail, uint64_t address)
{
	if (trail->steps && address == trail->mark)
		return true;
	if (trail->steps++ == trail->until) {
		trail->mark = address;
		trail->until = 2 * trail->until + 1;
	}
	return false;
}

/* Follows the ring of arenas. False: it does not close, so arenas do not begin like that. */
static bool follow_ring(struct glibc *glibc, uint64_t main_bins, uint32_t before, bool *ret_memory)
{
	uint64_t first = main_bins - before, at = first;
	struct trail trail = {0, 0, 0};
	glibc->arenas.len = 0;
	for (;;) {
		struct glibc_arena arena;
		if (at % 4 || trail_returns(&trail, at) ||
			!read_arena(glibc->space, at, before, &arena))
			return false;
		arena.is_main = at == first;
		if (!glibc_arenas_push(&glibc->arenas, arena)) {
			*ret_memory = false;
			return false;
		}
		if (!address_space_word(glibc->space, at + before + NEXT_BEHIND, &at))
			return false;
		if (at == first)
			return true;
	}
}

/* A heap of another arena begins with the arena's address. */
static bool is_heap(const struct address_space *space, uint64_t heap, uint64_t arena)
{
	uint64_t owner;
	return address_space_word(space, heap, &owner) && owner == arena;
}

/*
 * To what heaps are aligned: 64 MiB, but four huge pages if those are wanted
 * (glibc.malloc.hugetlb), 1 MiB where DEFAULT_MMAP_THRESHOLD_MAX was made small.
 */
static uint64_t heap_bytes(const struct glibc *glibc)
{
	static const uint64_t sizes[] = {
		64ull << 20, 8ull << 20, 1ull << 20, 4ull << 30, 128ull << 20, 32ull << 20};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t right = 0;
		for (size_t k = 1; k < glibc->arenas.len; k++) {
			const struct glibc_arena *arena = &glibc->arenas.data[k];
			right +=
				is_heap(glibc->space, arena->top & ~(sizes[i] - 1), arena->address);
		}
		if (right == glibc->arenas.len - 1)
			return sizes[i];
	}
	return sizes[0];
}

/* Notes as damage that a second libc (dlmopen) has memory, if one has: its blocks are not read. */
static struct error *note_other(struct glibc *glibc, uint64_t known)
{
	uint64_t bins, top;
	struct error *error = glibc_bins_find_other(glibc->space, known, &bins);
	if (error || !bins || !address_space_word(glibc->space, bins - TOP_BEFORE, &top) || !top ||
		top == bins - TOP_BEFORE)
		return error;
	struct heap_damage damage = {.address = bins,
		.what = "a second libc is in this process (dlmopen) whose malloc has memory of its "
			"own: its blocks are missing, or told in part"};
	return heap_damage_vec_push(glibc->damage, damage) ? NULL : error_no_memory();
}

struct error *glibc_arenas_find(struct glibc *glibc)
{
	uint64_t bins;
	struct error *error = glibc_bins_find(glibc->space, &bins);
	if (error || !bins)
		return error;
	bool memory = true, found = false;
	for (unsigned i = 0; i < BEFORE_COUNT && memory && !found; i++)
		found = follow_ring(glibc, bins, before_bins[i], &memory);
	if (!memory)
		return error_no_memory();
	if (!found)
		glibc->arenas.len = 0;
	if (!glibc->arenas.len)
		return NULL;
	glibc->heap_bytes = heap_bytes(glibc);
	return note_other(glibc, bins);
}

/* Where chunks of a heap begin: behind its header, and the arena if it stands in this one. */
static uint64_t first_chunk(const struct address_space *space, uint64_t heap,
	const struct glibc_arena *arena, uint64_t end)
{
	static const uint64_t headers[] = {HEAP_HEADER, HEAP_HEADER_OLD};
	uint64_t arena_end = arena->bins + SYSTEM_BEHIND + 16;
	if (arena->address - heap == HEAP_HEADER || arena->address - heap == HEAP_HEADER_OLD) {
		for (uint64_t at = (arena_end - 16) & ~15ull; at < arena_end + 64; at += 16) {
			if (glibc_chain_is(space, at, end, 4))
				return at;
		}
		return (arena_end + 15) & ~15ull;
	}
	for (size_t i = 0; i < 2; i++) {
		if (glibc_chain_is(space, heap + headers[i], end, 4))
			return heap + headers[i];
	}
	return heap + HEAP_HEADER;
}

/* The heaps of one arena, the newest first, which has the top chunk. */
static bool add_heaps(
	struct glibc *glibc, uint32_t number, struct glibc_arena *arena, struct heap_area_vec *ret)
{
	const struct address_space *space = glibc->space;
	uint64_t heap = arena->top & ~(glibc->heap_bytes - 1);
	struct trail trail = {0, 0, 0};
	bool ok = true, first = true;
	while (ok && heap && !trail_returns(&trail, heap)) {
		uint64_t info[3]; /* arena, previous heap, size */
		if (address_space_read(space, heap, info, sizeof(info)) != sizeof(info) ||
			info[0] != arena->address || info[2] > glibc->heap_bytes)
			break;
		struct heap_area area = {.low = heap,
			.end = first ? arena->top : heap + info[2],
			.high = heap + glibc->heap_bytes,
			.maker = HEAP_GLIBC,
			.arena = number,
			.kind = GLIBC_RUN,
			.data = first ? arena->top : 0};
		area.start = first_chunk(space, heap, arena, area.end);
		ok = heap_areas_add(ret, &area);
		arena->heaps_bytes += info[2];
		first = false;
		heap = info[1];
	}
	return ok;
}

/* The first place from which chunks lead to `end` without a break, of those that are so far from
 * each other; `end`: there is none. */
static uint64_t find_leading(struct window *window, uint64_t from, uint64_t end, uint64_t step)
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
 * it may be amid one, and a later chunk stands at a page by chance.
 */
static struct error *find_start(
	struct glibc *glibc, const struct process_map *map, uint64_t top, uint64_t *ret)
{
	_cleanup_(window_cleanup) struct window window;
	struct error *error = window_open(glibc->space, &window);
	if (error)
		return error;
	uint64_t base = glibc_break_start(glibc);
	if (base >= map->start && base < top) {
		struct glibc_piece piece = glibc_piece_read(&window, base, top);
		*ret = base;
		if (piece.closes && piece.end == top)
			return NULL;
	}
	uint64_t page = find_leading(&window, map->start, top, PAGE_BYTES);
	uint64_t amid = find_leading(&window, map->start, page, CHUNK_ALIGN);
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
 * on behind that. */
static struct error *add_break(struct glibc *glibc, struct heap_area_vec *ret)
{
	_cleanup_(window_cleanup) struct window window;
	struct error *error = window_open(glibc->space, &window);
	uint64_t base = glibc->arenas.data[0].apart ? glibc_break_start(glibc) : 0;
	const struct process_map *map = base ? address_space_map(glibc->space, base) : NULL;
	if (error || !map || heap_areas_find(ret, base))
		return error;
	uint64_t top = ret->len && !ret->data[0].arena ? ret->data[0].low : 0;
	uint64_t end = top > base && top < map->end ? top : map->end;
	struct heap_area area = {.low = base,
		.start = base,
		.end = first_end(&window, base, end),
		.maker = HEAP_GLIBC,
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
static struct error *add_main(struct glibc *glibc, struct heap_area_vec *ret)
{
	const struct glibc_arena *arena = &glibc->arenas.data[0];
	struct error *error = NULL;
	uint64_t end = arena->top + arena->top_size;
	const struct process_map *map = address_space_map(glibc->space, arena->top);
	if (!arena->top || !map || arena->top == arena->bins - TOP_BEFORE)
		return NULL; /* nothing was allocated yet: top is the arena's own first bin */
	uint64_t start = end > arena->system_bytes ? end - arena->system_bytes : map->start;
	uint64_t lowest = address_space_joined_start(glibc->space, arena->top);
	start = ((start > lowest ? start : lowest) + 15) & ~15ull;
	if (arena->apart || !glibc_chain_is(glibc->space, start, arena->top, 4))
		error = find_start(glibc, map, arena->top, &start);
	if (error)
		return error;
	struct heap_area area = {.low = start,
		.start = start,
		.end = arena->top,
		.high = end,
		.maker = HEAP_GLIBC,
		.kind = GLIBC_RUN,
		.data = arena->top};
	return heap_areas_add(ret, &area) ? NULL : error_no_memory();
}

static struct error *add_runs(struct glibc *glibc, struct heap_area_vec *ret)
{
	struct error *error = add_main(glibc, ret);
	if (!error)
		error = add_break(glibc, ret);
	bool ok = true;
	for (size_t i = 1; !error && ok && i < glibc->arenas.len; i++)
		ok = add_heaps(glibc, (uint32_t)i, &glibc->arenas.data[i], ret);
	return error || ok ? error : error_no_memory();
}

struct error *glibc_areas(struct glibc *glibc, struct heap_area_vec *ret)
{
	struct heap_area_vec areas;
	struct error *error = NULL;
	heap_area_vec_init(&areas);
	if (glibc->arenas.len)
		error = add_runs(glibc, &areas);
	else if (glibc_is_adrift(glibc))
		error = glibc_adrift_find(glibc, &areas);
	if (error || (!areas.len && !glibc->arenas.len)) {
		heap_area_vec_deinit(&areas);
		return error;
	}
	error = heap_areas_sort(&areas) ? glibc_mapped_find(glibc, &areas) : error_no_memory();
	if (!error && !heap_areas_sort(&areas))
		error = error_no_memory();
	if (!error)
		error = glibc_sums_check(glibc, &areas);
	if (!error)
		error = glibc_cached_find(glibc, &areas);
	for (size_t i = 0; !error && i < areas.len; i++)
		error = heap_areas_add(ret, &areas.data[i]) ? NULL : error_no_memory();
	heap_area_vec_deinit(&areas);
	return error;
}

struct error *glibc_books(const struct glibc *glibc, struct heap_ranges *ret)
{
	if (!glibc->arenas.len)
		return NULL;
	const struct glibc_arena *arena = &glibc->arenas.data[0];
	struct heap_range range = {arena->address, arena->bins + SYSTEM_BEHIND + 16};
	return heap_ranges_push(ret, range) ? NULL : error_no_memory();
}
