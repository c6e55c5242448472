/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What DHAT writes (Valgrind 3.19, dhat/dh_main.c, file version 2), for dh_view.html and Firefox's
 * profiler. The innermost frame is the allocation function, which makes stacks differ that differ
 * in it alone: the viewer takes no stack twice. Who accessed blocks is not known ("bkacc" false).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "views/export.h"
#include "views/export/export_frames.h"
#include "views/report/json_parts.h"

/* Frame 0 is "[root]", then come the allocation functions. */
#define FIRST_FRAME (1u + ALLOC_KINDS)
#define NS_PER_US 1000u
/* What the viewer calls short-lived, in µs. */
#define SHORT_US 500u

struct dhat {
	const struct exported *from;
	struct json *json;
	struct export_frames frames;
	struct text name;
	bool whole;                /* what was live at the peak and at the end is known too */
	enum metric blocks, bytes; /* that stand for what was allocated in all */
};

static void dhat_deinit(struct dhat *at)
{
	free(at->json);
	export_frames_deinit(&at->frames);
	text_deinit(&at->name);
}

static void choose_figures(struct dhat *at)
{
	const struct recording *recording = model_recording(at->from->profile->model);
	bool allocations = metric_is_known(METRIC_ALLOCATED_BYTES, recording);
	bool live = metric_is_known(METRIC_LIVE_BYTES, recording);
	bool peak = metric_is_known(METRIC_PEAK_BYTES, recording);
	at->whole = allocations && live && peak;
	at->blocks = allocations ? METRIC_ALLOCATIONS
		     : live      ? METRIC_LIVE_BLOCKS
				 : METRIC_PEAK_BLOCKS;
	at->bytes = allocations ? METRIC_ALLOCATED_BYTES
		    : live      ? METRIC_LIVE_BYTES
				: METRIC_PEAK_BYTES;
}

static void export_dhat_put_head(struct dhat *at)
{
	const struct model *model = at->from->profile->model;
	struct json *json = at->json;
	json_put_u64(json, "dhatFileVersion", 2);
	json_put_string(json, "mode", "heap");
	json_put_string(json, "verb",
		at->bytes == METRIC_LIVE_BYTES   ? "Live"
		: at->bytes == METRIC_PEAK_BYTES ? "Live at the peak"
						 : "Allocated");
	json_put_bool(json, "bklt", at->whole);
	json_put_bool(json, "bkacc", false);
	json_put_string(json, "tu", "µs");
	json_put_string(json, "Mtu", "s");
	json_put_u64(json, "tuth", SHORT_US);
	text_clear(&at->name);
	export_add_command(&at->name, model);
	json_put_string(json, "cmd", at->name.data ? at->name.data : "");
	json_put_u64(json, "pid", model_target(model)->pid);
	json_put_u64(json, "te", model_recording(model)->duration_ns / NS_PER_US);
	if (at->whole)
		json_put_u64(json, "tg", model_totals(model)->peak_time_ns / NS_PER_US);
}

static struct error *put_frames(struct dhat *at, const struct row *row)
{
	json_key(at->json, "fs");
	json_array_begin(at->json);
	json_u64(at->json, 1u + row->sums->kind);
	for (size_t i = 0; i < row->depth; i++) {
		uint32_t number;
		if (export_is_called(row, row->frames[i]))
			continue;
		struct error *error = export_frames_number(&at->frames, row->frames[i], &number);
		if (error)
			return error;
		json_u64(at->json, FIRST_FRAME + number);
	}
	json_array_end(at->json);
	return NULL;
}

/* The highest that is known of a place: at the peak, at the end, or its largest block alone. */
static void put_highest(struct json *json, const struct site *sums)
{
	uint64_t bytes = sums->peak_bytes, blocks = sums->peak_blocks;
	if (sums->live_bytes > bytes || !blocks) {
		bytes = sums->live_bytes;
		blocks = sums->live_blocks;
	}
	if (sums->allocations && (sums->max_size > bytes || !blocks)) {
		bytes = sums->max_size;
		blocks = 1;
	}
	json_put_u64(json, "mb", bytes);
	json_put_u64(json, "mbk", blocks);
}

