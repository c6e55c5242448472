/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The views as text: heading, then verdict and lists, or a table. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/interval.h"
#include "analysis/library_own.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "views/report/page.h"
#include "views/report/text_parts.h"

/* "  allocations        1,234  12.3 MiB" */
static void add_total(struct text *out, const char *name, uint64_t count, const char *joint,
	const uint64_t *bytes)
{
	_cleanup_(text_deinit) struct text number;
	text_init(&number);
	text_add_count(&number, count);
	text_printf(out, "  %-12s %15s", name, number.data ? number.data : "");
	if (bytes) {
		text_printf(out, "%s", joint);
		text_add_bytes(out, *bytes);
	}
	text_add(out, "\n");
}

/* "                95%: 1,100 to 1,300; 11.9 to 12.6 MiB", below the estimates that this is of. */
static void add_range(
	const struct page *page, enum metric count, enum metric bytes, struct text *out)
{
	const struct recording *recording = model_recording(page->model);
	const struct totals *totals = model_totals(page->model);
	struct interval blocks, size;
	if (!interval_of_totals(recording, count, totals, &blocks) ||
		!interval_of_totals(recording, bytes, totals, &size))
		return;
	text_add(out, "    95% ");
	text_add_count(out, blocks.low);
	text_add(out, " to ");
	text_add_count(out, blocks.high);
	text_add(out, blocks.by_mean_sizes ? " (" INTERVAL_BY_MEAN_SIZES "), " : ", ");
	text_add_bytes(out, size.low);
	text_add(out, " to ");
	text_add_bytes(out, size.high);
	text_add(out, "\n");
}

/* "    95% 3 to 9", of a count alone. */
static void add_range_of(const struct page *page, enum metric metric, struct text *out)
{
	struct interval range;
	if (!interval_of_totals(
		    model_recording(page->model), metric, model_totals(page->model), &range))
		return;
	text_add(out, "    95% ");
	text_add_count(out, range.low);
	text_add(out, " to ");
	text_add_count(out, range.high);
	text_add(out, range.by_mean_sizes ? " (" INTERVAL_BY_MEAN_SIZES ")\n" : "\n");
}

/* Blocks and bytes, or that of both which is known, with what they may be if they are estimates. */
static void add_pair(const struct page *page, const char *name, enum metric count,
	const char *joint, enum metric bytes, struct text *out)
{
	const struct recording *recording = model_recording(page->model);
	uint64_t size = metric_of_totals(bytes, model_totals(page->model));
	if (metric_is_known(count, recording)) {
		bool sized = metric_is_known(bytes, recording);
		add_total(out, name, metric_of_totals(count, model_totals(page->model)), joint,
			sized ? &size : NULL);
	} else if (metric_is_known(bytes, recording)) {
		text_printf(out, "  %-12s ", name);
		text_add_bytes(out, size);
		text_add(out, "\n");
	} else {
		return;
	}
	add_range(page, count, bytes, out);
}

static void add_totals(const struct page *page, struct text *out)
{
	const struct totals *totals = model_totals(page->model);
	const struct recording *recording = model_recording(page->model);
	const struct range *range = &recording->range;
	text_add(out, "\nTotals\n");
	add_pair(page, "allocations", METRIC_ALLOCATIONS, "  of ", METRIC_ALLOCATED_BYTES, out);
	if (!(recording->unknown & UNKNOWN_FREES))
		add_total(out, "frees", totals->frees, "", NULL);
	add_pair(page, range->part || recording->snapshot ? "live then" : "never freed",
		METRIC_LIVE_BLOCKS, "  with ", METRIC_LIVE_BYTES, out);
	const struct site *own = &page->summary.libraries;
	if (own->live_blocks)
		add_total(out, "of libraries", own->live_blocks, "  with ", &own->live_bytes);
	if (range->from_step)
		add_total(out, "new of these", totals->kept_blocks, "  with ", &totals->kept_bytes);
	add_pair(page, "at the peak", METRIC_PEAK_BLOCKS, "  with ", METRIC_PEAK_BYTES, out);
	if (metric_is_known(METRIC_TEMPORARY, recording))
		add_total(out, "temporary", totals->temporary, "", NULL);
	if (totals->failed) {
		add_total(out, "failed", totals->failed, "", NULL);
		add_range_of(page, METRIC_FAILED, out);
	}
	if (!(recording->unknown & UNKNOWN_THREADS))
		add_total(out, "threads", totals->threads, "", NULL);
}

#define SUMMARY_CALLS_LEAST 1000u

/* A page or two unless somebody wants more of it. */
static bool in_brief(const struct page *page)
{
	return page->options->limit == VIEW_DEFAULT_LIMIT && !page->options->all_frames;
}

