/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise timeline: how the heap grew and shrank, as Massif and ms_print show it. */
#include <stdlib.h>
#include <string.h>

#include "analysis/timeline.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "base/vec.h"
#include "cli/message.h"
#include "cli/recordings.h"
#include "cli/stack_view.h"

enum {
	OPT_TIME_UNIT = 256,
	OPT_DETAILED_FREQ,
	OPT_DEPTH,
	OPT_MAX_SNAPSHOTS,
	OPT_THRESHOLD,
	OPT_ALLOC_FN,
	OPT_IGNORE_FN,
	OPT_HEAP_ADMIN,
	OPT_ALIGNMENT,
	OPT_WIDTH,
	OPT_HEIGHT,
	OPT_STACKS,
};

static const struct option_spec option_specs[] = {
	{OPT_TIME_UNIT, "time-unit", "UNIT",
		"ms (default), B: bytes allocated and freed so far, or i: instructions, where "
		"the processor could count them"},
	{OPT_STACKS, "stacks", "yes|no", "sizes of stacks are in the total too (default: no)"},
	{OPT_DETAILED_FREQ, "detailed-freq", "N",
		"every so many snapshots one has a tree (default: 10)"},
	{OPT_DEPTH, "depth", "N", "at most N levels of trees, up to 200 (default: 30)"},
	{OPT_MAX_SNAPSHOTS, "max-snapshots", "N", "at most N, from 10 to 1000 (default: 100)"},
	{OPT_THRESHOLD, "threshold", "PERCENT", "sum up what has less of the total (default: 1.0)"},
	{OPT_ALLOC_FN, "alloc-fn", "FUNC",
		"a function that allocates for others: its callers are shown; may be repeated"},
	{OPT_IGNORE_FN, "ignore-fn", "FUNC",
		"leave out what this function allocates; may be repeated"},
	{OPT_HEAP_ADMIN, "heap-admin", "BYTES",
		"what an allocator needs for each block, in extra-heap (default: 8)"},
	{OPT_ALIGNMENT, "alignment", "BYTES",
		"to which sizes are rounded up, in extra-heap: 16 (default), or 1: not at all"},
	{OPT_WIDTH, "width", "N", "of the graph, from 4 to 1000 (default: 72)"},
	{OPT_HEIGHT, "height", "N", "likewise (default: 20)"},
	{VIEW_OPT_JSON, "json", NULL, "write JSON, schema heapwise.timeline/1"},
	{VIEW_OPT_BASE, "base", "OLD",
		"show the outline and the totals of that recording too, FILE or FILE@MOMENT, at "
		"the same part of its run"},
	VIEW_SPECS_MOMENTS VIEW_SPECS_TERMINAL VIEW_SPEC_ALL_FRAMES{0},
};

DEFINE_VEC(name_vec, const char *)

struct request {
	struct view_request shown;
	struct name_vec alloc_fns, ignore_fns;
	const char *path; /* NULL: the newest recording here */
	char *newest;
	const char *unit, *stacks; /* as they were asked for; NULL: they were not */
};

static bool take_between(const struct options *options, const char *name, uint64_t least,
	uint64_t most, uint64_t *ret)
{
	char *end;
	unsigned long long number = strtoull(options->argument, &end, 10);
	if (*options->argument >= '0' && *options->argument <= '9' && !*end && number >= least &&
		number <= most) {
		*ret = number;
		return true;
	}
	options_wrong(options->command, "--%s wants a number from %llu to %llu, not '%s'", name,
		(unsigned long long)least, (unsigned long long)most, options->argument);
	return false;
}

static bool take_unit(const struct options *options, struct request *request)
{
	const char *unit = request->unit = options->argument;
	static const enum timeline_unit units[] = {
		TIMELINE_MS, TIMELINE_BYTES, TIMELINE_INSTRUCTIONS};
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(unit, timeline_unit_name(units[i])) == 0) {
			request->shown.options.timeline.unit = units[i];
			return true;
		}
	options_wrong(options->command, "--time-unit is i, ms or B, not '%s'", unit);
	return false;
}

static bool take_stacks(const struct options *options, struct timeline_options *timeline)
{
	timeline->stacks = strcmp(options->argument, "yes") == 0;
	if (timeline->stacks || strcmp(options->argument, "no") == 0)
		return true;
	options_wrong(options->command, "--stacks is yes or no, not '%s'", options->argument);
	return false;
}

