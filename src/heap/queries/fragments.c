/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/fragments.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "heap/allocators/go_spans.h"

#define PAGE_BYTES 4096ull
#define PINNED_BELOW (PAGE_BYTES / 4)
/* Of this many blocks in use of a page their types are noted: 16 bytes is the smallest. */
#define PAGE_BLOCKS 256u

struct counting {
	struct heap_scan *scan;
	struct fragments *fragments;
	struct fragment_pin *by_type;
	struct fragment_arena *arena;
	const struct heap_area *area;
	uint64_t page; /* that is being counted; its number */
	uint64_t page_used, page_free;
	uint32_t types[PAGE_BLOCKS];
	unsigned type_count;
};

static struct fragment_arena *arena_of(struct fragments *f, const struct heap_area *area)
{
	for (size_t i = 0; i < f->arenas.len; i++) {
		struct fragment_arena *one = &f->arenas.data[i];
		if (one->allocator == area->allocator && one->arena == area->arena)
			return one;
	}
	struct fragment_arena fresh = {.allocator = area->allocator, .arena = area->arena};
	return fragment_arenas_push(&f->arenas, fresh) ? &f->arenas.data[f->arenas.len - 1] : NULL;
}

/* The page is done. */
static void end_page(struct counting *c)
{
	if (c->page_used + c->page_free == 0)
		return;
	c->arena->pages++;
	if (!c->page_used) {
		c->arena->free_pages++;
	} else if (c->page_used < PINNED_BELOW && c->page_free) {
		c->arena->pinned_pages++;
		c->arena->pinned_bytes += c->page_free;
		for (unsigned i = 0; i < c->type_count; i++) {
			struct fragment_pin *pin = &c->by_type[c->types[i]];
			pin->blocks++;
			pin->bytes += (double)c->page_free / c->type_count;
		}
	}
	c->page_used = c->page_free = 0;
	c->type_count = 0;
}

static void note_type(struct counting *c, uint64_t address)
{
	uint64_t offset;
	uint32_t block = search_block_at(c->scan->search, address, &offset);
	if (block != SPACE_NONE && c->type_count < PAGE_BLOCKS)
		c->types[c->type_count++] = heap_scan_type_of(c->scan, block);
}

/* A block's part of each page that it lies in. Those in the middle of a large one are whole. */
static void take_pages(struct counting *c, const struct heap_block *block)
{
	bool used = block->state == BLOCK_USED || block->state == BLOCK_OWN;
	uint64_t at = block->address, end = block->address + block->size;
	while (at < end) {
		uint64_t page = at / PAGE_BYTES, page_end = (page + 1) * PAGE_BYTES;
		if (page != c->page) {
			end_page(c);
			c->page = page;
		}
		uint64_t whole = (end - at) / PAGE_BYTES;
		if (at % PAGE_BYTES == 0 && whole > 1) {
			c->arena->pages += whole;
			c->arena->free_pages += used ? 0 : whole;
			at += whole * PAGE_BYTES;
			continue;
		}
		uint64_t here = (page_end < end ? page_end : end) - at;
		*(used ? &c->page_used : &c->page_free) += here;
		if (block->state == BLOCK_USED)
			note_type(c, block->address);
		at += here;
	}
}

static struct error *fragments_take(
	void *context, const struct heap_block *block, const uint8_t *bytes, size_t len)
{
	struct counting *c = context;
	(void)bytes, (void)len;
	if (!c->area || block->address >= c->area->end || block->address < c->area->start) {
		if (c->area)
			end_page(c);
		c->area = heap_areas_find(&c->scan->heap.areas, block->address);
		c->arena = c->area ? arena_of(c->fragments, c->area) : NULL;
		if (c->area && !c->arena)
			return error_no_memory();
	}
	if (!c->area)
		return NULL;
	bool used = block->state == BLOCK_USED || block->state == BLOCK_OWN;
	*(used ? &c->arena->used : &c->arena->free) += block->size;
	take_pages(c, block);
	return NULL;
}

