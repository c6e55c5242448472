/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/mappings/hpw_mapping_series.h"

#include <stdlib.h>

#include "base/util.h"

struct series_walk {
	const struct hpw_mapping_series *series;
	struct model *model;
	struct hpw_mapped mapped;
	struct series_site *sites;
	uint64_t allocated;
	uint64_t interval, due; /* on the axis; due: not by time */
	size_t moments;         /* put so far */
};

static bool is_along_time(const struct series_walk *w)
{
	return w->series->wanted->axis == SOURCE_BY_TIME;
}

/* When so many rows had come. */
static uint64_t time_after(const struct series_walk *w, size_t rows)
{
	const struct hpw_mapping_series *s = w->series;
	uint64_t ns =
		rows ? hpw_clock_ns(s->clock, s->mappings->rows.data[rows - 1].stamp) : s->from_ns;
	return min(max(ns, s->from_ns), s->to_ns);
}

/* The first time from `ns` on that a moment may have. */
static uint64_t next_place(const struct series_walk *w, uint64_t ns)
{
	uint64_t since = ns - w->series->from_ns, rest = since % w->interval;
	return rest ? ns + w->interval - rest : ns;
}

static uint64_t place_on_axis(const struct series_walk *w, size_t rows)
{
	return w->series->wanted->axis == SOURCE_BY_STEPS ? rows
							  : 2 * w->allocated - w->mapped.live_bytes;
}

static struct error *put_moment(struct series_walk *w, size_t rows, uint64_t time_ns)
{
	const struct hpw_mapping_series *s = w->series;
	const struct series_row row = {.step = rows,
		.time_ns = time_ns,
		.allocated_bytes = w->allocated,
		.freed_bytes = w->allocated - w->mapped.live_bytes,
		.live_blocks = w->mapped.live_mappings,
		.live_bytes = w->mapped.live_bytes,
		.peak = rows && rows == s->peak};
	size_t every = s->wanted->sites_every, count = 0;
	bool with_sites =
		s->wanted->with_sites && (!every || (w->moments + 1) % every == 0 || row.peak);
	for (size_t i = 0; with_sites && i < s->sites; i++) {
		const struct site_counters *site = &w->mapped.sites[i];
		if (site->live_blocks)
			w->sites[count++] = (struct series_site){
				{s->first_site + (uint32_t)i}, site->live_blocks, site->live_bytes};
	}
	w->moments++;
	return build_series_row(w->model, &row, w->sites, count);
}

/* The state after so many rows, by time: it lasts until the next one. The peak is a moment of its
 * own, and so is what comes after it: it may be much less. A time is that of a stamp, rounded down:
 * what comes after the peak is there one nanosecond later for sure. */
static struct error *put_state_in_time(struct series_walk *w, size_t rows)
{
	const struct hpw_mapping_series *s = w->series;
	bool end = rows == s->to, peak = rows && rows == s->peak,
	     after = rows && rows == s->peak + 1;
	uint64_t began = time_after(w, rows), until = end ? s->to_ns : time_after(w, rows + 1);
	uint64_t at = peak ? began : after ? began + 1 : next_place(w, began);
	return at < until || (peak && !end) ? put_moment(w, rows, at) : NULL;
}

static struct error *put_state(struct series_walk *w, size_t rows)
{
	const struct hpw_mapping_series *s = w->series;
	struct error *error = NULL;
	if (is_along_time(w)) {
		error = put_state_in_time(w, rows);
	} else if (rows < s->to) {
		uint64_t at = place_on_axis(w, rows);
		bool peak = rows && rows == s->peak;
		if (at < w->due && !peak)
			return NULL;
		w->due = max(w->due, at - at % w->interval + w->interval);
		error = put_moment(w, rows, time_after(w, rows));
	}
	return error || rows < s->to ? error : put_moment(w, rows, s->to_ns);
}

/* Goes through all rows; put: moments are put. */
static struct error *walk_rows(struct series_walk *w, bool put)
{
	const struct hpw_mapping_series *s = w->series;
	struct error *error = put && !s->from ? put_state(w, 0) : NULL;
	for (size_t i = 0; !error && i < s->to; i++) {
		uint64_t bytes;
		error = hpw_mapped_apply(&w->mapped, i, &bytes);
		w->allocated += bytes;
		if (!error && put && i + 1 >= s->from)
			error = put_state(w, i + 1);
	}
	return error;
}

/* A power of two, so that the axis has fewer places than moments are wanted. */
static void choose_distance(struct series_walk *w, uint64_t length)
{
	w->interval = 1;
	while (length / w->interval + 2 >= w->series->wanted->rows && w->interval < 1ull << 62)
		w->interval *= 2;
}

/* How long the axis is: bytes are known after all rows. */
static struct error *measure_axis(const struct hpw_mapping_series *series, uint64_t *ret)
{
	struct series_walk w = {.series = series};
	*ret = series->wanted->axis == SOURCE_BY_TIME ? series->to_ns - series->from_ns
						      : series->to - series->from;
	if (series->wanted->axis != SOURCE_BY_BYTES)
		return NULL;
	struct error *error = hpw_mapped_init(&w.mapped, series->mappings, HPW_MAPPINGS_ALL);
	if (!error)
		error = walk_rows(&w, false);
	*ret = error ? 0 : place_on_axis(&w, series->to);
	hpw_mapped_deinit(&w.mapped);
	return error;
}

struct error *hpw_mapping_series_put(const struct hpw_mapping_series *series, struct model *model)
{
	struct series_walk w = {.series = series, .model = model};
	uint64_t length;
	struct error *error = measure_axis(series, &length);
	if (error)
		return error;
	choose_distance(&w, length);
	error = hpw_mapped_init(&w.mapped, series->mappings, HPW_MAPPINGS_ALL);
	w.mapped.first_site = series->first_site;
	w.mapped.sites = error ? NULL : calloc(series->sites + 1, sizeof(*w.mapped.sites));
	w.sites = malloc((series->sites + 1) * sizeof(*w.sites));
	if (!error && !(w.mapped.sites && w.sites))
		error = error_no_memory();
	if (!error)
		error = walk_rows(&w, true);
	build_recording(model)->series_is_whole = true;
	free(w.sites);
	hpw_mapped_deinit(&w.mapped);
	return error;
}
