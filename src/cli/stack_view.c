/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/stack_view.h"

#include <stdlib.h>

#include "analysis/names.h"
#include "base/cleanup.h"
#include "cli/message.h"
#include "cli/progress.h"

static void stack_view_deinit(struct stack_view *view)
{
	if (view->compared) {
		/* Its rows are those of `compared`. */
		comparison_deinit(view->compared);
		filtered_deinit(&view->profile.folded);
		text_deinit(&view->profile.notes);
	} else {
		profile_deinit(&view->profile);
	}
	free(view->compared);
	operand_deinit(&view->base);
	model_destroy(view->model);
}

static bool is_known(const struct model *model, enum metric metric)
{
	const struct recording *recording = model_recording(model);
	if (metric == METRICS || metric_is_known(metric, recording))
		return true;
	if (metric == METRIC_TEMPORARY && recording->sample_bytes)
		message("%s is a sample: which allocations were temporary is not known; "
			"--metric allocations is",
			recording->path);
	else
		message("%s, read as %s, does not say %s; --metric %s is known", recording->path,
			recording->source, metric_name(metric),
			metric_name(metric_or_known(metric, recording)));
	return false;
}

/* Opens what --base names. */
static int open_base(struct stack_view *view, struct view_request *request)
{
	const struct operand_wanted wanted = {.blocks = view_request_blocks(request)};
	int code = operand_open(request->command, request->base, &wanted, &view->base);
	if (!code)
		code = view_request_names(request, view->base.model);
	if (code)
		return code;
	return is_known(view->base.model, request->options.sort) ? 0 : ERROR_INPUT;
}

/* Builds the profile of both. */
static int compare(
	struct stack_view *view, const struct view_request *request, const struct model *base)
{
	view->compared = malloc(sizeof(*view->compared));
	if (!view->compared)
		return message_error(error_no_memory());
	comparison_init(view->compared);
	struct diff_options options = {
		/* Views of all metrics sort by none. */
		.metric = request->options.sort == METRICS ? METRIC_LIVE_BYTES
							   : request->options.sort,
		.same_recording = !view->base.model || operand_is_of(&view->base, view->model),
		.count_libraries = true, /* all stacks are shown */
	};
	progress_begin("looking up names");
	struct error *error = comparison_build(base, view->model, &options,
		request->options.all_frames, &request->filter, view->compared);
	progress_end();
	view->profile = view->compared->both;
	text_init(&view->compared->both.notes); /* they are the profile's now */
	return error ? message_error(error) : 0;
}

static int stack_view_open(struct stack_view *view, struct view_request *request, const char *path)
{
	int code = view_request_open(request, path, 0, &view->model);
	if (code)
		return code;
	/* What is shown unless something else is asked for may not be known. */
	enum metric *metric = &request->options.sort;
	if (!request->metric_name && *metric != METRICS)
		*metric = metric_or_known(*metric, model_recording(view->model));
	if (!is_known(view->model, *metric))
		return ERROR_INPUT;
	if (request->base) {
		code = open_base(view, request);
		return code ? code : compare(view, request, view->base.model);
	}
	if (model_subtracted(view->model))
		return compare(view, request, model_subtracted(view->model));
	progress_begin("looking up names");
	struct error *error = profile_build(
		view->model, request->options.all_frames, &request->filter, &view->profile);
	progress_end();
	if (!error && view->profile.filter)
		error = filter_check_left(
			&request->filter, &view->profile.all, profile_rows(&view->profile));
	return error ? message_error(error) : 0;
}

struct writing {
	const struct stack_view *view;
	const struct stack_view_form *form;
	void *ctx;
};

static struct error *write_form(void *ctx, const struct sink *sink)
{
	const struct writing *writing = ctx;
	return writing->form->write(writing->view, writing->ctx, sink);
}

int stack_view_show(struct view_request *request, const char *path,
	const struct stack_view_form *form, void *ctx)
{
	_cleanup_(stack_view_deinit) struct stack_view view = {.model = NULL};
	profile_init(&view.profile);
	struct writing writing = {&view, form, ctx};
	int code = stack_view_open(&view, request, path);
	if (!code && form->folds && !request->options.json && !request->options.all_frames) {
		struct error *error = profile_fold(&view.profile);
		code = error ? message_error(error) : 0;
	}
	if (!code && form->choose)
		code = form->choose(&view, ctx);
	return code ? code : view_request_write(request, form->file, write_form, &writing);
}

struct error *stack_view_meet(const struct stack_view *view, struct spots *spots)
{
	const struct rows *rows = profile_rows(&view->profile);
	struct error *error = NULL;
	for (size_t i = 0; !error && i < rows->rows.len; i++)
		for (size_t k = 0; !error && k < rows->rows.data[i].depth; k++) {
			const struct spot *spot;
			error = spots_find(spots, rows->rows.data[i].frames[k], &spot);
		}
	return error;
}

int stack_view_unknown(const struct spots *spots, const char *name)
{
	_cleanup_(text_deinit) struct text near;
	text_init(&near);
	struct error *error = names_add_near(spots, name, &near);
	if (error)
		return message_error(error);
	if (near.len)
		message("nothing in these stacks is called '%s'; like it are %s", name, near.data);
	else
		message("nothing in these stacks is called '%s', or nearly so", name);
	return STACK_VIEW_NOTHING;
}

int stack_view_find(
	const struct stack_view *view, struct spots *spots, const char *name, bool **ret)
{
	struct error *error = stack_view_meet(view, spots);
	_cleanup_free_ bool *found = calloc(spots_count(spots) + 1, sizeof(*found));
	size_t count = 0;
	if (!error && !found)
		error = error_no_memory();
	if (!error)
		error = names_find(spots, name, found, &count);
	if (error)
		return message_error(error);
	if (!count)
		return stack_view_unknown(spots, name);
	*ret = steal_ptr(found);
	return 0;
}

bool stack_view_number(const char *text, double most, double *ret)
{
	char *end;
	double number = strtod(text, &end);
	if (end == text || *end || !(number >= 0 && number <= most))
		return false;
	*ret = number;
	return true;
}

bool stack_view_percent(const struct options *options, const char *name, double *ret)
{
	if (stack_view_number(options->argument, 100, ret))
		return true;
	options_wrong(options->command, "--%s wants percents from 0 to 100, not '%s'", name,
		options->argument);
	return false;
}

bool stack_view_operand(const struct options *options, const char *what,
	struct view_request *request, const char **ret)
{
	return view_request_files(options->command, request, what, options->argv + options->operand,
		(size_t)(options->argc - options->operand), ret);
}
