/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording → model. Tables (modules, stacks, sites) always come from their chunks; figures come
 * from the footer where its parts are whole, so that a report on 10^8 events never reads one of
 * them, and from a replay of the events where they are not.
 *
 * Dropped: trusting the footer only as a whole. A flipped bit in the list of threads would then
 * cost the exact site figures of a recording with a hole in its events.
 */
#include "sources/recording/hpw.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "sources/events/event_emit.h"
#include "sources/events/hpw_life_sums.h"
#include "sources/recording/hpw_inherited.h"
#include "sources/recording/hpw_reader_impl.h"
#include "sources/source.h"

static void reader_deinit(struct reader *reader)
{
	hpw_file_deinit(&reader->file);
	hpw_tables_deinit(&reader->tables);
	hpw_footer_deinit(&reader->footer);
	hpw_estimates_deinit(&reader->estimates);
	hpw_replay_deinit(&reader->replay);
	hpw_estimate_deinit(&reader->peak);
	hpw_ranges_deinit(&reader->parts);
	hpw_series_deinit(&reader->series);
	hpw_marks_deinit(&reader->marks);
	hpw_block_filter_deinit(&reader->choice);
	free(reader->stacks);
	model_destroy(reader->model);
}

struct error *hpw_recognise(const struct input *input, bool *ret)
{
	char magic[sizeof(((struct hpw_header *)0)->magic)] = {0};
	size_t len = input->bytes < sizeof(magic) ? (size_t)input->bytes : sizeof(magic);
	struct error *error = input->read(input, 0, magic, len);
	if (error)
		return error;
	struct hpw_chunk_header header;
	*ret = len && !memcmp(magic, HPW_MAGIC, len);
	return *ret ? NULL : hpw_file_has_chunk(input, sizeof(struct hpw_header), &header, ret);
}

/* The next three name a chunk for people: by its place in the list and in the file. */
static struct error *note_chunk(struct reader *reader, size_t i, struct error *error)
{
	return hpw_damage_take(&reader->damage, error, "chunk %zu at offset %" PRIu64 " is damaged",
		i, reader->file.chunks.data[i].offset);
}

static struct error *decode_chunk(struct reader *reader, size_t i, hpw_decode_fn decode)
{
	const struct hpw_chunk *chunk = &reader->file.chunks.data[i];
	_cleanup_(hpw_payload_deinit) struct hpw_payload payload = {0};
	struct error *error = hpw_file_payload(&reader->file, chunk, &payload);
	if (!error)
		error = decode(reader, chunk->type, &payload);
	if (!error)
		reader->good++;
	return note_chunk(reader, i, error);
}

/* Decodes all chunks of some types from a place in the list on, in order. */
struct error *hpw_reader_decode_from(
	struct reader *reader, size_t first, bool (*wanted)(uint16_t type), hpw_decode_fn decode)
{
	struct error *error = NULL;
	for (size_t i = first; !error && i < reader->file.chunks.len; i++)
		if (wanted(reader->file.chunks.data[i].type))
			error = decode_chunk(reader, i, decode);
	return error;
}

struct error *hpw_reader_decode(
	struct reader *reader, bool (*wanted)(uint16_t type), hpw_decode_fn decode)
{
	return hpw_reader_decode_from(reader, 0, wanted, decode);
}

static struct error *into_tables(
	struct reader *reader, uint16_t type, const struct hpw_payload *payload)
{
	return hpw_tables_decode(&reader->tables, type, payload);
}

static struct error *into_footer(
	struct reader *reader, uint16_t type, const struct hpw_payload *payload)
{
	return hpw_footer_decode(&reader->footer, type, payload);
}

/* Chunks of events that could not be read, until the next good one tells how much they held. */
struct hole {
	size_t chunks;
	size_t first; /* in the list */
	char *reason; /* of the first */
};

static void hole_deinit(struct hole *hole)
{
	free(hole->reason);
	*hole = (struct hole){0};
}

static struct error *hole_widen(struct hole *hole, size_t chunk, struct error *error)
{
	if (error->code != ERROR_INPUT)
		return error;
	if (!hole->chunks++) {
		hole->first = chunk;
		hole->reason = steal_ptr(error->message);
	}
	error_destroy(error);
	return NULL;
}

