/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/allocators/mi_malloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "heap/allocators/allocator.h"
#include "heap/blocks/mid_update.h"

#define GIVEN_MAX (1u << 16)
/* Beyond that pages of one block each are cut to fit, by slices. */
#define MI_LARGE (128u << 10)

/* Runs of pages; memory between them has no owner, and may be full of what once was. */
static bool add_runs(
	const struct mi_malloc *mi, const struct mi_segment *segment, struct heap_area_vec *ret)
{
	struct heap_area area = {.allocator = HEAP_MIMALLOC, .low = segment->address};
	bool ok = true;
	for (size_t i = segment->from; ok && i < segment->to; i++) {
		const struct mi_page *page = &mi->pages.data[i];
		if (i == segment->from || page->start != area.end) {
			area.high = page->start;
			ok = heap_areas_add(ret, &area);
			area.start = page->start;
			area.low = i == segment->from ? segment->address : page->start;
			area.data = i;
		}
		area.end = page->end;
	}
	uint64_t end = segment->address + segment->size;
	area.high = end > area.end ? end : area.end;
	return ok && heap_areas_add(ret, &area);
}

static struct error *mi_malloc_areas(const struct mi_malloc *mi, struct heap_area_vec *ret)
{
	for (size_t i = 0; i < mi->segments.len; i++) {
		if (!add_runs(mi, &mi->segments.data[i], ret))
			return error_no_memory();
	}
	return NULL;
}

/* Finds the segments and their pages. */
static struct error *mi_malloc_find(struct heap *heap)
{
	struct mi_malloc *mi = &heap->mi_malloc;
	mi->space = heap->space;
	mi->damage = &heap->damage;
	struct error *error = mi_segments_find(mi);
	for (size_t i = 0; i < mi->pages.len; i++)
		mi->blocks += mi->pages.data[i].given;
	if (!error)
		error = mi_kept_find(mi);
	if (!error)
		error = mi_malloc_areas(mi, &heap->areas);
	return error ? error : allocator_add_metadata(heap, &mi->metadata);
}

static void mi_malloc_close(struct heap *heap)
{
	struct mi_malloc *mi = &heap->mi_malloc;
	mi_segments_deinit(&mi->segments);
	mi_pages_deinit(&mi->pages);
	heap_ranges_deinit(&mi->metadata);
	heap_addresses_deinit(&mi->kept);
}

