/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise export: what is in a file, in the format of another tool. */
#include "views/export.h"

#include <string.h>

#include "base/cleanup.h"
#include "cli/options/stack_view.h"
#include "cli/options/timeline_options.h"
#include "cli/setup/context.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"
#include "query/bundles.h"
#include "sources/source.h"

enum {
	OPT_FORMAT = 256,
	OPT_OUTPUT = 'o',
};

static const struct option_spec option_specs[] = {
	{OPT_FORMAT, "format", "FORMAT", "output format, see above"},
	{OPT_OUTPUT, "output", "FILE",
		"write to FILE (default and -: stdout); .gz and .zst are compressed"},
	TIMELINE_SPECS VIEW_SPEC_METRIC VIEW_SPEC_BASE VIEW_SPEC_MERGE VIEW_SPECS_FILTER
		VIEW_SPECS_MOMENTS VIEW_SPEC_ALL_FRAMES VIEW_SPEC_ANONYMIZE{0},
};

struct request {
	struct view_request shown;
	const struct export_format *format;
	const char *output;
	struct timeline_given timeline;
	struct text lost; /* what the format cannot hold: sentences, each with a newline */
};

static bool take_format(const struct options *options, struct request *request)
{
	request->format = export_find(options->argument);
	if (request->format)
		return true;
	_cleanup_(text_deinit) struct text names;
	text_init(&names);
	export_add_names(&names, false);
	options_wrong(options->command, "invalid --format '%s': expected one of %s",
		options->argument, names.data ? names.data : "");
	return false;
}

static bool cmd_export_take(const struct options *options, int id, void *ctx)
{
	struct request *request = ctx;
	if (timeline_option_is(id))
		return timeline_options_take(
			options, id, &request->shown.options.timeline, &request->timeline);
	switch (id) {
	case OPT_FORMAT:
		return take_format(options, request);
	case OPT_OUTPUT:
		request->output = options->argument;
		return true;
	default:
		return view_options_take(options, id, &request->shown);
	}
}

/* What a format of moments takes, and others don't. */
static bool check_moments(const struct command *command, struct request *request)
{
	const char *name = request->format->name;
	struct view_request *shown = &request->shown;
	if (!request->format->moments) {
		if (request->timeline.any)
			options_wrong(command,
				"--time-unit, --threshold and similar options need --format "
				"massif: %s has no snapshots",
				name);
		return !request->timeline.any;
	}
	if (filter_is_given(&shown->query.filter)) {
		options_wrong(command,
			"%s contains whole snapshots: --min-size and other filters of blocks work, "
			"filters of stacks or kinds don't",
			name);
		return false;
	}
	shown->query.series.rows =
		shown->merge ? 0 : view_needs_moments(view_find("timeline"), &shown->options);
	shown->query.series.sites_every =
		view_moments_every(view_find("timeline"), &shown->options);
	shown->query.series.axis =
		shown->options.timeline.unit == TIMELINE_BYTES ? SOURCE_BY_BYTES : SOURCE_BY_TIME;
	shown->query.series_if_known = true;
	return true;
}

/* Leaks are those of the whole recording. */
static bool check_leaks(const struct command *command, struct request *request)
{
	const struct view_request *shown = &request->shown;
	if (!request->format->leaks || (!filter_is_given(&shown->query.filter) && !shown->merge &&
					       !query_blocks(&shown->query)))
		return true;
	options_wrong(command,
		"%s contains all leaks of one recording: filters don't work; use 'heapwise leaks "
		"--format valgrind' for kinds and suppressions",
		request->format->name);
	return false;
}

/* Events are those of a program from its beginning on, all of them, or of a range. */
static bool check_events(const struct command *command, const struct request *request)
{
	const struct view_request *shown = &request->shown;
	const struct source_query *query = moments_query(&shown->query.moments);
	const char *wrong = shown->merge ? "--merge"
			    : filter_is_given(&shown->query.filter) || query_blocks(&shown->query)
				    ? "filters of stacks or blocks"
			    : query && query->from.kind != SOURCE_START && !request->format->ranges
				    ? "--from"
				    : NULL;
	if (!request->format->events || !wrong)
		return true;
	options_wrong(command,
		"%s contains all events from the start: --at and --to work, but not %s",
		request->format->name, wrong);
	return false;
}

static bool cmd_export_check(const struct command *command, void *ctx)
{
	struct request *request = ctx;
	if (!request->format) {
		options_wrong(command, "missing --format FORMAT");
		return false;
	}
	if (!check_leaks(command, request) || !check_moments(command, request) ||
		!check_events(command, request))
		return false;
	if (request->shown.metric_name && !request->format->one_figure &&
		!request->format->first_figure) {
		options_wrong(command,
			"--metric works for formats with one metric per stack only; %s has several",
			request->format->name);
		return false;
	}
	return true;
}

static void describe_lost(const struct text *lost)
{
	for (const char *line = lost->data; line && *line;) {
		const char *end = strchr(line, '\n');
		message("%.*s", (int)(end - line), line);
		line = end + 1;
	}
}

