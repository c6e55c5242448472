/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assigns runs that nothing in the arenas leads to, if several libcs have separate memory: a run
 * with chunks of an arena's free lists belongs to that arena. A run without free chunks belongs to
 * the arena that lacks exactly as much, else to the one that lacks most.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "heap/allocators/glibc.h"

#define FD 16u

static bool is_among_bins(const struct glibc_arena *arena, uint64_t address)
{
	return address + FD - arena->bins < 16ull * GLIBC_BINS;
}

/* Gives the arena all runs into which a ring of its free chunks leads; of a ring that damage has
 * bent as many steps as there may be chunks. */
static void follow_ring(const struct glibc *glibc, uint32_t number, uint64_t head, uint64_t most,
	struct heap_area_vec *runs, bool *known)
{
	const struct glibc_arena *arena = &glibc->arenas.data[number];
	uint64_t chunk = head;
	while (most-- && address_space_word(glibc->space, chunk + FD, &chunk) &&
		!is_among_bins(arena, chunk)) {
		const struct heap_area *run = heap_areas_find(runs, chunk);
		if (!run)
			continue;
		size_t i = (size_t)(run - runs->data);
		runs->data[i].arena = number;
		known[i] = true;
	}
}

static void follow_lists(const struct glibc *glibc, uint32_t number, uint64_t most,
	struct heap_area_vec *runs, bool *known)
{
	for (uint64_t i = 0; i < GLIBC_BINS; i++)
		follow_ring(glibc, number, glibc->arenas.data[number].bins + 16 * i - FD, most,
			runs, known);
}

static uint32_t glibc_owners_lacking(
	const struct glibc *glibc, const uint64_t *missing, uint64_t bytes)
{
	uint32_t owner = 0;
	for (uint32_t i = 0; i < glibc->arenas.len; i++) {
		if (missing[i] == bytes)
			return i;
		owner = missing[i] > missing[owner] ? i : owner;
	}
	return owner;
}

struct error *glibc_owners_find(
	struct glibc *glibc, const struct heap_area_vec *areas, struct heap_area_vec *runs)
{
	uint64_t most = 0, apart = 0;
	_cleanup_free_ uint64_t *missing = calloc(glibc->arenas.len + 1, sizeof(*missing));
	_cleanup_free_ bool *known = calloc(runs->len + 1, sizeof(*known));
	if (!missing || !known || !heap_areas_sort(runs))
		return error_no_memory();
	struct error *error = NULL;
	for (uint32_t i = 0; !error && i < glibc->arenas.len; i++) {
		error = glibc_sums_missing(glibc, i, areas, &missing[i]);
		apart += missing[i] != 0;
	}
	for (size_t i = 0; i < areas->len + runs->len; i++) {
		const struct heap_area *area =
			i < areas->len ? &areas->data[i] : &runs->data[i - areas->len];
		most += (area->end - area->start) / CHUNK_MIN;
	}
	for (uint32_t i = 0; !error && apart > 1 && i < glibc->arenas.len; i++) {
		if (missing[i])
			follow_lists(glibc, i, most, runs, known);
	}
	for (size_t i = 0; !error && i < runs->len; i++) {
		struct heap_area *run = &runs->data[i];
		if (known[i])
			missing[run->arena] -= min(run->end - run->start, missing[run->arena]);
	}
	for (size_t i = 0; !error && i < runs->len; i++) {
		struct heap_area *run = &runs->data[i];
		if (known[i])
			continue;
		run->arena = glibc_owners_lacking(glibc, missing, run->end - run->start);
		missing[run->arena] -= min(run->end - run->start, missing[run->arena]);
	}
	return error;
}
