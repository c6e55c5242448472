/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks blocks with their own mappings against malloc's own count of them (struct malloc_par,
 * `mp_`), since other memory may look like them: two words at the beginning of a page are weak
 * evidence.
 *
 * A candidate is rejected if number and bytes equal malloc's without it, and it is inside a
 * mapping, where the kernel has joined several. If that leaves a choice nothing is left out, and a
 * note says so.
 *
 * In addition to these counts malloc keeps where the program break was when malloc first asked for
 * more.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "heap/allocators/glibc.h"

/* malloc_par lies near main_arena, both are data of malloc.c. */
#define NEAR_BYTES (64u << 10)
#define PAGE_BYTES 4096u
/* Candidates that are none, for which combinations are tried, and how many of these. */
#define FALSE_MOST 16u
#define TRIES_MOST (1u << 16)

/* n_mmaps, n_mmaps_max, max_n_mmaps, no_dyn_threshold; then mmapped_mem, max_mmapped_mem, to 2.2x
 * max_total_mem, and sbrk_base. */
#define COUNTERS_BYTES 16u
#define PAR_BYTES (COUNTERS_BYTES + 40u)

struct allocator_stats {
	uint64_t blocks, bytes;
	uint64_t base; /* sbrk_base */
};

static bool is_anonymous(const struct address_space *space, uint64_t address)
{
	const struct process_map *map = address_space_map(space, address);
	return map && address_map_is_anonymous(map);
}

static bool read_stats(const struct glibc *glibc, const uint8_t *bytes, uint64_t address,
	struct allocator_stats *ret)
{
	uint32_t
		counters[4]; /* blocks, most that may be, most that were, no threshold that moves */
	uint64_t sums[4];    /* bytes, most that were, what follows */
	memcpy(counters, bytes, sizeof(counters));
	memcpy(sums, bytes + COUNTERS_BYTES + (address % 8 ? 4 : 0), sizeof(sums));
	if (!counters[1] || counters[0] > counters[1] || counters[0] > counters[2] ||
		counters[3] > 1 || sums[0] > sums[1] || sums[0] % PAGE_BYTES ||
		sums[1] % PAGE_BYTES || !counters[0] != !sums[0] || !counters[2] != !sums[1] ||
		sums[0] / PAGE_BYTES < counters[0])
		return false;
	*ret = (struct allocator_stats){counters[0], sums[0], sums[2]};
	if (!is_anonymous(glibc->space, ret->base))
		ret->base = sums[3];
	return is_anonymous(glibc->space, ret->base);
}

/* The first chunk from there on; 0: there is none. `count`: this many must follow each other. */
static uint64_t first_chunk(const struct glibc *glibc, uint64_t base, unsigned count)
{
	uint64_t chunk = (base + CHUNK_ALIGN - 1) & ~(uint64_t)(CHUNK_ALIGN - 1), head;
	const struct process_map *map = address_space_map(glibc->space, chunk);
	bool is_first = map && glibc_chain_is(glibc->space, chunk, map->end, count) &&
			address_space_word(glibc->space, chunk + 8, &head) &&
			head & CHUNK_PREV_INUSE;
	return is_first ? chunk : 0;
}

/* Calls for all places near a main arena that may have it, until that says no. */
static void each_stats(const struct glibc *glibc, uint64_t arena,
	bool (*take)(const struct glibc *glibc, const struct allocator_stats *allocator_stats,
		void *context),
	void *context)
{
	const struct process_map *map = address_space_map(glibc->space, arena);
	if (!map)
		return;
	uint64_t start = arena - map->start > NEAR_BYTES ? arena - NEAR_BYTES : map->start;
	uint64_t end = map->end - arena > NEAR_BYTES ? arena + NEAR_BYTES : map->end;
	_cleanup_free_ uint8_t *bytes = malloc(end - start);
	size_t len = bytes ? address_space_read(glibc->space, start, bytes, end - start) : 0;
	struct allocator_stats allocator_stats, next;
	bool fits_next = PAR_BYTES <= len && read_stats(glibc, bytes, start, &next);
	for (size_t at = 0; at + PAR_BYTES <= len; at += 4) {
		bool fits = fits_next;
		allocator_stats = next;
		fits_next = at + 4 + PAR_BYTES <= len &&
			    read_stats(glibc, bytes + at + 4, start + at + 4, &next);
		/* Of a single block the counters read as such from the word before them on, too. */
		if (fits && !fits_next && !take(glibc, &allocator_stats, context))
			return;
	}
}

