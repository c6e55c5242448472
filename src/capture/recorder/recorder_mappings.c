/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the program maps (run --mmap). Its calls say it; what no call says, libc's own munmap of a
 * thread's stack or a raw system call, is seen from outside now and then: what is mapped no longer.
 */
#include "capture/recorder/recorder_impl.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "process/maps.h"

/* The pause between two looks at the process's mappings, and how many times as long as a look it is
 * at least. */
#define LOOK_PAUSE_NS 1000000000ull
#define LOOK_COST 200ull
/* Larger than any that was measured. */
#define STACK_MAX (1ull << 30)
#define PAGE_BYTES HPW_MAPPING_PAGE_BYTES
/* In an entry of pagemap: the page is there, or swapped out. */
#define PAGE_USED (3ull << 62)

/* Whether a call came from the library that has malloc. What that says is as hostile as its memory.
 */
static bool is_of_allocator(const struct recorder *r, uint32_t stack)
{
	if (!r->shm || !stack || stack >= r->source->nodes_max)
		return false;
	uint64_t frame = __atomic_load_n(&r->source->nodes[stack].frame, __ATOMIC_RELAXED),
		 allocator = __atomic_load_n(&r->shm->allocator, __ATOMIC_RELAXED);
	uint32_t module = (uint32_t)(frame >> HW_FRAME_ADDRESS_BITS);
	struct event_module m;
	if (!module || !allocator || module >= r->source->ops->module_count(r->source))
		return false;
	r->source->ops->module(r->source, module, &m);
	return allocator - m.start < m.end - m.start;
}

void recorder_add_mapping(struct recorder *r, uint32_t thread, const struct merge_mapping *mapping)
{
	if (r->mode.mappings == MODE_MAPPINGS_OFF)
		return;
	bool own = mapping->maps && is_of_allocator(r, mapping->stack);
	if (!mappings_add(&r->mappings, thread, mapping, own))
		r->merge.damaged++;
	if (r->mappings.rows.len >= MAPPING_ROWS_KEPT)
		recorder_write_mappings(r);
}

/* Finds the first part of a live range, from an address on, that is in none of the process's
 * mappings. Returns false if there is none. */
static bool find_unmapped(const struct mappings *m, const struct process_maps *maps, uint64_t from,
	uint64_t *ret_start, uint64_t *ret_end)
{
	const struct owned_range *range;
	for (uint64_t at = from; (range = interval_map_from(&m->live, at)); at = *ret_end) {
		uint64_t start = max(at, range->start);
		size_t i = process_maps_first(maps, start);
		const struct process_map *map = i < maps->maps.len ? &maps->maps.data[i] : NULL;
		if (!map || map->start > start) {
			*ret_start = start;
			*ret_end = map ? min(map->start, range->end) : range->end;
			return true;
		}
		*ret_end = min(map->end, range->end);
	}
	return false;
}

/* Whether it is still the program image that is recorded: the runtime's own memory is there. */
static bool is_same_image(const struct recorder *r, const struct process_maps *maps)
{
	uint64_t own = r->shm ? __atomic_load_n(&r->shm->own[0].start, __ATOMIC_RELAXED) : 0;
	return own && process_maps_find(maps, own);
}

/* Whether libc may still have the stack, which it unmaps as a whole; something else may lie there
 * by now. All of a stack is mapped, and its top can be written to: what libc reserves for arenas
 * can't, nor can code and most files. */
static bool may_be_stack(const struct process_maps *maps, const struct owned_range *range)
{
	const struct process_map *top = process_maps_find(maps, range->end - 1), *map;
	for (uint64_t at = range->start; at < range->end; at = map->end) {
		map = process_maps_find(maps, at);
		if (!map)
			return false;
	}
	return top && top->writable;
}

static void note_stacks_unmapped(
	struct recorder *r, const struct process_maps *maps, uint64_t stamp)
{
	const struct owned_range *range;
	for (uint64_t at = 0; (range = interval_map_from(&r->mappings.live, at));) {
		const struct owned_range stack = *range;
		at = stack.end;
		if (mapping_owner_what(stack.owner) != HPW_MAPPING_THREAD_STACK)
			continue;
		if (!may_be_stack(maps, &stack))
			mappings_gone(&r->mappings, stack.start, stack.end, stamp);
	}
}

static void note_unmapped(struct recorder *r, const struct process_maps *maps, uint64_t stamp)
{
	uint64_t start, end = 0;
	note_stacks_unmapped(r, maps, stamp);
	while (find_unmapped(&r->mappings, maps, end, &start, &end))
		mappings_gone(&r->mappings, start, end, stamp);
}

/* The lowest page in [low, high) that was ever used: it is in memory, or swapped out (the kernel's
 * Documentation/admin-guide/mm/pagemap.rst). 0: none, or that can't be read. */
