/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise list: source lines with what they allocated. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "cli/options/stack_view.h"
#include "cli/setup/context.h"
#include "cli/terminal/message.h"
#include "query/bundles.h"
#include "query/source_files.h"
#include "views/listing.h"

enum {
	OPT_SOURCE_PATH = 256,
	OPT_LIST_FORMAT,
	OPT_LIST_PRECISION,
};

#define MEMORY_PROFILER "memory_profiler"
#define PRECISION_MAX 9

static const struct option_spec option_specs[] = {
	{OPT_SOURCE_PATH, "source-path", "FOLDER",
		"where sources are, if they moved after they were compiled; may be repeated"},
	{OPT_LIST_FORMAT, "format", "FORM",
		"text (default), or memory_profiler: its header and columns, for lines of Python"},
	{VIEW_OPT_METRIC, "metric", "METRIC",
		"of --format memory_profiler, what Increment is: peak_bytes (default), live_bytes, "
		"allocated_bytes or kept_bytes"},
	{OPT_LIST_PRECISION, "precision", "N",
		"of --format memory_profiler: N decimals (0 to 9; default: 1)"},
	VIEW_SPECS_FORM("heapwise.list/1", "the lines") VIEW_SPECS_FILTER VIEW_SPECS_MOMENTS
		VIEW_SPECS_TERMINAL VIEW_SPEC_BASE VIEW_SPEC_MERGE VIEW_SPEC_ALL_FRAMES{0},
};

struct request {
	struct view_request shown;
	struct listing_options list;
	bool as_memory_profiler;
	const char *precision; /* as given; NULL: not */
	char **folders;        /* of sources; the strings are of the command line */
	size_t folder_count;
	struct spots *spots;
	bool *is_chosen; /* spots that are listed */
	struct listing listing;
};

static bool take_form(const struct options *options, struct request *request)
{
	request->as_memory_profiler = strcmp(options->argument, MEMORY_PROFILER) == 0;
	if (request->as_memory_profiler || strcmp(options->argument, "text") == 0)
		return true;
	options_wrong(options->command, "invalid --format '%s': expected text or " MEMORY_PROFILER,
		options->argument);
	return false;
}

static bool cmd_list_take(const struct options *options, int id, void *ctx)
{
	struct request *request = ctx;
	switch (id) {
	case OPT_SOURCE_PATH:
		request->folders[request->folder_count++] = (char *)options->argument;
		return true;
	case OPT_LIST_FORMAT:
		return take_form(options, request);
	case OPT_LIST_PRECISION:
		request->precision = options->argument;
		return true;
	default:
		return view_options_take(options, id, &request->shown);
	}
}

static bool parse_precision(const char *text, uint64_t *ret)
{
	*ret = 0;
	return strcmp(text, "0") == 0 || (number_whole(text, ret) && *ret <= PRECISION_MAX);
}

/* Of memory_profiler's layout; false, after saying what is wrong. */
static bool take_layout(const struct command *command, struct request *request)
{
	uint64_t precision = 1;
	const char *metric = request->shown.metric_name;
	enum metric *increment = &request->list.increment;
	*increment = METRIC_PEAK_BYTES;
	if (metric && (!metric_find(metric, increment) || !metric_is_bytes(*increment)))
		options_wrong(command,
			"invalid --metric '%s': expected peak_bytes, live_bytes, allocated_bytes "
			"or kept_bytes",
			metric);
	else if (request->precision && !parse_precision(request->precision, &precision))
		options_wrong(command, "invalid --precision '%s': expected a number from 0 to %d",
			request->precision, PRECISION_MAX);
	else if (request->shown.options.json || request->shown.options.csv)
		options_wrong(command, "--format " MEMORY_PROFILER " excludes --json and --csv");
	else {
		request->list.precision = (unsigned)precision;
		request->list.as_traced = !metric;
		request->shown.options.sort = *increment;
		return true;
	}
	return false;
}

static bool cmd_list_check(const struct command *command, void *ctx)
{
	struct request *request = ctx;
	const char *needs = request->precision           ? "precision"
			    : request->shown.metric_name ? "metric"
							 : NULL;
	if (request->as_memory_profiler)
		return take_layout(command, request);
	if (needs)
		options_wrong(command, "--%s needs --format " MEMORY_PROFILER, needs);
	return !needs;
}

static bool take_wanted(struct options *options, void *ctx)
{
	struct request *request = ctx;
	if (options->operand == options->argc) {
		options_wrong(options->command, "missing function or source file");
		return false;
	}
	request->list.wanted = options->argv[options->operand++];
	return true;
}

