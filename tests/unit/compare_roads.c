/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compare_roads FILE [PARTS]: reads a recording by its footer and by replay, and so many parts of
 * it (20 if not said otherwise) by its sums and by replay. Exit status 0 if both give the same
 * figures and nothing is missing, else 1 and a line for each difference.
 *
 * Not compared: times (a replay knows them to the last entry of TIME) and the number of events,
 * where a repair of the writer's or a realloc(p, 0) right before a realloc(NULL, n) may count
 * differently.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sources/source.h"

static unsigned differences;
static char part[120] = "all";

static void compare(const char *what, size_t row, uint64_t footer, uint64_t replay)
{
	if (footer == replay)
		return;
	differences++;
	printf("%s: %s (row %zu): %" PRIu64 " as summed up, %" PRIu64 " by replay\n", part, what,
		row, footer, replay);
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
	COMPARE(kept_blocks);
	COMPARE(kept_bytes);
	COMPARE(temporary);
	COMPARE(peak_blocks);
	COMPARE(peak_bytes);
	COMPARE(threads);
}

static void compare_recordings(
	const struct recording *a, const struct recording *b, enum read_way way)
{
	COMPARE(unknown_frees);
	COMPARE(inherited_frees);
	COMPARE(mismatched_frees);
	compare("footer: complete", 0, a->complete, true);
	compare("replay: complete", 0, b->complete, true);
	compare("footer: way", 0, a->read_way, way);
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
		COMPARE_ROW(kept_blocks);
		COMPARE_ROW(kept_bytes);
		COMPARE_ROW(peak_blocks);
		COMPARE_ROW(peak_bytes);
		COMPARE_ROW(temporary);
		COMPARE_ROW(same_frame);
		COMPARE_ROW(failed);
		COMPARE_ROW(max_failed_size);
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

static struct model *open_road(const char *path, unsigned flags, const struct source_query *query)
{
	struct model *model = NULL;
	struct error *error = source_open_query(path, flags, query, &model);
	if (error) {
		printf("%s: %s\n", part, error->message);
		error_destroy(error);
	}
	return model;
}

static void compare_part(const char *path, const struct source_query *query, enum read_way way)
{
	struct model *footer = open_road(path, 0, query);
	struct model *replay = open_road(path, SOURCE_REPLAY, query);
	if (!footer || !replay) {
		differences++;
	} else {
		const struct recording *a = model_recording(footer), *b = model_recording(replay);
		compare_totals(model_totals(footer), model_totals(replay));
		compare_recordings(a, b, way);
		COMPARE(range.from_step);
		COMPARE(range.to_step);
		COMPARE(range.from_ns);
		COMPARE(range.to_ns);
		if (query) {
			COMPARE(events);
			COMPARE(lost_events);
			compare("peak_time_ns", 0, model_totals(footer)->peak_time_ns,
				model_totals(replay)->peak_time_ns);
		}
		compare_sites(footer, replay);
		compare_threads(footer, replay);
		compare_sizes(footer, replay);
	}
	model_destroy(footer);
	model_destroy(replay);
}

static uint64_t random_state = 88172645463325252u;

static uint64_t random_below(uint64_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return limit ? random_state % limit : 0;
}

static struct source_moment random_moment(uint64_t duration_ns, uint64_t steps)
{
	static const enum source_moment_kind kinds[] = {SOURCE_START, SOURCE_END, SOURCE_PEAK};
	uint64_t n = random_below(12);
	if (n < 3)
		return (struct source_moment){.kind = kinds[n]};
	if (n < 8)
		return (struct source_moment){.kind = SOURCE_STEP, .step = random_below(steps)};
	return (struct source_moment){.kind = SOURCE_TIME, .time_ns = random_below(duration_ns)};
}

/* In order, as far as that can be seen. */
static void swap_times(struct source_query *query)
{
	struct source_moment from = query->from, to = query->to;
	if (from.kind == to.kind && (from.time_ns > to.time_ns || from.step > to.step)) {
		query->from = to;
		query->to = from;
	}
}

static bool is_whole(const struct source_query *query)
{
	return query->from.kind == SOURCE_START && query->to.kind == SOURCE_END;
}

/* Parts of which one moment turns out to come after the other are no parts. */
static bool is_part(const char *path, const struct source_query *query)
{
	struct model *model = NULL;
	struct error *error = source_open_query(path, 0, query, &model);
	bool no_part = error && strstr(error->message, " comes after ");
	error_destroy(error);
	model_destroy(model);
	return !no_part && !is_whole(query);
}

static void compare_parts(const char *path, unsigned count, uint64_t duration_ns, uint64_t steps)
{
	for (unsigned i = 0; i < count; i++) {
		struct source_query query = {.from = random_moment(duration_ns, steps),
			.to = random_moment(duration_ns, steps)};
		if (random_below(3) == 0)
			query.from.kind = SOURCE_START;
		swap_times(&query);
		snprintf(part, sizeof(part), "part %u from %d/%" PRIu64 " to %d/%" PRIu64, i,
			query.from.kind, query.from.time_ns + query.from.step, query.to.kind,
			query.to.time_ns + query.to.step);
		if (is_part(path, &query))
			compare_part(path, &query, READ_SUMS);
	}
}

/* The moment of a row: by time, but for the peak, that of its time. */
static void compare_moment(const char *path, const struct model *series,
	const struct series_row *row, const struct series_site *sites, enum source_axis axis)
{
	struct source_query query = {
		.from = {.kind = SOURCE_START}, .to = {.kind = SOURCE_STEP, .step = row->step}};
	if (axis == SOURCE_BY_TIME && !row->peak)
		query.to = (struct source_moment){.kind = SOURCE_TIME, .time_ns = row->time_ns};
	struct model *model = open_road(path, 0, &query);
	if (!model) {
		differences++;
		return;
	}
	const struct totals *totals = model_totals(model);
	compare("live_bytes", 0, row->live_bytes, totals->live_bytes);
	compare("live_blocks", 0, row->live_blocks, totals->live_blocks);
	compare("allocated_bytes", 0, row->allocated_bytes, totals->allocated_bytes);
	compare("freed_bytes", 0, row->freed_bytes, totals->allocated_bytes - totals->live_bytes);
	size_t count, next = 0;
	const struct site *all = model_sites(model, &count);
	for (size_t i = 0; i < count; i++) {
		struct series_site site = {0};
		if (next < row->site_count && sites[row->first_site + next].site.value == i)
			site = sites[row->first_site + next++];
		compare("live bytes of a site", i, site.live_bytes, all[i].live_bytes);
		compare("live blocks of a site", i, site.live_blocks, all[i].live_blocks);
	}
	compare("all sites", 0, next, row->site_count);
	if (row->peak)
		compare("peak", 0, row->live_bytes, model_totals(series)->peak_bytes);
	model_destroy(model);
}

/* A series says at each moment what a report of that moment says. Returns the last step. */
static uint64_t compare_series(
	const char *path, size_t rows, enum source_axis axis, const struct source_query *of)
{
	const struct source_series wanted = {.rows = rows, .axis = axis, .with_sites = true};
	struct source_query query = *of;
	query.series = &wanted;
	struct model *model = open_road(path, 0, &query);
	size_t count = 0, sites_count;
	const struct series_row *series = model ? model_series(model, &count) : NULL;
	const struct series_site *sites = model ? model_series_sites(model, &sites_count) : NULL;
	unsigned peaks = 0;
	if (!count || count > rows + 2)
		compare("moments", rows, count, 1);
	for (size_t i = 0; i < count; i++) {
		snprintf(part, sizeof(part), "moment %zu of %zu, step %" PRIu64, i, count,
			series[i].step);
		peaks += series[i].peak;
		bool idle = axis == SOURCE_BY_TIME && i && series[i].step == series[i - 1].step;
		if (i && series[i].step <= series[i - 1].step && !idle)
			compare("steps", i, series[i].step, 0);
		if (i && series[i].time_ns < series[i - 1].time_ns)
			compare("time", i, series[i].time_ns, series[i - 1].time_ns);
		if (i % 5 == 0 || series[i].peak)
			compare_moment(path, model, &series[i], sites, axis);
	}
	if (model)
		compare("peaks", 0, peaks, model_totals(model)->peak_bytes > 0);
	uint64_t last = count ? series[count - 1].step : 0;
	if (count && of->to.kind == SOURCE_END)
		compare("end", 0, series[count - 1].time_ns, model_recording(model)->duration_ns);
	if (count && of->from.kind == SOURCE_STEP)
		compare("first step", 0, series[0].step, of->from.step);
	if (count && of->to.kind == SOURCE_STEP)
		compare("last step", 0, last, of->to.step);
	model_destroy(model);
	return last;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	compare_part(argv[1], NULL, READ_FOOTER);
	struct model *model = open_road(argv[1], 0, NULL);
	if (!model)
		return 1;
	unsigned parts = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 20;
	const struct recording *recording = model_recording(model);
	if (strcmp(recording->mode, "exact") == 0 && !recording->dropped_steps &&
		recording->events) {
		const struct source_query all = {
			.from = {.kind = SOURCE_START}, .to = {.kind = SOURCE_END}};
		uint64_t steps = compare_series(argv[1], 30, SOURCE_BY_STEPS, &all);
		compare_series(argv[1], 8, SOURCE_BY_TIME, &all);
		compare_series(argv[1], 60, SOURCE_BY_BYTES, &all);
		const struct source_query middle = {
			.from = {.kind = SOURCE_STEP, .step = steps / 3},
			.to = {.kind = SOURCE_STEP, .step = steps - steps / 4}};
		compare_series(argv[1], 20, SOURCE_BY_BYTES, &middle);
		compare_parts(argv[1], parts, recording->duration_ns, steps);
	}
	model_destroy(model);
	return differences ? 1 : 0;
}
