/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/maps/maps_explain.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "process/memory.h"

#define PIECE_BYTES ((size_t)1 << 20)

struct explain {
	struct maps_target *target;
	const struct mapping_region *region;
	struct process_memory memory;
	bool is_open;
	uint8_t *piece;
	struct maps_pages *pages;
};

static uint64_t region_growth(const struct maps_target *target, size_t index)
{
	const struct mapping_series *series = &target->series;
	const struct mapping_region *region = &series->regions.data[index];
	size_t last = series->seconds.len - 1;
	if (region->merged || !region->value_count || !region->is_seen ||
		region->sample.flags[0] != 'r' || region->first + region->value_count <= last)
		return 0;
	uint64_t now = region->values[last - region->first];
	uint64_t before = region->first ? 0 : region->values[0];
	return now == MAPPING_NO_FIGURE || before == MAPPING_NO_FIGURE || now < before
		       ? 0
		       : now - before;
}

/* The region that grew most of those that have no pages yet; SIZE_MAX: none. */
static size_t region_next(const struct maps_target *target)
{
	size_t ret = SIZE_MAX;
	uint64_t most = 0;
	for (size_t i = 0; i < target->series.regions.len; i++) {
		bool is_done = false;
		for (size_t k = 0; k < target->page_count; k++)
			is_done |= target->pages[k]->region == i;
		uint64_t growth = is_done ? 0 : region_growth(target, i);
		if (growth > most) {
			most = growth;
			ret = i;
		}
	}
	return ret;
}

static void range_read(struct explain *explain, uint64_t start, uint64_t end)
{
	struct maps_pages *pages = explain->pages;
	pages->new_bytes += end - start;
	while (explain->is_open && start < end) {
		uint64_t room = MAPS_EXPLAIN_BYTES_MAX - pages->strings.bytes;
		size_t wanted = (size_t)min(min(end - start, (uint64_t)PIECE_BYTES), room);
		if (!wanted) {
			pages->unread = "only the first 64 MiB were read";
			return;
		}
		size_t got = process_memory_read(&explain->memory, start, explain->piece, wanted);
		memory_strings_add(&pages->strings, explain->piece, got);
		if (got < wanted) {
			pages->unread =
				"some of it could not be read: the process has given it back, "
				"or it has ended";
			return;
		}
		start += got;
	}
}

/* Of pages that are in memory now, those in the region that were not at the first look. */
static bool pages_note(void *ctx, uint64_t start, uint64_t end)
{
	struct explain *explain = ctx;
	start = max(start, explain->region->start);
	end = min(end, explain->region->end);
	while (start < end) {
		const struct address_range *old =
			address_ranges_from(&explain->target->first_pages, start);
		uint64_t until = old && old->start < end ? max(old->start, start) : end;
		if (until > start)
			range_read(explain, start, until);
		start = old && old->start < end ? max(old->end, start) : end;
	}
	return true;
}

static struct error *region_explain(
	struct maps_target *target, struct explain *explain, size_t index)
{
	struct maps_pages *pages = calloc(1, sizeof(*pages));
	if (!pages)
		return error_no_memory();
	target->pages[target->page_count++] = pages;
	pages->region = index;
	memory_strings_init(&pages->strings);
	explain->region = &target->series.regions.data[index];
	explain->pages = pages;
	pages->unread = !explain->is_open ? "the memory of the process can't be read" : NULL;
	if (target->pages_unknown)
		pages->unread = target->pages_unknown;
	else if (target->has_ended)
		pages->unread = "the process has ended";
	struct error *error = target->pages_unknown || target->has_ended
				      ? NULL
				      : live_look_pages(&target->looker, pages_note, explain);
	memory_strings_finish(&pages->strings);
	return error;
}

struct error *maps_explain(struct maps_target *target)
{
	_cleanup_free_ uint8_t *piece = malloc(PIECE_BYTES);
	struct explain explain = {.target = target, .piece = piece};
	target->pages = calloc(MAPS_EXPLAINED_MAX, sizeof(struct maps_pages *));
	if (!piece || !target->pages)
		return error_no_memory();
	struct error *error = process_memory_open(
		target->looker.reads, target->looker.reads, NULL, &explain.memory);
	explain.is_open = !error;
	error_destroy(error);
	error = NULL;
	for (size_t index; !error && target->page_count < MAPS_EXPLAINED_MAX &&
			   (index = region_next(target)) != SIZE_MAX;)
		error = region_explain(target, &explain, index);
	if (explain.is_open)
		process_memory_close(&explain.memory);
	return error;
}