/* Says what a hole cost, `missing` steps; 0: unknown. */
static struct error *hole_report(struct reader *reader, struct hole *hole, uint64_t missing)
{
	if (!hole->chunks && !missing)
		return NULL;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	if (hole->chunks == 1)
		text_printf(&text, "chunk %zu at offset %" PRIu64 " is damaged (%s)", hole->first,
			reader->file.chunks.data[hole->first].offset, hole->reason);
	else if (hole->chunks)
		text_printf(&text,
			"%zu chunks of events from chunk %zu at offset %" PRIu64
			" on are damaged (%s)",
			hole->chunks, hole->first, reader->file.chunks.data[hole->first].offset,
			hole->reason);
	else
		text_add(&text, "between chunks of events");
	text_add(&text, ": ");
	if (missing)
		text_add_count(&text, missing);
	text_add(&text, missing ? " steps missing" : "its steps are missing");
	hole_deinit(hole);
	if (text.failed)
		return error_no_memory();
	return hpw_damage_add(&reader->damage, "%s", text.data);
}

static bool replay_is_full(const struct reader *reader)
{
	return reader->replay.blocks.len >= reader->replay.blocks_max;
}

static struct error *replay_chunk(struct reader *reader, size_t i, struct hole *hole)
{
	_cleanup_(hpw_payload_deinit) struct hpw_payload payload = {0};
	struct error *error =
		hpw_file_payload(&reader->file, &reader->file.chunks.data[i], &payload);
	if (error)
		return hole_widen(hole, i, error);
	uint64_t missing;
	struct error *malformed = hpw_replay_chunk(&reader->replay, &payload, &missing);
	reader->good += !malformed;
	if (missing || hole->chunks) {
		error = hole_report(reader, hole, missing);
		if (error) {
			error_destroy(malformed);
			return error;
		}
	}
	return note_chunk(reader, i, malformed);
}

/* Whether the figures can be had from the events at all. */
bool hpw_reader_has_all_events(const struct reader *reader)
{
	return strcmp(build_recording(reader->model)->mode, "aggregate") != 0 &&
	       !reader->footer.summary[HPW_SUM_DROPPED_STEPS];
}

static struct error *replay_all(struct reader *reader)
{
	_cleanup_(hole_deinit) struct hole hole = {0};
	struct error *error = NULL;
	for (size_t i = 0; !error && i < reader->file.chunks.len && !replay_is_full(reader) &&
			   !reader->replay.reached;
		i++)
		if (reader->file.chunks.data[i].type == HPW_EVENTS)
			error = replay_chunk(reader, i, &hole);
	if (!error && reader->replay.reached)
		return hole_report(reader, &hole, 0);
	uint64_t steps = reader->footer.summary[HPW_SUM_STEPS], missing = 0;
	if (steps > reader->replay.next_step && !replay_is_full(reader) &&
		hpw_reader_has_all_events(reader))
		missing = steps - reader->replay.next_step;
	if (!error)
		error = hole_report(reader, &hole, missing);
	return error;
}

static bool needs_replay(const struct reader *reader)
{
	const struct hpw_footer *footer = &reader->footer;
	return (reader->flags & SOURCE_REPLAY) || !footer->has_summary || !footer->has_sites ||
	       !footer->has_threads || !footer->has_sizes;
}

/* From the beginning to the peak: it is that of all. */
static bool leads_to_peak(const struct reader *reader)
{
	const struct source_query *query = reader->query;
	return query && query->from.kind == SOURCE_START && query->to.kind == SOURCE_PEAK &&
	       reader->peak.sites && !reader->choice.wanted;
}

static struct error *replay_begin(struct reader *reader)
{
	struct error *error = hpw_replay_init(
		&reader->replay, reader->model, hpw_replay_blocks_max(reader->input->bytes));
	if (!error && reader->query) {
		reader->replay.from_step = reader->span.from_step;
		reader->replay.to_step = reader->span.to_step;
	}
	if (!error && reader->choice.wanted)
		reader->replay.choice = &reader->choice;
	if (!error && leads_to_peak(reader))
		reader->replay.estimate.leads_to = &reader->peak;
	return error;
}

