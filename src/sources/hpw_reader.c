/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording → model. Tables (modules, stacks, sites) always come from their chunks; figures come
 * from the footer where its parts are whole, so that a report on 10^8 events never reads one of
 * them, and from a replay of the events where they are not.
 *
 * Dropped: trusting the footer only as a whole. A flipped bit in the list of threads would then
 * cost the exact site figures of a recording with a hole in its events.
 */
#include "sources/hpw.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "sources/hpw_file.h"
#include "sources/hpw_footer.h"
#include "sources/hpw_inherited.h"
#include "sources/hpw_leaks.h"
#include "sources/hpw_moments.h"
#include "sources/hpw_part.h"
#include "sources/hpw_places.h"
#include "sources/hpw_replay.h"
#include "sources/hpw_series.h"
#include "sources/hpw_tables.h"
#include "sources/source.h"

struct reader {
	const struct input *input;
	unsigned flags;
	const struct source_query *query; /* NULL: all of it */
	struct hpw_span span;
	struct hpw_parts parts;
	bool has_parts;
	const struct source_series *wanted_series; /* NULL: none */
	struct hpw_series series;
	struct model *model;
	struct hpw_damage damage;
	struct hpw_file file;
	struct hpw_tables tables;
	struct hpw_footer footer;
	struct hpw_replay replay;
	struct hpw_leaks leaks;
	struct hpw_ring ring; /* if it was not closed, or all of it is replayed */
	bool replayed;
	size_t good; /* chunks that could be read */
};

