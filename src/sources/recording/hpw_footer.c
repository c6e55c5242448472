/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/recording/hpw_footer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "accounts/site_columns.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "format/kinds.h"
#include "sources/events/hpw_columns.h"
#include "sources/events/hpw_estimate.h"
#include "sources/hpw_unrecorded.h"

#define LIVE_BATCH 1024u
#define COLUMNS_OF(first, count) (((1u << (count)) - 1) << (first))

void hpw_footer_init(struct hpw_footer *footer)
{
	*footer = (struct hpw_footer){.has_summary = false};
	hpw_site_vec_init(&footer->sites);
	hpw_thread_vec_init(&footer->threads);
	hpw_size_vec_init(&footer->sizes);
}

void hpw_footer_deinit(struct hpw_footer *footer)
{
	hpw_site_vec_deinit(&footer->sites);
	hpw_thread_vec_deinit(&footer->threads);
	hpw_size_vec_deinit(&footer->sizes);
	free(footer->names);
	footer->names = NULL;
}

static struct error *decode_summary(struct hpw_footer *footer, const struct hpw_payload *payload)
{
	struct cursor c = hpw_payload_cursor(payload);
	memset(footer->summary, 0, sizeof(footer->summary));
	footer->has_waits = false;
	while (cursor_left(&c)) {
		uint64_t key, value;
		struct error *error = cursor_varint(&c, &key);
		if (!error)
			error = cursor_varint(&c, &value);
		if (error)
			return error;
		if (key < HPW_SUM_LIMIT)
			footer->summary[key] = value;
		footer->has_waits |= key == HPW_SUM_WAITS;
	}
	return NULL;
}

struct totals hpw_summary_totals(const uint64_t sum[static HPW_SUM_LIMIT])
{
	return (struct totals){
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
		.threads = sum[HPW_SUM_THREADS],
	};
}

void hpw_summary_exit(const uint64_t sum[static HPW_SUM_LIMIT], struct target *ret)
{
	static const enum exit_kind kinds[] = {
		[HPW_EXIT_UNKNOWN] = EXIT_KIND_UNKNOWN,
		[HPW_EXIT_STATUS] = EXIT_KIND_STATUS,
		[HPW_EXIT_SIGNAL] = EXIT_KIND_SIGNAL,
		[HPW_EXIT_EXEC] = EXIT_KIND_EXEC,
		[HPW_EXIT_RUNNING] = EXIT_KIND_RUNNING,
		[HPW_EXIT_MODE] = EXIT_KIND_RUNNING,
		[HPW_EXIT_DETACHED] = EXIT_KIND_RUNNING,
	};
	if (sum[HPW_SUM_EXIT_KIND] <= HPW_EXIT_DETACHED)
		ret->exit_kind = kinds[sum[HPW_SUM_EXIT_KIND]];
	ret->exit_value = (int)(uint32_t)sum[HPW_SUM_EXIT_VALUE];
}

/* Reads one row across the columns into the places that the table gives, at `row`. */
struct field {
	uint32_t column;
	size_t place;
};

static struct error *read_row(
	struct hpw_column *columns, const struct field *fields, size_t count, void *row)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value;
		struct error *error = hpw_column_next(&columns[fields[i].column], &value);
		if (error)
			return error;
		memcpy((char *)row + fields[i].place, &value, sizeof(value));
	}
	return NULL;
}

#define SITES_BATCH 256u

/* Reads rows column by column. */
static struct error *read_counters(
	struct hpw_column *columns, struct site_counters *ret, size_t count)
{
	uint64_t values[SITES_BATCH];
	memset(ret, 0, count * sizeof(*ret));
	for (size_t i = 0; i < SITE_COUNTERS_COUNT; i++) {
		struct hpw_column *column = &columns[site_columns[i].stored];
		if (!column->present)
			continue;
		struct error *error = hpw_column_read(column, values, count);
		if (error)
			return error;
		for (size_t k = 0; k < count; k++)
			site_column_take_stored(&site_columns[i], values[k], &ret[k]);
	}
	for (size_t k = 0; k < count; k++)
		if (!ret[k].allocations)
			ret[k].min_size = ret[k].max_size = 0;
	return NULL;
}

