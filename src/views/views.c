/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of views. A view says what of the model it shows and in which order (fill); the forms
 * (text, JSON) only lay out what the page holds.
 */
#include "views/views.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/filter.h"
#include "analysis/library_own.h"
#include "analysis/merge.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "views/change_view.h"

static struct error *fill_sites(struct page *page)
{
	const struct rows *from = page->rows;
	struct error *error = NULL;
	if (page->view->merges) {
		error = rows_merge(from, page->view->filter, &page->merged);
		from = &page->merged;
	}
	if (!error)
		error = rows_select(from, page->view->filter, page->sort, &page->list);
	/* As JSON each row says whose blocks it has. */
	if (!error &&
		(page->view->of_libraries || (page->view->of_program && !page->options->json)))
		row_list_leave(&page->list, page->view->of_libraries);
	return error;
}

static struct error *fill_summary(struct page *page)
{
	struct error *error =
		summary_build(page->model, page->resolver, page->rows, &page->summary);
	const struct recording *recording = model_recording(page->model);
	if (!error && !page->summary.has_reallocs && recording->events > LIVES_FEW_EVENTS &&
		!(recording->unknown & UNKNOWN_LIVES) && !recording->sample_bytes)
		text_add(&page->notes,
			"Growth and reallocs were not looked at, since that takes going through "
			"all events: --view growth and --view realloc do.\n");
	return error ? error : fill_sites(page);
}

static struct error *fill_spots(struct page *page)
{
	struct error *error = spots_create(page->view->grain, &page->spots);
	return error ? error
		     : spot_totals_build(page->rows, page->spots, page->sort, page->options->by_cum,
			       &page->spot_totals);
}

static uint64_t size_value(const struct page *page, const struct size_count *row)
{
	return page->sort == METRIC_ALLOCATED_BYTES ? row->size * row->allocations
						    : row->allocations;
}

static int compare_sizes(const void *left, const void *right, void *ctx)
{
	const struct size_count *a = left, *b = right;
	uint64_t x = size_value(ctx, a), y = size_value(ctx, b);
	if (x != y)
		return x > y ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

static struct error *fill_sizes(struct page *page)
{
	size_t count;
	const struct size_count *sizes = model_sizes(page->model, &count);
	for (size_t i = 0; i < count; i++)
		if (!size_list_push(&page->sizes, sizes[i]))
			return error_no_memory();
	if (count)
		qsort_r(page->sizes.data, count, sizeof(*page->sizes.data), compare_sizes, page);
	return NULL;
}

static uint64_t thread_value(const struct page *page, const struct thread *row)
{
	switch (page->sort) {
	case METRIC_ALLOCATED_BYTES:
		return row->allocated_bytes;
	case METRIC_TEMPORARY:
		return row->temporary;
	default:
		return row->allocations;
	}
}

static int compare_threads(const void *left, const void *right, void *ctx)
{
	/* Pointers into one array: their order is that of the indexes. */
	const struct thread *a = *(const struct thread *const *)left;
	const struct thread *b = *(const struct thread *const *)right;
	uint64_t x = thread_value(ctx, a), y = thread_value(ctx, b);
	if (x != y)
		return x > y ? -1 : 1;
	return a < b ? -1 : a > b;
}

static struct error *fill_threads(struct page *page)
{
	size_t count;
	const struct thread *threads = model_threads(page->model, &count);
	for (size_t i = 0; i < count; i++)
		if (!thread_list_push(&page->threads, &threads[i]))
			return error_no_memory();
	if (count)
		qsort_r(page->threads.data, count, sizeof(*page->threads.data), compare_threads,
			page);
	return NULL;
}

static struct error *fill_marks(struct page *page)
{
	page->marks = model_marks(page->model, &page->mark_count);
	return NULL;
}

static struct error *fill_errors(struct page *page)
{
	(void)page; /* they are shown as they come */
	return NULL;
}

static struct error *compare_growth(struct page *page)
{
	const struct growth_change_options options = {
		.same_recording = page->options->base->same_recording,
		.all_frames = page->options->all_frames,
		.filter = page->options->filter,
		.tail_percent = page->options->tail_percent,
		.older_label = page->options->base->label,
	};
	struct growth_change *change = &page->growth_change;
	struct error *error =
		growth_change_build(page->options->base->model, page->model, &options, change);
	if (error)
		return error;
	if (change->notes.len)
		text_add_n(&page->notes, change->notes.data, change->notes.len);
	return page->notes.failed ? error_no_memory() : NULL;
}

static struct error *fill_growth(struct page *page)
{
	bool filtered = page->rows == &page->left.rows;
	const struct growth_places places = {
		.all = &page->all,
		.shown = page->rows,
		.shown_of = filtered ? page->left.row_of : NULL,
		.chosen = filtered || model_recording(page->model)->blocks,
	};
	return growth_build(
		page->model, page->resolver, &places, page->options->tail_percent, &page->growth);
}

static size_t growth_moments(const struct view_options *options)
{
	(void)options;
	return GROWTH_MOMENTS;
}

static bool has_stacks(const struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->snapshots.len; i++)
		if (timeline->snapshots.data[i].stacks)
			return true;
	return false;
}

