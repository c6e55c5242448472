/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise peek: who calls a function, and whom it calls. */
#include "views/peek.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/pattern.h"
#include "base/cleanup.h"
#include "cli/graph_limits.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/stack_view.h"

enum { OPT_CUM = 256 };

static const struct option_spec option_specs[] = {
	{OPT_CUM, "cum", NULL, "the functions with the most below them first, not in themselves"},
	{VIEW_OPT_JSON, "json", NULL, "write JSON, schema heapwise.peek/1"},
	GRAPH_LIMIT_SPECS VIEW_SPEC_METRIC VIEW_SPECS_GRAIN VIEW_SPECS_FILTER VIEW_SPECS_MOMENTS
		VIEW_SPECS_TERMINAL VIEW_SPEC_BASE VIEW_SPEC_MERGE VIEW_SPEC_ALL_FRAMES{0},
};

struct request {
	struct view_request shown;
	struct callgraph_limits limits;
	struct peek_options peek;
	struct pattern *sought;
	const char *path; /* NULL: the newest recording here */
};

static bool take(const struct options *options, int id, struct request *request)
{
	if (id == OPT_CUM) {
		request->limits.order = CALLGRAPH_CUM;
		return true;
	}
	if (graph_limits_have(id))
		return graph_limits_take(options, id, &request->limits);
	return view_options_take(options, id, &request->shown);
}

/* The first operand is what is sought, the others are files. */
static bool take_operands(struct options *options, struct request *request)
{
	if (options->operand >= options->argc) {
		options_wrong(options->command, "it wants a regular expression that names of "
						"functions fit: main, '^read_', "
						". (all)");
		return false;
	}
	_cleanup_error_ struct error *error =
		pattern_create(options->argv[options->operand], &request->sought);
	if (error) {
		options_wrong(options->command, "%s", error->message);
		return false;
	}
	options->operand++;
	return stack_view_operand(options, "it", &request->shown, &request->path);
}

/* False: leave with *ret_code, all is said. */
static bool parse(
	const struct command *command, int argc, char **argv, struct request *ret, int *ret_code)
{
	struct options options = {.command = command, .argc = argc, .argv = argv};
	int id;
	*ret_code = ERROR_USAGE;
	while ((id = options_next(&options)) > 0)
		if (!take(&options, id, ret))
			return false;
	if (id < 0) {
		*ret_code = options.exit_code;
		return false;
	}
	return take_operands(&options, ret) &&
	       view_request_metric(command, &ret->shown, METRIC_PEAK_BYTES);
}

/* Spots whose name fits, by id; NULL: no memory. */
static bool *choose(const struct request *request, const struct spots *spots, size_t *ret_count)
{
	size_t count = spots_count(spots);
	bool *is_chosen = calloc(count + 1, sizeof(*is_chosen));
	*ret_count = 0;
	for (size_t i = 0; is_chosen && i < count; i++) {
		is_chosen[i] = pattern_match(request->sought, spots_at(spots, i)->name);
		*ret_count += is_chosen[i];
	}
	return is_chosen;
}

static int write_it(struct request *request, const struct stack_view *view,
	const struct callgraph *graph, struct spots *spots)
{
	size_t count;
	_cleanup_free_ bool *is_chosen = choose(request, spots, &count);
	if (!is_chosen)
		return message_error(error_no_memory());
	if (!count)
		return stack_view_unknown(spots, pattern_text(request->sought));
	struct output output;
	struct sink sink = view_request_sink(&request->shown, &output);
	request->peek.metric = request->shown.options.sort;
	request->peek.json = request->shown.options.json;
	request->peek.colour = request->shown.options.colour;
	struct error *error =
		peek_write(&view->profile, graph, spots, is_chosen, &request->peek, &sink);
	return error ? message_error(error) : output_end(&output);
}

static int show(struct request *request, struct stack_view *view)
{
	int code = stack_view_open(view, &request->shown, request->path);
	if (code)
		return code;
	_cleanup_(spots_cleanup) struct spots *spots = NULL;
	_cleanup_(callgraph_deinit) struct callgraph graph;
	callgraph_init(&graph);
	struct error *error = spots_create(request->shown.grain, &spots);
	if (!error)
		error = callgraph_build(profile_rows(&view->profile), request->shown.options.sort,
			spots, &request->limits, &graph);
	return error ? message_error(error) : write_it(request, view, &graph, spots);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct request request = {
		.shown = VIEW_REQUEST_DEFAULT, .limits = {.order = CALLGRAPH_FLAT}};
	int code;
	if (parse(command, argc, argv, &request, &code)) {
		struct stack_view view;
		stack_view_init(&view);
		code = show(&request, &view);
		stack_view_deinit(&view);
	}
	pattern_destroy(request.sought);
	view_request_deinit(&request.shown);
	return code;
}

const struct command command_peek = {
	.name = "peek",
	.synopsis = "REGEX [FILE] [--metric METRIC] [--cum] [OPTION…]",
	.what = "Shows who calls a function, and whom it calls, to allocate how much.",
	.about = "Without FILE: the newest recording (*.hpw) in the current folder. Each function "
		 "stands between its\ncallers and its callees, as in pprof: flat is what it "
		 "allocated itself, cum what was allocated below\nit too, calls what went through "
		 "that call.\n",
	.examples = "  heapwise peek xmalloc app.hpw             who calls it, at the peak\n"
		    "  heapwise peek '^Parser::' --metric live_bytes\n"
		    "  heapwise peek . --nodefraction 0.005      all that matter: pprof's -tree\n",
	.options = option_specs,
	.run = run,
};