/* A part's figures from the sums; *ret: it could be done. */
static struct error *sum_up(struct reader *reader, bool *ret)
{
	struct error *error = replay_begin(reader);
	if (!error)
		error = hpw_ranges_fill(&reader->parts, &reader->replay);
	*ret = !error;
	if (!error || error->code != ERROR_INPUT)
		return error;
	error_destroy(error);
	hpw_replay_deinit(&reader->replay);
	return NULL;
}

static struct error *hpw_reader_replay(struct reader *reader)
{
	if (reader->query && reader->has_parts) {
		struct error *error = sum_up(reader, &reader->replayed);
		reader->has_parts = reader->replayed;
		if (error || reader->replayed)
			return error;
	}
	struct error *error = replay_begin(reader);
	if (!error && reader->file.closed && !reader->ring.steps)
		error = hpw_journal_ring(&reader->file, &reader->damage, &reader->ring);
	if (!error)
		error = replay_all(reader);
	if (error)
		return error;
	hpw_replay_settle(&reader->replay);
	reader->replayed = true;
	return NULL;
}

static struct error *check_checkpoint(struct reader *reader)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_add_duration_ns(&text, build_recording(reader->model)->duration_ns);
	if (text.failed)
		return error_no_memory();
	return hpw_damage_add(&reader->damage,
		"the recording was not closed: its figures are as of %s after its start, and the "
		"program's exit status is unknown",
		text.data);
}

static struct error *check_in_progress(struct reader *reader)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_add_duration_ns(&text, build_recording(reader->model)->duration_ns);
	if (text.failed)
		return error_no_memory();
	build_target(reader->model)->exit_kind = EXIT_KIND_RUNNING;
	return hpw_damage_add(&reader->damage,
		"it is still being recorded: figures cover its first %s", text.data);
}

/* What is missing because the recording was not closed, in words. */
static struct error *check_end(struct reader *reader)
{
	if (reader->flags & SOURCE_OF_RUNNING && !reader->file.closed) {
		build_target(reader->model)->exit_kind = EXIT_KIND_RUNNING;
		return NULL;
	}
	if (!reader->file.closed && input_is_being_written(reader->input))
		return check_in_progress(reader);
	struct error *error = NULL;
	if (reader->file.checkpoint && reader->footer.has_summary)
		error = check_checkpoint(reader);
	if (!error && !reader->footer.has_summary)
		error = hpw_damage_add(&reader->damage,
			"the recording was not closed or its end is missing: the "
			"program's exit status is unknown");
	if (!error && reader->footer.has_summary && !reader->file.closed && !reader->damage.count)
		error = hpw_damage_add(
			&reader->damage, "the end of the file is missing, after its totals");
	return error;
}

/* What is missing as a whole, in words. */
static struct error *hpw_reader_check(struct reader *reader)
{
	struct error *error = NULL;
	if (!reader->tables.has_target)
		error = hpw_damage_add(
			&reader->damage, "the name of the recorded program can't be read");
	if (!error && reader->file.features & HPW_FEATURE_SAMPLED &&
		!build_recording(reader->model)->sample_bytes)
		error = hpw_damage_add(&reader->damage, "what its samples stand for is not known: "
							"figures cover only the sampled blocks");
	if (!error && reader->tables.sites_unknown_stack)
		error = hpw_damage_add(&reader->damage,
			"the call stacks of %" PRIu64 " allocation sites are missing",
			reader->tables.sites_unknown_stack);
	if (!error && reader->replayed && !hpw_reader_has_all_events(reader))
		error = hpw_damage_add(&reader->damage,
			"an aggregate recording has no events to replace the missing sums");
	return error ? error : check_end(reader);
}

/* Of a recording that was not closed: what its writer kept up to date in it. A ring that has every
 * step from the first on says more than the checkpoints. */
static struct error *open_places(struct reader *reader)
{
	struct error *error = hpw_journal_ring(&reader->file, &reader->damage, &reader->ring);
	bool all = reader->ring.steps && !reader->ring.first_step;
	return error || all ? error : hpw_journal_checkpoint(&reader->file, &reader->damage);
}