static void reader_deinit(struct reader *reader)
{
	hpw_file_deinit(&reader->file);
	hpw_footer_deinit(&reader->footer);
	hpw_replay_deinit(&reader->replay);
	hpw_parts_deinit(&reader->parts);
	hpw_series_deinit(&reader->series);
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

typedef struct error *(*decode_fn)(
	struct reader *reader, uint16_t type, const struct hpw_payload *payload);

static struct error *decode_chunk(struct reader *reader, size_t i, decode_fn decode)
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
static struct error *decode_chunks_from(
	struct reader *reader, size_t first, bool (*wanted)(uint16_t type), decode_fn decode)
{
	struct error *error = NULL;
	for (size_t i = first; !error && i < reader->file.chunks.len; i++)
		if (wanted(reader->file.chunks.data[i].type))
			error = decode_chunk(reader, i, decode);
	return error;
}

static struct error *decode_chunks(
	struct reader *reader, bool (*wanted)(uint16_t type), decode_fn decode)
{
	return decode_chunks_from(reader, 0, wanted, decode);
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

static struct error *into_live(
	struct reader *reader, uint16_t type, const struct hpw_payload *payload)
{
	(void)type;
	return hpw_footer_live(reader->model, payload);
}

static struct error *into_unrecorded(
	struct reader *reader, uint16_t type, const struct hpw_payload *payload)
{
	(void)type;
	return hpw_footer_unrecorded(reader->model, &reader->tables.clock, payload);
}

static bool is_unrecorded(uint16_t type)
{
	return type == HPW_UNRECORDED;
}

static struct error *into_leaks(
	struct reader *reader, uint16_t type, const struct hpw_payload *payload)
{
	return hpw_leaks_decode(&reader->leaks, type, payload);
}

static bool is_live(uint16_t type)
{
	return type == HPW_LIVE;
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
static bool has_all_events(const struct reader *reader)
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
	if (steps > reader->replay.next_step && !replay_is_full(reader) && has_all_events(reader))
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

static struct error *replay_begin(struct reader *reader)
{
	struct error *error = hpw_replay_init(
		&reader->replay, reader->model, hpw_replay_blocks_max(reader->input->bytes));
	if (!error && reader->query) {
		reader->replay.from_step = reader->span.from_step;
		reader->replay.to_step = reader->span.to_step;
	}
	return error;
}

/* A part's figures from the sums; *ret: it could be done. */
static struct error *sum_up(struct reader *reader, bool *ret)
{
	struct error *error = replay_begin(reader);
	if (!error)
		error = hpw_parts_fill(&reader->parts, &reader->replay);
	*ret = !error;
	if (!error || error->code != ERROR_INPUT)
		return error;
	error_destroy(error);
	hpw_replay_deinit(&reader->replay);
	return NULL;
}

static struct error *replay(struct reader *reader)
{
	if (reader->query && reader->has_parts) {
		struct error *error = sum_up(reader, &reader->replayed);
		reader->has_parts = reader->replayed;
		if (error || reader->replayed)
			return error;
	}
	struct error *error = replay_begin(reader);
	if (!error && reader->file.closed && !reader->ring.steps)
		error = hpw_places_ring(&reader->file, &reader->damage, &reader->ring);
	if (!error)
		error = replay_all(reader);
	if (error)
		return error;
	hpw_replay_settle(&reader->replay);
	reader->replayed = true;
	return NULL;
}

/* Whether a part's figures come from the events. */
static bool from_replay(const struct reader *reader, bool in_footer)
{
	return reader->replayed && (!in_footer || (reader->flags & SOURCE_REPLAY));
}

static void set_clock(struct reader *reader)
{
	struct hpw_clock *clock = &reader->tables.clock;
	const uint64_t *sum = reader->footer.summary;
	if (sum[HPW_SUM_TSC_END] > clock->tsc_start && sum[HPW_SUM_NS_DURATION]) {
		clock->span_tsc = sum[HPW_SUM_TSC_END] - clock->tsc_start;
		clock->span_ns = sum[HPW_SUM_NS_DURATION];
	} else if (reader->replay.pair_tsc[1] > reader->replay.pair_tsc[0] &&
		   reader->replay.pair_ns[1] > reader->replay.pair_ns[0]) {
		clock->span_tsc = reader->replay.pair_tsc[1] - reader->replay.pair_tsc[0];
		clock->span_ns = reader->replay.pair_ns[1] - reader->replay.pair_ns[0];
	}
}

/* Figures of the summary, in the words of the model. */
static void put_totals_summary(struct reader *reader)
{
	const uint64_t *sum = reader->footer.summary;
	*build_totals(reader->model) = (struct totals){
		.allocations = sum[HPW_SUM_ALLOCATIONS],
		.allocated_bytes = sum[HPW_SUM_ALLOCATED_BYTES],
		.frees = sum[HPW_SUM_FREES],
		.failed = sum[HPW_SUM_FAILED],
		.live_blocks = sum[HPW_SUM_LIVE_BLOCKS],
		.live_bytes = sum[HPW_SUM_LIVE_BYTES],
		.kept_blocks = sum[HPW_SUM_LIVE_BLOCKS],
		.kept_bytes = sum[HPW_SUM_LIVE_BYTES],
		.temporary = sum[HPW_SUM_TEMPORARY],
		.peak_bytes = sum[HPW_SUM_PEAK_BYTES],
		.peak_blocks = sum[HPW_SUM_PEAK_BLOCKS],
		.peak_time_ns = hpw_clock_ns(&reader->tables.clock, sum[HPW_SUM_PEAK_TSC]),
		.threads = sum[HPW_SUM_THREADS],
	};
	struct recording *recording = build_recording(reader->model);
	recording->events = sum[HPW_SUM_EVENTS];
	recording->unknown_frees = sum[HPW_SUM_UNKNOWN_FREES];
	recording->mismatched_frees = sum[HPW_SUM_MISMATCHED];
}

/* Threads that did something in a part. */
static uint64_t count_busy(const struct hpw_tally_thread_vec *threads)
{
	uint64_t count = 0;
	for (size_t i = 0; i < threads->len; i++)
		count += threads->data[i].allocations || threads->data[i].frees;
	return count;
}

static void put_totals_replay(struct reader *reader)
{
	struct totals *totals = build_totals(reader->model);
	*totals = reader->replay.totals;
	if (reader->query)
		totals->threads = count_busy(&reader->replay.threads);
	totals->peak_time_ns = hpw_clock_ns(&reader->tables.clock, reader->replay.peak_stamp);
	struct recording *recording = build_recording(reader->model);
	recording->events = reader->replay.events;
	recording->unknown_frees = reader->replay.unknown_frees;
	recording->mismatched_frees = reader->replay.mismatched;
}

/* A forked process frees blocks of its parent's; when nothing was lost all unknown ones are these.
 */
static void put_inherited(struct reader *reader)
{
	struct recording *recording = build_recording(reader->model);
	if (!build_target(reader->model)->forked || recording->lost_events)
		return;
	recording->inherited_frees = recording->unknown_frees;
	recording->unknown_frees = 0;
}

/* What only the writer knows: 0 if the summary is missing. */
static void put_summary(struct reader *reader)
{
	static const enum exit_kind exit_kinds[] = {
		[HPW_EXIT_UNKNOWN] = EXIT_KIND_UNKNOWN,
		[HPW_EXIT_STATUS] = EXIT_KIND_STATUS,
		[HPW_EXIT_SIGNAL] = EXIT_KIND_SIGNAL,
		[HPW_EXIT_EXEC] = EXIT_KIND_EXEC,
	};
	const uint64_t *sum = reader->footer.summary;
	struct recording *recording = build_recording(reader->model);
	recording->lost_events = sum[HPW_SUM_LOST];
	_Static_assert((int)LOST_REASONS == HPW_LOST_REASONS, "one for one");
	for (unsigned why = 0; why < LOST_REASONS; why++)
		recording->lost[why] = sum[HPW_SUM_LOST_FIRST + why];
	recording->duration_ns = sum[HPW_SUM_NS_DURATION];
	recording->repairs = sum[HPW_SUM_REPAIRS];
	recording->stacks_full = sum[HPW_SUM_STACKS_FULL];
	recording->children_unrecorded = sum[HPW_SUM_CHILDREN];
	recording->longest_wait_ns = sum[HPW_SUM_LONGEST_WAIT_NS];
	recording->wait_ns = sum[HPW_SUM_WAIT_NS];
	recording->own_malloc = sum[HPW_SUM_NOTES] & HPW_NOTE_OWN_MALLOC;
	recording->malloc_in_front = sum[HPW_SUM_NOTES] & HPW_NOTE_IN_FRONT;
	recording->sandboxed = sum[HPW_SUM_NOTES] & HPW_NOTE_SANDBOXED;
	recording->loaded_apart = sum[HPW_SUM_NOTES] & HPW_NOTE_APART;
	recording->not_attached = sum[HPW_SUM_NOTES] & HPW_NOTE_NOT_ATTACHED;
	recording->dropped_steps = sum[HPW_SUM_DROPPED_STEPS];
	recording->kept_steps = sum[HPW_SUM_KEPT_STEPS];
	recording->kept_from_ns = hpw_clock_ns(&reader->tables.clock, sum[HPW_SUM_KEPT_FROM_TSC]);
	recording->kept_until_ns = hpw_clock_ns(&reader->tables.clock, sum[HPW_SUM_KEPT_UNTIL_TSC]);
	struct target *target = build_target(reader->model);
	if (sum[HPW_SUM_EXIT_KIND] <= HPW_EXIT_EXEC)
		target->exit_kind = exit_kinds[sum[HPW_SUM_EXIT_KIND]];
	target->exit_value = (int)(uint32_t)sum[HPW_SUM_EXIT_VALUE];
	if (!reader->footer.has_summary && reader->replayed) {
		recording->lost_events = reader->replay.lost;
		recording->duration_ns = hpw_clock_ns(&reader->tables.clock, reader->replay.stamp);
	}
}

/* Counters of rows that name no known site, all in one. */
static struct error *put_astray(struct reader *reader, size_t known)
{
	const struct hpw_site_vec *rows = &reader->footer.sites;
	if (rows->len <= known)
		return NULL;
	struct site_id id = {(uint32_t)known};
	struct error *error = build_site(reader->model, id, (struct stack_id){0}, KIND_UNKNOWN);
	if (error)
		return error;
	struct site *all = build_site_at(reader->model, id);
	for (size_t i = known; i < rows->len; i++) {
		const struct site *row = &rows->data[i];
		if (row->allocations && (!all->allocations || row->min_size < all->min_size))
			all->min_size = row->min_size;
		if (row->max_size > all->max_size)
			all->max_size = row->max_size;
		all->allocations += row->allocations;
		all->allocated_bytes += row->allocated_bytes;
		all->live_blocks += row->live_blocks;
		all->live_bytes += row->live_bytes;
		all->kept_blocks += row->live_blocks;
		all->kept_bytes += row->live_bytes;
		all->peak_blocks += row->peak_blocks;
		all->peak_bytes += row->peak_bytes;
		all->temporary += row->temporary;
		all->same_frame += row->same_frame;
		all->failed += row->failed;
	}
	return NULL;
}

static struct error *put_sites(struct reader *reader)
{
	if (from_replay(reader, reader->footer.has_sites))
		return hpw_replay_put_sites(&reader->replay, reader->model);
	size_t known;
	model_sites(reader->model, &known);
	struct error *error = put_astray(reader, known);
	for (size_t i = 0; !error && i < known && i < reader->footer.sites.len; i++) {
		struct site *site = build_site_at(reader->model, (struct site_id){(uint32_t)i});
		struct site row = reader->footer.sites.data[i];
		row.kept_blocks = row.live_blocks;
		row.kept_bytes = row.live_bytes;
		row.stack = site->stack;
		row.kind = site->kind;
		*site = row;
	}
	return error;
}

static struct error *put_sizes(struct reader *reader)
{
	if (from_replay(reader, reader->footer.has_sizes))
		return hpw_replay_put_sizes(&reader->replay, reader->model);
	struct error *error = NULL;
	for (size_t i = 0; !error && i < reader->footer.sizes.len; i++)
		error = build_size(reader->model, reader->footer.sizes.data[i].size,
			reader->footer.sizes.data[i].allocations);
	return error;
}

/* A thread's row: names from the footer if there is one, figures from where they are to come. */
static struct error *put_thread(struct reader *reader, size_t i, bool replayed)
{
	const struct hpw_clock *clock = &reader->tables.clock;
	struct thread row = {.tid = 0};
	const char *name = "";
	size_t name_len = 0;
	if (reader->footer.has_threads && i < reader->footer.threads.len) {
		const struct hpw_thread_row *stored = &reader->footer.threads.data[i];
		row = stored->row;
		row.first_ns = hpw_clock_ns(clock, stored->first_tsc);
		row.last_ns = hpw_clock_ns(clock, stored->last_tsc);
		name = reader->footer.names + stored->name_offset;
		name_len = stored->name_len;
	}
	if (reader->query)
		row.allocations = row.allocated_bytes = row.frees = row.temporary = 0;
	if (replayed && i < reader->replay.threads.len) {
		const struct hpw_tally_thread *tally = &reader->replay.threads.data[i];
		row.allocations = tally->allocations;
		row.allocated_bytes = tally->allocated_bytes;
		row.frees = tally->frees;
		row.temporary = tally->temporary;
		if (reader->query && reader->footer.has_threads)
			return build_thread(reader->model, &row, name, name_len);
		row.first_ns = hpw_clock_ns(clock, tally->first_stamp);
		row.last_ns = hpw_clock_ns(clock, tally->last_stamp);
		row.ended = row.ended || tally->ended;
		row.others = tally->others;
	}
	return build_thread(reader->model, &row, name, name_len);
}

static struct error *put_threads(struct reader *reader)
{
	bool replayed = from_replay(reader, reader->footer.has_threads);
	size_t count = reader->footer.has_threads ? reader->footer.threads.len : 0;
	if (replayed && reader->replay.threads.len > count)
		count = reader->replay.threads.len;
	struct error *error = NULL;
	for (size_t i = 0; !error && i < count; i++)
		error = put_thread(reader, i, replayed);
	return error;
}

static struct error *put_live(struct reader *reader)
{
	bool there = false;
	for (size_t i = 0; i < reader->file.chunks.len; i++)
		there |= is_live(reader->file.chunks.data[i].type);
	if (reader->file.checkpoint && !there && reader->footer.summary[HPW_SUM_LIVE_BLOCKS])
		return NULL; /* they were too many for it */
	struct error *error = build_live(reader->model, NULL, 0);
	return error ? error : decode_chunks(reader, is_live, into_live);
}

static struct error *put_leaks(struct reader *reader)
{
	struct error *error = decode_chunks_from(
		reader, hpw_leaks_first(&reader->file), hpw_leaks_takes, into_leaks);
	if (!error)
		error = hpw_leaks_judge(&reader->leaks, &reader->damage);
	if (!error && (reader->flags & SOURCE_WITH_LEAK_TIMES))
		error = hpw_leaks_date(&reader->leaks, &reader->file);
	return error;
}

static struct error *put_range(struct reader *reader)
{
	const struct source_query *query = reader->query;
	const struct hpw_clock *clock = &reader->tables.clock;
	struct range *range = &build_recording(reader->model)->range;
	range->part = true;
	range->from_step = reader->span.from_step;
	range->to_step = reader->span.to_step;
	range->from_ns = query->from.kind == SOURCE_TIME
				 ? query->from.time_ns
				 : hpw_clock_ns(clock, reader->span.from_stamp);
	range->to_ns = query->to.kind == SOURCE_TIME  ? query->to.time_ns
		       : query->to.kind == SOURCE_END ? build_recording(reader->model)->duration_ns
						      : hpw_clock_ns(clock, reader->span.to_stamp);
	if (range->from_step && reader->replay.peak_step == range->from_step)
		build_totals(reader->model)->peak_time_ns = range->from_ns;
	const char *from = query->from_text ? query->from_text : "start";
	const char *to = query->to_text ? query->to_text : "end";
	struct error *error = build_string(reader->model, from, strlen(from), &range->from);
	return error ? error : build_string(reader->model, to, strlen(to), &range->to);
}

static struct error *put_all(struct reader *reader)
{
	set_clock(reader);
	if (from_replay(reader, reader->footer.has_summary))
		put_totals_replay(reader);
	else
		put_totals_summary(reader);
	put_summary(reader);
	put_inherited(reader);
	struct error *error = decode_chunks(reader, is_unrecorded, into_unrecorded);
	if (!error)
		error = put_sites(reader);
	if (!error)
		error = put_threads(reader);
	if (!error)
		error = put_sizes(reader);
	if (!error && (reader->flags & SOURCE_WITH_LIVE) && reader->footer.has_summary &&
		!reader->query)
		error = put_live(reader);
	if (!error && (!reader->query || reader->span.to_step == UINT64_MAX))
		error = put_leaks(reader);
	if (!error && reader->query)
		error = put_range(reader);
	return error;
}

static struct error *judge_checkpoint(struct reader *reader)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_add_duration_ns(&text, build_recording(reader->model)->duration_ns);
	if (text.failed)
		return error_no_memory();
	return hpw_damage_add(&reader->damage,
		"the recording was not closed: its figures are those of a moment %s after its "
		"beginning, and how the program ended is not known",
		text.data);
}

/* What is missing because the recording was not closed, in words. */
static struct error *judge_end(struct reader *reader)
{
	if (reader->flags & SOURCE_OF_RUNNING && !reader->file.closed) {
		build_target(reader->model)->exit_kind = EXIT_KIND_RUNNING;
		return NULL;
	}
	struct error *error = NULL;
	if (reader->file.checkpoint && reader->footer.has_summary)
		error = judge_checkpoint(reader);
	if (!error && !reader->footer.has_summary)
		error = hpw_damage_add(&reader->damage,
			"the recording was not closed or its end is missing: how the program ended "
			"is not known");
	if (!error && reader->footer.has_summary && !reader->file.closed && !reader->damage.count)
		error = hpw_damage_add(
			&reader->damage, "the end of the file is missing, behind its totals");
	return error;
}

/* What is missing as a whole, in words. */
static struct error *judge(struct reader *reader)
{
	struct error *error = NULL;
	if (!reader->tables.has_target)
		error = hpw_damage_add(
			&reader->damage, "which program was recorded cannot be read");
	if (!error && reader->file.features & HPW_FEATURE_SAMPLED &&
		!build_recording(reader->model)->sample_bytes)
		error = hpw_damage_add(&reader->damage,
			"it was sampled, but how is not known: figures are of the sampled blocks "
			"alone");
	if (!error && reader->tables.sites_astray)
		error = hpw_damage_add(&reader->damage,
			"the call stacks of %" PRIu64 " places of allocation are missing",
			reader->tables.sites_astray);
	if (!error && reader->replayed && !has_all_events(reader))
		error = hpw_damage_add(&reader->damage,
			"an aggregate recording holds no events that could stand in for the sums "
			"that are missing");
	return error ? error : judge_end(reader);
}

/* Of a recording that was not closed: what its writer kept up to date in it. A ring that has every
 * step from the first on says more than the checkpoints. */
static struct error *open_places(struct reader *reader)
{
	struct error *error = hpw_places_ring(&reader->file, &reader->damage, &reader->ring);
	bool all = reader->ring.steps && !reader->ring.first_step;
	return error || all ? error : hpw_places_checkpoint(&reader->file, &reader->damage);
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
	if (reader->flags & SOURCE_REPLAY)
		return NULL;
	struct error *error = hpw_parts_open(&reader->file, reader->model, &reader->parts);
	reader->has_parts = !error && (!reader->footer.has_summary || reader->parts.steps == steps);
	if (!error || error->code != ERROR_INPUT)
		return error;
	error_destroy(error);
	return NULL;
}

/* Finds the moments that were asked for. */
static struct error *find_span(struct reader *reader)
{
	const char *name = reader->input->name;
	if (!has_all_events(reader))
		return error_create(ERROR_INPUT,
			"%s: holds sums, not what happened when (it was recorded with --mode "
			"aggregate, --ring or --max-file): only its end is known",
			name);
	struct error *error = reader->footer.has_summary ? NULL : read_clock(reader);
	if (!error && reader->file.closed)
		error = hpw_places_ring(&reader->file, &reader->damage, &reader->ring);
	if (error)
		return error;
	set_clock(reader);
	error = open_parts(reader);
	if (error)
		return error;
	const struct hpw_moments moments = {&reader->file, reader->model, &reader->tables.clock,
		reader->has_parts ? &reader->parts : NULL};
	build_recording(reader->model)->duration_ns = reader->footer.summary[HPW_SUM_NS_DURATION];
	if (reader->query)
		error = hpw_moments_find(&moments, reader->query, &reader->span);
	return error ? error_prefix(error, "%s", name) : NULL;
}

static bool in_part(const struct reader *reader, const struct series_row *row)
{
	return !reader->query ||
	       (row->step >= reader->span.from_step && row->step <= reader->span.to_step);
}

static struct error *series_of_events(struct reader *reader)
{
	struct hpw_replay replay = {.model = NULL};
	struct error *error = hpw_replay_init(
		&replay, reader->model, hpw_replay_blocks_max(reader->input->bytes));
	hpw_series_watch(&reader->series, &replay);
	for (size_t i = 0; !error && i < reader->file.chunks.len; i++) {
		_cleanup_(hpw_payload_deinit) struct hpw_payload payload = {0};
		uint64_t missing;
		if (reader->file.chunks.data[i].type != HPW_EVENTS)
			continue;
		error = hpw_file_payload(&reader->file, &reader->file.chunks.data[i], &payload);
		if (!error)
			error = hpw_replay_chunk(&replay, &payload, &missing);
		/* The figures' own replay says what is damaged. */
		if (error && error->code == ERROR_INPUT) {
			error_destroy(error);
			error = NULL;
		}
	}
	if (!error)
		hpw_replay_settle(&replay);
	if (!error)
		error = hpw_series_conclude(&reader->series, &replay);
	hpw_replay_deinit(&replay);
	return error;
}

static struct error *make_series(struct reader *reader)
{
	hpw_series_init(&reader->series, reader->wanted_series, &reader->tables.clock);
	if (!reader->has_parts || !hpw_series_suits(&reader->series, &reader->parts))
		return series_of_events(reader);
	struct error *error = hpw_series_sum_up(&reader->series, &reader->parts);
	if (!error || error->code != ERROR_INPUT)
		return error;
	error_destroy(error);
	hpw_series_deinit(&reader->series);
	hpw_series_init(&reader->series, reader->wanted_series, &reader->tables.clock);
	return series_of_events(reader);
}

static struct error *put_series(struct reader *reader)
{
	struct error *error = NULL;
	for (size_t i = 0; !error && i < reader->series.rows.len; i++) {
		const struct hpw_series_row *row = &reader->series.rows.data[i];
		if (in_part(reader, &row->row))
			error = build_series_row(
				reader->model, &row->row, row->sites, row->sites_len);
	}
	return error;
}

static struct error *read_all(struct reader *reader)
{
	struct error *error = build_string(reader->model, reader->input->name,
		strlen(reader->input->name), &build_recording(reader->model)->path);
	build_recording(reader->model)->complete = true;
	if (!error)
		error = hpw_file_open(&reader->file, reader->input, &reader->damage);
	if (!error && !reader->file.closed)
		error = open_places(reader);
	if (!error)
		error = decode_chunks(reader, hpw_tables_has, into_tables);
	if (!error)
		error = decode_chunks(reader, hpw_footer_takes, into_footer);
	put_ring(reader);
	if (build_recording(reader->model)->sample_bytes)
		reader->flags |= SOURCE_REPLAY; /* the footer sums up the samples alone */
	if (!error && (reader->query || reader->wanted_series))
		error = find_span(reader);
	if (!error && reader->wanted_series)
		error = make_series(reader);
	if (reader->query)
		reader->flags |= SOURCE_REPLAY;
	if (!has_all_events(reader))
		reader->flags &= ~(unsigned)SOURCE_REPLAY;
	if (!error && needs_replay(reader))
		error = replay(reader);
	if (!error && !reader->good)
		error = error_create(ERROR_INPUT,
			"%s: is a recording in which nothing can be read: %s", reader->input->name,
			reader->file.chunks.len ? "all of it is damaged" : "it is cut or damaged");
	if (!error)
		error = put_all(reader);
	if (!error)
		error = put_series(reader);
	if (!error && (reader->flags & SOURCE_WITH_INHERITED))
		error = hpw_inherited_put(reader->model, reader->input);
	if (!error)
		error = judge(reader);
	return error ? error : hpw_damage_finish(&reader->damage);
}

struct error *hpw_open(const struct input *input, unsigned flags, const struct source_query *query,
	struct model **ret)
{
	_cleanup_(reader_deinit) struct reader reader = {.input = input,
		.flags = flags,
		.query = is_part(query) ? query : NULL,
		.wanted_series = query ? query->series : NULL};
	hpw_footer_init(&reader.footer);
	struct error *error = build_create(&reader.model);
	if (error)
		return error;
	reader.damage.model = reader.model;
	reader.tables.model = reader.model;
	reader.leaks.model = reader.model;
	reader.leaks.clock = &reader.tables.clock;
	error = read_all(&reader);
	if (error)
		return error;
	build_recording(reader.model)->read_way = reader.query && reader.has_parts ? READ_SUMS
						  : reader.replayed                ? READ_REPLAY
										   : READ_FOOTER;
	build_finish(reader.model);
	*ret = steal_ptr(reader.model);
	return NULL;
}
