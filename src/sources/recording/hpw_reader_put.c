/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was read, in the words of the model. */
#include "sources/recording/hpw_reader_impl.h"

#include <inttypes.h>
#include <string.h>

#include "sources/events/hpw_clock.h"
#include "sources/events/hpw_older.h"
#include "sources/recording/hpw_small.h"

static struct error *into_live(
	struct reader *reader, uint16_t type, const struct hpw_payload *payload)
{
	(void)type;
	return hpw_footer_live(reader->model, payload);
}

static bool is_live(uint16_t type)
{
	return type == HPW_LIVE;
}

static struct error *into_unrecorded(
	struct reader *reader, uint16_t type, const struct hpw_payload *payload)
{
	(void)type;
	return hpw_footer_unrecorded(reader->model, &reader->tables.clock, payload);
}

static struct error *into_small(
	struct reader *reader, uint16_t type, const struct hpw_payload *payload)
{
	(void)type;
	return hpw_small_decode(reader->model, payload);
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

/*
 * Figures of sites may end before the sites do, where the last of their chunks is missing: events
 * give all of them. Without events a note says so. A checkpoint is older than the last sites.
 */
struct error *hpw_reader_check_sites(struct reader *reader)
{
	size_t known, there = reader->footer.sites_len;
	model_sites(reader->model, &known);
	if (!reader->footer.has_sites || reader->file.checkpoint || there >= known)
		return NULL;
	reader->footer.has_sites = !hpw_reader_has_all_events(reader);
	return reader->footer.has_sites
		       ? hpw_damage_add(&reader->damage,
				 "figures of %zu of %zu allocation sites are missing",
				 known - there, known)
		       : NULL;
}

/* Whether a part's figures come from the events. */
static bool from_replay(const struct reader *reader, bool in_footer)
{
	return reader->replayed && (!in_footer || (reader->flags & SOURCE_REPLAY));
}

void hpw_reader_set_clock(struct reader *reader)
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
	/* Without a summary the writer was there when it closed the last chunk, at least. */
	clock->tsc_end =
		reader->footer.has_summary ? sum[HPW_SUM_TSC_END] : reader->replay.pair_tsc[1];
}

