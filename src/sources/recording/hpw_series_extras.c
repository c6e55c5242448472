/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/recording/hpw_series_extras.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "sources/events/hpw_blocks.h"

/* Larger than any that was measured. */
#define STACK_MAX (1ull << 30)

struct filling {
	struct hpw_series *series;
	const struct hpw_clock *clock;
	const struct hpw_footer *footer;
	uint64_t *bytes; /* by thread, as of the current chunk */
	size_t threads;  /* this many may have any */
	size_t row;      /* the next one to be filled */
};

static bool has_ended(const struct filling *filling, size_t thread, uint64_t time_ns)
{
	const struct hpw_footer *footer = filling->footer;
	if (!footer->has_threads || thread >= footer->threads.len)
		return false;
	const struct hpw_thread_row *row = &footer->threads.data[thread];
	return row->row.ended && hpw_clock_ns(filling->clock, row->last_tsc) < time_ns;
}

static uint64_t hpw_series_extras_sum(const struct filling *filling, uint64_t time_ns)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < filling->threads; i++)
		if (filling->bytes[i] && !has_ended(filling, i, time_ns))
			sum += filling->bytes[i];
	return sum;
}

/* What the process had executed before the chunk; of the one after the last: in all. */
static uint64_t hpw_series_extras_executed(
	const struct filling *filling, const struct hpw_ranges *parts, size_t chunk)
{
	if (chunk < parts->chunks.len)
		return parts->chunks.data[chunk].head[HPW_SUMS_INSTRUCTIONS];
	return filling->footer->summary[HPW_SUM_INSTRUCTIONS];
}

/* In between, as if each step took as many. */
static uint64_t executed_at(
	const struct filling *filling, const struct hpw_ranges *parts, size_t chunk, uint64_t step)
{
	const uint64_t *head = parts->chunks.data[chunk].head;
	uint64_t before = hpw_series_extras_executed(filling, parts, chunk);
	uint64_t after = hpw_series_extras_executed(filling, parts, chunk + 1);
	uint64_t done = step - head[HPW_SUMS_FIRST_STEP], steps = head[HPW_SUMS_STEPS];
	if (after <= before || !steps)
		return before;
	double part = done < steps ? (double)done / (double)steps : 1;
	return before + (uint64_t)((double)(after - before) * part);
}

static struct error *enter_chunk(
	struct filling *filling, const struct hpw_ranges *parts, size_t chunk)
{
	_cleanup_(hpw_payload_deinit) struct hpw_payload payload = {0};
	struct hpw_sums sums;
	struct error *error = hpw_ranges_sums(parts, chunk, &payload, &sums);
	if (error)
		return error;
	for (size_t i = 0; i < sums.threads.len; i++) {
		const struct hpw_sums_thread *row = &sums.threads.data[i];
		if (row->thread >= HPW_BLOCK_THREADS)
			continue;
		filling->bytes[row->thread] = row->stack_bytes <= STACK_MAX ? row->stack_bytes : 0;
		if (row->thread >= filling->threads)
			filling->threads = row->thread + 1u;
	}
	hpw_sums_deinit(&sums);
	return NULL;
}

struct error *hpw_series_extras_fill(
	struct hpw_series *series, const struct hpw_ranges *parts, const struct hpw_footer *footer)
{
	_cleanup_free_ uint64_t *bytes = calloc(HPW_BLOCK_THREADS, sizeof(*bytes));
	struct filling filling = {
		.series = series, .clock = series->clock, .footer = footer, .bytes = bytes};
	struct error *error = bytes ? NULL : error_no_memory();
	for (size_t i = 0; !error && i < parts->chunks.len; i++) {
		error = enter_chunk(&filling, parts, i);
		bool last = i + 1 == parts->chunks.len;
		uint64_t end =
			last ? UINT64_MAX : parts->chunks.data[i + 1].head[HPW_SUMS_FIRST_STEP];
		for (; !error && filling.row < series->rows.len; filling.row++) {
			struct series_row *row = &series->rows.data[filling.row].row;
			if (row->step >= end)
				break;
			row->stack_bytes = hpw_series_extras_sum(&filling, row->time_ns);
			row->instructions = executed_at(&filling, parts, i, row->step);
		}
	}
	return error;
}

struct error *hpw_series_extras_stacks(const struct hpw_ranges *parts,
	const struct hpw_clock *clock, const struct hpw_footer *footer,
	const struct hpw_series_extras_moment *moment, uint64_t *ret_bytes, size_t count,
	uint64_t *ret_sum)
{
	_cleanup_free_ uint64_t *bytes = calloc(HPW_BLOCK_THREADS, sizeof(*bytes));
	struct filling filling = {.clock = clock, .footer = footer, .bytes = bytes};
	uint64_t time_ns = moment->step == UINT64_MAX ? UINT64_MAX : moment->time_ns;
	struct error *error = bytes ? NULL : error_no_memory();
	for (size_t i = 0; !error && i < parts->chunks.len &&
			   parts->chunks.data[i].head[HPW_SUMS_FIRST_STEP] < moment->step;
		i++)
		error = enter_chunk(&filling, parts, i);
	if (error)
		return error;
	for (size_t i = 0; i < count; i++)
		ret_bytes[i] =
			i < filling.threads && !has_ended(&filling, i, time_ns) ? bytes[i] : 0;
	*ret_sum = hpw_series_extras_sum(&filling, time_ns);
	return NULL;
}
