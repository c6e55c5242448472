/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which part of a recording, which of its blocks, and which moments all along it. */
#include "sources/recording/hpw_reader_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "sources/recording/hpw_series_extras.h"

/* The pairs of clocks of the first and the last chunk of events, if no summary has one. */
static struct error *read_clock(struct reader *reader)
{
	const struct hpw_chunk_vec *chunks = &reader->file.chunks;
	struct hpw_events_head heads[2] = {{0}};
	for (int last = 0; last < 2; last++)
		for (size_t n = 0; n < chunks->len; n++) {
			const struct hpw_chunk *chunk =
				&chunks->data[last ? chunks->len - 1 - n : n];
			if (chunk->type != HPW_EVENTS)
				continue;
			_cleanup_(hpw_payload_deinit) struct hpw_payload payload = {0};
			struct error *error = hpw_file_payload(&reader->file, chunk, &payload);
			if (!error)
				error = hpw_events_head(&payload, &heads[last]);
			if (!error && heads[last].closed_tsc && heads[last].closed_ns)
				break;
			if (error && error->code != ERROR_INPUT)
				return error;
			error_destroy(error);
		}
	reader->replay.pair_tsc[0] = heads[0].closed_tsc;
	reader->replay.pair_ns[0] = heads[0].closed_ns;
	reader->replay.pair_tsc[1] = heads[1].closed_tsc;
	reader->replay.pair_ns[1] = heads[1].closed_ns;
	return NULL;
}

static struct error *open_parts(struct reader *reader)
{
	uint64_t steps = reader->footer.summary[HPW_SUM_STEPS];
	/* How long blocks live is not in the sums. */
	bool wanted = reader->query || reader->wanted_series ||
		      reader->flags & (SOURCE_WITH_MARKS | SOURCE_WITH_STACKS);
	if (!wanted || reader->flags & SOURCE_REPLAY || reader->choice.wanted)
		return NULL;
	struct error *error = hpw_ranges_open(&reader->file, reader->model, &reader->parts);
	reader->has_parts = !error && (!reader->footer.has_summary || reader->parts.steps == steps);
	if (!error || error->code != ERROR_INPUT)
		return error;
	error_destroy(error);
	return NULL;
}

/* Finds the moments that were asked for. */
struct error *hpw_reader_find_span(struct reader *reader)
{
	const char *name = reader->input->name;
	if (!hpw_reader_has_all_events(reader))
		return error_create(ERROR_INPUT,
			"%s: contains only sums, no single events (%s): only its end is known",
			name,
			model_recording(reader->model)->dump
				? "it is a dump"
				: "recorded with --mode aggregate, --ring or --max-file");
	struct error *error = reader->footer.has_summary ? NULL : read_clock(reader);
	if (!error && reader->file.closed)
		error = hpw_journal_ring(&reader->file, &reader->damage, &reader->ring);
	if (error)
		return error;
	hpw_reader_set_clock(reader);
	error = open_parts(reader);
	if (error)
		return error;
	const struct event_replay story = event_replay_of_file(&reader->file);
	const struct hpw_moments moments = {&story, reader->model, &reader->tables.clock,
		reader->has_parts ? &reader->parts : NULL, &reader->peak};
	build_recording(reader->model)->duration_ns =
		reader->footer.has_summary
			? reader->footer.summary[HPW_SUM_NS_DURATION]
			: hpw_clock_ns(&reader->tables.clock, reader->tables.clock.tsc_end);
	reader->span.to_stamp = reader->tables.clock.tsc_end;
	if (reader->query)
		error = hpw_moments_find(&moments, reader->query, &reader->span);
	return error ? error_prefix(error, "%s", name) : NULL;
}