/* Which events there are, a checkpoint knows less well than the ring. */
static void put_ring(struct reader *reader)
{
	const struct hpw_ring *ring = &reader->ring;
	uint64_t *sum = reader->footer.summary, end = ring->first_step + ring->steps;
	if (!ring->first_step)
		return;
	sum[HPW_SUM_KEPT_FIRST] = ring->first_step;
	sum[HPW_SUM_KEPT_STEPS] = ring->steps;
	sum[HPW_SUM_KEPT_FROM_TSC] = ring->from_tsc;
	sum[HPW_SUM_KEPT_UNTIL_TSC] = ring->until_tsc;
	sum[HPW_SUM_DROPPED_STEPS] =
		ring->first_step + (sum[HPW_SUM_STEPS] > end ? sum[HPW_SUM_STEPS] - end : 0);
}

static bool is_part(const struct source_query *query)
{
	return query && (query->from.kind != SOURCE_START || query->to.kind != SOURCE_END);
}

/* Of what is mapped no other sites are wanted. */
static bool names_things(uint16_t type)
{
	return type != HPW_SITES && hpw_tables_has(type);
}

static bool sums_up(uint16_t type)
{
	return type != HPW_SITE_STATS && type != HPW_SIZES && hpw_footer_takes(type);
}

/* All figures of a recording that has errors alone. */
#define UNKNOWN_OF_ERRORS                                                                          \
	(UNKNOWN_ALLOCATIONS | UNKNOWN_ALLOCATED_BYTES | UNKNOWN_LIVE_BLOCKS |                     \
		UNKNOWN_LIVE_BYTES | UNKNOWN_PEAK_BLOCKS | UNKNOWN_PEAK_BYTES |                    \
		UNKNOWN_TEMPORARY | UNKNOWN_FAILED | UNKNOWN_FREES | UNKNOWN_SIZES |               \
		UNKNOWN_SERIES | UNKNOWN_LIVES | UNKNOWN_EXTREMES | UNKNOWN_SERIES_SITES |         \
		UNKNOWN_FAILED_SIZE)

static void note_features(const struct reader *reader, struct recording *recording)
{
	uint32_t features = reader->file.features;
	recording->only_errors = features & HPW_FEATURE_ERRORS_ONLY;
	recording->only_mappings = !recording->only_errors && features & HPW_FEATURE_NO_HEAP;
	if (recording->only_errors)
		recording->unknown |= UNKNOWN_OF_ERRORS;
}

/* Opens the file, and reads all but events. */
static struct error *read_tables(struct reader *reader)
{
	build_recording(reader->model)->complete = true;
	struct error *error = hpw_file_open(&reader->file, reader->input, &reader->damage);
	if (!error && !reader->file.closed)
		error = open_places(reader);
	bool heap = reader->class != SOURCE_MAPPINGS;
	if (!error)
		error = hpw_reader_decode(
			reader, heap ? hpw_tables_has : names_things, into_tables);
	if (!error)
		error = hpw_reader_decode(reader, heap ? hpw_footer_takes : sums_up, into_footer);
	put_ring(reader);
	note_features(reader, build_recording(reader->model));
	return error || !heap ? error : hpw_reader_check_sites(reader);
}

/* Whether going through all events takes no time; a cut-off file does not contain their number. */
static bool has_few_events(const struct reader *reader)
{
	uint64_t events = reader->footer.summary[HPW_SUM_EVENTS];
	return events && events <= LIVES_FEW_EVENTS && hpw_reader_has_all_events(reader) &&
	       !build_recording(reader->model)->sample_bytes;
}

static bool has_many_sites(const struct reader *reader)
{
	size_t sites;
	model_sites(reader->model, &sites);
	return sites > LIVES_FEW_SITES;
}

/* A class that needs mappings. */
static bool wants_mappings(const struct reader *reader)
{
	return reader->class == SOURCE_MAPPINGS || reader->class == SOURCE_HEAP_AND_MAPPINGS;
}

static bool is_at_peak(const struct source_query *query)
{
	return query && (query->from.kind == SOURCE_PEAK || query->to.kind == SOURCE_PEAK);
}

