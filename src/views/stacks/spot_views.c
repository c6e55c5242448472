/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each function, file or module allocated, as a table and as JSON. */
#include "base/cleanup.h"
#include "base/util.h"
#include "views/compare/change_view.h"
#include "views/report/json_parts.h"
#include "views/report/page.h"
#include "views/report/paint.h"
#include "views/report/text_parts.h"
#include "views/stacks/figures.h"

#define FIGURE_WIDTH 12

static void add_cells(const struct page *page, const struct row *sums, struct text *out)
{
	int64_t value = row_value(sums, page->sort);
	uint64_t whole = metric_of_totals(page->sort, model_totals(page->model));
	enum paint paint = paint_of(whole ? (double)value / (double)whole : 0);
	paint_begin(out, page->options->colour, paint);
	text_add_figure_cell(out, page->sort, value, false, FIGURE_WIDTH);
	text_add_percent(out, value, whole);
	paint_end(out, page->options->colour, paint);
}

void text_spots(const struct page *page, struct text *out)
{
	const struct spot_total_vec *totals = &page->spot_totals;
	text_heading(page->model, out);
	text_notes(&page->notes, out);
	text_printf(out, "\n%s by %s\n", page->view->title, metric_name(page->sort));
	text_printf(out, "%*s        %*s\n", FIGURE_WIDTH, "flat", FIGURE_WIDTH, "cum");
	if (!metric_is_known(page->sort, model_recording(page->model))) {
		text_printf(out, "  not known of %s\n",
			model_recording(page->model)->sample_bytes ? "a sample" : "this file");
		return;
	}
	size_t known = totals->len;
	while (known && !row_value(&totals->data[known - 1].cum, page->sort))
		known--;
	for (size_t i = 0; i < known && i < page->limit; i++) {
		add_cells(page, &totals->data[i].flat, out);
		add_cells(page, &totals->data[i].cum, out);
		text_add(out, "  ");
		spot_add_line(out, page->view->grain, totals->data[i].spot);
		text_add_char(out, '\n');
	}
	if (!known)
		text_add(out, "  nothing\n");
	if (known > page->limit)
		text_more(known - page->limit, grain_one(page->view->grain),
			grain_name(page->view->grain), out);
}

/* Without what it is compared with. */
static void put_value(struct json *json, const char *key, const struct row *sums,
	const struct recording *recording)
{
	struct row value = *sums;
	value.base = (struct site){.allocations = 0};
	json_put_sums(json, key, &value, recording);
}

void json_spots(const struct page *page, struct json *json)
{
	const struct spot_total_vec *totals = &page->spot_totals;
	const struct recording *recording = model_recording(page->model);
	json_put_string(json, "by", grain_name(page->view->grain));
	json_put_u64(json, "spots_total", totals->len);
	json_key(json, "spots");
	json_array_begin(json);
	for (size_t i = 0; i < totals->len && i < page->limit; i++) {
		json_object_begin(json);
		json_put_spot(json, page->view->grain, totals->data[i].spot);
		put_value(json, "flat", &totals->data[i].flat, recording);
		put_value(json, "cum", &totals->data[i].cum, recording);
		if (page->options->base)
			json_change_spot(page, &totals->data[i], json);
		json_object_end(json);
	}
	json_array_end(json);
}
