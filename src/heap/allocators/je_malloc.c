/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/allocators/je_malloc.h"

#include <string.h>

#include "base/text.h"
#include "heap/allocators/allocator.h"

/* edata_t, extent_t: from here on a bit for each block of a slab that is free. */
#define FREE_BITS 64u
#define ABOUT_BYTES_MAX (FREE_BITS + (1u << (JE_PAGE_BITS_MAX - 3)) / 8)

static struct error *je_malloc_areas(const struct je_malloc *je, struct heap_area_vec *ret)
{
	struct heap_area area = {.allocator = HEAP_JEMALLOC};
	for (size_t i = 0; i < je->extents.len; i++) {
		const struct je_extent *extent = &je->extents.data[i];
		if (extent->address != area.end) {
			if (!heap_areas_add(ret, &area))
				return error_no_memory();
			area.start = area.low = extent->address;
			area.data = i;
		}
		area.end = area.high = extent->address + extent->size;
	}
	return heap_areas_add(ret, &area) ? NULL : error_no_memory();
}

/* Finds the tree, its extents, and what threads keep. */
static struct error *je_malloc_find(struct heap *heap)
{
	struct je_malloc *je = &heap->je_malloc;
	je->space = heap->space;
	struct error *error = je_tree_find(je);
	if (!error && je->root)
		error = je_kept_find(je);
	if (!error)
		error = je_malloc_areas(je, &heap->areas);
	return error ? error : allocator_add_metadata(heap, &je->metadata);
}

static void je_malloc_close(struct heap *heap)
{
	struct je_malloc *je = &heap->je_malloc;
	je_extents_deinit(&je->extents);
	heap_ranges_deinit(&je->metadata);
	heap_addresses_deinit(&je->kept);
	heap_addresses_deinit(&je->own);
}

uint64_t je_class_bytes(unsigned index)
{
	/* 8; up to 128 by 16; then four to each doubling. */
	if (index == 0)
		return 8;
	if (index <= 8)
		return 16ull * index;
	unsigned group = (index - 9) / 4, step = (index - 9) % 4 + 1;
	return group < 50 ? (128ull << group) + step * (32ull << group) : 0;
}

bool je_block_at(const struct je_malloc *je, uint64_t address, uint64_t *ret)
{
	size_t low = 0, high = je->extents.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct je_extent *one = &je->extents.data[middle];
		if (one->address + one->size <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == je->extents.len)
		return false;
	const struct je_extent *extent = &je->extents.data[low];
	uint64_t into = address - extent->address;
	if (address < extent->address || into >= extent->size)
		return false;
	*ret = extent->is_slab ? address - into % extent->block_bytes : extent->address;
	return true;
}

struct walk {
	const struct je_malloc *je;
	const struct heap_area *area;
	struct window *window;
	struct heap_damage_vec *damage;
	const struct heap_sink *sink;
	size_t kept, own; /* next ones */
};

static struct error *je_malloc_report(struct walk *w, uint64_t address, uint64_t size, bool is_free,
	const uint8_t *bytes, size_t len)
{
	struct heap_block block = {address, size, is_free ? BLOCK_FREE : BLOCK_USED};
	if (heap_addresses_next(&w->je->kept, &w->kept, address) && !is_free)
		block.state = BLOCK_CACHED;
	else if (heap_addresses_next(&w->je->own, &w->own, address))
		block.state = BLOCK_OWN;
	return w->sink->take(w->sink->context, &block, bytes, len);
}

static struct error *report_slab(struct walk *w, const struct je_extent *extent)
{
	uint64_t about[ABOUT_BYTES_MAX / 8];
	uint64_t count = extent->size / extent->block_bytes, is_free = 0;
	uint32_t most = je_slab_blocks_max(w->je);
	size_t about_bytes = FREE_BITS + most / 8;
	if (address_space_read(w->je->space, extent->about, about, about_bytes) != about_bytes)
		return NULL;
	const uint64_t *bits = about + FREE_BITS / 8;
	const uint8_t *bytes = window_at(w->window, extent->address, extent->size, w->area->end);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t offset = i * extent->block_bytes;
		bool free_one = bits[i / 64] >> i % 64 & 1;
		is_free += free_one;
		struct error *error =
			je_malloc_report(w, extent->address + offset, extent->block_bytes, free_one,
				bytes ? bytes + offset : NULL, bytes ? extent->block_bytes : 0);
		if (error)
			return error;
	}
	struct heap_damage broken = {.address = extent->address,
		.what = "a slab's number of free blocks disagrees with its bitmap"};
	if (is_free != (about[0] >> w->je->shape->free_count & (2 * most - 1)) &&
		!heap_damage_vec_push(w->damage, broken))
		return error_no_memory();
	return NULL;
}

static struct error *report_large(struct walk *w, const struct je_extent *extent)
{
	size_t len = 0;
	const uint8_t *bytes = window_at(w->window, extent->address, 8, w->area->end);
	if (bytes)
		bytes = window_peek(w->window, extent->address, extent->block_bytes, &len);
	return je_malloc_report(w, extent->address, extent->block_bytes, false, bytes, len);
}

static struct error *je_malloc_walk(struct heap *heap, const struct heap_area *area,
	struct window *window, const struct heap_sink *sink)
{
	const struct je_malloc *je = &heap->je_malloc;
	struct walk w = {je, area, window, &heap->damage, sink,
		heap_addresses_from(&je->kept, area->start),
		heap_addresses_from(&je->own, area->start)};
	struct error *error = NULL;
	for (size_t i = area->data; i < je->extents.len && !error; i++) {
		const struct je_extent *extent = &je->extents.data[i];
		if (extent->address >= area->end)
			break;
		if (extent->address < area->start || extent->size > area->end - extent->address)
			continue; /* another's */
		error = extent->is_slab ? report_slab(&w, extent) : report_large(&w, extent);
	}
	return error;
}

static void je_malloc_refused(const struct heap *heap, struct text *text)
{
	text_add(text, heap->je_malloc.root
			       ? "of which a table of pages is there, and no page in use"
			       : "no table of pages of which leads to these pages");
}

const struct allocator je_malloc_allocator = {"jemalloc", je_malloc_find, je_malloc_walk,
	je_malloc_close, allocator_requested_quarters, je_malloc_refused};
