/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise tree: who called whom to allocate how much. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "cli/options/stack_view.h"
#include "cli/terminal/message.h"
#include "views/calltree.h"

enum {
	OPT_BOTTOM_UP = 256,
	OPT_CALLERS,
	OPT_CALLEES,
	OPT_DEPTH,
	OPT_THRESHOLD,
};

static const struct option_spec option_specs[] = {
	{OPT_BOTTOM_UP, "bottom-up", NULL,
		"start from the functions that allocate, outward to main"},
	{OPT_CALLERS, "callers", "FUNC",
		"show the call paths to a function (its name, the end of it, or a regular "
		"expression)"},
	{OPT_CALLEES, "callees", "FUNC", "show what a function and its callees allocated"},
	{OPT_DEPTH, "depth", "N", "show at most N levels (default in JSON: 100)"},
	{OPT_THRESHOLD, "threshold", "PERCENT",
		"merge nodes with less of the whole (default: 0.5, in JSON and CSV 0)"},
	VIEW_SPEC_METRIC VIEW_SPECS_FORM("heapwise.calltree/1", "the tree, a row for each node,")
		VIEW_SPECS_GRAIN VIEW_SPECS_FILTER VIEW_SPECS_MOMENTS VIEW_SPECS_TERMINAL
			VIEW_SPEC_BASE VIEW_SPEC_MERGE VIEW_SPEC_ALL_FRAMES VIEW_SPEC_ANONYMIZE{0},
};

#define TEXT_THRESHOLD 0.5
#define THRESHOLD_UNSET (-1.0)

struct request {
	struct view_request shown;
	struct calltree_options tree;
	enum calltree_way way;
	struct spots *spots;
	bool *is_chosen; /* of spots, by the function sought; NULL: none is */
};

static bool take_depth(const struct options *options, struct request *request)
{
	uint64_t number;
	if (!options_number(options, options->argument, "depth", &number))
		return false;
	request->tree.depth = number;
	return true;
}

static bool take_way(const struct options *options, enum calltree_way way, struct request *request)
{
	if (request->way != CALLTREE_DOWN) {
		options_wrong(options->command,
			"--bottom-up, --callers and --callees exclude each other");
		return false;
	}
	request->way = way;
	request->tree.wanted = options->argument;
	return true;
}

static bool cmd_tree_take(const struct options *options, int id, void *ctx)
{
	struct request *request = ctx;
	switch (id) {
	case OPT_BOTTOM_UP:
		return take_way(options, CALLTREE_UP, request);
	case OPT_CALLERS:
		return take_way(options, CALLTREE_CALLERS, request);
	case OPT_CALLEES:
		return take_way(options, CALLTREE_CALLEES, request);
	case OPT_DEPTH:
		return take_depth(options, request);
	case OPT_THRESHOLD:
		return stack_view_percent(options, "threshold", &request->tree.threshold);
	default:
		return view_options_take(options, id, &request->shown);
	}
}

/* Says what is wrong with options that are right one by one. */
static bool cmd_tree_check(const struct command *command, void *ctx)
{
	struct request *request = ctx;
	struct calltree_options *tree = &request->tree;
	const struct view_options *view = &request->shown.options;
	if (tree->threshold < 0)
		tree->threshold = view_is_for_programs(view) ? 0 : TEXT_THRESHOLD;
	if (view->json && tree->depth != VIEW_NO_LIMIT && tree->depth > CALLTREE_JSON_DEPTH_MAX) {
		options_wrong(command, "JSON has at most %u levels: --depth %zu is more",
			CALLTREE_JSON_DEPTH_MAX, tree->depth);
		return false;
	}
	return true;
}

static int cmd_tree_choose(const struct stacks *view, void *ctx)
{
	struct request *request = ctx;
	struct error *error = spots_create(request->shown.grain, &request->spots);
	if (error)
		return message_error(error);
	return request->tree.wanted ? stack_view_find(view, request->spots, request->tree.wanted,
					      &request->is_chosen)
				    : 0;
}

static struct error *write_tree(const struct stacks *view, void *ctx, const struct sink *sink)
{
	struct request *request = ctx;
	struct calltree tree;
	calltree_init(&tree);
	request->tree.view = request->shown.options;
	struct error *error = calltree_build(profile_rows(&view->profile), request->tree.view.sort,
		request->way, request->is_chosen, steal_ptr(request->spots), &tree);
	if (!error)
		error = calltree_write(&view->profile, &tree, &request->tree, sink);
	calltree_deinit(&tree);
	return error;
}

/* One that is sought may be among those that are folded. */
static bool tree_folds(const void *ctx)
{
	const struct request *request = ctx;
	enum grain grain = request->shown.grain;
	return !request->tree.wanted && (grain == GRAIN_FUNCTIONS || grain == GRAIN_LINES);
}

static const struct stack_view tree_view = {.what = "a tree",
	.take = cmd_tree_take,
	.check = cmd_tree_check,
	.choose = cmd_tree_choose,
	.write = write_tree,
	.folds = tree_folds};

static int cmd_tree_run(const struct command *command, int argc, char **argv)
{
	struct request request = {
		.shown = VIEW_REQUEST_DEFAULT,
		.tree = {.threshold = THRESHOLD_UNSET, .depth = VIEW_NO_LIMIT},
	};
	struct options options = {.command = command, .argc = argc, .argv = argv};
	int code = stack_view_run(&tree_view, &options, &request.shown, &request);
	spots_destroy(request.spots);
	free(request.is_chosen);
	return code;
}

const struct command command_tree = {
	.name = "tree",
	.synopsis =
		"[FILE] [--bottom-up|--callers FUNC|--callees FUNC] [--metric METRIC] [OPTION…]",
	.what = "Shows how much memory each call path allocates, as a tree.",
	.about = "Without FILE: the newest recording (*.hpw) in the current directory. total is "
		 "what a function and\n"
		 "its callees allocated, self what it allocated itself; with --callers, what FUNC "
		 "allocated along\n"
		 "that path. FUNC is a function's full name, the part after a '::', or a regular "
		 "expression.\n",
	.examples =
		"  heapwise tree                                  from main, at the peak\n"
		"  heapwise tree --bottom-up --metric live_bytes  who allocated what is live\n"
		"  heapwise tree --callers Parser::read app.hpw   the call paths to a function\n"
		"  heapwise tree --modules --threshold 5          libraries alone, the large "
		"ones\n",
	.options = option_specs,
	.run = cmd_tree_run,
};
