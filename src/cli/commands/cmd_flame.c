/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise flame: a tree of calls as a flame graph, on the terminal or as SVG. */
#include "views/flame.h"

#include <string.h>

#include "base/util.h"
#include "cli/options/stack_view.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "views/calltree.h"

enum {
	OPT_SVG = 256,
	OPT_COLOUR_BY,
	OPT_FOLDED,
	OPT_WIDTH,
	OPT_BOTTOM_UP,
	OPT_THRESHOLD,
	OPT_TITLE,
};

static const struct option_spec option_specs[] = {
	{'o', "output", "FILE",
		"NAME.svg or NAME.folded: the same as --svg, or --folded into FILE"},
	{OPT_SVG, "svg", "FILE",
		"write a self-contained picture for browsers, with zoom and search (-: to stdout)"},
	{OPT_FOLDED, "folded", NULL, "write lines like 'main;read;malloc 1234', for other tools"},
	VIEW_SPECS_FORM("heapwise.calltree/1", "the tree, a row for each node,"){OPT_BOTTOM_UP,
		"bottom-up", NULL,
		"show the functions that allocate at the top, their callers below"},
	{OPT_WIDTH, "width", "N", "columns (default: those of the terminal)"},
	{OPT_COLOUR_BY, "color-by", "WHAT",
		"colours of the SVG: module (default), function, or self: how much of it the "
		"function allocated itself"},
	{OPT_THRESHOLD, "threshold", "PERCENT",
		"leave narrower frames out of the SVG (default: 0.01)"},
	{OPT_TITLE, "title", "TEXT", "the heading of the SVG (default: the program's command)"},
	VIEW_SPEC_METRIC VIEW_SPECS_TERMINAL VIEW_SPEC_BASE VIEW_SPEC_MERGE VIEW_SPECS_GRAIN
		VIEW_SPECS_FILTER VIEW_SPECS_MOMENTS VIEW_SPEC_ALL_FRAMES VIEW_SPEC_ANONYMIZE{0},
};

#define SVG_THRESHOLD 0.01

enum form { FORM_TEXT, FORM_SVG, FORM_FOLDED, FORM_JSON, FORM_CSV };

struct request {
	struct view_request shown;
	struct flame_options flame;
	enum calltree_way way;
	enum form form;
	const char *file; /* where an SVG or folded stacks go to; NULL: to stdout */
};

static bool take_form(const struct options *options, enum form form, struct request *request)
{
	if (request->form != FORM_TEXT && request->form != form) {
		options_wrong(
			options->command, "--svg, --folded, --json and --csv exclude each other");
		return false;
	}
	request->form = form;
	return true;
}

static bool take_width(const struct options *options, struct request *request)
{
	uint64_t number;
	if (!options_number(options, options->argument, "width", &number))
		return false;
	if (number < FLAME_WIDTH_MIN || number > FLAME_WIDTH_MAX) {
		options_wrong(options->command,
			"invalid --width '%s': expected a number from %u to %u", options->argument,
			FLAME_WIDTH_MIN, FLAME_WIDTH_MAX);
		return false;
	}
	request->flame.width = number;
	return true;
}

static bool take_output(const struct options *options, struct request *request)
{
	const char *end = strrchr(options->argument, '.');
	bool svg = end && strcmp(end, ".svg") == 0;
	if (!svg && !(end && strcmp(end, ".folded") == 0)) {
		options_wrong(options->command,
			"invalid -o '%s': expected a name that ends in .svg or .folded",
			options->argument);
		return false;
	}
	request->file = options->argument;
	return take_form(options, svg ? FORM_SVG : FORM_FOLDED, request);
}

static bool take_colours(const struct options *options, struct request *request)
{
	static const char *const names[] = {[FLAME_BY_MODULE] = "module",
		[FLAME_BY_FUNCTION] = "function",
		[FLAME_BY_SELF] = "self"};
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], options->argument) == 0) {
			request->flame.colour_by = (enum flame_colours)i;
			return true;
		}
	options_wrong(options->command,
		"invalid --color-by '%s': expected module, function or self", options->argument);
	return false;
}