void hpw_footer_drop_sites(struct hpw_footer *footer)
{
	for (size_t i = 0; i < footer->sites_known; i++) {
		struct site *site = build_site_at(footer->into, (struct site_id){(uint32_t)i});
		site->counters = (struct site_counters){.allocations = 0};
		site->kept_blocks = site->kept_bytes = 0;
	}
	hpw_site_vec_clear(&footer->sites);
	footer->sites_known = footer->sites_len = 0;
}

static struct error *put_counters(
	struct hpw_footer *footer, const struct site_counters *rows, size_t count)
{
	size_t known = 0, i = 0;
	if (footer->into)
		model_sites(footer->into, &known);
	for (; i < count && footer->sites_len < known; i++) {
		struct site *site =
			build_site_at(footer->into, (struct site_id){(uint32_t)footer->sites_len});
		site->counters = rows[i];
		site->kept_blocks = rows[i].live_blocks;
		site->kept_bytes = rows[i].live_bytes;
		footer->sites_known = ++footer->sites_len;
	}
	for (; i < count; i++, footer->sites_len++)
		if (!hpw_site_vec_push(&footer->sites, rows[i]))
			return error_no_memory();
	return NULL;
}

static struct error *decode_sites(struct hpw_footer *footer, const struct hpw_payload *payload)
{
	struct hpw_column columns[HPW_SITE_COLUMNS];
	struct hpw_column *begin = &columns[HPW_SITE_FIRST];
	size_t rows;
	uint64_t first = 0;
	struct error *error = hpw_columns_open(payload, columns, ARRAY_SIZE(columns));
	if (!error)
		error = hpw_columns_rows(columns, HPW_SITE_COLUMNS, ~(1u << HPW_SITE_FIRST), &rows);
	if (!error && begin->present)
		error = hpw_column_next(begin, &first);
	if (error)
		return error;
	if (!first) {
		hpw_footer_drop_sites(footer);
		footer->unknown = 0;
	} else if (first != footer->sites_len || !footer->has_sites) {
		return error_create(ERROR_INPUT,
			"figures of sites go on at %" PRIu64 ", where %zu came before", first,
			footer->sites_len);
	}
	for (size_t i = 0; i < SITE_COUNTERS_COUNT; i++)
		if (!columns[site_columns[i].stored].present)
			footer->unknown |= hpw_columns_unknown(i);
	if (rows > BUILD_SITES_MAX - first)
		return error_create(ERROR_INPUT, "%zu sites are too many", rows);
	for (size_t done = 0, some; !error && done < rows; done += some) {
		struct site_counters batch[SITES_BATCH];
		some = min(rows - done, (size_t)SITES_BATCH);
		error = read_counters(columns, batch, some);
		if (!error)
			error = put_counters(footer, batch, some);
	}
	return error;
}

enum thread_column { THREAD_NAME_LENGTH = 7, THREAD_NAMES = 8, THREAD_COLUMNS = 12 };

/* Values that are not 64 bits wide in the model. */
struct thread_extra {
	uint64_t tid, name_len, ended;
};
static const struct field thread_fields[] = {
	{1, offsetof(struct hpw_thread_row, first_tsc)},
	{2, offsetof(struct hpw_thread_row, last_tsc)},
	{3, offsetof(struct hpw_thread_row, row.allocations)},
	{4, offsetof(struct hpw_thread_row, row.allocated_bytes)},
	{5, offsetof(struct hpw_thread_row, row.frees)},
	{6, offsetof(struct hpw_thread_row, row.temporary)},
	{10, offsetof(struct hpw_thread_row, row.others)},
	{HPW_THREAD_STACK_USED, offsetof(struct hpw_thread_row, row.stack_used_bytes)},
};
static const struct field thread_extra_fields[] = {
	{0, offsetof(struct thread_extra, tid)},
	{THREAD_NAME_LENGTH, offsetof(struct thread_extra, name_len)},
	{9, offsetof(struct thread_extra, ended)},
};

