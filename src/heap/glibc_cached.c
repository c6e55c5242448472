/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Free blocks whose chunks say that they are in use: those in fast bins, and in the caches that
 * threads have of them (tcache, from 2.26 on).
 *
 * A thread's cache is a block that a word shortly below its thread pointer (in libc's thread-local
 * memory) points to. What it looks like has changed twice; which of these it is, its size tells,
 * and that its lists are as long as its counts say.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/glibc.h"

#define FASTBINS_BEFORE 0x60u /* the bins */
#define FASTBINS 10u
#define FD 16u
#define LIST_MAX (1u << 26)
/* So far below the thread pointer is looked for the word. */
#define TLS_BYTES 0x2000u
#define PAGE_BYTES 4096ull
#define BINS_MAX 80u

/* tcache_perthread_struct: bytes of its chunk, counts, lists. */
struct shape {
	uint32_t chunk;
	uint32_t count_bytes; /* of one */
	uint32_t bins, lists_offset;
	bool left; /* from 2.42 on counts are of what may still come, so they tell nothing */
};
static const struct shape shapes[] = {
	{0x250, 1, 64, 64, false},
	{0x290, 2, 64, 128, false},
	{0x300, 2, 76, 152, true},
};
#define SHAPES 3u

static bool is_block(const struct glibc *glibc, const struct heap_area_vec *runs, uint64_t address)
{
	uint64_t head;
	(void)glibc;
	const struct heap_area *run =
		address % CHUNK_ALIGN ? NULL : heap_areas_find(runs, address - CHUNK_HEADER);
	return run && address >= run->start + CHUNK_HEADER &&
	       address_space_word(glibc->space, address - 8, &head) &&
	       chunk_size(head) >= CHUNK_MIN && !(head & CHUNK_MMAPPED) &&
	       address - CHUNK_HEADER + chunk_size(head) <= run->end;
}

static uint64_t decode(enum glibc_links links, uint64_t place, uint64_t value)
{
	return links == GLIBC_LINKS_SAFE ? place >> 12 ^ value : value;
}

/*
 * Follows a list from its first user address (0: an empty one); the link stands `link` bytes from
 * there. Adds what it finds to *found, if that is not NULL. Returns how many are right; *ret_ends:
 * whether it ends as it should.
 */
static uint32_t follow(const struct glibc *glibc, const struct heap_area_vec *runs, uint64_t first,
	enum glibc_links links, struct glibc_addresses *found, bool *ret_ends)
{
	uint32_t count = 0;
	uint64_t at = first;
	*ret_ends = false;
	while (at && count < LIST_MAX) {
		uint64_t link;
		if (!is_block(glibc, runs, at) || !address_space_word(glibc->space, at, &link))
			return count;
		if (found && !glibc_addresses_push(found, at))
			return count;
		count++;
		at = decode(links, at, link);
	}
	*ret_ends = !at;
	return count;
}

/* What a cache's memory says. */
struct contents {
	const struct shape *shape;
	uint64_t lists[BINS_MAX];
	uint32_t counts[BINS_MAX];
};

static bool read_contents(const struct glibc *glibc, uint64_t address, const struct shape *shape,
	struct contents *ret)
{
	uint8_t counts[2 * BINS_MAX];
	*ret = (struct contents){.shape = shape};
	size_t bytes = (size_t)shape->bins * shape->count_bytes;
	if (address_space_read(glibc->space, address, counts, bytes) != bytes ||
		address_space_read(glibc->space, address + shape->lists_offset, ret->lists,
			shape->bins * 8ul) != shape->bins * 8ul)
		return false;
	for (uint32_t i = 0; i < shape->bins; i++) {
		uint16_t wide;
		memcpy(&wide, counts + 2ul * (shape->count_bytes == 2 ? i : 0), sizeof(wide));
		ret->counts[i] = shape->count_bytes == 2 ? wide : counts[i];
	}
	return true;
}

/* Whether each list begins with a block, or is empty where its count says so. */
static bool is_consistent(
	const struct glibc *glibc, const struct heap_area_vec *runs, const struct contents *c)
{
	for (uint32_t i = 0; i < c->shape->bins; i++) {
		if (!c->shape->left && !c->lists[i] != !c->counts[i])
			return false;
		if (c->lists[i] && !is_block(glibc, runs, c->lists[i]))
			return false;
	}
	return true;
}

/* What kind of cache the block at an address is; false: none. */
static bool read_cache(const struct glibc *glibc, const struct heap_area_vec *runs,
	uint64_t address, struct contents *ret)
{
	uint64_t head;
	if (!is_block(glibc, runs, address) ||
		!address_space_word(glibc->space, address - 8, &head))
		return false;
	for (unsigned i = 0; i < SHAPES; i++) {
		if (chunk_size(head) == shapes[i].chunk &&
			read_contents(glibc, address, &shapes[i], ret) &&
			is_consistent(glibc, runs, ret))
			return true;
	}
	return false;
}

static bool is_known(const struct glibc *glibc, uint64_t address)
{
	for (size_t i = 0; i < glibc->caches.len; i++) {
		if (glibc->caches.data[i].address == address)
			return true;
	}
	return false;
}

/* Looks through the words of [start, end), the last first. 0: none points to a cache. */
static uint64_t find_pointer(
	const struct glibc *glibc, const struct heap_area_vec *runs, uint64_t start, uint64_t end)
{
	uint64_t words[PAGE_BYTES / 8];
	size_t bytes = (size_t)(end - start);
	if (address_space_read(glibc->space, start, words, bytes) != bytes)
		return 0;
	for (size_t i = bytes / 8; i-- > 0;) {
		struct contents contents;
		if (!is_known(glibc, words[i]) && read_cache(glibc, runs, words[i], &contents))
			return words[i];
	}
	return 0;
}

