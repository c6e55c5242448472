/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread's cache is a block that a word near its thread pointer points to: shortly below on
 * x86-64, shortly above on aarch64, in libc's thread-local memory. Its layout has changed twice;
 * its size shows which it is, and its lists must be as long as its counts.
 *
 * Where a thread pointer is unknown or that memory is missing, all blocks of such sizes are looked
 * at: those whose lists begin with blocks of just their sizes, and are as long as they are counted,
 * are caches. An empty one is recognised only if it is an arena's first block, as the first
 * thread's is: nothing is lost by others.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "heap/allocators/glibc_caches.h"
#include "heap/blocks/page_cache.h"
#include "heap/blocks/window.h"

/* So far from the thread pointer is looked for the word. */
#define TLS_BYTES 0x2000u
#define PAGE_BYTES 4096ull

/* tcache_perthread_struct: bytes of its chunk, counts, lists. A chunk may be larger by what is too
 * little to be one: that of a thread that begins when others have freed memory. */
struct shape {
	uint32_t chunk;
	uint32_t count_bytes; /* of one */
	uint32_t bins, lists_offset;
	bool left; /* from 2.42 on counts are of what may still come */
};
static const struct shape shapes[] = {
	{0x250, 1, 64, 64, false},
	{0x290, 2, 64, 128, false},
	{0x300, 2, 76, 152, true},
};
#define SHAPES 3u

static bool is_size_of(const struct shape *shape, uint64_t chunk)
{
	return chunk >= shape->chunk && chunk < shape->chunk + CHUNK_MIN;
}

/* From this bin on lists are of several sizes (from 2.42 on). */
#define EVEN_BINS 64u

bool glibc_word(const struct glibc *glibc, uint64_t address, uint64_t *ret)
{
	return glibc->pages ? page_cache_word(glibc->pages, address, ret)
			    : address_space_word(glibc->space, address, ret);
}

bool glibc_block_is(const struct glibc *glibc, const struct heap_area_vec *runs, uint64_t address)
{
	uint64_t head;
	const struct heap_area *run =
		address % CHUNK_ALIGN ? NULL : heap_areas_find(runs, address - CHUNK_HEADER);
	return run && address >= run->start + CHUNK_HEADER &&
	       glibc_word(glibc, address - 8, &head) && chunk_size(head) >= CHUNK_MIN &&
	       !(head & CHUNK_MMAPPED) && address - CHUNK_HEADER + chunk_size(head) <= run->end;
}

/* From what may still come to what there is: an empty list has room for as many as any has. False:
 * there is room in none. */
static bool turn_counts(struct glibc_cache_contents *c)
{
	uint32_t most = 0;
	for (uint32_t i = 0; i < c->bins; i++)
		most = c->counts[i] > most ? c->counts[i] : most;
	for (uint32_t i = 0; i < c->bins; i++)
		c->counts[i] = most - c->counts[i];
	return most != 0;
}

static bool read_contents(const struct glibc *glibc, uint64_t address, const struct shape *shape,
	struct glibc_cache_contents *ret)
{
	uint8_t counts[2 * GLIBC_CACHE_BINS_MAX];
	*ret = (struct glibc_cache_contents){.bins = shape->bins};
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
	return !shape->left || turn_counts(ret);
}

/* Whether a block may be there, and the memory that would say so is missing. */
static bool is_unread(const struct glibc *glibc, const struct heap_area_vec *runs, uint64_t address)
{
	uint64_t head;
	return address % CHUNK_ALIGN == 0 && heap_areas_find(runs, address - CHUNK_HEADER) &&
	       !glibc_word(glibc, address - 8, &head);
}

/*
 * Whether each list begins with a block, or is empty where its count says so. One list may
 * disagree: a thread that is between its two stores, to the list and to the count (malloc/malloc.c:
 * tcache_put, tcache_get), has a list of one block that is counted as empty, or an empty one that
 * is counted as of one. *ret_between: that is so.
 */
static bool is_consistent(const struct glibc *glibc, const struct heap_area_vec *runs,
	const struct glibc_cache_contents *c, bool *ret_between)
{
	uint32_t between = 0;
	for (uint32_t i = 0; i < c->bins; i++) {
		bool differs = !c->lists[i] != !c->counts[i];
		if ((differs && c->counts[i] > 1) || (between += differs) > 1)
			return false;
		if (c->lists[i] && !glibc_block_is(glibc, runs, c->lists[i]) &&
			!is_unread(glibc, runs, c->lists[i]))
			return false;
	}
	*ret_between = between;
	return true;
}