static struct error *read_thread(
	struct hpw_footer *footer, struct hpw_column *columns, size_t *name_offset)
{
	struct hpw_thread_row thread = {.name_offset = *name_offset};
	struct thread_extra extra;
	struct error *error = read_row(columns, thread_fields, ARRAY_SIZE(thread_fields), &thread);
	if (!error)
		error = read_row(
			columns, thread_extra_fields, ARRAY_SIZE(thread_extra_fields), &extra);
	if (error)
		return error;
	if (extra.name_len > cursor_left(&columns[THREAD_NAMES].cursor) - *name_offset)
		return error_create(ERROR_INPUT, "a thread's name is longer than the chunk");
	thread.row.tid = (uint32_t)extra.tid;
	thread.row.ended = extra.ended != 0;
	thread.name_len = (size_t)extra.name_len;
	*name_offset += thread.name_len;
	return hpw_thread_vec_push(&footer->threads, thread) ? NULL : error_no_memory();
}

static struct error *decode_threads(struct hpw_footer *footer, const struct hpw_payload *payload)
{
	struct hpw_column columns[THREAD_COLUMNS];
	size_t rows;
	struct error *error = hpw_columns_open(payload, columns, THREAD_COLUMNS);
	if (!error)
		error = hpw_columns_rows(columns, THREAD_COLUMNS, ~(1u << THREAD_NAMES), &rows);
	if (error)
		return error;
	hpw_thread_vec_clear(&footer->threads);
	free(footer->names);
	footer->names = NULL;
	if (rows > BUILD_THREADS_MAX)
		return error_create(ERROR_INPUT, "%zu threads are too many", rows);
	const struct cursor *names = &columns[THREAD_NAMES].cursor;
	footer->names = malloc(cursor_left(names) + 1);
	if (!footer->names)
		return error_no_memory();
	if (cursor_left(names))
		memcpy(footer->names, names->pos, cursor_left(names));
	size_t name_offset = 0;
	for (size_t i = 0; !error && i < rows; i++)
		error = read_thread(footer, columns, &name_offset);
	return error;
}

static struct error *decode_sizes(struct hpw_footer *footer, const struct hpw_payload *payload)
{
	struct hpw_column columns[2];
	size_t rows;
	struct error *error = hpw_columns_open(payload, columns, 2);
	if (!error)
		error = hpw_columns_rows(columns, 2, 3, &rows);
	if (error)
		return error;
	hpw_size_vec_clear(&footer->sizes);
	uint64_t size = 0;
	for (size_t i = 0; i < rows; i++) {
		uint64_t step, allocations;
		error = hpw_column_next(&columns[0], &step);
		if (!error)
			error = hpw_column_next(&columns[1], &allocations);
		if (error)
			return error;
		if ((i && !step) || step > UINT64_MAX - size)
			return error_create(ERROR_INPUT, "sizes do not ascend");
		size += step;
		if (!hpw_size_vec_push(&footer->sizes, (struct size_count){size, allocations}))
			return error_no_memory();
	}
	return NULL;
}

static const struct {
	enum hpw_chunk_type type;
	size_t has; /* place of its has_… flag */
	struct error *(*decode)(struct hpw_footer *footer, const struct hpw_payload *payload);
} parts[] = {
	{HPW_SUMMARY, offsetof(struct hpw_footer, has_summary), decode_summary},
	{HPW_SITE_STATS, offsetof(struct hpw_footer, has_sites), decode_sites},
	{HPW_THREADS, offsetof(struct hpw_footer, has_threads), decode_threads},
	{HPW_SIZES, offsetof(struct hpw_footer, has_sizes), decode_sizes},
};

bool hpw_footer_takes(uint16_t type)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].type == type)
			return true;
	return false;
}

struct error *hpw_footer_decode(
	struct hpw_footer *footer, uint16_t type, const struct hpw_payload *payload)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (parts[i].type != type)
			continue;
		struct error *error = parts[i].decode(footer, payload);
		*(bool *)((char *)footer + parts[i].has) = !error;
		return error;
	}
	return NULL;
}

