/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The view realloc:
 *
 *   65,536 reallocs, 65,535 grew, 0 shrank  up to 2.00 GiB copied  usually by 16 B, × 1.00 in the
 * mean 1 chain, the longest of 65,536 from 16 B to 1.00 MiB  step by step  at table_add  table.c:12
 * [app]
 */
#include "analysis/reallocs.h"

#include "base/util.h"
#include "views/compare/change_columns.h"
#include "views/compare/change_view.h"
#include "views/report/figure_text.h"
#include "views/report/head.h"
#include "views/report/member_columns.h"
#include "views/report/recorded_columns.h"
#include "views/report/report_answers.h"
#include "views/report/site_columns.h"
#include "views/report/text_parts.h"

static void reallocs_add_figures(const struct realloc_row *row, struct text *out)
{
	const struct realloc_site *sums = &row->sums;
	text_printf(out, "  %s%s%s grew, %s shrank  up to %s copied", FMT_COUNT(sums->calls),
		sums->calls == 1 ? " realloc, " : " reallocs, ", FMT_COUNT(sums->grown),
		FMT_COUNT(sums->shrunk), FMT_BYTES(sums->copied_bytes));
	if (sums->grown) {
		bool usual = sums->step_count * 2 >= sums->grown;
		text_printf(out, "%s%s%s, factor %.2f (geometric mean)",
			usual ? "  usually by " : "  by ",
			FMT_BYTES(usual ? sums->step_bytes : sums->grown_bytes / sums->grown),
			usual ? "" : " on average", row->factor);
	}
	text_printf(out, "\n    %s%s, the longest of %s from %s to %s%s", FMT_COUNT(sums->chains),
		sums->chains == 1 ? " chain" : " chains", FMT_COUNT(sums->longest),
		FMT_BYTES(sums->longest_from), FMT_BYTES(sums->longest_to),
		row->stepwise ? "  step by step  at\n" : "  at\n");
}

enum { MEAN_FACTOR = 12, STEPWISE };
#define SUM(name, member, unit, what)                                                              \
	{                                                                                          \
		name, COLUMN_INTEGER, unit, .says = what, COLUMN_OF(realloc_row, member)           \
	}
static const struct column sum_columns[] = {
	SUM("calls", sums.calls, UNIT_COUNT, "successful reallocs"),
	SUM("grown", sums.grown, UNIT_COUNT, "of these, to more"),
	SUM("shrunk", sums.shrunk, UNIT_COUNT, "of these, to less"),
	SUM("grown_bytes", sums.grown_bytes, UNIT_BYTES, "that blocks grew by"),
	SUM("copied_bytes", sums.copied_bytes, UNIT_BYTES, "at most"),
	SUM("chains", sums.chains, UNIT_COUNT, "blocks that were reallocated more than twice"),
	SUM("longest_chain", sums.longest, UNIT_COUNT, "reallocs of one of them"),
	SUM("longest_from", sums.longest_from, UNIT_BYTES, "where that began"),
	SUM("longest_to", sums.longest_to, UNIT_BYTES, "where it ended"),
	SUM("doublings", doublings, UNIT_COUNT, "that it would have needed"),
	SUM("step_bytes", sums.step_bytes, UNIT_BYTES, "the most usual growth"),
	SUM("step_count", sums.step_count, UNIT_COUNT, "how often that was"),
	[MEAN_FACTOR] = {"mean_factor", COLUMN_REAL,
		.says = "geometric mean of new and old size where blocks grew",
		COLUMN_OF(realloc_row, factor)},
	[STEPWISE] = FLAG_OF(realloc_row, stepwise, "it is blamed"), COLUMNS_END};
static const struct table_type sum_type = {
	.columns = sum_columns, .row_bytes = sizeof(struct realloc_row)};

struct realloc_table {
	const struct page *page;
	const struct realloc_row *rows;
	struct site_rows *site; /* of the row that is laid out */
};

enum { SUMS, SITE };
static const struct column columns[] = {[SUMS] = {"", COLUMN_RECORD, .nested = &sum_type},
	[SITE] = {"", COLUMN_RECORD, .nested = &site_type},
	COLUMNS_END};

static void reallocs_cell_of(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct realloc_table *table = context;
	if (column == SITE) {
		site_cell(table->site, &table->rows[row].row, ret);
		return;
	}
	ret->nested = (struct table){&sum_type, table->rows, 1, .limit = 1};
	ret->row = row;
}

