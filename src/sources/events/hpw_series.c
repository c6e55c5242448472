/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/events/hpw_series.h"

#include <stdlib.h>

#include "base/util.h"

/* A replay is looked at every this many steps at most. */
#define STRIDE_MAX HPW_TIME_STEP
/* What is live after the peak gets a row of its own when it is so much less: a part of the peak. */
#define AFTER_PEAK_PART 64u

void hpw_series_init(struct hpw_series *series, const struct source_series *wanted,
	const struct hpw_clock *clock, uint64_t from_ns, uint64_t to_ns)
{
	*series = (struct hpw_series){.wanted = wanted,
		.clock = clock,
		.from_ns = from_ns,
		.to_ns = to_ns,
		.estimated_step = UINT64_MAX,
		.interval = 1};
	hpw_series_rows_init(&series->rows);
}

void hpw_series_deinit(struct hpw_series *series)
{
	for (size_t i = 0; i < series->rows.len; i++)
		free(series->rows.data[i].sites);
	free(series->after_peak.sites);
	free(series->estimated.sites);
	series->after_peak.sites = series->estimated.sites = NULL;
	hpw_series_rows_deinit(&series->rows);
}

static bool is_by_time(const struct hpw_series *series)
{
	return series->wanted->axis == SOURCE_BY_TIME;
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

/* The first time from `time_ns` on that a row may have. */
static uint64_t place_in_time(const struct hpw_series *series, uint64_t time_ns)
{
	uint64_t since = time_ns > series->from_ns ? time_ns - series->from_ns : 0;
	uint64_t rest = since % series->interval;
	return series->from_ns + since + (rest ? series->interval - rest : 0);
}

/* Whether the row stands for another moment than the one before it, when distances have grown. */
static bool hpw_series_stays(struct hpw_series *series, struct hpw_series_row *row, bool first)
{
	if (is_by_time(series)) {
		row->row.time_ns = place_in_time(series, row->row.time_ns);
		return first || row->row.time_ns != row[-1].row.time_ns;
	}
	uint64_t at = axis_of(series, &row->row);
	if (at < series->due)
		return false;
	series->due = at - at % series->interval + series->interval;
	return true;
}

/* Rows go: those that stay are about two intervals apart. By time, the last one that there is
 * before a moment stands for it. */
static void thin_out(struct hpw_series *series)
{
	struct hpw_series_row *rows = series->rows.data;
	size_t kept = 0;
	series->interval *= 2;
	series->due = 0;
	for (size_t i = 0; i < series->rows.len; i++) {
		struct hpw_series_row row = rows[i];
		rows[kept] = row;
		if (hpw_series_stays(series, &rows[kept], kept == 0)) {
			kept++;
		} else if (is_by_time(series)) {
			free(rows[kept - 1].sites);
			rows[kept - 1] = rows[kept];
		} else {
			free(row.sites);
		}
	}
	series->rows.len = kept;
}

static void hpw_series_add(struct hpw_series *series, struct hpw_series_row row)
{
	uint64_t at = axis_of(series, &row.row);
	struct hpw_series_row *last =
		series->rows.len ? &series->rows.data[series->rows.len - 1] : NULL;
	if (is_by_time(series) && last && last->row.time_ns == at) {
		free(last->sites);
		*last = row;
		return;
	}
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
	size_t len = 0, end = min(replay->sites_len, replay->sites_end);
	struct series_site *sites = malloc((end + 2) * sizeof(*sites));
	*ret_failed |= !sites;
	for (size_t i = 0; sites && i < end; i++) {
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
	struct series_row row = {
		.step = replay->step,
		.time_ns = hpw_clock_ns(series->clock, replay->done_stamp),
		.allocated_bytes = replay->before_bytes + replay->calls.allocated_bytes,
		.live_blocks = replay->heap.live_blocks,
		.live_bytes = replay->heap.live_bytes,
		.padding = replay->heap.live_padding,
	};
	row.freed_bytes = row.allocated_bytes - row.live_bytes;
	if (replay->estimate.mean_bytes > 0) {
		const struct hpw_whole_sums *whole = &replay->estimate.whole;
		row.allocated_bytes = replay->estimate.before_bytes + whole->all.bytes;
		row.live_blocks = whole->live.blocks;
		row.live_bytes = whole->live.bytes;
		row.freed_bytes = row.allocated_bytes > row.live_bytes
					  ? row.allocated_bytes - row.live_bytes
					  : 0;
		row.padding = 0;
	}
	return row;
}

static void hpw_series_take(
	struct hpw_series *series, const struct hpw_replay *replay, const struct series_row *row)
{
	struct hpw_series_row taken = {.row = *row};
	if (series->wanted->with_sites)
		taken.sites = copy_sites(replay, false, &taken.sites_len, &series->no_memory);
	hpw_series_add(series, taken);
}

/* Puts a row before those of as many steps. One that is not the end says the same, later; and the
 * end is another moment by time alone. */
static struct error *hpw_series_insert(struct hpw_series *series, struct hpw_series_row row)
{
	struct hpw_series_row *end = &series->rows.data[series->rows.len - 1];
	if (!is_by_time(series) && end->row.step == row.row.step) {
		end->row.peak |= row.row.peak;
		free(row.sites);
		return NULL;
	}
	if (!hpw_series_rows_push(&series->rows, row)) {
		free(row.sites);
		return error_no_memory();
	}
	struct hpw_series_row *rows = series->rows.data;
	size_t at = series->rows.len - 1;
	for (; at > 0 && rows[at - 1].row.step >= row.row.step; at--)
		rows[at] = rows[at - 1];
	rows[at] = row;
	size_t next = at + 1;
	if (next + 1 < series->rows.len && rows[next].row.step == row.row.step) {
		free(rows[next].sites);
		series->rows.len--;
		for (; next < series->rows.len; next++)
			rows[next] = rows[next + 1];
	}
	return NULL;
}

/* The peak was one moment, and may stand for less than a stamp: what came after it. */
static void note_after_peak(struct hpw_series *series, const struct hpw_replay *replay)
{
	const struct heap_counters *heap = &replay->heap;
	if (heap->peak_epoch == series->after_number || replay->peak_stamp != replay->stamp)
		return;
	series->after_number = 0;
	if (heap->peak_bytes - heap->live_bytes <= heap->peak_bytes / AFTER_PEAK_PART)
		return;
	free(series->after_peak.sites);
	series->after_peak = (struct hpw_series_row){.row = row_now(series, replay)};
	if (series->wanted->with_sites)
		series->after_peak.sites = copy_sites(
			replay, false, &series->after_peak.sites_len, &series->no_memory);
	series->after_number = heap->peak_epoch;
}

/* The replay is at the peak that samples point to. */
static void note_estimated(struct hpw_series *series, const struct hpw_replay *replay)
{
	if (replay->step < series->estimated_step)
		return;
	series->estimated_step = UINT64_MAX;
	series->estimated.row = row_now(series, replay);
	series->estimated.row.peak = true;
	if (series->wanted->with_sites)
		series->estimated.sites =
			copy_sites(replay, false, &series->estimated.sites_len, &series->no_memory);
}

/* What is live now, is so from this stamp until the next. */
static void hpw_series_on_time(void *context, struct hpw_replay *replay, uint64_t next_stamp)
{
	struct hpw_series *series = context;
	uint64_t until_ns = hpw_clock_ns(series->clock, next_stamp);
	uint64_t at = place_in_time(series, hpw_clock_ns(series->clock, replay->stamp));
	if (!is_by_time(series) || series->ended || replay->step < replay->from_step)
		return;
	note_after_peak(series, replay);
	if (at >= until_ns)
		return;
	struct series_row row = row_now(series, replay);
	row.time_ns = at;
	hpw_series_take(series, replay, &row);
}

static bool is_before(
	const struct hpw_series *series, const struct series_row *row, const struct series_row *end)
{
	return is_by_time(series) ? row->time_ns < end->time_ns : row->step < end->step;
}

/* What rows say of the end, or of a moment after it, the end itself says. */
static struct error *insert_end(struct hpw_series *series, struct hpw_replay *replay)
{
	struct hpw_series_row end = {.row = row_now(series, replay)};
	struct hpw_series_rows *rows = &series->rows;
	hpw_series_on_time(series, replay, UINT64_MAX);
	if (series->to_ns > end.row.time_ns || replay->to_step != UINT64_MAX)
		end.row.time_ns = series->to_ns;
	while (rows->len && !is_before(series, &rows->data[rows->len - 1].row, &end.row))
		free(rows->data[--rows->len].sites);
	if (series->wanted->with_sites)
		end.sites = copy_sites(replay, false, &end.sites_len, &series->no_memory);
	if (hpw_series_rows_push(rows, end))
		return NULL;
	free(end.sites);
	return error_no_memory();
}

static void on_watch(void *context, struct hpw_replay *replay)
{
	struct hpw_series *series = context;
	struct series_row row = row_now(series, replay);
	note_estimated(series, replay);
	if (replay->step >= replay->to_step) {
		replay->watch_step = UINT64_MAX;
		struct error *error = insert_end(series, replay);
		series->ended = true;
		series->no_memory |= error != NULL;
		error_destroy(error);
		return;
	}
	if (is_by_time(series)) {
		replay->watch_step = min(replay->to_step, series->estimated_step);
		return;
	}
	if (axis_of(series, &row) >= series->due)
		hpw_series_take(series, replay, &row);
	uint64_t stride = series->interval < STRIDE_MAX ? series->interval : STRIDE_MAX;
	if (series->wanted->axis != SOURCE_BY_STEPS)
		stride = replay->step < series->wanted->rows * 16 ? 1 : STRIDE_MAX / 4;
	uint64_t since = replay->step - replay->from_step;
	uint64_t next = replay->from_step + since - since % stride + stride;
	replay->watch_step = min(min(next, replay->to_step), series->estimated_step);
}

void hpw_series_watch(struct hpw_series *series, struct hpw_replay *replay)
{
	replay->watch = on_watch;
	replay->watch_time = hpw_series_on_time;
	replay->watch_context = series;
	replay->watch_step = replay->from_step;
}

void hpw_series_watch_samples(
	struct hpw_series *series, struct hpw_replay *replay, const struct hpw_replay *figures)
{
	hpw_series_watch(series, replay);
	if (figures->totals.peak_bytes)
		series->estimated_step = figures->peak_step;
}

static struct error *insert_peak(struct hpw_series *series, const struct hpw_replay *replay)
{
	struct hpw_series_row peak = {
		.row = {
			.step = replay->peak_step,
			.time_ns = hpw_clock_ns(series->clock, replay->peak_stamp),
			.allocated_bytes = replay->before_bytes + replay->peak_allocated,
			.live_blocks = replay->heap.peak_blocks,
			.live_bytes = replay->heap.peak_bytes,
			.padding = replay->peak_padding,
			.peak = true,
		}};
	peak.row.freed_bytes = peak.row.allocated_bytes > peak.row.live_bytes
				       ? peak.row.allocated_bytes - peak.row.live_bytes
				       : 0;
	if (series->wanted->with_sites)
		peak.sites = copy_sites(replay, true, &peak.sites_len, &series->no_memory);
	struct error *error = NULL;
	if (is_by_time(series) && series->after_number == replay->heap.peak_epoch) {
		error = hpw_series_insert(series, series->after_peak);
		series->after_peak.sites = NULL;
	}
	if (!error)
		return hpw_series_insert(series, peak);
	free(peak.sites);
	return error;
}

static struct error *insert_estimated(struct hpw_series *series)
{
	struct hpw_series_row row = series->estimated;
	series->estimated.sites = NULL;
	return hpw_series_insert(series, row);
}

/* The row that is the peak; where none is, the first of the highest ones. */
static size_t find_peak(const struct hpw_series *series)
{
	const struct hpw_series_row *rows = series->rows.data;
	size_t highest = 0;
	for (size_t i = 0; i < series->rows.len; i++) {
		if (rows[i].row.peak)
			return i;
		if (rows[i].row.live_bytes > rows[highest].row.live_bytes)
			highest = i;
	}
	return highest;
}

/* Drops the sites of rows that are not wanted. */
static void leave_sites(struct hpw_series *series)
{
	size_t every = series->wanted->sites_every, peak = find_peak(series);
	for (size_t i = 0; every && i < series->rows.len; i++) {
		struct hpw_series_row *row = &series->rows.data[i];
		if ((i + 1) % every == 0 || i == peak)
			continue;
		free(row->sites);
		row->sites = NULL;
		row->sites_len = 0;
	}
}

/* The stamp of what comes first in a part is there before the part begins: what was live by then is
 * of its first moment. */
static void stay_within(struct hpw_series *series, uint64_t from_step)
{
	for (size_t i = 0; i < series->rows.len; i++) {
		struct series_row *row = &series->rows.data[i].row;
		bool is_first = from_step && row->step <= from_step;
		if (row->time_ns < series->from_ns || (is_first && i + 1 < series->rows.len))
			row->time_ns = series->from_ns;
		if (series->to_ns && row->time_ns > series->to_ns)
			row->time_ns = series->to_ns;
	}
}

struct error *hpw_series_conclude(struct hpw_series *series, struct hpw_replay *replay)
{
	note_estimated(series, replay);
	struct error *error = series->ended ? NULL : insert_end(series, replay);
	if (!error && series->estimated.row.peak)
		error = insert_estimated(series);
	else if (!error && replay->heap.peak_bytes && !(replay->estimate.mean_bytes > 0))
		error = insert_peak(series, replay);
	if (!error && series->no_memory)
		error = error_no_memory();
	stay_within(series, replay->from_step);
	leave_sites(series);
	return error;
}

bool hpw_series_suits(const struct hpw_series *series, const struct hpw_ranges *parts)
{
	return parts->chunks.len >= 2 * series->wanted->rows;
}

struct summing {
	struct hpw_series *series;
	const struct hpw_ranges *parts;
	size_t peak_chunk;
	uint64_t peak_bytes;
};

/* By time, which chunks have rows is known if the distance is known that there will be. */
static void choose_interval(struct hpw_series *series, const struct hpw_ranges *parts)
{
	const uint64_t *last = parts->chunks.data[parts->chunks.len - 1].head;
	uint64_t to_ns = hpw_clock_ns(series->clock, last[HPW_SUMS_STAMP]);
	if (series->to_ns > to_ns)
		to_ns = series->to_ns;
	while (is_by_time(series) && to_ns / series->interval + 2 >= series->wanted->rows)
		series->interval *= 2;
}

/* Whether the chunk has to be gone through: the peak is there, or a row. */
static bool needs_steps(const struct summing *summing, size_t number)
{
	const struct hpw_series *series = summing->series;
	const struct hpw_range_chunk *chunk = &summing->parts->chunks.data[number];
	if (number == summing->peak_chunk || number + 1 == summing->parts->chunks.len)
		return true;
	uint64_t from_ns = hpw_clock_ns(series->clock, chunk->head[HPW_SUMS_STAMP]);
	return is_by_time(series) &&
	       place_in_time(series, from_ns) <
		       hpw_clock_ns(series->clock, chunk[1].head[HPW_SUMS_STAMP]);
}

static bool on_chunk(void *context, size_t number, struct hpw_replay *replay)
{
	struct summing *summing = context;
	struct hpw_series *series = summing->series;
	const uint64_t *head = summing->parts->chunks.data[number].head;
	replay->step = head[HPW_SUMS_FIRST_STEP];
	replay->heap.live_padding = head[HPW_SUMS_PADDING];
	if (number == summing->peak_chunk + 1)
		hpw_replay_settle_peak(replay);
	hpw_series_on_time(series, replay, head[HPW_SUMS_STAMP]);
	replay->stamp = replay->done_stamp = head[HPW_SUMS_STAMP];
	replay->watch_time = hpw_series_on_time;
	replay->watch_context = series;
	struct series_row row = row_now(series, replay);
	if (!is_by_time(series) && axis_of(series, &row) >= series->due)
		hpw_series_take(series, replay, &row);
	return needs_steps(summing, number);
}

struct error *hpw_series_sum_up(struct hpw_series *series, const struct hpw_ranges *parts)
{
	struct summing summing = {.series = series, .parts = parts};
	struct hpw_replay replay = {.model = NULL};
	for (size_t i = 0; i < parts->chunks.len; i++) {
		uint64_t bytes = parts->chunks.data[i].head[HPW_SUMS_HIGHEST_BYTES];
		if (bytes > summing.peak_bytes) {
			summing.peak_bytes = bytes;
			summing.peak_chunk = i;
		}
	}
	choose_interval(series, parts);
	struct error *error = hpw_ranges_each(parts, on_chunk, &summing, &replay);
	if (!error && replay.heap.peak_bytes != summing.peak_bytes)
		error = error_create(ERROR_INPUT, "the peak is another one");
	if (!error)
		hpw_replay_settle_peak(&replay);
	if (!error)
		error = insert_end(series, &replay);
	if (!error && summing.peak_bytes)
		error = insert_peak(series, &replay);
	if (!error && series->no_memory)
		error = error_no_memory();
	leave_sites(series);
	hpw_replay_deinit(&replay);
	return error;
}