static struct error *read_live(
	struct hpw_column *columns, uint64_t *address, struct live_block *ret)
{
	uint64_t v[5];
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct error *error = hpw_column_next(&columns[i], &v[i]);
		if (error)
			return error;
	}
	if (v[0] > UINT64_MAX - *address || v[2] > UINT32_MAX || v[3] > UINT32_MAX)
		return error_create(ERROR_INPUT, "a live block is impossible");
	*address += v[0];
	*ret = (struct live_block){
		.address = *address,
		.size = v[1],
		.site = {(uint32_t)v[2]},
		.thread = {(uint32_t)v[3]},
		.number = v[4],
	};
	return NULL;
}

struct error *hpw_footer_live(struct model *model, const struct hpw_payload *payload)
{
	struct hpw_column columns[5];
	size_t rows;
	struct error *error = hpw_columns_open(payload, columns, 5);
	if (!error)
		error = hpw_columns_rows(columns, 5, UINT32_MAX, &rows);
	uint64_t address = 0;
	struct live_block batch[LIVE_BATCH];
	size_t len = 0;
	for (size_t i = 0; !error && i < rows; i++) {
		error = read_live(columns, &address, &batch[len]);
		if (!error && ++len == LIVE_BATCH) {
			error = build_live(model, batch, len);
			len = 0;
		}
	}
	return error ? error : build_live(model, batch, len);
}

/* The reasons of a recording in the model's words. A number of a newer writer is not known. */
enum unrecorded_reason hpw_unrecorded_reason(uint64_t stored)
{
	static const enum unrecorded_reason reasons[HW_UNRECORDED_REASONS] = {
		[HW_UNRECORDED_STATIC] = UNRECORDED_STATIC,
		[HW_UNRECORDED_SETUID] = UNRECORDED_SETUID,
		[HW_UNRECORDED_CLASS] = UNRECORDED_CLASS,
		[HW_UNRECORDED_MACHINE] = UNRECORDED_MACHINE,
		[HW_UNRECORDED_SANITIZER] = UNRECORDED_SANITIZER,
		[HW_UNRECORDED_MUSL] = UNRECORDED_MUSL,
		[HW_UNRECORDED_UNWANTED] = UNRECORDED_UNWANTED,
		[HW_UNRECORDED_MANY] = UNRECORDED_MANY,
		[HW_UNRECORDED_FAILED] = UNRECORDED_FAILED,
		[HW_UNRECORDED_LATE] = UNRECORDED_LATE,
	};
	return stored < HW_UNRECORDED_REASONS ? reasons[stored] : UNRECORDED_UNKNOWN;
}

static struct error *read_unrecorded(
	struct model *model, const struct hpw_clock *clock, struct hpw_column columns[static 5])
{
	uint64_t row[4]; /* stamp, pid, reason, length of the path */
	const uint8_t *path = NULL;
	struct error *error = NULL;
	for (size_t i = 0; !error && i < ARRAY_SIZE(row); i++)
		error = hpw_column_next(&columns[i], &row[i]);
	if (!error && row[3] > HPW_UNRECORDED_PATH_MAX)
		error = error_create(ERROR_INPUT, "a path has %" PRIu64 " bytes", row[3]);
	if (!error)
		error = cursor_bytes(&columns[4].cursor, row[3], &path);
	if (error)
		return error;
	const struct unrecorded_program program = {.pid = (uint32_t)row[1],
		.start_ns = hpw_clock_ns(clock, row[0]),
		.reason = hpw_unrecorded_reason(row[2])};
	return build_unrecorded(model, &program, (const char *)path, (size_t)row[3]);
}

struct error *hpw_footer_unrecorded(
	struct model *model, const struct hpw_clock *clock, const struct hpw_payload *payload)
{
	struct hpw_column columns[5];
	size_t rows, before;
	model_unrecorded(model, &before);
	struct error *error = hpw_columns_open(payload, columns, 5);
	if (!error)
		error = hpw_columns_rows(columns, 5, 0xf, &rows);
	if (!error && rows > HPW_UNRECORDED_MAX - before)
		error = error_create(ERROR_INPUT, "%zu programs that went unrecorded are too many",
			before + rows);
	for (size_t i = 0; !error && i < rows; i++)
		error = read_unrecorded(model, clock, columns);
	return error;
}

