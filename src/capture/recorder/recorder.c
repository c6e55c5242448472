/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps come from the merge; each goes to the live table, the counters and the encoder. Chunks are
 * written when enough steps have come or some time has passed (FLUSH_MAX_NS), so that a collector
 * that is killed loses at most a second. If steps don't go into chunks, counters are written as
 * often.
 */
#include "capture/recorder/recorder_impl.h"

#include "base/cleanup.h"
#include "base/util.h"
#include "capture/recorder/instructions.h"
#include "format/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Steps that are in no chunk yet are lost if this process is killed: those of at most FLUSH_MAX_NS,
 * plus the pause of the collector (PAUSE_MAX_NS there), about a second together. The first chunks
 * are written sooner, so that a program that is killed early leaves a recording. */
#define FLUSH_FIRST_NS 100000000ull
#define FLUSH_MAX_NS 600000000ull
/* Threads whose names are read each time; the others' when they end, and at the end. */
#define NAMED_AT_ONCE_MOST 64u
/* How well the time of events is known that come now and then. */
#define GAPS_A_SECOND 200u
/* No other request is served while a mark is being set. */
#define MARK_WAIT_NS 20000000ull
/* And for a change of the mode, after which nothing from before it is taken any more. */
#define TAKE_ALL_NS 5000000000ull
/* From this mean distance on, a thread that allocates 3 GB/s fills no more than the smallest ring
 * in 10 ms. */
#define SLOW_SAMPLE_BYTES (64u << 10)
#define STACKS_KNOWN_BYTES (HW_NODES_MAX / 8)

void recorder_keep_error(struct recorder *r, struct error *error)
{
	if (!r->error)
		r->error = error;
	else
		error_destroy(error);
}

