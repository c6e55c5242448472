/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The views of sites: all or some of them, or a verdict with totals and the first of each list. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/interval.h"
#include "analysis/library_own.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "views/report/figure_text.h"
#include "views/report/member_columns.h"
#include "views/report/page.h"
#include "views/report/report_answers.h"
#include "views/report/text_parts.h"
#include "views/report/view_fill.h"

/* "  allocations        1,234  12.3 MiB" */
static void add_total(struct text *out, const char *name, uint64_t count, const char *joint,
	const uint64_t *bytes)
{
	_cleanup_(text_deinit) struct text number;
	text_init(&number);
	text_add_count(&number, count);
	text_printf(out, "  %-12s %15s", name, number.data ? number.data : "");
	if (bytes)
		text_printf(out, "%s%s", joint, FMT_BYTES(*bytes));
	text_add(out, "\n");
}

/* "    95% 1,100 to 1,300, 11.9 MiB to 12.6 MiB", below the estimates that this is of; of one alone
 * where the other is not known. */
static void summary_add_range(
	const struct page *page, enum metric count, enum metric bytes, struct text *out)
{
	const struct recording *recording = model_recording(page->model);
	const struct totals *totals = model_totals(page->model);
	struct interval blocks, size;
	bool has_blocks = interval_of_totals(recording, count, totals, &blocks);
	bool has_size = interval_of_totals(recording, bytes, totals, &size);
	if (!has_blocks && !has_size)
		return;
	text_add(out, "    95% ");
	if (has_blocks)
		text_printf(out, "%s to %s%s", FMT_COUNT(blocks.low), FMT_COUNT(blocks.high),
			blocks.by_mean_sizes ? " (" INTERVAL_BY_MEAN_SIZES ")" : "");
	if (has_size)
		text_printf(out, "%s%s to %s", has_blocks ? ", " : "", FMT_BYTES(size.low),
			FMT_BYTES(size.high));
	text_add_char(out, '\n');
}

/* "    95% 3 to 9", of a count alone. */
static void add_range_of(const struct page *page, enum metric metric, struct text *out)
{
	struct interval range;
	if (!interval_of_totals(
		    model_recording(page->model), metric, model_totals(page->model), &range))
		return;
	text_printf(out, "    95%% %s to %s%s", FMT_COUNT(range.low), FMT_COUNT(range.high),
		range.by_mean_sizes ? " (" INTERVAL_BY_MEAN_SIZES ")\n" : "\n");
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
		text_printf(out, "  %-12s %s\n", name, FMT_BYTES(size));
	} else {
		return;
	}
	summary_add_range(page, count, bytes, out);
}

static void add_totals(const struct page *page, struct text *out)
{
	const struct totals *totals = model_totals(page->model);
	const struct recording *recording = model_recording(page->model);
	const struct range *range = &recording->range;
	text_add(out, "\nTotals\n");
	add_pair(page, metric_is_known(METRIC_ALLOCATIONS, recording) ? "allocations" : "allocated",
		METRIC_ALLOCATIONS, "  of ", METRIC_ALLOCATED_BYTES, out);
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
	text_printf(out, "  Libraries kept another %s", FMT_BYTES(own->peak_bytes));
	uint64_t whole = model_totals(page->model)->peak_bytes;
	if (whole)
		text_printf(out, " (%.1f%%)", 100.0 * (double)own->peak_bytes / (double)whole);
	text_add(out, " for themselves, left out here: --view peak shows all.\n");
}

/* Null unless it is known. */
static void put_known(
	const struct table_type *type, const void *context, bool is_known, struct answer *answer)
{
	const struct table record = {type, context, is_known, .limit = 1};
	answer_record(answer, &record);
}

