/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/diff_view.h"

#include "base/cleanup.h"
#include "views/compare/change_parts.h"
#include "views/compare/diff_page.h"

#define TEXT_ROWS 10u

static struct error *write_page(const struct diff_page *page, const struct sink *sink)
{
	if (page->options->view.json)
		return diff_json(page, sink);
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	diff_text(page, &out);
	if (out.failed)
		return error_no_memory();
	sink->write(sink->ctx, out.data, out.len);
	return NULL;
}

static struct error *show(const struct comparison *comparison,
	const struct diff_view_options *options, const struct sink *sink)
{
	const struct diff *diff = &comparison->diff;
	size_t own_limit = options->view.json ? VIEW_NO_LIMIT : TEXT_ROWS;
	_cleanup_(text_deinit) struct text all;
	text_init(&all);
	change_add_notes(comparison, options->labels, &all);
	if (all.failed)
		return error_no_memory();
	struct diff_page page = {
		.models = {comparison->sides[0].model, comparison->sides[1].model},
		.options = options,
		.diff = diff,
		.notes = all,
		.limit =
			options->view.limit == VIEW_DEFAULT_LIMIT ? own_limit : options->view.limit,
	};
	return write_page(&page, sink);
}

static void outcome_of(const struct diff *diff, struct diff_outcome *ret)
{
	text_init(&ret->top);
	diff_of_program(diff, diff->options.metric, &ret->total);
	if (diff->top.len)
		text_add_n(&ret->top, diff->top.data, diff->top.len);
}

struct error *diff_view_write(const struct model *older, const struct model *newer,
	const struct diff_view_options *options, const struct sink *sink, struct diff_outcome *ret)
{
	_cleanup_(comparison_deinit) struct comparison comparison;
	comparison_init(&comparison);
	struct error *error = comparison_build(older, newer, &options->diff,
		options->view.all_frames, options->view.filter, &comparison);
	if (error)
		return error;
	outcome_of(&comparison.diff, ret);
	return show(&comparison, options, sink);
}
