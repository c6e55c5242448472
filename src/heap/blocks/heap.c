/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/heap.h"

#include <string.h>

#include "base/cleanup.h"
#include "heap/allocators/allocator.h"
#include "heap/blocks/window.h"

#define ALLOCATOR_ROW_(id, noun) [id] = &noun##_allocator,
static const struct allocator *const allocators[HEAP_ALLOCATORS] = {
	HEAP_ALLOCATOR_ROWS(ALLOCATOR_ROW_)};

const struct allocator *allocator_of(enum heap_allocator allocator)
{
	return allocators[allocator];
}

const char *heap_allocator_name(enum heap_allocator allocator)
{
	return allocators[allocator]->name;
}

struct error *allocator_add_metadata(struct heap *heap, const struct heap_ranges *metadata)
{
	for (size_t i = 0; i < metadata->len; i++) {
		if (!heap_ranges_push(&heap->metadata, metadata->data[i]))
			return error_no_memory();
	}
	return NULL;
}

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
		error = allocators[i]->find(ret);
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
		if (allocators[i]->close)
			allocators[i]->close(heap);
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
		error = allocators[area->allocator]->walk(heap, area, &window, sink);
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
