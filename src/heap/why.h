/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds what references blocks, layer by layer, up to the roots. Referrers of one type are one row
 * with a count, so that a million entries of a cache are one line; blocks referenced by others of
 * their own type stay in that row: a list is one layer. Each block is visited once.
 */
#ifndef HEAP_WHY_H
#define HEAP_WHY_H

#include "base/vec.h"
#include "heap/block_filter.h"
#include "heap/heap_scan.h"
#include "heap/subtypes.h"

/* No limit: each block is visited once. */
#define WHY_ALL_LAYERS UINT32_MAX

/* Blocks of one type that point to blocks of the layer below. */
struct why_row {
	unsigned layer; /* 1: they point to the given blocks */
	uint32_t type, target_type;
	bool repeats; /* some are referenced by others of the row, as the nodes of a list are */
	uint64_t blocks;
	uint64_t example, offset; /* a block of the row, and the pointer in it */
	uint64_t target, into;    /* the block that the pointer leads to, and how far into it */
};
DEFINE_VEC(why_rows, struct why_row)

/* A word outside of blocks that points to a block of a layer. */
struct why_root {
	unsigned layer; /* 0: to the given blocks themselves */
	uint32_t root;  /* of scan->roots */
	uint64_t address;
	uint64_t target, into;
	/* On a stack, in no known variable: it may be stale. */
	bool is_unnamed;
};
DEFINE_VEC(why_roots, struct why_root)

struct why {
	uint64_t asked_blocks, asked_bytes;
	uint64_t asked;         /* address of one, the last */
	struct why_rows rows;   /* by layer, those of the most blocks first */
	struct why_roots roots; /* by layer; what is named, and registers, before the rest */
	unsigned layers;
	bool cut; /* there are more layers than requested */
};

struct reverse;
/* Finds what references one block, or (block SPACE_NONE) all blocks of `types` (NULL: of any) that
 * `chosen` accepts (NULL: all). `layers`: their maximum number, or WHY_ALL_LAYERS. `reverse`: the
 * reversed graph; NULL: it is made. */
struct error *heap_why(const struct heap_scan *scan, uint32_t block,
	const struct subtype_set *types, const struct heap_block_filter *chosen, unsigned layers,
	const struct reverse *reverse, struct why *ret) must_check_;
void heap_why_deinit(struct why *why);

#endif
