/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A model of what the program has mapped, in place of its heap, or added to it: each call that maps
 * something is an allocation, at the site of its stack and its function. There are few of them, so
 * all that is asked is answered by going through them: once up to the end, once more up to the
 * peak.
 */
#include "sources/recording/hpw_reader_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/util.h"
#include "sources/mappings/hpw_mapping_series.h"
#include "sources/mappings/hpw_mappings.h"
#include "sources/mappings/hpw_resident.h"

static inline bool same_site_key(uint64_t a, uint64_t b)
{
	return a == b;
}
DEFINE_MAP(mapping_site_map, uint64_t, uint32_t, hash_u64, same_site_key)

struct filling {
	struct reader *reader;
	const struct hpw_mappings *mappings;
	enum hpw_mappings_which which;
	struct hpw_mapped mapped;
	size_t from, to;     /* rows */
	size_t counted_from; /* calls before it don't count: sums were reset */
	size_t sites;
	struct totals totals;
	size_t peak;                 /* after so many rows */
	struct call_counters *calls; /* by thread */
	size_t threads;
	struct size_count *sizes; /* of what was mapped */
	size_t sizes_len;
};

static void filling_deinit(struct filling *f)
{
	hpw_mapped_deinit(&f->mapped);
	free(f->calls);
	free(f->sizes);
}

static enum alloc_kind mapping_kind(const struct hpw_mapping_row *row)
{
	static const enum alloc_kind kinds[HPW_MAPPING_KINDS] = {
		[HPW_MAPPING_MMAP] = KIND_MMAP,
		[HPW_MAPPING_MREMAP] = KIND_MREMAP,
		[HPW_MAPPING_BRK] = KIND_BRK,
		[HPW_MAPPING_SBRK] = KIND_SBRK,
		[HPW_MAPPING_THREAD_STACK] = KIND_THREAD_STACK,
	};
	return row->flags & HPW_MAPPING_ALLOCATOR ? KIND_ALLOCATOR_MAP : kinds[row->what];
}

/* Adds the sites of all rows to the model, after those that it has. */
static struct error *put_mapping_sites(struct model *model, struct hpw_mappings *mappings,
	enum hpw_mappings_which which, size_t *ret_sites)
{
	_cleanup_(mapping_site_map_deinit) struct mapping_site_map known;
	mapping_site_map_init(&known);
	size_t first, count;
	model_sites(model, &first);
	count = first;
	for (size_t i = 0; i < mappings->rows.len; i++) {
		struct hpw_mapping_row *row = &mappings->rows.data[i];
		row->site = (uint32_t)first;
		if (!hpw_mapping_counts(row, which))
			continue;
		enum alloc_kind kind = mapping_kind(row);
		bool is_new;
		uint32_t *site =
			mapping_site_map_insert(&known, (uint64_t)row->stack << 8 | kind, &is_new);
		if (!site)
			return error_no_memory();
		if (is_new) {
			*site = (uint32_t)count++;
			struct stack_id stack = {
				row->stack < model_stack_limit(model) ? row->stack : 0};
			struct error *error =
				build_site(model, (struct site_id){*site}, stack, kind);
			if (error)
				return error;
		}
		row->site = *site;
	}
	*ret_sites = count - first;
	return NULL;
}

static struct error *begin_filling(struct filling *f)
{
	const struct hpw_footer *footer = &f->reader->footer;
	size_t known;
	model_sites(f->reader->model, &known);
	f->threads = footer->has_threads ? footer->threads.len : 0;
	struct error *error = hpw_mapped_init(&f->mapped, f->mappings, f->which);
	if (error)
		return error;
	f->mapped.first_site = (uint32_t)(known - f->sites);
	f->mapped.threads = f->threads;
	f->mapped.sites = calloc(f->sites + 1, sizeof(*f->mapped.sites));
	f->mapped.ends_of_thread = calloc(f->threads + 1, sizeof(uint64_t));
	f->calls = calloc(f->threads + 1, sizeof(*f->calls));
	f->sizes = calloc(f->mappings->rows.len + 1, sizeof(*f->sizes));
	return f->mapped.sites && f->mapped.ends_of_thread && f->calls && f->sizes
		       ? NULL
		       : error_no_memory();
}

