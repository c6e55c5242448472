/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise timeline: how the heap grew and shrank, as Massif and ms_print show it. */
#include <stdlib.h>
#include <string.h>

#include "analysis/timeline.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "cli/options/stack_view.h"
#include "cli/options/timeline_options.h"
#include "cli/setup/context.h"
#include "cli/terminal/message.h"
#include "cli/terminal/terminal.h"
#include "query/bundles.h"
#include "query/main_program.h"

enum {
	OPT_IGNORE_FN = 256,
	OPT_WIDTH,
	OPT_HEIGHT,
	OPT_FORMAT,
};

static const struct option_spec option_specs[] = {
	TIMELINE_SPECS{OPT_IGNORE_FN, "ignore-fn", "FUNC",
		"leave out what this function allocates; may be repeated"},
	{OPT_FORMAT, "format", "chart|ms_print",
		"a chart, or a graph with snapshots and trees as ms_print has them (default: chart "
		"on a terminal, ms_print elsewhere)"},
	{OPT_WIDTH, "width", "N",
		"width of the graph, from 4 to 1000 (default: 72; of the chart, the terminal's)"},
	{OPT_HEIGHT, "height", "N",
		"height of the graph, from 4 to 1000 (default: 20; of the chart, 14)"},
	{VIEW_OPT_JSON, "json", NULL, "write JSON, schema heapwise.timeline/1"},
	{VIEW_OPT_BASE, "base", "OLD",
		"also show the curve and totals of this recording (FILE or FILE@MOMENT), at the "
		"same fraction of its run"},
	VIEW_SPECS_MOMENTS VIEW_SPECS_TERMINAL VIEW_SPEC_ALL_FRAMES{0},
};

/* Of the chart, in characters: beside it stand the labels of its axis. */
#define CHART_MARGIN 13u
#define CHART_WIDTH_LEAST 40u
#define CHART_HEIGHT 14u

struct request {
	struct view_request shown;
	struct timeline_given given;
	struct name_vec ignore_fns;
	const char *format; /* as given; NULL: it was not */
	bool has_width, has_height;
	const char *path; /* NULL: the newest recording here */
	char *newest;
};

static bool take_side(const struct options *options, const char *name, unsigned *ret)
{
	uint64_t number;
	bool taken = timeline_option_between(
		options, name, TIMELINE_SIDE_LEAST, TIMELINE_SIDE_MOST, &number);
	*ret = taken ? (unsigned)number : TIMELINE_SIDE_LEAST;
	return taken;
}

static bool cmd_timeline_take(const struct options *options, int id, void *ctx)
{
	struct request *request = ctx;
	struct timeline_options *timeline = &request->shown.options.timeline;
	if (timeline_option_is(id))
		return timeline_options_take(options, id, timeline, &request->given);
	switch (id) {
	case OPT_IGNORE_FN:
		return timeline_option_name(options, &request->ignore_fns);
	case OPT_FORMAT:
		request->format = options->argument;
		return true;
	case OPT_WIDTH:
		request->has_width = true;
		return take_side(options, "width", &timeline->width);
	case OPT_HEIGHT:
		request->has_height = true;
		return take_side(options, "height", &timeline->height);
	default:
		return view_options_take(options, id, &request->shown);
	}
}

/* Chooses the form; false, after saying so: it can't be had. */
static bool choose_format(const struct command *command, struct request *request)
{
	struct timeline_options *timeline = &request->shown.options.timeline;
	const char *format = request->format;
	bool other = request->shown.options.json || request->shown.query.base;
	if (format && strcmp(format, "chart") != 0 && strcmp(format, "ms_print") != 0) {
		options_wrong(command, "invalid --format '%s': expected chart or ms_print", format);
		return false;
	}
	timeline->chart = format ? !strcmp(format, "chart") : terminal_is_output() && !other;
	if (timeline->chart && other) {
		options_wrong(command, "--format=chart doesn't work with --json or --base");
		return false;
	}
	if (!timeline->chart)
		return true;
	timeline->utf8 = terminal_is_utf8();
	if (!request->has_width)
		timeline->width = (unsigned)min(
			max(terminal_width(), (size_t)CHART_WIDTH_LEAST) - CHART_MARGIN,
			(size_t)TIMELINE_SIDE_MOST);
	if (!request->has_height)
		timeline->height = CHART_HEIGHT;
	return true;
}

static bool cmd_timeline_check(const struct command *command, void *ctx)
{
	struct request *request = ctx;
	request->shown.query.series.axis = request->shown.options.timeline.unit == TIMELINE_BYTES
						   ? SOURCE_BY_BYTES
						   : SOURCE_BY_TIME;
	return choose_format(command, request);
}

static const struct stack_view timeline_view = {.what = "a timeline",
	.take = cmd_timeline_take,
	.check = cmd_timeline_check,
	.no_metric = true};

/* Leaves out, of the recording that is opened next, the sites that --ignore-fn means; all of it is
 * read for that. `ret`: which they are, as long as blocks are chosen so. */
