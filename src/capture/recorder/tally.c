/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plain growing arrays with dense numbers: a site is looked up through its stack's number, so no
 * hash is between an event and its counters. */
#include "capture/recorder/tally.h"

#include "format/hpw.h"

#include <stdlib.h>
#include <string.h>

void tally_init(struct tally *tally)
{
	memset(tally, 0, sizeof(*tally));
	tally->thread_free = TALLY_NO_ROW;
}

void tally_deinit(struct tally *tally)
{
	free(tally->sites);
	free(tally->site_of_stack);
	free(tally->threads);
	free(tally->sizes.places);
	free(tally->part_sizes.places);
	free(tally->before);
	tally_init(tally);
}

/* Grows an array to hold at least `needed` elements. New ones are unset: rows of sites and threads
 * are assigned whole, and half of a large table may never be touched. */
static bool grow_array(void **array, uint32_t *capacity, uint32_t needed, size_t element)
{
	if (needed <= *capacity)
		return true;
	uint32_t bigger = *capacity ? *capacity : 64;
	while (bigger < needed)
		bigger = bigger > UINT32_MAX / 2 ? UINT32_MAX : bigger * 2;
	void *moved = realloc(*array, (size_t)bigger * element);
	if (!moved)
		return false;
	*array = moved;
	*capacity = bigger;
	return true;
}

/* Makes a link of the stack, 0 if it has no sites yet. */
static bool grow_stacks(struct tally *tally, uint32_t stack)
{
	uint32_t before = tally->stack_capacity;
	if (!grow_array((void **)&tally->site_of_stack, &tally->stack_capacity, stack + 1,
		    sizeof(uint32_t)))
		return false;
	memset(tally->site_of_stack + before, 0,
		(size_t)(tally->stack_capacity - before) * sizeof(uint32_t));
	return true;
}

uint32_t tally_site_new(struct tally *tally, uint32_t stack, enum hw_alloc_kind kind)
{
	if (!grow_stacks(tally, stack))
		return UINT32_MAX;
	uint32_t *link = &tally->site_of_stack[stack];
	for (uint32_t i = *link; i; i = tally->sites[i - 1].next) {
		if (tally->sites[i - 1].kind == kind)
			return i - 1;
	}
	/* A few stay for the empty stack, which takes what finds no place. */
	if ((stack && tally->site_count >= HPW_SITES_MAX - HW_ALLOC_KINDS) ||
		!grow_array((void **)&tally->sites, &tally->site_capacity, tally->site_count + 1,
			sizeof(struct tally_site)))
		return UINT32_MAX;
	uint32_t site = tally->site_count++;
	tally->sites[site] = (struct tally_site){.stack = stack,
		.kind = (uint8_t)kind,
		.free_kind = (uint8_t)hw_matching_free(kind),
		.next = *link,
		.min_size = UINT64_MAX};
	*link = site + 1;
	return site;
}

static uint32_t thread_again(struct tally *tally, uint32_t tid)
{
	uint32_t row = tally->thread_free;
	struct tally_thread *t = &tally->threads[row];
	tally->thread_free = t->next_free;
	tally->threads_seen++;
	t->tid = tid;
	t->threads++;
	t->ended = false;
	t->fresh = true;
	return row;
}

uint32_t tally_thread_new(struct tally *tally, uint32_t tid, uint64_t stamp)
{
	if (tally->thread_free != TALLY_NO_ROW)
		return thread_again(tally, tid);
	if (tally->thread_count == TALLY_ROWS_MAX ||
		!grow_array((void **)&tally->threads, &tally->thread_capacity,
			tally->thread_count + 1, sizeof(struct tally_thread)))
		return UINT32_MAX;
	tally->threads[tally->thread_count] = (struct tally_thread){
		.tid = tid, .threads = 1, .first_stamp = stamp, .last_stamp = stamp};
	tally->threads_seen++;
	return tally->thread_count++;
}

void tally_thread_end(struct tally *tally, uint32_t thread)
{
	struct tally_thread *t = &tally->threads[thread];
	t->ended = true;
	if (thread < TALLY_ROWS_OWN)
		return;
	t->next_free = tally->thread_free;
	tally->thread_free = thread;
}

static size_t size_place(const struct tally_sizes *sizes, uint64_t size)
{
	uint64_t h = size * 0x9e3779b97f4a7c15ull;
	size_t mask = sizes->capacity - 1, i = (h >> 32) & mask;
	while (sizes->places[i].allocations && sizes->places[i].size != size)
		i = (i + 1) & mask;
	return i;
}