/* "table.c:41": the length of the name, and the line; all of it and 0 if there is none. */
static size_t split_line(const char *wanted, uint32_t *ret_line)
{
	const char *colon = strrchr(wanted, ':');
	uint64_t line;
	*ret_line = 0;
	if (!colon || colon == wanted || !number_whole(colon + 1, &line) || line > UINT32_MAX)
		return strlen(wanted);
	*ret_line = (uint32_t)line;
	return (size_t)(colon - wanted);
}

static void drop_choice(struct request *request)
{
	spots_destroy(request->spots);
	free(request->is_chosen);
	request->spots = NULL;
	request->is_chosen = NULL;
}

/* *ret_found: whether files of that name are in the stacks. */
static int choose_files(const struct stacks *view, struct request *request, bool *ret_found)
{
	uint32_t line;
	_cleanup_free_ char *name =
		strndup(request->list.wanted, split_line(request->list.wanted, &line));
	struct error *error = name ? spots_create(GRAIN_FILES, &request->spots) : error_no_memory();
	if (!error)
		error = stacks_intern_spots(view, request->spots);
	if (!error) {
		request->is_chosen = calloc(spots_count(request->spots) + 1, sizeof(bool));
		error = request->is_chosen ? NULL : error_no_memory();
	}
	if (error)
		return message_error(error);
	*ret_found = names_find_plain(request->spots, name, request->is_chosen) > 0;
	if (*ret_found)
		request->list.line = line;
	/* No function is called so. */
	return line && !*ret_found ? stack_view_unknown(request->spots, name) : 0;
}

/* A traced function may have allocated nothing: it is in no stack then. */
static int choose_functions(const struct stacks *view, struct request *request)
{
	const char *wanted = request->list.wanted;
	if (!listing_is_traced(view->model, wanted))
		return stack_view_find(view, request->spots, wanted, &request->is_chosen);
	struct error *error = stacks_intern_spots(view, request->spots);
	if (error)
		return message_error(error);
	request->is_chosen = calloc(spots_count(request->spots) + 1, sizeof(bool));
	if (!request->is_chosen)
		return message_error(error_no_memory());
	if (names_find_plain(request->spots, wanted, request->is_chosen))
		return 0;
	/* "feed" for Parser.feed. */
	for (size_t i = 0; i < spots_count(request->spots); i++) {
		const char *name = spots_at(request->spots, i)->name;
		const char *dot = strrchr(name, '.');
		request->is_chosen[i] =
			dot && strcmp(dot + 1, wanted) == 0 && listing_is_traced(view->model, name);
	}
	return 0;
}

static int choose_spots(const struct stacks *view, struct request *request)
{
	bool found;
	int code = choose_files(view, request, &found);
	if (code || found)
		return code;
	drop_choice(request);
	struct error *error = spots_create(GRAIN_FUNCTIONS, &request->spots);
	if (error)
		return message_error(error);
	return choose_functions(view, request);
}

static int cmd_list_choose(const struct stacks *view, void *ctx)
{
	struct request *request = ctx;
	int code = choose_spots(view, request);
	if (code)
		return code;
	struct error *error = listing_build(profile_rows(&view->profile), request->spots,
		request->is_chosen, &request->listing);
	if (!error)
		error = listing_add_traces(&request->listing, view->model, request->list.wanted);
	if (error)
		return message_error(error);
	if (request->listing.parts.len)
		return 0;
	message("no line information for '%s': its module has no debug information here ('heapwise "
		"doctor FILE' says why)",
		request->list.wanted);
	return STACK_VIEW_NOTHING;
}

/* What is under Increment of all that was allocated. */
static const char *increment_words(enum metric increment)
{
	return increment == METRIC_PEAK_BYTES   ? "the part that was live at the peak"
	       : increment == METRIC_LIVE_BYTES ? "the part that is live"
	       : increment == METRIC_KEPT_BYTES
		       ? "the part that was allocated in the range and is live at its end"
		       : "all of it";
}

/* Whether parts were traced; *ret_all: all of them. */
static bool any_traced(const struct listing *listing, bool *ret_all)
{
	size_t count = 0;
	for (size_t i = 0; i < listing->parts.len; i++)
		count += listing->parts.data[i].traces.len > 0;
	*ret_all = count == listing->parts.len;
	return count > 0;
}

