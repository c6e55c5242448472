/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that a program gives out piece by piece: of char or void by their declarations, with
 * structures in them that typed pointers lead to.
 *
 * Each declared pointer to a structure in a block of unknown type is remembered, if what is there
 * can be one, and so are the pointers in it that lead into such blocks: chains in pools are found
 * to their ends. Nothing else follows from that until the block is known to be a pool: enough
 * structures lie in it that don't overlap, and that can't be members of a larger one which debug
 * information describes. A block with a list_head in its middle, or with ten of them, is none. Then
 * what the structures point to is followed as of any other.
 */
#ifndef HEAP_INFERRED_POOLS_H
#define HEAP_INFERRED_POOLS_H

#include "heap/inferred/inferred_find.h"

/* Returns what is known of pools while types are inferred; NULL: no memory. */
struct inferred_pools *inferred_pools_create(void);
void inferred_pools_destroy(struct inferred_pools *pools);

/* A pointer that is declared to point to `type`, plain, leads so far into a block, and the block is
 * nothing that it would be the start of. */
void inferred_take_place(
	struct inferring *inferring, uint32_t block, uint64_t offset, uint32_t type);
/* Returns whether places are left whose pointers are to be followed. */
bool inferred_has_places(const struct inferring *inferring);
/* Follows those in a piece of memory. */
void inferred_follow_places(struct inferring *inferring);
/* Returns whether a block holds any such place. */
bool inferred_has_place_in(const struct inferring *inferring, uint32_t block);

/* Returns how many of the places in a block are of structures that an array of `element`, plain,
 * has not; 0 also if these are at most 1 in 16 of those that it has: pointers that lead to what was
 * there before. `*ret_is_agreed`: some are in other elements than the first. */
size_t inferred_places_against(
	const struct inferring *inferring, uint32_t block, uint32_t element, bool *ret_is_agreed);

/* Says which blocks are pools, of those in which places came to be known since this was called
 * last. Returns whether there are new ones: their structures are to be followed. */
bool inferred_take_pools(struct inferring *inferring);
/* At the end: names them by all that is known, and keeps what lies in them in the scan. */
void inferred_keep_pools(struct inferring *inferring);

#endif
