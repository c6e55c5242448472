/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heap of jemalloc 5, without symbols (include/jemalloc/internal/rtree.h, edata.h, before 5.3
 * extent_structs.h, cache_bin.h).
 *
 * Memory is cut into extents: slabs, which hold blocks of one size, and ones of one large block. A
 * tree leads from each extent's pages to its description: its root is a table in the library's
 * data, with an entry for each GiB; a leaf is a table with a word for each page. What a page is,
 * the library was built with (--with-lg-page): 4 KiB on x86-64; on aarch64 often 64 KiB, as of
 * Debian's.
 */
#ifndef HEAP_JE_MALLOC_H
#define HEAP_JE_MALLOC_H

#include "heap/blocks/areas.h"
#include "heap/blocks/window.h"
#include "process/address_space.h"

struct je_extent {
	uint64_t address, size;
	uint64_t about;       /* where its description is (edata_t, extent_t) */
	uint64_t block_bytes; /* of each of its blocks */
	uint32_t arena;       /* jemalloc's number */
	bool is_slab;
};
DEFINE_VEC(je_extents, struct je_extent)

/* What differs by version: where a description's first word has what, by bit. */
struct je_shape {
	uint8_t state; /* 0: it is in the leaf's word instead */
	uint8_t classes, free_count;
	bool counts; /* threads' stacks have their length, instead of both their ends */
};

#define JE_PAGE_BITS_MAX 16u

struct je_malloc {
	const struct address_space *space;
	const struct je_shape *shape; /* static */
	unsigned page_bits;           /* a page has two to the power of it bytes */
	uint64_t root;                /* of the tree; 0: this is no jemalloc's heap */
	struct je_extents extents;    /* in use; ascending, none overlaps another */
	struct heap_ranges metadata;  /* descriptions, and extents that are not in use */
	struct heap_addresses kept;   /* free blocks that threads keep: ascending */
	struct heap_addresses own;    /* the tables with them are blocks, too: ascending */
};

/* The parts. */

/* Fills `root`, `extents` and `metadata`. */
struct error *je_tree_find(struct je_malloc *je) must_check_;
/* Fills `kept` and `own`. */
struct error *je_kept_find(struct je_malloc *je) must_check_;

/* Returns how many blocks a slab has at most (sc.h: SC_SLAB_MAXREGS): as many of 8 bytes as a page
 * has. */
static inline uint32_t je_slab_blocks_max(const struct je_malloc *je)
{
	return 1u << (je->page_bits - 3);
}
/* Returns the bytes that a block of a size class has. */
uint64_t je_class_bytes(unsigned index);
/* The block that an address is in; false: in none. */
bool je_block_at(const struct je_malloc *je, uint64_t address, uint64_t *ret);

#endif