/* Whether the thread in a row is the one that is meant. */
static bool is_thread(const struct hpw_footer *footer, size_t i, const char *wanted)
{
	const struct hpw_thread_row *row = &footer->threads.data[i];
	char number[16];
	snprintf(number, sizeof(number), "%" PRIu32, row->row.tid);
	return strcmp(number, wanted) == 0 ||
	       (strlen(wanted) == row->name_len &&
		       !memcmp(footer->names + row->name_offset, wanted, row->name_len));
}

static struct error *choose_threads(struct reader *reader)
{
	struct hpw_block_filter *choice = &reader->choice;
	const struct hpw_footer *footer = &reader->footer;
	const char *wanted = choice->wanted->thread;
	bool any = false;
	if (!wanted)
		return NULL;
	choice->threads_len = footer->has_threads ? footer->threads.len : 0;
	choice->threads = calloc(choice->threads_len + 1, sizeof(*choice->threads));
	if (!choice->threads)
		return error_no_memory();
	for (size_t i = 0; i < choice->threads_len; i++)
		any |= choice->threads[i] = is_thread(footer, i, wanted);
	for (size_t i = 0; i < choice->threads_len && strspn(wanted, "0123456789") < strlen(wanted);
		i++)
		if (!footer->threads.data[i].name_len) {
			choice->unnamed += 1 + footer->threads.data[i].row.others;
			choice->unnamed_allocations += footer->threads.data[i].row.allocations;
			choice->unnamed_bytes += footer->threads.data[i].row.allocated_bytes;
		}
	return any ? NULL
		   : error_create(ERROR_INPUT,
			     "%s: has no thread with number or name '%s' (report --view "
			     "threads lists them)",
			     reader->input->name, wanted);
}

struct error *hpw_reader_choose_blocks(struct reader *reader)
{
	struct error *error = choose_threads(reader);
	const struct event_replay story = event_replay_of_file(&reader->file);
	if (!error && reader->choice.wanted->by_life)
		error = hpw_block_filter_by_life(
			&reader->choice, &story, &reader->tables.clock, &reader->span);
	return error ? error : hpw_block_filter_describe(&reader->choice, reader->model);
}

/* Goes through all events, and reports progress. */
static struct error *replay_all(struct reader *reader, struct hpw_replay *replay)
{
	struct error *error = NULL;
	for (size_t i = 0; !error && !reader->series.ended && i < reader->file.chunks.len; i++) {
		_cleanup_(hpw_payload_deinit) struct hpw_payload payload = {0};
		uint64_t missing;
		if (reader->file.chunks.data[i].type != HPW_EVENTS)
			continue;
		error = hpw_file_payload(&reader->file, &reader->file.chunks.data[i], &payload);
		if (!error)
			error = hpw_replay_chunk(replay, &payload, &missing);
		/* The figures' own replay says what is damaged. */
		if (error && error->code == ERROR_INPUT) {
			error_destroy(error);
			error = NULL;
		}
	}
	if (!error)
		hpw_replay_settle(replay);
	return error;
}

static struct error *series_of_events(struct reader *reader)
{
	struct hpw_replay replay = {.model = NULL};
	struct error *error = hpw_replay_init(
		&replay, reader->model, hpw_replay_blocks_max(reader->input->bytes));
	if (reader->query) {
		replay.from_step = reader->span.from_step;
		replay.to_step = reader->span.to_step;
	}
	if (reader->choice.wanted)
		replay.choice = &reader->choice;
	if (build_recording(reader->model)->sample_bytes)
		hpw_series_watch_samples(&reader->series, &replay, &reader->replay);
	else
		hpw_series_watch(&reader->series, &replay);
	if (!error)
		error = replay_all(reader, &replay);
	if (!error)
		error = hpw_series_conclude(&reader->series, &replay);
	hpw_replay_deinit(&replay);
	return error;
}

static void init_series(struct reader *reader)
{
	uint64_t from_ns, to_ns;
	hpw_span_times(&reader->span, reader->query, &reader->tables.clock, &from_ns, &to_ns);
	hpw_series_init(
		&reader->series, reader->wanted_series, &reader->tables.clock, from_ns, to_ns);
}