static void count_mapping(struct filling *f, size_t i, uint64_t bytes)
{
	const struct hpw_mapping_row *row = &f->mappings->rows.data[i];
	struct site_counters *site = &f->mapped.sites[row->site - f->mapped.first_site];
	if (!site->allocations || bytes < site->min_size)
		site->min_size = bytes;
	site->max_size = max(site->max_size, bytes);
	site->allocations++;
	site->allocated_bytes += bytes;
	f->totals.allocations++;
	f->totals.allocated_bytes += bytes;
	f->sizes[f->sizes_len++] = (struct size_count){bytes, 1};
	if (row->thread && row->thread <= f->threads) {
		f->calls[row->thread - 1].allocations++;
		f->calls[row->thread - 1].allocated_bytes += bytes;
	}
}

static void note_peak(struct filling *f, size_t rows)
{
	f->totals.peak_bytes = f->mapped.live_bytes;
	f->totals.peak_blocks = f->mapped.live_mappings;
	f->peak = rows;
}

/* Goes through all rows of the part. */
static struct error *count_part(struct filling *f)
{
	struct error *error = begin_filling(f);
	for (size_t i = 0; !error && i < f->to; i++) {
		uint64_t bytes;
		error = hpw_mapped_apply(&f->mapped, i, &bytes);
		if (i + 1 == f->from)
			note_peak(f, i + 1);
		if (i + 1 == f->counted_from) {
			f->mapped.ended = 0;
			memset(f->mapped.ends_of_thread, 0, f->threads * sizeof(uint64_t));
		}
		if (error)
			continue;
		if (bytes && i >= f->counted_from)
			count_mapping(f, i, bytes);
		if (i >= f->from && f->mapped.live_bytes > f->totals.peak_bytes)
			note_peak(f, i + 1);
	}
	f->totals.live_blocks = f->mapped.live_mappings;
	f->totals.live_bytes = f->mapped.live_bytes;
	f->totals.frees = f->mapped.ended;
	return error;
}

/* What is live at the end, and was mapped in the part. */
static void put_kept(struct filling *f)
{
	for (size_t i = f->from; i < f->to; i++) {
		const struct hpw_mapping_row *row = &f->mappings->rows.data[i];
		if (!hpw_mapping_maps(row) || !f->mapped.left[i])
			continue;
		struct site *site = build_site_at(f->reader->model, (struct site_id){row->site});
		site->kept_blocks++;
		site->kept_bytes += f->mapped.left[i];
		f->totals.kept_blocks++;
		f->totals.kept_bytes += f->mapped.left[i];
	}
}

/* Each site's share of the peak: as it was then. */
static struct error *put_peak_shares(struct filling *f)
{
	_cleanup_(hpw_mapped_deinit) struct hpw_mapped then;
	struct error *error = hpw_mapped_init(&then, f->mappings, f->which);
	then.first_site = f->mapped.first_site;
	then.sites = error ? NULL : calloc(f->sites + 1, sizeof(*then.sites));
	if (!error && !then.sites)
		error = error_no_memory();
	for (size_t i = 0; !error && i < f->peak; i++) {
		uint64_t bytes;
		error = hpw_mapped_apply(&then, i, &bytes);
	}
	for (size_t i = 0; !error && i < f->sites; i++) {
		f->mapped.sites[i].peak_blocks = then.sites[i].live_blocks;
		f->mapped.sites[i].peak_bytes = then.sites[i].live_bytes;
	}
	return error;
}

static int compare_mapped_sizes(const void *left, const void *right)
{
	const struct size_count *a = left, *b = right;
	return a->size < b->size ? -1 : a->size > b->size;
}

static struct error *put_mapped_sizes(struct filling *f)
{
	size_t count = 0;
	if (f->sizes_len)
		qsort(f->sizes, f->sizes_len, sizeof(*f->sizes), compare_mapped_sizes);
	for (size_t i = 0; i < f->sizes_len; i++) {
		if (count && f->sizes[count - 1].size == f->sizes[i].size)
			f->sizes[count - 1].allocations++;
		else
			f->sizes[count++] = f->sizes[i];
	}
	return build_more_sizes(f->reader->model, f->sizes, count);
}

static struct error *put_mapped_threads(struct filling *f)
{
	const struct hpw_footer *footer = &f->reader->footer;
	const struct hpw_clock *clock = &f->reader->tables.clock;
	struct error *error = NULL;
	for (size_t i = 0; !error && i < f->threads; i++) {
		const struct hpw_thread_row *stored = &footer->threads.data[i];
		struct thread row = stored->row;
		row.first_ns = hpw_clock_ns(clock, stored->first_tsc);
		row.last_ns = hpw_clock_ns(clock, stored->last_tsc);
		row.calls = f->calls[i];
		row.frees = f->mapped.ends_of_thread[i];
		f->totals.threads += row.allocations || row.frees;
		error = build_thread(f->reader->model, &row, footer->names + stored->name_offset,
			stored->name_len);
	}
	return error;
}