bool glibc_cache_read(const struct glibc *glibc, const struct heap_area_vec *runs, uint64_t address,
	struct glibc_cache_contents *ret)
{
	uint64_t head;
	if (!glibc_block_is(glibc, runs, address) ||
		!address_space_word(glibc->space, address - 8, &head))
		return false;
	for (unsigned i = 0; i < SHAPES; i++) {
		if (is_size_of(&shapes[i], chunk_size(head)) &&
			read_contents(glibc, address, &shapes[i], ret) &&
			is_consistent(glibc, runs, ret, &ret->between))
			return true;
	}
	return false;
}

static bool glibc_caches_is_known(const struct glibc *glibc, uint64_t address)
{
	for (size_t i = 0; i < glibc->caches.len; i++) {
		if (glibc->caches.data[i].address == address)
			return true;
	}
	return false;
}

static int glibc_caches_by_address(const void *a, const void *b)
{
	const struct glibc_cache *x = a, *y = b;
	return (x->address > y->address) - (x->address < y->address);
}

static void sort_caches(struct glibc *glibc)
{
	if (glibc->caches.len)
		qsort(glibc->caches.data, glibc->caches.len, sizeof(*glibc->caches.data),
			glibc_caches_by_address);
	glibc->caches_sorted = glibc->caches.len;
}