static struct error *refuse_class(const struct reader *reader)
{
	const struct recording *recording = build_recording(reader->model);
	const char *name = reader->input->name;
	if (recording->only_errors)
		return error_create(ERROR_INPUT,
			"%s: contains errors only, neither a heap nor mappings (heapwise check)",
			name);
	bool both = reader->class == SOURCE_HEAP_AND_MAPPINGS;
	if ((both || reader->class == SOURCE_HEAP) && recording->only_mappings)
		return error_create(ERROR_INPUT,
			"%s: contains no heap, only what the program mapped (run --mmap=only)",
			name);
	if (wants_mappings(reader) && !recording->mappings)
		return error_create(ERROR_INPUT,
			"%s: doesn't say what the program mapped: record it with heapwise run "
			"--mmap",
			name);
	if (wants_mappings(reader) && reader->choice.wanted)
		return error_create(ERROR_INPUT,
			"%s: options that choose blocks (--min-size, --thread, --min-lifetime…) "
			"don't work with mappings",
			name);
	if (both && is_at_peak(reader->query))
		return error_create(ERROR_INPUT,
			"%s: when heap and mappings together were largest is not known: use "
			"--class "
			"heap or --class mapping with that moment",
			name);
	return NULL;
}

/* What is not known of heap and mappings together. */
static void leave_heap_parts(struct reader *reader)
{
	reader->wanted_series = NULL;
	reader->flags &= ~(unsigned)(SOURCE_WITH_LIVES | SOURCE_WITH_MARKS | SOURCE_WITH_LIVE);
}

static struct error *read_all(struct reader *reader)
{
	struct error *error = build_string(reader->model, reader->input->name,
		strlen(reader->input->name), &build_recording(reader->model)->path);
	if (!error)
		error = read_tables(reader);
	if (!error && reader->class != SOURCE_CLASS_ANY)
		error = refuse_class(reader);
	if (!error && reader->class == SOURCE_HEAP_AND_MAPPINGS)
		leave_heap_parts(reader);
	if (build_recording(reader->model)->sample_bytes)
		reader->flags |= SOURCE_REPLAY; /* the footer sums up the samples alone */
	if (!error && (reader->flags & SOURCE_IF_FEW) && !has_few_events(reader)) {
		reader->wanted_series = NULL;
		reader->flags &= ~(unsigned)SOURCE_WITH_LIVES;
	}
	if (!error && (reader->flags & SOURCE_IF_FEW) && has_many_sites(reader))
		reader->wanted_series = NULL;
	bool with_marks = reader->flags & SOURCE_WITH_MARKS;
	if (!error && (reader->query || reader->wanted_series || reader->choice.wanted ||
			      with_marks || (reader->flags & SOURCE_WITH_LIVES)))
		error = hpw_reader_find_span(reader);
	if (!error && reader->choice.wanted)
		error = hpw_reader_choose_blocks(reader);
	if (!error && with_marks)
		error = hpw_reader_find_marks(reader);
	if (reader->query || reader->choice.wanted)
		reader->flags |= SOURCE_REPLAY;
	if (!hpw_reader_has_all_events(reader))
		reader->flags &= ~(unsigned)SOURCE_REPLAY;
	if (!error && needs_replay(reader) && !(reader->flags & SOURCE_TABLES))
		error = hpw_reader_replay(reader);
	if (!error && reader->wanted_series)
		error = hpw_reader_make_series(reader);
	if (!error && !reader->good)
		error = error_create(ERROR_INPUT, "%s: is an unreadable recording: %s",
			reader->input->name,
			reader->file.chunks.len ? "all of it is damaged"
						: "it is cut off or damaged");
	if (!error && (reader->flags & SOURCE_WITH_STACKS))
		error = hpw_reader_measure_stacks(reader);
	if (!error)
		error = hpw_reader_put(reader);
	if (!error && build_recording(reader->model)->mappings)
		error = hpw_reader_put_resident(reader);
	if (!error)
		error = hpw_reader_put_series(reader);
	if (!error && with_marks)
		error = hpw_reader_put_marks(reader);
	const struct event_replay story = event_replay_of_file(&reader->file);
	if (!error && (reader->flags & SOURCE_WITH_LIVES))
		error = hpw_life_sums_put(
			&story, &reader->tables.clock, &reader->span, reader->model);
	if (!error && (reader->flags & SOURCE_WITH_INHERITED))
		error = hpw_inherited_put(reader->model, reader->input);
	if (!error && build_recording(reader->model)->mappings)
		error = hpw_reader_sum_mappings(reader);
	if (!error)
		error = hpw_reader_check(reader);
	return error ? error : hpw_damage_finish(&reader->damage);
}

