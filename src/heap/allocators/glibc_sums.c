/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares what malloc counts as obtained from the system for each arena (system_mem) with what was
 * found of it: otherwise chunks that nothing leads to would be missing silently.
 *
 * Heaps of other arenas count completely, and runs of the main arena up to the end of the top
 * chunk. Memory that other code took from the program break in between also counts while malloc
 * takes all its memory there, and later may or may not.
 */
#include "base/cleanup.h"
#include "base/util.h"
#include "heap/allocators/glibc.h"
#include "heap/blocks/window.h"

/* The first chunk of a program break that begins elsewhere is aligned. */
#define ALIGN_SLACK (CHUNK_ALIGN - 1)

struct sum {
	uint64_t bytes, holes; /* of these, memory of others */
};

static uint64_t holes_of(struct window *window, const struct heap_area *run)
{
	uint64_t at = run->start, holes = 0;
	while (at < run->end) {
		struct glibc_piece piece = glibc_piece_read(window, at, run->end);
		uint64_t from = piece.closes ? piece.end : max(piece.end, at + CHUNK_ALIGN);
		at = from < run->end ? glibc_piece_from(window, from, run->end) : run->end;
		holes += piece.closes ? at - from : 0;
	}
	return holes;
}

static bool is_run_of(const struct heap_area *area, uint32_t arena)
{
	return area->kind == GLIBC_RUN && area->arena == arena;
}

static struct error *sum_main(
	struct glibc *glibc, uint32_t number, const struct heap_area_vec *areas, struct sum *ret)
{
	_cleanup_(window_cleanup) struct window window;
	struct error *error = window_open(glibc->space, &window);
	const struct heap_area *before = NULL;
	const struct process_map *program_break = NULL;
	*ret = (struct sum){0, 0};
	for (size_t i = 0; !error && i < areas->len; i++) {
		const struct heap_area *area = &areas->data[i];
		if (!is_run_of(area, number))
			continue;
		ret->bytes += area->high - area->low;
		if (glibc->arenas.data[number].apart) {
			ret->holes += holes_of(&window, area);
			/* The break lies below all mappings that malloc gets. */
			program_break =
				before ? program_break : address_space_map(glibc->space, area->low);
			if (!number && before && program_break && area->low < program_break->end) {
				ret->bytes += area->low - before->high;
				ret->holes += area->low - before->high;
			}
		}
		before = area;
	}
	return error;
}

struct error *glibc_sums_missing(
	struct glibc *glibc, uint32_t number, const struct heap_area_vec *runs, uint64_t *ret)
{
	struct sum sum;
	*ret = 0;
	const struct glibc_arena *arena = &glibc->arenas.data[number];
	if (!arena->is_main || !arena->apart)
		return NULL;
	struct error *error = sum_main(glibc, number, runs, &sum);
	uint64_t system = arena->system_bytes, least = sum.bytes - sum.holes;
	*ret = !error && system > least ? system - least : 0;
	return error;
}

static bool glibc_sums_note(
	struct glibc *glibc, const struct glibc_arena *arena, uint64_t bytes, bool is_less)
{
	struct heap_damage damage = {.address = arena->address,
		.bytes = bytes,
		.how = is_less ? HEAP_MISSING : HEAP_TOO_MANY};
	if (arena->is_locked)
		damage.what = "the memory found of this arena is not what malloc obtained for it "
			      "from the system: a thread was changing that, or blocks are missing";
	else
		damage.what = is_less ? "malloc obtained more memory for this arena from the "
					"system than was found: blocks may be missing"
				      : "more memory was found of this arena than malloc obtained "
					"for it from the system: some blocks may be wrong";
	return heap_damage_vec_push(glibc->damage, damage);
}

struct error *glibc_sums_check(struct glibc *glibc, const struct heap_area_vec *areas)
{
	for (uint32_t k = 0; k < glibc->arenas.len; k++) {
		const struct glibc_arena *arena = &glibc->arenas.data[k];
		struct sum sum = {arena->heaps_bytes, 0};
		struct error *error = arena->is_main ? sum_main(glibc, k, areas, &sum) : NULL;
		if (error)
			return error;
		bool is_less = arena->system_bytes > sum.bytes + ALIGN_SLACK;
		bool is_more = sum.bytes - sum.holes > arena->system_bytes;
		uint64_t bytes = is_less ? arena->system_bytes - sum.bytes
					 : sum.bytes - sum.holes - arena->system_bytes;
		if ((is_less || is_more) && !glibc_sums_note(glibc, arena, bytes, is_less))
			return error_no_memory();
	}
	return NULL;
}
