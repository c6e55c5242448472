/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise report: a recording, read and shown. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "cli/message.h"
#include "cli/moments.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/recordings.h"
#include "cli/report_tree.h"
#include "model/model.h"
#include "sources/source.h"
#include "views/views.h"

enum {
	OPT_VIEW = 256,
	OPT_SORT,
	OPT_LIMIT,
	OPT_JSON,
	OPT_ALL_FRAMES,
	OPT_AT,
	OPT_FROM,
	OPT_TO,
};

static const struct option_spec option_specs[] = {
	{OPT_VIEW, "view", "VIEW",
		"summary (default), sites, never-freed, peak, inherited, temporary, sizes or "
		"threads"},
	{OPT_SORT, "sort", "METRIC",
		"allocations, allocated_bytes, live_bytes, live_blocks, peak_bytes, …"},
	{OPT_LIMIT, "limit", "N", "show at most N rows (default: 20, in the summary 5)"},
	{OPT_JSON, "json", NULL, "write JSON, schema heapwise.report/1; complete unless limited"},
	{OPT_AT, "at", "MOMENT",
		"as things stood then: start, end, peak, a time (3.2s, 150ms, 2min) or "
		"mark:NAME (mark:NAME#2: the second of that name)"},
	{OPT_FROM, "from", "MOMENT", "leave out what came before; see the view kept"},
	{OPT_TO, "to", "MOMENT", "leave out what came after, as --at"},
	{OPT_ALL_FRAMES, "all-frames", NULL, "show frames of allocators too, and whole stacks"},
	{0},
};

struct request {
	const struct view *view;
	struct view_options options;
	struct moments moments;
	char *const *paths; /* none: the newest recording here */
	size_t path_count;
};

static bool is_folder(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static bool is_tree(const struct request *request)
{
	return request->path_count > 1 ||
	       (request->path_count == 1 && is_folder(request->paths[0]));
}

static int wrong_view(const struct command *command, const char *name)
{
	_cleanup_(text_deinit) struct text names;
	text_init(&names);
	view_add_names(&names);
	return options_wrong(
		command, "there is no view '%s'; there are %s", name, names.data ? names.data : "");
}

static int wrong_metric(const struct command *command, const struct view *view, const char *name)
{
	_cleanup_(text_deinit) struct text names;
	text_init(&names);
	view_add_metrics(&names, view);
	return options_wrong(command, "this view cannot be sorted by '%s', but by %s", name,
		names.data ? names.data : "");
}

/* False: leave with *ret_code, all is said. */
static bool parse(
	const struct command *command, int argc, char **argv, struct request *ret, int *ret_code)
{
	struct options options = {.command = command, .argc = argc, .argv = argv};
	const char *view = "summary", *sort = NULL;
	int id;
	while ((id = options_next(&options)) > 0) {
		uint64_t number;
		switch (id) {
		case OPT_VIEW:
			view = options.argument;
			break;
		case OPT_SORT:
			sort = options.argument;
			break;
		case OPT_LIMIT:
			*ret_code = ERROR_USAGE;
			if (!options_number(&options, options.argument, "limit", &number))
				return false;
			ret->options.limit = number;
			break;
		case OPT_JSON:
			ret->options.json = true;
			break;
		case OPT_ALL_FRAMES:
			ret->options.all_frames = true;
			break;
		case OPT_AT:
		case OPT_TO:
			*ret_code = ERROR_USAGE;
			if (!moments_take(&options, &ret->moments, false))
				return false;
			break;
		case OPT_FROM:
			*ret_code = ERROR_USAGE;
			if (!moments_take(&options, &ret->moments, true))
				return false;
			break;
		}
	}
	*ret_code = options.exit_code;
	if (id < 0)
		return false;
	ret->view = view_find(view);
	if (!ret->view)
		*ret_code = wrong_view(command, view);
	else if (sort && (!metric_find(sort, &ret->options.sort) ||
				 !view_can_sort(ret->view, ret->options.sort)))
		*ret_code = wrong_metric(command, ret->view, sort);
	ret->paths = argv + options.operand;
	ret->path_count = (size_t)(argc - options.operand);
	if (*ret_code == 0 && is_tree(ret) &&
		(strcmp(view, "summary") != 0 || sort || moments_query(&ret->moments)))
		*ret_code = options_wrong(
			command, "several recordings make one table; a view is of one of them");
	return *ret_code == 0;
}

static inline void model_cleanup(struct model **model)
{
	model_destroy(*model);
}

static int show(const struct request *request, const char *path)
{
	_cleanup_(model_cleanup) struct model *model = NULL;
	unsigned flags = view_tells_inherited(request->view) ? SOURCE_WITH_INHERITED : 0;
	const struct source_query *query = moments_query(&request->moments);
	struct error *error = source_open_query(path, flags, query, &model);
	if (error)
		return message_error(error);
	recording_warn(model, path);
	struct output output;
	struct sink sink = output_sink(&output);
	error = view_write(request->view, model, &request->options, &sink);
	if (error)
		return message_error(error);
	return output_end(&output);
}

static int answer(const struct request *request)
{
	if (is_tree(request))
		return report_tree(request->paths, request->path_count, request->options.json);
	if (request->path_count)
		return show(request, request->paths[0]);
	_cleanup_free_ char *newest = NULL;
	struct error *error = recording_newest(&newest);
	if (error)
		return message_error(error);
	message("reading %s, the newest recording here", newest);
	return show(request, newest);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct request request = {.options = {.sort = METRICS, .limit = VIEW_DEFAULT_LIMIT}};
	int code;
	if (parse(command, argc, argv, &request, &code))
		code = answer(&request);
	moments_deinit(&request.moments);
	return code;
}

const struct command command_report = {
	.name = "report",
	.synopsis =
		"[FILE…|FOLDER] [--view VIEW] [--sort METRIC] [--limit N] [--json] [--all-frames]",
	.what = "Says where the memory of a recorded program went.",
	.about = "Without FILE: the newest recording (*.hpw) in the current folder. A recording "
		 "that was\n"
		 "cut short is shown as far as it goes, and what is missing is said. Several "
		 "files, or a folder\n"
		 "with recordings: a table of the processes and their sum.\n",
	.examples = "  heapwise report                                 verdict, totals, top lists\n"
		    "  heapwise report --view never-freed --limit 50   what was left, with stacks\n"
		    "  heapwise report --view sites --sort allocations --json app.hpw\n"
		    "  heapwise report build*.hpw                      who started whom, and each "
		    "one's figures\n",
	.options = option_specs,
	.run = run,
};
