/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/scan/roots.h"

#include "heap/blocks/freeing.h"
#include "roots/roots.h"

struct finding {
	const struct heap *heap;
	struct address_ranges heaps;    /* of allocators */
	struct address_ranges excluded; /* the same, and their metadata elsewhere */
	struct libc_threads threads;
	struct memory_root_vec found;
	struct heap_root_vec *roots;
};

/* Data first: what a program names says more than what a stack may have left over. */
static bool put_in_order(struct heap_root_vec *roots)
{
	static const enum heap_root_kind order[HEAP_ROOT_KINDS] = {HEAP_ROOT_DATA, HEAP_ROOT_TLS,
		HEAP_ROOT_REGISTERS, HEAP_ROOT_STACK, HEAP_ROOT_MAPPING, HEAP_ROOT_COLLECTOR};
	struct heap_root_vec sorted;
	bool ok = true;
	heap_root_vec_init(&sorted);
	for (unsigned kind = 0; kind < HEAP_ROOT_KINDS; kind++) {
		for (size_t i = 0; i < roots->len && ok; i++) {
			if (roots->data[i].kind == order[kind])
				ok = heap_root_vec_push(&sorted, roots->data[i]);
		}
	}
	struct heap_root_vec swap = *roots;
	*roots = sorted;
	heap_root_vec_deinit(&swap);
	return ok;
}

/* What a collector has not freed it holds itself, if nothing else does. */
static bool add_collected(struct finding *f)
{
	const struct heap_addresses *used = &f->heap->go_spans.used;
	struct heap_root root = {.kind = HEAP_ROOT_COLLECTOR,
		.start = used->len ? used->data[0] : 0,
		.end = used->len ? used->data[0] : 0,
		.values = used->data,
		.value_count = used->len};
	return !used->len || heap_root_vec_push(f->roots, root);
}

/* Tables of threads that have ended belong to none that is there. */
static enum heap_root_kind roots_kind_of(const struct memory_root *from)
{
	static const enum heap_root_kind kinds[] = {[MEMORY_ROOT_DATA] = HEAP_ROOT_DATA,
		[MEMORY_ROOT_STACK] = HEAP_ROOT_STACK,
		[MEMORY_ROOT_TLS] = HEAP_ROOT_TLS,
		[MEMORY_ROOT_REGISTERS] = HEAP_ROOT_REGISTERS,
		[MEMORY_ROOT_MAPPING] = HEAP_ROOT_MAPPING};
	return from->thread == MEMORY_ROOT_NO_THREAD ? HEAP_ROOT_MAPPING : kinds[from->kind];
}

static bool add_found(struct finding *f)
{
	bool ok = true;
	for (size_t i = 0; ok && i < f->found.len; i++) {
		const struct memory_root *from = &f->found.data[i];
		struct heap_root root = {roots_kind_of(from), from->start, from->end, from->thread,
			from->values, from->value_count, from->value};
		if (from->thread == MEMORY_ROOT_NO_THREAD)
			root.thread = 0;
		ok = heap_root_vec_push(f->roots, root);
	}
	return ok;
}

static bool exclude_heaps(struct finding *f)
{
	const struct heap_area_vec *areas = &f->heap->areas;
	const struct heap_ranges *metadata = &f->heap->metadata;
	bool ok = true;
	for (size_t i = 0; ok && i < areas->len; i++)
		ok = address_ranges_add(&f->heaps, areas->data[i].low, areas->data[i].high) &&
		     address_ranges_add(&f->excluded, areas->data[i].low, areas->data[i].high);
	for (size_t i = 0; ok && i < metadata->len; i++)
		ok = address_ranges_add(
			&f->excluded, metadata->data[i].start, metadata->data[i].end);
	address_ranges_join(&f->heaps);
	address_ranges_join(&f->excluded);
	return ok;
}

static bool roots_find_all(struct finding *f, const struct thread_blocks *blocks)
{
	const struct roots_place place = {
		f->heap->space, &f->threads, blocks, &f->heaps, &f->excluded};
	if (!exclude_heaps(f) || !libc_threads_find(f->heap->space, &f->threads))
		return false;
	struct error *error = roots_find(&place, &f->found);
	error_destroy(error);
	bool ok = !error && add_found(f);
	for (size_t i = 0; ok && i < f->heap->space->threads.len; i++)
		ok = freeing_add_roots(f->heap, (uint32_t)i, f->roots);
	ok = ok && put_in_order(f->roots) && add_collected(f);
	/* Only now do they stay where they are. */
	for (size_t i = 0; ok && i < f->roots->len; i++) {
		struct heap_root *root = &f->roots->data[i];
		if (root->value_count && !root->values)
			root->values = &root->value;
	}
	return ok;
}

struct error *heap_roots_find(
	const struct heap *heap, const struct thread_blocks *blocks, struct heap_root_vec *ret)
{
	heap_root_vec_init(ret);
	struct finding f = {.heap = heap, .roots = ret};
	bool ok = roots_find_all(&f, blocks);
	address_ranges_deinit(&f.heaps);
	address_ranges_deinit(&f.excluded);
	libc_threads_deinit(&f.threads);
	memory_root_vec_deinit(&f.found);
	return ok ? NULL : error_no_memory();
}
