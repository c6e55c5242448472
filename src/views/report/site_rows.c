/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of stacks as tables, and a row of them as text:
 *
 *   12.3 MiB (61.2%)  in 1,204 blocks  from malloc at
 *       read_line  input.c:41  [app]
 *       main  app.c:12  [app]
 *
 * A figure heads each row, because that is what the list is sorted by; the stack follows, innermost
 * frame first, one frame a line.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/interval.h"
#include "analysis/library_own.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "views/compare/change_columns.h"
#include "views/compare/change_parts.h"
#include "views/compare/change_view.h"
#include "views/report/figure_text.h"
#include "views/report/page.h"
#include "views/report/paint.h"
#include "views/report/report_answers.h"
#include "views/report/site_columns.h"
#include "views/report/text_parts.h"

#define INDENT TEXT_FRAME_INDENT

/* How the figure of a metric reads, and what stands behind it for scale. */
static const struct head {
	const char *unit;                           /* NULL: bytes */
	enum metric scale;                          /* METRICS: none */
	const char *joint, *scale_one, *scale_many; /* scale_one NULL: bytes */
} heads[] = {
	[METRIC_ALLOCATIONS] = {"calls", METRIC_ALLOCATED_BYTES, "for ", NULL, NULL},
	[METRIC_ALLOCATED_BYTES] = {NULL, METRIC_ALLOCATIONS, "in ", "call", "calls"},
	[METRIC_LIVE_BYTES] = {NULL, METRIC_LIVE_BLOCKS, "in ", "block", "blocks"},
	[METRIC_LIVE_BLOCKS] = {"blocks", METRIC_LIVE_BYTES, "with ", NULL, NULL},
	[METRIC_KEPT_BYTES] = {NULL, METRIC_KEPT_BLOCKS, "in ", "block", "blocks"},
	[METRIC_KEPT_BLOCKS] = {"blocks", METRIC_KEPT_BYTES, "with ", NULL, NULL},
	[METRIC_PEAK_BYTES] = {NULL, METRIC_PEAK_BLOCKS, "in ", "block", "blocks"},
	[METRIC_PEAK_BLOCKS] = {"blocks", METRIC_PEAK_BYTES, "with ", NULL, NULL},
	[METRIC_TEMPORARY] = {"temporary", METRIC_ALLOCATIONS, "of ", "call", "calls"},
	[METRIC_FAILED] = {"failed", METRIC_ALLOCATIONS, "beside ", "successful call",
		"successful calls"},
};
static_assert(ARRAY_SIZE(heads) == METRICS, "each metric heads rows");

static void add_quantity(struct text *out, uint64_t value, const char *one, const char *many)
{
	if (!many) {
		text_add_bytes(out, value);
		return;
	}
	text_printf(out, "%s %s", FMT_COUNT(value), value == 1 ? one : many);
}

static const char *site_rows_singular(const char *unit)
{
	static const char *const pairs[][2] = {{"calls", "call"}, {"blocks", "block"}};
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		if (unit && strcmp(unit, pairs[i][0]) == 0)
			return pairs[i][1];
	return unit;
}

static void add_share(struct text *out, uint64_t part, uint64_t whole)
{
	double percent = 100.0 * (double)part / (double)whole;
	if (part > 0 && percent < 0.05)
		text_add(out, " (<0.1%)");
	else
		text_printf(out, " (%.1f%%)", percent);
}

/* " 11.9 MiB to 12.6 MiB" */
static void site_rows_add_range(
	const struct page *page, enum metric metric, const struct row *row, struct text *out)
{
	struct interval range;
	if (!interval_of_site(model_recording(page->model), metric, row->sums, &range))
		return;
	text_add(out, "  95% ");
	add_quantity(out, range.low, site_rows_singular(heads[metric].unit), heads[metric].unit);
	text_add(out, " to ");
	add_quantity(out, range.high, site_rows_singular(heads[metric].unit), heads[metric].unit);
	text_add(out, range.by_mean_sizes ? " (" INTERVAL_BY_MEAN_SIZES ")" : "");
}

