/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places in blocks that structures are declared to lie at, whatever comes to be known of the
 * blocks: remembered, looked at, and followed to others. Private to inferred_places.c, pool_check.c
 * and inferred_pools.c; what others ask is in inferred_pools.h.
 */
#ifndef HEAP_INFERRED_PLACES_H
#define HEAP_INFERRED_PLACES_H

#include "heap/blocks/block_numbers.h"
#include "heap/inferred/inferred_embedded.h"
#include "heap/inferred/inferred_pools.h"

/* Of this many places at most one may be something else: pointers that lead to what was there
 * before.
 */
#define PLACES_BROKEN_PART 16u

struct inferred_place {
	uint64_t offset;
	uint32_t type;
	uint32_t block;  /* index of inferred_pools.blocks */
	uint32_t next;   /* of its block's; NO_PLACE: none */
	uint32_t waits;  /* the next of those that are to be followed in its piece of memory */
	uint8_t basis;   /* enum inferred_basis */
	bool is_waiting; /* to be followed */
	bool is_read;    /* what is there was looked at: */
	bool fits;       /* … it can be of the type */
	bool has_words;  /* … it is not all 0, which could be of any type */
};
DEFINE_VEC(places, struct inferred_place)

#define NO_PLACE UINT32_MAX

/* A block with places in it. */
struct pool_block {
	uint32_t block;
	uint32_t first; /* index of inferred_pools.places */
	bool is_touched, is_taken;
};
DEFINE_VEC(pool_blocks, struct pool_block)

struct inferred_place_key {
	uint64_t offset;
	uint32_t block, type;
};
static inline uint64_t place_hash(struct inferred_place_key key)
{
	return hash_u64(
		key.offset * 0x9e3779b97f4a7c15ull ^ ((uint64_t)key.block << 32 | key.type));
}
static inline bool place_equal(struct inferred_place_key a, struct inferred_place_key b)
{
	return a.offset == b.offset && a.block == b.block && a.type == b.type;
}
DEFINE_MAP(place_map, struct inferred_place_key, bool, place_hash, place_equal)

static inline uint64_t piece_hash(uint64_t piece)
{
	return hash_u64(piece);
}
static inline bool piece_equal(uint64_t a, uint64_t b)
{
	return a == b;
}
DEFINE_MAP(piece_map, uint64_t, uint32_t, piece_hash, piece_equal)
DEFINE_VEC(pieces, uint64_t)

struct inferred_pools {
	struct places places;
	struct place_map known;
	struct pool_blocks blocks;
	struct block_numbers of_block;
	/* Pieces of memory with places whose pointers are to be followed, by number, and the first
	 * of these. Places lead to each other in any order: a piece is read once for all that are
	 * known in it, and for those that these lead to in it. */
	struct piece_map waiting;
	struct pieces queue; /* of such pieces, from `queue_first` on */
	size_t queue_first;
	uint8_t *bytes;           /* of the piece that was read last: … */
	uint64_t start;           /* … its address, */
	size_t len;               /* … and as much as could be read */
	struct space_u32 touched; /* blocks with new places */
	struct embedded_vec embedded;
	bool has_embedded;
};

/* Returns whether anything may lie at an offset of a block, by what is known of it: nothing is, it
 * is of characters, it has such after its members, or it is a pool. */
bool inferred_can_hold(const struct inferring *inferring, uint32_t block, uint64_t offset);
/* Returns whether what is at an offset of a block can be an object of a type. */
bool inferred_fits_at(struct inferring *inferring, uint32_t block, uint64_t offset, uint32_t type);
/* Returns whether a block may be an array of a type, plain, by what is in it, which decides where
 * no pointer leads to another element than the first: of elements that are not all 0 more than half
 * can be some, since arrays that double as they grow are filled to a half; of those that have
 * pointers to their own type, as headers of chunks have, 15 in 16. */
bool inferred_fits_array(
	struct inferring *inferring, uint32_t block, uint32_t element, bool is_linked);
/* Returns whether elements of a type, plain, of 512 bytes or more, follow the first one in `usable`
 * bytes from an address on: what is there can be some, but for one in 16, and has one of their
 * pointers. */
bool inferred_repeats(
	struct inferring *inferring, uint64_t address, uint64_t usable, uint32_t element);
/* Later follows the pointers of a place, by its number. False: no memory. */
bool inferred_wait_for(struct inferring *inferring, uint32_t number);

#endif