static struct error *take_areas(struct counting *c)
{
	const struct heap_area_vec *areas = &c->scan->heap.areas;
	for (size_t i = 0; i < areas->len; i++) {
		const struct heap_area *area = &areas->data[i];
		struct fragment_arena *arena = arena_of(c->fragments, area);
		if (!arena)
			return error_no_memory();
		arena->bytes += area->end - area->start;
		/* What is reserved after its mapping costs nothing. */
		const struct process_map *map = address_space_map(c->scan->heap.space, area->end);
		uint64_t high = map && map->writable ? min(area->high, map->end) : area->end;
		arena->spare += high - area->end;
	}
	return NULL;
}

static int by_free(const void *a, const void *b)
{
	const struct fragment_arena *x = a, *y = b;
	if (x->free != y->free)
		return x->free > y->free ? -1 : 1;
	return (x->arena > y->arena) - (x->arena < y->arena);
}

static int by_pinned(const void *a, const void *b)
{
	const struct fragment_pin *x = a, *y = b;
	if (x->bytes > y->bytes || x->bytes < y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->type > y->type) - (x->type < y->type);
}

static struct error *fragments_finish(struct counting *c)
{
	struct fragments *f = c->fragments;
	for (uint32_t i = 0; i < c->scan->types.types.len; i++) {
		c->by_type[i].type = i;
		if (c->by_type[i].blocks && !fragment_pins_push(&f->pins, c->by_type[i]))
			return error_no_memory();
	}
	if (f->pins.len)
		qsort(f->pins.data, f->pins.len, sizeof(*f->pins.data), by_pinned);
	if (f->arenas.len)
		qsort(f->arenas.data, f->arenas.len, sizeof(*f->arenas.data), by_free);
	return NULL;
}

#define SPAN_CLASSES 256u

static int by_class_free(const void *a, const void *b)
{
	const struct fragment_span_class *x = a, *y = b;
	if (x->free_bytes != y->free_bytes)
		return x->free_bytes > y->free_bytes ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->size_class > y->size_class) - (x->size_class < y->size_class);
}

static void class_take(struct fragment_span_class *class, const struct go_spans *go,
	const struct go_span *span, size_t *next)
{
	uint64_t used = 0, bytes = span->end - span->start;
	for (uint32_t i = 0; i < span->elements; i++)
		used += heap_addresses_next(&go->used, next, span->start + i * span->size);
	class->size_class = span->class / 2u;
	class->has_pointers = !(span->class & 1);
	class->element_bytes = class->size_class ? span->size : 0;
	class->spans++;
	class->bytes += bytes;
	class->elements += span->elements;
	class->used_elements += used;
	class->used_bytes += used * span->size;
	class->free_bytes += (span->elements - used) * span->size;
	class->tail_bytes += bytes - span->elements * span->size;
}

/* Spans are in ascending order, and so are the elements in use. */
static struct error *classes_take(const struct go_spans *go, struct fragment_span_classes *ret)
{
	struct fragment_span_class *classes = calloc(SPAN_CLASSES, sizeof(*classes));
	size_t next = 0;
	bool ok = classes != NULL;
	for (size_t i = 0; i < go->spans.len && ok; i++)
		class_take(&classes[go->spans.data[i].class], go, &go->spans.data[i], &next);
	for (size_t i = 0; i < SPAN_CLASSES && ok; i++)
		ok = !classes[i].spans || fragment_span_classes_push(ret, classes[i]);
	free(classes);
	if (ok && ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), by_class_free);
	return ok ? NULL : error_no_memory();
}

struct error *heap_fragments(struct heap_scan *scan, struct fragments *ret)
{
	*ret = (struct fragments){.arenas = {.len = 0}};
	struct counting *c = calloc(1, sizeof(*c));
	if (!c)
		return error_no_memory();
	*c = (struct counting){.scan = scan, .fragments = ret};
	c->by_type = calloc(scan->types.types.len + 1, sizeof(*c->by_type));
	struct heap_sink sink = {c, fragments_take};
	struct error *error = c->by_type ? take_areas(c) : error_no_memory();
	if (!error)
		error = heap_walk(&scan->heap, &sink);
	if (!error && c->area)
		end_page(c);
	if (!error)
		error = fragments_finish(c);
	if (!error)
		error = classes_take(&scan->heap.go_spans, &ret->classes);
	free(c->by_type);
	free(c);
	return error;
}

void heap_fragments_deinit(struct fragments *fragments)
{
	fragment_arenas_deinit(&fragments->arenas);
	fragment_pins_deinit(&fragments->pins);
	fragment_span_classes_deinit(&fragments->classes);
}