static bool cmd_flame_take(const struct options *options, int id, void *ctx)
{
	struct request *request = ctx;
	switch (id) {
	case 'o':
		return take_output(options, request);
	case OPT_COLOUR_BY:
		return take_colours(options, request);
	case OPT_SVG:
		request->file = options->argument;
		return take_form(options, FORM_SVG, request);
	case OPT_FOLDED:
		return take_form(options, FORM_FOLDED, request);
	case VIEW_OPT_JSON:
	case VIEW_OPT_CSV:
		return take_form(options, id == VIEW_OPT_CSV ? FORM_CSV : FORM_JSON, request) &&
		       view_options_take(options, id, &request->shown);
	case OPT_BOTTOM_UP:
		request->way = CALLTREE_UP;
		return true;
	case OPT_WIDTH:
		return take_width(options, request);
	case OPT_TITLE:
		request->flame.title = options->argument;
		return true;
	case OPT_THRESHOLD:
		return stack_view_percent(options, "threshold", &request->flame.threshold);
	default:
		return view_options_take(options, id, &request->shown);
	}
}

static struct error *write_form(struct request *request, const struct profile *profile,
	const struct calltree *tree, const struct sink *sink)
{
	struct flame_options *flame = &request->flame;
	const struct calltree_options nested = {
		.view = request->shown.options, .depth = VIEW_NO_LIMIT};
	switch (request->form) {
	case FORM_JSON:
	case FORM_CSV:
		return calltree_write(profile, tree, &nested, sink);
	case FORM_FOLDED:
		return flame_write_folded(profile, tree, sink);
	case FORM_SVG:
		return flame_write_svg(profile, tree, flame, sink);
	default:
		break;
	}
	if (!flame->width)
		flame->width = max(terminal_width(), (size_t)FLAME_WIDTH_MIN);
	flame->colour = request->shown.options.colour;
	flame->utf8 = terminal_is_utf8();
	flame->all_frames = request->shown.options.all_frames;
	return flame_write_text(profile, tree, flame, sink);
}

static struct error *write_flame(const struct stacks *view, void *ctx, const struct sink *sink)
{
	struct request *request = ctx;
	request->flame.metric = request->shown.options.sort;
	struct spots *spots;
	struct error *error = spots_create(request->shown.grain, &spots);
	if (error)
		return error;
	struct calltree tree;
	calltree_init(&tree);
	error = calltree_build(profile_rows(&view->profile), request->flame.metric, request->way,
		NULL, spots, &tree);
	if (!error)
		error = write_form(request, &view->profile, &tree, sink);
	calltree_deinit(&tree);
	return error;
}

static const char *flame_file(const void *ctx)
{
	const struct request *request = ctx;
	if (request->form == FORM_TEXT)
		return NULL;
	return request->file ? request->file : OUTPUT_STDOUT;
}

static const struct stack_view flame_view = {
	.what = "a flame graph", .take = cmd_flame_take, .write = write_flame, .file = flame_file};

static int cmd_flame_run(const struct command *command, int argc, char **argv)
{
	struct request request = {
		.shown = VIEW_REQUEST_DEFAULT,
		.flame = {.threshold = SVG_THRESHOLD},
	};
	struct options options = {.command = command, .argc = argc, .argv = argv};
	return stack_view_run(&flame_view, &options, &request.shown, &request);
}

const struct command command_flame = {
	.name = "flame",
	.synopsis = "[FILE] [-o OUT.svg|--folded|--json|--csv] [--metric METRIC] [OPTION…]",
	.what = "Draws how much memory each call path allocates, as a flame graph.",
	.about = "Without FILE: the newest recording (*.hpw) in the current directory. The wider a "
		 "function, the more\n"
		 "was allocated in it and its callees; main is at the top.\n",
	.examples =
		"  heapwise flame                                  at the peak, on the terminal\n"
		"  heapwise flame -o out.svg app.hpw               for a browser\n"
		"  heapwise flame --metric allocations --folded | flamegraph.pl > calls.svg\n",
	.options = option_specs,
	.run = cmd_flame_run,
};
