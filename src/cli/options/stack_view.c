/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/stack_view.h"

#include <stdlib.h>

#include "analysis/names.h"
#include "base/cleanup.h"
#include "cli/terminal/message.h"

/* A recording as such a command looks at it. */
struct opened {
	struct model *model;
	struct operand base;
	struct stacks stacks;
};

static void opened_deinit(struct opened *opened)
{
	stacks_deinit(&opened->stacks);
	operand_deinit(&opened->base);
	model_destroy(opened->model);
}

static int open_stacks(
	struct opened *opened, struct view_request *request, const char *path, bool folds)
{
	int code = view_request_open(request, path, 0, &opened->model);
	if (code)
		return code;
	enum metric *metric = &request->options.sort;
	struct error *error = stacks_metric(opened->model, request->metric_name, *metric, metric);
	if (error)
		return message_error(error);
	if (request->query.base)
		code = view_request_open_base(request, 0, &opened->base);
	if (code)
		return code;
	const struct stacks_wanted wanted = {.metric = *metric,
		.all_frames = request->options.all_frames,
		.folds = folds && !view_is_for_programs(&request->options)};
	error = stacks_build(
		&request->query, opened->model, &opened->base, &wanted, &opened->stacks);
	return error ? message_error(error) : 0;
}

bool stack_view_parse(const struct stack_view *view, struct options *options,
	struct view_request *request, void *ctx, const char **ret_path, int *ret_code)
{
	const struct command *command = options->command;
	if (!options_each(options, view->take, ctx, ret_code))
		return false;
	if (view->operand && !view->operand(options, ctx))
		return false;
	if (request->options.json && request->options.csv) {
		options_wrong(command, "--csv and --json exclude each other");
		return false;
	}
	if (!view->no_metric && !view_request_metric(command, request, METRIC_PEAK_BYTES))
		return false;
	if (view->check && !view->check(command, ctx))
		return false;
	return view_request_files(command, request, view->what, options->argv + options->operand,
		(size_t)(options->argc - options->operand), ret_path);
}

struct writing {
	const struct stacks *stacks;
	const struct stack_view *view;
	void *ctx;
};

static struct error *write_form(void *ctx, const struct sink *sink)
{
	const struct writing *writing = ctx;
	return writing->view->write(writing->stacks, writing->ctx, sink);
}

static int stack_view_show(
	const struct stack_view *view, struct view_request *request, const char *path, void *ctx)
{
	_cleanup_(opened_deinit) struct opened opened = {.model = NULL};
	struct writing writing = {&opened.stacks, view, ctx};
	int code = open_stacks(&opened, request, path, view->folds && view->folds(ctx));
	if (!code && view->choose)
		code = view->choose(&opened.stacks, ctx);
	const char *file = view->file ? view->file(ctx) : NULL;
	return code ? code : view_request_write(request, file, write_form, &writing);
}

int stack_view_run(const struct stack_view *view, struct options *options,
	struct view_request *request, void *ctx)
{
	const char *path;
	int code;
	if (stack_view_parse(view, options, request, ctx, &path, &code))
		code = stack_view_show(view, request, path, ctx);
	view_request_deinit(request);
	return code;
}

int stack_view_unknown(const struct spots *spots, const char *name)
{
	_cleanup_(text_deinit) struct text near;
	text_init(&near);
	struct error *error = names_add_near(spots, name, &near);
	if (error)
		return message_error(error);
	if (near.len)
		message("no function in these stacks matches '%s'; did you mean %s", name,
			near.data);
	else
		message("no function in these stacks matches '%s'", name);
	return STACK_VIEW_NOTHING;
}

int stack_view_find(const struct stacks *view, struct spots *spots, const char *name, bool **ret)
{
	_cleanup_free_ bool *found = NULL;
	size_t count;
	struct error *error = stacks_find(view, spots, name, &found, &count);
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
	options_wrong(options->command, "invalid --%s '%s': expected a percentage from 0 to 100",
		name, options->argument);
	return false;
}
