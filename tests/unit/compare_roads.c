/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compare_roads FILE: reads a recording by its footer and by replay. Exit status 0 if both give the
 * same figures and nothing is missing, else 1 and a line for each difference.
 *
 * Not compared: times (a replay knows them to the last entry of TIME) and the number of events,
 * where a repair of the writer's or a realloc(p, 0) right before a realloc(NULL, n) may count
 * differently.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sources/source.h"

static unsigned differences;

static void compare(const char *what, size_t row, uint64_t footer, uint64_t replay)
{
	if (footer == replay)
		return;
	differences++;
	printf("%s (row %zu): %" PRIu64 " in the footer, %" PRIu64 " by replay\n", what, row,
		footer, replay);
}

#define COMPARE(field) compare(#field, 0, a->field, b->field)
#define COMPARE_ROW(field) compare(#field, i, a[i].field, b[i].field)

static void compare_totals(const struct totals *a, const struct totals *b)
{
	COMPARE(allocations);
	COMPARE(allocated_bytes);
	COMPARE(frees);
	COMPARE(failed);
	COMPARE(live_blocks);
	COMPARE(live_bytes);
	COMPARE(temporary);
	COMPARE(peak_blocks);
	COMPARE(peak_bytes);
	COMPARE(threads);
}

static void compare_recordings(const struct recording *a, const struct recording *b)
{
	COMPARE(unknown_frees);
	COMPARE(inherited_frees);
	COMPARE(mismatched_frees);
	compare("footer: complete", 0, a->complete, true);
	compare("replay: complete", 0, b->complete, true);
	compare("footer: way", 0, a->read_way, READ_FOOTER);
	compare("replay: way", 0, b->read_way, READ_REPLAY);
}

static void compare_sites(const struct model *footer, const struct model *replay)
{
	size_t count, other;
	const struct site *a = model_sites(footer, &count), *b = model_sites(replay, &other);
	compare("sites", 0, count, other);
	for (size_t i = 0; i < count && i < other; i++) {
		COMPARE_ROW(allocations);
		COMPARE_ROW(allocated_bytes);
		COMPARE_ROW(live_blocks);
		COMPARE_ROW(live_bytes);
		COMPARE_ROW(peak_blocks);
		COMPARE_ROW(peak_bytes);
		COMPARE_ROW(temporary);
		COMPARE_ROW(same_frame);
		COMPARE_ROW(failed);
		COMPARE_ROW(min_size);
		COMPARE_ROW(max_size);
	}
}

static void compare_threads(const struct model *footer, const struct model *replay)
{
	size_t count, other;
	const struct thread *a = model_threads(footer, &count), *b = model_threads(replay, &other);
	compare("threads", 0, count, other);
	for (size_t i = 0; i < count && i < other; i++) {
		COMPARE_ROW(allocations);
		COMPARE_ROW(allocated_bytes);
		COMPARE_ROW(frees);
		COMPARE_ROW(temporary);
		COMPARE_ROW(ended);
	}
}

static void compare_sizes(const struct model *footer, const struct model *replay)
{
	size_t count, other;
	const struct size_count *a = model_sizes(footer, &count), *b = model_sizes(replay, &other);
	compare("sizes", 0, count, other);
	for (size_t i = 0; i < count && i < other; i++) {
		COMPARE_ROW(size);
		COMPARE_ROW(allocations);
	}
}

static struct model *open_road(const char *path, unsigned flags)
{
	struct model *model = NULL;
	struct error *error = source_open_with(path, flags, &model);
	if (error) {
		printf("%s\n", error->message);
		error_destroy(error);
	}
	return model;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	struct model *footer = open_road(argv[1], 0);
	struct model *replay = open_road(argv[1], SOURCE_REPLAY);
	if (!footer || !replay)
		return 1;
	compare_totals(model_totals(footer), model_totals(replay));
	compare_recordings(model_recording(footer), model_recording(replay));
	compare_sites(footer, replay);
	compare_threads(footer, replay);
	compare_sizes(footer, replay);
	model_destroy(footer);
	model_destroy(replay);
	return differences ? 1 : 0;
}
