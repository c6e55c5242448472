/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Saved looks at memory: smaps, pmap, and what `heapwise maps` wrote. What is read must keep its
 * promises: ascending mappings without overlaps, with names; and a series of it twice, and of half
 * of it, has no more bytes than the looks have. The same bytes as numa_maps give ascending mappings
 * and nodes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/mapping_series.h"
#include "process/numa_maps.h"
#include "sources/look_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool condition)
{
	if (!condition)
		abort();
}

static uint64_t check_mappings(const struct memory_look *look)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < look->mappings.len; i++) {
		const struct look_mapping *mapping = &look->mappings.data[i];
		uint64_t bytes;
		need(mapping->start < mapping->end);
		need(!i || mapping[-1].end <= mapping->start);
		need(mapping->name && strlen(mapping->flags) == 4 && mapping->owner < LOOK_OWNERS);
		if (sum == MAPPING_NO_FIGURE || !look_figure(mapping, LOOK_RSS, &bytes) ||
			__builtin_add_overflow(sum, bytes, &sum))
			sum = MAPPING_NO_FIGURE;
	}
	return sum;
}

static void check_series(struct memory_look *look, uint64_t sum)
{
	struct mapping_series series;
	mapping_series_init(&series);
	need(!mapping_series_add(&series, look, 0));
	size_t all = look->mappings.len;
	look->mappings.len = all / 2;
	need(!mapping_series_add(&series, look, 1));
	look->mappings.len = all;
	need(!mapping_series_add(&series, look, 2));
	need(!mapping_series_finish(&series));
	need(series.seconds.len == 3 && series.parts.len == all);
	uint64_t last = 0, values[3];
	for (size_t i = 0; i < series.regions.len; i++) {
		const struct mapping_region *region = &series.regions.data[i];
		if (region->merged)
			continue;
		mapping_region_values(&series, region, values);
		struct mapping_fit fit;
		mapping_fit(series.seconds.data, values, 3, &fit);
		need(fit.shape < MAPPING_SHAPES);
		last += values[2] == MAPPING_NO_FIGURE ? 0 : values[2];
	}
	need(sum == MAPPING_NO_FIGURE || last == sum);
	mapping_series_deinit(&series);
}

struct numa_last {
	struct numa_entry entry;
	bool has_one;
};

static bool numa_check(void *ctx, const struct numa_entry *entry)
{
	struct numa_last *last = ctx;
	need(entry->bytes && entry->node < NUMA_NODES_MAX);
	need(!last->has_one || entry->start > last->entry.start ||
		(entry->start == last->entry.start && entry->node > last->entry.node));
	*last = (struct numa_last){*entry, true};
	return true;
}

static void check_numa(const uint8_t *data, size_t size)
{
	struct numa_last last = {.has_one = false};
	char *text = malloc(size + 1);
	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = 0;
	numa_maps_parse(text, numa_check, &last);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_numa(data, size);
	struct memory_look look;
	struct look_file file;
	char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	memory_look_init(&look);
	struct error *error = look_file_parse("input", text, size, &look, &file);
	need(!error || error->code == ERROR_INPUT);
	if (!error)
		check_series(&look, check_mappings(&look));
	error_destroy(error);
	memory_look_deinit(&look);
	return 0;
}
