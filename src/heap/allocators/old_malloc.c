/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/allocators/old_malloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "heap/allocators/allocator.h"
#include "heap/blocks/unclaimed.h"

#define PAGE_BYTES 4096ull
/* Sizes are rounded up as glibc's, but to multiples of 32 bytes (malloc.c, adjust_size()). */
#define OLD_SPARE (OLD_ALIGN - 1)
#define OLD_MAPPED_SPARE (4096u + OLD_SPARE)
/* This many chunks that follow each other are a run, wherever it ends. */
#define RUN_CHUNKS 8u
/* This many must follow one for being one, where the one before is damaged. */
#define RESUME_CHUNKS 4u

static bool header_at(struct window *window, uint64_t chunk, uint64_t end, uint64_t *ret)
{
	const uint8_t *bytes =
		end - chunk < OLD_HEADER ? NULL : window_at(window, chunk, OLD_HEADER, end);
	if (bytes)
		memcpy(ret, bytes, OLD_HEADER);
	return bytes;
}

/* Whether a chunk is there whose size the next one repeats; *ret_next is that one, *ret_last
 * whether it is the run's end. */
static bool old_malloc_follows(
	struct window *window, uint64_t chunk, uint64_t end, uint64_t *ret_next, bool *ret_last)
{
	uint64_t own[2], next[2];
	if (!header_at(window, chunk, end, own) || !old_is_size(own[1]) ||
		old_size(own[1]) > end - chunk)
		return false;
	*ret_next = chunk + old_size(own[1]);
	if (!header_at(window, *ret_next, end, next) || next[0] != own[1])
		return false;
	*ret_last = next[1] == OLD_IN_USE;
	return true;
}

static bool chain_is(struct window *window, uint64_t chunk, uint64_t end)
{
	bool last = false;
	for (unsigned i = 0; i < RESUME_CHUNKS && !last; i++) {
		if (!old_malloc_follows(window, chunk, end, &chunk, &last))
			return false;
	}
	return true;
}

/* The first chunk from an address in a run on that others follow; `end`: there is none. */
static uint64_t chunk_from(struct window *window, uint64_t address, uint64_t end)
{
	uint64_t at = (address & ~(OLD_ALIGN - 1ull)) + OLD_HEADER;
	for (at += at < address ? OLD_ALIGN : 0; at < end; at += OLD_ALIGN) {
		size_t untouched = address_space_untouched(window->space, at, end - at);
		if (untouched > OLD_ALIGN)
			at += (untouched - OLD_ALIGN) & ~(OLD_ALIGN - 1ull);
		if (chain_is(window, at, end))
			return at;
	}
	return end;
}

struct finding {
	struct heap_area_vec found;
	uint64_t no_chunks, no_chunks_end; /* no chunks are in there, with that end */
};

/*
 * Where a run ends that begins with a chunk at an address: the chunk without a size; places where
 * chunks do not follow each other are passed over. 0: no run is there. end: of its mapping.
 */
static uint64_t run_end(struct finding *f, struct window *window, uint64_t chunk, uint64_t end)
{
	uint64_t first[2], last_good = 0, at = chunk;
	bool last = false;
	size_t count = 0;
	if (!header_at(window, chunk, end, first) || first[0] != OLD_IN_USE)
		return 0;
	while (!last && at < end) {
		bool has_no_chunks = end == f->no_chunks_end && at >= f->no_chunks;
		if (old_malloc_follows(window, at, end, &at, &last)) {
			count++;
			last_good = at;
		} else if (count < RUN_CHUNKS) {
			return 0;
		} else {
			uint64_t broken = at;
			at = has_no_chunks ? end : chunk_from(window, at + OLD_ALIGN, end);
			if (at >= end)
				f->no_chunks = broken, f->no_chunks_end = end;
		}
	}
	return last_good;
}

static struct error *old_malloc_report(const struct heap_sink *sink, struct window *window,
	const struct heap_block *block, uint64_t end)
{
	size_t want = block->size < WINDOW_BYTES ? (size_t)block->size : WINDOW_BYTES, len = 0;
	const uint8_t *bytes = window_at(window, block->address, want, end);
	if (bytes)
		bytes = window_peek(window, block->address, block->size, &len);
	return sink->take(sink->context, block, bytes, len);
}

