/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which blocks of a heap are wanted: by type, size, state, kind of leak, allocation
 * site, and by references between them. */
#ifndef HEAP_BLOCK_FILTER_H
#define HEAP_BLOCK_FILTER_H

#include "heap/heap_scan.h"
#include "heap/subtypes.h"

struct heap_block_filter {
	bool is_asked;        /* anything is */
	unsigned states;      /* bit set of enum block_state; 0: any */
	unsigned kinds;       /* bit set of enum search_kind; 0: any */
	uint64_t least, most; /* usable bytes */
	uint64_t containing;  /* an address in the block, if has_containing */
	bool has_containing;
	uint8_t *types;    /* by type: 1: it is wanted; NULL: any */
	uint64_t *holders; /* bit set of blocks: those that point to one; NULL: any */
	uint64_t *held;    /* bit set of blocks: those that one points to; NULL: any */
};

/* All blocks. */
void heap_block_filter_init(struct heap_block_filter *chosen);
void heap_block_filter_deinit(struct heap_block_filter *chosen);

/* Wants blocks of these types; or of those whose names a pattern fits, in which a * stands for any
 * characters. *ret_any: whether a type with blocks is among them. The scan is typed. */
struct error *heap_block_filter_subtypes(const struct heap_scan *scan,
	const struct subtype_set *types, struct heap_block_filter *chosen) must_check_;
struct error *heap_block_filter_pattern(const struct heap_scan *scan, const char *pattern,
	struct heap_block_filter *chosen, bool *ret_any) must_check_;

/* Wants blocks that point to the one at an address. ERROR_INPUT: none is there. */
struct error *heap_block_filter_holders(const struct heap_scan *scan, uint64_t address,
	struct heap_block_filter *chosen) must_check_;
/* Wants blocks that the one at an address points to; or, where no block is, that the word there
 * points to. ERROR_INPUT: neither is there. */
struct error *heap_block_filter_held(const struct heap_scan *scan, uint64_t address,
	struct heap_block_filter *chosen) must_check_;

/* Whether a block is wanted; number: SPACE_NONE, it is not in use. */
bool heap_block_filter_takes(const struct heap_block_filter *chosen, const struct heap_scan *scan,
	const struct heap_block *block, uint32_t number);
/* As above, for a block in use. */
bool heap_block_filter_takes_used(
	const struct heap_block_filter *chosen, const struct heap_scan *scan, uint32_t number);

#endif
