/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compared views of stacks as text: which two, the verdict, a table by the size of the changes. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "views/compare/change_parts.h"
#include "views/compare/change_view.h"
#include "views/report/paint.h"
#include "views/report/text_parts.h"
#include "views/stacks/figures.h"

#define FIGURE_WIDTH 12

void text_change_heading(const struct page *page, struct text *out)
{
	const struct view_base *base = page->options->base;
	const struct model *models[] = {base->model, page->model};
	const char *const labels[] = {base->label, model_recording(page->model)->path};
	text_change_sides(models, labels, out);
	text_verdict(&page->verdict, out);
	text_notes(&page->notes, out);
}

const char *change_remark(bool was, bool is)
{
	return was == is ? "" : is ? "  new" : "  gone";
}

static void add_rest(size_t count, const char *one, const char *many, struct text *out)
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
		add_rest(all - changed, one, many, out);
		text_add(out, all - changed == 1 ? " is the same\n" : " are the same\n");
	}
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

static void add_title(const struct page *page, struct text *out)
{
	bool colour = page->options->colour;
	text_add_char(out, '\n');
	paint_begin(out, colour, PAINT_TITLE);
	text_printf(out, "%s, by the change of %s", page->view->title, metric_name(page->sort));
	paint_end(out, colour, PAINT_TITLE);
	text_add_char(out, '\n');
}

static bool is_known(const struct page *page, struct text *out)
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

void text_change_sites(const struct page *page, struct text *out)
{
	const struct diff *diff = &page->compared.diff;
	const struct change_look look = {diff, page->options->colour, page->options->all_frames};
	size_t changed = count_changed(page), shown = min(changed, page->limit);
	text_change_heading(page, out);
	add_title(page, out);
	if (!is_known(page, out))
		return;
	for (size_t i = 0; i < shown; i++) {
		enum diff_status status = diff_status(diff, page->list.data[i]);
		text_change_row(&look, page->list.data[i],
			change_remark(status != DIFF_NEW, status != DIFF_GONE), out);
	}
	text_change_rest(shown, changed, page->list.len, "place", "places", out);
}

/* The rest is what diff shows, if it can be asked for it: it knows no ranges and no sums. */
void text_change_summary(const struct page *page, struct text *out)
{
	const struct recording *recording = model_recording(page->model);
	text_change_heading(page, out);
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

static void add_figures(
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
	add_figures(page, &total->flat, page->sort, out);
	add_figures(page, &total->flat, change_other(page->sort), out);
	add_figures(page, &total->cum, page->sort, out);
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

void text_change_spots(const struct page *page, struct text *out)
{
	const char *names = grain_name(page->view->grain);
	size_t changed = count_changed_spots(page), shown = min(changed, page->limit);
	text_change_heading(page, out);
	add_title(page, out);
	if (!is_known(page, out))
		return;
	text_printf(out, "%*s%*s%*s%*s%*s%*s\n", FIGURE_WIDTH, "flat", FIGURE_WIDTH + 2, "±",
		FIGURE_WIDTH, change_unit(page->sort), FIGURE_WIDTH + 2, "±", FIGURE_WIDTH, "cum",
		FIGURE_WIDTH + 2, "±");
	for (size_t i = 0; i < shown; i++)
		add_spot(page, &page->spot_totals.data[i], out);
	text_change_rest(
		shown, changed, page->spot_totals.len, grain_one(page->view->grain), names, out);
}