struct walk {
	const struct old_malloc *old;
	struct window *window;
	uint64_t end; /* of the area, with the header after it */
	struct heap_block before;
	uint64_t size; /* of the chunk before, with its flag, as the next one should have it */
};

static bool old_malloc_add_damage(struct walk *w, uint64_t address, uint64_t bytes)
{
	struct heap_damage damage = {.address = address,
		.bytes = bytes,
		.before = w->before.address,
		.before_size = w->before.size,
		.what = "a chunk's size before and after it disagree"};
	return heap_damage_vec_push(w->old->damage, damage);
}

/* Passes over what is damaged at *at, up to a chunk. False: no memory. */
static bool pass_over(struct walk *w, uint64_t *at, const uint64_t *header)
{
	uint64_t next;
	bool last;
	/* Where only the repeated size is wrong the chunk itself may be right. */
	bool is_chunk =
		header[0] != w->size && old_malloc_follows(w->window, *at, w->end, &next, &last);
	next = is_chunk ? *at : chunk_from(w->window, *at + OLD_ALIGN, w->end);
	bool ok = old_malloc_add_damage(w, *at, next - *at);
	w->before = (struct heap_block){0, 0, BLOCK_FREE};
	*at = next;
	return ok;
}

static struct error *walk_run(
	struct walk *w, const struct heap_area *area, const struct heap_sink *sink)
{
	struct error *error = NULL;
	uint64_t at = area->start, header[2];
	w->size = OLD_IN_USE;
	while (at < area->end && !error) {
		if (!header_at(w->window, at, w->end, header)) {
			at = chunk_from(w->window, at + OLD_ALIGN, w->end);
			w->size = 0;
			continue;
		}
		bool right = old_is_size(header[1]) && old_size(header[1]) <= area->end - at;
		if (!right || (w->size && header[0] != w->size)) {
			uint64_t damaged = at;
			if (!pass_over(w, &at, header))
				return error_no_memory();
			w->size = 0;
			if (at != damaged || !right)
				continue;
		}
		struct heap_block block = {at + OLD_HEADER, old_size(header[1]) - OLD_HEADER,
			header[1] & OLD_IN_USE ? BLOCK_USED : BLOCK_FREE};
		w->before = block;
		w->size = header[1];
		at += old_size(header[1]);
		error = old_malloc_report(sink, w->window, &block, w->end);
	}
	return error;
}

static struct error *old_malloc_walk(struct heap *heap, const struct heap_area *area,
	struct window *window, const struct heap_sink *sink)
{
	const struct old_malloc *old = &heap->old_malloc;
	struct walk w = {.old = old, .window = window, .end = area->end + OLD_HEADER};
	if (area->kind == OLD_RUN)
		return walk_run(&w, area, sink);
	struct heap_block block = {area->data, area->end - area->data, BLOCK_USED};
	return old_malloc_report(sink, window, &block, area->end);
}

/* A mapping of one block, from a page on; *ret_block is where the program has it. Its length; 0:
 * none is there. */
static uint64_t mapped_at(
	struct unclaimed_walk *walk, uint64_t page, uint64_t end, uint64_t *ret_block)
{
	uint64_t words[2], length;
	if (end - page < PAGE_BYTES || !header_at(&walk->window, page + OLD_HEADER, end, words) ||
		words[0] != OLD_HEADER)
		return 0;
	length = words[1] + OLD_HEADER;
	if (length < PAGE_BYTES || length % PAGE_BYTES || length > end - page)
		return 0;
	*ret_block = page + 2ull * OLD_HEADER;
	/* One of a larger alignment has a header of its own further on. */
	for (uint64_t align = 2ull * OLD_ALIGN; align < length; align *= 2) {
		uint64_t block = (page + 2ull * OLD_HEADER + align - 1) & ~(align - 1);
		uint64_t extra = block - OLD_HEADER - page;
		if (extra < length &&
			address_space_read(walk->space, block - OLD_HEADER, words, sizeof(words)) ==
				sizeof(words) &&
			words[0] == extra && words[1] == length - extra)
			*ret_block = block;
	}
	return length;
}