const struct mi_page *mi_page_at(const struct mi_malloc *mi, uint64_t address)
{
	size_t low = 0, high = mi->pages.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (mi->pages.data[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	const struct mi_page *page = mi->pages.data + low;
	return low < mi->pages.len && address >= page->start ? page : NULL;
}

enum mark { MARK_USED, MARK_FREE, MARK_OTHERS };

struct walk {
	const struct mi_malloc *mi;
	const struct heap_area *area;
	struct window *window;
	const struct heap_sink *sink;
	size_t kept; /* the next one */
	uint8_t *marks;
};

/* The next of a list; false: it leads out of the page. */
static bool next_of(const struct mi_page *page, uint64_t link, uint64_t *ret)
{
	uint32_t number;
	/* Whether links are encoded is seen by what they lead to. */
	uint64_t decoded = page->has_keys ? mi_decode(link, page->keys, page->about) : link;
	*ret = !decoded || mi_block_number(page, decoded, &number) ? decoded : link;
	return !*ret || mi_block_number(page, *ret, &number);
}

/* Marks what is in a list, and says how much that is. False: it does not end. */
static bool read_list(struct walk *w, const struct mi_page *page, uint64_t at, enum mark mark,
	const uint8_t *bytes, uint32_t *ret_count)
{
	uint32_t number;
	while (at) {
		uint64_t link;
		if (!mi_block_number(page, at, &number) || w->marks[number] != MARK_USED)
			return false;
		w->marks[number] = (uint8_t)mark;
		++*ret_count;
		memcpy(&link, bytes + (at - page->first), sizeof(link));
		if (!next_of(page, link, &at))
			return false;
	}
	return true;
}

static bool read_lists(struct walk *w, const struct mi_page *page, const uint8_t *bytes)
{
	uint32_t is_free = 0, others = 0;
	memset(w->marks, MARK_USED, page->given);
	bool right = read_list(w, page, page->free_list, MARK_FREE, bytes, &is_free);
	right = read_list(w, page, page->own_list, MARK_FREE, bytes, &is_free) && right;
	right = read_list(w, page, page->others_list, MARK_OTHERS, bytes, &others) && right;
	return right && is_free + page->used == page->given && others <= page->used;
}

static struct error *mi_malloc_report(
	struct walk *w, const struct heap_block *block, const uint8_t *bytes, size_t len)
{
	return w->sink->take(w->sink->context, block, bytes, len);
}

static struct error *report_page(struct walk *w, const struct mi_page *page)
{
	uint64_t size = page->block_bytes;
	const uint8_t *bytes = window_at(w->window, page->first, page->given * size, w->area->end);
	struct heap_damage broken = {
		.address = page->start, .what = "a page's list of free blocks does not end"};
	struct error *error = NULL;
	if (!bytes)
		return NULL;
	if (!read_lists(w, page, bytes)) {
		broken.amid = mid_update_any(w->mi->space, &page->about, 1, NULL, NULL);
		if (!heap_damage_vec_push(w->mi->damage, broken))
			return error_no_memory();
	}
	for (uint32_t i = 0; i < page->given && !error; i++) {
		struct heap_block block = {page->first + i * size, size, BLOCK_USED};
		bool kept = heap_addresses_next(&w->mi->kept, &w->kept, block.address);
		if (w->marks[i] == MARK_FREE)
			block.state = BLOCK_FREE;
		else if (w->marks[i] == MARK_OTHERS || kept)
			block.state = BLOCK_CACHED;
		error = mi_malloc_report(w, &block, bytes + i * size, (size_t)size);
	}
	uint64_t rest = page->first + page->given * size;
	struct heap_block fresh = {rest, page->first + page->room * size - rest, BLOCK_FREE};
	return error || !fresh.size ? error : mi_malloc_report(w, &fresh, NULL, 0);
}

/* A page of one block. */
static struct error *report_large(struct walk *w, const struct mi_page *page)
{
	struct heap_block block = {page->first, page->block_bytes, BLOCK_USED};
	const uint8_t *bytes = window_at(w->window, page->first, 8, w->area->end);
	size_t len = 0;
	if (bytes)
		bytes = window_peek(w->window, page->first, (size_t)page->block_bytes, &len);
	if (heap_addresses_next(&w->mi->kept, &w->kept, page->first) || page->others_list)
		block.state = BLOCK_CACHED;
	if (!page->used)
		block.state = BLOCK_FREE;
	return mi_malloc_report(w, &block, bytes, len);
}

static struct error *mi_malloc_walk(struct heap *heap, const struct heap_area *area,
	struct window *window, const struct heap_sink *sink)
{
	const struct mi_malloc *mi = &heap->mi_malloc;
	_cleanup_free_ uint8_t *marks = malloc(GIVEN_MAX);
	struct walk w = {
		mi, area, window, sink, heap_addresses_from(&mi->kept, area->start), marks};
	struct error *error = marks ? NULL : error_no_memory();
	for (size_t i = area->data; i < mi->pages.len && !error; i++) {
		const struct mi_page *page = &mi->pages.data[i];
		if (page->start >= area->end)
			break;
		if (page->start < area->start || page->end > area->end)
			continue; /* another's */
		if (page->room == 1)
			error = report_large(&w, page);
		else if (page->block_bytes * page->given <= WINDOW_BYTES)
			error = report_page(&w, page);
	}
	return error;
}

static void mi_malloc_requested(
	const struct heap *heap, const struct heap_area *area, struct search_requested *asked)
{
	uint64_t size = asked->most;
	(void)heap, (void)area;
	asked->least = size > MI_LARGE ? size / 3 * 2 : allocator_quarter_below(size) + 1;
	asked->mostly = asked->least;
}

static void mi_malloc_refused(const struct heap *heap, struct text *text)
{
	text_printf(text, "%zu of whose segments are there, none with blocks",
		heap->mi_malloc.metadata.len);
}

const struct allocator mi_malloc_allocator = {"mimalloc", mi_malloc_find, mi_malloc_walk,
	mi_malloc_close, mi_malloc_requested, mi_malloc_refused};
