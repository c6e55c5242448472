/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The blocks that are live now, by address: the largest thing a collector keeps, and what nearly
 * every event looks into.
 *
 * Blocks that are neighbours in the heap mostly come and go together, so they are together here:
 * each page of the heap (4 KiB) has a small table of its own, in the order of the addresses (a
 * block's place is its offset's share of the table, or soon after it). A hash over all blocks,
 * which this replaces, waited for main memory at nearly every event. Pages are found through leaves
 * of 256 KiB of address space each, and those through a hash that stays in the nearest cache.
 *
 * A block takes 16 bytes, 20 to 28 with the empty places of a page that holds more than a few; a
 * page whose leaf holds any takes 16 more. Where the blocks of a heap are born in no order at all,
 * so that all its pages grow at the same time, what they grew out of comes to 50 bytes a block; no
 * usual allocator does that to fresh memory.
 */
#ifndef CAPTURE_LIVE_TABLE_H
#define CAPTURE_LIVE_TABLE_H

#include "base/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A block. (thread, number): the number-th allocation of that thread; the block's identity in a
 * recording. */
struct live_entry {
	uint64_t address;
	uint64_t size; /* requested bytes */
	uint64_t number;
	uint32_t thread; /* below 2^16 */
	uint32_t site;   /* below LIVE_SITES_MAX */
};

#define LIVE_SITES_MAX ((1u << 28) - 1)

/* A block as it is kept: the offset in its page, and the rest. Both 0: an empty place. */
struct live_place {
	uint64_t owner; /* offset: 12 | site + 1: 28 | thread: 16 | number, bits 32 to 39 */
	uint64_t what;  /* number, bits 0 to 31: 32 | size: 32 */
};

/* The size of a block whose own size or number does not fit: both are in `large`. */
#define LIVE_SIZE_LARGE UINT32_MAX
#define LIVE_NUMBER_BITS 40

#define LIVE_PAGE_BITS 12
#define LIVE_LEAF_BITS 18
#define LIVE_LEAF_PAGES (1u << (LIVE_LEAF_BITS - LIVE_PAGE_BITS))

/* Open addressing: `capacity` places, of which some are always empty; none at all at first. */
struct live_page {
	struct live_place *places;
	uint16_t used, capacity;
	uint16_t limit; /* grows before it holds more */
	uint8_t rank;   /* of the capacity among those there are */
	uint8_t number; /* of the page in its leaf */
};

struct live_leaf {
	uint64_t key; /* address >> LIVE_LEAF_BITS */
	struct live_page *pages;
};

/* Stands right before the pages of a leaf. */
struct live_leaf_head {
	uint64_t key;
	uint64_t used; /* pages that hold blocks */
};
_Static_assert(sizeof(struct live_leaf_head) == sizeof(struct live_page), "one place before them");

/* How many leaves without blocks are kept, since some fill and empty again and again. */
#define LIVE_LEAVES_KEPT 1024u

struct live_large {
	uint64_t size, number;
};

static inline bool live_same_address(uint64_t a, uint64_t b)
{
	return a == b;
}
DEFINE_MAP(live_large_map, uint64_t, struct live_large, hash_u64, live_same_address)

#define LIVE_RANKS 24

/* Where tables of pages come from: portions of large mappings, handed on when given back. What is
 * free is all zero but for the links. */
struct live_pool {
	void *mappings; /* the newest; each begins with the one before it and its size */
	char *next, *end;
	size_t mapped;                       /* bytes, of all mappings */
	struct live_place *free[LIVE_RANKS]; /* linked through `what` */
	uint32_t free_ranks;                 /* bit set of those that have any */
};

struct live_table {
	struct live_leaf *leaves; /* open addressing, a power of two */
	unsigned leaf_shift;      /* 64 - log2 of their number */
	uint32_t leaf_count, leaves_empty;
	struct live_leaf_head *leaves_free; /* linked through `key`, else all zero */
	uint64_t blocks, pages;             /* pages: those that hold blocks */
	struct live_pool pool;
	struct live_large_map large;
};

void live_table_init(struct live_table *live);
void live_table_deinit(struct live_table *live);

enum live_added { LIVE_ADDED, LIVE_OCCUPIED, LIVE_NO_MEMORY };

/* Adds a block. Returns LIVE_OCCUPIED, and changes nothing, if there is a block at that address. */
enum live_added live_table_add(struct live_table *live, const struct live_entry *block);

/* Finds the block at an address. Returns false if there is none. */
bool live_table_find(const struct live_table *live, uint64_t address, struct live_entry *ret);

/* Finds the block at an address and removes it. Returns false if there is none. */
bool live_table_take(struct live_table *live, uint64_t address, struct live_entry *ret);

/* All blocks, by ascending address. The table must not change between begin and end. */
struct live_walk {
	const struct live_table *live;
	struct live_leaf *leaves; /* sorted */
	size_t leaf_count, leaf, page;
};