enum { FROM, BLOCKS, BYTES, GENERATIONS, AT_MOST, FREED_BLOCKS, LEFT_BLOCKS };
static const struct column inherited_columns[] = {
	[FROM] = WORD_OF(inherited, from, "the parent's recording"),
	[BLOCKS] = COUNT_OF(inherited, blocks, "that it began with"),
	[BYTES] = BYTES_OF(inherited, bytes, "of these"),
	[GENERATIONS] = COUNT_OF(inherited, generations, "of ancestors whose blocks these are"),
	[AT_MOST] = FLAG_OF(inherited, at_most,
		"some of them had been freed before, and are in the list and in `blocks`"),
	[FREED_BLOCKS] =
		COUNT_OF(inherited, freed_blocks, "how many that were; which ones is not known"),
	[LEFT_BLOCKS] = {"left_blocks", COLUMN_INTEGER, UNIT_COUNT,
		.says = "how many were still live at the fork; null: not known, an ancestor's "
			"recording "
			"is "
			"missing"},
	COLUMNS_END};

static void inherited_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct inherited *inherited = context;
	(void)row;
	if (column != LEFT_BLOCKS)
		table_member(&inherited_columns[column], inherited, ret);
	else if (inherited_is_counted(inherited))
		ret->number = inherited_left(inherited);
	else
		ret->state = CELL_UNKNOWN;
}

const struct table_type report_inherited_type = {.name = "inherited",
	.says = "views `summary` and `inherited`: blocks that a forked process began with; null: "
		"it "
		"was not forked, or that is not known (`notes` say why)",
	.columns = inherited_columns,
	.cell = inherited_cell};

static void put_inherited(const struct page *page, struct answer *answer)
{
	const struct inherited *inherited = model_inherited(page->model);
	put_known(&report_inherited_type, inherited, inherited->from, answer);
}

#define KEPT(holder, blocks_member, bytes_member)                                                  \
	{"blocks", COLUMN_INTEGER, UNIT_COUNT, .says = "how many",                                 \
		COLUMN_OF(holder, blocks_member)},                                                 \
		{"bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "of how much",                       \
			COLUMN_OF(holder, bytes_member)},                                          \
		COLUMNS_END
static const struct column class_columns[] = {KEPT(leak_sum, blocks, bytes)};
static const struct table_type class_type = {
	.columns = class_columns, .row_bytes = sizeof(struct leak_sum)};

#define CLASS(class, member)                                                                       \
	[class] = {member, COLUMN_RECORD, .says = "as `heapwise leaks` has it",                    \
		.nested = &class_type}
static const struct column leak_columns[] = {CLASS(LEAK_CLASS_DEFINITE, "definite"),
	CLASS(LEAK_CLASS_INDIRECT, "indirect"), CLASS(LEAK_CLASS_POSSIBLE, "possible"),
	CLASS(LEAK_CLASS_REACHABLE, "reachable"), CLASS(LEAK_CLASS_SUPPRESSED, "suppressed"),
	CLASS(LEAK_CLASS_LIBRARY, "library"), COLUMNS_END};

static void leak_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)row;
	ret->nested = (struct table){&class_type, context, 1, .limit = 1};
	ret->row = column;
}

const struct table_type report_leaks_type = {.name = "leaks",
	.says = "view `summary`: what became of the blocks that were never freed, with no "
		"suppressions but the built-in ones; null: nobody searched. "
		"[heapwise.leaks/1](leaks-1.md) has more",
	.columns = leak_columns,
	.cell = leak_cell};

static const struct column library_columns[] = {KEPT(site, live_blocks, live_bytes)};
const struct table_type report_libraries_type = {.name = "libraries",
	.says = "view `summary`: what of that libraries keep for themselves: in the totals and in "
		"`sites`, not in `verdict` and `top`",
	.columns = library_columns};

/* All sites of the view; title NULL: they are not for people. */
static void summary_put_sites(const struct page *page, const char *title, struct answer *answer)
{
	const struct site_list list = {
		&report_sites_type, title, page->sort, &page->list, page->limit, false};
	if (title || !answer_is_brief(answer))
		report_site_list(page, &list, answer);
}

