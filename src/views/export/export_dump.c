/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dumps of addresses: the text of gperftools' heap profiler (src/heap-profile-table.cc) and of
 * jemalloc (src/prof_data.c), for google-pprof, jeprof and go tool pprof. Readers look names up in
 * the files of MAPPED_LIBRARIES. They take the first address as it is and others as what a call
 * returns to; so the first one is that of the call here.
 *
 * Readers scale what is of a sample, by the mean size of a stack's blocks; so estimates are written
 * as that many samples of that mean size as give them back. jemalloc's dumps are always of a
 * sample: one with a distance of one byte is exact, but for the smallest blocks.
 *
 * Where a frame has a name and no address, or one that no mapping has, all of them get addresses of
 * their own and a section with their names, which google-pprof and jeprof take in place of the
 * files.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/mapped_code.h"
#include "base/cleanup.h"
#include "views/export.h"
#include "views/export/export_frames.h"
#include "views/export/export_out.h"

/* Where addresses of our own begin, and how far they are apart. */
#define OWN_ADDRESSES 0x10000u
#define OWN_STEP 16u
/* Of fewer samples the mean size is kept, not the sum. */
#define FEW_SAMPLES 16.0

struct figures {
	uint64_t live_blocks, live_bytes, allocations, allocated_bytes;
};

struct dump {
	const struct exported *from;
	const struct rows *rows;
	struct export_out out;
	struct export_frames frames;       /* of which names are written */
	struct mapped_code_vec mapped;     /* the program's first */
	struct mapped_code_vec by_address; /* the same */
	uint64_t period;                   /* 0: figures stand as they are */
	bool named, remarks, empty_blocks;
	bool live_only; /* what was freed is left out */
	/* As gperftools has it: mappings come first, and are not in the sum. */
	bool maps_first;
};

static void dump_deinit(struct dump *at)
{
	export_out_deinit(&at->out);
	export_frames_deinit(&at->frames);
	mapped_code_vec_deinit(&at->mapped);
	mapped_code_vec_deinit(&at->by_address);
}

/* What a reader makes of samples with the same mean size is what they were. */
static void export_dump_unscale(struct dump *at, uint64_t *blocks, uint64_t *bytes)
{
	if (!at->period || !*blocks)
		return;
	at->empty_blocks |= !*bytes;
	double size = *bytes ? (double)*bytes / (double)*blocks : 1;
	double part = -expm1(-size / (double)at->period);
	double samples = (double)*blocks * part, rounded = fmax(1, round(samples));
	*bytes = (uint64_t)llround(
		samples < FEW_SAMPLES || !*bytes ? rounded * size : (double)*bytes * part);
	*blocks = (uint64_t)rounded;
}

static struct figures figures_of(struct dump *at, const struct site *sums)
{
	struct figures ret = {.live_blocks = sums->live_blocks, .live_bytes = sums->live_bytes};
	if (!at->live_only) {
		ret.allocations = sums->allocations;
		ret.allocated_bytes = sums->allocated_bytes;
	}
	export_dump_unscale(at, &ret.live_blocks, &ret.live_bytes);
	export_dump_unscale(at, &ret.allocations, &ret.allocated_bytes);
	return ret;
}

/* The called function itself is no place in the program. */
static bool export_dump_is_shown(const struct row *row, const struct shown_frame *frame)
{
	return frame->mark == MARK_NONE && !export_is_called(row, frame);
}

