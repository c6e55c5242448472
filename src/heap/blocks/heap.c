/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/heap.h"

#include <string.h>

#include "base/cleanup.h"
#include "heap/allocators/pymalloc.h"
#include "heap/blocks/window.h"

/* What each allocator does. */
struct allocator {
	/* Looks for it, and adds its areas and metadata if it is there. */
	struct error *(*find)(struct heap *heap);
	/* Tells the blocks of one of its areas, ascending. */
	struct error *(*walk)(struct heap *heap, const struct heap_area *area,
		struct window *window, const struct heap_sink *sink);
	void (*close)(struct heap *heap);
};

static struct error *find_glibc(struct heap *heap)
{
	struct error *error = glibc_find(heap->space, &heap->damage, &heap->glibc);
	if (!error)
		error = glibc_areas(&heap->glibc, &heap->areas);
	bool memory = true;
	heap->is_mid_update = !error && glibc_is_mid_update(&heap->glibc, &memory);
	if (!memory)
		return error_no_memory();
	return error ? error : glibc_metadata(&heap->glibc, &heap->metadata);
}

static struct error *walk_glibc(struct heap *heap, const struct heap_area *area,
	struct window *window, const struct heap_sink *sink)
{
	return glibc_walk(&heap->glibc, area, window, sink);
}

static void close_glibc(struct heap *heap)
{
	glibc_deinit(&heap->glibc);
}

static struct error *add_metadata(struct heap *heap, const struct heap_ranges *metadata)
{
	for (size_t i = 0; i < metadata->len; i++) {
		if (!heap_ranges_push(&heap->metadata, metadata->data[i]))
			return error_no_memory();
	}
	return NULL;
}

static struct error *find_jemalloc(struct heap *heap)
{
	struct je_malloc *je = &heap->je_malloc;
	struct error *error = je_malloc_find(heap->space, je);
	if (!error)
		error = je_malloc_areas(je, &heap->areas);
	return error ? error : add_metadata(heap, &je->metadata);
}

static struct error *walk_jemalloc(struct heap *heap, const struct heap_area *area,
	struct window *window, const struct heap_sink *sink)
{
	return je_malloc_walk(&heap->je_malloc, area, window, &heap->damage, sink);
}

static void close_jemalloc(struct heap *heap)
{
	je_malloc_close(&heap->je_malloc);
}

static struct error *find_tcmalloc(struct heap *heap)
{
	struct tc_malloc *tc = &heap->tc_malloc;
	struct error *error = tc_malloc_find(heap->space, &heap->damage, tc);
	if (!error)
		error = tc_malloc_areas(tc, &heap->areas);
	return error ? error : add_metadata(heap, &tc->metadata);
}

static struct error *walk_tcmalloc(struct heap *heap, const struct heap_area *area,
	struct window *window, const struct heap_sink *sink)
{
	return tc_malloc_walk(&heap->tc_malloc, area, window, sink);
}

static void close_tcmalloc(struct heap *heap)
{
	tc_malloc_close(&heap->tc_malloc);
}

static struct error *find_mimalloc(struct heap *heap)
{
	struct mi_malloc *mi = &heap->mi_malloc;
	struct error *error = mi_malloc_find(heap->space, &heap->damage, mi);
	if (!error)
		error = mi_malloc_areas(mi, &heap->areas);
	return error ? error : add_metadata(heap, &mi->metadata);
}

static struct error *walk_mimalloc(struct heap *heap, const struct heap_area *area,
	struct window *window, const struct heap_sink *sink)
{
	return mi_malloc_walk(&heap->mi_malloc, area, window, sink);
}

static void close_mimalloc(struct heap *heap)
{
	mi_malloc_close(&heap->mi_malloc);
}

static struct error *find_mallocng(struct heap *heap)
{
	struct ng_malloc *ng = &heap->ng_malloc;
	struct error *error = ng_malloc_find(heap->space, &heap->areas, &heap->damage, ng);
	if (!error)
		error = ng_malloc_areas(ng, &heap->areas);
	return error ? error : add_metadata(heap, &ng->metadata);
}

static struct error *walk_mallocng(struct heap *heap, const struct heap_area *area,
	struct window *window, const struct heap_sink *sink)
{
	return ng_malloc_walk(&heap->ng_malloc, area, window, sink);
}

