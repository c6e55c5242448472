/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/report/view_fill.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/merge.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "views/compare/change_view.h"

struct error *view_fill_sites(struct page *page)
{
	const struct rows *from = page->rows;
	struct error *error = NULL;
	if (page->view->merges) {
		error = rows_merge(from, page->view->filter, &page->merged);
		from = &page->merged;
	}
	if (!error)
		error = rows_select(from, page->view->filter, page->sort, &page->list);
	/* For programs each row says whose blocks it has. */
	if (!error && (page->view->of_libraries || (page->view->of_program && !page->for_programs)))
		row_list_leave(&page->list, page->view->of_libraries);
	return error;
}

/* Of so many places the series was left out. */
static void note_many_sites(struct page *page)
{
	size_t sites;
	model_sites(page->model, &sites);
	if (sites <= LIVES_FEW_SITES)
		return;
	text_add(&page->notes, "Growth was not checked, because that takes much memory with ");
	text_add_counted(&page->notes, sites, "allocation site", "allocation sites");
	text_add(&page->notes, "; use --view growth.\n");
}

/* Whether views that go through all events can be had of it. */
static bool has_all_events(const struct recording *recording)
{
	return !recording->dropped_steps && strcmp(recording->mode, "exact") == 0;
}

bool view_has_bytes_alone(const struct page *page)
{
	const struct recording *recording = model_recording(page->model);
	return page->sort == METRIC_ALLOCATED_BYTES &&
	       metric_is_known(METRIC_ALLOCATED_BYTES, recording) &&
	       !metric_is_known(METRIC_ALLOCATIONS, recording);
}

struct error *view_fill_summary(struct page *page)
{
	struct error *error =
		summary_build(page->model, page->resolver, &page->all, page->rows, &page->summary);
	const struct recording *recording = model_recording(page->model);
	if (!error && !page->summary.has_reallocs && recording->events > LIVES_FEW_EVENTS &&
		!(recording->unknown & UNKNOWN_LIVES) && has_all_events(recording))
		text_add(&page->notes,
			"Growth and reallocs were not checked, because that requires reading all "
			"events; use --view growth and --view realloc.\n");
	else if (!error && page->summary.has_reallocs && !page->summary.has_growth)
		note_many_sites(page);
	/* Text has all sites only where they are asked for by --sort, or fill no other list. */
	bool shows_sites =
		page->for_programs || page->options->sort != METRICS || view_has_bytes_alone(page);
	return error || !shows_sites ? error : view_fill_sites(page);
}

struct error *view_fill_spots(struct page *page)
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

static int view_fill_compare_sizes(const void *left, const void *right, void *ctx)
{
	const struct size_count *a = left, *b = right;
	uint64_t x = size_value(ctx, a), y = size_value(ctx, b);
	if (x != y)
		return x > y ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

struct error *view_fill_sizes(struct page *page)
{
	size_t count;
	const struct size_count *sizes = model_sizes(page->model, &count);
	for (size_t i = 0; i < count; i++)
		if (!size_list_push(&page->sizes, sizes[i]))
			return error_no_memory();
	if (count)
		qsort_r(page->sizes.data, count, sizeof(*page->sizes.data), view_fill_compare_sizes,
			page);
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

struct error *view_fill_threads(struct page *page)
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

struct error *view_fill_marks(struct page *page)
{
	page->marks = model_marks(page->model, &page->mark_count);
	return NULL;
}

struct error *view_fill_errors(struct page *page)
{
	(void)page; /* they are shown as they come */
	return NULL;
}

struct error *view_compare_growth(struct page *page)
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

struct error *view_fill_growth(struct page *page)
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

size_t view_growth_moments(const struct view_options *options)
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
		text_add(notes, "older(B) is without stacks: that recording does not contain their "
				"sizes.\n");
	if (!model_recording(page->model)->sample_bytes !=
		!model_recording(page->options->base->model)->sample_bytes)
		text_add(notes, "One of the two recordings is a sample: its totals do not include "
				"the rounding of block sizes.\n");
}

struct error *view_fill_timeline(struct page *page)
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
		text_add(&page->notes, "extra-heap does not include the rounding of block sizes, "
				       "which is unknown for a sample.\n");
	if (page->timeline.peak_is_highest)
		text_add(&page->notes,
			"The peak is the highest snapshot: the true peak is unknown.\n");
	if (page->options->timeline.chart)
		; /* it has no such columns */
	else if (!page->options->timeline.stacks)
		text_add(&page->notes, "stacks(B) is omitted: --stacks=no is the default.\n");
	else if (!has_stacks(&page->timeline))
		text_add(&page->notes,
			"stacks(B) is 0: this recording does not contain stack sizes.\n");
	if (page->options->base)
		note_older_timeline(page);
	return page->notes.failed ? error_no_memory() : NULL;
}

struct error *view_compare_timeline(struct page *page)
{
	summary_add_notes(page->model, page->resolver, &page->notes);
	return view_fill_timeline(page);
}

/* The peak and the end may come on top. */
size_t view_timeline_moments(const struct view_options *options)
{
	return options->timeline.max_snapshots - 1;
}

void page_add_sample_note(struct page *page)
{
	if (model_recording(page->model)->sample_bytes)
		text_add(&page->notes, "These figures cover only the sampled blocks; they are not "
				       "estimates for all blocks.\n");
}

struct error *view_fill_lifetimes(struct page *page)
{
	page_add_sample_note(page);
	text_add(&page->notes,
		"\"too short\" is below the resolution of the recording: a group of up to 256 "
		"calls has one time.\n"
		"A realloc ends the lifetime of one block and starts that of another.\n");
	return page->notes.failed ? error_no_memory() : NULL;
}

struct error *view_fill_reallocs(struct page *page)
{
	page_add_sample_note(page);
	if (page->notes.failed)
		return error_no_memory();
	return reallocs_build(page->model, page->resolver, page->rows, &page->reallocs);
}

/* Which rule made them temporary. Files of heaptrack have but its own. */
struct error *view_fill_temporary(struct page *page)
{
	const struct recording *recording = model_recording(page->model);
	bool heaptrack = !strcmp(recording->source, "heaptrack");
	if (metric_is_known(METRIC_TEMPORARY, recording)) {
		text_add(&page->notes, "An allocation is temporary if it was freed ");
		summary_add_temporary_rule(&page->notes, recording);
		text_add(&page->notes, recording->temporary_within > 1 || heaptrack
					       ? ".\n"
					       : "; --temporary-within N counts those freed within "
						 "N allocations.\n");
	}
	return page->notes.failed ? error_no_memory() : view_fill_sites(page);
}
