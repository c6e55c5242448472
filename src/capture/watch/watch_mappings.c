/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/watch/watch_mappings.h"

#include "base/util.h"

#define PAGE_BYTES 4096ull

void watch_mappings_init(struct watch_mappings *mappings)
{
	*mappings = (struct watch_mappings){0};
	interval_map_init(&mappings->ranges);
}

void watch_mappings_deinit(struct watch_mappings *mappings)
{
	interval_map_deinit(&mappings->ranges);
	watch_mapping_vec_deinit(&mappings->all);
}

static void bytes_lose(void *context, uint32_t owner, uint64_t bytes)
{
	struct watch_mappings *mappings = context;
	mappings->all.data[owner].bytes -= bytes;
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

struct error *watch_mappings_take(
	struct watch_mappings *mappings, const struct watch_event *event, bool is_own)
{
	struct error *error = NULL;
	if (event->kind == WATCH_EVENT_UNMAP)
		return range_clear(mappings, event->address, event->size);
	if (event->kind == WATCH_EVENT_REMAP)
		error = range_clear(mappings, event->old_address, event->old_size);
	if (error)
		return error;
	return is_own ? range_clear(mappings, event->address, event->size)
		      : range_set(mappings, event);
}
