/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compared views of stacks as text: which two, the verdict, a table by the size of the changes. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "table/answer.h"
#include "views/compare/change_columns.h"
#include "views/compare/change_parts.h"
#include "views/compare/change_view.h"
#include "views/report/paint.h"
#include "views/report/recorded_columns.h"
#include "views/report/text_parts.h"
#include "views/stacks/figures.h"

#define FIGURE_WIDTH 12

void text_change_heading(const struct page *page, struct text *out)
{
	const struct view_base *base = page->options->base;
	const struct recorded sides[] = {
		{.model = base->model, .label = base->label},
		{.model = page->model, .label = model_recording(page->model)->path},
	};
	text_change_sides(sides, out);
	text_verdict(&page->verdict, out);
	text_notes(&page->notes, out);
}

const char *change_remark(bool was, bool is)
{
	return was == is ? "" : is ? "  new" : "  gone";
}

enum { SAME_RECORDING, NORMALIZED, VERDICT, TOTALS, RENAMES };
static const struct column whole_columns[] = {
	[SAME_RECORDING] = {"same_recording", COLUMN_BOOLEAN, .says = "both are moments of one",
		COLUMN_OF(diff_options, same_recording)},
	[NORMALIZED] = {"normalized", COLUMN_BOOLEAN,
		.says = "the older figures are scaled (`--normalize`)",
		COLUMN_OF(diff_options, normalize)},
	[VERDICT] = VERDICT_COLUMN,
	[TOTALS] = {"totals", COLUMN_RECORD, .says = "of both processes",
		.nested = &change_totals_type},
	[RENAMES] = {"renames", COLUMN_TABLE, .says = "functions with another name or file",
		.nested = &change_renames_type},
	COLUMNS_END};

struct change_whole {
	const struct page *page;
	struct change_totals totals;
};

static void whole_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct change_whole *whole = context;
	(void)row;
	if (column == VERDICT)
		cell_take_lines(ret, &whole->page->verdict);
	else if (column == TOTALS)
		cell_take_record(ret, &change_totals_type, &whole->totals);
	else if (column == RENAMES)
		ret->nested = change_renames(whole->totals.diff);
	else
		table_member(&whole_columns[column], &whole->totals.diff->options, ret);
}

static const struct table_type whole_type = {
	.name = "change", .columns = whole_columns, .cell = whole_cell};

void change_head(const struct page *page, struct answer *answer)
{
	const struct diff *diff = &page->compared.diff;
	const struct view_base *base = page->options->base;
	struct diff_figure room;
	struct table_type type = recorded_type;
	type.name = "base";
	const struct recorded older = {.model = base->model, .label = base->label};
	const struct change_whole whole = {page, {diff, &room}};
	answer_record_of(answer, &type, &older);
	answer_record_of(answer, &whole_type, &whole);
}

const char *change_status(uint64_t base, uint64_t value)
{
	return diff_status_name(base == value  ? DIFF_SAME
				: !base        ? DIFF_NEW
				: !value       ? DIFF_GONE
				: value > base ? DIFF_GROWN
					       : DIFF_SHRUNK);
}

static void change_text_add_rest(size_t count, const char *one, const char *many, struct text *out)
{
	text_add_count(out, count);
	text_printf(out, " %s", count == 1 ? one : many);
}

void text_change_rest(size_t shown, size_t changed, size_t all, const char *one, const char *many,
	struct text *out)
{
	if (!changed)
		text_add(out, "  nothing changed\n");
	text_more(changed - shown, one, many, out);
	if (changed < all) {
		text_add(out, "  ");
		change_text_add_rest(all - changed, one, many, out);
		text_add(out, all - changed == 1 ? " is the same\n" : " are the same\n");
	}
}

void change_rows(struct answer *answer, const struct table *table,
	bool (*differs)(const void *context, size_t row), const char *one, const char *many)
{
	struct text *prose = answer_prose(answer);
	struct table shown = *table;
	size_t changed = 0, count = 0;
	if (!prose) {
		answer_table(answer, table);
		return;
	}
	for (size_t i = 0; i < table->count; i++)
		changed += differs(table->context, i);
	shown.limit = TABLE_NO_LIMIT;
	answer_table_begin(answer, &shown);
	for (size_t i = 0; i < table->count && count < table->limit; i++) {
		if (!differs(table->context, i))
			continue;
		answer_row(answer, table, i);
		count++;
	}
	answer_table_end(answer, &shown);
	text_change_rest(count, changed, table->count, one, many, prose);
}

void text_add_change_cell(
	struct text *out, enum metric metric, uint64_t base, uint64_t value, int width)
{
	_cleanup_(text_deinit) struct text cell;
	text_init(&cell);
	diff_add_change(&cell, metric, (int64_t)(value - base));
	/* "±" is one character of two bytes. */
	text_printf(out, "%*s", width + (base == value), cell.data ? cell.data : "");
}

static void change_text_add_title(const struct page *page, struct text *out)
{
	bool colour = page->options->colour;
	text_add_char(out, '\n');
	paint_begin(out, colour, PAINT_TITLE);
	text_printf(out, "%s, by the change of %s", page->view->title, metric_name(page->sort));
	paint_end(out, colour, PAINT_TITLE);
	text_add_char(out, '\n');
}

