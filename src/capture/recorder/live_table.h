/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The blocks that are live now, by address: the largest thing a collector keeps, and what nearly
 * every event looks into.
 *
 * Blocks that are neighbours in the heap mostly come and go together, so they are together here:
 * each page of the heap (4 KiB) has a small table of its own, in the order of the addresses (a
 * block's own place is its offset's share of the table; where another block has that, it is in the
 * next empty one). A hash over all blocks, which this replaces, waited for main memory at nearly
 * every event. Pages are found through leaves of 256 KiB of address space each, and those through a
 * hash that stays in the nearest cache.
 *
 * A page grows until all its blocks are at their own places, if that costs at most 40 bytes a
 * block: blocks that are 32 bytes apart need 128 places, and then fill them wholly. A page says how
 * many of its blocks are elsewhere (`displaced`). For 0, as nearly always, a block is at one place
 * or not there: no search, and removing it is one store.
 *
 * A block takes 16 bytes, and up to twice as much with the empty places of its page; a page whose
 * leaf holds any takes 16 more.
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

/* Open addressing: `capacity` places, a power of two; none at all at first. Some are empty, unless
 * no block is displaced. */
struct live_page {
	struct live_place *places;
	uint16_t used, capacity;
	uint16_t displaced; /* blocks that are not at their own place */
	uint8_t shift;      /* capacity << shift: the bytes of a page */
	uint8_t number;     /* of the page in its leaf */
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

/* Capacities: 2, 4, 8 and so on, up to a place for each byte of a page. */
#define LIVE_RANKS LIVE_PAGE_BITS

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
	uint32_t tables_kept;               /* of empty pages, with more than LIVE_KEPT_CAPACITY */
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

/* Returns the pages of a leaf that is not at its own place in the table; NULL if there is none. */
struct live_page *live_leaf_elsewhere(const struct live_table *live, uint64_t key);

/* Returns the page of an address; NULL if its leaf has no blocks. */
static inline struct live_page *live_page_of(const struct live_table *live, uint64_t address)
{
	uint64_t key = address >> LIVE_LEAF_BITS;
	const struct live_leaf *own =
		&live->leaves[key * 0x9e3779b97f4a7c15ull >> live->leaf_shift];
	struct live_page *pages = own->pages;
	if (__builtin_expect(own->key != key, 0))
		pages = live_leaf_elsewhere(live, key);
	return pages ? &pages[address >> LIVE_PAGE_BITS & (LIVE_LEAF_PAGES - 1)] : NULL;
}

static inline uint32_t live_offset(uint64_t address)
{
	return address & ((1u << LIVE_PAGE_BITS) - 1);
}

/* The page has places. */
static inline struct live_place *live_own_place(const struct live_page *page, uint32_t offset)
{
	return page->places + (offset >> page->shift);
}

/* Returns the place of the block at address; NULL if there is none. The page has places. */
static inline struct live_place *live_place_of(const struct live_page *page, uint64_t address)
{
	uint32_t offset = live_offset(address);
	struct live_place *at = live_own_place(page, offset), *end = page->places + page->capacity;
	if (__builtin_expect(!page->displaced, 1))
		return at->owner && live_offset(at->owner) == offset ? at : NULL;
	while (at->owner && live_offset(at->owner) != offset)
		at = at + 1 == end ? page->places : at + 1;
	return at->owner ? at : NULL;
}

/* As live_place_for(), whatever the page is like. `page` is that of the address, or NULL. */
struct live_place *live_table_make_place(
	struct live_table *live, struct live_page *page, uint64_t address, struct live_page **ret);

/* Returns the block's own place if it is empty and no block of the page is displaced, else NULL.
 * `page`: that of the address, or NULL. */
static inline struct live_place *live_own_empty(const struct live_page *page, uint64_t address)
{
	if (__builtin_expect(!page || !page->places || page->displaced, 0))
		return NULL;
	struct live_place *own = live_own_place(page, live_offset(address));
	return __builtin_expect(!own->owner, 1) ? own : NULL;
}

/* Returns an empty place for a new block at address, which live_put() may fill next, and its page;
 * or, if there is a block already, its place; NULL if there is no memory. */
static inline struct live_place *live_place_for(
	struct live_table *live, uint64_t address, struct live_page **ret)
{
	struct live_page *page = live_page_of(live, address);
	*ret = page;
	struct live_place *own = live_own_empty(page, address);
	return own ? own : live_table_make_place(live, page, address, ret);
}

static inline struct live_leaf_head *live_leaf_of(struct live_page *page)
{
	return (struct live_leaf_head *)(page - page->number) - 1;
}

/* The places that an empty page keeps in any case. */
#define LIVE_KEPT_CAPACITY 8

/* How many empty pages keep more, LIVE_OWN_CAPACITY at most: programs that have few live blocks
 * empty and fill the same pages all the time. */
#define LIVE_TABLES_KEPT 512u

/* With this many places each block of an allocator has its own: they are 16 bytes apart or more. */
#define LIVE_OWN_CAPACITY 256

/* Called when a page has got its first block. */
static inline void live_page_begin(struct live_table *live, struct live_page *page)
{
	live->pages++;
	live->tables_kept -= page->capacity > LIVE_KEPT_CAPACITY;
	live->leaves_empty -= !live_leaf_of(page)->used++;
}

/* A part of struct live_place.owner that blocks have in common: those of a thread, with numbers
 * that are the same from bit 32 on. */
static inline uint64_t live_owner(uint32_t thread, uint64_t number)
{
	return (uint64_t)thread << 40 | number >> 32 << 56;
}

/* A new block at its own place, which is empty. `site` + 1, the offset in its page and live_owner()
 * are in `owner`. */
static inline void live_put_own(struct live_table *live, struct live_page *page,
	struct live_place *place, uint64_t owner, uint64_t what)
{
	place->owner = owner;
	place->what = what;
	live->blocks++;
	if (!page->used++)
		live_page_begin(live, page);
}

static inline void live_put(struct live_table *live, struct live_page *page,
	struct live_place *place, const struct live_entry *block)
{
	uint32_t offset = live_offset(block->address);
	page->displaced += place != live_own_place(page, offset);
	live_put_own(live, page, place,
		offset | (uint64_t)(block->site + 1) << 12 |
			live_owner(block->thread, block->number),
		(block->number & UINT32_MAX) | block->size << 32);
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

/* Called when a page has lost its last block. */
void live_page_empty(struct live_table *live, struct live_page *page);

/*
 * Takes the block out of a page that has displaced ones. Moves each later block of the run back if
 * the hole is between its own place and where it is: no tombstones, so a table that churns for
 * hours stays as fast as new.
 */
void live_close_displaced(struct live_page *page, struct live_place *place);

/* Takes a block out. */
static inline void live_close(
	struct live_table *live, struct live_page *page, struct live_place *place)
{
	if (__builtin_expect(!page->displaced, 1))
		*place = (struct live_place){0, 0};
	else
		live_close_displaced(page, place);
	live->blocks--;
	if (!--page->used)
		live_page_empty(live, page);
}

/* Prefetches the place of an address that will be looked up soon. */
static inline void live_table_prefetch(const struct live_table *live, uint64_t address)
{
	const struct live_page *page = live_page_of(live, address);
	if (page)
		__builtin_prefetch(live_own_place(page, live_offset(address)), 1);
}

#endif