/* What a row's figure is a share of. */
static uint64_t whole_of(const struct page *page, enum metric metric)
{
	const struct inherited *inherited = model_inherited(page->model);
	if (page->view->inherited)
		return metric == METRIC_LIVE_BYTES ? inherited->bytes : inherited->blocks;
	bool peak = metric == METRIC_PEAK_BYTES || metric == METRIC_PEAK_BLOCKS;
	if (peak || !(page->view->of_program || page->summary.libraries.live_blocks))
		return metric_of_totals(metric, model_totals(page->model));
	struct totals left = library_own_left(model_totals(page->model), &page->all);
	return metric_of_totals(metric, &left);
}

static void site_rows_add_head(const struct page *page, enum metric metric, uint64_t whole,
	const struct row *row, struct text *out)
{
	uint64_t value = metric_of_site(metric, row->sums);
	enum paint paint = paint_of(whole ? (double)value / (double)whole : 0);
	text_add(out, "  ");
	paint_begin(out, page->options->colour, paint);
	add_quantity(out, value, site_rows_singular(heads[metric].unit), heads[metric].unit);
	if (whole)
		add_share(out, value, whole);
	paint_end(out, page->options->colour, paint);
	site_rows_add_range(page, metric, row, out);
	const struct head *head = &heads[metric];
	if (metric_is_known(head->scale, model_recording(page->model))) {
		text_printf(out, "  %s", head->joint);
		add_quantity(out, metric_of_site(head->scale, row->sums), head->scale_one,
			head->scale_many);
	}
	row_add_kind(row->sums->kind, out);
}

/* From the frame to blame on, so many. */
#define BRIEF_FRAMES 2u

/* In the list of a page in brief: whole ones are in the views that it names. What calls main says
 * nothing there. */
static void add_brief_stack(const struct row *row, struct text *out)
{
	struct folding folding;
	folding_of_row(&folding, row);
	size_t first = 0;
	while (first < row->depth && row->frames[first] != row->place)
		first++;
	if (first == row->depth)
		first = 0;
	size_t end = min((size_t)row->depth, first + BRIEF_FRAMES);
	for (size_t i = first; i < end && (i == first || i < folding.outermost); i++)
		text_frame(row->frames[i], out);
	if (row->depth == 0)
		text_add(out, INDENT "(no stack was recorded)\n");
}

static void site_rows_add_stack(const struct page *page, const struct row *row, struct text *out)
{
	text_row_stack(row, page->options->all_frames, out);
	if (row->fits_on_stack)
		text_printf(out,
			INDENT "fits on the stack: always %" PRIu64
			       " B, freed by the frame that allocated it\n",
			row->sums->max_size);
	if (row->library)
		text_printf(out, INDENT "kept by a library for itself: %s (%s)\n", row->library,
			library_own_reason(row->library));
}

/* What a row's calls asked for in vain: too much for this machine, or a size that was computed
 * wrongly. */
static void add_failed_size(const struct page *page, const struct row *row, struct text *out)
{
	uint64_t size = row->sums->max_failed_size;
	uint32_t unknown = model_recording(page->model)->unknown;
	if (!row->sums->failed || unknown & (UNKNOWN_FAILED | UNKNOWN_FAILED_SIZE))
		return;
	text_printf(out, "%s%s",
		row->sums->failed == 1 ? INDENT "it asked for "
				       : INDENT "the largest one asked for ",
		FMT_BYTES(size));
	if (size == UINT64_MAX) /* calloc() of more than there are addresses */
		text_add(out, " or more");
	else if (size >= 1024)
		text_printf(out, " (%" PRIu64 " B)", size);
	text_add(out, "\n");
}

void site_row_text(const void *context, size_t number, struct text *out)
{
	const struct site_rows *rows = context;
	const struct row *row = rows->ranges.rows[number];
	site_rows_add_head(rows->page, rows->metric, rows->whole, row, out);
	if (rows->brief)
		add_brief_stack(row, out);
	else
		site_rows_add_stack(rows->page, row, out);
	if (rows->metric == METRIC_FAILED)
		add_failed_size(rows->page, row, out);
}