/* The thread's own: the word nearest below the thread pointer that points to one. */
static struct error *find_cache(
	struct glibc *glibc, const struct heap_area_vec *runs, const struct address_thread *thread)
{
	uint64_t end = thread->thread_pointer & ~7ull, found = 0;
	uint64_t lowest = end > TLS_BYTES ? end - TLS_BYTES : 0;
	while (!found && end > lowest) {
		uint64_t start = (end - 1) & ~(PAGE_BYTES - 1);
		start = start > lowest ? start : lowest;
		found = find_pointer(glibc, runs, start, end);
		end = start;
	}
	struct glibc_cache cache = {found, thread->tid, 0};
	return !found || glibc_caches_push(&glibc->caches, cache) ? NULL : error_no_memory();
}

/* How many blocks lists lead to, if links are read one way. */
static uint64_t try_links(
	const struct glibc *glibc, const struct heap_area_vec *runs, enum glibc_links links)
{
	uint64_t right = 0;
	for (size_t i = 0; i < glibc->caches.len; i++) {
		struct contents c;
		if (!read_cache(glibc, runs, glibc->caches.data[i].address, &c))
			continue;
		for (uint32_t k = 0; k < c.shape->bins; k++) {
			bool ends;
			right += follow(glibc, runs, c.lists[k], links, NULL, &ends) + ends;
		}
	}
	return right;
}

/* A fast bin holds the chunk, not the user's address. */
static uint64_t fastbin(const struct glibc *glibc, const struct glibc_arena *arena, unsigned i)
{
	uint64_t chunk;
	uint64_t at = arena->bins - FASTBINS_BEFORE + 8ul * i;
	return address_space_word(glibc->space, at, &chunk) ? chunk : 0;
}

/* The same as follow() for a fast bin, whose links are from chunk to chunk. */
static uint32_t follow_fastbin(const struct glibc *glibc, const struct heap_area_vec *runs,
	uint64_t chunk, enum glibc_links links, struct glibc_addresses *found, bool *ret_ends)
{
	uint32_t count = 0;
	*ret_ends = false;
	while (chunk && count < LIST_MAX) {
		uint64_t link;
		if (!is_block(glibc, runs, chunk + CHUNK_HEADER) ||
			!address_space_word(glibc->space, chunk + FD, &link))
			return count;
		if (found && !glibc_addresses_push(found, chunk + CHUNK_HEADER))
			return count;
		count++;
		chunk = decode(links, chunk + FD, link);
	}
	*ret_ends = !chunk;
	return count;
}

static uint64_t try_fastbins(
	const struct glibc *glibc, const struct heap_area_vec *runs, enum glibc_links links)
{
	uint64_t right = 0;
	for (size_t k = 0; k < glibc->arenas.len; k++) {
		const struct glibc_arena *arena = &glibc->arenas.data[k];
		for (unsigned i = 0; arena->has_fastbins && i < FASTBINS; i++) {
			bool ends;
			right += follow_fastbin(glibc, runs, fastbin(glibc, arena, i), links, NULL,
					 &ends) +
				 ends;
		}
	}
	return right;
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static bool note_broken(struct glibc *glibc, uint64_t address, const char *what)
{
	struct heap_damage damage = {.address = address, .what = what};
	return heap_damage_vec_push(glibc->damage, damage);
}

static bool take_caches(struct glibc *glibc, const struct heap_area_vec *runs)
{
	for (size_t i = 0; i < glibc->caches.len; i++) {
		struct glibc_cache *cache = &glibc->caches.data[i];
		struct contents c;
		if (!read_cache(glibc, runs, cache->address, &c))
			continue;
		for (uint32_t k = 0; k < c.shape->bins; k++) {
			bool ends;
			uint32_t n = follow(
				glibc, runs, c.lists[k], glibc->links, &glibc->cached, &ends);
			cache->blocks += n;
			if (!ends && !note_broken(glibc, cache->address,
					     "a thread's list of free blocks does not end"))
				return false;
		}
	}
	return true;
}

static bool take_fastbins(struct glibc *glibc, const struct heap_area_vec *runs)
{
	for (size_t k = 0; k < glibc->arenas.len; k++) {
		const struct glibc_arena *arena = &glibc->arenas.data[k];
		for (unsigned i = 0; arena->has_fastbins && i < FASTBINS; i++) {
			bool ends;
			uint64_t first = fastbin(glibc, arena, i);
			follow_fastbin(glibc, runs, first, glibc->links, &glibc->cached, &ends);
			if (first && !ends &&
				!note_broken(glibc, first, "a fast bin's list does not end"))
				return false;
		}
	}
	return true;
}

struct error *glibc_cached_find(struct glibc *glibc, const struct heap_area_vec *runs)
{
	struct error *error = NULL;
	for (size_t i = 0; i < glibc->space->threads.len && !error; i++)
		error = find_cache(glibc, runs, &glibc->space->threads.data[i]);
	if (error)
		return error;
	uint64_t plain = try_links(glibc, runs, GLIBC_LINKS_PLAIN) +
			 try_fastbins(glibc, runs, GLIBC_LINKS_PLAIN);
	uint64_t safe = try_links(glibc, runs, GLIBC_LINKS_SAFE) +
			try_fastbins(glibc, runs, GLIBC_LINKS_SAFE);
	glibc->links = safe >= plain ? GLIBC_LINKS_SAFE : GLIBC_LINKS_PLAIN;
	if (!take_caches(glibc, runs) || !take_fastbins(glibc, runs))
		return error_no_memory();
	struct glibc_addresses *cached = &glibc->cached;
	if (cached->len)
		qsort(cached->data, cached->len, sizeof(*cached->data), by_address);
	return NULL;
}