/* What is beside memory_profiler's columns. */
static void say_columns(const struct request *request)
{
	bool all = false;
	if (request->list.as_traced && any_traced(&request->listing, &all))
		message("Increment: by how much the process's resident memory grew while the line "
			"ran, all times together; Mem usage: the most it was after the line%s",
			all ? "" : ". Functions that were not traced:");
	if (all)
		return;
	message("Increment: of what each line and its callees allocated, %s; lines were not "
		"traced, so the memory of the process after a line (Mem usage), and how often it "
		"ran (Occurrences), are not known",
		increment_words(request->list.increment));
}

/* What text and JSON say of a source, beside a layout that has no place for it. */
static void say_source(const struct listing_part *part, const struct listing_source *source)
{
	if (!source->found)
		message("the source %s was not found%s%s: --source-path FOLDER says where it is",
			part->file,
			source->refused ? "; not shown, because its name is not that "
					  "of a source file: "
					: "",
			source->refused ? source->refused : "");
	else if (source->newer)
		message("%s has changed since it was recorded: lines may have moved",
			source->found);
}

static struct error *write_layout(
	struct request *request, const struct listing_source *sources, const struct sink *sink)
{
	/* What was asked for, or the nearest that the recording knows. */
	request->list.increment = request->shown.options.sort;
	if (!metric_is_bytes(request->list.increment))
		return error_create(ERROR_INPUT, "this file knows no bytes of lines, which "
						 "--format " MEMORY_PROFILER " shows: use "
						 "'heapwise list' without it");
	for (size_t i = 0; i < request->listing.parts.len; i++)
		say_source(&request->listing.parts.data[i], &sources[i]);
	say_columns(request);
	return memory_profiler_write(&request->listing, sources, &request->list, sink);
}

static struct error *write_list(const struct stacks *view, void *ctx, const struct sink *sink)
{
	struct request *request = ctx;
	const struct target *target = model_target(view->model);
	const struct listing *listing = &request->listing;
	const char *bundle = bundle_folder(cli_context(), model_recording(view->model)->path);
	size_t count = listing->parts.len, found = 0;
	_cleanup_free_ struct listing_source *sources = calloc(count + 1, sizeof(*sources));
	struct error *error = sources ? NULL : error_no_memory();
	request->list.view = request->shown.options;
	if (listing->traces_left_out)
		message("lines of traced functions found no room %" PRIu64
			" times, and are not in these figures",
			listing->traces_left_out);
	while (!error && found < count) {
		const struct source_search search = {.file = listing->parts.data[found].file,
			.cwd = target->cwd,
			.bundle = bundle,
			.folders = request->folders,
			.folder_count = request->folder_count,
			.recorded_ns = target->wall_start_ns};
		error = source_file_find(&search, &sources[found]);
		found++;
	}
	if (!error && request->as_memory_profiler)
		error = write_layout(request, sources, sink);
	else if (!error)
		error = listing_write(&view->profile, listing, sources, &request->list, sink);
	for (size_t i = 0; i < found; i++)
		source_file_deinit(&sources[i]);
	return error;
}

static const struct stack_view list_view = {.what = "a listing",
	.take = cmd_list_take,
	.operand = take_wanted,
	.check = cmd_list_check,
	.no_metric = true,
	.choose = cmd_list_choose,
	.write = write_list};

static int cmd_list_run(const struct command *command, int argc, char **argv)
{
	_cleanup_free_ char **folders = calloc((size_t)argc + 1, sizeof(*folders));
	if (!folders)
		return message_error(error_no_memory());
	struct request request = {.shown = VIEW_REQUEST_DEFAULT, .folders = folders};
	struct options options = {.command = command, .argc = argc, .argv = argv};
	listing_init(&request.listing);
	int code = stack_view_run(&list_view, &options, &request.shown, &request);
	listing_deinit(&request.listing);
	drop_choice(&request);
	return code;
}

const struct command command_list = {
	.name = "list",
	.synopsis = "FUNC|SOURCE[:LINE] [FILE] [--source-path FOLDER] [OPTION…]",
	.what = "Shows source lines with the memory that they allocate.",
	.about = "FUNC is a function's name, the part after a '::', or a regular expression. "
		 "SOURCE is a source\n"
		 "file's path, or the end of it. Without FILE: the newest recording (*.hpw) in the "
		 "current directory.\n"
		 "flat is what a line allocated itself, or native code that a line of Python "
		 "called; cum includes\n"
		 "what was allocated in its callees.\n",
	.examples =
		"  heapwise list read_line                     a function, wherever it is\n"
		"  heapwise list input.c:42 app.hpw            around a line\n"
		"  heapwise list parse --source-path ~/src/app the sources have moved\n"
		"  heapwise list load --format memory_profiler  lines of Python in its columns\n",
	.options = option_specs,
	.run = cmd_list_run,
};
