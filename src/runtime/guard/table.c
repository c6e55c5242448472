/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see table.h. May touch: the same. */
#include "runtime/guard/table.h"

#include "runtime/guard/limit.h"

#include <sys/mman.h>

#define ROOT_PARTS 4096u /* pages of the root */
#define PART_LEAVES (TABLE_LEAVES / ROOT_PARTS)

struct table_leaf **table_root;
bool table_lacks_leaves;
static uint64_t used_parts[ROOT_PARTS / 64]; /* of the root; relaxed, set before a leaf is there */

static void *map_zeros(size_t bytes)
{
	long at = sys_call6(__NR_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return sys_failed(at) ? NULL : (void *)at;
}

bool table_init(void)
{
	table_root = map_zeros(TABLE_LEAVES * sizeof(*table_root));
	return table_root;
}

static struct table_leaf *make_leaf(uint64_t index)
{
	struct table_leaf *leaf = sys_no_calls() ? NULL : map_zeros(sizeof(*leaf)), *there = NULL;
	if (!leaf) {
		if (!sys_no_calls())
			guard_limit_set(HW_CHECK_LIMIT_SPACE);
		__atomic_store_n(&table_lacks_leaves, true, __ATOMIC_RELEASE);
		return NULL;
	}
	uint64_t part = index / PART_LEAVES;
	__atomic_fetch_or(&used_parts[part / 64], 1ull << part % 64, __ATOMIC_RELAXED);
	if (__atomic_compare_exchange_n(
		    &table_root[index], &there, leaf, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return leaf;
	sys_call(__NR_munmap, leaf, sizeof(*leaf), 0);
	return there;
}

static struct table_leaf *need_leaf(uint64_t address)
{
	uint64_t index = address >> TABLE_LEAF_SHIFT;
	struct table_leaf *leaf = __atomic_load_n(&table_root[index], __ATOMIC_ACQUIRE);
	return rt_likely(leaf != NULL) ? leaf : make_leaf(index);
}

/* Of larger blocks the notes themselves would be memory to speak of. */
#define COVERED_MOST (32ull << 20)

bool table_has_uncovered;

static void cover_pages(uint64_t start, uint64_t end)
{
	uint64_t page = (start | (GUARD_PAGE - 1)) + 1;
	for (; page < end; page += GUARD_PAGE) {
		struct table_leaf *leaf = need_leaf(page);
		if (rt_unlikely(!leaf)) {
			__atomic_store_n(&table_has_uncovered, true, __ATOMIC_RELAXED);
			return;
		}
		__atomic_store_n(&leaf->notes[(page >> GUARD_PAGE_SHIFT) % TABLE_PAGES].covering,
			(uint32_t)((page - start) >> TABLE_GRAIN_SHIFT), __ATOMIC_RELAXED);
	}
}

/* Of smaller ones the mark is found soon. */
#define LARGE_LEAST 512u

static void note_large(uint64_t start)
{
	struct table_leaf *leaf = need_leaf(start);
	if (rt_likely(leaf != NULL))
		__atomic_store_n(&leaf->notes[(start >> GUARD_PAGE_SHIFT) % TABLE_PAGES].large,
			(uint32_t)(start % GUARD_PAGE >> TABLE_GRAIN_SHIFT) + 1, __ATOMIC_RELAXED);
}

void table_cover(uint64_t start, uint64_t bytes)
{
	if (bytes >= LARGE_LEAST)
		note_large(start);
	if (rt_likely((start ^ (start + bytes)) < GUARD_PAGE))
		return;
	if (rt_unlikely(bytes > COVERED_MOST))
		__atomic_store_n(&table_has_uncovered, true, __ATOMIC_RELAXED);
	else
		cover_pages(start, start + bytes);
}

bool table_add(uint64_t start)
{
	struct table_leaf *leaf = need_leaf(start);
	if (rt_unlikely(!leaf))
		return false;
	uint64_t page = (start >> GUARD_PAGE_SHIFT) % TABLE_PAGES, bit = 1ull << page % 64;
	if (rt_unlikely(!(__atomic_load_n(&leaf->pages[page / 64], __ATOMIC_RELAXED) & bit)))
		__atomic_fetch_or(&leaf->pages[page / 64], bit, __ATOMIC_RELAXED);
	__atomic_store_n(&leaf->marks[(start >> TABLE_GRAIN_SHIFT) % TABLE_MARKS], TABLE_LIVE,
		__ATOMIC_RELEASE);
	return true;
}

/* The nearest start among the marks `first` to `last`, from the end; -1: there is none. */
static long search_marks(const struct table_leaf *leaf, long first, long last)
{
	for (long i = last; i >= first; i--) {
		if (i % 8 == 7 && i - 7 >= first && !guard_load64(&leaf->marks[i - 7])) {
			i -= 7;
			continue;
		}
		uint8_t mark = __atomic_load_n(&leaf->marks[i], __ATOMIC_ACQUIRE);
		if (mark == TABLE_LIVE || mark == TABLE_FREED)
			return i;
	}
	return -1;
}

#define MARKS_OF_PAGE (GUARD_PAGE >> TABLE_GRAIN_SHIFT)

/* Does so in a whole leaf, at or before mark `last`. */
static long search_leaf(const struct table_leaf *leaf, long last)
{
	for (long page = last / MARKS_OF_PAGE; page >= 0; page--) {
		uint64_t bits = __atomic_load_n(&leaf->pages[page / 64], __ATOMIC_RELAXED)
				<< (63 - page % 64);
		if (!bits) {
			page -= page % 64; /* on to the word before */
			continue;
		}
		page -= __builtin_clzll(bits);
		long end = (page + 1) * MARKS_OF_PAGE - 1;
		long found = search_marks(leaf, page * MARKS_OF_PAGE, end < last ? end : last);
		if (found >= 0)
			return found;
	}
	return -1;
}

enum table_mark table_before(uint64_t address, uint64_t most, uint64_t *ret_start)
{
	if (address >> 47)
		return TABLE_NONE;
	uint64_t least = address > most ? address - most : 0;
	long last = (long)(address >> TABLE_GRAIN_SHIFT) % TABLE_MARKS;
	for (int64_t index = (int64_t)(address >> TABLE_LEAF_SHIFT);
		index >= (int64_t)(least >> TABLE_LEAF_SHIFT); index--, last = TABLE_MARKS - 1) {
		const struct table_leaf *leaf =
			__atomic_load_n(&table_root[index], __ATOMIC_ACQUIRE);
		long found = leaf ? search_leaf(leaf, last) : -1;
		if (found < 0)
			continue;
		uint64_t start = ((uint64_t)index << TABLE_LEAF_SHIFT) |
				 (uint64_t)found << TABLE_GRAIN_SHIFT;
		if (start < least)
			return TABLE_NONE;
		*ret_start = start;
		return __atomic_load_n(&leaf->marks[found], __ATOMIC_ACQUIRE);
	}
	return TABLE_NONE;
}

static void each_of_page(const struct table_leaf *leaf, uint64_t index, long page,
	void (*each)(uint64_t start, enum table_mark mark))
{
	for (long i = page * MARKS_OF_PAGE; i < (page + 1) * (long)MARKS_OF_PAGE; i++) {
		uint8_t mark = __atomic_load_n(&leaf->marks[i], __ATOMIC_ACQUIRE);
		if (mark == TABLE_LIVE || mark == TABLE_FREED)
			each(index << TABLE_LEAF_SHIFT | (uint64_t)i << TABLE_GRAIN_SHIFT, mark);
	}
}

static void each_of_part(uint64_t part, void (*each)(uint64_t start, enum table_mark mark))
{
	for (uint64_t index = part * PART_LEAVES; index < (part + 1) * PART_LEAVES; index++) {
		const struct table_leaf *leaf =
			__atomic_load_n(&table_root[index], __ATOMIC_ACQUIRE);
		for (long page = 0; leaf && page < TABLE_PAGES; page++)
			if (__atomic_load_n(&leaf->pages[page / 64], __ATOMIC_RELAXED) >>
					page % 64 &
				1)
				each_of_page(leaf, index, page, each);
	}
}

void table_each(void (*each)(uint64_t start, enum table_mark mark))
{
	for (uint64_t part = 0; part < ROOT_PARTS; part++)
		if (__atomic_load_n(&used_parts[part / 64], __ATOMIC_RELAXED) >> part % 64 & 1)
			each_of_part(part, each);
}