/* How moments of both are matched, and what their totals differ in. */
static void note_older_timeline(struct page *page)
{
	const char *label = page->options->base->label;
	const struct timeline_options *options = &page->options->timeline;
	struct text *notes = &page->notes;
	text_add(notes, "older(B) and the line of o are the total of ");
	text_add_shown(notes, label, 400);
	text_printf(notes,
		", when the same part of its run had passed, by %s: as of its latest snapshot "
		"then.\n",
		options->unit == TIMELINE_MS      ? "time"
		: options->unit == TIMELINE_BYTES ? "bytes allocated and freed"
						  : "instructions");
	if (options->stacks && has_stacks(&page->timeline) && !has_stacks(&page->older_timeline))
		text_add(notes,
			"older(B) is without stacks: that recording does not say how large they "
			"were.\n");
	if (!model_recording(page->model)->sample_bytes !=
		!model_recording(page->options->base->model)->sample_bytes)
		text_add(notes,
			"One of the two recordings is a sample: its totals are without what "
			"blocks are rounded up by.\n");
}

static struct error *fill_timeline(struct page *page)
{
	if (page->options->base) {
		struct error *error = timeline_build_curve(page->options->base->model,
			&page->options->timeline, &page->older_timeline);
		if (error)
			return error;
	}
	struct error *error = timeline_build(
		page->model, page->resolver, &page->options->timeline, &page->timeline);
	if (error)
		return error;
	if (model_recording(page->model)->sample_bytes)
		text_add(&page->notes,
			"extra-heap is without what blocks are rounded up by: of a sample that is "
			"not known.\n");
	if (page->timeline.peak_is_highest)
		text_add(&page->notes,
			"The peak is the highest of the snapshots: no other is known.\n");
	if (!page->options->timeline.stacks)
		text_add(&page->notes, "stacks(B) is left out, as --stacks=no is the default.\n");
	else if (!has_stacks(&page->timeline))
		text_add(&page->notes,
			"stacks(B) is 0: this recording does not say how large stacks were.\n");
	if (page->options->base)
		note_older_timeline(page);
	return page->notes.failed ? error_no_memory() : NULL;
}

static struct error *compare_timeline(struct page *page)
{
	summary_add_notes(page->model, page->resolver, &page->notes);
	return fill_timeline(page);
}

/* The peak and the end may come on top. */
static size_t timeline_moments(const struct view_options *options)
{
	return options->timeline.max_snapshots - 1;
}

void page_add_sample_note(struct page *page)
{
	if (model_recording(page->model)->sample_bytes)
		text_add(&page->notes,
			"These are figures of the sampled blocks alone, no estimates for all.\n");
}