/* The model that all parts of the reader fill. */
static struct error *make_model(struct reader *reader)
{
	hpw_footer_init(&reader->footer);
	hpw_estimates_init(&reader->estimates);
	struct error *error = build_create(&reader->model);
	reader->damage.model = reader->model;
	reader->tables.model = reader->model;
	reader->tables.file_bytes = reader->input->bytes;
	reader->footer.into = reader->model;
	reader->leaks.model = reader->model;
	reader->leaks.clock = &reader->tables.clock;
	return error;
}

/* Stamps of moments that are no times, which the heap's events have. */
static struct error *find_stamps(struct reader *reader)
{
	const struct source_query *query = reader->query;
	bool by_events =
		query && (query->from.kind >= SOURCE_MARK || query->to.kind >= SOURCE_MARK);
	if (!by_events)
		return NULL;
	_cleanup_(reader_deinit) struct reader heap = {.input = reader->input,
		.query = query,
		.class = SOURCE_HEAP,
		.span = {.to_step = UINT64_MAX}};
	struct error *error = make_model(&heap);
	if (!error)
		error = read_tables(&heap);
	if (!error)
		error = hpw_reader_find_span(&heap);
	reader->span = heap.span;
	return error;
}

/* As read_all(), of what the program mapped. */
static struct error *read_mappings(struct reader *reader)
{
	struct error *error = build_string(reader->model, reader->input->name,
		strlen(reader->input->name), &build_recording(reader->model)->path);
	if (!error)
		error = read_tables(reader);
	if (!error)
		error = refuse_class(reader);
	if (!error)
		error = find_stamps(reader);
	hpw_reader_set_clock(reader);
	hpw_reader_put_summary(reader);
	if (!error)
		error = hpw_reader_put_mappings(reader);
	if (!error)
		error = hpw_reader_put_resident(reader);
	if (!error)
		error = hpw_reader_check(reader);
	return error ? error : hpw_damage_finish(&reader->damage);
}

static bool has_only_mappings(const struct reader *reader)
{
	return reader->class == SOURCE_CLASS_ANY && build_recording(reader->model)->only_mappings;
}

static struct error *open_class(const struct input *input, unsigned flags,
	const struct source_query *query, enum source_class class, struct model **ret)
{
	_cleanup_(reader_deinit) struct reader reader = {.input = input,
		.flags = flags,
		.query = is_part(query) ? query : NULL,
		.wanted_series = query ? query->series : NULL,
		.choice = {.wanted = query ? query->blocks : NULL},
		.class = class,
		.span = {.to_step = UINT64_MAX}};
	struct error *error = make_model(&reader);
	if (!error)
		error = class == SOURCE_MAPPINGS ? read_mappings(&reader) : read_all(&reader);
	if (!error && has_only_mappings(&reader))
		return open_class(input, flags, query, SOURCE_MAPPINGS, ret);
	if (error)
		return error;
	build_recording(reader.model)->read_way = reader.query && reader.has_parts ? READ_SUMS
						  : reader.replayed                ? READ_REPLAY
										   : READ_FOOTER;
	build_finish(reader.model);
	*ret = steal_ptr(reader.model);
	return NULL;
}

struct error *hpw_open(const struct input *input, unsigned flags, const struct source_query *query,
	struct model **ret)
{
	return open_class(input, flags, query, query ? query->class : SOURCE_CLASS_ANY, ret);
}

/* What is needed to go through the events of a range: tables, clock, and where it ends. */
static struct error *read_for_events(struct reader *reader)
{
	struct error *error = read_tables(reader);
	if (!error && build_recording(reader->model)->sample_bytes)
		error = error_create(ERROR_INPUT,
			"%s: is a sample, which lacks most events: only formats of stacks can be "
			"exported",
			reader->input->name);
	return error ? error : hpw_reader_find_span(reader);
}

struct error *hpw_events(
	const struct input *input, const struct source_query *query, const struct event_sink *sink)
{
	_cleanup_(reader_deinit) struct reader reader = {.input = input,
		.query = is_part(query) ? query : NULL,
		.span = {.to_step = UINT64_MAX}};
	struct error *error = make_model(&reader);
	if (!error)
		error = read_for_events(&reader);
	if (error)
		return error;
	const struct event_replay story = event_replay_of_file(&reader.file);
	return event_emit(
		&story, &reader.tables.clock, reader.span.from_step, reader.span.to_step, sink);
}
