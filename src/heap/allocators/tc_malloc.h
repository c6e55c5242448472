/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heap of gperftools' tcmalloc, without symbols (src/span.h, pagemap.h, central_freelist.h,
 * thread_cache.h).
 *
 * Memory is cut into spans of pages of 8 KiB (as it was built, of 4 to 256 KiB): of blocks of one
 * size, or of one large block. A tree leads from pages to spans. A small block is free if it is in
 * the list of its span, of the central cache of its size, or of a thread's cache.
 */
#ifndef HEAP_TC_MALLOC_H
#define HEAP_TC_MALLOC_H

#include "heap/blocks/areas.h"
#include "heap/blocks/window.h"
#include "process/address_space.h"

#define TC_CLASSES_MAX 128u
/* Bytes of one list: of the central cache (CentralFreeList), of a thread's (FreeList). */
#define TC_CENTRAL_BYTES 1216u
#define TC_LIST_BYTES 32u

struct tc_span {
	uint64_t address, size;
	uint64_t free_list;
	uint32_t block_bytes; /* 0: one large block */
	uint32_t used;        /* blocks that are not in its list */
};
DEFINE_VEC(tc_spans, struct tc_span)

struct tc_malloc {
	const struct address_space *space;
	uint64_t root;                  /* of the tree; 0: this is no tcmalloc's heap */
	uint32_t page_bits;             /* a page has two to the power of it bytes */
	uint64_t votes;                 /* while that is found: spans that agree */
	bool has_sizes;                 /* there is a table of them, if nothing else */
	uint32_t sizes[TC_CLASSES_MAX]; /* by class; of class 0 none */
	uint32_t classes;
	struct tc_spans spans;          /* in use; ascending, none overlaps another */
	uint64_t blocks;                /* small ones that spans have room for */
	struct heap_ranges metadata;    /* spans that are not in use; tables of lists */
	struct heap_addresses kept;     /* free blocks of caches: ascending */
	uint64_t central;               /* the central cache's lists, from class 0 on; 0: unknown */
	struct heap_addresses caches;   /* of threads: where their lists are */
	struct heap_damage_vec *damage; /* borrowed */
};

/* The parts. */

/* Fills `sizes`; none is found: `classes` stays 0. */
struct error *tc_sizes_find(struct tc_malloc *tc) must_check_;
/* Fills `kept`, and adds the tables of the central cache to the metadata. */
struct error *tc_kept_find(struct tc_malloc *tc) must_check_;
/* Notes as damage how many blocks threads may just be moving from list to list. All else is known.
 */
struct error *tc_moving_find(struct tc_malloc *tc) must_check_;
/* Returns the span of a block of a small size that begins at an address; NULL: none does. */
const struct tc_span *tc_block_span(const struct tc_malloc *tc, uint64_t address);

#endif