static struct error *put_figures(struct filling *f)
{
	struct error *error = put_peak_shares(f);
	for (size_t i = 0; !error && i < f->sites; i++) {
		struct site_id id = {f->mapped.first_site + (uint32_t)i};
		build_site_at(f->reader->model, id)->counters = f->mapped.sites[i];
	}
	if (!error)
		put_kept(f);
	if (!error)
		error = put_mapped_threads(f);
	if (!error)
		error = put_mapped_sizes(f);
	struct totals *totals = build_totals(f->reader->model);
	*totals = f->totals;
	if (f->peak)
		totals->peak_time_ns = hpw_clock_ns(
			&f->reader->tables.clock, f->mappings->rows.data[f->peak - 1].stamp);
	build_recording(f->reader->model)->events = f->to - f->from;
	return error;
}

/* Where a moment is among the rows. Marks and steps are of the heap's events: `span` has their
 * stamps. */
static struct error *find_row(
	const struct filling *f, const struct source_moment *moment, uint64_t stamp, size_t *ret)
{
	struct hpw_mapped all;
	switch (moment->kind) {
	case SOURCE_START:
		*ret = 0;
		return NULL;
	case SOURCE_END:
		*ret = f->mappings->rows.len;
		return NULL;
	case SOURCE_TIME:
		*ret = hpw_mappings_until(
			f->mappings, hpw_clock_stamp(&f->reader->tables.clock, moment->time_ns));
		return NULL;
	case SOURCE_PEAK:
		break;
	default:
		*ret = hpw_mappings_until(f->mappings, stamp);
		return NULL;
	}
	struct error *error = hpw_mapped_init(&all, f->mappings, HPW_MAPPINGS_ALL);
	uint64_t highest = 0;
	*ret = 0;
	for (size_t i = 0; !error && i < f->mappings->rows.len; i++) {
		uint64_t bytes;
		error = hpw_mapped_apply(&all, i, &bytes);
		if (all.live_bytes > highest) {
			highest = all.live_bytes;
			*ret = i + 1;
		}
	}
	hpw_mapped_deinit(&all);
	return error;
}

static struct error *find_part(struct filling *f)
{
	struct reader *reader = f->reader;
	f->to = f->mappings->rows.len;
	uint64_t reset_ns = build_recording(reader->model)->reset_ns;
	if (reset_ns)
		f->counted_from = hpw_mappings_until(
			f->mappings, hpw_clock_stamp(&reader->tables.clock, reset_ns));
	const struct source_query *query = reader->query;
	if (!query)
		return NULL;
	struct hpw_span *span = &reader->span;
	struct error *error = find_row(f, &query->from, span->from_stamp, &f->from);
	if (!error)
		error = find_row(f, &query->to, span->to_stamp, &f->to);
	f->counted_from = max(f->counted_from, f->from);
	if (reader->class == SOURCE_HEAP_AND_MAPPINGS)
		return error;
	if (!error && f->from > f->to)
		error = error_create(ERROR_INPUT,
			"%s: the part ends before it begins (--from comes after --to)",
			reader->input->name);
	const struct hpw_mapping_row *rows = f->mappings->rows.data;
	if (!error && query->from.kind == SOURCE_PEAK && f->from)
		span->from_stamp = rows[f->from - 1].stamp;
	if (!error && query->to.kind == SOURCE_PEAK && f->to)
		span->to_stamp = rows[f->to - 1].stamp;
	span->from_step = f->from;
	span->to_step = f->to;
	return error;
}

static struct error *into_mappings(struct hpw_mappings *mappings, struct reader *reader)
{
	struct error *error = NULL;
	for (size_t i = 0; !error && i < reader->file.chunks.len; i++) {
		const struct hpw_chunk *chunk = &reader->file.chunks.data[i];
		if (!hpw_mappings_takes(chunk->type))
			continue;
		_cleanup_(hpw_payload_deinit) struct hpw_payload payload = {0};
		error = hpw_file_payload(&reader->file, chunk, &payload);
		if (!error)
			error = hpw_mappings_decode(mappings, &payload);
		reader->good += !error;
		error = hpw_damage_take(&reader->damage, error,
			"chunk %zu at offset %" PRIu64 ", of mappings, is damaged", i,
			chunk->offset);
	}
	uint64_t lost = reader->footer.summary[HPW_SUM_MAPPINGS_LOST];
	if (!error && lost)
		error = hpw_damage_add(&reader->damage,
			"%" PRIu64 " further calls that map or unmap memory are not in it", lost);
	return error;
}

