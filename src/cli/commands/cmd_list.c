/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise list: source lines with what they allocated. */
#include <errno.h>
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
};

static const struct option_spec option_specs[] = {
	{OPT_SOURCE_PATH, "source-path", "FOLDER",
		"where sources are, if they moved after they were compiled; may be repeated"},
	VIEW_SPECS_FORM("heapwise.list/1", "the lines") VIEW_SPECS_FILTER VIEW_SPECS_MOMENTS
		VIEW_SPECS_TERMINAL VIEW_SPEC_BASE VIEW_SPEC_MERGE VIEW_SPEC_ALL_FRAMES{0},
};

struct request {
	struct view_request shown;
	struct listing_options list;
	char **folders; /* of sources; the strings are of the command line */
	size_t folder_count;
	struct spots *spots;
	bool *is_chosen; /* spots that are listed */
	struct listing listing;
};

static bool cmd_list_take(const struct options *options, int id, void *ctx)
{
	struct request *request = ctx;
	if (id != OPT_SOURCE_PATH)
		return view_options_take(options, id, &request->shown);
	request->folders[request->folder_count++] = (char *)options->argument;
	return true;
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
	return stack_view_find(view, request->spots, request->list.wanted, &request->is_chosen);
}

static int cmd_list_choose(const struct stacks *view, void *ctx)
{
	struct request *request = ctx;
	int code = choose_spots(view, request);
	if (code)
		return code;
	struct error *error = listing_build(profile_rows(&view->profile), request->spots,
		request->is_chosen, &request->listing);
	if (error)
		return message_error(error);
	if (request->listing.parts.len)
		return 0;
	message("no line information for '%s': its module has no debug information here ('heapwise "
		"doctor FILE' says why)",
		request->list.wanted);
	return STACK_VIEW_NOTHING;
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
	if (!error)
		error = listing_write(&view->profile, listing, sources, &request->list, sink);
	for (size_t i = 0; i < found; i++)
		source_file_deinit(&sources[i]);
	return error;
}

static const struct stack_view list_view = {.what = "a listing",
	.take = cmd_list_take,
	.operand = take_wanted,
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
		 "flat is what a line allocated itself; cum includes what was allocated in its "
		 "callees.\n",
	.examples = "  heapwise list read_line                     a function, wherever it is\n"
		    "  heapwise list input.c:42 app.hpw            around a line\n"
		    "  heapwise list parse --source-path ~/src/app the sources have moved\n",
	.options = option_specs,
	.run = cmd_list_run,
};