struct only_stats {
	struct allocator_stats allocator_stats;
	bool found, differs;
};

static bool take_only(
	const struct glibc *glibc, const struct allocator_stats *allocator_stats, void *context)
{
	struct only_stats *only = context;
	(void)glibc;
	only->differs =
		only->found && (allocator_stats->blocks != only->allocator_stats.blocks ||
				       allocator_stats->bytes != only->allocator_stats.bytes);
	only->found = true;
	only->allocator_stats = *allocator_stats;
	return !only->differs;
}

/* False: not found, or in several places that say different things. */
static bool find_stats(const struct glibc *glibc, uint64_t arena, struct allocator_stats *ret)
{
	struct only_stats only = {.found = false};
	each_stats(glibc, arena, take_only, &only);
	*ret = only.allocator_stats;
	return only.found && !only.differs;
}

struct bases {
	uint64_t sure, weak; /* of which chunks were overwritten */
};

/* Others than the lowest lead into the heap. */
static bool take_base(
	const struct glibc *glibc, const struct allocator_stats *allocator_stats, void *context)
{
	struct bases *bases = context;
	uint64_t sure = first_chunk(glibc, allocator_stats->base, GLIBC_CHAIN);
	uint64_t weak = first_chunk(glibc, allocator_stats->base, 1);
	if (sure && (!bases->sure || sure < bases->sure))
		bases->sure = sure;
	if (weak && (!bases->weak || weak < bases->weak))
		bases->weak = weak;
	return true;
}

uint64_t glibc_break_start(const struct glibc *glibc, const struct glibc_arena *arena)
{
	struct bases bases = {0, 0};
	each_stats(glibc, arena->address, take_base, &bases);
	return bases.sure ? bases.sure : bases.weak;
}

/* Sums the statistics of all libcs: they don't say which libc a block belongs to. */
static bool sum_stats(const struct glibc *glibc, struct allocator_stats *ret)
{
	bool found = glibc->arenas.len;
	*ret = (struct allocator_stats){0};
	for (size_t i = 0; found && i < glibc->arenas.len; i++) {
		const struct glibc_arena *arena = &glibc->arenas.data[i];
		struct allocator_stats allocator_stats;
		if (!arena->is_main || (i && glibc_arena_is_unused(arena)))
			continue;
		found = find_stats(glibc, arena->address, &allocator_stats);
		ret->blocks += allocator_stats.blocks;
		ret->bytes += allocator_stats.bytes;
	}
	return found;
}

struct choosing {
	const struct heap_area_vec *areas;
	uint32_t *weak; /* which of them lie amid a mapping, and how many */
	size_t count;
	size_t excess;  /* this many of them are none… */
	uint64_t bytes; /* … of this many bytes */
	unsigned tries, ways;
	uint32_t chosen[FALSE_MOST], found[FALSE_MOST];
};

static uint64_t area_bytes(const struct choosing *c, size_t i)
{
	const struct heap_area *area = &c->areas->data[c->weak[i]];
	return area->end - area->low;
}

