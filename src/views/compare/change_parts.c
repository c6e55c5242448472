/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/compare/change_parts.h"

#include <assert.h>
#include <string.h>

#include "base/util.h"
#include "views/compare/change_view.h"
#include "views/report/figure_text.h"
#include "views/report/paint.h"
#include "views/report/site_columns.h"
#include "views/report/text_parts.h"

/* The figure that stands beside a metric's, and what each counts. */
static const struct pair {
	enum metric other, bytes, count; /* METRICS: none */
	const char *one, *many;
} pairs[] = {
	[METRIC_ALLOCATIONS] = {METRIC_ALLOCATED_BYTES, METRIC_ALLOCATED_BYTES, METRIC_ALLOCATIONS,
		"call", "calls"},
	[METRIC_ALLOCATED_BYTES] = {METRIC_ALLOCATIONS, METRIC_ALLOCATED_BYTES, METRIC_ALLOCATIONS,
		"call", "calls"},
	[METRIC_LIVE_BYTES] = {METRIC_LIVE_BLOCKS, METRIC_LIVE_BYTES, METRIC_LIVE_BLOCKS, "block",
		"blocks"},
	[METRIC_LIVE_BLOCKS] = {METRIC_LIVE_BYTES, METRIC_LIVE_BYTES, METRIC_LIVE_BLOCKS, "block",
		"blocks"},
	[METRIC_KEPT_BYTES] = {METRIC_KEPT_BLOCKS, METRIC_KEPT_BYTES, METRIC_KEPT_BLOCKS, "block",
		"blocks"},
	[METRIC_KEPT_BLOCKS] = {METRIC_KEPT_BYTES, METRIC_KEPT_BYTES, METRIC_KEPT_BLOCKS, "block",
		"blocks"},
	[METRIC_PEAK_BYTES] = {METRIC_PEAK_BLOCKS, METRIC_PEAK_BYTES, METRIC_PEAK_BLOCKS, "block",
		"blocks"},
	[METRIC_PEAK_BLOCKS] = {METRIC_PEAK_BYTES, METRIC_PEAK_BYTES, METRIC_PEAK_BLOCKS, "block",
		"blocks"},
	[METRIC_TEMPORARY] = {METRIC_ALLOCATIONS, METRIC_ALLOCATED_BYTES, METRIC_ALLOCATIONS,
		"call", "calls"},
	[METRIC_FAILED] = {METRIC_ALLOCATIONS, METRIC_ALLOCATED_BYTES, METRIC_ALLOCATIONS, "call",
		"calls"},
};
static_assert(ARRAY_SIZE(pairs) == METRICS, "each metric heads rows");

enum metric change_other(enum metric metric)
{
	return pairs[metric].other;
}

const char *change_unit(enum metric metric)
{
	enum metric other = pairs[metric].other;
	return metric_is_bytes(other) ? "bytes" : pairs[other].many;
}

static void add_unit(enum metric metric, int64_t change, struct text *out)
{
	if (metric == METRIC_TEMPORARY || metric == METRIC_FAILED)
		text_printf(out, " %s", metric_name(metric));
	else if (!metric_is_bytes(metric))
		text_printf(out, " %s",
			change == 1 || change == -1 ? pairs[metric].one : pairs[metric].many);
}

/* How much a change is of all that there was, or of all that there is if that is more. */
static double share_of(const struct change_look *look, const struct diff_figure *figure)
{
	struct diff_figure total;
	diff_of_totals(look->diff, look->diff->options.metric, &total);
	uint64_t whole = max(total.base, total.value);
	return whole ? (double)figure->change / (double)whole : 0;
}

