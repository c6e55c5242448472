/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A dump: what the recorder knows at a moment, as a recording of its own. It is written by a copy
 * of the collector, so that the process that is recorded, and its rings, wait for nothing.
 */
#include "capture/recorder/recorder_impl.h"

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/util.h"
#include "capture/recorder/site_stats.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BYTE_BITS 8

uint64_t recorder_prepare_dump(struct recorder *recorder)
{
	struct clock_pair now = recorder_now(recorder);
	recorder_drain_until(recorder, now.tsc);
	return now.ns - recorder->began.ns;
}

/* The description of the process, with the mode of a recording without events. */
static bool put_target(const struct recorder *r, const char *why, struct buf *ret)
{
	static const char mode[] = "aggregate";
	struct cursor cursor;
	uint64_t key, bytes;
	const uint8_t *value;
	cursor_init(&cursor, "a description", r->target.data, r->target.len, 0);
	while (cursor_left(&cursor)) {
		if (!cursor_try_varint(&cursor, &key) || !cursor_try_varint(&cursor, &bytes) ||
			bytes > cursor_left(&cursor))
			return false;
		value = cursor.pos;
		cursor.pos += bytes;
		if (key == HPW_TARGET_MAPPINGS && r->mappings.kept.failed)
			continue;
		bool is_mode = key == HPW_TARGET_MODE && r->mode.kind == MODE_EXACT;
		buf_varint(ret, key);
		buf_varint(ret, is_mode ? sizeof(mode) - 1 : bytes);
		buf_bytes(ret, is_mode ? (const void *)mode : value,
			is_mode ? sizeof(mode) - 1 : bytes);
	}
	uint64_t reset = htole64(recorder_reset_ns(r));
	if (reset) {
		buf_varint(ret, HPW_TARGET_RESET_NS);
		buf_varint(ret, sizeof(reset));
		buf_bytes(ret, &reset, sizeof(reset));
	}
	buf_varint(ret, HPW_TARGET_DUMP);
	buf_varint(ret, strlen(why));
	buf_bytes(ret, why, strlen(why));
	return !ret->failed;
}

/* All stacks that sites and wrong frees refer to, which are those that are known. */
static bool list_stacks(struct recorder *r)
{
	uint32_t end = max(r->stacks_end, 1u);
	for (size_t i = 0; i < r->stacks_count; i++)
		end = max(end, r->stacks[i] + 1);
	uint32_t *all = malloc(sizeof(*all) * end);
	if (!all)
		return false;
	r->stacks_count = 0;
	for (uint32_t id = 1; id < end; id++) {
		if (r->stacks_known[id / BYTE_BITS] >> (id % BYTE_BITS) & 1)
			all[r->stacks_count++] = id;
	}
	free(r->stacks);
	r->stacks = all;
	r->stacks_capacity = end;
	return true;
}

/* As if nothing had been written yet, and nothing but sums were wanted. */
static void begin_anew(struct recorder *r)
{
	static const struct mode sums_only = {.kind = MODE_AGGREGATE};
	r->error = NULL;
	r->aside = NULL;
	r->folds = true;
	buf_init(&r->payload);
	keep_init(&r->keep, &sums_only);
	r->modules_written = r->code_written = 1;
	r->stacks_end = 1;
	r->sites_written = 0;
	r->unrecorded.written = 0;
}

/* After the figures of sites, that is of the samples alone. */
static void write_estimates(struct recorder *r)
{
	struct samples_rows rows = {.rows = SITE_STATS_ROWS,
		.sites = r->tally.site_count,
		.threads = r->tally.thread_count};
	if (r->mode.kind != MODE_SAMPLE || r->samples.failed)
		return;
	do {
		bool ok = samples_put(&r->samples, &rows, &r->payload);
		recorder_write_chunk(r, HPW_ESTIMATES, ok, true);
		rows.first += rows.rows;
	} while (rows.first < rows.sites);
}

