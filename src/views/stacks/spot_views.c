/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each function, line, address, file or module allocated: flat and with all that it called. */
#include <string.h>

#include "base/util.h"
#include "views/compare/change_columns.h"
#include "views/compare/change_parts.h"
#include "views/compare/change_view.h"
#include "views/report/page.h"
#include "views/report/paint.h"
#include "views/report/recorded_columns.h"
#include "views/report/report_answers.h"
#include "views/report/text_parts.h"
#include "views/stacks/figures.h"

#define FIGURE_WIDTH 12

static void spot_views_add_cells(const struct page *page, const struct row *sums, struct text *out)
{
	int64_t value = row_value(sums, page->sort);
	uint64_t whole = metric_of_totals(page->sort, model_totals(page->model));
	enum paint paint = paint_of(whole ? (double)value / (double)whole : 0);
	paint_begin(out, page->options->colour, paint);
	text_add_figure_cell(out, page->sort, value, false, FIGURE_WIDTH);
	text_add_percent(out, value, whole);
	paint_end(out, page->options->colour, paint);
}

/* The context of rows; the others are of the row that is laid out. */
struct spots_table {
	const struct page *page;
	struct spot_rows *spot;
	struct sums_rows *flat, *cum;
	struct change_spot *change;
};

/* Figures are painted. */
static void spot_views_row_text(const void *context, size_t row, struct text *out)
{
	const struct page *page = ((const struct spots_table *)context)->page;
	const struct spot_total *total = &page->spot_totals.data[row];
	spot_views_add_cells(page, &total->flat, out);
	spot_views_add_cells(page, &total->cum, out);
	text_add(out, "  ");
	spot_add_line(out, page->view->grain, total->spot);
	text_add_char(out, '\n');
}

static bool spot_views_differs(const void *context, size_t row)
{
	const struct page *page = ((const struct spots_table *)context)->page;
	const struct spot_total *total = &page->spot_totals.data[row];
	return row_value(&total->flat, page->sort) || row_value(&total->cum, page->sort);
}

static bool is_unsure(const struct page *page, const struct spot_total *total)
{
	struct diff_figure flat, cum;
	diff_of_row(&page->compared.diff, &total->flat, page->sort, &flat);
	diff_of_row(&page->compared.diff, &total->cum, page->sort, &cum);
	return (flat.within_error || !flat.change) && cum.within_error;
}

static void show_line(const void *context, size_t row, const struct cell *cell, struct text *out)
{
	const struct page *page = ((const struct spots_table *)context)->page;
	const struct spot_total *total = &page->spot_totals.data[row];
	spot_add_line(out, page->view->grain, total->spot);
	text_add(out, cell->text);
	text_add(out, is_unsure(page, total) ? "  (within the error)" : "");
}

/* Columns for people: flat figures of the metric and of the one beside it, and cum ones, each with
 * its change. */
#define NOW(title_)                                                                                \
	{                                                                                          \
		"now", COLUMN_INTEGER, .for_people = true, .title = title_, .width = FIGURE_WIDTH  \
	}
#define MORE                                                                                       \
	{                                                                                          \
		"more", COLUMN_SIGNED, .for_people = true, .title = "±", .width = FIGURE_WIDTH + 1 \
	}

enum { SPOT, FLAT, CUM, CHANGE, FIRST_FIGURE, FIGURES = 6, LINE = FIRST_FIGURE + FIGURES };
#define SPOT_COLUMNS                                                                               \
	[SPOT] = {"", COLUMN_RECORD, .nested = &spot_type},                                        \
	[FLAT] = {"flat", COLUMN_RECORD, .says = "what it asked for itself",                       \
		.nested = &sums_type},                                                             \
	[CUM] = {"cum", COLUMN_RECORD, .says = "with all that was allocated below it",             \
		.nested = &sums_type}
static const struct column columns[] = {SPOT_COLUMNS, COLUMNS_END};
/* With a base. */
static const struct column compared_columns[] = {SPOT_COLUMNS,
	[CHANGE] = {"", COLUMN_RECORD, .nested = &change_spot_type}, [FIRST_FIGURE] = NOW("flat"),
	MORE, NOW(""), MORE, NOW("cum"), MORE,
	[LINE] = {"line", COLUMN_TEXT, .for_people = true, .title = "", .gap = 2,
		.show = show_line},
	COLUMNS_END};

/* Which metric is in the columns of figures, from 0 on. */
static enum metric metric_in(const struct page *page, unsigned figure)
{
	return figure / 2 == 1 ? change_other(page->sort) : page->sort;
}

static void spot_figure_cell(
	const struct page *page, const struct spot_total *total, unsigned number, struct cell *ret)
{
	struct diff_figure figure;
	diff_of_row(&page->compared.diff, number / 2 == 2 ? &total->cum : &total->flat,
		metric_in(page, number), &figure);
	ret->number = figure.value;
	ret->signed_number = (int64_t)(figure.value - figure.base);
}