/* In brief calls count where there are many, temporary ones where they are said above, too. */
static bool is_worth_a_list(const struct page *page, int list)
{
	const struct totals *totals = model_totals(page->model);
	if (page->summary.lists[list].len == 0)
		return false;
	if (!in_brief(page))
		return true;
	if (list == SUMMARY_CALLS)
		return totals->allocations >= SUMMARY_CALLS_LEAST;
	return list != SUMMARY_TEMPORARY || (totals->allocations >= SUMMARY_CALLS_LEAST &&
						    totals->temporary >= totals->allocations / 10);
}

/* Rows of each list: where there are many lists fewer, so that all of them fit. */
static size_t rows_of_list(const struct page *page)
{
	size_t lists = 0;
	for (int i = 0; i < SUMMARY_LISTS; i++)
		lists += is_worth_a_list(page, i);
	return in_brief(page) && lists > 2 ? min(page->limit, (size_t)2) : page->limit;
}

/* What the list of the peak is without, so that its shares do not add up to all. */
static void add_left_out_at_peak(const struct page *page, struct text *out)
{
	const struct site *own = &page->summary.libraries;
	if (!own->peak_bytes)
		return;
	text_add(out, "  Libraries kept another ");
	text_add_bytes(out, own->peak_bytes);
	uint64_t whole = model_totals(page->model)->peak_bytes;
	if (whole)
		text_printf(out, " (%.1f%%)", 100.0 * (double)own->peak_bytes / (double)whole);
	text_add(out, " for themselves, left out here: --view peak shows all.\n");
}

void text_summary(const struct page *page, struct text *out)
{
	static const char *const titles[] = {
		[SUMMARY_NEVER_FREED] = "Never freed",
		[SUMMARY_PEAK] = "Live at the peak",
		[SUMMARY_CALLS] = "Most calls",
		[SUMMARY_TEMPORARY] = "Most temporary allocations",
	};
	static_assert(ARRAY_SIZE(titles) == SUMMARY_LISTS, "each list has a title");
	const struct range *range = &model_recording(page->model)->range;
	text_heading(page->model, out);
	text_verdict(&page->summary.verdict, out);
	text_notes(&page->notes, out);
	add_totals(page, out);
	for (int i = 0; i < SUMMARY_LISTS; i++) {
		if (!is_worth_a_list(page, i))
			continue;
		const char *title = titles[i];
		if (i == SUMMARY_NEVER_FREED &&
			(range->part || model_recording(page->model)->snapshot))
			title = range->from_step ? "Allocated in the range and live at its end"
						 : "Live then";
		text_add(out, "\n");
		(in_brief(page) ? text_rows_brief : text_rows)(page, title,
			summary_metric(range, (enum summary_list)i), &page->summary.lists[i],
			rows_of_list(page), out);
		if (i == SUMMARY_PEAK)
			add_left_out_at_peak(page, out);
	}
	if (page->options->sort != METRICS) {
		_cleanup_(text_deinit) struct text title;
		text_init(&title);
		text_printf(&title, "Sites by %s", metric_name(page->sort));
		text_add(out, "\n");
		text_rows(page, title.data ? title.data : "", page->sort, &page->list, page->limit,
			out);
	}
	text_next(page, out);
}

void text_sites(const struct page *page, struct text *out)
{
	text_heading(page->model, out);
	text_notes(&page->notes, out);
	text_add(out, "\n");
	text_rows(page, page->view->title, page->sort, &page->list, page->limit, out);
	struct site own = {0};
	if (page->view->of_program)
		library_own_sum(page->rows, &own);
	if (!own.live_blocks)
		return;
	text_add(out, "\nLibraries keep ");
	text_add_bytes(out, own.live_bytes);
	text_add(out, " in ");
	text_add_counted(out, own.live_blocks, "block", "blocks");
	text_add(out, " for themselves, left out here: --view libraries shows them, "
		      "--count-libraries counts them.\n");
}

void text_inherited(const struct page *page, struct text *out)
{
	const struct inherited *inherited = model_inherited(page->model);
	text_heading(page->model, out);
	text_notes(&page->notes, out);
	if (inherited->from) {
		text_add(out, "\nBegan with\n");
		bool exact = inherited_is_counted(inherited);
		add_total(out, inherited->at_most && !exact ? "at most" : "blocks",
			inherited_left(inherited),
			inherited->at_most && exact ? "  at most with " : "  with ",
			&inherited->bytes);
		if (inherited->freed_blocks) {
			text_add(out, "  Of the ");
			text_add_counted(out, inherited->blocks, "block", "blocks");
			text_add(out, " below, processes in between had freed ");
			text_add_count(out, inherited->freed_blocks);
			text_add(out, "; which ones is not known.\n");
		}
	}
	text_add(out, "\n");
	text_rows(page, page->view->title, page->sort, &page->list, page->limit, out);
}