static void close_mallocng(struct heap *heap)
{
	ng_malloc_close(&heap->ng_malloc);
}

/* A program has one libc: where another's allocator is, this one is not. */
static struct error *find_oldmalloc(struct heap *heap)
{
	struct old_malloc *old = &heap->old_malloc;
	if (heap->glibc.arenas.len || heap->ng_malloc.groups.len)
		return NULL;
	struct error *error = old_malloc_find(heap->space, &heap->damage, old);
	if (!error)
		error = old_malloc_areas(old, &heap->areas, &heap->areas);
	return error ? error : old_malloc_metadata(old, &heap->metadata);
}

static struct error *walk_oldmalloc(struct heap *heap, const struct heap_area *area,
	struct window *window, const struct heap_sink *sink)
{
	return old_malloc_walk(&heap->old_malloc, area, window, sink);
}

/* Its pools are looked for only where there is an interpreter. */
static struct error *find_pymalloc(struct heap *heap)
{
	struct error *error = python_find(heap->space, &heap->python);
	if (error || !python_is_there(&heap->python))
		return error;
	return pymalloc_find(heap->space, &heap->areas);
}

static struct error *walk_pymalloc(struct heap *heap, const struct heap_area *area,
	struct window *window, const struct heap_sink *sink)
{
	return pymalloc_walk(area, window, &heap->damage, sink);
}

static void close_pymalloc(struct heap *heap)
{
	python_close(&heap->python);
}

static struct error *find_go(struct heap *heap)
{
	struct error *error = go_spans_find(heap->space, &heap->damage, &heap->go_spans);
	if (!error)
		error = go_spans_areas(&heap->go_spans, &heap->areas);
	return error ? error : add_metadata(heap, &heap->go_spans.metadata);
}

static struct error *walk_go(struct heap *heap, const struct heap_area *area, struct window *window,
	const struct heap_sink *sink)
{
	return go_spans_walk(&heap->go_spans, area, window, sink);
}

static void close_go(struct heap *heap)
{
	go_spans_close(&heap->go_spans);
}

/* They are found in this order: what one has is no other's. */
static const struct allocator allocators[HEAP_ALLOCATORS] = {
	[HEAP_GLIBC] = {find_glibc, walk_glibc, close_glibc},
	[HEAP_JEMALLOC] = {find_jemalloc, walk_jemalloc, close_jemalloc},
	[HEAP_TCMALLOC] = {find_tcmalloc, walk_tcmalloc, close_tcmalloc},
	[HEAP_MIMALLOC] = {find_mimalloc, walk_mimalloc, close_mimalloc},
	[HEAP_MALLOCNG] = {find_mallocng, walk_mallocng, close_mallocng},
	[HEAP_OLDMALLOC] = {find_oldmalloc, walk_oldmalloc, NULL},
	[HEAP_PYMALLOC] = {find_pymalloc, walk_pymalloc, close_pymalloc},
	[HEAP_GO] = {find_go, walk_go, close_go},
};

static bool is_among(const struct heap_area *run, const struct heap_area_vec *others)
{
	bool found = false;
	for (size_t i = 0; i < others->len && !found; i++)
		found = others->data[i].start < run->end && others->data[i].end > run->start;
	return found && run->allocator == HEAP_GLIBC && run->kind == GLIBC_RUN && !run->arena;
}

/* Another allocator may have taken from the program break, too: a run of glibc's that goes around
 * that becomes several. `known`: this many areas were there before. */
static struct error *give_way(struct heap *heap, size_t known)
{
	struct heap_area_vec *areas = &heap->areas;
	struct heap_area_vec others = {.data = NULL}, pieces = {.data = NULL};
	struct error *error = NULL;
	bool ok = true;
	for (size_t i = known; i < areas->len && ok && heap->glibc.arenas.len; i++)
		ok = heap_areas_add(&others, &areas->data[i]);
	ok = ok && heap_areas_sort(&others);
	for (size_t i = 0; i < known && ok && !error && others.len; i++) {
		if (is_among(&areas->data[i], &others))
			error = glibc_run_split(
				heap->space, &areas->data[i], &others, &heap->damage, &pieces);
		else
			ok = heap_areas_add(&pieces, &areas->data[i]);
	}
	for (size_t i = 0; i < others.len && ok && !error; i++)
		ok = heap_areas_add(&pieces, &others.data[i]);
	if (ok && !error && others.len) {
		struct heap_area_vec swap = *areas;
		*areas = pieces;
		pieces = swap;
	}
	heap_area_vec_deinit(&others);
	heap_area_vec_deinit(&pieces);
	return error || ok ? error : error_no_memory();
}

