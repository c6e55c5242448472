/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speedscope's own format (https://www.speedscope.app/file-format-schema.json): a sampled profile
 * for each figure that is known, which share their frames; the heaviest question comes first.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "views/export.h"
#include "views/export/export_frames.h"
#include "views/report/json_parts.h"

/* A frame of no code stands for rows without one. */
#define NO_STACK 0u
#define FIRST_FRAME 1u

struct speedscope {
	const struct exported *from;
	const struct rows *rows;
	struct json *json;
	struct export_frames frames;
	struct text name;
};

static void speedscope_deinit(struct speedscope *at)
{
	free(at->json);
	export_frames_deinit(&at->frames);
	text_deinit(&at->name);
}

static struct error *put_stack(struct speedscope *at, const struct row *row)
{
	json_array_begin(at->json);
	for (size_t i = row->depth; i > 0; i--) {
		uint32_t number;
		struct error *error =
			export_frames_number(&at->frames, row->frames[i - 1], &number);
		if (error)
			return error;
		json_u64(at->json, FIRST_FRAME + number);
	}
	if (!row->depth)
		json_u64(at->json, NO_STACK);
	json_array_end(at->json);
	return NULL;
}

static uint64_t sum_of(const struct rows *rows, enum metric metric)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < rows->rows.len; i++)
		sum += metric_of_site(metric, rows->rows.data[i].sums);
	return sum;
}

static struct error *put_profile(struct speedscope *at, enum metric metric, uint64_t sum)
{
	struct json *json = at->json;
	const struct row_vec *rows = &at->rows->rows;
	struct error *error = NULL;
	json_object_begin(json);
	json_put_string(json, "type", "sampled");
	json_put_string(json, "name", metric_title(metric));
	json_put_string(json, "unit", metric_is_bytes(metric) ? "bytes" : "none");
	json_put_u64(json, "startValue", 0);
	json_put_u64(json, "endValue", sum);
	json_key(json, "samples");
	json_array_begin(json);
	for (size_t i = 0; !error && i < rows->len; i++)
		if (metric_of_site(metric, rows->data[i].sums))
			error = put_stack(at, &rows->data[i]);
	if (error)
		return error;
	json_array_end(json);
	json_key(json, "weights");
	json_array_begin(json);
	for (size_t i = 0; i < rows->len; i++)
		if (metric_of_site(metric, rows->data[i].sums))
			json_u64(json, metric_of_site(metric, rows->data[i].sums));
	json_array_end(json);
	json_object_end(json);
	return NULL;
}

static struct error *put_profiles(struct speedscope *at)
{
	static const enum metric order[] = {METRIC_PEAK_BYTES, METRIC_LIVE_BYTES,
		METRIC_ALLOCATED_BYTES, METRIC_KEPT_BYTES, METRIC_PEAK_BLOCKS, METRIC_LIVE_BLOCKS,
		METRIC_ALLOCATIONS, METRIC_KEPT_BLOCKS, METRIC_TEMPORARY, METRIC_FAILED};
	const struct recording *recording = model_recording(at->from->profile->model);
	struct error *error = NULL;
	for (size_t i = 0; !error && i < sizeof(order) / sizeof(order[0]); i++) {
		uint64_t sum = sum_of(at->rows, order[i]);
		bool kept = order[i] == METRIC_KEPT_BYTES || order[i] == METRIC_KEPT_BLOCKS;
		bool sampled = order[i] == METRIC_TEMPORARY && recording->sample_bytes;
		if (metric_is_known(order[i], recording) && !sampled &&
			(!kept || recording->range.part) && (sum || i < 3))
			error = put_profile(at, order[i], sum);
	}
	return error;
}

static struct error *put_frames(struct speedscope *at)
{
	struct json *json = at->json;
	json_key(json, "shared");
	json_object_begin(json);
	json_key(json, "frames");
	json_array_begin(json);
	json_object_begin(json);
	json_put_string(json, "name", EXPORT_NO_STACK);
	json_object_end(json);
	for (size_t i = 0; i < at->frames.list.len; i++) {
		const struct shown_frame *frame = at->frames.list.data[i];
		json_object_begin(json);
		json_key(json, "name");
		struct error *error = export_json_name(json, &at->name, frame);
		if (error)
			return error;
		if (frame->file) {
			json_put_string(json, "file", frame->file);
			json_put_u64(json, "line", frame->line);
		} else if (frame->module_path) {
			json_put_string(json, "file", frame->module_path);
		}
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
	return NULL;
}

struct error *export_speedscope(const struct exported *from, const struct sink *sink)
{
	_cleanup_(speedscope_deinit) struct speedscope at = {
		.from = from, .rows = profile_rows(from->profile)};
	at.json = malloc(sizeof(*at.json));
	if (!at.json)
		return error_no_memory();
	json_init(at.json, sink->write, sink->ctx);
	json_object_begin(at.json);
	json_put_string(at.json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_put_string(at.json, "exporter", "heapwise");
	export_add_command(&at.name, from->profile->model);
	json_put_string(at.json, "name", at.name.data ? at.name.data : "");
	json_put_u64(at.json, "activeProfileIndex", 0);
	json_key(at.json, "profiles");
	json_array_begin(at.json);
	struct error *error = put_profiles(&at);
	if (error)
		return error;
	json_array_end(at.json);
	error = put_frames(&at);
	if (error)
		return error;
	json_object_end(at.json);
	json_finish(at.json);
	export_omit(from, "speedscope", EXPORT_MOMENTS | EXPORT_THREADS | EXPORT_KINDS);
	return NULL;
}
