/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/allocators/glibc.h"
#include "heap/blocks/mid_update.h"

/*
 * struct malloc_state around its bins, in all versions: `top` is 16 bytes before them; after
 * them the ring of arenas, and what the system has given. Where it begins depends on what was added
 * in front, and the bytes from the system follow a counter of threads from 2.23 on.
 */
#define TOP_BEFORE 0x10u
#define NEXT_AFTER 0x800u
#define SYSTEM_AFTER_OLD 0x810u
#define SYSTEM_AFTER 0x818u
/* No program has this many threads in one arena: they are bytes. */
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

static bool read_arena(const struct address_space *space, uint64_t address, uint32_t before,
	struct glibc_arena *ret)
{
	uint64_t bins = address + before, counter;
	uint32_t head[2];
	*ret = (struct glibc_arena){.address = address, .bins = bins};
	ret->has_fastbins = before != BEFORE_BARE;
	if (address_space_read(space, address, head, sizeof(head)) != sizeof(head) ||
		!address_space_word(space, bins - TOP_BEFORE, &ret->top) ||
		!address_space_word(space, bins + SYSTEM_AFTER_OLD, &counter) ||
		!address_space_word(space, bins + SYSTEM_AFTER, &ret->system_bytes))
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
 * What is walked by links that damage may have bent: each step is compared with one that is moved
 * up to it after 1, 2, 4… steps (Brent, "An improved Monte Carlo factorization algorithm", BIT 20,
 * 1980), so that a circle ends after some rounds.
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
	for (;;) {
		struct glibc_arena arena;
		if (at % 4 || trail_returns(&trail, at) ||
			!read_arena(glibc->space, at, before, &arena))
			return false;
		arena.is_main = at == first;
		arena.libc = glibc->libcs;
		if (!glibc_arenas_push(&glibc->arenas, arena)) {
			*ret_memory = false;
			return false;
		}
		if (!address_space_word(glibc->space, at + before + NEXT_AFTER, &at))
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
		for (size_t k = 0; k < glibc->arenas.len; k++) {
			const struct glibc_arena *arena = &glibc->arenas.data[k];
			right +=
				arena->is_main ||
				is_heap(glibc->space, arena->top & ~(sizes[i] - 1), arena->address);
		}
		if (right == glibc->arenas.len)
			return sizes[i];
	}
	return sizes[0];
}

bool glibc_arena_is_unused(const struct glibc_arena *arena)
{
	return !arena->top || arena->top == arena->bins - TOP_BEFORE;
}

bool glibc_has_code(const struct glibc *glibc, uint64_t address)
{
	const struct address_module *module = address_space_module(glibc->space, address);
	bool found = false;
	for (size_t i = 0; module && !found && i < glibc->arenas.len; i++) {
		const struct glibc_arena *arena = &glibc->arenas.data[i];
		found = arena->is_main &&
			address_space_module(glibc->space, arena->address) == module;
	}
	return found;
}

static bool is_code(const void *context, uint64_t pc)
{
	return glibc_has_code(context, pc);
}

bool glibc_is_mid_update(const struct glibc *glibc, bool *ret_memory)
{
	_cleanup_free_ uint64_t *addresses = calloc(glibc->arenas.len + 1, sizeof(*addresses));
	*ret_memory = addresses;
	for (size_t i = 0; addresses && i < glibc->arenas.len; i++)
		addresses[i] = glibc->arenas.data[i].address;
	return addresses &&
	       mid_update_any(glibc->space, addresses, glibc->arenas.len, is_code, glibc);
}

bool glibc_is_main(const struct glibc *glibc, const struct heap_area *area)
{
	return area->arena < glibc->arenas.len ? glibc->arenas.data[area->arena].is_main
					       : !area->arena;
}

/* Adds the arenas of the libc with these bins, if they are such. *ret_before: where bins are in
 * an arena; 0: it is not known yet. */
static struct error *add_libc(struct glibc *glibc, uint64_t bins, uint32_t *ret_before)
{
	size_t known = glibc->arenas.len;
	bool memory = true, found = false;
	for (unsigned i = 0; i < BEFORE_COUNT && memory && !found; i++) {
		if (*ret_before && *ret_before != before_bins[i])
			continue;
		glibc->arenas.len = known;
		found = follow_ring(glibc, bins, before_bins[i], &memory);
		*ret_before = found ? before_bins[i] : *ret_before;
	}
	glibc->arenas.len = found ? glibc->arenas.len : known;
	glibc->libcs += found;
	return memory ? NULL : error_no_memory();
}

