/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who points at blocks, layer by layer, up to what holds them from outside. Referrers that are of
 * one type are one row with a count, so that a million entries of a cache are one line; what is
 * held by others of its own type stays in that row: a list is one layer. Each block is met once.
 */
#ifndef HEAP_WHY_H
#define HEAP_WHY_H

#include "base/vec.h"
#include "heap/block_filter.h"
#include "heap/heap_scan.h"
#include "heap/subtypes.h"

/* As many as there are: each block is met once. */
#define WHY_ALL_LAYERS UINT32_MAX

/* Blocks of one type that point to blocks of the layer below. */
struct why_row {
	unsigned layer; /* 1: they point at what was asked for */
	uint32_t type, target_type;
	bool repeats; /* some are held by others of the row, as the nodes of a list are */
	uint64_t blocks;
	uint64_t example, offset; /* one of them: the pointer is there in it */
	uint64_t target, into;    /* … and points so far into that block */
};
DEFINE_VEC(why_rows, struct why_row)

/* A word outside of blocks that points to one of a layer. */
struct why_root {
	unsigned layer; /* 0: at what was asked for itself */
	uint32_t root;  /* of scan->roots */
	uint64_t address;
	uint64_t target, into;
	/* On a stack, in no variable that is known: it may be left from before. */
	bool is_unnamed;
};
DEFINE_VEC(why_roots, struct why_root)

struct why {
	uint64_t asked_blocks, asked_bytes;
	uint64_t asked;         /* address of one, the last */
	struct why_rows rows;   /* by layer, those of the most blocks first */
	struct why_roots roots; /* by layer; what is named, and registers, before the rest */
	unsigned layers;
	bool cut; /* there is more beyond the last layer that was asked for */
};

struct reverse;
/* Of one block, or (block SPACE_NONE) of all of these types (NULL: of any) that are chosen (NULL:
 * all are). `layers`: at most this many, or WHY_ALL_LAYERS. `reverse`: of the graph as it is; NULL:
 * it is made. */
struct error *heap_why(const struct heap_scan *scan, uint32_t block,
	const struct subtype_set *types, const struct heap_block_filter *chosen, unsigned layers,
	const struct reverse *reverse, struct why *ret) must_check_;
void heap_why_deinit(struct why *why);

#endif