/* All that was ever mapped and unmapped, and what is resident now. */
static void write_all_mappings(struct recorder *r)
{
	const uint8_t *chunk;
	size_t bytes, at = 0;
	if (r->mode.mappings == MODE_MAPPINGS_OFF || r->mappings.kept.failed)
		return;
	while ((chunk = mappings_kept(&r->mappings, &at, &bytes))) {
		bool ok = buf_bytes(&r->payload, chunk, bytes);
		recorder_write_chunk(r, HPW_MAPPINGS, ok, true);
	}
	recorder_look_for_dump(r);
	recorder_write_mappings(r);
}

struct error *recorder_dump(struct recorder *recorder, const struct recorder_dump *dump)
{
	struct recorder *r = recorder;
	struct error *error = writer_open(&r->writer, dump->fd, dump->name, r->features);
	if (error)
		return error;
	r->writer.all_or_nothing = true;
	recorder_want_mapping_stacks(r);
	bool listed = list_stacks(r);
	begin_anew(r);
	if (!listed || !put_target(r, dump->why, &r->payload))
		return error_no_memory();
	recorder_write_chunk(r, HPW_TARGET, true, false);
	recorder_take_off_sums(r);
	recorder_write_stacks(r);
	recorder_write_unrecorded(r, true);
	write_all_mappings(r);
	recorder_write_counters(r, &dump->end);
	write_estimates(r);
	recorder_write_code_names(r);
	recorder_write_live(r);
	recorder_keep_error(r, writer_finish(&r->writer));
	return r->error;
}

void recorder_keep_shared(struct recorder *recorder)
{
	recorder->outlived = true;
}

static struct dump_figures estimated_figures(const struct recorder *r)
{
	uint64_t allocated = (uint64_t)r->estimate.allocated, live = (uint64_t)r->estimate.live;
	return (struct dump_figures){.allocated_bytes = allocated - r->older.bytes,
		.freed_bytes = allocated - min(allocated, live),
		.live_bytes = live,
		.peak_bytes = (uint64_t)r->estimate.peak,
		.peak_pages = r->heap_pages.peak};
}

struct dump_figures recorder_figures(const struct recorder *recorder)
{
	const struct recorder *r = recorder;
	if (r->mode.kind == MODE_SAMPLE)
		return estimated_figures(r);
	const struct heap_counters *heap = &r->tally.heap;
	uint64_t allocated = 0;
	for (uint32_t i = 0; i < r->tally.thread_count; i++)
		allocated += r->tally.threads[i].calls.allocated_bytes;
	return (struct dump_figures){.allocated_bytes = allocated,
		.freed_bytes = allocated - min(allocated, heap->live_bytes),
		.live_bytes = heap->live_bytes,
		.peak_bytes = heap->peak_bytes,
		.peak_pages = r->heap_pages.peak};
}

double recorder_weighted_bytes(const struct recorder *r, uint64_t size)
{
	return (double)size / -expm1(-((double)size + 1) / (double)r->mode.sample_bytes);
}

double recorder_weight(const struct recorder *r, uint64_t size)
{
	if (r->mode.kind != MODE_SAMPLE)
		return 1;
	return 1 / -expm1(-((double)size + 1) / (double)r->mode.sample_bytes);
}

bool recorder_count_pages(struct recorder *recorder)
{
	struct recorder *r = recorder;
	struct live_walk walk;
	recorder_drain(r);
	_cleanup_free_ struct live_entry *blocks = calloc(LIVE_WALK_ROOM, sizeof(*blocks));
	if (!blocks || !live_table_walk_begin(&r->live, &walk))
		return false;
	heap_pages_begin(&r->heap_pages);
	for (size_t n; (n = live_table_walk_next(&walk, blocks, LIVE_WALK_ROOM));) {
		for (size_t i = 0; i < n; i++)
			heap_pages_add(
				&r->heap_pages, blocks[i].size, recorder_weight(r, blocks[i].size));
	}
	live_table_walk_end(&walk);
	return true;
}

void recorder_end_pages(struct recorder *recorder)
{
	recorder->heap_pages = (struct heap_pages){.is_on = false};
}