static bool take_alignment(const struct options *options, struct timeline_options *timeline)
{
	timeline->alignment = strcmp(options->argument, "1") == 0 ? 1 : TIMELINE_ALIGNMENT;
	if (timeline->alignment == 1 || strcmp(options->argument, "16") == 0)
		return true;
	options_wrong(options->command,
		"--alignment is 16 or 1, not '%s': how far sizes are from other multiples is not "
		"summed up",
		options->argument);
	return false;
}

static bool take_name(const struct options *options, struct name_vec *names)
{
	if (name_vec_push(names, options->argument))
		return true;
	message_error(error_no_memory());
	return false;
}

static bool take_number(const struct options *options, int id, struct timeline_options *timeline)
{
	uint64_t number;
	bool taken = false;
	switch (id) {
	case OPT_DETAILED_FREQ:
		taken = take_between(options, "detailed-freq", 1, 1000000, &number);
		timeline->detailed_freq = taken ? number : 1;
		break;
	case OPT_DEPTH:
		taken = take_between(options, "depth", 1, TIMELINE_DEPTH_MOST, &number);
		timeline->depth = taken ? number : 1;
		break;
	case OPT_MAX_SNAPSHOTS:
		taken = take_between(options, "max-snapshots", 10, 1000, &number);
		timeline->max_snapshots = taken ? number : 10;
		break;
	case OPT_HEAP_ADMIN:
		taken = take_between(options, "heap-admin", 0, 1024, &timeline->heap_admin);
		break;
	case OPT_WIDTH:
		taken = take_between(
			options, "width", TIMELINE_SIDE_LEAST, TIMELINE_SIDE_MOST, &number);
		timeline->width = taken ? (unsigned)number : TIMELINE_SIDE_LEAST;
		break;
	default:
		taken = take_between(
			options, "height", TIMELINE_SIDE_LEAST, TIMELINE_SIDE_MOST, &number);
		timeline->height = taken ? (unsigned)number : TIMELINE_SIDE_LEAST;
	}
	return taken;
}

static bool take(const struct options *options, int id, struct request *request)
{
	struct timeline_options *timeline = &request->shown.options.timeline;
	switch (id) {
	case OPT_TIME_UNIT:
		return take_unit(options, request);
	case OPT_THRESHOLD:
		return stack_view_percent(options, "threshold", &timeline->threshold);
	case OPT_ALIGNMENT:
		return take_alignment(options, timeline);
	case OPT_STACKS:
		request->stacks = options->argument;
		return take_stacks(options, timeline);
	case OPT_ALLOC_FN:
		return take_name(options, &request->alloc_fns);
	case OPT_IGNORE_FN:
		return take_name(options, &request->ignore_fns);
	case OPT_DETAILED_FREQ:
	case OPT_DEPTH:
	case OPT_MAX_SNAPSHOTS:
	case OPT_HEAP_ADMIN:
	case OPT_WIDTH:
	case OPT_HEIGHT:
		return take_number(options, id, timeline);
	default:
		return view_options_take(options, id, &request->shown);
	}
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
	struct timeline_options *timeline = &ret->shown.options.timeline;
	timeline->alloc_fns = ret->alloc_fns.data;
	timeline->alloc_fn_count = ret->alloc_fns.len;
	ret->shown.moments_by_bytes = timeline->unit == TIMELINE_BYTES;
	return stack_view_operand(&options, "a timeline", &ret->shown, &ret->path);
}

static inline void model_cleanup(struct model **model)
{
	model_destroy(*model);
}

/* Leaves out, of the recording that is opened next, the sites that --ignore-fn means; all of it is
 * read for that. `ret`: which they are, as long as blocks are chosen so. */
static struct error *leave_out(struct request *request, const char *path, bool **ret)
{
	_cleanup_(model_cleanup) struct model *model = NULL;
	_cleanup_(resolver_cleanup) struct resolver *resolver = NULL;
	struct source_blocks *blocks = &request->shown.blocks;
	const struct view_options *options = &request->shown.options;
	size_t found = 0;
	blocks->left_out = NULL;
	if (!request->ignore_fns.len)
		return NULL;
	struct error *error = source_open(path, &model);
	if (!error)
		error = symbol_options_apply(&request->shown.symbols, model);
	if (!error)
		error = resolver_create(model, options->all_frames, &resolver);
	if (!error)
		error = timeline_find_sites(model, resolver, &options->timeline,
			request->ignore_fns.data, request->ignore_fns.len, ret, &found);
	if (error)
		return error;
	if (!found)
		message("%s: nothing was allocated by the functions of --ignore-fn", path);
	model_sites(model, &blocks->left_out_len);
	blocks->left_out = found ? *ret : NULL;
	return NULL;
}

