/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/trend_view.h"

#include <assert.h>

#include "analysis/diff.h"
#include "analysis/filter.h"
#include "analysis/profile.h"
#include "analysis/trend.h"
#include "base/cleanup.h"
#include "views/report/figure_text.h"
#include "views/report/paint.h"
#include "views/report/recorded_columns.h"
#include "views/report/site_columns.h"
#include "views/report/text_parts.h"

#define TEXT_ROWS 10u

static_assert(TREND_MODELS_MAX <= FRAME_KEYS_SIDES_MAX, "as many as can be matched");

struct trend_page {
	const struct trend *trend;
	const struct recorded *sides;
	const struct view_options *options;
	struct site_rows *site; /* of the row that is laid out */
	size_t limit;
};

/* Of values and of steps, one a row. */
static void value_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)column;
	ret->number = ((const uint64_t *)context)[row];
}

static const struct table_type value_type = {
	.columns = (const struct column[]){{"", COLUMN_INTEGER, .says = "of a recording"},
		COLUMNS_END},
	.cell = value_cell};

static void step_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const uint64_t *values = context;
	(void)column;
	ret->signed_number = (int64_t)(values[row + 1] - values[row]);
}

static const struct table_type step_type = {
	.columns =
		(const struct column[]){{"", COLUMN_SIGNED, .says = "of a recording"}, COLUMNS_END},
	.cell = step_cell};

#define VALUE_COLUMNS                                                                              \
	{"values", COLUMN_LIST, .says = "one a recording", .nested = &value_type},                 \
	{                                                                                          \
		"steps", COLUMN_LIST, .says = "the differences between neighbours",                \
				      .nested = &step_type                                         \
	}

/* The first of these two columns is 0. */
static void take_values(
	const struct trend *trend, const uint64_t *values, unsigned column, struct cell *ret)
{
	ret->nested = (struct table){column ? &step_type : &value_type, values,
		trend->count - column, .limit = TABLE_NO_LIMIT};
}

static const struct column total_columns[] = {
	{"grows", COLUMN_BOOLEAN, .says = "it does so steadily"}, VALUE_COLUMNS, COLUMNS_END};

static void total_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct trend *trend = context;
	(void)row;
	if (column)
		take_values(trend, trend->totals, column - 1, ret);
	else
		ret->truth = trend->total_grows;
}

static const struct table_type total_type = {.columns = total_columns, .cell = total_cell};

enum { METRIC, RECORDINGS, FILTER, VERDICT, TOTAL };
static const struct column head_columns[] = {
	[METRIC] = {"metric", COLUMN_TEXT, .says = "what all figures are: `live_bytes`…"},
	[RECORDINGS] = {"recordings", COLUMN_TABLE, .says = "the oldest first",
		.nested = &recorded_type},
	[FILTER] = FILTER_COLUMN,
	[VERDICT] = VERDICT_COLUMN,
	[TOTAL] = {"total", COLUMN_RECORD, .says = "of the processes", .nested = &total_type},
	COLUMNS_END};

static void head_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct trend_page *page = context;
	const struct trend *trend = page->trend;
	(void)row;
	switch (column) {
	case METRIC:
		ret->text = metric_name(trend->metric);
		break;
	case RECORDINGS:
		ret->nested = (struct table){
			&recorded_type, page->sides, trend->count, .limit = TABLE_NO_LIMIT};
		break;
	case FILTER:
		cell_take_filter(ret, page->options->filter);
		break;
	case VERDICT:
		cell_take_lines(ret, &trend->verdict);
		break;
	default:
		cell_take_record(ret, &total_type, trend);
	}
}

static void trend_view_head_text(const void *context, size_t row, struct text *out)
{
	const struct trend_page *page = context;
	const struct trend *trend = page->trend;
	(void)row;
	for (size_t i = 0; i < trend->count; i++) {
		text_add_shown(out, page->sides[i].label, 400);
		text_printf(out, ": %s ", metric_name(trend->metric));
		diff_add_value(out, trend->metric, trend->totals[i]);
		text_add(out, "\n");
	}
	text_verdict(&trend->verdict, out);
}

static const struct table_type head_type = {
	.columns = head_columns, .cell = head_cell, .row_text = trend_view_head_text};

enum { KIND, VALUES, STACK = VALUES + 2 };
static const struct column row_columns[] = {
	[KIND] = KIND_COLUMN, VALUE_COLUMNS, STACK_COLUMN, COLUMNS_END};

static void trend_view_row_cell(
	const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct trend_page *page = context;
	const struct trend_row *row = &page->trend->growing.data[number];
	if (column == KIND)
		ret->text = alloc_kind_name(row->row->sums->kind);
	else if (column < STACK)
		take_values(page->trend, row->values, column - VALUES, ret);
	else
		site_stack_cell(page->site, &row->row, ret);
}

