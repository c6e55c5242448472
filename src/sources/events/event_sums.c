/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/events/event_sums.h"

#include <string.h>

#include "base/cleanup.h"
#include "sources/events/event_emit.h"
#include "sources/events/hpw_block_filter.h"
#include "sources/events/hpw_life_sums.h"
#include "sources/events/hpw_moments.h"
#include "sources/events/hpw_replay.h"
#include "sources/events/hpw_series.h"

struct sums {
	const struct event_replay *story;
	const struct source_query *query;
	struct model *model;
	struct hpw_clock clock;
	struct hpw_span span;
	struct hpw_block_filter choice;
	struct hpw_replay replay;
	struct hpw_series series;
	bool part;
};

static struct sums sums_of(
	const struct event_replay *story, const struct source_query *query, struct model *model)
{
	uint64_t end_ns = build_recording(model)->duration_ns;
	return (struct sums){.story = story,
		.query = query,
		.model = model,
		.clock = {.hz = 1000000000u, .tsc_end = end_ns},
		.span = {.to_step = UINT64_MAX, .to_stamp = end_ns}};
}

static void sums_deinit(struct sums *sums)
{
	hpw_block_filter_deinit(&sums->choice);
	hpw_replay_deinit(&sums->replay);
	hpw_series_deinit(&sums->series);
}

static bool asks_time(const struct source_query *query)
{
	return query->from.kind == SOURCE_TIME || query->to.kind == SOURCE_TIME ||
	       (query->series && query->series->axis == SOURCE_BY_TIME) ||
	       (query->blocks && query->blocks->by_life);
}

static struct error *find_span(struct sums *sums, uint32_t unknown)
{
	const struct source_query *query = sums->query;
	if (!query)
		return NULL;
	if (unknown & UNKNOWN_TIMES && asks_time(query))
		return error_create(ERROR_INPUT,
			"it contains no times; use --at peak, or bytes instead of "
			"time (heapwise timeline --time-unit B)");
	sums->part = query->from.kind != SOURCE_START || query->to.kind != SOURCE_END;
	if (!sums->part)
		return NULL;
	const struct hpw_moments moments = {sums->story, sums->model, &sums->clock, NULL, NULL};
	return hpw_moments_find(&moments, query, &sums->span);
}

static struct error *choose_blocks(struct sums *sums)
{
	if (!sums->query || !sums->query->blocks)
		return NULL;
	sums->choice.wanted = sums->query->blocks;
	struct error *error = NULL;
	if (sums->choice.wanted->by_life)
		error = hpw_block_filter_by_life(
			&sums->choice, sums->story, &sums->clock, &sums->span);
	return error ? error : hpw_block_filter_describe(&sums->choice, sums->model);
}

static struct error *event_sums_replay(struct sums *sums)
{
	struct hpw_replay *replay = &sums->replay;
	bool series = sums->query && sums->query->series;
	struct error *error = hpw_replay_init(replay, sums->model, sums->story->blocks_max);
	replay->from_step = sums->span.from_step;
	replay->to_step = sums->span.to_step;
	if (sums->choice.wanted)
		replay->choice = &sums->choice;
	if (series) {
		uint64_t from_ns, to_ns;
		hpw_span_times(&sums->span, sums->query, &sums->clock, &from_ns, &to_ns);
		hpw_series_init(&sums->series, sums->query->series, &sums->clock, from_ns, to_ns);
		hpw_series_watch(&sums->series, replay);
	}
	const struct hpw_visitor visitor = hpw_replay_visitor(replay);
	if (!error)
		error = sums->story->each(sums->story->context, &visitor, &replay->reached);
	if (error)
		return error;
	hpw_replay_settle(replay);
	return series ? hpw_series_conclude(&sums->series, replay) : NULL;
}

static struct error *event_sums_put_threads(const struct sums *sums)
{
	struct error *error = NULL;
	for (size_t i = 0; !error && i < sums->replay.threads.len; i++) {
		const struct hpw_tally_thread *tally = &sums->replay.threads.data[i];
		const struct thread row = {.tid = (uint32_t)i,
			.first_ns = tally->first_stamp,
			.last_ns = tally->last_stamp,
			.calls = tally->calls};
		error = build_thread(sums->model, &row, "", 0);
	}
	return error;
}

static struct error *put_series(const struct sums *sums)
{
	struct error *error = NULL;
	build_recording(sums->model)->series_is_whole = sums->series.rows.len > 0;
	for (size_t i = 0; !error && i < sums->series.rows.len; i++) {
		const struct hpw_series_row *row = &sums->series.rows.data[i];
		error = build_series_row(sums->model, &row->row, row->sites, row->sites_len);
	}
	return error;
}

static struct error *event_sums_put_put(const struct sums *sums, uint32_t unknown)
{
	const struct hpw_replay *replay = &sums->replay;
	struct totals *totals = build_totals(sums->model);
	struct recording *recording = build_recording(sums->model);
	*totals = replay->totals;
	totals->peak_time_ns = replay->peak_stamp;
	if (unknown & UNKNOWN_THREADS)
		totals->threads = 0;
	recording->unknown = unknown;
	recording->read_way = READ_REPLAY;
	recording->events = replay->events;
	recording->unknown_frees = replay->unknown_frees;
	struct error *error = hpw_replay_put_sites(replay, sums->model);
	if (!error)
		error = hpw_replay_put_sizes(replay, sums->model);
	if (!error && !(unknown & UNKNOWN_THREADS))
		error = event_sums_put_threads(sums);
	if (!error)
		error = put_series(sums);
	if (!error && sums->part)
		error = hpw_span_put(&sums->span, sums->query, &sums->clock, sums->model);
	if (!error && sums->part && sums->span.from_step &&
		replay->peak_step == sums->span.from_step)
		totals->peak_time_ns = recording->range.from_ns;
	return error;
}

struct error *event_sums_put(const struct event_replay *story, uint32_t unknown, unsigned flags,
	const struct source_query *query, struct model *model)
{
	_cleanup_(sums_deinit) struct sums sums = sums_of(story, query, model);
	struct error *error = find_span(&sums, unknown);
	if (!error)
		error = choose_blocks(&sums);
	if (!error)
		error = event_sums_replay(&sums);
	if (!error)
		error = event_sums_put_put(&sums, unknown);
	if (!error && (flags & SOURCE_WITH_LIVES) && !(unknown & UNKNOWN_LIVES))
		error = hpw_life_sums_put(story, &sums.clock, &sums.span, model);
	return error;
}

struct error *event_sums_finish(const struct event_replay *story, uint32_t unknown, unsigned flags,
	const struct source_query *query, bool cut, struct model **model, struct model **ret)
{
	struct error *error = event_sums_put(story, unknown, flags, query, *model);
	if (!error && cut)
		error = build_damage(
			*model, "its last line is cut off: what came after is missing");
	if (error)
		return error;
	build_finish(*model);
	*ret = steal_ptr(*model);
	return NULL;
}

struct error *event_sums_events(const struct event_replay *story, uint32_t unknown,
	const struct source_query *query, struct model *model, const struct event_sink *sink)
{
	_cleanup_(sums_deinit) struct sums sums = sums_of(story, query, model);
	struct error *error = find_span(&sums, unknown);
	return error ? error
		     : event_emit(story, &sums.clock, sums.span.from_step, sums.span.to_step, sink);
}