void heap_note_mid_update(struct heap *heap, size_t from)
{
	for (size_t i = from; i < heap->damage.len; i++)
		heap->damage.data[i].amid |= heap->is_mid_update;
}

struct error *heap_open(const struct address_space *space, struct heap *ret)
{
	*ret = (struct heap){.space = space};
	struct error *error = NULL;
	for (unsigned i = 0; !error && i < HEAP_ALLOCATORS; i++) {
		size_t known = ret->areas.len;
		size_t damage = ret->damage.len;
		if (allocators[i].find)
			error = allocators[i].find(ret);
		if (i == HEAP_GLIBC)
			heap_note_mid_update(ret, damage);
		if (!error && i != HEAP_GLIBC && ret->areas.len > known)
			error = give_way(ret, known);
		if (!error && !heap_areas_sort(&ret->areas))
			error = error_no_memory();
	}
	ret->python.areas = &ret->areas;
	ret->damage_found = ret->damage.len;
	return error;
}

void heap_close(struct heap *heap)
{
	for (unsigned i = 0; i < HEAP_ALLOCATORS; i++) {
		if (allocators[i].close)
			allocators[i].close(heap);
	}
	heap_area_vec_deinit(&heap->areas);
	heap_ranges_deinit(&heap->metadata);
	heap_damage_vec_deinit(&heap->damage);
}

struct error *heap_walk(struct heap *heap, const struct heap_sink *sink)
{
	_cleanup_(window_cleanup) struct window window;
	struct error *error = window_open(heap->space, &window);
	heap->damage.len = heap->damage_found;
	for (size_t i = 0; !error && i < heap->areas.len; i++) {
		const struct heap_area *area = &heap->areas.data[i];
		size_t damage = heap->damage.len;
		error = allocators[area->allocator].walk(heap, area, &window, sink);
		if (area->allocator == HEAP_GLIBC)
			heap_note_mid_update(heap, damage);
	}
	return error;
}

struct error *heap_leave_gaps(struct heap *heap)
{
	const struct heap_area_vec none = {.data = NULL};
	struct heap_area_vec pieces = {.data = NULL};
	struct error *error = NULL;
	bool ok = true;
	if (!heap->glibc.has_gaps)
		return NULL;
	for (size_t i = 0; i < heap->areas.len && ok && !error; i++) {
		const struct heap_area *area = &heap->areas.data[i];
		if (area->allocator == HEAP_GLIBC && area->kind == GLIBC_RUN && !area->arena)
			error = glibc_run_split(heap->space, area, &none, NULL, &pieces);
		else
			ok = heap_areas_add(&pieces, area);
	}
	if (ok && !error) {
		struct heap_area_vec swap = heap->areas;
		heap->areas = pieces;
		pieces = swap;
		ok = heap_areas_sort(&heap->areas);
	}
	heap_area_vec_deinit(&pieces);
	return error || ok ? error : error_no_memory();
}

const char *heap_absence(const struct heap *heap)
{
	const struct core_file *core = &heap->space->core;
	if (address_space_lacks_private(heap->space))
		return "no heap was found: the core has no private memory";
	if (!heap->space->is_live && (core->missing_bytes || core->unpacked_cut))
		return "no heap was found: the data of the allocator's library, where its heap "
		       "begins, "
		       "is in the part of the core that was cut off; have it written whole (ulimit "
		       "-c "
		       "unlimited; of systemd-coredump ProcessSizeMax= and ExternalSizeMax=; room "
		       "on "
		       "the disk)";
	return "no heap was found: the program has not allocated anything yet, or its allocator is "
	       "not supported (supported: glibc, musl, jemalloc 5, tcmalloc, mimalloc "
	       "2, Go's)";
}
