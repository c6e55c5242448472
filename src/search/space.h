/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks by address, for a search that looks up every word of a heap. A block takes 4 bytes, a
 * lookup two or three loads.
 *
 * The address space is cut into regions of 64 KiB. A region has the number of its first block and
 * how many blocks begin before each of its pages; the blocks' offsets in their regions are in one
 * array. A block of SPACE_LARGE bytes or more covers many regions, of which only the first has to
 * be there: an address in another one is found among the large blocks by bisection.
 *
 * Once all blocks are there, space_index() makes bit sets of where they begin, a quarter as much
 * memory as the offsets of small blocks: then most lookups take one load from memory. Where blocks
 * begin at other addresses than multiples of 16, offsets are compared as before.
 */
#ifndef SEARCH_SPACE_H
#define SEARCH_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/util.h"
#include "base/vec.h"

#define SPACE_NONE UINT32_MAX
#define SPACE_HUGE UINT16_MAX /* bytes; larger sizes are kept in a map, since they are few */
#define SPACE_BLOCKS_MAX (1u << 31)

#define SPACE_REGION_BITS 16
#define SPACE_PAGE_BITS 12
#define SPACE_PAGES (1u << (SPACE_REGION_BITS - SPACE_PAGE_BITS))
#define SPACE_LARGE (16u << 20)
#define SPACE_MARKED 256u
/* User space of aarch64; x86-64 with four levels of page tables has half of it. */
#define SPACE_ADDRESS_BITS 48

struct space_region {
	uint64_t before_end;         /* where the last block before this region ends */
	uint32_t first;              /* number of the first block that begins here or later */
	uint32_t count;              /* number of blocks that begin here */
	uint32_t key;                /* address >> SPACE_REGION_BITS */
	uint16_t pages[SPACE_PAGES]; /* blocks that begin here before each page */
};

/* Where blocks begin in a page: a bit for each multiple of 16. */
#define SPACE_GRAIN_BITS 4
#define SPACE_STARTS_WORDS (1u << (SPACE_PAGE_BITS - SPACE_GRAIN_BITS - 6))
struct space_starts {
	uint64_t bits[SPACE_STARTS_WORDS];
	uint32_t first; /* number of the first block that begins here or later */
	uint8_t before[SPACE_STARTS_WORDS]; /* of each word: blocks that begin here before it */
};
/* Of `before[0]`, which is 0 otherwise: a block of the region begins at no multiple. */
#define SPACE_UNEVEN 1u

struct space_large {
	uint64_t start, end;
	uint32_t block;
};

static inline bool space_same(uint32_t a, uint32_t b)
{
	return a == b;
}
static inline uint64_t space_hash(uint32_t key)
{
	return hash_u64(key);
}

DEFINE_VEC(space_regions, struct space_region)
DEFINE_VEC(space_larges, struct space_large)
DEFINE_VEC(space_starts_vec, struct space_starts)
DEFINE_VEC(space_u16, uint16_t)
DEFINE_VEC(space_u32, uint32_t)
DEFINE_MAP(space_sizes, uint32_t, uint64_t, space_hash, space_same)

struct space {
	uint32_t *
		top[1u << (SPACE_ADDRESS_BITS - 32)]; /* by address >> 32: numbers of regions + 1 */
	struct space_regions regions;                 /* ascending */
	struct space_starts_vec starts; /* SPACE_PAGES of each region; none before space_index() */
	struct space_larges larges;     /* ascending */
	struct space_u32 marks;         /* in which region every SPACE_MARKED-th block begins */
	struct space_u16 offsets;       /* of each block in its region */
	struct space_u16 sizes;         /* SPACE_HUGE: in `huge` */
	struct space_sizes huge;
	uint64_t low, high; /* all blocks lie in [low, high) */
};

void space_init(struct space *space);
void space_deinit(struct space *space);

/* Makes room for `blocks` blocks in all. Returns false if there is no memory. */
bool space_reserve(struct space *space, uint32_t blocks);

enum space_added {
	SPACE_ADDED,
	SPACE_REFUSED,   /* not above the one before, overlaps it, or is no address */
	SPACE_NO_MEMORY, /* or more than SPACE_BLOCKS_MAX */
};

/* Adds a block. Blocks come by ascending address and are numbered from 0. */
enum space_added space_add(struct space *space, uint64_t address, uint64_t size);

/* Moves all blocks of `after` to `space`; they lie after those of `space`. The caller still calls
 * space_deinit() for `after`. Returns false if there is no memory or there are too many blocks. */