static const char *title_of(const struct page *page, enum summary_list list)
{
	static const char *const titles[] = {
		[SUMMARY_NEVER_FREED] = "Never freed",
		[SUMMARY_PEAK] = "Live at the peak",
		[SUMMARY_CALLS] = "Most calls",
		[SUMMARY_TEMPORARY] = "Most temporary allocations",
	};
	static_assert(ARRAY_SIZE(titles) == SUMMARY_LISTS, "each list has a title");
	const struct recording *recording = model_recording(page->model);
	if (list != SUMMARY_NEVER_FREED || (!recording->range.part && !recording->snapshot))
		return titles[list];
	return recording->range.from_step ? "Allocated in the range and live at its end"
					  : "Live then";
}

/* Lists of the summary are for reading: for programs, too, their best few. */
#define TOP_ROWS 5u

static void put_list(const struct page *page, enum summary_list which, struct answer *answer)
{
	struct text *prose = answer_prose(answer);
	const struct site_list list = {&report_top_types[which], title_of(page, which),
		summary_metric(&model_recording(page->model)->range, which),
		&page->summary.lists[which],
		prose ? rows_of_list(page) : min(page->limit, (size_t)TOP_ROWS),
		prose && in_brief(page)};
	if (prose && !is_worth_a_list(page, which))
		return;
	report_site_list(page, &list, answer);
	if (prose && which == SUMMARY_PEAK)
		add_left_out_at_peak(page, prose);
}

void report_summary(const struct page *page, struct answer *answer)
{
	_cleanup_(text_deinit) struct text title;
	struct text *prose = answer_prose(answer);
	text_init(&title);
	if (page->options->sort != METRICS || view_has_bytes_alone(page))
		text_printf(&title, "Sites by %s", metric_name(page->sort));
	put_inherited(page, answer);
	put_known(&report_leaks_type, page->summary.leaks, page->summary.searched, answer);
	answer_record_of(answer, &report_libraries_type, &page->summary.libraries);
	if (prose)
		add_totals(page, prose);
	for (int i = 0; i < SUMMARY_LISTS; i++)
		put_list(page, (enum summary_list)i, answer);
	summary_put_sites(page, title.data, answer);
	if (prose)
		text_next(page, prose);
}

void report_sites(const struct page *page, struct answer *answer)
{
	struct text *prose = answer_prose(answer);
	struct site own = {0};
	_cleanup_(text_deinit) struct text by;
	text_init(&by);
	/* Of a state that somebody wrote down what was live stands first: it is said. */
	if (page->view->filter == METRICS && page->sort != page->view->sort)
		text_printf(&by, "%s by %s", page->view->title, metric_name(page->sort));
	bool was_live = page->view->filter == METRIC_LIVE_BLOCKS && page->view->of_program &&
			model_recording(page->model)->snapshot;
	const char *title = was_live ? title_of(page, SUMMARY_NEVER_FREED)
			    : by.len ? by.data
				     : page->view->title;
	summary_put_sites(page, title, answer);
	if (prose && page->view->of_program)
		library_own_sum(page->rows, &own);
	if (!own.live_blocks)
		return;
	text_printf(prose, "\nLibraries keep %s in ", FMT_BYTES(own.live_bytes));
	text_add_counted(prose, own.live_blocks, "block", "blocks");
	text_add(prose, " for themselves, left out here: --view libraries shows them, "
			"--count-libraries counts them.\n");
}

static void add_inherited(const struct inherited *inherited, struct text *out)
{
	bool exact = inherited_is_counted(inherited);
	text_add(out, "\nBegan with\n");
	add_total(out, inherited->at_most && !exact ? "at most" : "blocks",
		inherited_left(inherited),
		inherited->at_most && exact ? "  at most with " : "  with ", &inherited->bytes);
	if (!inherited->freed_blocks)
		return;
	text_add(out, "  Of the ");
	text_add_counted(out, inherited->blocks, "block", "blocks");
	text_printf(out, " below, processes in between had freed %s; which ones is not known.\n",
		FMT_COUNT(inherited->freed_blocks));
}

void report_inherited(const struct page *page, struct answer *answer)
{
	const struct inherited *inherited = model_inherited(page->model);
	struct text *prose = answer_prose(answer);
	put_inherited(page, answer);
	if (prose && inherited->from)
		add_inherited(inherited, prose);
	summary_put_sites(page, page->view->title, answer);
}