static struct error *fill_lifetimes(struct page *page)
{
	page_add_sample_note(page);
	text_add(&page->notes,
		"\"too short\" is shorter than the recording can tell: all of a group of up to 256 "
		"calls has one time.\n"
		"A realloc ends the life of a block, and begins that of another one.\n");
	return page->notes.failed ? error_no_memory() : NULL;
}

static struct error *fill_reallocs(struct page *page)
{
	page_add_sample_note(page);
	if (page->notes.failed)
		return error_no_memory();
	return reallocs_build(page->model, page->resolver, page->rows, &page->reallocs);
}

#define BIT(metric) (1u << (metric))
#define ALL_METRICS (BIT(METRICS) - 1)
#define TEXT_ROWS 20u
#define TEXT_TOP 3u
#define MARKS_LIMIT 1000u
/* What all lists of sites have in common. */
#define SHOWS_SITES                                                                                \
	.metrics = ALL_METRICS, .fill = fill_sites, .text = text_sites, .json = json_sites,        \
	.fill_change = fill_change_sites, .text_change = text_change_sites, .has_sites = true

/* What all tables of flat and cum have in common. */
#define SHOWS_SPOTS                                                                                \
	.filter = METRICS, .sort = METRIC_ALLOCATED_BYTES, .metrics = ALL_METRICS,                 \
	.text_limit = TEXT_ROWS, .fill = fill_spots, .text = text_spots, .json = json_spots,       \
	.fill_change = fill_change_spots, .text_change = text_change_spots, .has_sites = true

