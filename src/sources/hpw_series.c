/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/hpw_series.h"

#include <stdlib.h>

#include "base/util.h"

/* A replay is looked at every so many steps at most. */
#define STRIDE_MAX HPW_TIME_STEP

void hpw_series_init(struct hpw_series *series, const struct source_series *wanted,
	const struct hpw_clock *clock)
{
	*series = (struct hpw_series){.wanted = wanted, .clock = clock, .interval = 1};
	hpw_series_rows_init(&series->rows);
}

void hpw_series_deinit(struct hpw_series *series)
{
	for (size_t i = 0; i < series->rows.len; i++)
		free(series->rows.data[i].sites);
	hpw_series_rows_deinit(&series->rows);
}

static uint64_t axis_of(const struct hpw_series *series, const struct series_row *row)
{
	switch (series->wanted->axis) {
	case SOURCE_BY_BYTES:
		return row->allocated_bytes + row->freed_bytes;
	case SOURCE_BY_STEPS:
		return row->step;
	default:
		return row->time_ns;
	}
}

/* Every other row goes: those that stay are about two intervals apart. */
static void thin_out(struct hpw_series *series)
{
	size_t kept = 0;
	uint64_t due = 0;
	series->interval *= 2;
	for (size_t i = 0; i < series->rows.len; i++) {
		struct hpw_series_row *row = &series->rows.data[i];
		uint64_t at = axis_of(series, &row->row);
		if (at < due) {
			free(row->sites);
			continue;
		}
		due = at - at % series->interval + series->interval;
		series->rows.data[kept++] = *row;
	}
	series->rows.len = kept;
	series->due = due;
}

static void add(struct hpw_series *series, struct hpw_series_row row)
{
	uint64_t at = axis_of(series, &row.row);
	if (!hpw_series_rows_push(&series->rows, row)) {
		free(row.sites);
		series->no_memory = true;
		return;
	}
	series->due = at - at % series->interval + series->interval;
	while (series->rows.len >= series->wanted->rows && series->interval < UINT64_MAX / 4)
		thin_out(series);
}

/* What sites have at the moment, or had at the peak. */
static struct series_site *copy_sites(
	const struct hpw_replay *replay, bool peak, size_t *ret_len, bool *ret_failed)
{
	bool sampled = replay->estimate.mean_bytes > 0;
	size_t len = 0;
	struct series_site *sites = malloc((replay->sites_len + 2) * sizeof(*sites));
	*ret_failed |= !sites;
	for (size_t i = 0; sites && i < replay->sites_len; i++) {
		const struct hpw_tally_site *site = &replay->sites[i];
		struct series_site row = {{(uint32_t)i}, site->live_blocks, site->live_bytes};
		if (peak) {
			row.live_blocks = site->peak_blocks;
			row.live_bytes = site->peak_bytes;
		} else if (sampled) {
			const struct hpw_sum *live = &replay->estimate.sites[i].live;
			row.live_blocks = hpw_estimate_whole(live->blocks);
			row.live_bytes = hpw_estimate_whole(live->bytes);
		}
		if (row.live_blocks)
			sites[len++] = row;
	}
	struct series_site *fit = sites ? realloc(sites, (len + 1) * sizeof(*sites)) : NULL;
	*ret_len = sites ? len : 0;
	return fit ? fit : sites;
}

/* Where the replay is. */
static struct series_row row_now(const struct hpw_series *series, const struct hpw_replay *replay)
{
	const struct totals *totals = &replay->totals;
	struct series_row row = {
		.step = replay->step,
		.time_ns = hpw_clock_ns(series->clock, replay->stamp),
		.allocated_bytes = replay->before_bytes + totals->allocated_bytes,
		.live_blocks = totals->live_blocks,
		.live_bytes = totals->live_bytes,
		.padding = replay->padding,
	};
	row.freed_bytes = row.allocated_bytes - row.live_bytes;
	if (replay->estimate.mean_bytes > 0) {
		const struct hpw_estimate_site *all = &replay->estimate.totals;
		row.allocated_bytes = hpw_estimate_whole(all->all.bytes);
		row.live_blocks = hpw_estimate_whole(all->live.blocks);
		row.live_bytes = hpw_estimate_whole(all->live.bytes);
		row.freed_bytes = row.allocated_bytes > row.live_bytes
					  ? row.allocated_bytes - row.live_bytes
					  : 0;
		row.padding = 0;
	}
	return row;
}

static void take(
	struct hpw_series *series, const struct hpw_replay *replay, const struct series_row *row)
{
	struct hpw_series_row taken = {.row = *row};
	if (series->wanted->with_sites)
		taken.sites = copy_sites(replay, false, &taken.sites_len, &series->no_memory);
	add(series, taken);
}