enum { SITE, CHANGE };
static void site_rows_cell_of(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct site_rows *rows = context;
	if (column == CHANGE) {
		change_row_fill(rows->change, &rows->page->compared.diff, rows->ranges.rows[row],
			rows->page->sort, NULL);
		ret->nested = (struct table){&change_row_type, rows->change, 1, .limit = 1};
		return;
	}
	ret->nested = (struct table){&site_type, context, 1, .limit = 1};
	ret->row = row;
}

static const struct column columns[] = {{"", COLUMN_RECORD, .nested = &site_type}, COLUMNS_END};
/* With a base. */
static const struct column compared_columns[] = {{"", COLUMN_RECORD, .nested = &site_type},
	{"", COLUMN_RECORD, .nested = &change_row_type}, COLUMNS_END};

#define SITES(member, ...)                                                                         \
	{                                                                                          \
		.name = member, .columns = columns, .cell = site_rows_cell_of,                     \
		.row_text = site_row_text, __VA_ARGS__                                             \
	}
const struct table_type report_sites_type = SITES("sites", .total = "sites_total",
	.says = "a row a site: in `summary` and `sites` all, in `never-freed` those with live "
		"blocks, in `peak` those with blocks live at the peak, in `libraries` those that "
		"libraries keep, in `kept` those that were allocated in the range, in `temporary` "
		"merged ones, in `inherited` those of the process's ancestors, with `live_blocks` "
		"and `live_bytes` as at the "
		"fork, else 0");
const struct table_type change_sites_type = {.name = "sites",
	.total = "sites_total",
	.says = "a row a site, the largest change first",
	.columns = compared_columns,
	.cell = site_rows_cell_of,
	.row_text = change_site_text};
const struct table_type report_top_types[SUMMARY_LISTS] = {
	[SUMMARY_NEVER_FREED] = SITES("never_freed", .within = "top",
		.says = "view `summary`: sites with most that is live"),
	[SUMMARY_PEAK] = SITES(
		"peak", .within = "top", .says = "view `summary`: sites with most at the peak"),
	[SUMMARY_CALLS] = SITES(
		"calls", .within = "top", .says = "view `summary`: sites with most calls, merged"),
	[SUMMARY_TEMPORARY] = SITES("temporary", .within = "top",
		.says = "view `summary`: sites with most temporary allocations, merged"),
};

/* What stands above the rows in text; false: there is nothing to be said of the metric. */
static bool site_rows_add_title(
	const struct page *page, const struct site_list *list, size_t shown, struct text *out)
{
	if (!metric_is_known(list->metric, model_recording(page->model))) {
		text_printf(out, "\n%s\n  not known of %s\n", list->title,
			model_recording(page->model)->sample_bytes ? "a sample" : "this file");
		return false;
	}
	text_add_char(out, '\n');
	paint_begin(out, page->options->colour, PAINT_TITLE);
	text_add(out, list->title);
	paint_end(out, page->options->colour, PAINT_TITLE);
	if (shown < list->rows->len)
		text_printf(
			out, " (%zu of %s allocation sites)", shown, FMT_COUNT(list->rows->len));
	text_add(out, list->rows->len ? "\n"
		      : model_recording(page->model)->sample_bytes
			      ? "\n  nothing that was sampled\n"
			      : "\n  nothing\n");
	return true;
}

void report_site_list(const struct page *page, const struct site_list *list, struct answer *answer)
{
	struct frame_rows frames = {.frames = NULL};
	struct change_row change;
	const struct site_rows rows = {
		.ranges = {model_recording(page->model), NULL, list->rows->data},
		.frames = &frames,
		.page = page,
		.metric = list->metric,
		.whole = whole_of(page, list->metric),
		.brief = list->brief,
		.change = &change};
	struct table_type type = *list->type;
	if (page->options->base)
		type.columns = compared_columns;
	const struct table_type *compared =
		list->type == &report_sites_type ? &change_sites_type : &type;
	const struct table table = {page->options->base ? compared : list->type, &rows,
		list->rows->len, .limit = list->limit};
	struct text *prose = answer_prose(answer);
	if (page->options->base && prose)
		change_site_rows(answer, &table);
	else if (!prose || site_rows_add_title(page, list, table_shown(&table), prose))
		answer_table(answer, &table);
	frame_rows_deinit(&frames);
}
