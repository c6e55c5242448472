/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/stacks/figures.h"

#include <string.h>

#include "base/cleanup.h"
#include "views/report/json_parts.h"

void text_add_figure(struct text *out, enum metric metric, int64_t value, bool compared)
{
	uint64_t amount = value < 0 ? -(uint64_t)value : (uint64_t)value;
	if (value < 0)
		text_add_char(out, '-');
	else if (compared && value > 0)
		text_add_char(out, '+');
	if (metric_is_bytes(metric))
		text_add_bytes(out, amount);
	else
		text_add_count(out, amount);
}

void text_add_figure_cell(
	struct text *out, enum metric metric, int64_t value, bool compared, int width)
{
	_cleanup_(text_deinit) struct text cell;
	text_init(&cell);
	text_add_figure(&cell, metric, value, compared);
	text_printf(out, "%*s", width, cell.data ? cell.data : "");
}

void text_add_percent(struct text *out, int64_t value, uint64_t whole)
{
	if (!whole)
		text_printf(out, "%8s", "");
	else
		text_printf(out, "%7.1f%%", 100.0 * (double)value / (double)whole);
}

void json_put_profile(struct json *json, const struct profile *profile, enum metric metric)
{
	json_put_target(json, model_target(profile->model));
	json_put_recording(json, profile->model, NULL);
	json_put_lines(json, "notes", &profile->notes);
	json_put_filter(json, profile->filter);
	json_put_string(json, "metric", metric_name(metric));
	json_put_u64(json, "whole", profile_whole(profile, metric));
}

void json_put_sums(struct json *json, const char *key, const struct row *sums,
	const struct recording *recording)
{
	json_key(json, key);
	if (!sums) {
		json_null(json);
		return;
	}
	json_object_begin(json);
	for (int i = 0; i < METRICS; i++) {
		json_key(json, metric_name((enum metric)i));
		if (!metric_is_known((enum metric)i, recording))
			json_null(json);
		else
			json_i64(json, row_value(sums, (enum metric)i));
	}
	json_object_end(json);
}

void json_put_spot(struct json *json, enum grain grain, const struct spot *spot)
{
	json_put_string(json, "name", spot ? spot->name : NULL);
	json_put_string(
		json, "short", spot && strcmp(spot->brief, spot->name) != 0 ? spot->brief : NULL);
	const struct shown_frame *frame = spot ? spot->frame : NULL;
	bool has_function = grain != GRAIN_FILES && grain != GRAIN_MODULES;
	bool has_line = grain == GRAIN_LINES || grain == GRAIN_ADDRESSES;
	json_put_string(json, "function", frame && has_function ? frame->function : NULL);
	json_put_string(json, "file", frame && grain != GRAIN_MODULES ? frame->file : NULL);
	json_key(json, "line");
	if (frame && has_line && frame->file)
		json_u64(json, frame->line);
	else
		json_null(json);
	json_put_string(json, "module", frame ? frame->module_path : NULL);
	bool has_offset = grain == GRAIN_ADDRESSES || (has_function && frame && !frame->function);
	json_put_hexadecimal(json, "offset", frame ? frame->offset : 0,
		frame && has_offset && frame->module && !frame->unplaced);
}