static struct error *insert(struct hpw_series *series, struct hpw_series_row row)
{
	if (!hpw_series_rows_push(&series->rows, row)) {
		free(row.sites);
		return error_no_memory();
	}
	struct hpw_series_row *rows = series->rows.data;
	size_t at = series->rows.len - 1;
	for (; at > 0 && rows[at - 1].row.step > row.row.step; at--)
		rows[at] = rows[at - 1];
	rows[at] = row;
	/* The moment is there already. */
	if (at > 0 && rows[at - 1].row.step == row.row.step) {
		free(rows[at - 1].sites);
		rows[at - 1] = rows[at];
		series->rows.len--;
		for (; at < series->rows.len; at++)
			rows[at] = rows[at + 1];
	}
	return NULL;
}

static struct error *insert_end(struct hpw_series *series, const struct hpw_replay *replay)
{
	struct hpw_series_row end = {.row = row_now(series, replay)};
	if (series->wanted->with_sites)
		end.sites = copy_sites(replay, false, &end.sites_len, &series->no_memory);
	return insert(series, end);
}

static void on_watch(void *context, struct hpw_replay *replay)
{
	struct hpw_series *series = context;
	struct series_row row = row_now(series, replay);
	if (replay->step >= replay->to_step) {
		replay->watch_step = UINT64_MAX;
		series->ended = true;
		struct error *error = insert_end(series, replay);
		series->no_memory |= error != NULL;
		error_destroy(error);
		return;
	}
	if (axis_of(series, &row) >= series->due)
		take(series, replay, &row);
	uint64_t stride = series->interval < STRIDE_MAX ? series->interval : STRIDE_MAX;
	if (series->wanted->axis != SOURCE_BY_STEPS)
		stride = replay->step < series->wanted->rows * 16 ? 1 : STRIDE_MAX / 4;
	replay->watch_step = min(replay->step + stride, replay->to_step);
}

void hpw_series_watch(struct hpw_series *series, struct hpw_replay *replay)
{
	replay->watch = on_watch;
	replay->watch_context = series;
	replay->watch_step = replay->from_step;
}

/* `before`: allocated before the replay's books begin. */
static struct error *insert_peak(
	struct hpw_series *series, const struct hpw_replay *replay, uint64_t before)
{
	struct hpw_series_row peak = {
		.row = {
			.step = replay->peak_step,
			.time_ns = hpw_clock_ns(series->clock, replay->peak_stamp),
			.allocated_bytes = before + replay->peak_allocated,
			.live_blocks = replay->totals.peak_blocks,
			.live_bytes = replay->totals.peak_bytes,
			.padding = replay->peak_padding,
			.peak = true,
		}};
	peak.row.freed_bytes = peak.row.allocated_bytes > peak.row.live_bytes
				       ? peak.row.allocated_bytes - peak.row.live_bytes
				       : 0;
	if (series->wanted->with_sites)
		peak.sites = copy_sites(replay, true, &peak.sites_len, &series->no_memory);
	return insert(series, peak);
}

struct error *hpw_series_conclude(struct hpw_series *series, const struct hpw_replay *replay)
{
	struct error *error = series->ended ? NULL : insert_end(series, replay);
	/* The peak of samples is no moment of theirs. */
	if (!error && replay->totals.peak_bytes && !(replay->estimate.mean_bytes > 0))
		error = insert_peak(series, replay, replay->before_bytes);
	if (!error && series->no_memory)
		error = error_no_memory();
	return error;
}

bool hpw_series_suits(const struct hpw_series *series, const struct hpw_parts *parts)
{
	return parts->chunks.len >= 2 * series->wanted->rows;
}

struct summing {
	struct hpw_series *series;
	const struct hpw_parts *parts;
	uint64_t peak_bytes, peak_before; /* highest so far; allocated before its chunk */
	size_t peak_chunk;
};

static void on_chunk(void *context, size_t number, struct hpw_replay *replay)
{
	struct summing *summing = context;
	const uint64_t *head = summing->parts->chunks.data[number].head;
	if (head[HPW_SUMS_HIGHEST_BYTES] > summing->peak_bytes) {
		summing->peak_bytes = head[HPW_SUMS_HIGHEST_BYTES];
		summing->peak_chunk = number;
		summing->peak_before = replay->totals.allocated_bytes;
	}
	replay->step = head[HPW_SUMS_FIRST_STEP];
	replay->stamp = head[HPW_SUMS_STAMP];
	replay->padding = head[HPW_SUMS_PADDING];
	struct series_row row = row_now(summing->series, replay);
	if (axis_of(summing->series, &row) >= summing->series->due)
		take(summing->series, replay, &row);
}

struct error *hpw_series_sum_up(struct hpw_series *series, const struct hpw_parts *parts)
{
	struct summing summing = {.series = series, .parts = parts};
	struct hpw_replay replay = {.model = NULL}, peak = {.model = NULL};
	struct error *error = hpw_parts_each(parts, on_chunk, &summing, &replay);
	if (!error)
		error = insert_end(series, &replay);
	if (!error && summing.peak_bytes)
		error = hpw_parts_replay_one(parts, summing.peak_chunk, &peak);
	if (!error && summing.peak_bytes)
		error = insert_peak(series, &peak, summing.peak_before);
	if (!error && series->no_memory)
		error = error_no_memory();
	hpw_replay_deinit(&replay);
	hpw_replay_deinit(&peak);
	return error;
}