/* What is below 0 in a difference would be left out, and what is above 0 taken for all. */
static int check_difference(
	const struct stacks *view, const struct export_format *format, bool has_base)
{
	if (format->differences || (!has_base && !model_subtracted(view->model)))
		return 0;
	_cleanup_(text_deinit) struct text names;
	text_init(&names);
	export_add_names(&names, true);
	message("%s%s is a difference of two states, which format %s can't represent; these can: "
		"%s",
		model_recording(view->model)->path, has_base ? " with --base" : "", format->name,
		names.data ? names.data : "");
	return ERROR_INPUT;
}

/* What of the options depends on the file. */
static int check_unit(const struct stacks *view, struct request *request)
{
	struct timeline_options *timeline = &request->shown.options.timeline;
	const char *path = model_recording(view->model)->path;
	size_t count;
	if (!request->format->moments)
		return 0;
	if (request->timeline.stacks)
		timeline->stacks = strcmp(request->timeline.stacks, "yes") == 0;
	model_series(view->model, &count);
	if (count)
		return timeline_has_unit(timeline, &request->timeline, path, view->model)
			       ? 0
			       : ERROR_INPUT;
	if (timeline->unit == TIMELINE_MS)
		return 0;
	message("%s has no times in %s; --time-unit=ms works without", path,
		timeline_unit_name(timeline->unit));
	return ERROR_INPUT;
}

static int check_file(const struct stacks *view, void *ctx)
{
	struct request *request = ctx;
	int code = check_difference(view, request->format, request->shown.query.base);
	return code ? code : check_unit(view, request);
}

/* The events of the file that is shown. */
struct manifest_file {
	const char *path;
	const struct source_query *query;
};

static struct error *put_events(void *context, const struct event_sink *sink)
{
	const struct manifest_file *file = context;
	return recording_events(cli_context(), file->path, file->query, sink);
}

static struct error *write_export(const struct stacks *view, void *ctx, const struct sink *sink)
{
	struct request *request = ctx;
	struct manifest_file file = {
		.path = request->shown.query.opened,
		.query = moments_query(&request->shown.query.moments),
	};
	const struct event_stream events = {.context = &file, .each = put_events};
	const struct exported from = {.profile = &view->profile,
		.events = request->format->events ? &events : NULL,
		.metric = request->shown.options.sort,
		.metric_given = request->shown.metric_name,
		.timeline = &request->shown.options.timeline,
		.lost = &request->lost};
	enum packing packing = export_packing(request->format, request->output);
	return export_write(request->format, packing, &from, sink);
}

static const char *export_file(const void *ctx)
{
	const struct request *request = ctx;
	return request->output ? request->output : OUTPUT_STDOUT;
}

static const struct stack_view export_view = {.what = "an export",
	.take = cmd_export_take,
	.check = cmd_export_check,
	.choose = check_file,
	.write = write_export,
	.file = export_file};

static int cmd_export_run(const struct command *command, int argc, char **argv)
{
	struct request request = {.shown = VIEW_REQUEST_DEFAULT};
	text_init(&request.lost);
	struct options options = {.command = command, .argc = argc, .argv = argv};
	int code = stack_view_run(&export_view, &options, &request.shown, &request);
	if (!code)
		describe_lost(&request.lost);
	text_deinit(&request.lost);
	timeline_given_deinit(&request.timeline);
	return code;
}

const struct command command_export = {
	.name = "export",
	.synopsis = "[FILE] --format FORMAT [-o OUT] [OPTION…]",
	.what = "Converts a recording or profile to the format of another tool.",
	.about = "Without FILE: the newest recording (*.hpw) in the current directory. What the\n"
		 "format can't represent is listed on stderr. docs/formats.md has the details. "
		 "Formats:\n"
		 "\n  pprof        go tool pprof, Pyroscope, Parca\n"
		 "  massif       ms_print, massif-visualizer: snapshots and trees of `heapwise "
		 "timeline`\n"
		 "  dhat         dh_view.html of Valgrind, Firefox's profiler\n"
		 "  speedscope   speedscope.app: one profile per metric\n"
		 "  firefox      profiler.firefox.com: bytes, one thread per metric\n"
		 "  callgrind    KCachegrind, callgrind_annotate\n"
		 "  json         all stacks with all metrics, schema heapwise.export/1\n"
		 "  csv          the same as a table, one row per stack\n"
		 "  gperftools   google-pprof, go tool pprof: addresses and mappings\n"
		 "  jemalloc     jeprof: the same, as a jemalloc heap dump\n"
		 "  jemalloc-live  the same of what is live alone, as without prof_accum\n"
		 "  valgrind     Memcheck's XML: leaks that a search found (run --leak-check)\n"
		 "  heaptrack    heaptrack_gui, heaptrack_print: all events\n"
		 "  heaptrack2   the same, for older versions\n"
		 "  heaptrack1   the same, for versions from 1.0 on\n"
		 "  mtrace       the mtrace script: all calls, with one caller each\n"
		 "  folded       flamegraph.pl: one line per stack\n",
	.examples = "  heapwise export --format pprof -o app.pb.gz app.hpw   then: go tool pprof "
		    "app.pb.gz\n"
		    "  heapwise export --format folded --metric live_bytes | flamegraph.pl > "
		    "live.svg\n",
	.options = option_specs,
	.run = cmd_export_run,
};