/* "1 MiB → 2 MiB (+1 MiB) → 3 MiB (+1 MiB)" */
static void add_steps(const struct trend *trend, const uint64_t *values, struct text *out)
{
	for (size_t i = 0; i < trend->count; i++) {
		text_add(out, i ? " → " : "  ");
		diff_add_value(out, trend->metric, values[i]);
		if (!i)
			continue;
		text_add(out, " (");
		diff_add_change(out, trend->metric, (int64_t)(values[i] - values[i - 1]));
		text_add(out, ")");
	}
}

static void trend_view_row_text(const void *context, size_t number, struct text *out)
{
	const struct trend_page *page = context;
	const struct trend *trend = page->trend;
	const struct trend_row *row = &trend->growing.data[number];
	text_add(out, "  ");
	diff_add_change(
		out, trend->metric, (int64_t)(row->values[trend->count - 1] - row->values[0]));
	add_steps(trend, row->values, out);
	row_add_kind(row->row->sums->kind, out);
	text_row_stack(row->row, page->options->all_frames, out);
}

static const struct table_type row_type = {.name = "rows",
	.total = "rows_total",
	.says = "allocation sites that grow steadily, the largest growth first, complete unless "
		"`--limit` "
		"is given; the stack is of the newest recording that has the site",
	.columns = row_columns,
	.cell = trend_view_row_cell,
	.row_text = trend_view_row_text};

const struct answer_type trend_answer_type = {.schema = "heapwise.trend/1",
	.from = "heapwise diff --trend",
	.says = "what grows steadily over several recordings ([comparisons](../diff.md))",
	.tables = (const struct table_type *const[]){&head_type, &row_type, NULL},
	.main = &row_type,
	.parts = (const struct table_type *const[]){
		&recorded_type, &report_target_type, &report_recording_type, &frame_type, NULL}};

static void trend_view_add_title(const struct trend_page *page, struct text *out)
{
	size_t count = page->trend->growing.len;
	if (!count)
		return;
	text_add_char(out, '\n');
	paint_begin(out, page->options->colour, PAINT_TITLE);
	text_add(out, "Growing steadily (");
	if (count > page->limit)
		text_printf(out, "%zu of ", page->limit);
	text_printf(out, "%s%s", FMT_COUNT(count),
		count == 1 ? " allocation site)" : " allocation sites)");
	paint_end(out, page->options->colour, PAINT_TITLE);
	text_add(out, "\n");
}

static struct error *write_page(struct trend_page *page, const struct sink *sink)
{
	struct answer *answer = view_answer_create(page->options, sink);
	if (!answer)
		return error_no_memory();
	page->limit = answer_limit(answer, page->options->limit, TEXT_ROWS);
	const struct table rows = {&row_type, page, page->trend->growing.len, .limit = page->limit};
	answer_begin(answer, &trend_answer_type);
	answer_record_of(answer, &head_type, page);
	if (answer_prose(answer))
		trend_view_add_title(page, answer_prose(answer));
	answer_table(answer, &rows);
	struct error *error = answer_end(answer);
	answer_destroy(answer);
	return error;
}

struct profiles {
	size_t count;
	struct profile of[TREND_MODELS_MAX];
};

static void profiles_deinit(struct profiles *profiles)
{
	for (size_t i = 0; i < profiles->count; i++)
		profile_deinit(&profiles->of[i]);
}

struct error *trend_view_write(const struct model *const *models, const char *const *labels,
	size_t count, bool same_recording, const struct view_options *options,
	const struct sink *sink)
{
	_cleanup_(profiles_deinit) struct profiles profiles = {.count = 0};
	_cleanup_(trend_deinit) struct trend trend;
	trend_init(&trend);
	struct match_side sides[TREND_MODELS_MAX];
	for (; profiles.count < count; profiles.count++) {
		size_t i = profiles.count;
		profile_init(&profiles.of[i]);
		struct error *error = profile_check_heap(models[i]);
		if (!error)
			error = profile_build(
				models[i], options->all_frames, options->filter, &profiles.of[i]);
		sides[i] = (struct match_side){models[i], profile_rows(&profiles.of[i])};
		if (error) {
			profile_deinit(&profiles.of[i]);
			return error;
		}
	}
	/* A place may be missing of some of them, not of all. */
	size_t left = 0;
	for (size_t i = 0; i < count; i++)
		left += profile_rows(&profiles.of[i])->rows.len;
	struct error *error =
		left || !count ? NULL
			       : filter_check_left(options->filter, &profiles.of[count - 1].all,
					 profile_rows(&profiles.of[count - 1]));
	if (error)
		return error;
	error = trend_build(sides, count, options->sort, same_recording, &trend);
	if (error)
		return error;
	struct recorded recorded[TREND_MODELS_MAX];
	for (size_t i = 0; i < count; i++)
		recorded[i] = (struct recorded){.model = models[i], .label = labels[i]};
	struct frame_rows frames = {.frames = NULL};
	struct site_rows site = {.frames = &frames};
	struct trend_page page = {
		.trend = &trend, .sides = recorded, .options = options, .site = &site};
	error = write_page(&page, sink);
	frame_rows_deinit(&frames);
	return error;
}