static void reallocs_row_text(const void *context, size_t row, struct text *out)
{
	const struct realloc_table *table = context;
	reallocs_add_figures(&table->rows[row], out);
	text_row_stack(table->rows[row].row, table->page->options->all_frames, out);
}

const struct table_type report_reallocs_type = {.name = "reallocs",
	.total = "reallocs_total",
	.says = "view `realloc`: sites, those first that may have copied most",
	.columns = columns,
	.cell = reallocs_cell_of,
	.row_text = reallocs_row_text};

void report_reallocs(const struct page *page, struct answer *answer)
{
	struct frame_rows frames = {.frames = NULL};
	struct site_rows site = {
		.ranges = {.recording = model_recording(page->model)}, .frames = &frames};
	const struct realloc_table context = {page, page->reallocs.rows.data, &site};
	const struct table rows = {
		&report_reallocs_type, &context, page->reallocs.rows.len, .limit = page->limit};
	struct text *prose = answer_prose(answer);
	if (prose)
		text_printf(prose, "\n%s", page->view->title);
	if (prose && table_shown(&rows) < rows.count)
		text_printf(
			prose, " (%zu of %zu allocation sites)", table_shown(&rows), rows.count);
	if (prose)
		text_add_char(prose, '\n');
	answer_table(answer, &rows);
	frame_rows_deinit(&frames);
}

static void add_chains(const struct realloc_change *row, struct text *out)
{
	const struct realloc_site *base = &row->base.sums, *value = &row->value.sums;
	text_printf(out, "\n    the longest chain of %s reallocs, before of %s; ",
		FMT_COUNT(value->longest), FMT_COUNT(base->longest));
	diff_add_change(out, METRIC_ALLOCATIONS, (int64_t)(value->chains - base->chains));
	text_add(out, " chains");
	if (row->value.stepwise)
		text_add(out, row->base.stepwise ? "  step by step" : "  step by step now");
	else if (row->base.stepwise)
		text_add(out, "  no longer step by step");
	text_add(out, "  at\n");
}

static void add_change(const struct page *page, const struct realloc_change *row, struct text *out)
{
	const struct realloc_site *base = &row->base.sums, *value = &row->value.sums;
	text_add(out, change_remark(base->calls != 0, value->calls != 0));
	text_add(out, "  ");
	diff_add_change(
		out, METRIC_ALLOCATED_BYTES, (int64_t)(value->copied_bytes - base->copied_bytes));
	text_printf(out, " copied at most, from %s to %s  ", FMT_BYTES(base->copied_bytes),
		FMT_BYTES(value->copied_bytes));
	diff_add_change(out, METRIC_ALLOCATIONS, (int64_t)(value->calls - base->calls));
	text_printf(
		out, " reallocs, from %s to %s", FMT_COUNT(base->calls), FMT_COUNT(value->calls));
	add_chains(row, out);
	text_row_stack(row->row, page->options->all_frames, out);
}

#define COMPARED(name, member, unit, type)                                                         \
	{                                                                                          \
		name, type, unit, .says = "as in the row itself", COLUMN_OF(realloc_row, member)   \
	}
#define COMPARED_SUMS(type)                                                                        \
	COMPARED("calls", sums.calls, UNIT_COUNT, type),                                           \
		COMPARED("grown", sums.grown, UNIT_COUNT, type),                                   \
		COMPARED("shrunk", sums.shrunk, UNIT_COUNT, type),                                 \
		COMPARED("grown_bytes", sums.grown_bytes, UNIT_BYTES, type),                       \
		COMPARED("copied_bytes", sums.copied_bytes, UNIT_BYTES, type),                     \
		COMPARED("chains", sums.chains, UNIT_COUNT, type),                                 \
		COMPARED("longest_chain", sums.longest, UNIT_COUNT, type)
CHANGE_PAIR_TYPES(sums, COMPARED_SUMS);

struct compared_rows {
	const struct page *page;
	/* Of the row that is laid out. */
	struct site_rows *site;
	struct change_row *change;
	struct change_pair *sums;
};

/* Figures of the site, and those of its reallocs. */
static void pairs_cell(const struct compared_rows *rows, const struct table_type *types[2],
	unsigned column, struct cell *ret)
{
	ret->nested = (struct table){
		types[column], column ? rows->sums : &rows->change->pair, 1, .limit = 1};
}

