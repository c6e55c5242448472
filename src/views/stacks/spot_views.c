/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each function, line, address, file or module allocated: flat and with all that it called. */
#include "base/cleanup.h"
#include "base/util.h"
#include "views/compare/change_columns.h"
#include "views/report/page.h"
#include "views/report/paint.h"
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

enum { SPOT, FLAT, CUM, CHANGE };
#define SPOT_COLUMNS                                                                               \
	[SPOT] = {"", COLUMN_RECORD, .nested = &spot_type},                                        \
	[FLAT] = {"flat", COLUMN_RECORD, .says = "what it asked for itself",                       \
		.nested = &sums_type},                                                             \
	[CUM] = {"cum", COLUMN_RECORD, .says = "with all that was allocated below it",             \
		.nested = &sums_type}
static const struct column columns[] = {SPOT_COLUMNS, COLUMNS_END};
/* With a base. */
static const struct column compared_columns[] = {
	SPOT_COLUMNS, [CHANGE] = {"", COLUMN_RECORD, .nested = &change_spot_type}, COLUMNS_END};

static void spot_views_cell_of(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct spots_table *table = context;
	const struct spot_total *total = &table->page->spot_totals.data[row];
	if (column == CHANGE) {
		change_spot_fill(table->change, &table->page->compared.diff, total);
		ret->nested = (struct table){&change_spot_type, table->change, 1, .limit = 1};
	} else if (column == SPOT) {
		spot_cell(table->spot, total->spot, ret);
	} else if (column == FLAT) {
		sums_cell(table->flat, &total->flat, ret);
	} else {
		sums_cell(table->cum, &total->cum, ret);
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

void report_spots(const struct page *page, struct answer *answer)
{
	const struct recording *recording = model_recording(page->model);
	bool is_known = metric_is_known(page->sort, recording);
	struct text *prose = answer_prose(answer);
	struct spot_rows spot = {.grain = page->view->grain};
	struct sums_rows flat = {recording, NULL, true}, cum = flat;
	struct change_spot change;
	const struct spots_table context = {page, &spot, &flat, &cum, &change};
	struct table_type compared = report_spots_type;
	compared.columns = compared_columns;
	struct table spots = {page->options->base ? &compared : &report_spots_type, &context,
		page->spot_totals.len, .limit = page->limit};
	answer_record_of(answer, &report_spots_by_type, page);
	if (prose) {
		spot_views_add_title(page, is_known, prose);
		spots.count = is_known ? count_known(page) : 0;
	}
	answer_table(answer, &spots);
	if (prose && is_known && !spots.count)
		text_add(prose, "  nothing\n");
	if (prose)
		text_more(spots.count - table_shown(&spots), grain_one(page->view->grain),
			grain_name(page->view->grain), prose);
}
