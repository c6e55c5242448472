/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/watch/watch_mappings.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/util.h"

#define PAGE_BYTES 4096ull
/* Rows that are gone and stay for now. */
#define DEAD_FEW 4096u

void watch_mappings_init(struct watch_mappings *mappings)
{
	*mappings = (struct watch_mappings){0};
	interval_map_init(&mappings->ranges);
}

void watch_mappings_deinit(struct watch_mappings *mappings)
{
	interval_map_deinit(&mappings->ranges);
	watch_mapping_vec_deinit(&mappings->all);
	watch_unmapped_vec_deinit(&mappings->gone);
}

static void bytes_lose(void *context, uint32_t owner, uint64_t bytes)
{
	struct watch_mappings *mappings = context;
	struct watch_mapping *mapping = &mappings->all.data[owner];
	mapping->bytes -= bytes;
	mappings->dead += !mapping->bytes;
}

static struct error *range_clear(struct watch_mappings *mappings, uint64_t start, uint64_t bytes)
{
	/* The kernel refuses what is not at a page, or ends before it begins. */
	uint64_t end = start + align_up(bytes, PAGE_BYTES);
	if (start % PAGE_BYTES || end <= start)
		return NULL;
	return interval_map_remove(&mappings->ranges, start, end, bytes_lose, mappings)
		       ? NULL
		       : error_no_memory();
}

static struct error *range_set(struct watch_mappings *mappings, const struct watch_event *event)
{
	uint64_t bytes = align_up(event->size, PAGE_BYTES);
	struct watch_mapping row = {event->site, event->time_ns, bytes, bytes};
	if (event->address + bytes <= event->address)
		return NULL;
	if (!watch_mapping_vec_push(&mappings->all, row) ||
		!interval_map_set(&mappings->ranges, event->address, event->address + bytes,
			(uint32_t)(mappings->all.len - 1), bytes_lose, mappings))
		return error_no_memory();
	return NULL;
}

static bool gone_note(struct watch_mappings *mappings, const struct watch_mapping *mapping)
{
	for (size_t i = 0; i < mappings->gone.len; i++) {
		struct watch_unmapped *sum = &mappings->gone.data[i];
		if (sum->site != mapping->site)
			continue;
		sum->count++;
		sum->bytes += mapping->first_bytes;
		return true;
	}
	return watch_unmapped_vec_push(
		&mappings->gone, (struct watch_unmapped){mapping->site, 1, mapping->first_bytes});
}

/* Rows that are gone become sums, and the others move up: programs map and unmap all the time. */
static struct error *rows_compact(struct watch_mappings *mappings)
{
	struct watch_mapping_vec live = {0};
	struct interval_map ranges;
	bool is_good = true;
	interval_map_init(&ranges);
	_cleanup_free_ uint32_t *numbers = calloc(mappings->all.len, sizeof(*numbers));
	if (!numbers)
		return error_no_memory();
	for (size_t i = 0; i < mappings->all.len && is_good; i++) {
		const struct watch_mapping *mapping = &mappings->all.data[i];
		numbers[i] = (uint32_t)live.len;
		is_good = mapping->bytes ? watch_mapping_vec_push(&live, *mapping)
					 : gone_note(mappings, mapping);
	}
	const struct owned_range *range = interval_map_from(&mappings->ranges, 0);
	while (range && is_good) {
		is_good = interval_map_set(
			&ranges, range->start, range->end, numbers[range->owner], NULL, NULL);
		range = interval_map_from(&mappings->ranges, range->end);
	}
	interval_map_deinit(is_good ? &mappings->ranges : &ranges);
	watch_mapping_vec_deinit(is_good ? &mappings->all : &live);
	if (!is_good)
		return error_no_memory();
	mappings->ranges = ranges;
	mappings->all = live;
	mappings->dead = 0;
	return NULL;
}

struct error *watch_mappings_take(
	struct watch_mappings *mappings, const struct watch_event *event, bool is_own)
{
	struct error *error = NULL;
	if (mappings->dead >= DEAD_FEW && mappings->dead >= mappings->all.len / 2)
		error = rows_compact(mappings);
	if (error)
		return error;
	if (event->kind == WATCH_EVENT_UNMAP)
		return range_clear(mappings, event->address, event->size);
	if (event->kind == WATCH_EVENT_REMAP)
		error = range_clear(mappings, event->old_address, event->old_size);
	if (error)
		return error;
	return is_own ? range_clear(mappings, event->address, event->size)
		      : range_set(mappings, event);
}
