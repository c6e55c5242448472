/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What goes into the file, and when: events with what they refer to and come to, the books. */
#include "capture/recorder/recorder_impl.h"

#include "base/cleanup.h"
#include "base/util.h"
#include "capture/recorder/instructions.h"
#include "capture/recorder/site_stats.h"
#include "capture/writer/code_rows.h"

#include <stdlib.h>

void recorder_write_chunk(struct recorder *r, enum hpw_chunk_type type, bool ok, bool compress)
{
	struct error *error = NULL;
	if (!ok)
		error = error_no_memory();
	else if (r->payload.len <= HPW_CHUNK_RAW_MAX && r->aside)
		error = writer_seal(&r->writer, type, &r->payload, r->aside);
	else if (r->payload.len <= HPW_CHUNK_RAW_MAX)
		error = writer_hand_over(&r->writer, type, &r->payload, compress);
	else if (type == HPW_STACKS || type == HPW_SITES || recorder_needs_checkpoints(r))
		error = error_create(ERROR_INTERNAL,
			"a chunk of %zu bytes is too large to be written", r->payload.len);
	/* Else it is a sum of the events, which a reader makes itself. */
	recorder_keep_error(r, error);
	buf_clear(&r->payload);
}

void recorder_settle(struct recorder *r)
{
	recorder_keep_error(r, writer_settle(&r->writer));
}

static void note_stack(void *context, uint32_t thread, uint64_t bytes)
{
	struct recorder *r = context;
	r->tally.threads[thread].stack_bytes = bytes;
}

/* What goes with the events, before them: sums without their events are passed over, events
 * without their sums would be in the way. */
static void write_moment(struct recorder *r)
{
	if (r->sums.on)
		merge_each_stack(&r->merge, note_stack, r);
	if (sums_put_deaths(&r->sums, &r->encoder, &r->payload)) {
		if (r->payload.len)
			recorder_write_chunk(r, HPW_DEATHS, true, true);
		if (sums_put(&r->sums, &r->tally, &r->encoder, &r->payload))
			recorder_write_chunk(r, HPW_SUMS, true, true);
	}
	buf_clear(&r->payload);
	sums_next(&r->sums, &r->tally, &r->encoder);
	r->sums.instructions = instructions_read(r->instructions);
}

static void flush_events(struct recorder *r, struct clock_pair now)
{
	write_moment(r);
	const struct keep_span span = {r->encoder.first_step, r->encoder.steps,
		r->encoder.first_stamp, r->encoder.last_stamp};
	bool ok = encoder_finish(&r->encoder, now.tsc, now.ns, &r->payload);
	struct error *error = NULL;
	if (!ok)
		error = error_no_memory();
	else if (r->payload.len > HPW_CHUNK_RAW_MAX)
		error = error_create(ERROR_INTERNAL,
			"a chunk of %zu bytes is too large to be written", r->payload.len);
	else
		error = keep_events(&r->keep, &r->writer, &r->payload, &span);
	recorder_keep_error(r, error);
	buf_clear(&r->payload);
}

void recorder_write_unrecorded(struct recorder *r, bool end)
{
	size_t rows = end ? r->unrecorded.rows.len
			  : unrecorded_settled(&r->unrecorded, clock_pair_now().ns);
	if (r->unrecorded.written >= rows)
		return;
	bool ok = footer_unrecorded(&r->payload, &r->unrecorded, rows);
	recorder_write_chunk(r, HPW_UNRECORDED, ok, true);
}

bool recorder_add_plain(struct recorder *r, enum hpw_chunk_type type, struct buf *payload)
{
	bool ok = !r->error && !payload->failed && !r->aside &&
		  buf_bytes(&r->payload, payload->data, payload->len);
	if (ok)
		recorder_write_chunk(r, type, true, true);
	buf_clear(payload);
	recorder_settle(r); /* the caller gives up what it has */
	return ok && !r->error;
}

_Static_assert((unsigned)HW_NOTE_PYTHON == HPW_NOTE_PYTHON &&
		       (unsigned)HW_NOTE_PYTHON_NO_ROOM == HPW_NOTE_PYTHON_NO_ROOM &&
		       HW_NOTE_PYTHON_SHIFT == HPW_NOTE_PYTHON_SHIFT,
	"the same bits");

