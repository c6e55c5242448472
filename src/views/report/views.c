/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of views. A view says what of the model it shows and in which order (fill,
 * view_fill.c); the forms (text, JSON) only lay out what the page holds (page.c).
 */
#include "views/views.h"

#include <string.h>

#include "base/util.h"
#include "views/compare/change_view.h"
#include "views/report/report_answers.h"
#include "views/report/view_fill.h"

#define BIT(metric) (1u << (metric))
#define ALL_METRICS (BIT(METRICS) - 1)
#define TEXT_ROWS 20u
#define TEXT_TOP 3u
#define MARKS_LIMIT 1000u
/* What all lists of sites have in common. */
#define SHOWS_SITES SHOWS_SITES_OF(view_fill_sites)
#define SHOWS_SITES_OF(filled)                                                                     \
	.metrics = ALL_METRICS, .fill = filled, .answer = report_sites,                            \
	.table = &report_sites_type, .fill_change = fill_change_sites,                             \
	.answer_change = change_sites, .change_table = &change_sites_type, .has_sites = true

/* What all tables of flat and cum have in common. */
#define SHOWS_SPOTS                                                                                \
	.filter = METRICS, .sort = METRIC_ALLOCATED_BYTES, .metrics = ALL_METRICS,                 \
	.text_limit = TEXT_ROWS, .fill = view_fill_spots, .answer = report_spots,                  \
	.table = &report_spots_type, .fill_change = fill_change_spots,                             \
	.answer_change = report_spots, .change_table = &change_spots_type, .has_sites = true

/* What lists have that people read the first rows of. */
#define LISTS(name_, title_, filter_, sort_)                                                       \
	.name = name_, .title = title_, .filter = filter_, .sort = sort_, .text_limit = TEXT_ROWS

