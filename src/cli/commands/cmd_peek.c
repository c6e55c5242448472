/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise peek: who calls a function, and whom it calls. */
#include "views/peek.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/pattern.h"
#include "base/cleanup.h"
#include "cli/options/graph_limits.h"
#include "cli/options/stack_view.h"
#include "cli/terminal/message.h"

enum { OPT_CUM = 256 };

static const struct option_spec option_specs[] = {
	{OPT_CUM, "cum", NULL, "sort by what is allocated in callees too"},
	VIEW_SPECS_FORM("heapwise.peek/1", "the functions") GRAPH_LIMIT_SPECS VIEW_SPEC_METRIC
		VIEW_SPECS_GRAIN VIEW_SPECS_FILTER VIEW_SPECS_MOMENTS VIEW_SPECS_TERMINAL
			VIEW_SPEC_BASE VIEW_SPEC_MERGE VIEW_SPEC_ALL_FRAMES{0},
};

struct request {
	struct view_request shown;
	struct callgraph_limits limits;
	struct pattern *wanted;
	struct spots *spots;
	bool *is_chosen; /* by spot id */
};

static bool cmd_peek_take(const struct options *options, int id, void *ctx)
{
	struct request *request = ctx;
	if (id == OPT_CUM) {
		request->limits.order = CALLGRAPH_CUM;
		return true;
	}
	if (graph_limits_have(id))
		return graph_limits_take(options, id, &request->limits);
	return view_options_take(options, id, &request->shown);
}

static bool take_pattern(struct options *options, void *ctx)
{
	struct request *request = ctx;
	if (options->operand >= options->argc) {
		options_wrong(options->command,
			"missing regular expression for function names: main, '^read_', . (all)");
		return false;
	}
	_cleanup_error_ struct error *error =
		pattern_create(options->argv[options->operand++], &request->wanted);
	if (error)
		options_refuse(options, error);
	return !error;
}

/* Whether a stack through a chosen spot has what is to be shown. */
static struct error *find_figure(
	const struct stacks *view, const struct request *request, bool *ret)
{
	const struct rows *rows = profile_rows(&view->profile);
	enum metric metric = request->shown.options.sort;
	struct error *error = NULL;
	*ret = false;
	for (size_t i = 0; i < rows->rows.len && !*ret && !error; i++) {
		const struct row *row = &rows->rows.data[i];
		for (size_t k = 0; k < row->depth && metric_of_site(metric, row->sums) && !error;
			k++) {
			const struct spot *spot;
			error = spots_find(request->spots, row->frames[k], &spot);
			*ret |= !error && request->is_chosen[spot->id];
		}
	}
	return error;
}

/* Chooses the spots whose name fits. */
static int cmd_peek_choose(const struct stacks *view, void *ctx)
{
	struct request *request = ctx;
	struct error *error = spots_create(request->shown.grain, &request->spots);
	if (!error)
		error = stacks_intern_spots(view, request->spots);
	if (error)
		return message_error(error);
	size_t count = spots_count(request->spots);
	request->is_chosen = calloc(count + 1, sizeof(*request->is_chosen));
	if (!request->is_chosen)
		return message_error(error_no_memory());
	bool any = false;
	for (size_t i = 0; i < count; i++) {
		const struct spot *spot = spots_at(request->spots, i);
		request->is_chosen[i] = pattern_match(request->wanted, spot->name) ||
					pattern_match(request->wanted, spot->brief);
		any |= request->is_chosen[i];
	}
	error = pattern_check(request->wanted);
	if (error)
		return message_error(error);
	if (!any)
		return stack_view_unknown(request->spots, pattern_text(request->wanted));
	bool found = true;
	if (!view->compared)
		error = find_figure(view, request, &found);
	if (error)
		return message_error(error);
	if (found)
		return 0;
	message("functions match '%s', but their stacks have no %s: choose another --metric",
		pattern_text(request->wanted), metric_name(request->shown.options.sort));
	return STACK_VIEW_NOTHING;
}

static struct error *write_peek(const struct stacks *view, void *ctx, const struct sink *sink)
{
	struct request *request = ctx;
	const struct view_options *options = &request->shown.options;
	_cleanup_(callgraph_deinit) struct callgraph graph;
	callgraph_init(&graph);
	struct error *error = callgraph_build(profile_rows(&view->profile), options->sort,
		request->spots, &request->limits, &graph);
	return error ? error
		     : peek_write(&view->profile, &graph, request->spots, request->is_chosen,
			       options, sink);
}

static const struct stack_view peek_view = {.what = "it",
	.take = cmd_peek_take,
	.operand = take_pattern,
	.choose = cmd_peek_choose,
	.write = write_peek};

static int cmd_peek_run(const struct command *command, int argc, char **argv)
{
	struct request request = {
		.shown = VIEW_REQUEST_DEFAULT, .limits = {.order = CALLGRAPH_FLAT}};
	struct options options = {.command = command, .argc = argc, .argv = argv};
	int code = stack_view_run(&peek_view, &options, &request.shown, &request);
	spots_destroy(request.spots);
	free(request.is_chosen);
	pattern_destroy(request.wanted);
	return code;
}

const struct command command_peek = {
	.name = "peek",
	.synopsis = "REGEX [FILE] [--metric METRIC] [--cum] [OPTION…]",
	.what = "Shows the callers and callees of functions, with what was allocated through them.",
	.about = "Without FILE: the newest recording (*.hpw) in the current directory. Each "
		 "function is shown between\n"
		 "its callers and its callees, as in pprof: flat is what it allocated itself, cum "
		 "includes its\n"
		 "callees, calls is what was allocated through that call.\n",
	.examples =
		"  heapwise peek xmalloc app.hpw             who calls it, at the peak\n"
		"  heapwise peek '^Parser::' --metric live_bytes\n"
		"  heapwise peek . --nodefraction 0.005      all that matter, like pprof's -tree\n",
	.options = option_specs,
	.run = cmd_peek_run,
};
