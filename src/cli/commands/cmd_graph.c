/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise graph: who called whom to allocate how much, as a graph that Graphviz draws. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands/graphviz.h"
#include "cli/options/graph_limits.h"
#include "cli/options/stack_view.h"
#include "cli/terminal/output.h"
#include "views/callgraph.h"

enum {
	OPT_UNIT = 256,
	OPT_SHOW_BYTES,
};

static const struct option_spec option_specs[] = {
	{'o', "output", "FILE",
		"NAME.svg, .pdf, .png or .gif (drawn by Graphviz) or NAME.dot (default: dot, to "
		"stdout)"},
	GRAPH_LIMIT_SPECS{
		OPT_UNIT, "unit", "UNIT", "unit of bytes: auto (default), B, KiB, MiB or GiB"},
	{OPT_SHOW_BYTES, "show_bytes", NULL, "the same as --unit B"},
	VIEW_SPECS_FORM("heapwise.graph/1", "the functions of the graph")
		VIEW_SPEC_METRIC VIEW_SPECS_GRAIN VIEW_SPECS_FILTER VIEW_SPECS_MOMENTS
			VIEW_SPEC_BASE VIEW_SPEC_MERGE VIEW_SPEC_ALL_FRAMES VIEW_SPEC_ANONYMIZE{0},
};

struct request {
	struct view_request shown;
	struct callgraph_limits limits;
	struct callgraph_options graph;
	const char *output; /* NULL: stdout */
	const char *format; /* of it */
};

static bool take_output(const struct options *options, struct request *request)
{
	request->output = options->argument;
	request->format = graphviz_format(options->argument);
	if (request->format)
		return true;
	options_wrong(options->command,
		"invalid -o '%s': expected a name that ends in .dot, .svg, .pdf, .png or .gif",
		options->argument);
	return false;
}

static bool take_unit(const struct options *options, struct request *request)
{
	if (byte_unit_parse(options->argument, &request->graph.unit))
		return true;
	options_wrong(options->command, "invalid --unit '%s': expected auto, B, KiB, MiB or GiB",
		options->argument);
	return false;
}

static bool cmd_graph_take(const struct options *options, int id, void *ctx)
{
	struct request *request = ctx;
	switch (id) {
	case 'o':
		return take_output(options, request);
	case OPT_UNIT:
		return take_unit(options, request);
	case OPT_SHOW_BYTES:
		request->graph.unit = UNIT_B;
		return true;
	default:
		if (graph_limits_have(id))
			return graph_limits_take(options, id, &request->limits);
		return view_options_take(options, id, &request->shown);
	}
}

/* Says what is wrong with options that are right one by one. */
static bool cmd_graph_check(const struct command *command, void *ctx)
{
	struct request *request = ctx;
	if (!view_is_for_programs(&request->shown.options) || !request->output)
		return true;
	options_wrong(command, "-o is for pictures; --json and --csv are written to stdout");
	return false;
}

static struct error *cmd_graph_draw(const struct request *request, const struct stacks *view,
	const struct callgraph *graph, struct spots *spots)
{
	_cleanup_(text_deinit) struct text dot;
	text_init(&dot);
	struct sink sink = {text_write, &dot};
	struct error *error = callgraph_write(&view->profile, graph, spots, &request->graph, &sink);
	if (!error && dot.failed)
		error = error_no_memory();
	return error ? error : graphviz_draw(request->format, request->output, &dot);
}

/* Else it is written as it is. */
static bool is_drawn(const struct request *request)
{
	return request->output && strcmp(request->format, "dot") != 0;
}

static struct error *write_graph(const struct stacks *view, void *ctx, const struct sink *sink)
{
	struct request *request = ctx;
	request->graph.view = request->shown.options;
	_cleanup_(spots_cleanup) struct spots *spots = NULL;
	_cleanup_(callgraph_deinit) struct callgraph graph;
	callgraph_init(&graph);
	struct error *error = spots_create(request->shown.grain, &spots);
	if (!error)
		error = callgraph_build(profile_rows(&view->profile), request->graph.view.sort,
			spots, &request->limits, &graph);
	if (error)
		return error;
	return is_drawn(request)
		       ? cmd_graph_draw(request, view, &graph, spots)
		       : callgraph_write(&view->profile, &graph, spots, &request->graph, sink);
}

static const char *graph_file(const void *ctx)
{
	const struct request *request = ctx;
	return request->output && !is_drawn(request) ? request->output : OUTPUT_STDOUT;
}

static const struct stack_view graph_view = {.what = "a graph",
	.take = cmd_graph_take,
	.check = cmd_graph_check,
	.write = write_graph,
	.file = graph_file};

static int cmd_graph_run(const struct command *command, int argc, char **argv)
{
	struct request request = {
		.shown = VIEW_REQUEST_DEFAULT,
		.limits = {CALLGRAPH_NODES_LEAST, CALLGRAPH_NODE_FRACTION, CALLGRAPH_EDGE_FRACTION,
			CALLGRAPH_NODE_COUNT},
	};
	struct options options = {.command = command, .argc = argc, .argv = argv};
	return stack_view_run(&graph_view, &options, &request.shown, &request);
}

const struct command command_graph = {
	.name = "graph",
	.synopsis = "[FILE] [-o OUT.svg|pdf|png|gif|dot] [--metric METRIC] [OPTION…]",
	.what = "Draws how much memory each call path allocates, as a call graph.",
	.about = "Without FILE: the newest recording (*.hpw) in the current directory. Pictures "
		 "look like pprof's: a\n"
		 "box shows what the function allocated itself, out of what it and its callees "
		 "allocated. They are\n"
		 "drawn by Graphviz (dot).\n",
	.examples =
		"  heapwise graph -o out.svg app.hpw             at the peak\n"
		"  heapwise graph --metric live_bytes --focus parse -o out.pdf\n"
		"  heapwise graph --nodecount 0 --nodefraction 0 --edgefraction 0 | dot -Tx11\n",
	.options = option_specs,
	.run = cmd_graph_run,
};