static void spot_views_cell_of(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct spots_table *table = context;
	const struct page *page = table->page;
	const struct spot_total *total = &page->spot_totals.data[row];
	struct sums_rows *sums = column == FLAT ? table->flat : table->cum;
	switch (column) {
	case SPOT:
		table->spot->spot = total->spot;
		cell_take_record(ret, &spot_type, table->spot);
		break;
	case FLAT:
	case CUM:
		sums->sums = column == FLAT ? &total->flat : &total->cum;
		cell_take_record(ret, &sums_type, sums);
		break;
	case CHANGE:
		change_spot_fill(table->change, &page->compared.diff, total);
		cell_take_record(ret, &change_spot_type, table->change);
		break;
	case LINE:
		ret->text = change_remark(metric_of_site(page->sort, total->cum.base) != 0,
			metric_of_site(page->sort, total->cum.sums) != 0);
		break;
	default:
		spot_figure_cell(page, total, column - FIRST_FIGURE, ret);
	}
}

const struct table_type report_spots_type = {.name = "spots",
	.total = "spots_total",
	.says = "views `functions`, `lines`, `addresses`, `files` and `modules`: a row of what "
		"`by` "
		"says; what has no stack is in none",
	.columns = columns,
	.cell = spot_views_cell_of,
	.row_text = spot_views_row_text};
const struct table_type change_spots_type = {.name = "spots",
	.total = "spots_total",
	.says = "views `functions`, `lines`, `addresses`, `files` and `modules`: a row of what "
		"`by` says, the largest change first",
	.columns = compared_columns,
	.cell = spot_views_cell_of};

static const struct column by_columns[] = {
	{"by", COLUMN_TEXT, .says = "views with `spots`: what rows are of"}, COLUMNS_END};

static void by_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)row, (void)column;
	ret->text = grain_name(((const struct page *)context)->view->grain);
}

const struct table_type report_spots_by_type = {.columns = by_columns, .cell = by_cell};

/* Rows that have some of the metric: they come first. */
static size_t count_known(const struct page *page)
{
	size_t known = page->spot_totals.len;
	while (known && !row_value(&page->spot_totals.data[known - 1].cum, page->sort))
		known--;
	return known;
}

static void spot_views_add_title(const struct page *page, bool is_known, struct text *out)
{
	text_printf(out, "\n%s by %s\n", page->view->title, metric_name(page->sort));
	text_printf(out, "%*s        %*s\n", FIGURE_WIDTH, "flat", FIGURE_WIDTH, "cum");
	if (!is_known)
		text_printf(out, "  not known of %s\n",
			model_recording(page->model)->sample_bytes ? "a sample" : "this file");
}

static void put_for_people(const struct page *page, const struct table *all, struct answer *answer)
{
	bool is_known = metric_is_known(page->sort, model_recording(page->model));
	struct text *prose = answer_prose(answer);
	struct table spots = *all;
	spots.count = is_known ? count_known(page) : 0;
	spot_views_add_title(page, is_known, prose);
	answer_table(answer, &spots);
	if (is_known && !spots.count)
		text_add(prose, "  nothing\n");
	text_more(spots.count - table_shown(&spots), grain_one(page->view->grain),
		grain_name(page->view->grain), prose);
}

/* The units of figures are those of the metrics. */
static void put_compared(const struct page *page, const struct table *all, struct answer *answer)
{
	struct column own[ARRAY_SIZE(compared_columns)];
	struct table_type type = *all->type;
	struct table spots = *all;
	if (!change_text_add_title(page, answer_prose(answer)))
		return;
	memcpy(own, compared_columns, sizeof(own));
	own[FIRST_FIGURE + 2].title = change_unit(page->sort);
	for (unsigned i = 0; i < FIGURES; i++)
		own[FIRST_FIGURE + i].unit =
			metric_is_bytes(metric_in(page, i)) ? UNIT_BYTES : UNIT_COUNT;
	type.columns = own;
	spots.type = &type;
	change_rows(answer, &spots, spot_views_differs, grain_one(page->view->grain),
		grain_name(page->view->grain));
}

void report_spots(const struct page *page, struct answer *answer)
{
	bool compared = page->options->base;
	struct spot_rows spot = {.grain = page->view->grain};
	struct sums_rows flat = {model_recording(page->model), NULL, true}, cum = flat;
	struct change_spot change;
	const struct spots_table context = {page, &spot, &flat, &cum, &change};
	const struct table spots = {compared ? &change_spots_type : &report_spots_type, &context,
		page->spot_totals.len, .limit = page->limit};
	answer_record_of(answer, &report_spots_by_type, page);
	if (!answer_prose(answer))
		answer_table(answer, &spots);
	else if (compared)
		put_compared(page, &spots, answer);
	else
		put_for_people(page, &spots, answer);
}