static bool old_malloc_look(
	struct unclaimed_walk *walk, uint64_t page, uint64_t end, uint64_t *next)
{
	struct finding *f = walk->context;
	struct heap_area area = {
		.allocator = HEAP_OLDMALLOC, .start = page + OLD_HEADER, .low = page};
	uint64_t mapped = mapped_at(walk, page, end, &area.data);
	if (mapped) {
		area.kind = OLD_MAPPED;
		area.start = area.data;
		area.end = area.high = page + mapped;
	} else {
		area.end = run_end(f, &walk->window, area.start, end);
		if (!area.end)
			return true;
		area.high = area.end + OLD_HEADER;
	}
	*next = (area.high + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	return heap_area_vec_push(&f->found, area);
}

/* What the dynamic linker has given away of a module's data. */
static bool find_donated(struct finding *f, struct window *window, const struct process_map *map)
{
	uint64_t at = (map->start & ~(OLD_ALIGN - 1ull)) + OLD_HEADER;
	for (; at < map->end; at += OLD_ALIGN) {
		size_t empty = address_space_empty(window->space, at, map->end - at);
		if (empty > OLD_ALIGN) {
			at += (empty - OLD_ALIGN) & ~(OLD_ALIGN - 1ull);
			continue;
		}
		uint64_t end = run_end(f, window, at, map->end);
		struct heap_area area = {.allocator = HEAP_OLDMALLOC,
			.start = at,
			.low = at,
			.end = end,
			.high = end + OLD_HEADER};
		if (end && !heap_area_vec_push(&f->found, area))
			return false;
		at = end ? end : at;
	}
	return true;
}

static struct error *find_areas(
	const struct old_malloc *old, const struct heap_area_vec *claimed, struct finding *f)
{
	struct unclaimed_walk walk = {
		.space = old->space, .areas = claimed, .look = old_malloc_look, .context = f};
	struct error *error = unclaimed_walk(&walk);
	_cleanup_(window_cleanup) struct window window;
	if (!error)
		error = window_open(old->space, &window);
	else
		window = (struct window){.space = NULL};
	bool ok = true;
	for (size_t i = 0; i < old->space->maps.maps.len && ok && !error; i++) {
		const struct process_map *map = &old->space->maps.maps.data[i];
		if (map->writable && !map->shared && address_space_module(old->space, map->start))
			ok = find_donated(f, &window, map);
	}
	return ok ? error : error_no_memory();
}

/* In memory that no other allocator has. */
static struct error *old_malloc_areas(const struct old_malloc *old, struct heap_area_vec *areas)
{
	/* Those of others stay as they are while they are gone around. */
	struct finding f = {.found = {.data = NULL}};
	struct error *error = old->bins ? find_areas(old, areas, &f) : NULL;
	bool ok = true;
	for (size_t i = 0; i < f.found.len && ok && !error; i++)
		ok = heap_areas_add(areas, &f.found.data[i]);
	heap_area_vec_deinit(&f.found);
	return error || ok ? error : error_no_memory();
}

/* A program has one libc: where another's allocator is, this one is not. */
static struct error *old_malloc_find(struct heap *heap)
{
	struct old_malloc *old = &heap->old_malloc;
	if (heap->glibc.arenas.len || heap->ng_malloc.groups.len)
		return NULL;
	old->space = heap->space;
	old->damage = &heap->damage;
	struct error *error = old_bins_find(old);
	if (!error)
		error = old_malloc_areas(old, &heap->areas);
	return error ? error : old_bins_metadata(old, &heap->metadata);
}

static void old_malloc_requested(
	const struct heap *heap, const struct heap_area *area, struct search_requested *asked)
{
	(void)heap;
	allocator_requested_but(asked, area->kind == OLD_MAPPED ? OLD_MAPPED_SPARE : OLD_SPARE);
}

static void old_malloc_refused(const struct heap *heap, struct text *text)
{
	text_add(text, heap->old_malloc.bins
			       ? "whose 64 rings of free chunks close, with no run of chunks"
			       : "whose 64 rings of free chunks do not close");
}

const struct allocator old_malloc_allocator = {"musl oldmalloc", old_malloc_find, old_malloc_walk,
	NULL, old_malloc_requested, old_malloc_refused};