static struct error *make_series(struct reader *reader)
{
	init_series(reader);
	if (reader->query || !reader->has_parts ||
		!hpw_series_suits(&reader->series, &reader->parts))
		return series_of_events(reader);
	struct error *error = hpw_series_sum_up(&reader->series, &reader->parts);
	if (!error || error->code != ERROR_INPUT)
		return error;
	error_destroy(error);
	hpw_series_deinit(&reader->series);
	init_series(reader);
	return series_of_events(reader);
}

struct error *hpw_reader_make_series(struct reader *reader)
{
	struct error *error = make_series(reader);
	if (!error && reader->has_parts)
		error = hpw_series_extras_fill(&reader->series, &reader->parts, &reader->footer);
	return error;
}

static struct error *measure_stacks(struct reader *reader, const struct hpw_ranges *parts)
{
	const struct hpw_footer *footer = &reader->footer;
	const struct source_query *query = reader->query;
	const struct hpw_series_extras_moment moment = {.step = reader->span.to_step,
		.time_ns = query && query->to.kind == SOURCE_TIME
				   ? query->to.time_ns
				   : hpw_clock_ns(&reader->tables.clock, reader->span.to_stamp)};
	reader->stacks_len = footer->threads.len;
	reader->stacks = calloc(reader->stacks_len + 1, sizeof(*reader->stacks));
	if (!reader->stacks)
		return error_no_memory();
	return hpw_series_extras_stacks(parts, &reader->tables.clock, footer, &moment,
		reader->stacks, reader->stacks_len, &build_recording(reader->model)->stack_bytes);
}

struct error *hpw_reader_measure_stacks(struct reader *reader)
{
	/* Without the list of threads it is unknown which of them have ended. */
	if (!hpw_reader_has_all_events(reader) || !reader->footer.has_threads ||
		build_recording(reader->model)->sample_bytes)
		return NULL;
	struct hpw_ranges own = {.file = NULL};
	hpw_reader_set_clock(reader);
	struct error *error =
		reader->has_parts ? NULL : hpw_ranges_open(&reader->file, reader->model, &own);
	if (!error)
		error = measure_stacks(reader, reader->has_parts ? &reader->parts : &own);
	hpw_ranges_deinit(&own);
	if (!error || error->code != ERROR_INPUT)
		return error;
	/* It is not known then. */
	error_destroy(error);
	free(reader->stacks);
	reader->stacks = NULL;
	reader->stacks_len = 0;
	return NULL;
}

struct error *hpw_reader_put_series(struct reader *reader)
{
	struct error *error = NULL;
	build_recording(reader->model)->series_is_whole = reader->series.rows.len > 0;
	for (size_t i = 0; !error && i < reader->series.rows.len; i++) {
		const struct hpw_series_row *row = &reader->series.rows.data[i];
		error = build_series_row(reader->model, &row->row, row->sites, row->sites_len);
	}
	return error;
}

struct error *hpw_reader_find_marks(struct reader *reader)
{
	hpw_marks_init(&reader->marks, &reader->tables.clock);
	if (reader->has_parts && hpw_marks_suit(&reader->parts))
		return hpw_marks_sum_up(&reader->marks, &reader->parts);
	struct hpw_replay replay = {.model = NULL};
	struct error *error = hpw_replay_init(
		&replay, reader->model, hpw_replay_blocks_max(reader->input->bytes));
	hpw_marks_watch(&reader->marks, &replay);
	if (reader->choice.wanted)
		replay.choice = &reader->choice;
	if (!error)
		error = replay_all(reader, &replay);
	hpw_replay_deinit(&replay);
	return error;
}

struct error *hpw_reader_put_marks(struct reader *reader)
{
	return hpw_marks_put(&reader->marks, reader->model, reader->span.from_step,
		reader->query ? reader->span.to_step : UINT64_MAX);
}