/* Figures of the summary, in the words of the model. */
static void put_totals_summary(struct reader *reader)
{
	const uint64_t *sum = reader->footer.summary;
	struct totals *totals = build_totals(reader->model);
	*totals = hpw_summary_totals(sum);
	totals->peak_time_ns = hpw_clock_ns(&reader->tables.clock, sum[HPW_SUM_PEAK_TSC]);
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

static void put_python(struct recording *recording, uint64_t notes)
{
	recording->python_minor = (uint32_t)(notes >> HPW_NOTE_PYTHON_SHIFT & 0x7f);
	recording->python_objects = notes & HPW_NOTE_PYTHON;
	recording->python_frames = notes & HPW_NOTE_PYTHON_FRAMES;
	recording->no_python_frames = notes & HPW_NOTE_PYTHON_UNKNOWN   ? NO_PYTHON_FRAMES_UNKNOWN
				      : notes & HPW_NOTE_PYTHON_DIFFERS ? NO_PYTHON_FRAMES_DIFFERS
				      : notes & HPW_NOTE_PYTHON_NO_ROOM ? NO_PYTHON_FRAMES_NO_ROOM
									: NO_PYTHON_FRAMES_NONE;
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
void hpw_reader_put_summary(struct reader *reader)
{
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
	recording->waits = sum[HPW_SUM_WAITS];
	recording->waits_unknown = !reader->footer.has_waits;
	recording->stops = sum[HPW_SUM_STOPS];
	recording->stopped_ns = sum[HPW_SUM_STOPPED_NS];
	recording->stopped_frees = sum[HPW_SUM_STOPPED_FREES];
	recording->change_missed = sum[HPW_SUM_CHANGE_MISSED];
	recording->attached_later = sum[HPW_SUM_ATTACHED_LATER];
	recording->attached_kept = sum[HPW_SUM_ATTACHED_KEPT];
	recording->stopped_at_end = sum[HPW_SUM_STOPPED_AT_END];
	recording->changed_at_end = sum[HPW_SUM_EXIT_KIND] == HPW_EXIT_MODE;
	recording->detached = sum[HPW_SUM_EXIT_KIND] == HPW_EXIT_DETACHED;
	recording->snapshot |= sum[HPW_SUM_EXIT_KIND] == HPW_EXIT_RUNNING ||
			       recording->changed_at_end || recording->detached;
	recording->resident_peak_bytes = sum[HPW_SUM_RESIDENT];
	recording->own_malloc = sum[HPW_SUM_NOTES] & HPW_NOTE_OWN_MALLOC;
	recording->malloc_in_front = sum[HPW_SUM_NOTES] & HPW_NOTE_IN_FRONT;
	recording->sandboxed = sum[HPW_SUM_NOTES] & HPW_NOTE_SANDBOXED;
	recording->loaded_apart = sum[HPW_SUM_NOTES] & HPW_NOTE_APART;
	recording->signal_taken = sum[HPW_SUM_NOTES] & HPW_NOTE_SIGNAL_TAKEN;
	recording->ignores = sum[HPW_SUM_NOTES] & HPW_NOTE_IGNORES;
	recording->not_attached = sum[HPW_SUM_NOTES] & HPW_NOTE_NOT_ATTACHED;
	put_python(recording, sum[HPW_SUM_NOTES]);
	recording->marks = reader->footer.has_summary ? sum[HPW_SUM_MARKS] : reader->replay.marks;
	recording->dropped_steps = sum[HPW_SUM_DROPPED_STEPS];
	recording->kept_steps = sum[HPW_SUM_KEPT_STEPS];
	recording->kept_from_ns = hpw_clock_ns(&reader->tables.clock, sum[HPW_SUM_KEPT_FROM_TSC]);
	recording->kept_until_ns = hpw_clock_ns(&reader->tables.clock, sum[HPW_SUM_KEPT_UNTIL_TSC]);
	hpw_summary_exit(sum, build_target(reader->model));
	if (!reader->footer.has_summary && reader->replayed) {
		recording->lost_events = reader->replay.lost;
		recording->duration_ns = hpw_clock_ns(&reader->tables.clock,
			hpw_clock_end(&reader->tables.clock, reader->replay.stamp));
	}
}

/* Counters of rows that name no known site, all in one. */
static struct error *put_unknown_stack(struct reader *reader)
{
	const struct hpw_site_vec *rows = &reader->footer.sites;
	size_t known;
	model_sites(reader->model, &known);
	if (!rows->len)
		return NULL;
	struct site_id id = {(uint32_t)known};
	struct error *error = build_site(reader->model, id, (struct stack_id){0}, KIND_UNKNOWN);
	if (error)
		return error;
	struct site *all = build_site_at(reader->model, id);
	for (size_t i = 0; i < rows->len; i++) {
		const struct site_counters *row = &rows->data[i];
		site_counters_add(&all->counters, row);
		all->kept_blocks += row->live_blocks;
		all->kept_bytes += row->live_bytes;
	}
	return NULL;
}

static struct error *into_estimates(
	struct reader *reader, uint16_t type, const struct hpw_payload *payload)
{
	(void)type;
	return hpw_estimates_decode(&reader->estimates, payload);
}

/* Whether what a sample stands for can't be found out from its events. */
static bool is_estimated(const struct reader *reader)
{
	return model_recording(reader->model)->sample_bytes && !hpw_reader_has_all_events(reader);
}

/* In place of the footer's figures, which are of the samples. */
static struct error *put_estimates(struct reader *reader)
{
	if (!is_estimated(reader))
		return NULL;
	struct error *error = hpw_reader_decode(reader, hpw_estimates_takes, into_estimates);
	if (error)
		return error;
	if (hpw_estimates_are_whole(&reader->estimates, reader->model)) {
		hpw_estimates_put(&reader->estimates, reader->model);
		return NULL;
	}
	/* They are no estimates then, and the damage says so. */
	build_recording(reader->model)->sample_bytes = 0;
	reader->file.features |= HPW_FEATURE_SAMPLED; /* which a damaged file may lack */
	return NULL;
}

/* Those of the footer are there already. */
static struct error *hpw_reader_put_sites(struct reader *reader)
{
	if (from_replay(reader, reader->footer.has_sites)) {
		hpw_footer_drop_sites(&reader->footer);
		return hpw_replay_put_sites(&reader->replay, reader->model);
	}
	build_recording(reader->model)->unknown |= reader->footer.unknown;
	return put_unknown_stack(reader);
}

static struct error *put_sizes(struct reader *reader)
{
	if (from_replay(reader, reader->footer.has_sizes))
		return hpw_replay_put_sizes(&reader->replay, reader->model);
	struct error *error = NULL;
	const struct hpw_estimate of = {
		.mean_bytes = (double)model_recording(reader->model)->sample_bytes};
	double so_far = 0;
	for (size_t i = 0; !error && i < reader->footer.sizes.len; i++) {
		struct size_count row = reader->footer.sizes.data[i];
		if (is_estimated(reader))
			row.allocations = hpw_estimate_next(&so_far,
				(double)row.allocations * hpw_estimate_weight(&of, row.size));
		error = build_size(reader->model, row.size, row.allocations);
	}
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
	row.stack_bytes = i < reader->stacks_len ? reader->stacks[i] : 0;
	if (reader->estimates.threads.len)
		hpw_estimates_put_thread(&reader->estimates, i, &row.calls);
	if (reader->query)
		row.calls = (struct call_counters){0};
	if (replayed && i < reader->replay.threads.len) {
		const struct hpw_tally_thread *tally = &reader->replay.threads.data[i];
		row.calls = tally->calls;
		if (reader->query && reader->footer.has_threads)
			return build_thread(reader->model, &row, name, name_len);
		row.first_ns = hpw_clock_ns(clock, tally->first_stamp);
		row.last_ns = hpw_clock_ns(clock, tally->last_stamp);
		row.ended = row.ended || tally->ended;
		row.others = tally->others;
	}
	return build_thread(reader->model, &row, name, name_len);
}

static struct error *hpw_reader_put_threads(struct reader *reader)
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
	return error ? error : hpw_reader_decode(reader, is_live, into_live);
}

static struct error *put_leaks(struct reader *reader)
{
	struct error *error = hpw_reader_decode_from(
		reader, hpw_leaks_first(&reader->file), hpw_leaks_takes, into_leaks);
	if (!error)
		error = hpw_leaks_check(&reader->leaks, &reader->damage);
	if (!error && (reader->flags & SOURCE_WITH_LEAK_TIMES))
		error = hpw_leaks_date(&reader->leaks, &reader->file);
	return error;
}

static struct error *into_bad_frees(
	struct reader *reader, uint16_t type, const struct hpw_payload *payload)
{
	(void)type;
	return hpw_bad_frees_decode(&reader->bad_frees, payload);
}

/* Those that have become errors are reported there, with their sites. */
static struct error *put_bad_frees(struct reader *reader)
{
	struct hpw_bad_frees *frees = &reader->bad_frees;
	frees->model = reader->model;
	struct error *error = hpw_reader_decode(reader, hpw_bad_frees_takes, into_bad_frees);
	struct recording *recording = build_recording(reader->model);
	uint64_t *others = recording->inherited_frees ? &recording->inherited_frees
						      : &recording->unknown_frees;
	/* Nothing was wrong, and nothing is missing of which it could have been. */
	bool is_sample = reader->file.features & HPW_FEATURE_SAMPLED;
	if (!error && recording->complete && !is_sample && !recording->lost_events &&
		!recording->unknown_frees && !recording->mismatched_frees)
		build_errors(reader->model);
	*others -= frees->unknown < *others ? frees->unknown : *others;
	hpw_bad_frees_deinit(frees);
	return error;
}

static struct error *into_errors(
	struct reader *reader, uint16_t type, const struct hpw_payload *payload)
{
	return hpw_errors_decode(&reader->errors, type, payload);
}

/* Where each invalid free is an error, counters of them are no figures of their own. */
static struct error *put_errors(struct reader *reader)
{
	struct recording *recording = build_recording(reader->model);
	struct hpw_errors *errors = &reader->errors;
	errors->model = reader->model;
	struct error *error = hpw_reader_decode(reader, hpw_errors_takes, into_errors);
	if (errors->guarded) {
		recording->unknown_frees = recording->mismatched_frees = 0;
		build_errors(reader->model);
	}
	hpw_errors_deinit(errors);
	return error;
}

static struct error *put_range(struct reader *reader)
{
	const struct range *range = &build_recording(reader->model)->range;
	struct error *error =
		hpw_span_put(&reader->span, reader->query, &reader->tables.clock, reader->model);
	if (range->from_step && reader->replay.peak_step == range->from_step)
		build_totals(reader->model)->peak_time_ns = range->from_ns;
	return error;
}

struct error *hpw_reader_put(struct reader *reader)
{
	hpw_reader_set_clock(reader);
	if (from_replay(reader, reader->footer.has_summary))
		put_totals_replay(reader);
	else
		put_totals_summary(reader);
	hpw_reader_put_summary(reader);
	put_inherited(reader);
	struct error *error = hpw_reader_decode(reader, is_unrecorded, into_unrecorded);
	if (!error)
		error = hpw_reader_decode(reader, hpw_small_takes, into_small);
	if (!error)
		error = hpw_reader_put_sites(reader);
	if (!error)
		error = put_estimates(reader);
	if (!error)
		error = hpw_reader_put_threads(reader);
	if (!error)
		hpw_older_put(reader->model, &reader->footer, reader->query != NULL);
	if (!error)
		error = put_sizes(reader);
	if (!error && (reader->flags & SOURCE_WITH_LIVE) && reader->footer.has_summary &&
		!reader->query && !reader->choice.wanted)
		error = put_live(reader);
	if (!error && reader->span.to_step == UINT64_MAX && !reader->choice.wanted)
		error = put_leaks(reader);
	if (!error && !reader->query)
		error = put_errors(reader);
	if (!error && !reader->query && !build_recording(reader->model)->only_errors)
		error = put_bad_frees(reader);
	if (!error && reader->query)
		error = put_range(reader);
	return error;
}