/* The moments that were asked for. */
static struct error *put_mapping_series(const struct filling *f)
{
	struct reader *reader = f->reader;
	if (!reader->wanted_series)
		return NULL;
	struct hpw_mapping_series series = {.wanted = reader->wanted_series,
		.mappings = f->mappings,
		.clock = &reader->tables.clock,
		.from = f->from,
		.to = f->to,
		.peak = f->peak,
		.first_site = f->mapped.first_site,
		.sites = f->sites};
	if (reader->query)
		hpw_span_times(&reader->span, reader->query, &reader->tables.clock, &series.from_ns,
			&series.to_ns);
	if (!reader->query || reader->query->to.kind == SOURCE_END)
		series.to_ns = build_recording(reader->model)->duration_ns;
	series.to_ns = max(series.to_ns, series.from_ns);
	return hpw_mapping_series_put(&series, reader->model);
}

struct error *hpw_reader_put_mappings(struct reader *reader)
{
	_cleanup_(hpw_mappings_deinit) struct hpw_mappings mappings = {.rows = {.len = 0}};
	_cleanup_(filling_deinit) struct filling filling = {
		.reader = reader, .mappings = &mappings};
	struct error *error = into_mappings(&mappings, reader);
	if (!error)
		error = find_part(&filling);
	if (!error)
		error = put_mapping_sites(reader->model, &mappings, filling.which, &filling.sites);
	if (!error)
		error = count_part(&filling);
	if (!error)
		error = put_figures(&filling);
	if (!error)
		error = put_mapping_series(&filling);
	struct recording *recording = build_recording(reader->model);
	recording->unknown |=
		UNKNOWN_TEMPORARY | UNKNOWN_FAILED | UNKNOWN_FAILED_SIZE | UNKNOWN_LIVES;
	recording->what = RECORDED_MAPPINGS;
	if (!error && reader->query)
		error = hpw_span_put(
			&reader->span, reader->query, &reader->tables.clock, reader->model);
	return error;
}

/* What nobody knows of heap and mappings together is not the heap's alone either. */
static void forget_heap_figures(struct reader *reader)
{
	struct totals *totals = build_totals(reader->model);
	struct recording *recording = build_recording(reader->model);
	size_t count;
	model_sites(reader->model, &count);
	for (uint32_t i = 0; i < count; i++) {
		struct site *site = build_site_at(reader->model, (struct site_id){i});
		site->peak_blocks = site->peak_bytes = site->temporary = site->failed = 0;
		site->spread.peak_blocks = site->spread.peak_bytes = site->spread.failed = 0;
	}
	totals->peak_blocks = totals->peak_bytes = totals->peak_time_ns = 0;
	totals->temporary = totals->failed = 0;
	totals->spread.peak_blocks = totals->spread.peak_bytes = totals->spread.failed = 0;
	recording->unknown |= UNKNOWN_PEAK_BLOCKS | UNKNOWN_PEAK_BYTES | UNKNOWN_TEMPORARY |
			      UNKNOWN_FAILED | UNKNOWN_FAILED_SIZE | UNKNOWN_LIVES | UNKNOWN_SERIES;
}

static void add_to_threads(struct filling *f, struct totals *totals)
{
	for (size_t i = 0; i < f->threads; i++) {
		struct thread *thread = build_thread_at(f->reader->model, i);
		if (!thread)
			return;
		bool was_idle = !thread->allocations && !thread->frees;
		thread->allocations += f->calls[i].allocations;
		thread->allocated_bytes += f->calls[i].allocated_bytes;
		thread->frees += f->mapped.ends_of_thread[i];
		thread->temporary = 0;
		/* Of a part those that did something are counted, else all of them. */
		totals->threads +=
			f->reader->query && was_idle && (thread->allocations || thread->frees);
	}
}

static struct error *add_figures(struct filling *f)
{
	struct totals *totals = build_totals(f->reader->model);
	for (size_t i = 0; i < f->sites; i++) {
		struct site_id id = {f->mapped.first_site + (uint32_t)i};
		build_site_at(f->reader->model, id)->counters = f->mapped.sites[i];
	}
	put_kept(f);
	add_to_threads(f, totals);
	totals->allocations += f->totals.allocations;
	totals->allocated_bytes += f->totals.allocated_bytes;
	totals->frees += f->totals.frees;
	totals->live_blocks += f->totals.live_blocks;
	totals->live_bytes += f->totals.live_bytes;
	totals->kept_blocks += f->totals.kept_blocks;
	totals->kept_bytes += f->totals.kept_bytes;
	build_recording(f->reader->model)->events += f->to - f->from;
	return put_mapped_sizes(f);
}

