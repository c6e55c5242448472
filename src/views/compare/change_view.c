/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/compare/change_view.h"

#include "analysis/life_changes.h"
#include "analysis/merge.h"
#include "views/compare/change_parts.h"

static enum diff_scope scope_of(const struct view *view)
{
	return view->inherited ? DIFF_INHERITED : view->has_sites ? DIFF_STACKS : DIFF_TOTALS;
}

struct error *change_page_begin(struct page *page)
{
	const struct view_base *base = page->options->base;
	const struct diff_options options = {
		.scope = scope_of(page->view),
		.metric = page->sort,
		.same_recording = base->same_recording,
		.normalize = base->normalize,
		.count_libraries = page->options->count_libraries,
	};
	struct error *error =
		comparison_build(base->model, page->model, &options, page->options->all_frames,
			page->view->has_sites ? page->options->filter : NULL, &page->compared);
	if (error)
		return error;
	const char *const labels[] = {base->label, model_recording(page->model)->path};
	change_add_notes(&page->compared, labels, &page->notes);
	page->rows = profile_rows(&page->compared.both);
	return page->notes.failed ? error_no_memory() : NULL;
}

static struct error *add_verdict(struct page *page, const struct text *sentences)
{
	text_add_n(&page->verdict, sentences->data ? sentences->data : "", sentences->len);
	return page->verdict.failed ? error_no_memory() : NULL;
}

/* The metric's total, and which functions are the same under other names. */
static struct error *add_total(struct page *page)
{
	struct error *error = add_verdict(page, &page->compared.diff.total);
	return error ? error : add_verdict(page, &page->compared.diff.renamed);
}

static struct error *select_rows(struct page *page)
{
	const struct rows *from = page->rows;
	if (page->view->merges) {
		struct error *error = rows_merge(from, page->view->filter, &page->merged);
		if (error)
			return error;
		from = &page->merged;
	}
	return diff_select(&page->compared.diff, from, page->view->filter, &page->list);
}

struct error *fill_change_sites(struct page *page)
{
	struct error *error = add_total(page);
	return error ? error : select_rows(page);
}

struct error *fill_change_summary(struct page *page)
{
	struct error *error = add_verdict(page, &page->compared.diff.verdict);
	if (!error)
		error = summary_build(page->model, NULL, page->rows, page->rows, &page->summary);
	return error ? error : select_rows(page);
}

struct error *fill_change_spots(struct page *page)
{
	struct error *error = add_total(page);
	if (!error)
		error = change_spots_create(&page->compared, page->view->grain, &page->spots);
	return error ? error
		     : spot_totals_build(page->rows, page->spots, page->sort, page->options->by_cum,
			       &page->spot_totals);
}

struct error *fill_change_inherited(struct page *page)
{
	static const char *const sides[] = {"older", "newer"};
	const struct model *models[] = {page->options->base->model, page->model};
	for (int i = 0; i < 2; i++)
		if (!model_inherited(models[i])->from)
			text_printf(&page->notes,
				"The %s process was not forked, or what it began with is not "
				"known.\n",
				sides[i]);
	return page->notes.failed ? error_no_memory() : fill_change_sites(page);
}

struct error *fill_change_sizes(struct page *page)
{
	const struct view_base *base = page->options->base;
	struct error *error = add_total(page);
	return error ? error
		     : size_changes_build(base->model, page->model, page->sort, base->normalize,
			       &page->size_changes);
}

struct error *fill_change_lifetimes(struct page *page)
{
	const struct view_base *base = page->options->base;
	lifetimes_as_base(model_lifetimes(base->model), model_lifetimes(page->model),
		base->normalize, &page->base_lifetimes);
	struct error *error = add_total(page);
	return error ? error : page->view->fill(page);
}

static void describe_threads(struct page *page)
{
	size_t new = 0, gone = 0;
	for (size_t i = 0; i < page->thread_changes.len; i++) {
		new += !page->thread_changes.data[i].older;
		gone += !page->thread_changes.data[i].newer;
	}
	if (!new && !gone)
		return;
	text_add(&page->verdict, "Of all threads, ");
	if (new)
		text_printf(&page->verdict, "%zu %s new", new, new == 1 ? "is" : "are");
	if (gone)
		text_printf(&page->verdict, "%s%zu %s gone", new ? ", " : "", gone,
			gone == 1 ? "is" : "are");
	text_add(&page->verdict, ".\n");
}

struct error *fill_change_threads(struct page *page)
{
	const struct view_base *base = page->options->base;
	struct error *error = add_total(page);
	if (!error)
		error = thread_changes_build(base->model, page->model, base->same_recording,
			page->sort, base->normalize, &page->thread_changes);
	if (error)
		return error;
	describe_threads(page);
	return page->verdict.failed ? error_no_memory() : NULL;
}

struct error *fill_change_reallocs(struct page *page)
{
	page_add_sample_note(page);
	struct error *error = realloc_changes_build(&page->compared, &page->realloc_changes);
	if (!error)
		error = add_verdict(page, &page->realloc_changes.verdict);
	return error ? error : add_verdict(page, &page->compared.diff.renamed);
}