static bool sizes_grow(struct tally_sizes *sizes)
{
	struct tally_sizes old = *sizes;
	sizes->capacity = old.capacity ? old.capacity * 2 : 1024;
	sizes->places = calloc(sizes->capacity, sizeof(*sizes->places));
	if (!sizes->places) {
		*sizes = old;
		return false;
	}
	for (size_t i = 0; i < old.capacity; i++) {
		if (old.places[i].allocations)
			sizes->places[size_place(sizes, old.places[i].size)] = old.places[i];
	}
	free(old.places);
	return true;
}

static bool sizes_add(struct tally_sizes *sizes, uint64_t size, uint64_t allocations)
{
	if (sizes->count * 2 >= sizes->capacity && !sizes_grow(sizes))
		return false;
	struct tally_size *s = &sizes->places[size_place(sizes, size)];
	if (!s->allocations) {
		s->size = size;
		sizes->count++;
	}
	s->allocations += allocations;
	return true;
}

void tally_count_sizes(struct tally *tally, struct tally_site *site)
{
	if (!site->last_count)
		return;
	struct tally_sizes *sizes = tally->parts ? &tally->part_sizes : &tally->sizes;
	if (sizes_add(sizes, site->last_size, site->last_count))
		site->last_count = 0;
	else
		tally->part_failed = true;
}

static void note_before(struct tally *tally, struct tally_site *s)
{
	if (tally->before_count == tally->before_capacity) {
		size_t capacity = tally->before_capacity ? tally->before_capacity * 2 : 256;
		struct tally_before *moved =
			realloc(tally->before, capacity * sizeof(*tally->before));
		if (!moved) {
			tally->part_failed = true;
			return;
		}
		tally->before = moved;
		tally->before_capacity = capacity;
	}
	tally->before[tally->before_count++] = (struct tally_before){
		.site = (uint64_t)(s - tally->sites),
		.counters = s->counters,
	};
	site_counters_clear_extremes(&s->counters);
}

void tally_catch_up_now(struct tally *tally, struct tally_site *s)
{
	account_catch_up(&tally->heap, &s->counters, s->seen);
	if (tally->parts && s->seen < tally->part_epoch) {
		tally_count_sizes(tally, s);
		note_before(tally, s);
	}
	s->seen = tally->heap.epoch;
}

void tally_settle_sizes(struct tally *tally)
{
	/* Those that have not changed in this part have been counted. */
	for (size_t i = 0; tally->parts && i < tally->before_count; i++)
		tally_count_sizes(tally, &tally->sites[tally->before[i].site]);
	for (uint32_t i = 0; !tally->parts && i < tally->site_count; i++)
		tally_count_sizes(tally, &tally->sites[i]);
}

/* The sites of the part are as all others again. */
static void end_part(struct tally *tally)
{
	for (size_t i = 0; i < tally->before_count; i++) {
		const struct tally_before *before = &tally->before[i];
		site_counters_join_extremes(
			&tally->sites[before->site].counters, &before->counters);
	}
	tally->before_count = 0;
	struct tally_sizes *part = &tally->part_sizes;
	for (size_t i = 0; i < part->capacity; i++) {
		struct tally_size *size = &part->places[i];
		if (size->allocations)
			sizes_add(&tally->sizes, size->size, size->allocations);
		size->allocations = 0;
	}
	part->count = 0;
	tally->part_failed = false;
}

void tally_parts_end(struct tally *tally)
{
	tally_settle_sizes(tally);
	end_part(tally);
	tally->parts = false;
	tally->heap.highest_bytes = tally->heap.peak_bytes;
}

void tally_part(struct tally *tally)
{
	tally_settle_sizes(tally);
	end_part(tally);
	tally->parts = true;
	account_begin_part(&tally->heap);
	tally->part_epoch = tally->heap.epoch;
}

void tally_alloc(struct tally *tally, uint32_t site, uint32_t thread, uint64_t size, uint64_t stamp)
{
	struct tally_thread *t = &tally->threads[thread];
	tally_count_alloc(tally, &tally->sites[site], &t->calls, size, stamp);
	t->fresh = false;
	t->last_stamp = stamp;
}

void tally_free(struct tally *tally, const struct tally_free *freed)
{
	struct tally_thread *t = &tally->threads[freed->thread];
	tally_count_free(tally, &tally->sites[freed->site], &t->calls, &freed->block);
	t->last_stamp = freed->stamp;
}

void tally_failed(struct tally *tally, uint32_t site, uint64_t size)
{
	struct tally_site *s = &tally->sites[site];
	tally_catch_up(tally, s);
	account_failed(&tally->heap, &s->counters, size);
}

void tally_settle(struct tally *tally)
{
	tally_settle_sizes(tally);
	end_part(tally);
	for (uint32_t i = 0; i < tally->site_count; i++)
		account_catch_up(&tally->heap, &tally->sites[i].counters, tally->sites[i].seen);
	tally->calls = (struct call_counters){0};
	for (uint32_t i = 0; i < tally->thread_count; i++)
		call_counters_add(&tally->calls, &tally->threads[i].calls);
}