static struct error *leave_out(struct request *request, const char *path, bool **ret)
{
	_cleanup_(model_cleanup) struct model *model = NULL;
	_cleanup_(resolver_cleanup) struct resolver *resolver = NULL;
	struct source_blocks *blocks = &request->shown.query.blocks;
	const struct view_options *options = &request->shown.options;
	size_t found = 0;
	blocks->hidden_frames = NULL;
	if (!request->ignore_fns.len)
		return NULL;
	struct error *error = recording_open(cli_context(), path, 0, NULL, &model);
	if (!error)
		error = name_settings_apply(cli_context(), &request->shown.query.names, model);
	if (!error)
		error = resolver_create(model, options->all_frames, &resolver);
	if (!error)
		error = timeline_find_sites(model, resolver, &options->timeline,
			request->ignore_fns.data, request->ignore_fns.len, ret, &found);
	if (error)
		return error;
	if (!found)
		message("%s: nothing was allocated by the functions of --ignore-fn", path);
	model_sites(model, &blocks->hidden_frames_len);
	blocks->hidden_frames = found ? *ret : NULL;
	return NULL;
}

static int cmd_timeline_find_file(struct request *request)
{
	if (!request->path) {
		struct error *error =
			main_program_newest(cli_context(), MAIN_PROGRAM_ALL, &request->newest);
		if (error)
			return message_error(error);
		request->path = request->newest;
	}
	return 0;
}

static int open_newer(struct request *request, struct model **ret)
{
	_cleanup_free_ bool *hidden_frames = NULL;
	struct error *error = leave_out(request, request->path, &hidden_frames);
	if (error)
		return message_error(error);
	unsigned flags = request->shown.options.timeline.chart ? SOURCE_WITH_MARKS : 0;
	int code = view_request_open(&request->shown, request->path, flags, ret);
	request->shown.query.blocks.hidden_frames = NULL;
	return !code && !timeline_has_unit(&request->shown.options.timeline, &request->given,
				request->path, *ret)
		       ? ERROR_INPUT
		       : code;
}

static int open_older(struct request *request, struct operand *ret)
{
	_cleanup_free_ bool *hidden_frames = NULL;
	const char *base = request->shown.query.base, *moment = base ? moment_after(base) : NULL;
	if (!base)
		return 0;
	_cleanup_free_ char *path =
		moment ? strndup(base, (size_t)(moment - base) - 1) : strdup(base);
	struct error *error = path ? leave_out(request, path, &hidden_frames) : error_no_memory();
	if (error)
		return message_error(error);
	int code = view_request_open_base(&request->shown, 0, ret);
	request->shown.query.blocks.hidden_frames = NULL;
	return !code && !timeline_has_unit(
				&request->shown.options.timeline, &request->given, path, ret->model)
		       ? ERROR_INPUT
		       : code;
}

static int cmd_timeline_show(struct request *request)
{
	_cleanup_(model_cleanup) struct model *model = NULL;
	_cleanup_(operand_deinit) struct operand older = {.model = NULL};
	struct view_request *shown = &request->shown;
	const struct view *view = view_find("timeline");
	int code = cmd_timeline_find_file(request);
	if (code)
		return code;
	shown->query.series.rows = view_needs_moments(view, &shown->options);
	shown->query.series.sites_every = view_moments_every(view, &shown->options);
	code = open_newer(request, &model);
	if (!code)
		code = open_older(request, &older);
	if (code)
		return code;
	if (request->given.stacks)
		shown->options.timeline.stacks = strcmp(request->given.stacks, "yes") == 0;
	const struct view_base base = {.model = older.model, .label = shown->query.base};
	shown->options.base = older.model ? &base : NULL;
	code = view_request_show(shown, view, model);
	shown->options.base = NULL;
	return code;
}

static int cmd_timeline_run(const struct command *command, int argc, char **argv)
{
	struct request request = {.shown = VIEW_REQUEST_DEFAULT};
	int code;
	struct options options = {.command = command, .argc = argc, .argv = argv};
	if (stack_view_parse(
		    &timeline_view, &options, &request.shown, &request, &request.path, &code))
		code = cmd_timeline_show(&request);
	timeline_given_deinit(&request.given);
	name_vec_deinit(&request.ignore_fns);
	free(request.newest);
	view_request_deinit(&request.shown);
	return code;
}

const struct command command_timeline = {
	.name = "timeline",
	.synopsis = "[FILE] [--time-unit UNIT] [--max-snapshots N] [--threshold PERCENT] [OPTION…]",
	.what = "Shows how the heap grew and shrank over time, like Massif and ms_print.",
	.about = "Without FILE: the newest recording (*.hpw) in the current directory. On a "
		 "terminal "
		 "a chart with the peak,\n"
		 "marks, and what was live at the peak. As ms_print has it, elsewhere: a graph, "
		 "then "
		 "snapshots\n"
		 "from the whole recording: useful-heap is what the program requested, extra-heap "
		 "is the allocator's\n"
		 "overhead. Some snapshots (@ in the graph) have a tree of who allocated what was "
		 "live; the peak (#)\n"
		 "always has one.\n",
	.examples = "  heapwise timeline                             graph, table, trees\n"
		    "  heapwise timeline --time-unit=B app.hpw       the same for each run of a "
		    "program\n"
		    "  heapwise timeline --alloc-fn=xmalloc app.hpw  who called it\n",
	.options = option_specs,
	.run = cmd_timeline_run,
};