static const struct view views[] = {
	{.name = "summary",
		.title = "Sites",
		.filter = METRICS,
		.sort = METRIC_ALLOCATED_BYTES,
		.metrics = ALL_METRICS,
		.text_limit = TEXT_TOP,
		.fill = fill_summary,
		.text = text_summary,
		.json = json_summary,
		.fill_change = fill_change_summary,
		.text_change = text_change_summary,
		.has_sites = true},
	{.name = "sites",
		.title = "Sites",
		.filter = METRICS,
		.sort = METRIC_ALLOCATED_BYTES,
		.text_limit = TEXT_ROWS,
		SHOWS_SITES},
	{.name = "never-freed",
		.title = "Never freed",
		.filter = METRIC_LIVE_BLOCKS,
		.sort = METRIC_LIVE_BYTES,
		.text_limit = TEXT_ROWS,
		.of_program = true,
		SHOWS_SITES},
	{.name = "libraries",
		.no_base = "what libraries keep is compared with all else: --view sites --base OLD",
		.title = "Kept by libraries for themselves",
		.filter = METRIC_LIVE_BLOCKS,
		.sort = METRIC_LIVE_BYTES,
		.text_limit = TEXT_ROWS,
		.of_libraries = true,
		SHOWS_SITES},
	{.name = "kept",
		.no_base = "what is kept is of a range of one recording, and the older one has "
			   "none: compare what is live at two moments, --view never-freed --base "
			   "OLD@MOMENT NEW@MOMENT",
		.title = "Allocated in the range and live at its end",
		.filter = METRIC_KEPT_BLOCKS,
		.sort = METRIC_KEPT_BYTES,
		.text_limit = TEXT_ROWS,
		.of_program = true,
		SHOWS_SITES},
	{.name = "peak",
		.title = "Live at the peak",
		.filter = METRIC_PEAK_BLOCKS,
		.sort = METRIC_PEAK_BYTES,
		.text_limit = TEXT_ROWS,
		SHOWS_SITES},
	{.name = "inherited",
		.title = "Allocated by the process that it was forked from",
		.filter = METRIC_LIVE_BLOCKS,
		.sort = METRIC_LIVE_BYTES,
		.metrics = BIT(METRIC_LIVE_BLOCKS) | BIT(METRIC_LIVE_BYTES),
		.text_limit = TEXT_ROWS,
		.fill = fill_sites,
		.text = text_inherited,
		.json = json_inherited,
		.fill_change = fill_change_inherited,
		.text_change = text_change_sites,
		.has_sites = true,
		.inherited = true},
	{.name = "temporary",
		.title = "Temporary allocations",
		.filter = METRIC_TEMPORARY,
		.sort = METRIC_TEMPORARY,
		.merges = true,
		.text_limit = TEXT_ROWS,
		SHOWS_SITES},
	{.name = "functions", .title = "Functions", .grain = GRAIN_FUNCTIONS, SHOWS_SPOTS},
	{.name = "lines", .title = "Source lines", .grain = GRAIN_LINES, SHOWS_SPOTS},
	{.name = "addresses", .title = "Addresses", .grain = GRAIN_ADDRESSES, SHOWS_SPOTS},
	{.name = "files", .title = "Source files", .grain = GRAIN_FILES, SHOWS_SPOTS},
	{.name = "modules", .title = "Modules", .grain = GRAIN_MODULES, SHOWS_SPOTS},
	{.name = "growth",
		.title = "Growth",
		.filter = METRICS,
		.sort = METRIC_LIVE_BYTES,
		.text_limit = TEXT_ROWS,
		.fill = fill_growth,
		.text = text_growth,
		.json = json_growth,
		.fill_change = compare_growth,
		.text_change = text_growth,
		.json_change = json_growth,
		.own_change = true,
		.needs = UNKNOWN_SERIES | UNKNOWN_SERIES_SITES,
		.has_sites = true,
		.moments = growth_moments},
	{.name = "timeline",
		.title = "Timeline",
		.filter = METRICS,
		.sort = METRIC_LIVE_BYTES,
		.fill = fill_timeline,
		.text = text_timeline,
		.json = json_timeline,
		.fill_change = compare_timeline,
		.text_change = text_timeline,
		.json_change = json_timeline,
		.own_change = true,
		.needs = UNKNOWN_SERIES,
		.moments = timeline_moments,
		.schema = "heapwise.timeline/1"},
	{.name = "lifetimes",
		.title = "Lifetimes",
		.filter = METRICS,
		.sort = METRIC_ALLOCATIONS,
		.fill = fill_lifetimes,
		.text = text_lifetimes,
		.json = json_lifetimes,
		.needs = UNKNOWN_LIVES,
		.fill_change = fill_change_lifetimes,
		.text_change = text_change_lifetimes,
		.json_change = json_change_lifetimes,
		.needs_lives = true},
	{.name = "realloc",
		.title = "Reallocs",
		.filter = METRICS,
		.sort = METRIC_ALLOCATED_BYTES,
		.text_limit = TEXT_ROWS,
		.fill = fill_reallocs,
		.text = text_reallocs,
		.json = json_reallocs,
		.needs = UNKNOWN_LIVES,
		.fill_change = fill_change_reallocs,
		.text_change = text_change_reallocs,
		.json_change = json_change_reallocs,
		.has_sites = true,
		.needs_lives = true},
	{.name = "sizes",
		.title = "Sizes",
		.filter = METRICS,
		.sort = METRIC_ALLOCATIONS,
		.metrics = BIT(METRIC_ALLOCATIONS) | BIT(METRIC_ALLOCATED_BYTES),
		.text_limit = TEXT_ROWS,
		.fill = fill_sizes,
		.text = text_sizes,
		.json = json_sizes,
		.needs = UNKNOWN_SIZES,
		.fill_change = fill_change_sizes,
		.text_change = text_change_sizes,
		.json_change = json_change_sizes},
	{.name = "threads",
		.title = "Threads",
		.filter = METRICS,
		.sort = METRIC_ALLOCATIONS,
		.metrics = BIT(METRIC_ALLOCATIONS) | BIT(METRIC_ALLOCATED_BYTES) |
			   BIT(METRIC_TEMPORARY),
		.text_limit = TEXT_ROWS,
		.fill = fill_threads,
		.text = text_threads,
		.json = json_threads,
		.needs = UNKNOWN_THREADS,
		.fill_change = fill_change_threads,
		.text_change = text_change_threads,
		.json_change = json_change_threads},
	{.name = "marks",
		.no_base = "marks are moments of one recording. What was live at them can be "
			   "compared: --view never-freed --base OLD@mark:NAME NEW@mark:NAME",
		.title = "Marks",
		.filter = METRICS,
		.sort = METRICS,
		.text_limit = MARKS_LIMIT,
		.fill = fill_marks,
		.text = text_marks,
		.json = json_marks,
		.needs_marks = true},
	{.name = "errors",
		.title = "Errors",
		.filter = METRICS,
		.sort = METRICS,
		.text_limit = TEXT_ROWS,
		.fill = fill_errors,
		.text = text_errors,
		.json = json_errors,
		.no_base = "errors are not compared: 'heapwise diff' compares what was allocated",
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

bool view_tells_inherited(const struct view *view)
{
	return view->inherited || view->fill == fill_summary;
}

bool view_has_cum(const struct view *view)
{
	return view->fill == fill_spots;
}

bool view_needs_marks(const struct view *view)
{
	return view->needs_marks;
}

size_t view_needs_moments(const struct view *view, const struct view_options *options)
{
	return view->moments ? view->moments(options) : 0;
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
	return view->has_sites && view->fill != fill_summary && !view->needs_lives;
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

static void page_init(struct page *page)
{
	rows_init(&page->all);
	filtered_init(&page->left);
	filtered_init(&page->folded);
	rows_init(&page->merged);
	row_list_init(&page->list);
	summary_init(&page->summary);
	text_init(&page->notes);
	unrecorded_groups_init(&page->unrecorded);
	size_list_init(&page->sizes);
	thread_list_init(&page->threads);
	spot_total_vec_init(&page->spot_totals);
	growth_init(&page->growth);
	growth_change_init(&page->growth_change);
	timeline_init(&page->timeline);
	timeline_init(&page->older_timeline);
	reallocs_init(&page->reallocs);
	comparison_init(&page->compared);
	text_init(&page->verdict);
	size_changes_init(&page->size_changes);
	thread_change_vec_init(&page->thread_changes);
	realloc_changes_init(&page->realloc_changes);
}

static void page_deinit(struct page *page)
{
	rows_deinit(&page->all);
	filtered_deinit(&page->left);
	filtered_deinit(&page->folded);
	rows_deinit(&page->merged);
	row_list_deinit(&page->list);
	summary_deinit(&page->summary);
	text_deinit(&page->notes);
	unrecorded_groups_deinit(&page->unrecorded);
	size_list_deinit(&page->sizes);
	thread_list_deinit(&page->threads);
	spot_total_vec_deinit(&page->spot_totals);
	growth_deinit(&page->growth);
	growth_change_deinit(&page->growth_change);
	timeline_deinit(&page->timeline);
	timeline_deinit(&page->older_timeline);
	reallocs_deinit(&page->reallocs);
	realloc_changes_deinit(&page->realloc_changes);
	thread_change_vec_deinit(&page->thread_changes);
	size_changes_deinit(&page->size_changes);
	text_deinit(&page->verdict);
	comparison_deinit(&page->compared);
	spots_destroy(page->spots);
}

/* The model's stacks, what limits their figures, and what a filter leaves. */
static struct error *fill_rows(struct page *page, struct resolver *resolver)
{
	struct error *error = NULL;
	page->rows = &page->all;
	if (page->view->has_sites)
		error = (page->view->inherited ? rows_build_inherited : rows_build)(
			page->model, resolver, &page->all);
	if (error)
		return error;
	if (page->options->count_libraries)
		library_own_forget(&page->all);
	summary_add_notes(page->model, resolver, &page->notes);
	if (!view_can_filter(page->view) || !filter_is_given(page->options->filter))
		return NULL;
	page->rows = &page->left.rows;
	return filter_apply(page->options->filter, &page->all, &page->left, &page->notes);
}

static bool is_of_functions(const struct view *view)
{
	return view->fill == fill_spots &&
	       (view->grain == GRAIN_FUNCTIONS || view->grain == GRAIN_LINES);
}

/* Text is of rows as people read them; figures of functions have no folded frames. */
static struct error *fold_rows(struct page *page)
{
	const struct view *view = page->view;
	bool spots = is_of_functions(view);
	bool lists =
		!page->options->base && (view->fill == fill_sites || view->fill == fill_summary);
	if (page->options->json || page->options->all_frames || !(spots || lists))
		return NULL;
	const struct rows *from = page->rows;
	page->rows = &page->folded.rows;
	if (spots)
		folding_add_note(from, &page->notes);
	return folding_rows(from, spots ? FOLDING_TAKES_OUT : FOLDING_REMARKS, &page->folded);
}

static struct error *fill_change(struct page *page)
{
	struct error *error = page->view->own_change ? NULL : change_page_begin(page);
	if (!error && !page->view->own_change)
		error = fold_rows(page);
	return error ? error : page->view->fill_change(page);
}

static struct error *page_fill(struct page *page, struct resolver *resolver)
{
	struct error *error = unrecorded_group(page->model, &page->unrecorded);
	if (!error && page->options->base)
		return fill_change(page);
	if (!error)
		error = fill_rows(page, resolver);
	if (!error)
		error = fold_rows(page);
	if (error)
		return error;
	return page->notes.failed ? error_no_memory() : page->view->fill(page);
}

static struct error *write_text(const struct page *page, const struct sink *sink)
{
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	(page->options->base ? page->view->text_change : page->view->text)(page, &out);
	if (out.failed)
		return error_no_memory();
	sink->write(sink->ctx, out.data, out.len);
	return NULL;
}

/* The view's own order, of what all sources say. A verdict on what changed is as that of diff. */
static enum metric sort_of(
	const struct view *view, const struct model *model, const struct view_options *options)
{
	if (options->sort != METRICS || view->sort == METRICS)
		return options->sort;
	if (view->sort == view->filter) /* it is about nothing else */
		return view->sort;
	bool summary = view->fill == fill_summary;
	struct recording all = {.unknown = model_recording(model)->unknown};
	if (options->base)
		all.unknown |= model_recording(options->base->model)->unknown;
	/* A state that somebody wrote down is about what is in use then, as pprof shows it. */
	bool live = (options->base && summary) || model_recording(model)->snapshot;
	return metric_or_known(live ? METRIC_LIVE_BYTES : view->sort, &all);
}

/* What the view is about may be more than a foreign file says. */
static struct error *check_known(const struct view *view, const struct model *model)
{
	const struct recording *recording = model_recording(model);
	size_t count;
	bool unknown = (recording->unknown & view->needs) ||
		       (view->needs_errors && !model_errors(model, &count));
	return unknown ? error_create(ERROR_INPUT,
				 "%s: is read as %s, which does not say what the view %s shows",
				 recording->path, recording->source, view->name)
		       : NULL;
}

struct error *view_write(const struct view *view, const struct model *model,
	const struct view_options *options, const struct sink *sink)
{
	_cleanup_(resolver_cleanup) struct resolver *resolver = NULL;
	struct error *error = check_known(view, model);
	if (!error && options->base)
		error = check_known(view, options->base->model);
	if (!error)
		error = resolver_create(model, options->all_frames, &resolver);
	if (error)
		return error;
	size_t own_limit = options->json ? VIEW_NO_LIMIT : view->text_limit;
	_cleanup_(page_deinit) struct page page = {
		.model = model,
		.view = view,
		.options = options,
		.resolver = resolver,
		.sort = sort_of(view, model, options),
		.limit = options->limit == VIEW_DEFAULT_LIMIT ? own_limit : options->limit,
	};
	page_init(&page);
	error = page_fill(&page, resolver);
	if (error)
		return error;
	return options->json ? json_report(&page, sink) : write_text(&page, sink);
}
