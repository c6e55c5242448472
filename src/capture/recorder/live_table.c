/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/recorder/live_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint32_t capacity_of(unsigned rank)
{
	return 2u << rank;
}

static unsigned rank_of(const struct live_page *page)
{
	return LIVE_PAGE_BITS - 1u - page->shift;
}

/* The most blocks of a page that has displaced ones: their look-ups need empty places. */
static uint32_t limit_of(uint32_t capacity)
{
	return capacity - 1u - capacity / 9u;
}

/* What a table without leaves points at. */
static const struct live_leaf no_leaves[2];

void live_table_init(struct live_table *live)
{
	memset(live, 0, sizeof(*live));
	live->leaves = (struct live_leaf *)no_leaves; /* never written: it has no room */
	live->leaf_shift = 63;
}

/* The first words of a mapping. */
struct mapping {
	void *before;
	size_t bytes;
};

#define MAPPING_HEADER 64
#define HUGE_PAGE ((size_t)2 << 20)

void live_table_deinit(struct live_table *live)
{
	for (struct mapping *m = live->pool.mappings, *before; m; m = before) {
		before = m->before;
		munmap(m, m->bytes);
	}
	if (live->leaves != no_leaves)
		free(live->leaves);
	live_large_map_deinit(&live->large);
	live_table_init(live);
}

/*
 * Zeroed memory, `bytes` or more; large ones lie in huge pages: look-ups that go all over the heap
 * would wait for the page tables more than for the block.
 */