void hpw_estimates_init(struct hpw_estimates *estimates)
{
	hpw_estimates_row_vec_init(&estimates->sites);
	hpw_estimates_thread_vec_init(&estimates->threads);
}

void hpw_estimates_deinit(struct hpw_estimates *estimates)
{
	hpw_estimates_row_vec_deinit(&estimates->sites);
	hpw_estimates_thread_vec_deinit(&estimates->threads);
}

bool hpw_estimates_takes(uint16_t type)
{
	return type == HPW_ESTIMATES;
}

static struct error *read_doubles(struct hpw_column *columns, size_t count, double *ret)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t bits;
		struct error *error = hpw_column_next(&columns[i], &bits);
		if (error)
			return error;
		memcpy(&ret[i], &bits, sizeof(bits));
		if (!isfinite(ret[i]) || ret[i] < 0)
			return error_create(ERROR_INPUT, "an estimate is no number");
	}
	return NULL;
}

static struct error *read_sites(
	struct hpw_estimates *estimates, struct hpw_column *columns, size_t rows)
{
	struct hpw_estimates_row row;
	for (size_t i = 0; i < rows; i++) {
		struct error *error = read_doubles(
			columns + HPW_ESTIMATES_SITE, HPW_ESTIMATES_SITE_COLUMNS, row.figures);
		if (error)
			return error;
		if (!hpw_estimates_row_vec_push(&estimates->sites, row))
			return error_no_memory();
	}
	return NULL;
}

static struct error *read_threads(
	struct hpw_estimates *estimates, struct hpw_column *columns, size_t rows)
{
	struct hpw_estimates_thread row;
	for (size_t i = 0; i < rows; i++) {
		struct error *error = read_doubles(
			columns + HPW_ESTIMATES_THREAD, HPW_ESTIMATES_THREAD_COLUMNS, row.figures);
		if (error)
			return error;
		if (!hpw_estimates_thread_vec_push(&estimates->threads, row))
			return error_no_memory();
	}
	return NULL;
}

static struct error *decode_rows(struct hpw_estimates *estimates, const struct hpw_payload *payload)
{
	struct hpw_column columns[HPW_ESTIMATES_COLUMNS];
	struct hpw_column *begin = &columns[HPW_ESTIMATES_FIRST];
	const uint32_t of_sites = COLUMNS_OF(HPW_ESTIMATES_SITE, HPW_ESTIMATES_SITE_COLUMNS);
	const uint32_t of_threads = COLUMNS_OF(HPW_ESTIMATES_THREAD, HPW_ESTIMATES_THREAD_COLUMNS);
	size_t sites, threads;
	uint64_t first = 0;
	struct error *error = hpw_columns_open(payload, columns, HPW_ESTIMATES_COLUMNS);
	if (!error)
		error = hpw_columns_rows(columns, HPW_ESTIMATES_COLUMNS, of_sites, &sites);
	if (!error)
		error = hpw_columns_rows(columns, HPW_ESTIMATES_COLUMNS, of_threads, &threads);
	if (!error && begin->present)
		error = hpw_column_next(begin, &first);
	if (error)
		return error;
	if (first != estimates->sites.len)
		return error_create(ERROR_INPUT,
			"estimates go on at site %" PRIu64 ", where %zu came before", first,
			estimates->sites.len);
	if (sites > BUILD_SITES_MAX - first || threads > BUILD_THREADS_MAX - estimates->threads.len)
		return error_create(ERROR_INPUT, "estimates of too many sites or threads");
	error = read_sites(estimates, columns, sites);
	return error ? error : read_threads(estimates, columns, threads);
}

struct error *hpw_estimates_decode(
	struct hpw_estimates *estimates, const struct hpw_payload *payload)
{
	struct error *error = decode_rows(estimates, payload);
	if (error) {
		hpw_estimates_row_vec_clear(&estimates->sites);
		hpw_estimates_thread_vec_clear(&estimates->threads);
	}
	return error;
}

