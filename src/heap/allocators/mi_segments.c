/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where mimalloc's segments are: wherever memory at a multiple of their size begins with a table of
 * slices whose entries lead from one to the next up to the table's end.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/allocators/mi_malloc.h"
#include "heap/blocks/mid_update.h"

#define STEP_BYTES (8ull << 20)

/* The table begins somewhere here; before it are how many slices there are and how many the table
 * takes, the kind, and the thread and how many entries there are (either comes first). Before these
 * is the cookie: the segment's address, encoded with a number that the process has once. */
#define TABLE_MIN 16u /* words */
#define TABLE_MAX 128u
#define BEFORE_COOKIE 6u
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
static bool mi_segments_read_head(struct head *h, unsigned table)
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

static uint64_t cookie_key(const struct head *h)
{
	return h->words[h->table - BEFORE_COOKIE] ^ h->address;
}

/* What a table says that a thread is just changing, or that is damaged. */
struct partial {
	size_t from;          /* of its pages, by number */
	uint64_t gap, passed; /* the first slice that makes no sense, and how many make none */
	bool has_owner;       /* a page's heap is that of the segment's thread */
};

/*
 * Adds the pages whose own entries agree. Entries amid free slices are looked at too: a count that
 * is just being changed may lead beyond pages. What is amid free slices has given out no blocks: a
 * page is cleared before it becomes free (src/segment.c: mi_segment_page_clear). False: no memory.
 */
static bool read_right_pages(struct mi_malloc *mi, const struct head *h,
	const struct mi_shape *shape, struct partial *ret)
{
	uint64_t step, known = 0;
	*ret = (struct partial){.from = mi->pages.len};
	for (uint64_t number = 0; number < h->entries; number += step) {
		uint64_t slices = span_slices(h, shape, number);
		const uint64_t *entry = entry_at(h, shape, number);
		struct mi_page page = {.start = h->address + number * MI_SLICE_BYTES,
			.end = h->address + (number + slices) * MI_SLICE_BYTES};
		bool is_page = slices && number && mi_shape_read(shape, entry, &page);
		step = 1;
		if (slices && (!number || !page.given)) {
			known = number + slices > known ? number + slices : known;
		} else if (is_page) {
			page.about = h->address + 8 * (uint64_t)(entry - h->words);
			ret->has_owner |= h->thread && mi_heap_is_of(mi, page.heap, h->thread);
			step = slices;
			if (!mi_pages_push(&mi->pages, page))
				return false;
		} else if (number >= known) {
			ret->gap = ret->passed++ ? ret->gap : page.start;
		}
	}
	return true;
}

/* Whether it is a segment although its table makes no sense in places: by its owner, or by the
 * cookie, as a segment without such places has it. */
static bool is_confirmed(const struct mi_malloc *mi, const struct head *h,
	const struct mi_shape *shape, const struct partial *partial)
{
	const struct mi_sample *sample = &mi->sample;
	return partial->has_owner || (sample->shape == shape && sample->table == h->table &&
					     sample->cookie_key == cookie_key(h));
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
		return heap_ranges_push(&mi->metadata, idle);
	return mi_segments_push(&mi->segments, segment);
}

/* Whether a thread has the segment at hand, or an entry of its table: it changes spans of slices by
 * these. */
static bool is_mid_update(
	const struct mi_malloc *mi, const struct head *h, const struct mi_shape *shape)
{
	uint64_t addresses[ENTRIES_MAX + 1] = {h->address};
	size_t count = 1;
	for (uint64_t number = 0; number < h->entries; number++) {
		const uint64_t *entry = entry_at(h, shape, number);
		if (entry)
			addresses[count++] = h->address + 8 * (uint64_t)(entry - h->words);
	}
	return mid_update_any(mi->space, addresses, count, NULL, NULL);
}

/* Where a whole table makes no sense as one. False: *ret_found if there is no memory. */
static bool read_partly(struct mi_malloc *mi, const struct head *h, bool *ret_found)
{
	struct heap_damage damage = {
		.what = "parts of a segment's table make no sense, so blocks may be missing"};
	struct partial partial;
	*ret_found = true;
	for (unsigned i = 0; i < MI_SHAPES; i++) {
		if (!read_right_pages(mi, h, &mi_shapes[i], &partial))
			return false;
		if (is_confirmed(mi, h, &mi_shapes[i], &partial)) {
			damage.address = partial.gap;
			damage.bytes = partial.passed * MI_SLICE_BYTES;
			damage.amid = partial.passed && is_mid_update(mi, h, &mi_shapes[i]);
			return (!partial.passed || heap_damage_vec_push(mi->damage, damage)) &&
			       add_segment(mi, h, partial.from);
		}
		mi->pages.len = partial.from;
	}
	*ret_found = false;
	return true;
}

/* As above, for a table that makes sense. */
static bool read_wholly(struct mi_malloc *mi, const struct head *h, bool *ret_found)
{
	size_t from = mi->pages.len;
	*ret_found = true;
	for (unsigned i = 0; i < MI_SHAPES; i++) {
		bool fits;
		if (read_pages(&mi->pages, h, &mi_shapes[i], &fits)) {
			if (mi->pages.len > from)
				mi->sample =
					(struct mi_sample){&mi_shapes[i], h->table, cookie_key(h)};
			return add_segment(mi, h, from);
		}
		if (fits)
			return false;
		mi->pages.len = from;
	}
	*ret_found = false;
	return true;
}

/* *ret_size: of the segment there; 0: there is none, or it has no pages. False: no memory. */
static bool read_segment(
	struct mi_malloc *mi, uint64_t address, uint64_t *words, uint64_t *ret_size)
{
	struct head h = {.address = address, .words = words};
	size_t from = mi->pages.len;
	*ret_size = 0;
	size_t count = address_space_read(mi->space, address, words, 8ul * TABLE_MAX) / 8;
	for (unsigned at = TABLE_MIN; at < count; at++) {
		bool found;
		if (!mi_segments_read_head(&h, at))
			continue;
		if (!h.count)
			h.count =
				address_space_read(mi->space, address, words, 8ul * HEAD_WORDS) / 8;
		if (!read_wholly(mi, &h, &found))
			return false;
		mi->refused += !found;
		if (!found && mi->takes_parts && !read_partly(mi, &h, &found))
			return false;
		if (!found)
			continue;
		*ret_size = mi->pages.len > from ? h.slices * MI_SLICE_BYTES : 0;
		break;
	}
	return true;
}

/* What is found comes from memory that is there: an address is tried once, and a segment has no
 * more pages than entries. */
static bool mi_segments_find_in_map(
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

static bool mi_segments_find_all(struct mi_malloc *mi, uint64_t *words)
{
	uint64_t done = 0;
	bool ok = true;
	for (size_t i = 0; ok && i < mi->space->maps.maps.len; i++) {
		const struct process_map *map = &mi->space->maps.maps.data[i];
		if (address_map_is_anonymous(map))
			ok = mi_segments_find_in_map(mi, map, words, &done);
	}
	return ok;
}

struct error *mi_segments_find(struct mi_malloc *mi)
{
	_cleanup_free_ uint64_t *words = malloc(8ul * HEAD_WORDS);
	bool ok = words && mi_segments_find_all(mi, words);
	/* Those that make sense in parts are recognised by those that make sense. */
	if (ok && mi->refused) {
		mi->takes_parts = true;
		mi->pages.len = mi->segments.len = mi->metadata.len = 0;
		ok = mi_segments_find_all(mi, words);
	}
	mi_place_blocks(&mi->pages, 0);
	return ok ? NULL : error_no_memory();
}