static int export_dump_by_start(const void *a, const void *b)
{
	const struct mapped_code *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static bool is_mapped(const struct dump *at, uint64_t address)
{
	size_t low = 0, high = at->by_address.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (at->by_address.data[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < at->by_address.len && at->by_address.data[low].start <= address;
}

/* A reader finds no name for it: it has no address, or one in no file of the list though the source
 * knew its name. Code that was made at run time is in no file for anybody. */
static bool needs_name(const struct dump *at, const struct shown_frame *frame)
{
	if (!frame->address)
		return true;
	return frame->function && (frame->given || frame->module_path) &&
	       !is_mapped(at, frame->address);
}

static bool needs_names(const struct dump *at)
{
	for (size_t i = 0; i < at->rows->rows.len; i++)
		for (size_t k = 0; k < at->rows->rows.data[i].depth; k++) {
			const struct row *row = &at->rows->rows.data[i];
			if (export_dump_is_shown(row, row->frames[k]) &&
				needs_name(at, row->frames[k]))
				return true;
		}
	return false;
}

static uint64_t own_address(uint32_t number)
{
	return OWN_ADDRESSES + (uint64_t)number * OWN_STEP;
}

/* Adds " 0x1a2b 0x…", innermost first. Of inlined functions the address is that of the call that
 * they are part of, once. */
static struct error *export_dump_add_stack(struct dump *at, const struct row *row)
{
	struct text *out = &at->out.text;
	bool first = true;
	for (size_t i = 0; i < row->depth; i++) {
		const struct shown_frame *frame = row->frames[i];
		at->remarks |= frame->mark != MARK_NONE;
		if (!export_dump_is_shown(row, frame) || (!at->named && frame->inlined))
			continue;
		uint64_t address = export_served_address(frame);
		if (at->named) {
			uint32_t number;
			struct error *error = export_frames_number(&at->frames, frame, &number);
			if (error)
				return error;
			address = own_address(number) + 1;
		}
		text_printf(out, " 0x%" PRIx64, address - first);
		first = false;
	}
	if (first)
		text_add(out, " 0x0");
	return NULL;
}

static void export_dump_add_figures(struct text *out, struct figures figures)
{
	text_printf(out, "%" PRIu64 ": %" PRIu64 " [%" PRIu64 ": %" PRIu64 "]", figures.live_blocks,
		figures.live_bytes, figures.allocations, figures.allocated_bytes);
}

static bool is_mapping_row(const struct row *row)
{
	return row->sums->kind >= KIND_MMAP && row->sums->kind <= KIND_ALLOCATOR_MAP;
}

static struct figures sum_up(struct dump *at)
{
	struct figures sum = {.live_blocks = 0};
	for (size_t i = 0; i < at->rows->rows.len; i++) {
		if (at->maps_first && is_mapping_row(&at->rows->rows.data[i]))
			continue;
		struct figures one = figures_of(at, at->rows->rows.data[i].sums);
		sum.live_blocks += one.live_blocks;
		sum.live_bytes += one.live_bytes;
		sum.allocations += one.allocations;
		sum.allocated_bytes += one.allocated_bytes;
	}
	return sum;
}

static struct error *export_dump_add_names(struct dump *at)
{
	struct text *out = &at->out.text;
	struct error *error = NULL;
	/* All of them are to be known before the first stack. */
	for (size_t i = 0; i < at->rows->rows.len; i++)
		for (size_t k = 0; !error && k < at->rows->rows.data[i].depth; k++) {
			uint32_t number;
			const struct row *row = &at->rows->rows.data[i];
			if (export_dump_is_shown(row, row->frames[k]))
				error = export_frames_number(&at->frames, row->frames[k], &number);
		}
	text_add(out, "--- symbol\nbinary=");
	text_add_plain(out, model_target(at->from->profile->model)->exe);
	text_add_char(out, '\n');
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	for (size_t i = 0; !error && i < at->frames.list.len; i++) {
		text_clear(&name);
		export_add_name(&name, at->frames.list.data[i]);
		/* Of the call and of what it returns to: jeprof looks for the first one,
		 * google-pprof for what stands in the stack. */
		for (uint64_t k = 0; k < 2; k++) {
			text_printf(out, "0x%" PRIx64 " ", own_address((uint32_t)i) + k);
			text_add_plain(out, name.data ? name.data : "?");
			text_add_char(out, '\n');
		}
		error = name.failed ? error_no_memory() : export_out_flush(&at->out);
	}
	text_add(out, "---\n");
	return error;
}

static void add_mappings(struct dump *at)
{
	text_add(&at->out.text, "\nMAPPED_LIBRARIES:\n");
	for (size_t i = 0; i < at->mapped.len; i++) {
		const struct mapped_code *code = &at->mapped.data[i];
		text_printf(&at->out.text,
			"%08" PRIx64 "-%08" PRIx64 " r-xp %08" PRIx64 " 00:00 0 ", code->start,
			code->end, code->offset);
		text_add_plain(&at->out.text, code->module->path);
		text_add_char(&at->out.text, '\n');
	}
}

static void export_dump_describe_losses(const struct dump *at)
{
	const struct recording *recording = model_recording(at->from->profile->model);
	struct text *lost = at->from->lost;
	export_omit(at->from, "heap profiles",
		EXPORT_PEAK | EXPORT_MOMENTS | EXPORT_THREADS | EXPORT_KINDS | EXPORT_TEMPORARY |
			EXPORT_FAILED);
	if (at->live_only)
		text_add(lost, "Total allocations are omitted.\n");
	else if (!metric_is_known(METRIC_ALLOCATIONS, recording))
		text_add(lost, "Total allocations are unknown and written as 0.\n");
	if (recording->sample_bytes)
		text_add(lost, "Estimates are written as whole samples, which readers scale up "
			       "again: small figures are rounded.\n");
	else if (at->period)
		text_add(lost, "Readers scale by the sampling period, here one byte: sums of very "
			       "small blocks come out slightly too large.\n");
	if (at->empty_blocks)
		text_add(lost, "Blocks of 0 bytes are written as 1 byte.\n");
	if (at->named)
		text_add(lost,
			"Some functions have no address in a known file: names are written beside "
			"the addresses, which google-pprof and jeprof read.\n");
	if (at->remarks)
		text_add(lost, EXPORT_REMARKS_LOST);
}

static struct error *write_row(struct dump *at, const struct row *row, bool jemalloc)
{
	struct text *out = &at->out.text;
	struct figures figures = figures_of(at, row->sums);
	if (!figures.allocations && !figures.live_blocks)
		return NULL;
	if (!jemalloc)
		export_dump_add_figures(out, figures);
	text_add(out, jemalloc ? "@" : " @");
	struct error *error = export_dump_add_stack(at, row);
	if (jemalloc) {
		text_add(out, "\n  t*: ");
		export_dump_add_figures(out, figures);
	}
	text_add_char(out, '\n');
	return error ? error : export_out_flush(&at->out);
}

/* The rows, each of them as one of these says it. */
static struct error *write_dump(struct dump *at, bool jemalloc)
{
	struct text *out = &at->out.text;
	struct figures sum = sum_up(at);
	struct error *error = at->named ? export_dump_add_names(at) : NULL;
	if (jemalloc)
		text_printf(out, "heap_v2/%" PRIu64 "\n  t*: ", at->period);
	else
		text_add(out, "heap profile: ");
	export_dump_add_figures(out, sum);
	if (!jemalloc && at->period)
		text_printf(out, " @ heap_v2/%" PRIu64, at->period);
	else if (!jemalloc)
		text_add(out, " @ heapprofile");
	text_add_char(out, '\n');
	for (unsigned pass = at->maps_first ? 0 : 1; pass < 2; pass++)
		for (size_t i = 0; !error && !at->out.stopped && i < at->rows->rows.len; i++) {
			const struct row *row = &at->rows->rows.data[i];
			if (!at->maps_first || is_mapping_row(row) == !pass)
				error = write_row(at, row, jemalloc);
		}
	if (error)
		return error;
	add_mappings(at);
	return export_out_end(&at->out);
}

struct dump_form {
	bool jemalloc, live_only;
	bool unnamed; /* names are asked for separately */
};

static struct error *export_dump(
	const struct exported *from, const struct sink *sink, const struct dump_form *form)
{
	const bool jemalloc = form->jemalloc;
	_cleanup_(dump_deinit) struct dump at = {
		.from = from, .rows = profile_rows(from->profile), .live_only = form->live_only};
	const struct recording *recording = model_recording(from->profile->model);
	if (!metric_is_known(METRIC_LIVE_BLOCKS, recording) ||
		!metric_is_known(METRIC_LIVE_BYTES, recording))
		return error_create(ERROR_INPUT,
			"A heap profile of %s contains the number of live blocks per stack, which "
			"this file lacks; use 'export --format pprof'",
			jemalloc ? "jemalloc" : "gperftools");
	uint64_t period = recording->sample_bytes;
	at.period = period ? period : jemalloc;
	at.maps_first = !jemalloc && recording->what != RECORDED_HEAP;
	export_out_init(&at.out, sink);
	mapped_code_vec_init(&at.mapped);
	mapped_code_vec_init(&at.by_address);
	struct error *error = mapped_code_add(from->profile->model, &at.mapped);
	if (!error)
		error = mapped_code_add(from->profile->model, &at.by_address);
	if (at.by_address.len)
		qsort(at.by_address.data, at.by_address.len, sizeof(*at.by_address.data),
			export_dump_by_start);
	at.named = !form->unnamed && needs_names(&at);
	if (!error)
		error = write_dump(&at, jemalloc);
	if (!error)
		export_dump_describe_losses(&at);
	return error;
}

struct error *export_gperftools(const struct exported *from, const struct sink *sink)
{
	return export_dump(from, sink, &(struct dump_form){.jemalloc = false});
}

struct error *export_gperftools_served(const struct exported *from, const struct sink *sink)
{
	return export_dump(from, sink, &(struct dump_form){.unnamed = true});
}

struct error *export_jemalloc(const struct exported *from, const struct sink *sink)
{
	return export_dump(from, sink, &(struct dump_form){.jemalloc = true});
}

struct error *export_jemalloc_live(const struct exported *from, const struct sink *sink)
{
	return export_dump(from, sink, &(struct dump_form){.jemalloc = true, .live_only = true});
}
