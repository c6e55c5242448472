/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heap of musl's older allocator (up to 1.2.0, and as a choice since), without symbols
 * (src/malloc/oldmalloc: malloc.c, malloc_impl.h, aligned_alloc.c).
 *
 * Memory is cut into chunks that follow each other: the size of the one before, its own, what the
 * program may use. The lowest bit of a size says that the chunk is in use; both sizes that a chunk
 * has, its own and the one before the next, are equal. A run of chunks begins after one of no
 * size and ends with one:
 *
 *     page | 16 bytes | 1, size | … | size, size | … | size, 1
 *
 * Runs are of the break, of mappings, and of gaps in modules' data that the dynamic linker gives
 * away. Large blocks are mappings of their own: 16, length - 16, the block. Free chunks are in 64
 * rings, by size, that begin in libc's data.
 */
#ifndef HEAP_OLD_MALLOC_H
#define HEAP_OLD_MALLOC_H

#include "heap/blocks/areas.h"
#include "heap/blocks/window.h"
#include "process/address_space.h"

#define OLD_HEADER 16u
#define OLD_ALIGN 32u
#define OLD_IN_USE 1ull

/* heap_area.kind */
enum old_area {
	OLD_RUN,
	OLD_MAPPED /* one block; data: its address */
};

struct old_malloc {
	const struct address_space *space;
	uint64_t bins;                  /* where the rings begin (mal); 0: this is no such heap */
	struct heap_damage_vec *damage; /* borrowed */
};

/* The parts. */

/* Finds the rings: fills `bins`. */
struct error *old_bins_find(struct old_malloc *old) must_check_;

/* Adds the memory outside of areas that is full of pointers to free chunks. */
struct error *old_bins_metadata(const struct old_malloc *old, struct heap_ranges *ret) must_check_;

static inline uint64_t old_size(uint64_t word)
{
	return word & ~OLD_IN_USE;
}

/* Returns whether a word may be a chunk's size. */
static inline bool old_is_size(uint64_t word)
{
	return old_size(word) && old_size(word) % OLD_ALIGN == 0 && !(word >> 47);
}

#endif