static uint32_t recorder_notes(const struct recorder *r)
{
	uint32_t notes = event_source_notes(r->source);
	return (notes & HW_NOTE_OWN_MALLOC || r->own_malloc ? HPW_NOTE_OWN_MALLOC : 0u) |
	       (notes & HW_NOTE_IN_FRONT ? HPW_NOTE_IN_FRONT : 0u) |
	       (notes & HW_NOTE_SANDBOXED ? HPW_NOTE_SANDBOXED : 0u) |
	       (notes & HW_NOTE_SIGNAL_TAKEN ? HPW_NOTE_SIGNAL_TAKEN : 0u) |
	       (notes & HW_NOTE_IGNORES ? HPW_NOTE_IGNORES : 0u) |
	       (notes & HW_NOTE_APART ? HPW_NOTE_APART : 0u) | (notes & HPW_NOTES_PYTHON) |
	       (notes & HW_NOTE_ATTACHED ? 0u : HPW_NOTE_NOT_ATTACHED);
}

/* What is live, in chunks. */
void recorder_write_live(struct recorder *r)
{
	if (!r->live.blocks)
		return;
	size_t room = r->live.blocks < FOOTER_LIVE_ROWS ? r->live.blocks : FOOTER_LIVE_ROWS;
	room += LIVE_WALK_ROOM;
	struct live_walk walk;
	_cleanup_free_ struct live_entry *blocks = malloc(room * sizeof(*blocks));
	if (!blocks || !live_table_walk_begin(&r->live, &walk)) {
		recorder_keep_error(r, error_no_memory());
		return;
	}
	for (size_t n; (n = live_table_walk_next(&walk, blocks, room));) {
		bool ok = footer_live(&r->payload, blocks, n);
		recorder_write_chunk(r, HPW_LIVE, ok, true);
	}
	live_table_walk_end(&walk);
}

/* At its end the process says it itself; one that was killed was looked at before. */
static uint64_t resident_of(const struct recorder *r, uint64_t reported)
{
	return reported > r->resident_bytes ? reported : r->resident_bytes;
}

struct event_report recorder_report(const struct recorder *r)
{
	uint64_t duration_ns = recorder_now(r).ns - r->began.ns;
	struct event_report report = {.damaged = 0};
	if (r->cut.done)
		return r->cut.report;
	if (r->source->ops->report)
		r->source->ops->report(r->source, duration_ns, &report);
	else
		report.lost[HW_LOST_STALLED] = r->tally.lost;
	for (unsigned why = 0; why < HW_LOST_REASONS; why++)
		report.lost[why] -= min(report.lost[why], r->earlier.lost[why]);
	report.change_missed -= min(report.change_missed, r->earlier.change_missed);
	report.stacks_full -= min(report.stacks_full, r->earlier.stacks_full);
	report.lost_notices -= min(report.lost_notices, r->earlier.lost_notices);
	return report;
}

bool recorder_has_lost(const struct recorder *r)
{
	if (r->tally.lost)
		return true;
	const struct event_report report = recorder_report(r);
	uint64_t lost = 0;
	for (unsigned why = 0; why < HW_LOST_REASONS; why++)
		lost |= report.lost[why];
	return lost;
}

static void write_table(
	struct recorder *r, enum hpw_chunk_type type, const struct footer_summary *summary)
{
	bool ok = footer_table(&r->payload, type, &r->tally, summary);
	recorder_write_chunk(r, type, ok, true);
}