static uint64_t lowest_used(int pagemap, uint64_t low, uint64_t high)
{
	uint64_t entries[512], page = low / PAGE_BYTES, last = high / PAGE_BYTES;
	while (page < last) {
		size_t want = min((size_t)(last - page), ARRAY_SIZE(entries));
		ssize_t got = pread(pagemap, entries, want * sizeof(*entries),
			(off_t)(page * sizeof(*entries)));
		if (got < (ssize_t)sizeof(*entries))
			return 0;
		for (size_t i = 0; i < (size_t)got / sizeof(*entries); i++, page++)
			if (entries[i] & PAGE_USED)
				return page * PAGE_BYTES;
	}
	return 0;
}

/* Where the stack that has its top there may begin: of the first thread by its name, of others by
 * pthread_create's own mapping. False: it is neither. */
static bool find_stack(
	const struct recorder *r, const struct process_maps *maps, uint64_t top, uint64_t *ret_low)
{
	const struct process_map *map = process_maps_find(maps, top - 1);
	if (!map || top - map->start > STACK_MAX)
		return false;
	*ret_low = map->start;
	if (!strcmp(map->path, "[stack]"))
		return true;
	const struct owned_range *range = interval_map_from(&r->mappings.live, top - 1);
	if (!range || range->start >= top ||
		mapping_owner_what(range->owner) != HPW_MAPPING_THREAD_STACK)
		return false;
	*ret_low = max(map->start, range->start);
	return true;
}

static void note_stacks_used(struct recorder *r, const struct process_maps *maps, int pagemap)
{
	const struct hw_ring *rings = (const struct hw_ring *)((const char *)r->shm + HW_SHM_RINGS);
	for (uint32_t i = 0; pagemap >= 0 && i < r->merge.lane_count; i++) {
		const struct merge_lane *lane = &r->merge.lanes[i];
		uint64_t low, top = __atomic_load_n(&rings[i].stack_top, __ATOMIC_RELAXED);
		if (!lane->active || lane->shared || lane->thread == MERGE_NO_THREAD || !top ||
			!find_stack(r, maps, top, &low))
			continue;
		struct tally_thread *thread = &r->tally.threads[lane->thread];
		uint64_t used = lowest_used(pagemap, low, top);
		uint64_t end = (top + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
		if (used && end - used > thread->stack_used)
			thread->stack_used = end - used;
	}
}

/* What the memory that is resident now is made of. */
static void note_resident(
	struct recorder *r, const struct process_maps *maps, int pagemap, uint64_t stamp)
{
	const struct heap_counters *heap = &r->tally.heap;
	struct resident_view view = {.pid = r->pid,
		.pagemap = pagemap,
		.maps = maps,
		.mappings = &r->mappings,
		.live = &r->live,
		.heap_known = r->mode.kind != MODE_SAMPLE && !r->forked &&
			      r->mode.mappings != MODE_MAPPINGS_ONLY,
		.requested_bytes = heap->live_bytes,
		.requested_blocks = heap->live_blocks,
		.padding_bytes = heap->live_padding,
		.stamp = stamp};
	for (unsigned i = 0; i < HW_OWN; i++) {
		view.own_start[i] = __atomic_load_n(&r->shm->own[i].start, __ATOMIC_RELAXED);
		view.own_end[i] = __atomic_load_n(&r->shm->own[i].end, __ATOMIC_RELAXED);
	}
	resident_look(&r->resident, &view);
}

static int open_pagemap(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void look_at_process(struct recorder *r, uint64_t stamp)
{
	_cleanup_(process_maps_deinit) struct process_maps maps = {.text = NULL};
	struct error *error = process_maps_read(r->pid, &maps);
	if (error) { /* it has ended, or may not be looked at */
		error_destroy(error);
		return;
	}
	if (!is_same_image(r, &maps))
		return;
	_cleanup_close_ int pagemap = open_pagemap(r->pid);
	/* After all that was delivered, before what is to come. */
	note_unmapped(r, &maps, min(stamp, r->merge.delivered_until));
	note_stacks_used(r, &maps, pagemap);
	note_resident(r, &maps, pagemap, stamp);
}

void recorder_look_for_dump(struct recorder *r)
{
	_cleanup_(process_maps_deinit) struct process_maps maps = {.text = NULL};
	resident_deinit(&r->resident);
	r->resident = (struct resident){.written = 0};
	struct error *error = process_maps_read(r->pid, &maps);
	if (error) {
		error_destroy(error);
		return;
	}
	if (!is_same_image(r, &maps))
		return;
	_cleanup_close_ int pagemap = open_pagemap(r->pid);
	/* What the program has unmapped since then is no news of the dump's moment. */
	note_stacks_used(r, &maps, pagemap);
	note_resident(r, &maps, pagemap, recorder_now(r).tsc);
}

void recorder_look_at_mappings(struct recorder *recorder, bool at_once)
{
	struct recorder *r = recorder;
	struct clock_pair now = recorder_now(r);
	if (r->mode.mappings == MODE_MAPPINGS_OFF ||
		(!at_once && now.ns < r->mappings.look_next_ns))
		return;
	/* What was recorded so far happened before the look. */
	recorder_drain(r);
	look_at_process(r, now.tsc);
	uint64_t after = recorder_now(r).ns, pause = LOOK_COST * (after - now.ns);
	r->mappings.look_next_ns = after + (pause > LOOK_PAUSE_NS ? pause : LOOK_PAUSE_NS);
}