static void base_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)row;
	pairs_cell(context, (const struct table_type *[]){&change_row_base_type, &sums_base_type},
		column, ret);
}

static void change_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)row;
	pairs_cell(context,
		(const struct table_type *[]){&change_row_change_type, &sums_change_type}, column,
		ret);
}

#define SPLICED(type)                                                                              \
	{                                                                                          \
		"", COLUMN_RECORD, .nested = &type                                                 \
	}
static const struct table_type compared_base_type = {
	.columns = (const struct column[]){SPLICED(change_row_base_type), SPLICED(sums_base_type),
		COLUMNS_END},
	.cell = base_cell};
static const struct table_type compared_change_type = {
	.columns = (const struct column[]){SPLICED(change_row_change_type),
		SPLICED(sums_change_type), COLUMNS_END},
	.cell = change_cell};

enum { OWN_SUMS, OWN_SITE, WAS_STEPWISE, STATUS, WITHIN_ERROR, BASE, CHANGE };
static const struct column compared_columns[] = {[OWN_SUMS] = SPLICED(sum_type),
	[OWN_SITE] = SPLICED(site_type),
	[WAS_STEPWISE] = {"was_stepwise", COLUMN_BOOLEAN, .says = "it was blamed before"},
	[STATUS] = CHANGE_STATUS_COLUMN,
	[WITHIN_ERROR] = {"within_error", COLUMN_BOOLEAN,
		.says = "the ranges of both estimates of the metric overlap"},
	[BASE] = CHANGE_BASE_COLUMN(compared),
	[CHANGE] = CHANGE_CHANGE_COLUMN(compared),
	COLUMNS_END};

static void compared_cell(const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct compared_rows *rows = context;
	const struct page *page = rows->page;
	const struct realloc_change *row = &page->realloc_changes.rows.data[number];
	change_row_fill(rows->change, &page->compared.diff, row->row, page->sort,
		change_status(row->base.sums.calls, row->value.sums.calls));
	*rows->sums = (struct change_pair){sums_base_columns, &row->base, &row->value, 0};
	ret->text = rows->change->status;
	ret->truth = column == WITHIN_ERROR ? rows->change->within_error : row->base.stepwise;
	if (column == OWN_SITE)
		site_cell(rows->site, &row->row, ret);
	else if (column == OWN_SUMS)
		ret->nested = (struct table){&sum_type, &row->value, 1, .limit = 1};
	else
		ret->nested =
			(struct table){column == BASE ? &compared_base_type : &compared_change_type,
				rows, 1, .limit = 1};
}

static void compared_text(const void *context, size_t number, struct text *out)
{
	const struct page *page = ((const struct compared_rows *)context)->page;
	add_change(page, &page->realloc_changes.rows.data[number], out);
}

const struct table_type change_reallocs_type = {.name = "reallocs",
	.total = "reallocs_total",
	.says = "sites, those first of which what may have been copied changed most",
	.columns = compared_columns,
	.cell = compared_cell,
	.row_text = compared_text};

static bool reallocs_differs(const void *context, size_t number)
{
	const struct page *page = ((const struct compared_rows *)context)->page;
	const struct realloc_change *row = &page->realloc_changes.rows.data[number];
	return row->base.sums.calls != row->value.sums.calls ||
	       row->base.sums.copied_bytes != row->value.sums.copied_bytes ||
	       row->base.sums.longest != row->value.sums.longest;
}

void change_reallocs(const struct page *page, struct answer *answer)
{
	const struct realloc_changes *changes = &page->realloc_changes;
	struct frame_rows frames = {.frames = NULL};
	struct site_rows site = {
		.ranges = {.recording = model_recording(page->model)}, .frames = &frames};
	struct change_row change;
	struct change_pair sums;
	const struct compared_rows context = {page, &site, &change, &sums};
	const struct table verdict = lines_table(&report_verdict_type, &changes->sides[1].verdict);
	const struct table rows = {
		&change_reallocs_type, &context, changes->rows.len, .limit = page->limit};
	if (answer_prose(answer))
		text_printf(answer_prose(answer),
			"\n%s, by the change of what may have been copied\n", page->view->title);
	answer_table(answer, &verdict);
	change_rows(answer, &rows, reallocs_differs, "allocation site", "allocation sites");
	frame_rows_deinit(&frames);
}