static struct error *put_point(struct dhat *at, const struct row *row)
{
	struct json *json = at->json;
	const struct site *sums = row->sums;
	json_object_begin(json);
	json_put_u64(json, "tb", metric_of_site(at->bytes, sums));
	json_put_u64(json, "tbk", metric_of_site(at->blocks, sums));
	if (at->whole) {
		put_highest(json, sums);
		json_put_u64(json, "gb", sums->peak_bytes);
		json_put_u64(json, "gbk", sums->peak_blocks);
		json_put_u64(json, "eb", sums->live_bytes);
		json_put_u64(json, "ebk", sums->live_blocks);
	}
	struct error *error = put_frames(at, row);
	json_object_end(json);
	return error;
}

static bool has_figures(const struct dhat *at, const struct site *sums)
{
	return metric_of_site(at->blocks, sums) || metric_of_site(at->bytes, sums) ||
	       (at->whole && (sums->peak_blocks || sums->live_blocks));
}

/* "0x4012AB: main (app.c:12)": the address is the call's, as Valgrind has it. */
static void export_dhat_add_frame(struct text *out, const struct shown_frame *frame)
{
	if (frame->mark == MARK_NONE && frame->address)
		text_printf(out, "0x%" PRIX64 ": ", frame->address - 1);
	if (frame->mark != MARK_NONE || frame->function)
		export_add_name(out, frame);
	else
		text_add(out, "???");
	if (frame->file)
		text_printf(out, " (%s:%" PRIu32 ")", frame->file, frame->line);
	else if (frame->module_path)
		text_printf(out, " (in %s)", frame->module_path);
}

static struct error *put_table(struct dhat *at)
{
	json_key(at->json, "ftbl");
	json_array_begin(at->json);
	json_string(at->json, "[root]");
	for (unsigned kind = 0; kind < ALLOC_KINDS; kind++)
		json_string(at->json, kind == KIND_UNKNOWN
					      ? "[allocation function]"
					      : alloc_kind_name((enum alloc_kind)kind));
	for (size_t i = 0; i < at->frames.list.len; i++) {
		text_clear(&at->name);
		export_dhat_add_frame(&at->name, at->frames.list.data[i]);
		if (at->name.failed)
			return error_no_memory();
		json_string(at->json, at->name.data ? at->name.data : "");
	}
	json_array_end(at->json);
	return NULL;
}

static void export_dhat_describe_losses(const struct dhat *at)
{
	if (!metric_is_known(at->blocks, model_recording(at->from->profile->model)))
		text_add(at->from->lost,
			"The numbers of blocks are unknown: \"tbk\" is 0 throughout.\n");
	export_omit(at->from, "DHAT files",
		EXPORT_MOMENTS | EXPORT_THREADS | EXPORT_TEMPORARY | EXPORT_FAILED);
	if (at->whole)
		text_add(at->from->lost,
			"Lifetimes of blocks ('tl') are unknown, and the highest live memory of an "
			"allocation site (\"Max\") is a lower bound: the largest of its memory at "
			"the peak, at the end, and its largest block.\n");
	else
		text_printf(at->from->lost,
			"Live memory at the peak or at the end is unknown: \"Total\" is "
			"%s.\n",
			metric_name(at->bytes));
}

struct error *export_dhat(const struct exported *from, const struct sink *sink)
{
	_cleanup_(dhat_deinit) struct dhat at = {.from = from};
	const struct rows *rows = profile_rows(from->profile);
	text_init(&at.name);
	at.json = malloc(sizeof(*at.json));
	if (!at.json)
		return error_no_memory();
	choose_figures(&at);
	json_init(at.json, sink->write, sink->ctx);
	json_object_begin(at.json);
	export_dhat_put_head(&at);
	json_key(at.json, "pps");
	json_array_begin(at.json);
	struct error *error = NULL;
	for (size_t i = 0; !error && i < rows->rows.len; i++)
		if (has_figures(&at, rows->rows.data[i].sums))
			error = put_point(&at, &rows->rows.data[i]);
	json_array_end(at.json);
	if (!error)
		error = put_table(&at);
	if (error)
		return error;
	json_object_end(at.json);
	json_finish(at.json);
	export_dhat_describe_losses(&at);
	return NULL;
}
