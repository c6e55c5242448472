/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/heap.h"

#include <string.h>

#include "base/cleanup.h"
#include "heap/window.h"

struct error *heap_open(const struct address_space *space, struct heap *ret)
{
	*ret = (struct heap){.space = space};
	struct error *error = glibc_find(space, &ret->glibc);
	if (!error)
		error = glibc_areas(&ret->glibc, &ret->areas);
	if (!error)
		error = glibc_books(&ret->glibc, &ret->books);
	if (!error && !heap_areas_sort(&ret->areas))
		error = error_no_memory();
	return error;
}

void heap_close(struct heap *heap)
{
	heap_area_vec_deinit(&heap->areas);
	heap_ranges_deinit(&heap->books);
	glibc_deinit(&heap->glibc);
}

struct error *heap_walk(struct heap *heap, const struct heap_sink *sink)
{
	_cleanup_(window_cleanup) struct window window;
	struct error *error = window_open(heap->space, &window);
	heap->glibc.damage.len = heap->glibc.broken_lists;
	for (size_t i = 0; !error && i < heap->areas.len; i++)
		error = glibc_walk(&heap->glibc, &heap->areas.data[i], &window, sink);
	return error;
}