/* To the heap's figures, which the model has. */
static struct error *add_mappings(struct reader *reader, struct hpw_mappings *mappings)
{
	_cleanup_(filling_deinit) struct filling filling = {
		.reader = reader, .mappings = mappings, .which = HPW_MAPPINGS_NOT_ALLOCATORS};
	forget_heap_figures(reader);
	struct error *error = find_part(&filling);
	if (!error)
		error = put_mapping_sites(reader->model, mappings, filling.which, &filling.sites);
	if (!error)
		error = count_part(&filling);
	if (!error)
		error = add_figures(&filling);
	build_recording(reader->model)->what = RECORDED_BOTH;
	return error;
}

/* Calls look() or put() for each chunk. A sample is in one. */
static struct error *each_resident(
	struct reader *reader, struct hpw_resident_choice *choice, bool looks)
{
	struct error *error = NULL;
	for (size_t i = 0; !error && i < reader->file.chunks.len; i++) {
		const struct hpw_chunk *chunk = &reader->file.chunks.data[i];
		_cleanup_(hpw_payload_deinit) struct hpw_payload payload = {0};
		if (chunk->type != HPW_RESIDENT)
			continue;
		error = hpw_file_payload(&reader->file, chunk, &payload);
		if (!error && looks)
			error = hpw_resident_look(choice, &payload);
		else if (!error)
			error = hpw_resident_put(
				choice, &reader->tables.clock, &payload, reader->model);
		if (looks)
			error = hpw_damage_take(&reader->damage, error,
				"chunk %zu at offset %" PRIu64 ", of resident memory, is damaged",
				i, chunk->offset);
		if (error && error->code == ERROR_INPUT)
			error_destroy(steal_ptr(error)); /* it was said at the look */
	}
	return error;
}

struct error *hpw_reader_put_resident(struct reader *reader)
{
	const struct source_query *query = reader->query;
	bool by_time = query && query->to.kind == SOURCE_TIME;
	struct hpw_resident_choice choice = {.highest = !query || query->to.kind == SOURCE_PEAK,
		.stamp = !query || query->to.kind == SOURCE_END ? UINT64_MAX
			 : by_time ? hpw_clock_stamp(&reader->tables.clock, query->to.time_ns)
				   : reader->span.to_stamp};
	struct error *error = each_resident(reader, &choice, true);
	return error || !choice.found ? error : each_resident(reader, &choice, false);
}

/* What the program had mapped at the end of the part, and at most in it: beside the heap, or added
 * to it. */
struct error *hpw_reader_sum_mappings(struct reader *reader)
{
	_cleanup_(hpw_mappings_deinit) struct hpw_mappings mappings = {.rows = {.len = 0}};
	_cleanup_(hpw_mapped_deinit) struct hpw_mapped mapped = {.left = NULL};
	struct recording *recording = build_recording(reader->model);
	struct error *error = into_mappings(&mappings, reader);
	if (!error)
		error = hpw_mapped_init(&mapped, &mappings, HPW_MAPPINGS_ALL);
	bool whole = !reader->query || reader->query->to.kind == SOURCE_END;
	uint64_t until = reader->query && reader->query->to.kind == SOURCE_TIME
				 ? hpw_clock_stamp(&reader->tables.clock, reader->query->to.time_ns)
				 : reader->span.to_stamp;
	for (size_t i = 0; !error && i < mappings.rows.len; i++) {
		uint64_t bytes;
		if (!whole && mappings.rows.data[i].stamp > until)
			break;
		error = hpw_mapped_apply(&mapped, i, &bytes);
		recording->mapped.calls += bytes != 0;
		recording->mapped.peak_bytes = max(recording->mapped.peak_bytes, mapped.live_bytes);
	}
	recording->mapped.bytes = mapped.live_bytes;
	recording->mapped.mappings = mapped.live_mappings;
	recording->mapped.allocator_bytes = mapped.allocator_bytes;
	bool adds = reader->class == SOURCE_HEAP_AND_MAPPINGS;
	return error || !adds ? error : add_mappings(reader, &mappings);
}