/* Every way to choose `left` more, from one on, of this many bytes. */
static void glibc_counted_choose(struct choosing *c, size_t from, size_t left, uint64_t bytes)
{
	if (!left) {
		c->ways += !bytes;
		if (!bytes)
			memcpy(c->found, c->chosen, sizeof(c->found));
		return;
	}
	for (size_t i = from; i + left <= c->count && c->ways < 2; i++) {
		if (++c->tries > TRIES_MOST) {
			c->ways = 2;
			return;
		}
		if (area_bytes(c, i) > bytes)
			continue;
		c->chosen[c->excess - left] = c->weak[i];
		glibc_counted_choose(c, i + 1, left - 1, bytes - area_bytes(c, i));
	}
}

/* Whether just one choice is right; all of them are, or the found ones. */
static bool choose_weak(struct choosing *c, bool *ret_all)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < c->count; i++)
		sum += area_bytes(c, i);
	*ret_all = c->count == c->excess && sum == c->bytes;
	if (*ret_all)
		return true;
	if (c->excess > FALSE_MOST || c->count <= c->excess)
		return false;
	c->tries = c->ways = 0;
	glibc_counted_choose(c, 0, c->excess, c->bytes);
	return c->ways == 1;
}

/* How many ends of a candidate are neither a mapping's nor another candidate's. */
static unsigned open_ends(const struct glibc *glibc, const struct heap_area_vec *areas, size_t i)
{
	const struct heap_area *area = &areas->data[i];
	const struct process_map *map = address_space_map(glibc->space, area->low);
	bool starts = !map || map->start == area->low || (i && areas->data[i - 1].end == area->low);
	bool ends = !map || map->end == area->end ||
		    (i + 1 < areas->len && areas->data[i + 1].low == area->end);
	return !starts + !ends;
}

static void glibc_counted_drop(struct heap_area_vec *areas, const uint32_t *which, size_t count)
{
	size_t kept = 0;
	for (size_t i = 0, next = 0; i < areas->len; i++) {
		if (next < count && which[next] == i)
			next++;
		else
			areas->data[kept++] = areas->data[i];
	}
	areas->len = kept;
}

static bool glibc_counted_note(
	struct glibc *glibc, uint64_t address, uint64_t bytes, const char *what)
{
	struct heap_damage damage = {
		.address = address, .bytes = bytes, .how = HEAP_MISSING, .what = what};
	return heap_damage_vec_push(glibc->damage, damage);
}

struct error *glibc_mapped_check(struct glibc *glibc, struct heap_area_vec *mapped)
{
	struct allocator_stats allocator_stats = {0};
	uint64_t bytes = 0;
	for (size_t i = 0; i < mapped->len; i++)
		bytes += mapped->data[i].end - mapped->data[i].low;
	if (!sum_stats(glibc, &allocator_stats))
		return NULL;
	if (mapped->len < allocator_stats.blocks && bytes < allocator_stats.bytes)
		return glibc_counted_note(glibc, glibc->arenas.data[0].address,
			       allocator_stats.bytes - bytes,
			       "malloc counts more blocks with mappings of their own than were "
			       "found")
			       ? NULL
			       : error_no_memory();
	if (mapped->len <= allocator_stats.blocks || bytes < allocator_stats.bytes)
		return NULL;
	_cleanup_free_ uint32_t *weak = calloc(mapped->len, sizeof(*weak));
	if (!weak)
		return error_no_memory();
	struct choosing c = {.areas = mapped, .weak = weak};
	c.excess = mapped->len - allocator_stats.blocks;
	c.bytes = bytes - allocator_stats.bytes;
	for (unsigned ends = 2; ends > 0; ends--) {
		bool all;
		c.count = 0;
		for (size_t i = 0; i < mapped->len; i++) {
			if (open_ends(glibc, mapped, i) >= ends)
				weak[c.count++] = (uint32_t)i;
		}
		if (choose_weak(&c, &all)) {
			glibc_counted_drop(mapped, all ? weak : c.found, c.excess);
			return NULL;
		}
	}
	bool ok = glibc_counted_note(glibc, mapped->data[0].low, 0,
		"more memory looks like blocks with mappings of their own than malloc counts");
	return ok ? NULL : error_no_memory();
}
