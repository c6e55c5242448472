/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A page from its model to its form: rows with names, filtered, folded, filled by the view,
 * written. */
#include "views/report/page.h"

#include "analysis/evidence.h"
#include "analysis/filter.h"
#include "analysis/library_own.h"
#include "base/cleanup.h"
#include "model/errors.h"
#include "model/resident.h"
#include "views/compare/change_view.h"
#include "views/report/head.h"
#include "views/report/report_answers.h"
#include "views/report/view_fill.h"

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
	if (page->options->count_libraries ||
		(!page->view->of_libraries && library_own_counts(page->model)))
		library_own_forget(&page->all);
	library_own_note(&page->all, &page->notes);
	summary_add_notes(page->model, resolver, &page->notes);
	text_add_n(&page->notes, page->all.remarks.len ? page->all.remarks.data : "",
		page->all.remarks.len);
	if (!view_can_filter(page->view) || !filter_is_given(page->options->filter))
		return NULL;
	page->rows = &page->left.rows;
	struct error *failed =
		filter_apply(page->options->filter, &page->all, &page->left, &page->notes);
	/* What is gone, or new, is left of one of both. */
	return failed || page->options->base
		       ? failed
		       : filter_check_left(page->options->filter, &page->all, page->rows);
}

static bool is_of_functions(const struct view *view)
{
	return view->fill == view_fill_spots &&
	       (view->grain == GRAIN_FUNCTIONS || view->grain == GRAIN_LINES);
}

/* Text is of rows as people read them; figures of functions have no folded frames. */
static struct error *fold_rows(struct page *page)
{
	const struct view *view = page->view;
	bool spots = is_of_functions(view);
	bool lists = !page->options->base &&
		     (view->fill == view_fill_sites || view->fill == view_fill_temporary ||
			     view->fill == view_fill_summary);
	if (page->for_programs || page->options->all_frames || !(spots || lists))
		return NULL;
	const struct rows *from = page->rows;
	bool same;
	if (spots)
		folding_add_note(from, &page->notes);
	struct error *error = folding_rows(
		from, spots ? FOLDING_TAKES_OUT : FOLDING_REMARKS, &page->folded, &same);
	page->rows = same ? from : &page->folded.rows;
	return error;
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

/* The answer in sentences; NULL: the view has none. */
static const struct text *verdict_of(const struct page *page)
{
	bool compared = page->options->base;
	if (page->view->fill == view_fill_summary)
		return &page->summary.verdict;
	if (page->view->fill == view_fill_growth)
		return compared ? &page->growth_change.verdict : &page->growth.verdict;
	return page->view->fill == view_fill_reallocs && !compared ? &page->reallocs.verdict : NULL;
}

static void put_view(const struct page *page, struct answer *answer)
{
	const struct view *view = page->view;
	report_head(page, verdict_of(page), answer);
	if (page->options->base && view->answer_change)
		view->answer_change(page, answer);
	else
		view->answer(page, answer);
}

struct answer *view_answer_create(const struct view_options *options, const struct sink *sink)
{
	if (options->csv)
		return answer_csv_create(sink);
	return options->json ? answer_json_create(sink, false) : answer_text_create(sink);
}

static struct error *write_answer(const struct page *page, const struct sink *sink)
{
	const struct answer_type type = {
		.schema = page->view->schema ? page->view->schema : "heapwise.report/1",
		.main = page->options->base ? page->view->change_table : page->view->table};
	struct answer *answer = view_answer_create(page->options, sink);
	if (!answer)
		return error_no_memory();
	answer_begin(answer, &type);
	answer->asked_limit = page->options->limit;
	put_view(page, answer);
	if (page->options->left_out)
		*page->options->left_out += answer->left_out;
	struct error *error = answer_end(answer);
	answer_destroy(answer);
	return error;
}

/* The view's own order, of what all sources say. A verdict on what changed is as that of diff. */
static enum metric sort_of(
	const struct view *view, const struct model *model, const struct view_options *options)
{
	if (options->sort != METRICS || view->sort == METRICS)
		return options->sort;
	if (view->sort == view->filter) /* it is about nothing else */
		return view->sort;
	bool summary = view->fill == view_fill_summary;
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
	bool is_live = view->filter == METRIC_LIVE_BLOCKS;
	bool unknown = (recording->unknown & view->needs) ||
		       (is_live && !metric_is_known(METRIC_LIVE_BLOCKS, recording) &&
			       !metric_is_known(METRIC_LIVE_BYTES, recording)) ||
		       (view->needs_errors && !model_errors(model, &count));
	if (view->needs_resident && !model_resident(model))
		return error_create(ERROR_INPUT,
			"%s: doesn't say what was resident: record it with heapwise run --mmap%s",
			recording->path,
			recording->mappings ? "; that program ended, or may not be looked at, "
					      "before the recorder could"
					    : "");
	if (unknown && recording->what == RECORDED_BOTH)
		return error_create(ERROR_INPUT,
			"%s: --view %s is not known of heap and mappings together: use --class "
			"heap "
			"or --class mapping",
			recording->path, view->name);
	const struct check_coverage *coverage = model_check_coverage(model);
	if (unknown && recording->only_errors && !view->needs_errors)
		return error_create(ERROR_INPUT,
			"%s: contains errors only, so that nothing is known for --view %s; "
			"'heapwise check --mode exact' records allocations, too",
			recording->path, view->name);
	if (unknown && view->needs_errors && coverage && !coverage->is_there)
		return error_create(
			ERROR_INPUT, "%s: %s", recording->path, evidence_of_errors(model));
	return unknown ? error_create(ERROR_INPUT, "%s: %s files contain no data for --view %s",
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
		error = resolver_create(
			model, options->all_frames || options->write_suppressions, &resolver);
	if (error)
		return error;
	if (options->write_suppressions)
		resolver_add_aliases(resolver);
	bool for_programs = view_is_for_programs(options);
	size_t own_limit = for_programs ? VIEW_NO_LIMIT : view->text_limit;
	_cleanup_(page_deinit) struct page page = {
		.model = model,
		.view = view,
		.options = options,
		.resolver = resolver,
		.sort = sort_of(view, model, options),
		.limit = options->limit == VIEW_DEFAULT_LIMIT ? own_limit : options->limit,
		.for_programs = for_programs,
	};
	page_init(&page);
	error = page_fill(&page, resolver);
	if (error)
		return error;
	return write_answer(&page, sink);
}
