/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A comparison as text: which two, the verdict, then lists of places:
 *
 *   Grown (2 places, +4.5 KiB)
 *     +4 KiB  from 1.5 KiB to 5.5 KiB  +15 blocks, from 5 to 20  281 B each  from malloc at
 *         read_line  input.c:41  [app]
 *         main  app.c:12  [app]
 */
#include <assert.h>
#include <string.h>

#include "base/util.h"
#include "views/diff_page.h"
#include "views/paint.h"
#include "views/text_parts.h"

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

static void add_unit(enum metric metric, int64_t change, struct text *out)
{
	if (metric == METRIC_TEMPORARY || metric == METRIC_FAILED)
		text_printf(out, " %s", metric_name(metric));
	else if (!metric_is_bytes(metric))
		text_printf(out, " %s",
			change == 1 || change == -1 ? pairs[metric].one : pairs[metric].many);
}

/* How much a change is of all that there was, or of all that there is if that is more. */
static double share_of(const struct diff_page *page, const struct diff_figure *figure)
{
	struct diff_figure total;
	diff_of_totals(page->diff, page->diff->options.metric, &total);
	uint64_t whole = max(total.base, total.value);
	return whole ? (double)figure->change / (double)whole : 0;
}

/* "+4 KiB  from 1.5 KiB to 5.5 KiB" */
static void add_figure(const struct diff_page *page, const struct row *row, enum metric metric,
	const char *joint, struct text *out)
{
	struct diff_figure figure;
	diff_of_row(page->diff, row, metric, &figure);
	bool colour = page->options->view.colour && metric == page->diff->options.metric;
	enum paint paint = paint_of(share_of(page, &figure));
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
		text_add(out, ")");
	}
}

static void add_average(const struct row *row, enum metric metric, struct text *out)
{
	const struct pair *pair = &pairs[metric];
	const struct site *site = metric_of_site(pair->count, &row->sums) ? &row->sums : &row->base;
	uint64_t count = metric_of_site(pair->count, site);
	if (!count)
		return;
	text_add(out, "  ");
	text_add_bytes(out, (metric_of_site(pair->bytes, site) + count / 2) / count);
	text_add(out, " each");
}

static void add_row(const struct diff_page *page, const struct row *row, struct text *out)
{
	enum metric metric = page->diff->options.metric;
	add_figure(page, row, metric, "  ", out);
	add_figure(page, row, pairs[metric].other, ", ", out);
	add_average(row, metric, out);
	if (row->sums.kind == KIND_UNKNOWN)
		text_add(out, "  from\n");
	else
		text_printf(out, "  from %s at\n", alloc_kind_name(row->sums.kind));
	text_row_stack(row, page->options->view.all_frames, out);
}

static void add_list(const struct diff_page *page, enum diff_status status, struct text *out)
{
	static const char *const titles[] = {
		[DIFF_NEW] = "New",
		[DIFF_GROWN] = "Grown",
		[DIFF_SHRUNK] = "Shrunk",
		[DIFF_GONE] = "Gone",
	};
	const struct row_list *list = &page->diff->lists[status];
	if (!list->len)
		return;
	bool colour = page->options->view.colour;
	text_add_char(out, '\n');
	paint_begin(out, colour, PAINT_TITLE);
	text_printf(out, "%s (", titles[status]);
	if (list->len > page->limit)
		text_printf(out, "%zu of ", page->limit);
	text_add_count(out, list->len);
	text_add(out, list->len == 1 ? " place, " : " places, ");
	diff_add_change(out, page->diff->options.metric, page->diff->sums[status]);
	text_add(out, ")");
	paint_end(out, colour, PAINT_TITLE);
	text_add(out, "\n");
	for (size_t i = 0; i < list->len && i < page->limit; i++)
		add_row(page, list->data[i], out);
}

/* "from 8 KiB to 4 MiB, +4 MiB"; of a side that is not known it says so. */
static void add_sizes(uint64_t older, uint64_t newer, struct text *out)
{
	text_add(out, "from ");
	text_add_bytes(out, older);
	text_add(out, " to ");
	text_add_bytes(out, newer);
	text_add(out, ", ");
	diff_add_change(out, METRIC_LIVE_BYTES, (int64_t)(newer - older));
}

static void add_stack(const struct stack_size *row, struct text *out)
{
	text_add(out, "  ");
	stack_size_add_name(row, out);
	text_add(out, row->older ? row->newer ? ": " : ": gone, " : ": new, ");
	if (row->older && row->newer)
		add_sizes(row->older->stack_bytes, row->newer->stack_bytes, out);
	else
		text_add_bytes(out, (row->older ? row->older : row->newer)->stack_bytes);
	text_add_char(out, '\n');
}

/*
 *   Stacks of threads: from 24 KiB to 4.02 MiB, +4 MiB (2 threads)
 *     worker: new, 4 MiB
 *     app: from 24 KiB to 24 KiB, ±0
 */
static void add_stacks(const struct diff_page *page, struct text *out)
{
	const struct stack_sizes *stacks = &page->diff->stacks;
	text_add(out, "\nStacks of threads: ");
	if (stack_sizes_known(stacks)) {
		add_sizes(stacks->older, stacks->newer, out);
	} else if (stacks->older || stacks->newer) {
		text_add_bytes(out, stacks->older ? stacks->older : stacks->newer);
		text_printf(out, " in the %s recording, not known in the %s",
			stacks->older ? "older" : "newer", stacks->older ? "newer" : "older");
	} else {
		text_add(out, "not known\n");
		return;
	}
	size_t count = stack_sizes_known(stacks) ? stacks->rows.len : 0;
	if (count <= 1) {
		text_add_char(out, '\n');
		return;
	}
	text_add(out, " (");
	if (count > page->limit)
		text_printf(out, "%zu of ", page->limit);
	text_add_count(out, count);
	text_add(out, " threads)\n");
	for (size_t i = 0; i < count && i < page->limit; i++)
		add_stack(&stacks->rows.data[i], out);
}

void diff_text(const struct diff_page *page, struct text *out)
{
	static const char *const sides[] = {"Older", "Newer"};
	for (int i = 0; i < 2; i++) {
		text_printf(out, "%s: ", sides[i]);
		text_add_shown(out, page->options->labels[i], 400);
		text_add(out, "\n  ");
		text_heading(page->models[i], out);
	}
	text_verdict(&page->diff->verdict, out);
	text_notes(&page->notes, out);
	add_stacks(page, out);
	for (int status = 0; status < DIFF_SAME; status++)
		add_list(page, (enum diff_status)status, out);
}