/* "+4 KiB  from 1.5 KiB to 5.5 KiB" */
static void add_figure(const struct change_look *look, const struct row *row, enum metric metric,
	const char *joint, struct text *out)
{
	struct diff_figure figure;
	diff_of_row(look->diff, row, metric, &figure);
	bool colour = look->colour && metric == look->diff->options.metric;
	enum paint paint = paint_of(share_of(look, &figure));
	text_add(out, "  ");
	paint_begin(out, colour, paint);
	diff_add_change(out, metric, figure.change);
	add_unit(metric, figure.change, out);
	paint_end(out, colour, paint);
	text_printf(out, "%sfrom ", joint);
	diff_add_value(out, metric, figure.base);
	text_add(out, " to ");
	diff_add_value(out, metric, figure.value);
	if (figure.within_error) {
		text_add(out, " (within the error)");
	} else if (figure.estimated) {
		text_add(out, " (95% ");
		diff_add_change(out, metric, figure.low);
		text_add(out, " to ");
		diff_add_change(out, metric, figure.high);
		text_add(out, figure.by_mean_sizes ? " " INTERVAL_BY_MEAN_SIZES ")" : ")");
	}
}

/* "100 B each" if all calls of the site asked for the same, else "453 B on average". */
static void add_average(const struct row *row, enum metric metric, struct text *out)
{
	const struct pair *pair = &pairs[metric];
	const struct site *site = metric_of_site(pair->count, row->sums) ? row->sums : row->base;
	uint64_t count = metric_of_site(pair->count, site);
	if (!count)
		return;
	uint64_t bytes = metric_of_site(pair->bytes, site);
	bool equal = site->min_size == site->max_size && site->min_size == bytes / count &&
		     !(bytes % count);
	text_printf(out, "  %s %s", FMT_BYTES((bytes + count / 2) / count),
		equal ? "each" : "on average");
}

/* Bytes without blocks are those of a file that counts no blocks. */
static bool is_counted(const struct row *row, enum metric metric)
{
	enum metric other = pairs[metric].other;
	if (!metric_is_bytes(metric) || metric_is_bytes(other))
		return true;
	return metric_of_site(other, row->sums) || metric_of_site(other, row->base) ||
	       (!metric_of_site(metric, row->sums) && !metric_of_site(metric, row->base));
}

void text_change_row(
	const struct change_look *look, const struct row *row, const char *remark, struct text *out)
{
	enum metric metric = look->diff->options.metric;
	text_printf(out, "%s", remark);
	add_figure(look, row, metric, "  ", out);
	if (is_counted(row, metric))
		add_figure(look, row, pairs[metric].other, ", ", out);
	add_average(row, metric, out);
	row_add_kind(row->sums->kind, out);
	text_row_stack(row, look->all_frames, out);
}

void change_site_text(const void *context, size_t number, struct text *out)
{
	const struct site_rows *rows = context;
	const struct diff *diff = &rows->page->compared.diff;
	const struct row *row = rows->ranges.rows[number];
	const struct change_look look = {
		diff, rows->page->options->colour, rows->page->options->all_frames};
	enum diff_status status = diff_status(diff, row);
	text_change_row(&look, row, change_remark(status != DIFF_NEW, status != DIFF_GONE), out);
}

void text_change_sides(const struct recorded sides[2], struct text *out)
{
	static const char *const names[] = {"Older", "Newer"};
	for (int i = 0; i < 2; i++) {
		text_printf(out, "%s: ", names[i]);
		text_add_shown(out, sides[i].label, 400);
		text_add(out, "\n  ");
		text_heading(sides[i].model, out);
	}
}

/* Adds the lines of a text, each with what it is about before it. */
static void change_parts_add_notes(const char *label, const struct text *notes, struct text *out)
{
	for (size_t at = 0; at < notes->len;) {
		const char *line = notes->data + at;
		const char *end = memchr(line, '\n', notes->len - at);
		size_t len = end ? (size_t)(end - line) + 1 : notes->len - at;
		text_add_shown(out, label, 400);
		text_add(out, ": ");
		text_add_n(out, line, len);
		at += len;
	}
}

void change_add_notes(
	const struct comparison *comparison, const char *const labels[2], struct text *out)
{
	const struct text *notes = &comparison->diff.notes;
	text_add_n(out, notes->data ? notes->data : "", notes->len);
	for (int i = 0; i < 2; i++)
		change_parts_add_notes(labels[i], &comparison->sides[i].notes, out);
}