bool space_append(struct space *space, struct space *after);

/* Makes lookups fast, once all blocks were added. Without memory for that they are as before. */
void space_index(struct space *space);

static inline uint32_t space_count(const struct space *space)
{
	return (uint32_t)space->sizes.len;
}

static inline uint64_t space_size(const struct space *space, uint32_t block)
{
	uint16_t size = space->sizes.data[block];
	return size < SPACE_HUGE ? size : *space_sizes_find(&space->huge, block);
}

/* Returns the address of a block, by a bisection among the few regions between two marks. It is
 * slower than space_walk_address(). */
uint64_t space_address(const struct space *space, uint32_t block);

/* Returns the number of an address's region, + 1; 0 if no small block is there. */
static inline uint32_t space_region_number(const struct space *space, uint64_t address)
{
	const uint32_t *leaf = space->top[address >> 32];
	return leaf ? leaf[address >> SPACE_REGION_BITS & 0xffff] : 0;
}

/* Returns the region of an address; NULL if no small block is there. */
static inline const struct space_region *space_region(const struct space *space, uint64_t address)
{
	uint32_t number = space_region_number(space, address);
	return number ? &space->regions.data[number - 1] : NULL;
}

/* Returns the starts of an address's page, in the region `number` - 1; after space_index(). */
static inline const struct space_starts *space_starts_at(
	const struct space *space, uint32_t number, uint64_t address)
{
	return &space->starts.data[(size_t)(number - 1) * SPACE_PAGES +
				   (address >> SPACE_PAGE_BITS & (SPACE_PAGES - 1))];
}

/* Gives the blocks that begin in the page of an address, as indices into the region's blocks:
 * [*ret_low, *ret_high). */
static inline void space_page(
	const struct space_region *region, uint64_t address, uint32_t *ret_low, uint32_t *ret_high)
{
	uint32_t page = address >> SPACE_PAGE_BITS & (SPACE_PAGES - 1);
	*ret_low = region->pages[page];
	*ret_high = page + 1 < SPACE_PAGES ? region->pages[page + 1] : region->count;
}

/* How far a block of a page mostly is from where it would be if all had the same size. */
#define SPACE_GUESS_NEAR 8u

/* Returns which of the blocks [low, high) of a page begins at an address if all have the same size.
 */
static inline uint32_t space_guess(uint64_t address, uint32_t low, uint32_t high)
{
	uint32_t in_page = address & ((1u << SPACE_PAGE_BITS) - 1);
	return low + ((in_page * (high - low)) >> SPACE_PAGE_BITS);
}

/* Prefetch what space_find() will read, in two steps. */
static inline void space_prefetch_region(const struct space *space, uint64_t address)
{
	const struct space_region *region = space_region(space, address);
	if (region && !space->starts.len)
		prefetch(region);
}

static inline void space_prefetch(const struct space *space, uint64_t address)
{
	uint32_t number = space_region_number(space, address), low, high;
	if (!number)
		return;
	const struct space_region *region = &space->regions.data[number - 1];
	if (space->starts.len) {
		const struct space_starts *starts = space_starts_at(space, number, address);
		prefetch(starts);
		prefetch((const char *)(starts + 1) - 1);
		return;
	}
	space_page(region, address, &low, &high);
	/* Those that space_find() compares first may lie in two lines. */
	const uint16_t *guess =
		space->offsets.data + region->first + space_guess(address, low, high);
	prefetch(guess - SPACE_GUESS_NEAR);
	prefetch(guess + SPACE_GUESS_NEAR);
}

/*
 * Returns the block that an address in [space->low, space->high) points into, and in *ret_offset
 * the distance from its start in bytes. A block of no bytes counts as one of one byte. Returns
 * SPACE_NONE if there is no such block.
 */
uint32_t space_find(const struct space *space, uint64_t address, uint64_t *ret_offset);

/* Gives the addresses of all blocks in ascending order, for inner loops: the caller increments
 * `block`, which begins at 0. */
struct space_walk {
	const struct space *space;
	uint32_t region, block;
};
/* Returns the number of the region that a block begins in. */
uint32_t space_region_of(const struct space *space, uint32_t block);
static inline uint64_t space_walk_address(struct space_walk *walk)
{
	const struct space_region *r = &walk->space->regions.data[walk->region];
	while (walk->block >= r->first + r->count)
		r = &walk->space->regions.data[++walk->region];
	return ((uint64_t)r->key << SPACE_REGION_BITS) + walk->space->offsets.data[walk->block];
}

#endif
