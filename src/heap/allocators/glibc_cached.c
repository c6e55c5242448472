/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Free blocks whose chunks say that they are in use: those in fast bins, and in the caches that
 * threads have of them (glibc_caches.h).
 */
#include <stdlib.h>
#include <string.h>

#include "heap/allocators/glibc_caches.h"
#include "heap/blocks/page_cache.h"

/* This many blocks of a list say how its links are to be read. */
#define TRY_MOST 4096u

static uint64_t glibc_cached_decode(enum glibc_links links, uint64_t place, uint64_t value)
{
	return links == GLIBC_LINKS_SAFE ? place >> 12 ^ value : value;
}

uint32_t glibc_list_follow(const struct glibc *glibc, const struct heap_area_vec *runs,
	uint64_t first, uint64_t before, enum glibc_links links, uint32_t most,
	struct glibc_addresses *found, bool *ret_ends)
{
	uint32_t count = 0, next_mark = 1;
	uint64_t at = first, mark = 0;
	*ret_ends = false;
	while (at && count < most) {
		uint64_t link;
		/* A block that was freed twice makes a circle (R. P. Brent, BIT 20, 1980). */
		if (at == mark)
			return count;
		if (count == next_mark) {
			mark = at;
			next_mark *= 2;
		}
		if (!glibc_block_is(glibc, runs, at) || !glibc_word(glibc, at, &link))
			return count;
		if (found && (found->len >= glibc->cached_most || !glibc_addresses_push(found, at)))
			return count;
		count++;
		link = glibc_cached_decode(links, at, link);
		if (link > UINT64_MAX - before)
			return count;
		at = link ? link + before : 0;
	}
	*ret_ends = !at;
	return count;
}

/* Whether following a list found all of it: as many blocks as expected, or TRY_MOST of more. */
static bool is_whole(uint32_t count, bool ends, bool has_count, uint32_t expected)
{
	return ends ? count && (!has_count || count == expected)
		    : count == TRY_MOST && (!has_count || expected > TRY_MOST);
}

/*
 * How many lists are whole, if links are read one way. Not how many blocks they lead to: one link
 * that is read wrongly and leads to a block by chance leads into a long list of the program's.
 */
static uint64_t try_links(
	const struct glibc *glibc, const struct heap_area_vec *runs, enum glibc_links links)
{
	uint64_t whole = 0;
	for (size_t i = 0; i < glibc->caches.len; i++) {
		struct glibc_cache_contents c;
		if (!glibc_cache_read(glibc, runs, glibc->caches.data[i].address, &c))
			continue;
		for (uint32_t k = 0; k < c.bins; k++) {
			bool ends;
			uint32_t count = glibc_list_follow(
				glibc, runs, c.lists[k], 0, links, TRY_MOST, NULL, &ends);
			whole += is_whole(count, ends, true, c.counts[k]);
		}
	}
	return whole;
}

/* The first user address of a fast bin, which holds chunks. */
static uint64_t glibc_cached_fastbin(
	const struct glibc *glibc, const struct glibc_arena *arena, unsigned i)
{
	uint64_t chunk;
	uint64_t at = arena->bins - GLIBC_FASTBINS_BEFORE + 8ul * i;
	return address_space_word(glibc->space, at, &chunk) && chunk ? chunk + CHUNK_HEADER : 0;
}

static uint64_t try_fastbins(
	const struct glibc *glibc, const struct heap_area_vec *runs, enum glibc_links links)
{
	uint64_t whole = 0;
	for (size_t k = 0; k < glibc->arenas.len; k++) {
		const struct glibc_arena *arena = &glibc->arenas.data[k];
		for (unsigned i = 0; arena->has_fastbins && i < GLIBC_FASTBINS; i++) {
			bool ends;
			uint32_t count = glibc_list_follow(glibc, runs,
				glibc_cached_fastbin(glibc, arena, i), CHUNK_HEADER, links,
				TRY_MOST, NULL, &ends);
			whole += is_whole(count, ends, false, 0);
		}
	}
	return whole;
}

static int glibc_cached_by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void glibc_cached_sort(struct glibc_addresses *addresses)
{
	if (addresses->len)
		qsort(addresses->data, addresses->len, sizeof(*addresses->data),
			glibc_cached_by_address);
}

static bool note_broken(struct glibc *glibc, uint64_t address, const char *what)
{
	struct heap_damage damage = {.address = address, .what = what};
	return heap_damage_vec_push(glibc->damage, damage);
}

static bool take_caches(struct glibc *glibc, const struct heap_area_vec *runs)
{
	for (size_t i = 0; i < glibc->caches.len; i++) {
		const struct glibc_cache *cache = &glibc->caches.data[i];
		struct glibc_cache_contents c;
		if (!glibc_cache_read(glibc, runs, cache->address, &c))
			continue;
		bool all_end = true;
		for (uint32_t k = 0; k < c.bins; k++) {
			bool ends;
			glibc_list_follow(glibc, runs, c.lists[k], 0, glibc->links, GLIBC_LIST_MAX,
				&glibc->cached, &ends);
			all_end &= ends;
		}
		if (!all_end && !note_broken(glibc, cache->address,
					"a thread's list of free blocks does not end"))
			return false;
	}
	return true;
}

static bool take_fastbins(struct glibc *glibc, const struct heap_area_vec *runs)
{
	for (size_t k = 0; k < glibc->arenas.len; k++) {
		const struct glibc_arena *arena = &glibc->arenas.data[k];
		for (unsigned i = 0; arena->has_fastbins && i < GLIBC_FASTBINS; i++) {
			bool ends;
			uint64_t first = glibc_cached_fastbin(glibc, arena, i);
			glibc_list_follow(glibc, runs, first, CHUNK_HEADER, glibc->links,
				GLIBC_LIST_MAX, &glibc->cached, &ends);
			if (first && !ends &&
				!note_broken(glibc, first - CHUNK_HEADER,
					"a fast bin's list does not end"))
				return false;
		}
	}
	return true;
}

static struct error *follow_lists(struct glibc *glibc, const struct heap_area_vec *runs)
{
	glibc->cached_most = 0;
	for (size_t i = 0; i < runs->len; i++)
		glibc->cached_most += (runs->data[i].end - runs->data[i].start) / CHUNK_MIN;
	uint64_t plain = try_links(glibc, runs, GLIBC_LINKS_PLAIN) +
			 try_fastbins(glibc, runs, GLIBC_LINKS_PLAIN);
	uint64_t safe = try_links(glibc, runs, GLIBC_LINKS_SAFE) +
			try_fastbins(glibc, runs, GLIBC_LINKS_SAFE);
	glibc->links = safe >= plain ? GLIBC_LINKS_SAFE : GLIBC_LINKS_PLAIN;
	if (!take_caches(glibc, runs) || !take_fastbins(glibc, runs))
		return error_no_memory();
	glibc_cached_sort(&glibc->cached);
	if (!glibc_detached_take(glibc, runs))
		return error_no_memory();
	glibc_cached_sort(&glibc->cached);
	return NULL;
}

struct error *glibc_cached_find(struct glibc *glibc, const struct heap_area_vec *runs)
{
	struct error *error = glibc_caches_find(glibc, runs);
	struct page_cache pages;
	if (!error)
		error = page_cache_open(glibc->space, &pages);
	if (error)
		return error;
	glibc->pages = &pages;
	error = follow_lists(glibc, runs);
	glibc->pages = NULL;
	glibc->list_reads = pages.reads;
	page_cache_close(&pages);
	return error;
}