bool hpw_estimates_are_whole(const struct hpw_estimates *estimates, const struct model *model)
{
	size_t count;
	model_sites(model, &count);
	return estimates->sites.len >= count;
}

/* As hpw_estimate.c: a few small blocks make most of it, and those that were missed do not show. */
static double variance_of_live(const double *figures)
{
	double all = figures[HPW_ESTIMATES_ALLOCATIONS];
	double step = all > 0 ? figures[HPW_ESTIMATES_ALLOCATIONS_VARIANCE] / all : 0;
	return fmax(figures[HPW_ESTIMATES_LIVE_BLOCKS_VARIANCE],
		figures[HPW_ESTIMATES_LIVE_BLOCKS] * step);
}

static void put_site(const double *figures, struct site *ret)
{
	ret->counters = (struct site_counters){
		.allocations = hpw_estimate_whole(figures[HPW_ESTIMATES_ALLOCATIONS]),
		.allocated_bytes = hpw_estimate_whole(figures[HPW_ESTIMATES_ALLOCATED_BYTES]),
		.live_blocks = hpw_estimate_whole(figures[HPW_ESTIMATES_LIVE_BLOCKS]),
		.live_bytes = hpw_estimate_whole(figures[HPW_ESTIMATES_LIVE_BYTES]),
		.failed = hpw_estimate_whole(figures[HPW_ESTIMATES_FAILED]),
		.min_size = ret->min_size,
		.max_size = ret->max_size,
		.max_failed_size = ret->max_failed_size,
	};
	ret->kept_blocks = ret->live_blocks;
	ret->kept_bytes = ret->live_bytes;
	ret->spread = (struct spread){
		.allocations = figures[HPW_ESTIMATES_ALLOCATIONS_VARIANCE],
		.allocated_bytes = figures[HPW_ESTIMATES_ALLOCATED_BYTES_VARIANCE],
		.live_blocks = variance_of_live(figures),
		.live_bytes = figures[HPW_ESTIMATES_LIVE_BYTES_VARIANCE],
		.failed = figures[HPW_ESTIMATES_FAILED_VARIANCE],
	};
}

/* So that rows add up to it. */
static void put_totals(struct model *model, size_t count)
{
	struct totals sums = {.allocations = 0};
	for (size_t i = 0; i < count; i++) {
		const struct site *site = build_site_at(model, (struct site_id){(uint32_t)i});
		sums.allocations += site->allocations;
		sums.allocated_bytes += site->allocated_bytes;
		sums.live_blocks += site->live_blocks;
		sums.live_bytes += site->live_bytes;
		sums.failed += site->failed;
		spread_add(&sums.spread, &site->spread);
	}
	struct totals *totals = build_totals(model);
	sums.kept_blocks = sums.live_blocks;
	sums.kept_bytes = sums.live_bytes;
	sums.threads = totals->threads;
	*totals = sums;
}

void hpw_estimates_put(const struct hpw_estimates *estimates, struct model *model)
{
	size_t count;
	model_sites(model, &count);
	for (size_t i = 0; i < count; i++)
		put_site(estimates->sites.data[i].figures,
			build_site_at(model, (struct site_id){(uint32_t)i}));
	put_totals(model, count);
	double frees = 0;
	for (size_t i = 0; i < estimates->threads.len; i++)
		frees += estimates->threads.data[i].figures[2];
	build_totals(model)->frees = hpw_estimate_whole(frees);
	build_recording(model)->unknown |=
		hpw_estimate_unknown() | UNKNOWN_PEAK_BLOCKS | UNKNOWN_PEAK_BYTES;
}

void hpw_estimates_put_thread(
	const struct hpw_estimates *estimates, size_t number, struct call_counters *ret)
{
	*ret = (struct call_counters){.allocations = 0};
	if (number >= estimates->threads.len)
		return;
	const double *figures = estimates->threads.data[number].figures;
	ret->allocations = hpw_estimate_whole(figures[0]);
	ret->allocated_bytes = hpw_estimate_whole(figures[1]);
	ret->frees = hpw_estimate_whole(figures[2]);
}