/* Notes as damage that a further libc has memory, whose arenas are not reported. */
static struct error *note_other(struct glibc *glibc, uint64_t bins)
{
	uint64_t top;
	if (!address_space_word(glibc->space, bins - TOP_BEFORE, &top) || !top ||
		top == bins - TOP_BEFORE)
		return NULL;
	struct heap_damage damage = {.address = bins,
		.what = "this process has a second libc (dlmopen) whose malloc has its own memory: "
			"its blocks are missing, or only some are shown"};
	return heap_damage_vec_push(glibc->damage, damage) ? NULL : error_no_memory();
}

/* Where a libc's first memory lies; the highest address: it has none. */
static uint64_t first_memory(const struct glibc *glibc, size_t main)
{
	const struct glibc_arena *arena = &glibc->arenas.data[main];
	uint64_t start = glibc_arena_is_unused(arena) ? 0 : glibc_break_start(glibc, arena);
	return start ? start : UINT64_MAX;
}

/* Turns the arenas round so that those from one on are the first. */
static struct error *put_first(struct glibc *glibc, size_t first)
{
	struct glibc_arenas turned = {.data = NULL};
	uint32_t number = 0;
	bool ok = true;
	for (size_t i = 0; i < glibc->arenas.len && ok; i++) {
		struct glibc_arena arena = glibc->arenas.data[(first + i) % glibc->arenas.len];
		number += i && arena.is_main;
		arena.libc = number;
		ok = glibc_arenas_push(&turned, arena);
	}
	if (ok) {
		struct glibc_arenas swap = glibc->arenas;
		glibc->arenas = turned;
		turned = swap;
	}
	glibc_arenas_deinit(&turned);
	return ok ? NULL : error_no_memory();
}

/* The program's own libc is the one that has the program break, below all mappings: another one
 * never asks for it. */
static struct error *put_own_first(struct glibc *glibc)
{
	size_t first = 0;
	uint64_t least = UINT64_MAX;
	for (size_t i = 0; i < glibc->arenas.len && glibc->libcs > 1; i++) {
		uint64_t start = glibc->arenas.data[i].is_main ? first_memory(glibc, i) : least;
		first = start < least ? i : first;
		least = start < least ? start : least;
	}
	return first ? put_first(glibc, first) : NULL;
}

static struct error *add_others(struct glibc *glibc, uint64_t known, uint32_t before)
{
	struct glibc_addresses others = {.data = NULL};
	struct error *error = glibc_bins_find_others(glibc->space, known, &others);
	for (size_t i = 0; i < others.len && !error; i++) {
		uint32_t libcs = glibc->libcs;
		error = add_libc(glibc, others.data[i], &before);
		if (!error && glibc->libcs == libcs)
			error = note_other(glibc, others.data[i]);
	}
	glibc_addresses_deinit(&others);
	return error;
}

struct error *glibc_arenas_find(struct glibc *glibc)
{
	uint64_t bins;
	uint32_t before = 0;
	struct error *error = glibc_bins_find(glibc->space, &bins);
	if (!error && bins)
		error = add_libc(glibc, bins, &before);
	if (error || !glibc->arenas.len)
		return error;
	error = add_others(glibc, bins, before);
	if (!error)
		error = put_own_first(glibc);
	glibc->heap_bytes = heap_bytes(glibc);
	return error;
}

/* Where chunks of a heap begin: after its header, and the arena if it is in this one. */
static uint64_t first_chunk(const struct address_space *space, uint64_t heap,
	const struct glibc_arena *arena, uint64_t end)
{
	static const uint64_t headers[] = {HEAP_HEADER, HEAP_HEADER_OLD};
	uint64_t arena_end = arena->bins + SYSTEM_AFTER + 16;
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
			.allocator = HEAP_GLIBC,
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

static struct error *add_runs(struct glibc *glibc, struct heap_area_vec *ret)
{
	struct error *error = NULL;
	for (uint32_t i = 0; !error && i < glibc->arenas.len; i++) {
		struct glibc_arena *arena = &glibc->arenas.data[i];
		if (arena->is_main)
			error = glibc_main_runs(glibc, i, ret);
		else if (!add_heaps(glibc, i, arena, ret))
			error = error_no_memory();
	}
	return error;
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

struct error *glibc_metadata(const struct glibc *glibc, struct heap_ranges *ret)
{
	bool ok = true;
	for (size_t i = 0; ok && i < glibc->arenas.len; i++) {
		const struct glibc_arena *arena = &glibc->arenas.data[i];
		struct heap_range range = {arena->address, arena->bins + SYSTEM_AFTER + 16};
		ok = !arena->is_main || heap_ranges_push(ret, range);
	}
	return ok ? NULL : error_no_memory();
}
