/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/blocks/parallel_walk.h"

#include <pthread.h>

#include "base/cleanup.h"
#include "heap/blocks/window.h"

/* What the second thread goes through, and what comes of it. */
struct second {
	const struct heap *heap;
	struct glibc glibc; /* the heap's, with damage of its own */
	struct heap_damage_vec damage;
	size_t area; /* the first one, from `start` on */
	uint64_t start;
	const struct heap_sink *sink;
	struct error *error;
};

/* The first half's blocks, until one is the second half's first. */
struct middle_check {
	const struct heap_sink *sink;
	uint64_t start;
	bool is_reached;
};

static bool is_of_glibc(const struct heap *heap)
{
	for (size_t i = 0; i < heap->areas.len; i++) {
		if (heap->areas.data[i].allocator != HEAP_GLIBC)
			return false;
	}
	return true;
}

static uint64_t parallel_walk_bytes_of(const struct heap *heap)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < heap->areas.len; i++)
		sum += heap->areas.data[i].end - heap->areas.data[i].start;
	return sum;
}

/* Finds a block in the middle, or after. False: there is none. */
static bool find_start(struct second *s)
{
	_cleanup_(window_cleanup) struct window window;
	struct error *error = window_open(s->heap->space, &window);
	bool is_open = !error;
	uint64_t half = parallel_walk_bytes_of(s->heap) / 2;
	error_destroy(error);
	for (size_t i = 0; is_open && i < s->heap->areas.len; i++) {
		const struct heap_area *area = &s->heap->areas.data[i];
		uint64_t bytes = area->end - area->start;
		if (bytes <= half) {
			half -= bytes;
			continue;
		}
		s->area = i;
		s->start = glibc_chunk_from(&s->glibc, area, area->start + half, &window);
		if (s->start < area->end)
			return true;
		half = 0;
	}
	return false;
}

static void *walk_second(void *context)
{
	struct second *s = context;
	_cleanup_(window_cleanup) struct window window;
	s->error = window_open(s->heap->space, &window);
	for (size_t i = s->area; i < s->heap->areas.len && !s->error; i++) {
		struct heap_area area = s->heap->areas.data[i];
		if (i == s->area)
			area.start = s->start;
		s->error = glibc_walk(&s->glibc, &area, &window, s->sink);
	}
	return NULL;
}

static struct error *take_until(
	void *context, const struct heap_block *block, const uint8_t *bytes, size_t len)
{
	struct middle_check *m = context;
	m->is_reached = block->address == m->start + CHUNK_HEADER;
	/* Only to end there. */
	return m->is_reached ? error_create(ERROR_INTERNAL, "the second half begins")
			     : m->sink->take(m->sink->context, block, bytes, len);
}

/* Damage is reported in the order of addresses. */
static struct error *append_damage(struct heap *heap, const struct heap_damage_vec *more)
{
	size_t before = heap->damage.len;
	for (size_t i = 0; i < more->len; i++) {
		if (!heap_damage_vec_push(&heap->damage, more->data[i]))
			return error_no_memory();
	}
	heap_note_mid_update(heap, before);
	return NULL;
}

static struct error *walk_first(struct heap *heap, struct middle_check *middle_check)
{
	struct heap_sink sink = {middle_check, take_until};
	struct error *error = heap_walk(heap, &sink);
	if (!middle_check->is_reached)
		return error;
	error_destroy(error);
	return NULL;
}

struct error *heap_walk_parallel(struct heap *heap, uint64_t least, const struct heap_sink *first,
	const struct heap_sink *second, bool *ret_halved)
{
	struct second s = {.heap = heap, .glibc = heap->glibc, .sink = second};
	s.glibc.damage = &s.damage;
	pthread_t thread;
	*ret_halved = false;
	if (!is_of_glibc(heap) || parallel_walk_bytes_of(heap) < least || !find_start(&s) ||
		pthread_create(&thread, NULL, walk_second, &s))
		return heap_walk(heap, first);
	struct middle_check middle_check = {first, s.start, false};
	struct error *error = walk_first(heap, &middle_check);
	pthread_join(thread, NULL);
	heap->glibc.has_gaps |= s.glibc.has_gaps;
	*ret_halved = !error && middle_check.is_reached && !s.error;
	if (*ret_halved)
		error = append_damage(heap, &s.damage);
	else if (!error && middle_check.is_reached)
		error = steal_ptr(s.error);
	error_destroy(s.error);
	heap_damage_vec_deinit(&s.damage);
	return error;
}