/* The most blocks of one page; the room that live_table_walk_next() needs. */
#define LIVE_WALK_ROOM (1u << LIVE_PAGE_BITS)

/* Begins a walk. Returns false if there is no memory; the walk is not to be ended then. */
bool live_table_walk_begin(const struct live_table *live, struct live_walk *ret);

/* Gives the next blocks, at most `room`, which is at least LIVE_WALK_ROOM. Returns their number; 0
 * at the end. */
size_t live_table_walk_next(struct live_walk *walk, struct live_entry *ret, size_t room);
void live_table_walk_end(struct live_walk *walk);

/* Number of blocks from which the table is larger than the caches near the processor. */
#define LIVE_PREFETCH_BLOCKS (32u << 10)

/* The parts of the functions above, for a loop that has thousands of blocks to go through. */

/* Returns the page of an address; NULL if its leaf has no blocks. */
static inline struct live_page *live_page_of(const struct live_table *live, uint64_t address)
{
	uint64_t key = address >> LIVE_LEAF_BITS, mask = (1ull << (64 - live->leaf_shift)) - 1;
	uint64_t i = key * 0x9e3779b97f4a7c15ull >> live->leaf_shift;
	while (live->leaves[i].key != key && live->leaves[i].pages)
		i = (i + 1) & mask;
	struct live_page *pages = live->leaves[i].pages;
	return pages ? &pages[address >> LIVE_PAGE_BITS & (LIVE_LEAF_PAGES - 1)] : NULL;
}

static inline uint32_t live_offset(uint64_t address)
{
	return address & ((1u << LIVE_PAGE_BITS) - 1);
}

static inline uint32_t live_own_place(const struct live_page *page, uint32_t offset)
{
	return offset * page->capacity >> LIVE_PAGE_BITS;
}

/* Returns the place of the block at address, or the empty one where it would be. The page has
 * places. */
static inline struct live_place *live_probe(const struct live_page *page, uint64_t address)
{
	uint32_t offset = live_offset(address);
	struct live_place *at = page->places + live_own_place(page, offset),
			  *end = page->places + page->capacity;
	while (at->owner && live_offset(at->owner) != offset)
		at = at + 1 == end ? page->places : at + 1;
	return at;
}

/* Returns the page of an address with room for one more block; NULL if there is no memory. */
struct live_page *live_table_room(struct live_table *live, uint64_t address);

static inline struct live_leaf_head *live_leaf_of(struct live_page *page)
{
	return (struct live_leaf_head *)(page - page->number) - 1;
}

static inline void live_put(struct live_table *live, struct live_page *page,
	struct live_place *place, const struct live_entry *block)
{
	place->owner = live_offset(block->address) | (uint64_t)(block->site + 1) << 12 |
		       (uint64_t)block->thread << 40 | block->number >> 32 << 56;
	place->what = (block->number & UINT32_MAX) | block->size << 32;
	live->blocks++;
	if (!page->used++) {
		live->pages++;
		live->leaves_empty -= !live_leaf_of(page)->used++;
	}
}

static inline uint32_t live_size(const struct live_place *place)
{
	return (uint32_t)(place->what >> 32);
}

static inline uint32_t live_site(const struct live_place *place)
{
	return (uint32_t)(place->owner >> 12 & LIVE_SITES_MAX) - 1;
}

static inline uint32_t live_thread(const struct live_place *place)
{
	return place->owner >> 40 & 0xffff;
}

static inline uint64_t live_number(const struct live_place *place)
{
	return place->owner >> 56 << 32 | (place->what & UINT32_MAX);
}

/* The places that an empty page keeps. */
#define LIVE_KEPT_CAPACITY 8

/* Called when a page has lost its last block. */
void live_page_empty(struct live_table *live, struct live_page *page);

/* Takes a block out. Moves each later block of the run back if the hole lies between its own place
 * and where it is: no tombstones, so a table that churns for hours stays as fast as new. */
static inline void live_close(
	struct live_table *live, struct live_page *page, struct live_place *place)
{
	struct live_place *places = page->places;
	uint32_t capacity = page->capacity, hole = (uint32_t)(place - places), i = hole;
	for (;;) {
		i = i + 1 == capacity ? 0 : i + 1;
		if (!places[i].owner)
			break;
		uint32_t own = live_own_place(page, live_offset(places[i].owner));
		bool between = hole <= i ? own <= hole || own > i : own <= hole && own > i;
		if (between) {
			places[hole] = places[i];
			hole = i;
		}
	}
	places[hole] = (struct live_place){0, 0};
	live->blocks--;
	if (!--page->used)
		live_page_empty(live, page);
}

/* Prefetches the place of an address that will be looked up soon. */
static inline void live_table_prefetch(const struct live_table *live, uint64_t address)
{
	const struct live_page *page = live_page_of(live, address);
	if (page)
		__builtin_prefetch(page->places + live_own_place(page, live_offset(address)), 1);
}

#endif