static struct error *recorder_open(struct recorder *r, const struct recorder_start *start)
{
	uint32_t features = start->mode.kind == MODE_SAMPLE ? HPW_FEATURE_SAMPLED : 0;
	bool has_older = start->older && older_list_state(start->older) != OLDER_NONE;
	if (has_older || (start->source && start->source->ops->code_count))
		features |= HPW_FEATURE_CODE;
	if (start->mode.mappings == MODE_MAPPINGS_ONLY)
		features |= HPW_FEATURE_NO_HEAP;
	if (start->mode.check == MODE_CHECK_ONLY)
		features |= HPW_FEATURE_NO_HEAP | HPW_FEATURE_ERRORS_ONLY;
	r->features = features;
	struct error *error = writer_open(&r->writer, start->file, start->file_name, features);
	if (error)
		return error;
	/* The others ask for the file's size, or write in its middle, all the time. */
	if (r->mode.kind == MODE_EXACT && !r->mode.ring_bytes && !r->mode.file_bytes)
		r->writer.queue = start->write_queue;
	r->source = start->source;
	if (!r->source)
		error = start->before ? recorder_share_rings(r, start)
				      : recorder_create_rings(r, start);
	if (error)
		return error;
	recorder_open_older(r, start);
	/* Not calloc: that would touch all of it once such a piece was freed before. */
	void *known = mmap(NULL, STACKS_KNOWN_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (known == MAP_FAILED)
		return error_no_memory();
	r->stacks_known = known;
	recorder_steps_init(r);
	const char *why = NULL;
	/* Those of threads that are there already can't be counted. */
	bool counts = r->sums.on && !start->before && !start->attached_ns;
	if (counts)
		r->instructions = instructions_open(r->pid, &why);
	if (!footer_target(&r->payload, start) ||
		(counts && !footer_target_instructions(
				   &r->payload, r->instructions >= 0 ? HPW_COUNTED : why)))
		return error_no_memory();
	buf_bytes(&r->target, r->payload.data, r->payload.len);
	error = writer_chunk(&r->writer, HPW_TARGET, &r->payload, false);
	r->payload.len = 0;
	return error;
}

/* When it was there, at the latest. */
static uint64_t since_1970(const struct recorder_start *start)
{
	struct timespec wall;
	clock_gettime(CLOCK_REALTIME, &wall);
	return (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec -
	       (clock_pair_now().ns - start->began.ns) - start->attached_ns;
}

struct error *recorder_create(const struct recorder_start *start, struct recorder **ret)
{
	struct recorder *r = calloc(1, sizeof(*r));
	if (!r) {
		close(start->file);
		return error_no_memory();
	}
	r->mode = start->mode;
	keep_init(&r->keep, &r->mode);
	checkpoints_init(&r->checkpoints, start->began.ns);
	r->chunk_steps = keep_chunk_steps(&r->keep);
	r->folds = start->mode.kind == MODE_AGGREGATE;
	r->pid = start->pid;
	r->target_pid = start->target_pid;
	r->ppid = start->ppid;
	r->outer_ppid = start->outer_ppid;
	r->forked = start->forked;
	r->goes_on = start->before || start->attached_ns;
	r->tids_differ = start->pid != start->target_pid;
	r->memory = -1;
	r->instructions = -1;
	r->writer.fd = -1;
	r->began = start->began;
	r->there_ns = since_1970(start);
	r->flushed_ns = start->began.ns;
	r->flush_pause_ns = FLUSH_FIRST_NS;
	r->modules_written = r->code_written = 1; /* number 0 is "unknown" */
	r->stacks_end = 1;                        /* node 0 is the root */
	code_names_init(&r->code_names);
	unrecorded_init(&r->unrecorded);
	bad_frees_init(&r->bad_frees, r->mode.free_stacks, r->forked);
	program_errors_init(&r->errors);
	mappings_init(&r->mappings);
	live_table_init(&r->live);
	moving_init(&r->moving);
	own_pools_init(&r->pools);
	lsan_annotations_init(&r->annotations);
	check_starts_init(&r->checks);
	tally_init(&r->tally);
	encoder_init(&r->encoder);
	r->encoder.gaps.least = start->tsc_hz / GAPS_A_SECOND;
	if (start->mode.kind == MODE_EXACT && !start->mode.ring_bytes)
		sums_begin(&r->sums, &r->tally, &r->encoder);
	buf_init(&r->payload);
	buf_init(&r->target);
	struct error *error = recorder_open(r, start);
	if (error) {
		recorder_destroy(r);
		return error;
	}
	*ret = r;
	return NULL;
}

void recorder_destroy(struct recorder *recorder)
{
	if (!recorder)
		return;
	if (recorder->shm) {
		/* A child of the process may hold on to one page: the others are let go. */
		if (!recorder->outlived)
			madvise(recorder->shm, HW_SHM_BYTES, MADV_REMOVE);
		munmap(recorder->shm, HW_SHM_BYTES);
	}
	if (recorder->memory >= 0)
		close(recorder->memory);
	if (recorder->instructions >= 0)
		close(recorder->instructions);
	writer_close(&recorder->writer);
	keep_deinit(&recorder->keep);
	checkpoints_deinit(&recorder->checkpoints);
	merge_deinit(&recorder->merge);
	held_source_destroy(recorder->held);
	ring_source_deinit(&recorder->rings);
	free(recorder->older.code.names);
	live_table_deinit(&recorder->live);
	moving_deinit(&recorder->moving);
	own_pools_deinit(&recorder->pools);
	lsan_annotations_deinit(&recorder->annotations);
	check_starts_deinit(&recorder->checks);
	tally_deinit(&recorder->tally);
	sums_deinit(&recorder->sums);
	encoder_deinit(&recorder->encoder);
	buf_deinit(&recorder->payload);
	buf_deinit(&recorder->target);
	if (recorder->stacks_known)
		munmap(recorder->stacks_known, STACKS_KNOWN_BYTES);
	free(recorder->stacks);
	code_names_deinit(&recorder->code_names);
	unrecorded_deinit(&recorder->unrecorded);
	bad_frees_deinit(&recorder->bad_frees);
	traced_lines_deinit(&recorder->traced_lines);
	program_errors_deinit(&recorder->errors);
	recorder_reset_end(recorder->before);
	samples_deinit(&recorder->samples);
	mappings_deinit(&recorder->mappings);
	resident_deinit(&recorder->resident);
	error_destroy(recorder->error);
	free(recorder);
}

static bool thread_alive(void *context, uint32_t tid)
{
	const struct recorder *r = context;
	return r->tids_differ || !syscall(SYS_tgkill, r->pid, tid, 0) || errno != ESRCH;
}

uint64_t recorder_drain(struct recorder *recorder)
{
	uint64_t held = recorder->held ? recorder->held->moved : 0;
	if (recorder_is_held(recorder))
		return recorder->held->moved - held;
	recorder->merge.look_ahead = recorder->live.blocks >= LIVE_PREFETCH_BLOCKS;
	uint64_t moved = merge_pass(&recorder->merge, false);
	uint64_t idle_since = merge_idle_since(&recorder->merge);
	if (idle_since)
		encoder_idle(&recorder->encoder, idle_since);
	recorder_end_held(recorder);
	if (!recorder->held && event_source_lanes_wanted(recorder->source))
		merge_reclaim(&recorder->merge, thread_alive, recorder);
	return moved;
}

/* Returns whether all before `stamp` was taken, within `most_ns`. */
static bool drain_within(struct recorder *r, uint64_t stamp, uint64_t most_ns,
	const struct recorder_meanwhile *meanwhile)
{
	recorder_take_older(r);
	uint64_t began = recorder_now(r).ns;
	do {
		recorder_drain(r);
		recorder_do_meanwhile(meanwhile);
	} while (r->merge.delivered_until < stamp && recorder_now(r).ns - began < most_ns);
	return r->merge.delivered_until >= stamp;
}

void recorder_drain_until(struct recorder *r, uint64_t stamp)
{
	drain_within(r, stamp, MARK_WAIT_NS, NULL);
}

bool recorder_take_all(struct recorder *r, const struct recorder_meanwhile *meanwhile)
{
	return drain_within(r, recorder_now(r).tsc, TAKE_ALL_NS, meanwhile);
}

uint32_t recorder_any_thread(const struct recorder *r)
{
	uint32_t thread = 0;
	while (thread < r->tally.thread_count && r->tally.threads[thread].ended)
		thread++;
	return thread < r->tally.thread_count ? thread : 0;
}

const char *recorder_mark(struct recorder *recorder, const char *name, uint64_t *ret_ns)
{
	struct recorder *r = recorder;
	struct clock_pair now = recorder_now(recorder);
	recorder_drain_until(r, now.tsc);
	if (r->folds)
		return "its recording has no events, so it can't contain the mark";
	if (!r->tally.thread_count)
		return "it has not allocated anything yet";
	recorder_put_mark(r, recorder_any_thread(r), name, strlen(name),
		r->merge.delivered_until > now.tsc ? r->merge.delivered_until : now.tsc);
	*ret_ns = now.ns - r->began.ns;
	return NULL;
}

void recorder_catch_up(struct recorder *r)
{
	uint64_t heads[EVENT_LANES_MAX];
	recorder_take_older(r);
	merge_read_heads(&r->merge, heads);
	merge_pass_until(&r->merge, heads);
	recorder_flush(r);
}

bool recorder_is_called(const struct recorder *recorder)
{
	return event_source_is_called(recorder->source);
}

bool recorder_is_slow(const struct recorder *recorder)
{
	return recorder->mode.kind == MODE_SAMPLE &&
	       recorder->mode.sample_bytes >= SLOW_SAMPLE_BYTES;
}

bool recorder_has_unwritten(const struct recorder *recorder)
{
	return recorder->encoder.steps;
}

/* Reads how much memory the process has had: after it was killed that is not possible. */
static void look_at_memory(struct recorder *r)
{
	char path[32], text[HW_STATUS_BYTES];
	snprintf(path, sizeof(path), "/proc/%d/status", (int)r->pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
	uint64_t bytes = len > 0 ? hw_status_resident(text, (size_t)len) : 0;
	if (bytes > r->resident_bytes)
		r->resident_bytes = bytes;
}

void recorder_service(struct recorder *recorder)
{
	if (!recorder->held) /* a ring may have what is not in its lane yet */
		merge_reclaim(&recorder->merge, thread_alive, recorder);
	struct clock_pair now = recorder_now(recorder);
	bool due = recorder_needs_checkpoints(recorder) &&
		   checkpoints_due(&recorder->checkpoints, now.ns, recorder->tally.steps);
	if (!due && now.ns - recorder->flushed_ns < recorder->flush_pause_ns)
		return;
	if (recorder_has_unwritten(recorder))
		recorder->flush_pause_ns =
			min(recorder->flush_pause_ns * 2, (uint64_t)FLUSH_MAX_NS);
	for (uint32_t i = 0; i < recorder->tally.thread_count && i < NAMED_AT_ONCE_MOST; i++) {
		if (!recorder->tally.threads[i].ended)
			recorder_read_name(recorder, &recorder->tally.threads[i]);
	}
	look_at_memory(recorder);
	recorder_flush(recorder);
	recorder_write_errors(recorder, false);
	recorder_look_at_mappings(recorder, false);
	recorder_write_mappings(recorder);
	if (due)
		recorder_checkpoint(recorder);
}

/* An unknown block that a forked child frees may be its parent's: there only rows count. */
static uint64_t wrong_frees(const struct recorder *r)
{
	uint64_t rows = r->bad_frees.written + r->bad_frees.rows.len;
	uint64_t counted = r->tally.mismatched + (r->forked ? 0 : r->tally.unknown_frees);
	return max(rows, counted);
}

static void fill_totals(
	const struct recorder *r, const struct footer_summary *s, struct recorder_totals *ret)
{
	struct rusage usage = {.ru_maxrss = 0};
	getrusage(RUSAGE_SELF, &usage);
	const struct tally *t = &r->tally;
	*ret = (struct recorder_totals){.events = s->events - r->older.blocks,
		.lost = footer_lost(s),
		.repairs = t->repairs,
		.allocations = t->calls.allocations - r->older.blocks,
		.allocated_bytes = t->calls.allocated_bytes - r->older.bytes,
		.frees = t->calls.frees,
		.failed = t->heap.failed,
		.live_blocks = t->heap.live_blocks,
		.live_bytes = t->heap.live_bytes,
		.temporary = t->calls.temporary,
		.peak_bytes = t->heap.peak_bytes,
		.duration_ns = s->duration_ns,
		.file_bytes = r->writer.offset,
		.threads = t->threads_seen - (r->older.blocks != 0),
		.older = r->older.why,
		.older_blocks = r->older.blocks,
		.older_bytes = r->older.bytes,
		.has_traced = r->traced_lines.written != 0,
		.wrong_frees = wrong_frees(r),
		.program_errors = r->errors.reports,
		.unguarded = r->mode.check != MODE_CHECK_OFF && !recorder_is_guarded(r),
		.stopped_ns = recorder_stopped_ns(r),
		.mapped_bytes = r->mappings.mapped_bytes,
		.mapped_peak_bytes = r->mappings.peak_bytes,
		.mappings = r->mappings.written + r->mappings.lost,
		.lost_notices = s->unrecorded - r->unrecorded.count,
		.memory_bytes = (uint64_t)usage.ru_maxrss * 1024,
		.connected = 1,
		.is_sampled = r->mode.kind == MODE_SAMPLE,
		.notes = s->notes,
		.write_error = r->error != NULL,
		.found = r->found};
	if (r->mode.traced)
		snprintf(ret->traced, sizeof(ret->traced), "%.*s%s", (int)sizeof(ret->traced) - 4,
			r->mode.traced,
			strlen(r->mode.traced) > sizeof(ret->traced) - 4 ? "…" : "");
	if (s->end_tsc >= t->peak_stamp && t->peak_stamp > r->began.tsc)
		ret->peak_ns =
			(uint64_t)((double)(t->peak_stamp - r->began.tsc) /
				   (double)(s->end_tsc - r->began.tsc) * (double)s->duration_ns);
	if (r->error)
		snprintf(ret->message, sizeof(ret->message), "%s", r->error->message);
}

void recorder_add_chunk(
	struct recorder *recorder, enum hpw_chunk_type type, const void *payload, size_t bytes)
{
	recorder_flush(recorder);
	recorder_write_chunk(recorder, type, buf_bytes(&recorder->payload, payload, bytes), true);
	recorder_settle(recorder);
}

void recorder_write_alone(struct recorder *recorder)
{
	recorder_keep_error(recorder, writer_leave_queue(&recorder->writer));
}

void recorder_finish(
	struct recorder *recorder, const struct recorder_end *end, struct recorder_totals *ret)
{
	struct recorder *r = recorder;
	recorder_take_older(r);
	/* One pass takes all there is. Should another process have the memory and go on writing,
	 * that is no part of this process. */
	if (!r->cut.done) {
		r->in_flight = merge_in_flight(&r->merge);
		merge_pass(&r->merge, true);
	}
	recorder_end_reallocs(r, recorder_now(r).tsc);
	recorder_flush(r);
	recorder_write_unrecorded(r, true);
	recorder_write_bad_frees(r, true);
	recorder_write_traced_lines(r, true);
	recorder_write_errors(r, true);
	recorder_write_mappings(r);
	struct footer_summary s = recorder_write_counters(r, end);
	recorder_write_code_names(r);
	recorder_write_live(r);
	recorder_keep_error(r, writer_finish(&r->writer));
	checkpoints_finish(&r->checkpoints, &r->writer);
	bool gone = writer_is_gone(&r->writer);
	if (gone && !r->error)
		r->error = error_create(ERROR_ENVIRONMENT,
			"%s was removed or replaced during the recording: its contents are lost",
			r->writer.name);
	fill_totals(r, &s, ret);
	ret->file_gone = gone;
	ret->is_changed = end->kind == HPW_EXIT_MODE;
	ret->is_detached = end->kind == HPW_EXIT_DETACHED;
	ret->went_on = end->kind == HPW_EXIT_EXEC || end->kind == HPW_EXIT_MODE;
}
