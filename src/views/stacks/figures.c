/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/stacks/figures.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "views/report/page.h"
#include "views/report/recorded_columns.h"
#include "views/report/text_parts.h"
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

struct stacks_subject {
	const struct profile *profile;
	enum metric metric;
};

enum { FILTER, METRIC, WHOLE };
static const struct column metric_columns[] = {[FILTER] = FILTER_COLUMN,
	[METRIC] = {"metric", COLUMN_TEXT, .says = "what the figures are: `peak_bytes`…"},
	[WHOLE] = {"whole", COLUMN_INTEGER,
		.says = "the process's figure of that metric, whatever the filter; in a comparison "
			"that of the base, unless that is 0"},
	COLUMNS_END};

static void metric_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct stacks_subject *subject = context;
	(void)row;
	if (column == FILTER)
		cell_take_filter(ret, subject->profile->filter);
	else if (column == METRIC)
		ret->text = metric_name(subject->metric);
	else
		ret->number = profile_whole(subject->profile, subject->metric);
}

const struct table_type stacks_metric_type = {.columns = metric_columns, .cell = metric_cell};

static void put_head(const struct profile *profile, enum metric metric, struct answer *answer)
{
	const struct stacks_subject subject = {profile, metric};
	struct text *prose = answer_prose(answer);
	report_source(profile->model, NULL, &profile->notes, answer);
	answer_record_of(answer, &stacks_metric_type, &subject);
	if (!prose)
		return;
	text_heading(profile->model, prose);
	text_notes(&profile->notes, prose);
}

struct error *stacks_answer(const struct profile *profile, const struct view_options *options,
	const struct answer_type *type, stacks_put *put, void *context, const struct sink *sink)
{
	struct answer *answer = view_answer_create(options, sink);
	if (!answer)
		return error_no_memory();
	answer_begin(answer, type);
	put_head(profile, options->sort, answer);
	struct error *error = put(context, answer);
	if (!error)
		error = answer_end(answer);
	answer_destroy(answer);
	return error;
}

void figure_cell(
	const struct profile *profile, struct figure figure, bool is_base, struct cell *ret)
{
	ret->signed_number = figure_value(figure);
	ret->number = figure.base;
	if (is_base && !profile->base)
		ret->state = CELL_ABSENT;
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
	ret->signed_number = rows->whole ? (int64_t)metric_of_site(metric, rows->sums->sums)
					 : row_value(rows->sums, metric);
	if (!metric_is_known(metric, rows->recording))
		ret->state = CELL_UNKNOWN;
}

const struct table_type sums_type = {
	.name = "flat", .columns = sum_columns, .cell = figures_sum_cell};

void sums_cell(struct sums_rows *rows, const struct row *sums, struct cell *ret)
{
	rows->sums = sums;
	cell_take_record(ret, &sums_type, rows);
	if (!sums)
		ret->state = CELL_UNKNOWN;
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

static void figures_spot_cell(const void *context, size_t row, unsigned column, struct cell *ret)
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

const struct table_type spot_type = {.name = "spot",
	.says = "a function, line, address, file or module; of several frames it has what the "
		"first "
		"one has",
	.columns = spot_columns,
	.cell = figures_spot_cell};

const struct table_type *const spot_parts[] = {&spot_type, NULL};

void spot_cell(struct spot_rows *rows, const struct spot *spot, struct cell *ret)
{
	rows->spot = spot;
	cell_take_record(ret, &spot_type, rows);
}
