/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The view realloc:
 *
 *   65,536 reallocs, 65,535 grew, 0 shrank  up to 2.00 GiB copied  usually by 16 B, × 1.00 in the
 * mean 1 chain, the longest of 65,536 from 16 B to 1.00 MiB  step by step  at table_add  table.c:12
 * [app]
 */
#include "analysis/reallocs.h"

#include "base/json.h"
#include "base/util.h"
#include "views/compare/change_view.h"
#include "views/report/text_parts.h"

static void add_figures(const struct realloc_row *row, struct text *out)
{
	const struct realloc_site *sums = &row->sums;
	text_add(out, "  ");
	text_add_count(out, sums->calls);
	text_add(out, sums->calls == 1 ? " realloc, " : " reallocs, ");
	text_add_count(out, sums->grown);
	text_add(out, " grew, ");
	text_add_count(out, sums->shrunk);
	text_add(out, " shrank  up to ");
	text_add_bytes(out, sums->copied_bytes);
	text_add(out, " copied");
	if (sums->grown) {
		bool usual = sums->step_count * 2 >= sums->grown;
		text_add(out, usual ? "  usually by " : "  by ");
		text_add_bytes(out, usual ? sums->step_bytes : sums->grown_bytes / sums->grown);
		text_add(out, usual ? "" : " on average");
		text_printf(out, ", × %.2f in the mean", row->factor);
	}
	text_add(out, "\n    ");
	text_add_count(out, sums->chains);
	text_add(out, sums->chains == 1 ? " chain" : " chains");
	text_add(out, ", the longest of ");
	text_add_count(out, sums->longest);
	text_add(out, " from ");
	text_add_bytes(out, sums->longest_from);
	text_add(out, " to ");
	text_add_bytes(out, sums->longest_to);
	text_add(out, row->stepwise ? "  step by step  at\n" : "  at\n");
}

void text_reallocs(const struct page *page, struct text *out)
{
	const struct realloc_rows *rows = &page->reallocs.rows;
	text_heading(page->model, out);
	text_verdict(&page->reallocs.verdict, out);
	text_notes(&page->notes, out);
	size_t shown = min(rows->len, page->limit);
	text_printf(out, "\n%s", page->view->title);
	if (shown < rows->len)
		text_printf(out, " (%zu of %zu places)", shown, rows->len);
	text_add(out, "\n");
	for (size_t i = 0; i < shown; i++) {
		add_figures(&rows->data[i], out);
		text_row_stack(rows->data[i].row, page->options->all_frames, out);
	}
}

static void put_members(const struct realloc_row *row, struct json *json)
{
	const struct realloc_site *sums = &row->sums;
	json_put_u64(json, "calls", sums->calls);
	json_put_u64(json, "grown", sums->grown);
	json_put_u64(json, "shrunk", sums->shrunk);
	json_put_u64(json, "grown_bytes", sums->grown_bytes);
	json_put_u64(json, "copied_bytes", sums->copied_bytes);
	json_put_u64(json, "chains", sums->chains);
	json_put_u64(json, "longest_chain", sums->longest);
	json_put_u64(json, "longest_from", sums->longest_from);
	json_put_u64(json, "longest_to", sums->longest_to);
	json_put_u64(json, "doublings", row->doublings);
	json_put_u64(json, "step_bytes", sums->step_bytes);
	json_put_u64(json, "step_count", sums->step_count);
	json_key(json, "mean_factor");
	json_double(json, row->factor);
	json_put_bool(json, "stepwise", row->stepwise);
}

static void put_realloc(const struct page *page, const struct realloc_row *row, struct json *json)
{
	json_object_begin(json);
	put_members(row, json);
	json_row_members(page, row->row, json);
	json_object_end(json);
}

void json_reallocs(const struct page *page, struct json *json)
{
	const struct realloc_rows *rows = &page->reallocs.rows;
	json_put_lines(json, "verdict", &page->reallocs.verdict);
	json_put_u64(json, "reallocs_total", rows->len);
	json_key(json, "reallocs");
	json_array_begin(json);
	for (size_t i = 0; i < rows->len && i < page->limit; i++)
		put_realloc(page, &rows->data[i], json);
	json_array_end(json);
}

static void add_chains(const struct realloc_change *row, struct text *out)
{
	const struct realloc_site *base = &row->base.sums, *value = &row->value.sums;
	text_add(out, "\n    the longest chain of ");
	text_add_count(out, value->longest);
	text_add(out, " reallocs, before of ");
	text_add_count(out, base->longest);
	text_add(out, "; ");
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
	text_add(out, " copied at most, from ");
	text_add_bytes(out, base->copied_bytes);
	text_add(out, " to ");
	text_add_bytes(out, value->copied_bytes);
	text_add(out, "  ");
	diff_add_change(out, METRIC_ALLOCATIONS, (int64_t)(value->calls - base->calls));
	text_add(out, " reallocs, from ");
	text_add_count(out, base->calls);
	text_add(out, " to ");
	text_add_count(out, value->calls);
	add_chains(row, out);
	text_row_stack(row->row, page->options->all_frames, out);
}

static bool differs(const struct realloc_change *row)
{
	return row->base.sums.calls != row->value.sums.calls ||
	       row->base.sums.copied_bytes != row->value.sums.copied_bytes ||
	       row->base.sums.longest != row->value.sums.longest;
}

void text_change_reallocs(const struct page *page, struct text *out)
{
	const struct realloc_change_vec *rows = &page->realloc_changes.rows;
	size_t changed = 0, shown = 0;
	for (size_t i = 0; i < rows->len; i++)
		changed += differs(&rows->data[i]);
	text_change_heading(page, out);
	text_printf(out, "\n%s, by the change of what may have been copied\n", page->view->title);
	for (size_t i = 0; i < rows->len && shown < page->limit; i++) {
		if (!differs(&rows->data[i]))
			continue;
		add_change(page, &rows->data[i], out);
		shown++;
	}
	text_change_rest(shown, changed, rows->len, "place", "places", out);
}

#define MEMBER(name, member)                                                                       \
	{                                                                                          \
		name, offsetof(struct realloc_site, member)                                        \
	}
static const struct json_member compared[] = {
	MEMBER("calls", calls),
	MEMBER("grown", grown),
	MEMBER("shrunk", shrunk),
	MEMBER("grown_bytes", grown_bytes),
	MEMBER("copied_bytes", copied_bytes),
	MEMBER("chains", chains),
	MEMBER("longest_chain", longest),
};
#undef MEMBER

static void put_realloc_change(
	const struct page *page, const struct realloc_change *row, struct json *json)
{
	const struct change_members members = {
		compared, ARRAY_SIZE(compared), &row->base.sums, &row->value.sums, false};
	json_object_begin(json);
	put_members(&row->value, json);
	json_row_members(page, row->row, json);
	json_put_bool(json, "was_stepwise", row->base.stepwise);
	json_change_row(page, row->row, change_status(row->base.sums.calls, row->value.sums.calls),
		&members, json);
	json_object_end(json);
}

void json_change_reallocs(const struct page *page, struct json *json)
{
	const struct realloc_change_vec *rows = &page->realloc_changes.rows;
	json_put_lines(json, "verdict", &page->realloc_changes.sides[1].verdict);
	json_put_u64(json, "reallocs_total", rows->len);
	json_key(json, "reallocs");
	json_array_begin(json);
	for (size_t i = 0; i < rows->len && i < page->limit; i++)
		put_realloc_change(page, &rows->data[i], json);
	json_array_end(json);
}