static int find_file(struct request *request)
{
	if (!request->path) {
		struct error *error = recording_newest(&request->newest);
		if (error)
			return message_error(error);
		message("reading %s, the newest recording here", request->newest);
		request->path = request->newest;
	}
	return 0;
}

/* Whether time can be told in the unit that was asked for; else says why not. */
static bool has_unit(const struct request *request, const char *path, const struct model *model)
{
	const char *only = model_recording(model)->time_unit;
	if (only && request->unit && strcmp(only, request->unit) != 0)
		message("%s: its snapshots have times in %s alone, not in %s", request->path, only,
			request->unit);
	if (only)
		return !request->unit || strcmp(only, request->unit) == 0;
	const char *counted = model_recording(model)->instructions;
	if (request->shown.options.timeline.unit != TIMELINE_INSTRUCTIONS ||
		(counted && strcmp(counted, "counted") == 0))
		return true;
	message("%s: this recording has no instruction counts (%s); --time-unit=ms and B go "
		"without",
		path, counted ? counted : "nobody tried to count them");
	return false;
}

static int open_newer(struct request *request, struct model **ret)
{
	_cleanup_free_ bool *left_out = NULL;
	struct error *error = leave_out(request, request->path, &left_out);
	if (error)
		return message_error(error);
	int code = view_request_open(&request->shown, request->path, 0, ret);
	request->shown.blocks.left_out = NULL;
	return !code && !has_unit(request, request->path, *ret) ? ERROR_INPUT : code;
}

static int open_older(struct request *request, struct operand *ret)
{
	_cleanup_free_ bool *left_out = NULL;
	const char *base = request->shown.base, *moment = base ? moment_behind(base) : NULL;
	if (!base)
		return 0;
	_cleanup_free_ char *path =
		moment ? strndup(base, (size_t)(moment - base) - 1) : strdup(base);
	struct error *error = path ? leave_out(request, path, &left_out) : error_no_memory();
	if (error)
		return message_error(error);
	int code = view_request_open_base(&request->shown, 0, ret);
	request->shown.blocks.left_out = NULL;
	return !code && !has_unit(request, path, ret->model) ? ERROR_INPUT : code;
}

static int show(struct request *request)
{
	_cleanup_(model_cleanup) struct model *model = NULL;
	_cleanup_(operand_deinit) struct operand older = {.model = NULL};
	struct view_request *shown = &request->shown;
	const struct view *view = view_find("timeline");
	int code = find_file(request);
	if (code)
		return code;
	shown->moments_wanted = view_needs_moments(view, &shown->options);
	code = open_newer(request, &model);
	if (!code)
		code = open_older(request, &older);
	if (code)
		return code;
	if (request->stacks)
		shown->options.timeline.stacks = strcmp(request->stacks, "yes") == 0;
	const struct view_base base = {.model = older.model, .label = shown->base};
	shown->options.base = older.model ? &base : NULL;
	code = view_request_show(shown, view, model);
	shown->options.base = NULL;
	return code;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct request request = {.shown = VIEW_REQUEST_DEFAULT};
	int code;
	if (parse(command, argc, argv, &request, &code))
		code = show(&request);
	name_vec_deinit(&request.alloc_fns);
	name_vec_deinit(&request.ignore_fns);
	free(request.newest);
	view_request_deinit(&request.shown);
	return code;
}

const struct command command_timeline = {
	.name = "timeline",
	.synopsis = "[FILE] [--time-unit UNIT] [--max-snapshots N] [--threshold PERCENT] [OPTION…]",
	.what = "Shows how the heap grew and shrank, as Massif and ms_print do.",
	.about = "Without FILE: the newest recording (*.hpw) in the current folder. A graph, then "
		 "snapshots all\nalong the recording: useful-heap is what was asked for, "
		 "extra-heap what an allocator needs beside\nthat. Some have a tree of who "
		 "allocated what was live (@ in the graph), the peak (#) always.\n",
	.examples = "  heapwise timeline                             graph, table, trees\n"
		    "  heapwise timeline --time-unit=B app.hpw       the same for each run of a "
		    "program\n"
		    "  heapwise timeline --alloc-fn=xmalloc app.hpw  who called it\n",
	.options = option_specs,
	.run = run,
};