/* The counters as they are, without the list of what is live. */
struct footer_summary recorder_write_counters(struct recorder *r, const struct recorder_end *end)
{
	tally_settle(&r->tally);
	r->threads_written = r->tally.threads_seen;
	struct clock_pair now = recorder_now(r);
	const struct event_report report = recorder_report(r);
	struct footer_summary s = {.end = *end,
		.events = recorder_has_unseen(r)
				  ? r->sums.calls
				  : r->merge.events - r->merge.dropped + r->frees_added,
		.stops = r->stop_count,
		.stopped_ns = recorder_stopped_ns(r),
		.stopped_frees = r->stopped_frees,
		.change_missed = r->merge.missed + report.change_missed,
		.attached_later = report.attached_later,
		.attached_kept = report.attached_kept,
		.stopped = r->stopped,
		.lost = {[HPW_LOST_OWNERLESS] = r->merge.dropped,
			[HPW_LOST_DAMAGED] = r->merge.damaged + report.damaged,
			[HPW_LOST_NO_MEMORY] = r->blocks_dropped,
			[HPW_LOST_RING] = report.ring_full,
			[HPW_LOST_TABLE] = report.tables_full,
			[HPW_LOST_UNPROBED] = report.unprobed},
		.stacks_full = r->stacks_bad,
		.notes = recorder_notes(r),
		.unrecorded = r->unrecorded.count,
		.kept = keep_all(&r->keep),
		.marks = r->marks,
		.mappings_lost = r->mappings.lost,
		.older = {r->older.why, r->older.blocks, r->older.bytes, r->older.threads,
			r->older.damaged},
		.instructions =
			r->cut.done ? r->cut.instructions : instructions_read(r->instructions),
		.resident_bytes = resident_of(r, report.resident_bytes),
		.end_tsc = now.tsc,
		.duration_ns = now.ns - r->began.ns};
	footer_report(&report, &s);
	write_table(r, HPW_THREADS, NULL);
	uint32_t first = 0;
	do {
		bool ok = site_stats_put(&r->payload, &r->tally, first, SITE_STATS_ROWS);
		recorder_write_chunk(r, HPW_SITE_STATS, ok, true);
		first += SITE_STATS_ROWS;
	} while (first < r->tally.site_count);
	write_table(r, HPW_SIZES, NULL);
	write_table(r, HPW_SUMMARY, &s);
	return s;
}

/* Whether the sums can't be had from the events in the file. */
bool recorder_needs_checkpoints(const struct recorder *r)
{
	return r->folds || keep_drops(&r->keep);
}

/* All that happened is in the file or in the sums. */
void recorder_checkpoint(struct recorder *r)
{
	struct checkpoints *c = &r->checkpoints;
	r->aside = checkpoints_begin(c, recorder_now(r).ns);
	recorder_write_counters(r, &(struct recorder_end){.kind = HPW_EXIT_UNKNOWN});
	if (r->live.blocks <= CHECKPOINT_LIVE_ROWS)
		recorder_write_live(r);
	r->aside = NULL;
	recorder_keep_error(r, checkpoints_end(c, &r->writer, r->tally.steps, recorder_now(r).ns));
}

static void write_threads(struct recorder *r)
{
	r->threads_written = r->tally.threads_seen;
	write_table(r, HPW_THREADS, NULL);
}

void recorder_write_new_threads(struct recorder *r)
{
	if (r->tally.threads_seen == r->threads_written)
		return;
	if (!recorder_needs_checkpoints(r))
		write_threads(r);
	else if (!r->checkpoints.given_up)
		recorder_checkpoint(r);
}

/* A program that begins as any other may have an interpreter later. */
static void require_code(struct recorder *r)
{
	r->features |= HPW_FEATURE_CODE;
	int failed = writer_require(&r->writer, r->features);
	if (failed)
		recorder_keep_error(r, writer_stop(&r->writer, failed));
}

void recorder_write_stacks(struct recorder *r)
{
	while (footer_modules(&r->payload, r->source, &r->modules_written))
		recorder_write_chunk(r, HPW_MODULES, true, true);
	bool made;
	if (code_rows_count(r->source) > 1 && !(r->features & HPW_FEATURE_CODE))
		require_code(r);
	while (code_rows_put(&r->payload, r->source, &r->code_written, &made))
		recorder_write_chunk(r, HPW_CODE, made, true);
	footer_stacks_sort(r->stacks, r->stacks_count);
	for (size_t done = 0, taken; done < r->stacks_count; done += taken) {
		bool ok = footer_stacks(&r->payload, r->source, r->stacks + done,
			r->stacks_count - done, &r->stacks_end, &taken);
		recorder_write_chunk(r, HPW_STACKS, ok, true);
	}
	r->stacks_count = 0;
	if (r->sites_written < r->tally.site_count) {
		bool ok = footer_sites(&r->payload, &r->tally, r->sites_written);
		r->sites_written = r->tally.site_count;
		recorder_write_chunk(r, HPW_SITES, ok, true);
	}
}

