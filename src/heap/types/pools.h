/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that a program gives out piece by piece: obstacks, arenas, bump allocators. What lies in
 * one is known by the pointers that are declared to lead to it (inferred_pools.c).
 */
#ifndef HEAP_POOLS_H
#define HEAP_POOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "base/vec.h"

/* A place in a pool that declared pointers lead to, in no other such place. */
struct pool_object {
	uint64_t offset; /* bytes from the block's start */
	uint32_t type;   /* plain, of symbols/types.h */
	bool is_sure;    /* it is no part of something larger */
};
DEFINE_VEC(pool_objects, struct pool_object)

struct pool {
	uint32_t block;
	size_t first, count; /* its objects; ascending by offset */
};
DEFINE_VEC(pool_vec, struct pool)

struct pools {
	struct pool_vec pools; /* ascending by block */
	struct pool_objects objects;
};

void pools_deinit(struct pools *pools);

/* NULL: the block is none. */
const struct pool *pools_find(const struct pools *pools, uint32_t block);

struct heap_scan;
/* Returns what lies at an offset of a pool, or begins before it and reaches there; NULL: nothing
 * that is known. */
const struct pool_object *pools_object_at(
	const struct heap_scan *scan, const struct pool *pool, uint64_t offset);
/* Adds what a type of a pool's objects is called. */
void pools_add_name(const struct heap_scan *scan, uint32_t type, struct text *text);
/* Adds the object and the member that are at an offset of a block: "Rec at 96, its next".
 * Nothing: the block is no pool, or nothing is known to be there. */
void pools_add_member(
	const struct heap_scan *scan, uint32_t block, uint64_t offset, struct text *text);

/* Places of one type in a pool. */
struct pool_kind {
	uint32_t type;
	uint64_t places;
	uint64_t step; /* all are at multiples of it from the first; 0: they are not apart so */
};
DEFINE_VEC(pool_kinds, struct pool_kind)
/* Finds the kinds of a pool's objects, by how many there are. False: no memory. */
bool pools_kinds(const struct heap_scan *scan, const struct pool *pool, struct pool_kinds *ret);
/* Adds the evidence: ", pointers to Rec lead to 12,345 places in it, at multiples of 48 bytes".
 * Nothing: the block is no pool. */
void pools_add_evidence(const struct heap_scan *scan, uint32_t block, struct text *text);

#endif
