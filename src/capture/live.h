/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The blocks that are live now, by address: the largest thing a collector keeps, so it is packed:
 * 24 bytes a block, at most 40 with the empty places (large parts: load 0.6 to 0.75; 8 parts, so
 * that growing one needs little room).
 */
#ifndef CAPTURE_LIVE_H
#define CAPTURE_LIVE_H

#include "base/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIVE_PARTS 8
#define LIVE_SIZE_BIG UINT32_MAX

/* A block. (thread, number): the number-th allocation of that thread; the block's identity in a
 * recording. */
struct live_block {
	uint64_t address; /* 0: empty place */
	uint64_t thread : 16;
	uint64_t number : 48;
	uint32_t site;
	uint32_t size; /* bytes; LIVE_SIZE_BIG: see live_size() */
};
_Static_assert(
	sizeof(struct live_block) == 24, "the collector's memory is this times the live blocks");

struct live_part {
	struct live_block *places;
	uint32_t capacity, used;
	uint32_t limit; /* grows before it holds more */
};

static inline bool live_same_address(uint64_t a, uint64_t b)
{
	return a == b;
}
DEFINE_MAP(live_big, uint64_t, uint64_t, hash_u64, live_same_address)

struct live {
	struct live_part parts[LIVE_PARTS];
	uint64_t blocks;
	struct live_big big; /* address to size of the few blocks of 4 GiB and more */
};

void live_init(struct live *live);
void live_deinit(struct live *live);

/*
 * Adds a block of `size` bytes. If there is one at its address already nothing is added and that
 * one is in *ret_old, else *ret_old is NULL. False: no memory.
 */
bool live_add(struct live *live, const struct live_block *block, uint64_t size,
	struct live_block **ret_old);

/* The block at address, or NULL. Valid until the next add or remove. */
struct live_block *live_find(struct live *live, uint64_t address);

void live_remove(struct live *live, struct live_block *block);

/* Asks the processor to fetch the place of an address that is wanted soon. */
void live_prefetch(const struct live *live, uint64_t address);

/* From so many blocks on the table is larger than the caches near the processor. */
#define LIVE_PREFETCH_BLOCKS (32u << 10)

/* The parts of the functions above, for a loop that has thousands of blocks to go through. */
static inline uint64_t live_hash(uint64_t address)
{
	uint64_t h = (address >> 3) * 0x9e3779b97f4a7c15ull;
	return h ^ (h >> 32);
}

static inline struct live_part *live_part_of(const struct live *live, uint64_t h)
{
	return (struct live_part *)&live->parts[h & (LIVE_PARTS - 1)];
}

static inline uint32_t live_place_of(const struct live_part *part, uint64_t h)
{
	return (uint32_t)(((h >> 32) * part->capacity) >> 32);
}

static inline uint32_t live_next(const struct live_part *part, uint32_t i)
{
	return i + 1 == part->capacity ? 0 : i + 1;
}

/*
 * The block at address, or the empty place where it would stand; NULL: the part has no places yet.
 */
static inline struct live_block *live_probe(
	const struct live_part *part, uint64_t h, uint64_t address)
{
	if (__builtin_expect(!part->capacity, 0))
		return NULL;
	struct live_block *at = &part->places[live_place_of(part, h)],
			  *end = part->places + part->capacity;
	while (at->address && at->address != address)
		at = at + 1 == end ? part->places : at + 1;
	return at;
}

/* Takes a block out. Moves each later block of the run back if the hole lies between its own place
 * and where it stands. */
static inline void live_close(struct live *live, struct live_part *part, struct live_block *block)
{
	uint32_t hole = (uint32_t)(block - part->places);
	for (uint32_t i = live_next(part, hole); part->places[i].address; i = live_next(part, i)) {
		uint32_t own = live_place_of(part, live_hash(part->places[i].address));
		bool between = hole <= i ? own <= hole || own > i : own <= hole && own > i;
		if (between) {
			part->places[hole] = part->places[i];
			hole = i;
		}
	}
	part->places[hole].address = 0;
	part->used--;
	live->blocks--;
}

/* Requested bytes of a block that is in the table. */
uint64_t live_size(const struct live *live, const struct live_block *block);

/*
 * Takes all blocks out, in ascending order of address, in memory of the caller's (free()); NULL
 * when out of memory or none. Sizes can still be asked for with live_size(). The table's memory is
 * given back on the way, so that the two are never there together.
 */
struct live_block *live_drain_sorted(struct live *live, size_t *ret_count);

#endif
