/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where mimalloc's segments are: wherever memory at a multiple of their size begins with a table of
 * slices whose entries lead from one to the next up to the table's end.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/mi_malloc.h"

#define STEP_BYTES (8ull << 20)

/* The table begins somewhere here; before it stand how many slices there are and how many the table
 * takes, the kind, and the thread and how many entries there are (either comes first). */
#define TABLE_MIN 16u /* words */
#define TABLE_MAX 128u
#define BEFORE_SLICES 5u
#define BEFORE_INFO 4u
#define BEFORE_KIND 3u
#define KIND_HUGE 1u
#define ENTRIES_MAX 1024u
#define INFO_MAX 4u
#define SLICES_MAX (1u << 30)

#define HEAD_WORDS (TABLE_MAX + (ENTRIES_MAX + 1) * MI_ENTRY_WORDS_MAX)

struct head {
	uint64_t address;
	const uint64_t *words;
	size_t count;   /* of words */
	unsigned table; /* where it begins */
	uint64_t slices, info, entries, thread;
	bool is_huge;
};

static uint32_t entry_slices(uint64_t word)
{
	return (uint32_t)word;
}

static uint32_t entry_offset(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

/* Whether the table may begin there. */
static bool read_head(struct head *h, unsigned table)
{
	const uint64_t *before = h->words + table;
	uint64_t a = before[-2], b = before[-1], kind = (uint32_t)before[-(int)BEFORE_KIND];
	h->table = table;
	h->slices = before[-(int)BEFORE_SLICES];
	h->info = before[-(int)BEFORE_INFO];
	h->entries = a && a <= ENTRIES_MAX ? a : b;
	h->thread = a && a <= ENTRIES_MAX ? b : a;
	h->is_huge = kind == KIND_HUGE;
	return kind <= KIND_HUGE && h->info && h->info <= INFO_MAX && h->slices <= SLICES_MAX &&
	       h->entries > h->info && h->entries <= ENTRIES_MAX && h->entries <= h->slices &&
	       (h->is_huge || h->slices - h->entries <= 1) && *before == h->info &&
	       (h->thread >= ENTRIES_MAX || !h->thread);
}

static const uint64_t *entry_at(const struct head *h, const struct mi_shape *shape, uint64_t number)
{
	size_t at = h->table + number * mi_shape_bytes(shape) / 8;
	return at + MI_ENTRY_WORDS_MAX <= h->count ? h->words + at : NULL;
}

/* Of an entry that a page or free slices begin with: how many slices it stands for. 0: it is none.
 */
static uint64_t span_slices(const struct head *h, const struct mi_shape *shape, uint64_t number)
{
	const uint64_t *entry = entry_at(h, shape, number);
	uint64_t slices = entry ? entry_slices(*entry) : 0;
	if (!slices || entry_offset(*entry))
		return 0;
	if (slices > h->entries - number)
		return h->is_huge && slices <= h->slices - number ? slices : 0;
	const uint64_t *last = entry_at(h, shape, number + slices - 1);
	bool right = last && (slices == 1 || (!entry_slices(*last) &&
						     entry_offset(*last) ==
							     (slices - 1) * mi_shape_bytes(shape)));
	return right ? slices : 0;
}

/*
 * Adds the pages. False: *ret_fits if there is no memory for them, else entries are not of this
 * shape. Without pages any shape is as good.
 *
 * A page that has given out no blocks need not make sense otherwise: a thread is just making it, or
 * giving it back (src/segment.c: mi_segment_span_allocate, mi_segment_page_clear).
 */
static bool read_pages(
	struct mi_pages *pages, const struct head *h, const struct mi_shape *shape, bool *ret_fits)
{
	uint64_t slices;
	*ret_fits = false;
	for (uint64_t number = 0; number < h->entries; number += slices) {
		slices = span_slices(h, shape, number);
		if (!slices)
			return false;
		const uint64_t *entry = entry_at(h, shape, number);
		struct mi_page page = {.about = h->address + 8 * (uint64_t)(entry - h->words),
			.start = h->address + number * MI_SLICE_BYTES,
			.end = h->address + (number + slices) * MI_SLICE_BYTES};
		bool is_page = mi_shape_read(shape, entry, &page);
		if (number == 0 || !page.block_bytes || (!is_page && !page.given))
			continue;
		if (!is_page)
			return false;
		*ret_fits = true;
		if (!mi_pages_push(pages, page))
			return false;
		*ret_fits = false;
	}
	*ret_fits = true;
	return true;
}

static bool add_segment(struct mi_malloc *mi, const struct head *h, size_t from)
{
	struct mi_segment segment = {.address = h->address,
		.size = h->slices * MI_SLICE_BYTES,
		.thread = h->thread,
		.from = from,
		.to = mi->pages.len};
	struct heap_range idle = {segment.address, segment.address + segment.size};
	if (from == mi->pages.len)
		return heap_ranges_push(&mi->books, idle);
	return mi_segments_push(&mi->segments, segment);
}

/* *ret_size: of the segment there; 0: there is none, or it has no pages. False: no memory. */
static bool read_segment(
	struct mi_malloc *mi, uint64_t address, uint64_t *words, uint64_t *ret_size)
{
	struct head h = {.address = address, .words = words};
	size_t from = mi->pages.len;
	bool fits;
	*ret_size = 0;
	size_t count = address_space_read(mi->space, address, words, 8ul * TABLE_MAX) / 8;
	for (unsigned at = TABLE_MIN; at < count; at++) {
		if (!read_head(&h, at))
			continue;
		if (!h.count)
			h.count =
				address_space_read(mi->space, address, words, 8ul * HEAD_WORDS) / 8;
		for (unsigned i = 0; i < MI_SHAPES; i++) {
			if (read_pages(&mi->pages, &h, &mi_shapes[i], &fits)) {
				if (mi->pages.len > from)
					*ret_size = h.slices * MI_SLICE_BYTES;
				return add_segment(mi, &h, from);
			}
			if (fits)
				return false;
			mi->pages.len = from;
		}
	}
	return true;
}

/* What is found comes from memory that is there: an address is tried once, and a segment has no
 * more pages than entries. */
static bool find_in_map(
	struct mi_malloc *mi, const struct process_map *map, uint64_t *words, uint64_t *done)
{
	uint64_t at = (map->start + STEP_BYTES - 1) & ~(STEP_BYTES - 1), size;
	at = at > *done ? at : *done;
	for (; at < map->end; at += size) {
		size = 0;
		at = address_space_next(mi->space, at, map->end);
		at = (at + STEP_BYTES - 1) & ~(STEP_BYTES - 1);
		if (at >= map->end)
			break;
		if (address_space_untouched(mi->space, at, 8ul * TABLE_MAX) < 8ul * TABLE_MAX &&
			!read_segment(mi, at, words, &size))
			return false;
		size = (size + STEP_BYTES - 1) & ~(STEP_BYTES - 1);
		size = size ? size : STEP_BYTES;
	}
	*done = at;
	return true;
}

struct error *mi_segments_find(struct mi_malloc *mi)
{
	_cleanup_free_ uint64_t *words = malloc(8ul * HEAD_WORDS);
	uint64_t done = 0;
	bool ok = words;
	for (size_t i = 0; ok && i < mi->space->maps.maps.len; i++) {
		const struct process_map *map = &mi->space->maps.maps.data[i];
		if (address_map_is_anonymous(map))
			ok = find_in_map(mi, map, words, &done);
	}
	mi_place_blocks(&mi->pages, 0);
	return ok ? NULL : error_no_memory();
}
