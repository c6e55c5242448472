/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/mapping_owners.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "heap/allocators/allocator.h"

/* Whose tables are read: others have none, or all memory would have to be read for them. */
static const enum heap_allocator asked[] = {
	HEAP_JEMALLOC, HEAP_TCMALLOC, HEAP_MIMALLOC, HEAP_MALLOCNG, HEAP_OLDMALLOC, HEAP_GO};

static bool range_add(struct mapping_owner_ranges *ret, uint64_t start, uint64_t end,
	const char *allocator, uint32_t arena)
{
	const struct mapping_owner_range range = {start, end, allocator, arena};
	return start >= end || mapping_owner_ranges_push(ret, range);
}

/* Extents say whose arena they are of. */
static bool extents_add(
	const struct je_malloc *je, const char *name, struct mapping_owner_ranges *ret)
{
	bool ok = true;
	for (size_t i = 0; ok && i < je->extents.len; i++) {
		const struct je_extent *extent = &je->extents.data[i];
		ok = range_add(
			ret, extent->address, extent->address + extent->size, name, extent->arena);
	}
	return ok;
}

static bool ranges_add(
	const struct heap_ranges *ranges, const char *name, struct mapping_owner_ranges *ret)
{
	bool ok = true;
	for (size_t i = 0; ok && i < ranges->len; i++)
		ok = range_add(ret, ranges->data[i].start, ranges->data[i].end, name,
			MAPPING_OWNER_NO_ARENA);
	return ok;
}

/* All that a heap of one allocator has. What it has beside its areas is its own only where they
 * are: tables alone may be left over. */
static bool heap_add(
	const struct heap *heap, enum heap_allocator allocator, struct mapping_owner_ranges *ret)
{
	const char *name = heap_allocator_name(allocator);
	bool ok = extents_add(&heap->je_malloc, name, ret);
	for (size_t i = 0; ok && i < heap->areas.len && allocator != HEAP_JEMALLOC; i++)
		ok = range_add(ret, heap->areas.data[i].low, heap->areas.data[i].high, name,
			MAPPING_OWNER_NO_ARENA);
	return ok && (!heap->areas.len || (ranges_add(&heap->metadata, name, ret) &&
						  ranges_add(&heap->go_spans.others, name, ret)));
}

static struct error *allocator_ranges_find(const struct address_space *space,
	enum heap_allocator allocator, struct mapping_owner_ranges *ret)
{
	struct heap heap = {.space = space};
	struct error *error = allocator_of(allocator)->find(&heap);
	if (!error && !heap_add(&heap, allocator, ret))
		error = error_no_memory();
	heap_close(&heap);
	return error;
}

static int range_by_start(const void *left, const void *right)
{
	const struct mapping_owner_range *a = left, *b = right;
	return (a->start > b->start) - (a->start < b->start);
}

/* Of ranges that overlap the second loses what the first has. */
static void ranges_part(struct mapping_owner_ranges *ranges)
{
	size_t kept = 0;
	uint64_t end = 0;
	if (ranges->len)
		qsort(ranges->data, ranges->len, sizeof(*ranges->data), range_by_start);
	for (size_t i = 0; i < ranges->len; i++) {
		struct mapping_owner_range range = ranges->data[i];
		range.start = range.start < end ? end : range.start;
		if (range.start >= range.end)
			continue;
		end = range.end;
		ranges->data[kept++] = range;
	}
	ranges->len = kept;
}

/* Tables of musl's allocators are found by a walk through all memory, so only where a module is
 * called by its name: ld-musl-x86_64.so.1, x86_64-linux-musl/libc.so. */
static bool is_possible(const struct address_space *space, enum heap_allocator allocator)
{
	bool found = allocator != HEAP_MALLOCNG && allocator != HEAP_OLDMALLOC;
	for (size_t i = 0; i < space->modules.len && !found; i++)
		found = strstr(space->modules.data[i].path, "musl");
	return found;
}

struct error *mapping_owner_ranges_find(
	const struct address_space *space, struct mapping_owner_ranges *ret)
{
	struct error *error = NULL;
	for (size_t i = 0; !error && i < ARRAY_SIZE(asked); i++) {
		if (is_possible(space, asked[i]))
			error = allocator_ranges_find(space, asked[i], ret);
	}
	ranges_part(ret);
	return error;
}