static const struct view views[] = {
	{.name = "summary",
		.title = "Sites",
		.filter = METRICS,
		.sort = METRIC_ALLOCATED_BYTES,
		.metrics = ALL_METRICS,
		.text_limit = TEXT_TOP,
		.fill = view_fill_summary,
		.answer = report_summary,
		.table = &report_sites_type,
		.fill_change = fill_change_summary,
		.answer_change = change_summary,
		.change_table = &change_sites_type,
		.has_sites = true},
	{LISTS("sites", "Sites", METRICS, METRIC_ALLOCATED_BYTES), SHOWS_SITES},
	{LISTS("never-freed", "Never freed", METRIC_LIVE_BLOCKS, METRIC_LIVE_BYTES),
		.of_program = true, SHOWS_SITES},
	{LISTS("libraries", "Kept by libraries for themselves", METRIC_LIVE_BLOCKS,
		 METRIC_LIVE_BYTES),
		.no_base = "--view sites --base OLD compares what libraries keep together with all "
			   "other memory",
		.of_libraries = true, SHOWS_SITES},
	{LISTS("kept", "Allocated in the range and live at its end", METRIC_KEPT_BLOCKS,
		 METRIC_KEPT_BYTES),
		.no_base = "it shows a range of one recording; to compare what is live at two "
			   "moments, use --view never-freed --base OLD@MOMENT NEW@MOMENT",
		.of_program = true, SHOWS_SITES},
	{LISTS("peak", "Live at the peak", METRIC_PEAK_BLOCKS, METRIC_PEAK_BYTES), SHOWS_SITES,
		.needs = UNKNOWN_PEAK_BYTES},
	{LISTS("inherited", "Allocated by the process that it was forked from", METRIC_LIVE_BLOCKS,
		 METRIC_LIVE_BYTES),
		.metrics = BIT(METRIC_LIVE_BLOCKS) | BIT(METRIC_LIVE_BYTES),
		.fill = view_fill_sites, .answer = report_inherited, .table = &report_sites_type,
		.fill_change = fill_change_inherited, .answer_change = change_sites,
		.change_table = &change_sites_type, .has_sites = true, .inherited = true},
	{LISTS("temporary", "Temporary allocations", METRIC_TEMPORARY, METRIC_TEMPORARY),
		.merges = true, SHOWS_SITES_OF(view_fill_temporary)},
	{.name = "functions", .title = "Functions", .grain = GRAIN_FUNCTIONS, SHOWS_SPOTS},
	{.name = "lines", .title = "Source lines", .grain = GRAIN_LINES, SHOWS_SPOTS},
	{.name = "addresses", .title = "Addresses", .grain = GRAIN_ADDRESSES, SHOWS_SPOTS},
	{.name = "files", .title = "Source files", .grain = GRAIN_FILES, SHOWS_SPOTS},
	{.name = "modules", .title = "Modules", .grain = GRAIN_MODULES, SHOWS_SPOTS},
	{LISTS("growth", "Growth", METRICS, METRIC_LIVE_BYTES), .fill = view_fill_growth,
		.answer = report_growth, .table = &report_places_type,
		.fill_change = view_compare_growth, .answer_change = change_growth,
		.change_table = &change_places_type, .own_change = true,
		.needs = UNKNOWN_SERIES | UNKNOWN_SERIES_SITES, .has_sites = true,
		.moments = view_growth_moments},
	{.name = "timeline",
		.title = "Timeline",
		.filter = METRICS,
		.sort = METRIC_LIVE_BYTES,
		.fill = view_fill_timeline,
		.answer = report_timeline,
		.table = &report_snapshots_type,
		.ruled = true,
		.fill_change = view_compare_timeline,
		.change_table = &report_snapshots_type,
		.own_change = true,
		.needs = UNKNOWN_SERIES,
		.moments = view_timeline_moments,
		.schema = "heapwise.timeline/1"},
	{.name = "lifetimes",
		.title = "Lifetimes",
		.filter = METRICS,
		.sort = METRIC_ALLOCATIONS,
		.fill = view_fill_lifetimes,
		.answer = report_lifetimes,
		.table = &report_life_types[0],
		.needs = UNKNOWN_LIVES,
		.fill_change = fill_change_lifetimes,
		.answer_change = change_lifetimes,
		.change_table = &change_lives_type,
		.needs_lives = true},
	{LISTS("realloc", "Reallocs", METRICS, METRIC_ALLOCATED_BYTES), .fill = view_fill_reallocs,
		.answer = report_reallocs, .table = &report_reallocs_type, .needs = UNKNOWN_LIVES,
		.fill_change = fill_change_reallocs, .answer_change = change_reallocs,
		.change_table = &change_reallocs_type, .has_sites = true, .needs_lives = true},
	{LISTS("sizes", "Sizes", METRICS, METRIC_ALLOCATIONS),
		.metrics = BIT(METRIC_ALLOCATIONS) | BIT(METRIC_ALLOCATED_BYTES),
		.fill = view_fill_sizes, .answer = report_sizes, .table = &report_sizes_type,
		.needs = UNKNOWN_SIZES, .fill_change = fill_change_sizes,
		.answer_change = change_sizes, .change_table = &change_sizes_type},
	{LISTS("threads", "Threads", METRICS, METRIC_ALLOCATIONS),
		.metrics = BIT(METRIC_ALLOCATIONS) | BIT(METRIC_ALLOCATED_BYTES) |
			   BIT(METRIC_TEMPORARY),
		.fill = view_fill_threads, .answer = report_threads, .table = &report_threads_type,
		.needs = UNKNOWN_THREADS, .fill_change = fill_change_threads,
		.answer_change = change_threads, .change_table = &change_threads_type},
	{.name = "marks",
		.no_base =
			"marks are moments of one recording; to compare what was live at them, use "
			"--view never-freed --base OLD@mark:NAME NEW@mark:NAME",
		.title = "Marks",
		.filter = METRICS,
		.sort = METRICS,
		.text_limit = MARKS_LIMIT,
		.fill = view_fill_marks,
		.answer = report_marks,
		.table = &report_marks_type,
		.needs_marks = true},
	{.name = "rss",
		.title = "Resident memory",
		.filter = METRICS,
		.sort = METRICS,
		.text_limit = MARKS_LIMIT,
		.fill = view_fill_errors,
		.answer = report_rss,
		.table = &report_rss_type,
		.no_base =
			"resident memory can't be compared; 'heapwise diff' compares allocations",
		.needs_resident = true},
	{LISTS("errors", "Errors", METRICS, METRICS), .fill = view_fill_errors,
		.answer = report_errors, .table = &report_errors_type,
		.no_base = "errors can't be compared; 'heapwise diff' compares allocations",
		.needs_errors = true},
};

const struct view *view_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(views); i++)
		if (strcmp(views[i].name, name) == 0)
			return &views[i];
	return NULL;
}

void view_add_names(struct text *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(views); i++)
		text_printf(text, "%s%s", i ? ", " : "", views[i].name);
}

bool view_shows_inherited(const struct view *view)
{
	return view->inherited || view->fill == view_fill_summary;
}

bool view_has_cum(const struct view *view)
{
	return view->fill == view_fill_spots;
}

bool view_needs_marks(const struct view *view)
{
	return view->needs_marks;
}

size_t view_needs_moments(const struct view *view, const struct view_options *options)
{
	return view->moments ? view->moments(options) : 0;
}

size_t view_moments_every(const struct view *view, const struct view_options *options)
{
	return view->fill == view_fill_timeline ? options->timeline.detailed_freq : 0;
}

bool view_needs_lives(const struct view *view)
{
	return view->needs_lives;
}

const char *view_no_base(const struct view *view)
{
	return view->no_base;
}

bool view_can_filter(const struct view *view)
{
	/* A summary's verdict is on all of a recording. */
	return view->has_sites && view->fill != view_fill_summary && !view->needs_lives;
}

bool view_can_sort(const struct view *view, enum metric metric)
{
	return metric < METRICS && (view->metrics & BIT(metric)) != 0;
}

void view_add_metrics(struct text *text, const struct view *view)
{
	const char *joint = "";
	for (int i = 0; i < METRICS; i++) {
		if (!view_can_sort(view, (enum metric)i))
			continue;
		text_printf(text, "%s%s", joint, metric_name((enum metric)i));
		joint = ", ";
	}
}
