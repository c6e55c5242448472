/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/maps/live_allocators.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "heap/mapping_owners.h"
#include "process/address_space.h"

/* Allocators take more at a time. */
#define MEMORY_LEAST ((uint64_t)64 << 10)
/* A read of some pages takes 2 us: a second at most. docs/limits.md */
#define READS_MAX 500000u
#define PAGES_AT_ONCE 4096u
#define OWNER_PAGE_BYTES 4096u

struct allocator_look {
	struct address_space space;
	struct process_memory_gently gently;
	struct mapping_owner_ranges ranges;
	struct memory_look *look;
};

/* Whether what a mapping is for is still to be found. Threads of Go have stack pointers into its
 * heap, so that it is taken for their stack. */
static bool is_unknown(const struct look_mapping *mapping)
{
	uint64_t resident;
	return (mapping->owner == LOOK_ANONYMOUS || mapping->owner == LOOK_THREAD_STACK) &&
	       !memcmp(mapping->flags, "rw", 2) && mapping->end - mapping->start >= MEMORY_LEAST &&
	       (!look_figure(mapping, LOOK_RSS, &resident) || resident >= MEMORY_LEAST);
}

/* The program break may be of another allocator than glibc's, too. */
static bool is_candidate(const struct look_mapping *mapping)
{
	return is_unknown(mapping) || (mapping->owner == LOOK_HEAP && !mapping->whose);
}

static bool has_candidates(const struct memory_look *look)
{
	bool found = false;
	for (size_t i = 0; i < look->mappings.len && !found; i++)
		found = is_unknown(&look->mappings.data[i]);
	return found;
}

/* Only programs of 64 bits have tables that are known. */
static bool is_known_program(pid_t pid)
{
	char path[64];
	unsigned char head[EI_NIDENT];
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	FILE *file = fopen(path, "re");
	bool known = file && fread(head, 1, sizeof(head), file) == sizeof(head) &&
		     !memcmp(head, ELFMAG, SELFMAG) && head[EI_CLASS] == ELFCLASS64;
	if (file)
		fclose(file);
	return known;
}

static struct error *space_open(struct allocator_look *a, pid_t pid)
{
	struct error *error = process_maps_read(pid, &a->space.maps);
	if (!error)
		error = process_memory_open(pid, pid, &a->space.maps, &a->space.memory);
	if (error)
		return error;
	a->gently.reads_left = READS_MAX;
	a->space.memory.gently = &a->gently;
	return address_space_of_parts(pid, &a->space);
}

/* Bytes of [start, end) that are in memory. */
static uint64_t resident_bytes(const struct process_memory *memory, uint64_t start, uint64_t end)
{
	uint64_t bytes = 0;
	for (uint64_t at = start; at < end;) {
		uint64_t run = min(end - at, (uint64_t)PAGES_AT_ONCE * OWNER_PAGE_BYTES);
		uint64_t untouched = process_memory_untouched(memory, at, run);
		if (untouched >= OWNER_PAGE_BYTES) {
			at += untouched & ~(uint64_t)(OWNER_PAGE_BYTES - 1);
			continue;
		}
		bytes += min(end - at, (uint64_t)OWNER_PAGE_BYTES);
		at += OWNER_PAGE_BYTES;
	}
	return bytes;
}

/* What allocators have of one mapping. */
struct mapping_share {
	const struct mapping_owner_range *first; /* NULL: nothing */
	bool is_sole, is_one_arena;
	uint64_t bytes, resident; /* resident: 0 unless it was looked at */
};

static size_t range_first(const struct mapping_owner_ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ranges->data[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void share_find(const struct allocator_look *a, const struct look_mapping *mapping,
	bool looks_at_pages, struct mapping_share *ret)
{
	*ret = (struct mapping_share){.is_sole = true, .is_one_arena = true};
	uint32_t arena = MAPPING_OWNER_NO_ARENA;
	for (size_t i = range_first(&a->ranges, mapping->start);
		i < a->ranges.len && a->ranges.data[i].start < mapping->end; i++) {
		const struct mapping_owner_range *range = &a->ranges.data[i];
		uint64_t start = range->start > mapping->start ? range->start : mapping->start;
		uint64_t end = min(range->end, mapping->end);
		ret->first = ret->first ? ret->first : range;
		ret->is_sole &= ret->first->allocator == range->allocator;
		if (range->arena != MAPPING_OWNER_NO_ARENA) {
			ret->is_one_arena &=
				arena == MAPPING_OWNER_NO_ARENA || arena == range->arena;
			arena = range->arena;
			ret->first = range;
		}
		ret->bytes += end - start;
		if (looks_at_pages)
			ret->resident += resident_bytes(&a->space.memory, start, end);
	}
}

/* Whether allocators have most of it, or of what is in memory of it. */
static bool is_most(const struct allocator_look *a, const struct look_mapping *mapping,
	struct mapping_share *share)
{
	uint64_t resident;
	if (share->bytes >= (mapping->end - mapping->start) / 2)
		return true;
	share_find(a, mapping, true, share);
	return look_figure(mapping, LOOK_RSS, &resident) && share->resident >= resident / 2;
}

static bool mapping_name(const struct allocator_look *a, struct look_mapping *mapping)
{
	struct mapping_share share;
	char text[64];
	share_find(a, mapping, false, &share);
	if (!share.first)
		return true;
	const struct mapping_owner_range *first = share.first;
	bool is_heap = share.is_sole && is_most(a, mapping, &share);
	if (!is_heap && mapping->owner == LOOK_THREAD_STACK)
		return true;
	if (!is_heap)
		snprintf(text, sizeof(text), "partly %s", first->allocator);
	else if (share.is_one_arena && first->arena != MAPPING_OWNER_NO_ARENA)
		snprintf(text, sizeof(text), "%s, arena %u", first->allocator, first->arena);
	else
		snprintf(text, sizeof(text), "%s", first->allocator);
	if (is_heap)
		mapping->owner = LOOK_HEAP;
	mapping->whose = arena_strdup(&a->look->words, text);
	return mapping->whose;
}

static struct error *mappings_name(struct allocator_look *a)
{
	bool ok = true;
	for (size_t i = 0; ok && i < a->look->mappings.len; i++) {
		if (is_candidate(&a->look->mappings.data[i]))
			ok = mapping_name(a, &a->look->mappings.data[i]);
	}
	return ok ? NULL : error_no_memory();
}

struct error *live_allocators_find(
	pid_t pid, struct memory_look *look, enum live_allocators_result *ret)
{
	struct allocator_look a = {.space = {.is_live = true,
					   .machine = EM_X86_64,
					   .core.fd = -1,
					   .memory = {-1, -1, -1, NULL, NULL, NULL}},
		.look = look};
	*ret = LIVE_ALLOCATORS_KNOWN;
	if (!has_candidates(look) || !is_known_program(pid))
		return NULL;
	struct error *error = space_open(&a, pid);
	if (error) {
		*ret = LIVE_ALLOCATORS_UNKNOWN;
		error_destroy(error);
		error = NULL;
	} else {
		error = mapping_owner_ranges_find(&a.space, &a.ranges);
		if (!error)
			error = mappings_name(&a);
		if (a.gently.ended)
			*ret = LIVE_ALLOCATORS_ENDED;
	}
	mapping_owner_ranges_deinit(&a.ranges);
	address_space_close(&a.space);
	return error;
}
