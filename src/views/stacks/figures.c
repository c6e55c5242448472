/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/stacks/figures.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "table/answer.h"
#include "views/report/json_parts.h"
#include "views/stacks/frames.h"

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

#define SUM(metric, name, unit)                                                                    \
	[metric] = {name, COLUMN_SIGNED, unit, .says = "as of a site; null: not known"}
static const struct column sum_columns[] = {SUM(METRIC_ALLOCATIONS, "allocations", UNIT_COUNT),
	SUM(METRIC_ALLOCATED_BYTES, "allocated_bytes", UNIT_BYTES),
	SUM(METRIC_LIVE_BYTES, "live_bytes", UNIT_BYTES),
	SUM(METRIC_LIVE_BLOCKS, "live_blocks", UNIT_COUNT),
	SUM(METRIC_KEPT_BYTES, "kept_bytes", UNIT_BYTES),
	SUM(METRIC_KEPT_BLOCKS, "kept_blocks", UNIT_COUNT),
	SUM(METRIC_PEAK_BYTES, "peak_bytes", UNIT_BYTES),
	SUM(METRIC_PEAK_BLOCKS, "peak_blocks", UNIT_COUNT),
	SUM(METRIC_TEMPORARY, "temporary", UNIT_COUNT), SUM(METRIC_FAILED, "failed", UNIT_COUNT),
	COLUMNS_END};
static_assert(ARRAY_SIZE(sum_columns) == METRICS + 1, "each metric has a column");

static void figures_sum_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct sums_rows *rows = context;
	enum metric metric = (enum metric)column;
	(void)row;
	ret->signed_number = rows->whole ? (int64_t)metric_of_site(metric, &rows->sums->sums)
					 : row_value(rows->sums, metric);
	if (!metric_is_known(metric, rows->recording))
		ret->state = CELL_UNKNOWN;
}

const struct table_type sums_type = {
	.name = "flat", .columns = sum_columns, .cell = figures_sum_cell};

void json_put_sums(struct json *json, const char *key, const struct row *sums,
	const struct recording *recording)
{
	const struct sums_rows rows = {recording, sums, false};
	const struct table table = {&sums_type, &rows, 1, .limit = 1};
	json_key(json, key);
	if (!sums) {
		json_null(json);
		return;
	}
	json_object_begin(json);
	json_put_row(json, &table, 0);
	json_object_end(json);
}

enum { NAME, SHORT, KIND, LANGUAGE, INSTRUCTION, FUNCTION, SOURCE, LINE, MODULE, OFFSET };
static const struct column spot_columns[] = {
	[NAME] = {"name", COLUMN_TEXT, .says = "without the module"},
	[SHORT] = {"short", COLUMN_TEXT,
		.says = "the same as text shows it, where that is shorter; or null"},
	FRAME_KIND_COLUMNS(KIND), /* of addresses */
	[FUNCTION] = {"function", COLUMN_TEXT,
		.says = "of functions, lines and addresses; or null"},
	[SOURCE] = {"file", COLUMN_TEXT, .says = "the source file; or null"},
	[LINE] = {"line", COLUMN_INTEGER, .says = "of lines and addresses; or null"},
	[MODULE] = {"module", COLUMN_TEXT,
		.says = "the path of the executable or library; or null"},
	[OFFSET] = {"offset", COLUMN_ADDRESS,
		.says = "in the module, of addresses and of code without a name; or null"},
	COLUMNS_END};

static void spot_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct spot_rows *rows = context;
	const struct spot *spot = rows->spot;
	const struct shown_frame *frame = spot ? spot->frame : NULL;
	enum grain grain = rows->grain;
	bool has_function = grain != GRAIN_FILES && grain != GRAIN_MODULES;
	bool has_line = grain == GRAIN_LINES || grain == GRAIN_ADDRESSES;
	bool has_offset = grain == GRAIN_ADDRESSES || (has_function && frame && !frame->function);
	(void)row;
	switch (column) {
	case NAME:
		ret->text = spot ? spot->name : NULL;
		break;
	case SHORT:
		ret->text = spot && strcmp(spot->brief, spot->name) != 0 ? spot->brief : NULL;
		break;
	case KIND:
	case LANGUAGE:
	case INSTRUCTION:
		if (frame && grain == GRAIN_ADDRESSES)
			frame_kind_cell(frame, column - KIND, ret);
		else
			ret->state = CELL_ABSENT;
		break;
	case FUNCTION:
		ret->text = frame && has_function ? frame->function : NULL;
		break;
	case SOURCE:
		ret->text = frame && grain != GRAIN_MODULES ? frame->file : NULL;
		break;
	case LINE:
		ret->number = frame ? frame->line : 0;
		ret->state = frame && has_line && frame->file ? CELL_KNOWN : CELL_UNKNOWN;
		break;
	case MODULE:
		ret->text = frame ? frame->module_path : NULL;
		break;
	default:
		ret->number = frame ? frame->offset : 0;
		ret->state = frame && has_offset && frame->module && !frame->unplaced
				     ? CELL_KNOWN
				     : CELL_UNKNOWN;
	}
}

const struct table_type spot_type = {.name = "spot", .columns = spot_columns, .cell = spot_cell};

void json_put_spot(struct json *json, enum grain grain, const struct spot *spot)
{
	const struct spot_rows rows = {grain, spot};
	const struct table table = {&spot_type, &rows, 1, .limit = 1};
	json_put_row(json, &table, 0);
}