static struct mapping *map_memory(size_t *bytes)
{
	const int protection = PROT_READ | PROT_WRITE;
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	if (*bytes < HUGE_PAGE) {
		void *small = mmap(NULL, *bytes, protection, flags, -1, 0);
		return small == MAP_FAILED ? NULL : small;
	}
	*bytes = (*bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	char *at = mmap(NULL, *bytes + HUGE_PAGE, protection, flags, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	size_t before = -(uintptr_t)at & (HUGE_PAGE - 1);
	if (before)
		munmap(at, before);
	munmap(at + before + *bytes, HUGE_PAGE - before);
	madvise(at + before, *bytes, MADV_HUGEPAGE);
	return (struct mapping *)(at + before);
}

/* Makes room for `least` bytes. Mappings grow with what there is, so that they stay few; untouched
 * they cost nothing. */
static bool pool_more(struct live_pool *pool, size_t least)
{
	size_t bytes = pool->mapped < (64u << 10) ? 64u << 10 : pool->mapped;
	if (bytes > 16 * HUGE_PAGE)
		bytes = 16 * HUGE_PAGE;
	while (bytes < least + MAPPING_HEADER)
		bytes *= 2;
	struct mapping *m = map_memory(&bytes);
	if (!m)
		return false;
	*m = (struct mapping){pool->mappings, bytes};
	pool->mappings = m;
	pool->mapped += bytes;
	pool->next = (char *)m + MAPPING_HEADER;
	pool->end = (char *)m + bytes;
	return true;
}

static void pool_give(struct live_pool *pool, struct live_place *places, unsigned rank)
{
	places->what = (uintptr_t)pool->free[rank];
	pool->free[rank] = places;
	pool->free_ranks |= 1u << rank;
}

static struct live_place *pool_pop(struct live_pool *pool, unsigned rank)
{
	struct live_place *places = pool->free[rank];
	pool->free[rank] = (struct live_place *)(uintptr_t)places->what;
	if (!pool->free[rank])
		pool->free_ranks &= ~(1u << rank);
	places->what = 0;
	return places;
}

/* All capacities are even, so the smallest fits whatever is left. */
static void pool_give_rest(struct live_pool *pool, struct live_place *places, size_t count)
{
	for (unsigned rank = LIVE_RANKS; rank--;) {
		for (; count >= capacity_of(rank); count -= capacity_of(rank)) {
			pool_give(pool, places, rank);
			places += capacity_of(rank);
		}
	}
}

static void *pool_bytes(struct live_pool *pool, size_t bytes)
{
	if ((size_t)(pool->end - pool->next) < bytes) {
		struct live_place *rest = (struct live_place *)pool->next;
		size_t count = (size_t)(pool->end - pool->next) / sizeof(*rest);
		if (!pool_more(pool, bytes))
			return NULL;
		pool_give_rest(pool, rest, count & ~(size_t)1);
	}
	void *taken = pool->next;
	pool->next += bytes;
	return taken;
}

/* All zero. A larger free table is cut before new memory is taken. */
static struct live_place *pool_take(struct live_pool *pool, unsigned rank)
{
	uint32_t fitting = pool->free_ranks >> rank << rank;
	if (!fitting)
		return pool_bytes(pool, capacity_of(rank) * sizeof(struct live_place));
	unsigned found = (unsigned)__builtin_ctz(fitting);
	struct live_place *places = pool_pop(pool, found);
	pool_give_rest(pool, places + capacity_of(rank), capacity_of(found) - capacity_of(rank));
	return places;
}

static struct live_leaf *leaf_slot(struct live_leaf *leaves, unsigned shift, uint64_t key)
{
	uint64_t mask = (1ull << (64 - shift)) - 1, i = key * 0x9e3779b97f4a7c15ull >> shift;
	while (leaves[i].pages && leaves[i].key != key)
		i = (i + 1) & mask;
	return &leaves[i];
}

struct live_page *live_leaf_elsewhere(const struct live_table *live, uint64_t key)
{
	return leaf_slot(live->leaves, live->leaf_shift, key)->pages;
}

/* Less than half full. */
static bool leaves_grow(struct live_table *live)
{
	unsigned shift = live->leaf_shift > 58 ? 58 : live->leaf_shift - 1;
	struct live_leaf *more = calloc((size_t)1 << (64 - shift), sizeof(*more));
	if (!more)
		return false;
	for (uint64_t i = 0; i < 1ull << (64 - live->leaf_shift); i++) {
		if (live->leaves[i].pages)
			*leaf_slot(more, shift, live->leaves[i].key) = live->leaves[i];
	}
	if (live->leaves != no_leaves)
		free(live->leaves);
	live->leaves = more;
	live->leaf_shift = shift;
	return true;
}

#define LEAF_BYTES (sizeof(struct live_leaf_head) + LIVE_LEAF_PAGES * sizeof(struct live_page))

/* All zero. */
static struct live_leaf_head *leaf_take(struct live_table *live)
{
	struct live_leaf_head *head = live->leaves_free;
	if (!head)
		return pool_bytes(&live->pool, LEAF_BYTES);
	live->leaves_free = (struct live_leaf_head *)(uintptr_t)head->key;
	head->key = 0;
	return head;
}

/* Takes a leaf out of the table: what comes after it moves up, as in live_close_displaced(). */
static void leaf_remove(struct live_table *live, uint64_t key)
{
	uint64_t mask = (1ull << (64 - live->leaf_shift)) - 1;
	uint64_t hole = (uint64_t)(leaf_slot(live->leaves, live->leaf_shift, key) - live->leaves);
	for (uint64_t i = (hole + 1) & mask; live->leaves[i].pages; i = (i + 1) & mask) {
		uint64_t own = live->leaves[i].key * 0x9e3779b97f4a7c15ull >> live->leaf_shift;
		if (((i - own) & mask) >= ((i - hole) & mask)) {
			live->leaves[hole] = live->leaves[i];
			hole = i;
		}
	}
	live->leaves[hole] = (struct live_leaf){0, NULL};
	live->leaf_count--;
}

static struct live_page *leaf_new(struct live_table *live, uint64_t address)
{
	if (2 * (live->leaf_count + 1ull) >= 1ull << (64 - live->leaf_shift) && !leaves_grow(live))
		return NULL;
	struct live_leaf_head *head = leaf_take(live);
	if (!head)
		return NULL;
	uint64_t key = address >> LIVE_LEAF_BITS;
	struct live_page *pages = (struct live_page *)(head + 1);
	head->key = key;
	for (unsigned i = 0; i < LIVE_LEAF_PAGES; i++)
		pages[i].number = (uint8_t)i;
	*leaf_slot(live->leaves, live->leaf_shift, key) = (struct live_leaf){key, pages};
	live->leaf_count++;
	live->leaves_empty++;
	return live_page_of(live, address);
}

/*
 * A page without places starts as large as the one before it if that is well used: neighbours are
 * mostly alike, and then it need not grow. Else it starts with half of what the others hold: then a
 * heap of many small blocks grows each of its tables two or three times, and one of few large
 * blocks wastes nothing.
 */
static unsigned first_rank(const struct live_table *live, const struct live_page *page)
{
	const struct live_page *before = page->number ? page - 1 : NULL;
	if (before && before->capacity && 8u * before->used >= 5u * before->capacity)
		return rank_of(before);
	uint64_t usual = live->pages ? live->blocks / live->pages / 2 : 0;
	unsigned rank = 0;
	while (rank < LIVE_RANKS - 1 && capacity_of(rank) < usual)
		rank++;
	return rank;
}

/* Below this number of pages each may have 128 places, however few blocks it has: 2 MiB. */
#define SMALL_HEAP_PAGES 1024u
#define SMALL_HEAP_RANK 6u /* 128 places, as blocks 32 bytes apart need */

static unsigned next_rank(const struct live_table *live, const struct live_page *page)
{
	if (!page->capacity)
		return first_rank(live, page);
	unsigned rank = rank_of(page) + 1u;
	return live->pages < SMALL_HEAP_PAGES && rank < SMALL_HEAP_RANK ? SMALL_HEAP_RANK : rank;
}

/* Whether a page grows so that one more block has its own place: 40 bytes a block at most. */
static bool pays_to_grow(const struct live_table *live, const struct live_page *page)
{
	uint32_t larger = 2u * page->capacity;
	return larger <= LIVE_OWN_CAPACITY &&
	       (live->pages < SMALL_HEAP_PAGES || 2 * larger <= 5 * (page->used + 1u));
}

/* Returns the place of the block at that offset, or the empty one where it would be, of which there
 * is one. */
static struct live_place *probe_page(const struct live_page *page, uint32_t offset)
{
	struct live_place *at = live_own_place(page, offset), *end = page->places + page->capacity;
	while (at->owner && live_offset(at->owner) != offset)
		at = at + 1 == end ? page->places : at + 1;
	return at;
}

static bool page_grow(struct live_table *live, struct live_page *page)
{
	unsigned rank = next_rank(live, page);
	struct live_place *places = pool_take(&live->pool, rank);
	if (!places)
		return false;
	struct live_page larger = {.places = places,
		.used = page->used,
		.capacity = (uint16_t)capacity_of(rank),
		.shift = (uint8_t)(LIVE_PAGE_BITS - 1u - rank),
		.number = page->number};
	for (uint32_t i = 0; i < page->capacity; i++) {
		const struct live_place *from = &page->places[i];
		if (!from->owner)
			continue;
		struct live_place *to = probe_page(&larger, live_offset(from->owner));
		larger.displaced += to != live_own_place(&larger, live_offset(from->owner));
		*to = *from;
	}
	if (page->capacity) {
		memset(page->places, 0, page->capacity * sizeof(*page->places));
		pool_give(&live->pool, page->places, rank_of(page));
	}
	/* Empty until live_put(). */
	live->tables_kept += !page->capacity && larger.capacity > LIVE_KEPT_CAPACITY;
	*page = larger;
	return true;
}

/* Returns the place of the block at that offset, or an empty one for it; NULL if the page has to
 * grow first. */
static struct live_place *place_in(
	const struct live_table *live, const struct live_page *page, uint32_t offset)
{
	bool full = page->used >= limit_of(page->capacity);
	struct live_place *own = live_own_place(page, offset);
	if (!page->displaced) {
		if (!own->owner || live_offset(own->owner) == offset)
			return own;
		if (full)
			return NULL;
	}
	struct live_place *place = probe_page(page, offset);
	if (place->owner)
		return place;
	return full || (place != own && pays_to_grow(live, page)) ? NULL : place;
}

struct live_place *live_table_make_place(
	struct live_table *live, struct live_page *page, uint64_t address, struct live_page **ret)
{
	if (!page)
		page = leaf_new(live, address);
	*ret = page;
	if (!page)
		return NULL;
	struct live_place *place = NULL;
	while (!page->capacity || !(place = place_in(live, page, live_offset(address)))) {
		if (!page_grow(live, page))
			return NULL;
	}
	return place;
}

void live_close_displaced(struct live_page *page, struct live_place *place)
{
	struct live_place *places = page->places;
	uint32_t mask = page->capacity - 1u, hole = (uint32_t)(place - places);
	page->displaced -= place != live_own_place(page, live_offset(place->owner));
	for (uint32_t i = (hole + 1) & mask; places[i].owner; i = (i + 1) & mask) {
		uint32_t own = live_offset(places[i].owner) >> page->shift;
		if (((i - own) & mask) < ((i - hole) & mask))
			continue;
		places[hole] = places[i];
		page->displaced -= hole == own;
		hole = i;
	}
	places[hole] = (struct live_place){0, 0};
}

static void page_release(struct live_table *live, struct live_page *page)
{
	if (page->capacity)
		pool_give(&live->pool, page->places, rank_of(page));
	*page = (struct live_page){.number = page->number};
}

/* A heap that moves on through the address space must not keep its old leaves for ever. */
static void leaf_release(struct live_table *live, struct live_leaf_head *head)
{
	struct live_page *pages = (struct live_page *)(head + 1);
	for (unsigned i = 0; i < LIVE_LEAF_PAGES; i++) {
		live->tables_kept -= pages[i].capacity > LIVE_KEPT_CAPACITY;
		page_release(live, &pages[i]);
	}
	leaf_remove(live, head->key);
	memset(head, 0, LEAF_BYTES);
	head->key = (uintptr_t)live->leaves_free;
	live->leaves_free = head;
	live->leaves_empty--;
}

void live_page_empty(struct live_table *live, struct live_page *page)
{
	struct live_leaf_head *head = live_leaf_of(page);
	live->pages--;
	if (page->capacity > LIVE_KEPT_CAPACITY) {
		if (live->tables_kept < LIVE_TABLES_KEPT && page->capacity <= LIVE_OWN_CAPACITY)
			live->tables_kept++;
		else
			page_release(live, page);
	}
	if (--head->used)
		return;
	live->leaves_empty++;
	if (live->leaves_empty > LIVE_LEAVES_KEPT)
		leaf_release(live, head);
}

static bool large_add(struct live_table *live, const struct live_entry *block)
{
	struct live_large *known = live_large_map_insert(&live->large, block->address, NULL);
	if (known)
		*known = (struct live_large){block->size, block->number};
	return known;
}

enum live_added live_table_add(struct live_table *live, const struct live_entry *block)
{
	struct live_page *page;
	struct live_place *place =
		block->site < LIVE_SITES_MAX ? live_place_for(live, block->address, &page) : NULL;
	if (!place)
		return LIVE_NO_MEMORY;
	if (place->owner)
		return LIVE_OCCUPIED;
	struct live_entry kept = *block;
	if (__builtin_expect(
		    block->size >= LIVE_SIZE_LARGE || block->number >> LIVE_NUMBER_BITS, 0)) {
		if (!large_add(live, block))
			return LIVE_NO_MEMORY;
		kept.size = LIVE_SIZE_LARGE;
	}
	live_put(live, page, place, &kept);
	return LIVE_ADDED;
}

static void block_of(const struct live_table *live, uint64_t address,
	const struct live_place *place, struct live_entry *ret)
{
	*ret = (struct live_entry){.address = address,
		.size = live_size(place),
		.number = live_number(place),
		.thread = live_thread(place),
		.site = live_site(place)};
	const struct live_large *large =
		ret->size == LIVE_SIZE_LARGE ? live_large_map_find(&live->large, address) : NULL;
	if (large) {
		ret->size = large->size;
		ret->number = large->number;
	}
}

/* NULL: none. */
static struct live_place *find_place(
	const struct live_table *live, uint64_t address, struct live_page **ret_page)
{
	struct live_page *page = live_page_of(live, address);
	if (!page || !page->used)
		return NULL;
	*ret_page = page;
	return live_place_of(page, address);
}

bool live_table_find(const struct live_table *live, uint64_t address, struct live_entry *ret)
{
	struct live_page *page = NULL;
	const struct live_place *place = find_place(live, address, &page);
	if (place)
		block_of(live, address, place, ret);
	return place;
}

bool live_table_take(struct live_table *live, uint64_t address, struct live_entry *ret)
{
	struct live_page *page;
	struct live_place *place = find_place(live, address, &page);
	if (!place)
		return false;
	block_of(live, address, place, ret);
	if (live_size(place) == LIVE_SIZE_LARGE)
		live_large_map_remove(&live->large, address);
	live_close(live, page, place);
	return true;
}

static int by_key(const void *a, const void *b)
{
	const struct live_leaf *x = a, *y = b;
	return (x->key > y->key) - (x->key < y->key);
}

bool live_table_walk_begin(const struct live_table *live, struct live_walk *ret)
{
	*ret = (struct live_walk){.live = live};
	ret->leaves = malloc((live->leaf_count + 1) * sizeof(*ret->leaves));
	if (!ret->leaves)
		return false;
	for (uint64_t i = 0; i < 1ull << (64 - live->leaf_shift); i++) {
		if (live->leaves[i].pages)
			ret->leaves[ret->leaf_count++] = live->leaves[i];
	}
	if (ret->leaf_count)
		qsort(ret->leaves, ret->leaf_count, sizeof(*ret->leaves), by_key);
	return true;
}

/* In order of address: they nearly are. */
static size_t walk_page(const struct live_table *live, const struct live_page *page,
	uint64_t address, struct live_entry *ret)
{
	size_t count = 0;
	for (uint32_t i = 0; i < page->capacity; i++) {
		struct live_entry block;
		const struct live_place *place = &page->places[i];
		if (!place->owner)
			continue;
		block_of(live, address | live_offset(place->owner), place, &block);
		size_t at = count++;
		for (; at && ret[at - 1].address > block.address; at--)
			ret[at] = ret[at - 1];
		ret[at] = block;
	}
	return count;
}

size_t live_table_walk_next(struct live_walk *walk, struct live_entry *ret, size_t room)
{
	size_t count = 0;
	for (; walk->leaf < walk->leaf_count; walk->leaf++, walk->page = 0) {
		const struct live_leaf *leaf = &walk->leaves[walk->leaf];
		for (; walk->page < LIVE_LEAF_PAGES; walk->page++) {
			const struct live_page *page = &leaf->pages[walk->page];
			if (page->used > room - count)
				return count;
			count += walk_page(walk->live, page,
				leaf->key << LIVE_LEAF_BITS | (uint64_t)walk->page
								      << LIVE_PAGE_BITS,
				ret + count);
		}
	}
	return count;
}

void live_table_walk_end(struct live_walk *walk)
{
	free(walk->leaves);
	walk->leaves = NULL;
}
