/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heap of mimalloc 2, without symbols (include/mimalloc/types.h, src/segment.c, page.c).
 *
 * Memory comes by segments of 32 MiB (8 or 64 MiB before 2.0.9), or larger ones for one huge block
 * each. A segment begins with a table of its slices of 64 KiB:
 *
 *     | head | slice 0: the table itself | slice 1: a page | … | free ones | …
 *
 * The entry of a page's first slice describes the page: the size of its blocks, how many of them
 * were ever given out, and three lists of free ones: `free`, what the owner freed lately, and what
 * other threads freed. What they free of a full page goes to its owner's heap instead.
 *
 * Neither the head nor the entries are alike in all versions, and with keys (secure builds) links
 * are encoded: each is recognised by what fits.
 */
#ifndef HEAP_MI_MALLOC_H
#define HEAP_MI_MALLOC_H

#include "heap/blocks/areas.h"
#include "heap/blocks/window.h"
#include "process/address_space.h"

#define MI_SLICE_BYTES (64ull << 10)

struct mi_page {
	uint64_t about;      /* where its description is (mi_page_t) */
	uint64_t start, end; /* its slices */
	uint64_t first;      /* its first block */
	uint64_t block_bytes;
	uint32_t given; /* blocks that were given out once: the first ones */
	uint32_t room;  /* for this many blocks */
	uint32_t used;  /* not in the owner's lists: those in others' are still among them */
	uint64_t free_list, own_list, others_list;
	uint64_t heap; /* its owner's; 0: its thread has ended */
	uint64_t keys[2];
	bool has_keys;
};
DEFINE_VEC(mi_pages, struct mi_page)

struct mi_segment {
	uint64_t address, size;
	uint64_t thread; /* 0: it has ended */
	size_t from, to; /* of its pages, by number */
};
DEFINE_VEC(mi_segments, struct mi_segment)

/* How segments look whose tables make sense. */
struct mi_sample {
	const struct mi_shape *shape; /* static; NULL: there is none */
	unsigned table;               /* where the table begins, in words */
	uint64_t cookie_key;          /* what the segments' addresses are encoded with */
};

struct mi_malloc {
	const struct address_space *space;
	struct mi_segments segments;    /* with pages in use; ascending, none overlaps another */
	struct mi_pages pages;          /* ascending, none overlaps another */
	uint64_t blocks;                /* that all pages have given out */
	struct heap_ranges metadata;    /* segments without pages */
	struct heap_addresses kept;     /* blocks that others freed, in heaps' lists: ascending */
	struct mi_sample sample;        /* the last one's */
	size_t refused;                 /* segments' heads with tables that make no sense */
	bool takes_parts;               /* of such tables, if something else tells the segment */
	struct heap_damage_vec *damage; /* borrowed */
};

/* The parts. */

/* Fills `segments`, `pages` and `metadata`. */
struct error *mi_segments_find(struct mi_malloc *mi) must_check_;
/* Fills `kept`. */
struct error *mi_kept_find(struct mi_malloc *mi) must_check_;
/* Returns whether a heap (mi_heap_t) is at an address that belongs to a thread, by the thread's
 * number. */
bool mi_heap_is_of(const struct mi_malloc *mi, uint64_t heap, uint64_t thread);

/* How an entry of a segment's table looks like: the numbers of its words. */
struct mi_shape {
	uint8_t words;
	uint8_t free_list, own_list, others_list, heap;
	uint8_t used;  /* 32 bits; 16 if the blocks' size has a word of its own */
	uint8_t bytes; /* of blocks; 0: the other half of `used` */
	uint8_t first; /* where the first block is; 0: it does not say */
	uint8_t keys;  /* 0: none */
};
#define MI_SHAPES 5u
extern const struct mi_shape mi_shapes[MI_SHAPES];
#define MI_ENTRY_WORDS_MAX 14u
size_t mi_shape_bytes(const struct mi_shape *shape);
/* Reads an entry, `about` of which is known, as well as `start` and `end`; `first` stays 0 where
 * the entry does not say it. False: there is no page of this shape. */
bool mi_shape_read(const struct mi_shape *shape, const uint64_t *entry, struct mi_page *page);
/* Says where blocks begin in pages from number `from` on, whose entries don't. */
void mi_place_blocks(struct mi_pages *pages, size_t from);

/* Returns the page that has an address; NULL: none. */
const struct mi_page *mi_page_at(const struct mi_malloc *mi, uint64_t address);
/* Finds the number of the block that begins at an address of a page; false: none does. */
static inline bool mi_block_number(const struct mi_page *page, uint64_t address, uint32_t *ret)
{
	uint64_t into = address - page->first, number = into / page->block_bytes;
	*ret = (uint32_t)number;
	return address >= page->first && number < page->given && into % page->block_bytes == 0;
}
/* Returns what a link stands for that is encoded with keys, where `null` stands for the end. */
uint64_t mi_decode(uint64_t link, const uint64_t *keys, uint64_t null);

#endif