static bool change_text_is_known(const struct page *page, struct text *out)
{
	if (diff_knows(&page->compared.diff, page->sort))
		return true;
	text_printf(out, "  not known of %s\n", diff_ignorant(&page->compared.diff));
	return false;
}

/* How many of the list differ: they come first. */
static size_t count_changed(const struct page *page)
{
	size_t count = 0;
	while (count < page->list.len &&
		diff_status(&page->compared.diff, page->list.data[count]) != DIFF_SAME)
		count++;
	return count;
}

static void change_text_add_sites(const struct page *page, struct text *out)
{
	const struct diff *diff = &page->compared.diff;
	const struct change_look look = {diff, page->options->colour, page->options->all_frames};
	size_t changed = count_changed(page), shown = min(changed, page->limit);
	change_text_add_title(page, out);
	if (!change_text_is_known(page, out))
		return;
	for (size_t i = 0; i < shown; i++) {
		enum diff_status status = diff_status(diff, page->list.data[i]);
		text_change_row(&look, page->list.data[i],
			change_remark(status != DIFF_NEW, status != DIFF_GONE), out);
	}
	text_change_rest(shown, changed, page->list.len, "place", "places", out);
}

/* The rest is what diff shows, if it can be asked for it: it knows no ranges and no sums. */
static void add_summary(const struct page *page, struct text *out)
{
	const struct recording *recording = model_recording(page->model);
	text_add(out, "\nWhere it changed: heapwise ");
	if (recording->merged || recording->range.from_step || model_subtracted(page->model)) {
		text_printf(out, "report --view sites, with the same options\n");
		return;
	}
	text_add(out, "diff ");
	text_add_shown(out, page->options->base->label, 400);
	text_add_char(out, ' ');
	text_add_shown(out, recording->path, 400);
	if (recording->range.part)
		text_printf(out, "@%s", recording->range.to);
	text_add_char(out, '\n');
}

static void change_text_add_figures(
	const struct page *page, const struct row *row, enum metric metric, struct text *out)
{
	struct diff_figure figure;
	diff_of_row(&page->compared.diff, row, metric, &figure);
	text_add_figure_cell(out, metric, (int64_t)figure.value, false, FIGURE_WIDTH);
	text_add_change_cell(out, metric, figure.base, figure.value, FIGURE_WIDTH + 1);
}

static bool is_unsure(const struct page *page, const struct spot_total *total)
{
	struct diff_figure flat, cum;
	diff_of_row(&page->compared.diff, &total->flat, page->sort, &flat);
	diff_of_row(&page->compared.diff, &total->cum, page->sort, &cum);
	return (flat.within_error || !flat.change) && cum.within_error;
}

static void add_spot(const struct page *page, const struct spot_total *total, struct text *out)
{
	uint64_t was = metric_of_site(page->sort, &total->cum.base);
	uint64_t is = metric_of_site(page->sort, &total->cum.sums);
	change_text_add_figures(page, &total->flat, page->sort, out);
	change_text_add_figures(page, &total->flat, change_other(page->sort), out);
	change_text_add_figures(page, &total->cum, page->sort, out);
	text_add(out, "  ");
	spot_add_line(out, page->view->grain, total->spot);
	text_add(out, change_remark(was != 0, is != 0));
	text_add(out, is_unsure(page, total) ? "  (within the error)\n" : "\n");
}

/* Those that changed nothing come last, by the order of spot_totals_build(). */
static size_t count_changed_spots(const struct page *page)
{
	size_t count = page->spot_totals.len;
	while (count && !row_value(&page->spot_totals.data[count - 1].flat, page->sort) &&
		!row_value(&page->spot_totals.data[count - 1].cum, page->sort))
		count--;
	return count;
}

static void add_spots(const struct page *page, struct text *out)
{
	const char *names = grain_name(page->view->grain);
	size_t changed = count_changed_spots(page), shown = min(changed, page->limit);
	change_text_add_title(page, out);
	if (!change_text_is_known(page, out))
		return;
	text_printf(out, "%*s%*s%*s%*s%*s%*s\n", FIGURE_WIDTH, "flat", FIGURE_WIDTH + 2, "±",
		FIGURE_WIDTH, change_unit(page->sort), FIGURE_WIDTH + 2, "±", FIGURE_WIDTH, "cum",
		FIGURE_WIDTH + 2, "±");
	for (size_t i = 0; i < shown; i++)
		add_spot(page, &page->spot_totals.data[i], out);
	text_change_rest(
		shown, changed, page->spot_totals.len, grain_one(page->view->grain), names, out);
}

/* People read what differs alone. */
static void put_either(const struct page *page,
	void (*add)(const struct page *page, struct text *out), struct answer *answer)
{
	if (answer_prose(answer))
		add(page, answer_prose(answer));
	else
		page->view->answer(page, answer);
}

void change_sites(const struct page *page, struct answer *answer)
{
	put_either(page, change_text_add_sites, answer);
}

void change_summary(const struct page *page, struct answer *answer)
{
	put_either(page, add_summary, answer);
}

void change_spots(const struct page *page, struct answer *answer)
{
	put_either(page, add_spots, answer);
}
