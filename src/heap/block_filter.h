/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A
 * filter of a heap's blocks: by type, size, state, kind of leak, allocation site and references. */
#ifndef HEAP_BLOCK_FILTER_H
#define HEAP_BLOCK_FILTER_H

#include "heap/heap_scan.h"
#include "heap/subtypes.h"

struct heap_block_filter {
	bool is_asked;        /* at least one condition is set */
	unsigned states;      /* bit set of enum block_state; 0: any */
	unsigned kinds;       /* bit set of enum search_kind; 0: any */
	uint64_t least, most; /* usable bytes */
	uint64_t containing;  /* an address in the block, if has_containing */
	bool has_containing;
	uint8_t *types;    /* by type: 1: it is wanted; NULL: any */
	uint64_t *holders; /* bit set of blocks: those that point to one; NULL: any */
	uint64_t *held;    /* bit set of blocks: those that one points to; NULL: any */
};

/* Initialises a filter that accepts all blocks. */
void heap_block_filter_init(struct heap_block_filter *chosen);
void heap_block_filter_deinit(struct heap_block_filter *chosen);

/* Restricts the filter to blocks of `types`, or of types whose names match `pattern` (* matches any
 * characters). *ret_any: whether a type with blocks matches. The scan has types. */
struct error *heap_block_filter_subtypes(const struct heap_scan *scan,
	const struct subtype_set *types, struct heap_block_filter *chosen) must_check_;
struct error *heap_block_filter_pattern(const struct heap_scan *scan, const char *pattern,
	struct heap_block_filter *chosen, bool *ret_any) must_check_;

/* Restricts the filter to blocks that point to the block at `address`. Returns ERROR_INPUT if there
 * is no block. */
struct error *heap_block_filter_holders(const struct heap_scan *scan, uint64_t address,
	struct heap_block_filter *chosen) must_check_;
/* Restricts the filter to blocks that the block at `address` points to, or, outside of blocks, the
 * word there. Returns ERROR_INPUT if there is neither. */
struct error *heap_block_filter_held(const struct heap_scan *scan, uint64_t address,
	struct heap_block_filter *chosen) must_check_;

/* Returns whether the filter accepts a block; `number` is SPACE_NONE if it is not in use. */
bool heap_block_filter_takes(const struct heap_block_filter *chosen, const struct heap_scan *scan,
	const struct heap_block *block, uint32_t number);
/* As above, for a block in use. */
bool heap_block_filter_takes_used(
	const struct heap_block_filter *chosen, const struct heap_scan *scan, uint32_t number);

#endif
