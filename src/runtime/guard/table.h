/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program allocates or frees, or an address is looked up; any thread, any moment.
 * May touch: the table.
 *
 * Which addresses are starts of plain blocks: one byte for each 16 bytes of address space, in
 * leaves that are made when a block is first seen there.
 *
 *   root: 2^21 pointers ──▶ leaf: 64 MiB of addresses = 2^22 marks, and one bit for each 4 KiB of
 *                                 addresses in which there ever was a start
 *
 * The bits make the search for the nearest start before an address short. The root and the leaves
 * are mapped without reservation: what has no blocks costs no memory. A tree of intervals would
 * need locks; a hash table would not find the nearest start.
 */
#ifndef RUNTIME_GUARD_TABLE_H
#define RUNTIME_GUARD_TABLE_H

#include "runtime/guard/guard.h"

#define TABLE_LEAF_SHIFT 26
#define TABLE_LEAVES (1u << 21)
#define TABLE_GRAIN_SHIFT 4
#define TABLE_MARKS (1u << (TABLE_LEAF_SHIFT - TABLE_GRAIN_SHIFT))
#define TABLE_PAGES (1u << (TABLE_LEAF_SHIFT - GUARD_PAGE_SHIFT))

enum table_mark {
	TABLE_NONE = 0,
	TABLE_LIVE = 1,
	TABLE_FREED = 2, /* and kept from reuse: its header can be read */
	TABLE_GONE = 3,  /* given back to libc; something else may be there by now */
	TABLE_RAW = 9,   /* libc's alone, where the table has lacked a leaf */
};

/*
 * What saves searches in a page: relaxed, set before the mark is, never cleared. Whether there is a
 * block, and how far it goes, its mark and its header say.
 *
 * covering: the start of the last block that reached into the page from before, as a distance from
 * the page's beginning in units of 16 bytes; 0: there was none. A block that is live or kept and
 * reaches into the page is that one.
 * large: one and the place, in these units, of the last large block that began in it; 0: none did.
 */
struct table_page {
	uint32_t covering, large;
};

struct table_leaf {
	uint8_t marks[TABLE_MARKS];       /* enum table_mark; release by who allocates */
	uint64_t pages[TABLE_PAGES / 64]; /* relaxed; bits are only ever set, before the mark is */
	struct table_page notes[TABLE_PAGES];
};

extern struct table_leaf **table_root; /* NULL until table_init(); entries: release */

/* Maps the root. Returns whether there was room. */
bool table_init(void);

/* The mark of an address; NULL: there is no leaf. */
static inline uint8_t *table_mark(uint64_t address)
{
	if (rt_unlikely(address >> 47))
		return NULL;
	struct table_leaf *leaf =
		__atomic_load_n(&table_root[address >> TABLE_LEAF_SHIFT], __ATOMIC_ACQUIRE);
	return leaf ? &leaf->marks[(address >> TABLE_GRAIN_SHIFT) % TABLE_MARKS] : NULL;
}

/* Notes in which page a large block begins, and into which it reaches: before it is added, and when
 * it has grown. */
void table_cover(uint64_t start, uint64_t bytes);

/* A part of the table could not be made: there was no memory, or the program has forbidden system
 * calls. Only ever set. */
extern bool table_lacks_leaves;

/* Returns whether a block at that address may be libc's without our knowing it. */
static inline bool table_knows_nothing(uint64_t address)
{
	if (rt_likely(!__atomic_load_n(&table_lacks_leaves, __ATOMIC_ACQUIRE)) || address >> 47)
		return false;
	const uint8_t *mark = table_mark(address);
	return !mark || (!(address & 15) && *mark == TABLE_RAW);
}

/* Some block is not noted so: it is too large, or there was no memory. Relaxed, only ever set. */
extern bool table_has_uncovered;

/* The start of the block that may reach into an address's page; 0: none does. */
static inline uint64_t table_covering(const struct table_leaf *leaf, uint64_t address)
{
	uint64_t page = address >> GUARD_PAGE_SHIFT;
	const struct table_page *note = &leaf->notes[page % TABLE_PAGES];
	uint64_t units = __atomic_load_n(&note->covering, __ATOMIC_RELAXED);
	return units ? (page << GUARD_PAGE_SHIFT) - (units << TABLE_GRAIN_SHIFT) : 0;
}

/* The start of a large block that may contain an address; 0: there is none. */
static inline uint64_t table_guess(const struct table_leaf *leaf, uint64_t address)
{
	uint64_t page = address >> GUARD_PAGE_SHIFT;
	const struct table_page *note = &leaf->notes[page % TABLE_PAGES];
	uint64_t large = __atomic_load_n(&note->large, __ATOMIC_RELAXED);
	uint64_t start = (page << GUARD_PAGE_SHIFT) + ((large - 1) << TABLE_GRAIN_SHIFT);
	return large && start <= address ? start : table_covering(leaf, address);
}

/* Marks the start of a new block. Returns whether there was room for the leaf. */
bool table_add(uint64_t start);

/* Changes a mark if it is `from`; returns whether it was. */
static inline bool table_change(uint8_t *mark, uint8_t from, uint8_t to)
{
	return __atomic_compare_exchange_n(
		mark, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/*
 * Finds the nearest start at or before `address` that is live or freed, not more than `most` bytes
 * before it. Returns its mark; TABLE_NONE: there is none.
 */
enum table_mark table_before(uint64_t address, uint64_t most, uint64_t *ret_start);

/* Calls `each` for all starts that are live or freed. Blocks may come and go meanwhile. */
void table_each(void (*each)(uint64_t start, enum table_mark mark));

#endif