void recorder_write_bad_frees(struct recorder *r, bool end)
{
	bad_frees_settle(&r->bad_frees, end);
	struct bad_free_vec *rows = &r->bad_frees.rows;
	if (!rows->len)
		return;
	for (size_t i = 0; i < rows->len; i++) {
		rows->data[i].stack = recorder_want_stack(r, rows->data[i].stack);
		rows->data[i].first_stack = recorder_want_stack(r, rows->data[i].first_stack);
	}
	recorder_write_stacks(r);
	bool ok = footer_bad_frees(&r->payload, rows);
	recorder_write_chunk(r, HPW_BAD_FREES, ok, true);
	bad_frees_clear(&r->bad_frees);
}

void recorder_write_traced_lines(struct recorder *r, bool end)
{
	if (!traced_lines_due(&r->traced_lines, end))
		return;
	recorder_write_stacks(r); /* and code, which rows refer to */
	bool made = traced_lines_put(&r->traced_lines, &r->payload);
	recorder_write_chunk(r, HPW_TRACED_LINES, made, true);
}

static void write_resident(struct recorder *r)
{
	if (!r->resident.lines.len)
		return;
	for (size_t i = 0; i < r->resident.lines.len; i++)
		if (r->resident.lines.data[i].what == HPW_RESIDENT_MAPPING)
			recorder_want_stack(r, (uint32_t)r->resident.lines.data[i].detail);
	recorder_write_stacks(r);
	bool made = resident_put(&r->resident, &r->payload);
	recorder_write_chunk(r, HPW_RESIDENT, made, true);
}

void recorder_want_mapping_stacks(struct recorder *r)
{
	struct mapping_row_vec *rows = &r->mappings.rows;
	for (size_t i = 0; i < rows->len; i++)
		rows->data[i].stack = recorder_want_stack(r, rows->data[i].stack);
}

void recorder_write_mappings(struct recorder *r)
{
	struct mappings *m = &r->mappings;
	write_resident(r);
	if (!m->rows.len)
		return;
	recorder_want_mapping_stacks(r);
	recorder_write_stacks(r);
	bool ok = footer_mappings(&r->payload, &m->rows);
	if (ok)
		mappings_keep(m, &r->payload);
	recorder_write_chunk(r, HPW_MAPPINGS, ok, true);
	m->written += m->rows.len;
	mapping_row_vec_clear(&m->rows);
}

/* Everything that happened since the last flush, with what it refers to first. Never inlined:
 * on_alloc() and on_free() are flat, and each would contain the whole writer. */
__attribute__((noinline)) void recorder_flush(struct recorder *r)
{
	struct clock_pair now = recorder_now(r);
	r->flushed_ns = now.ns;
	recorder_write_unrecorded(r, false);
	if (!r->encoder.steps)
		return;
	recorder_write_stacks(r);
	recorder_write_bad_frees(r, false);
	recorder_write_traced_lines(r, false);
	if (r->folds) {
		encoder_drop(&r->encoder);
	} else {
		flush_events(r, now);
	}
	/* Events know threads by number only; a recording that is cut off here has their names all
	 * the same, or most of them: the table is written whole each time. */
	uint64_t seen = r->tally.threads_seen;
	if (!recorder_needs_checkpoints(r) && seen != r->threads_written &&
		seen >= r->threads_written + r->threads_written / 8)
		write_threads(r);
	if (keep_is_full(&r->keep, &r->writer)) {
		r->folds = true;
		sums_end(&r->sums, &r->tally, &r->encoder);
	}
	/* Before anything is left out. */
	if (r->mode.kind == MODE_EXACT && recorder_needs_checkpoints(r) && !r->checkpoints.number &&
		!r->checkpoints.given_up)
		recorder_checkpoint(r);
}

void recorder_write_code_names(struct recorder *r)
{
	code_names_read(&r->code_names, r->pid, r->target_pid, r->there_ns);
	if (!r->code_names.rows.len && r->code_names.state == PERF_MAP_UNSOUGHT)
		return;
	bool ok = footer_code_names(&r->payload, &r->code_names);
	recorder_write_chunk(r, HPW_CODE_NAMES, ok, true);
}