bool glibc_is_cache(const struct glibc *glibc, uint64_t address)
{
	size_t low = 0, high = glibc->caches_sorted;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (glibc->caches.data[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < glibc->caches_sorted && glibc->caches.data[low].address == address;
}

static struct error *add_cache(struct glibc *glibc, uint64_t address, pid_t tid)
{
	struct glibc_cache cache = {address, tid};
	return glibc_caches_push(&glibc->caches, cache) ? NULL : error_no_memory();
}

static bool has_blocks(const struct glibc_cache_contents *c)
{
	bool has = false;
	for (uint32_t i = 0; i < c->bins; i++)
		has |= c->lists[i] != 0;
	return has;
}

/* Whether what a list begins with is of the list's size. */
static bool has_sizes(const struct glibc *glibc, const struct glibc_cache_contents *c)
{
	for (uint32_t i = 0; i < c->bins; i++) {
		uint64_t head;
		if (!c->lists[i])
			continue;
		if (!address_space_word(glibc->space, c->lists[i] - 8, &head) ||
			(i < EVEN_BINS && chunk_size(head) != CHUNK_MIN + 16ull * i) ||
			(i >= EVEN_BINS && chunk_size(head) < CHUNK_MIN + 16ull * EVEN_BINS))
			return false;
	}
	return true;
}

/* Whether most lists are as long as they are counted, however links are read: of a block that only
 * has addresses where a cache has lists they are not. */
static bool has_lengths(const struct glibc *glibc, const struct heap_area_vec *runs,
	const struct glibc_cache_contents *c)
{
	uint32_t lists = 0, right[2] = {0, 0};
	for (uint32_t i = 0; i < c->bins; i++) {
		lists += c->lists[i] != 0;
		for (enum glibc_links links = 0; c->lists[i] && links < 2; links++) {
			bool ends;
			uint32_t count = glibc_list_follow(
				glibc, runs, c->lists[i], 0, links, c->counts[i] + 1, NULL, &ends);
			right[links] += ends && count == c->counts[i];
		}
	}
	return 2 * right[GLIBC_LINKS_PLAIN] > lists || 2 * right[GLIBC_LINKS_SAFE] > lists;
}

/* What words near a thread's pointer lead to. A block of the program's that is all zeros looks like
 * a cache that is empty, and may be led to from nearer by; but the cache is older. */
struct near_caches {
	uint32_t libc;   /* of which they are */
	uint64_t filled; /* the first one; 0: none */
	uint64_t empty;  /* the lowest one; 0: none */
	uint64_t unread; /* what may be one, and is missing; 0: nothing */
};

/* Whether a block is in memory of that libc: each has caches of its own. */
static bool is_of_libc(const struct glibc *glibc, const struct heap_area_vec *runs,
	uint64_t address, uint32_t libc)
{
	const struct heap_area *run = heap_areas_find(runs, address - CHUNK_HEADER);
	return run &&
	       (run->arena < glibc->arenas.len ? glibc->arenas.data[run->arena].libc : 0) == libc;
}

/* Looks through words, beginning with the last if they lie below the thread pointer. */
static void find_pointers(const struct glibc *glibc, const struct heap_area_vec *runs,
	const uint64_t *words, size_t count, bool below, struct near_caches *ret)
{
	for (size_t i = 0; i < count && !ret->filled; i++) {
		struct glibc_cache_contents contents;
		uint64_t word = words[below ? count - 1 - i : i];
		if (!is_of_libc(glibc, runs, word, ret->libc))
			continue;
		if (!ret->unread && is_unread(glibc, runs, word))
			ret->unread = word;
		if (!glibc_cache_read(glibc, runs, word, &contents) ||
			glibc_caches_is_known(glibc, word))
			continue;
		if (contents.between && !has_sizes(glibc, &contents))
			continue;
		if (has_blocks(&contents))
			ret->filled = word;
		else if (!ret->empty || word < ret->empty)
			ret->empty = word;
	}
}

/* The thread's own of a libc: the word nearest to the thread pointer that points to one with
 * blocks, else to an empty one. *ret_seen: whether there is memory where it would be. */
static struct error *find_cache(struct glibc *glibc, const struct heap_area_vec *runs,
	const struct address_thread *thread, uint32_t libc, bool *ret_seen)
{
	uint64_t words[PAGE_BYTES / 8], pointer = thread->thread_pointer & ~7ull;
	struct near_caches found = {libc, 0, 0, 0};
	bool below = glibc->space->machine == EM_X86_64;
	uint64_t low = !below ? pointer : pointer > TLS_BYTES ? pointer - TLS_BYTES : 0;
	uint64_t high = below ? pointer : pointer + TLS_BYTES;
	*ret_seen = false;
	while (pointer && !found.filled && low < high) {
		uint64_t start = below ? (high - 1) & ~(PAGE_BYTES - 1) : low;
		uint64_t end = below ? high : (low + PAGE_BYTES) & ~(PAGE_BYTES - 1);
		start = start > low ? start : low;
		end = end < high ? end : high;
		size_t n = address_space_read(glibc->space, start, words, end - start) / 8;
		if (n != (end - start) / 8)
			break;
		*ret_seen = true;
		find_pointers(glibc, runs, words, n, below, &found);
		low = below ? low : end;
		high = below ? start : high;
	}
	/* Where the cache itself may be missing, what is all zeros is rather the program's. */
	uint64_t cache = found.filled ? found.filled : found.unread ? 0 : found.empty;
	if (cache)
		return add_cache(glibc, cache, thread->tid);
	struct heap_damage damage = {.address = found.unread,
		.what = "a thread's cache of free blocks may be in memory that can't be read: "
			"these count as used"};
	bool ok = !found.unread || heap_damage_vec_push(glibc->damage, damage);
	return ok ? NULL : error_no_memory();
}

/* Looks for caches by nothing but what they look like. */
struct looking {
	struct glibc *glibc;
	const struct heap_area_vec *runs;
	uint64_t first; /* block of the area */
};

static struct error *glibc_caches_look_at(
	void *context, const struct heap_block *block, const uint8_t *bytes, size_t len)
{
	struct looking *l = context;
	struct glibc_cache_contents contents;
	(void)bytes, (void)len;
	l->first = l->first ? l->first : block->address;
	if (block->state != BLOCK_USED ||
		!glibc_cache_read(l->glibc, l->runs, block->address, &contents) ||
		contents.between || !has_sizes(l->glibc, &contents) ||
		(has_blocks(&contents) ? !has_lengths(l->glibc, l->runs, &contents)
				       : block->address != l->first))
		return NULL;
	return add_cache(l->glibc, block->address, 0);
}

static struct error *find_by_shape(struct glibc *glibc, const struct heap_area_vec *runs)
{
	struct window window;
	struct error *error = window_open(glibc->space, &window);
	struct heap_damage_vec *damage = glibc->damage, omitted;
	heap_damage_vec_init(&omitted);
	glibc->damage = &omitted; /* reported when blocks are walked for themselves */
	for (size_t i = 0; i < runs->len && !error; i++) {
		struct looking looking = {glibc, runs, 0};
		const struct heap_sink sink = {&looking, glibc_caches_look_at};
		if (runs->data[i].kind == GLIBC_RUN)
			error = glibc_walk(glibc, &runs->data[i], &window, &sink);
	}
	heap_damage_vec_deinit(&omitted);
	glibc->damage = damage;
	window_close(&window);
	return error;
}

struct error *glibc_caches_find(struct glibc *glibc, const struct heap_area_vec *runs)
{
	const struct address_threads *threads = &glibc->space->threads;
	bool all_seen = threads->len;
	struct error *error = NULL;
	for (size_t i = 0; i < threads->len && !error; i++) {
		bool seen = false;
		uint32_t libc = 0;
		do
			error = find_cache(glibc, runs, &threads->data[i], libc, &seen);
		while (!error && ++libc < glibc->libcs);
		all_seen &= seen;
	}
	/* What is known by now is no block of the program's, and not looked at by its shape. */
	sort_caches(glibc);
	if (!error && !all_seen)
		error = find_by_shape(glibc, runs);
	sort_caches(glibc);
	return error;
}
