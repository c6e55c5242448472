/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise report: a recording, read and shown. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/commands/report_tree.h"
#include "cli/options/error_options.h"
#include "cli/options/options.h"
#include "cli/options/view_options.h"
#include "cli/python/python_lines.h"
#include "cli/terminal/message.h"
#include "model/model.h"
#include "query/operands.h"
#include "sources/source.h"
#include "views/views.h"

enum {
	OPT_VIEW = 256,
	OPT_NORMALIZE,
	OPT_CUM,
	OPT_COUNT_LIBRARIES,
	OPT_REPORT_BY,
};

static const struct option_spec option_specs[] = {
	{OPT_VIEW, "view", "VIEW",
		"summary (default), sites, never-freed, libraries, peak, inherited, temporary, "
		"kept, "
		"functions, lines, addresses, files, modules, growth, timeline, lifetimes, "
		"realloc, sizes, threads, "
		"marks, rss or errors"},
	VIEW_SPEC_SORT{VIEW_OPT_LIMIT, "limit", "N",
		"show at most N rows (default: 20, in the summary 3)"},
	{OPT_CUM, "cum", NULL,
		"in views of functions, lines, files…: sort by what is allocated in callees too"},
	{OPT_COUNT_LIBRARIES, "count-libraries", NULL,
		"count what libraries keep for themselves as the program's own: see --view "
		"libraries"},
	{VIEW_OPT_JSON, "json", NULL,
		"write JSON, schema heapwise.report/1; all rows unless --limit is given (of the "
		"view timeline: heapwise.timeline/1)"},
	{VIEW_OPT_CSV, "csv", NULL, "write the table of the view as CSV; all rows, likewise"},
	{VIEW_OPT_TAIL, "tail", "PERCENT",
		"ignore growth in this last part of the time (default: 10)"},
	VIEW_SPEC_BASE{OPT_NORMALIZE, "normalize", NULL,
		"with --base: scale the older figures so that both totals are equal"},
	VIEW_SPECS_MOMENTS VIEW_SPECS_FILTER VIEW_SPECS_TERMINAL VIEW_SPEC_MERGE
		VIEW_SPEC_ALL_FRAMES VIEW_SPEC_ANONYMIZE ERROR_SPEC_SUPPRESSIONS
			ERROR_SPEC_GEN_SUPPRESSIONS{ERROR_OPT_FORMAT, "format", "FORM",
				"of --view errors: text (default), memcheck, valgrind (XML), json, "
				"csv, sarif, junit or github; tracemalloc: what lines of Python "
				"keep alive, as Python's tracemalloc writes it"},
	ERROR_SPEC_EXITCODE{OPT_REPORT_BY, "by", "KEY",
		"of --format tracemalloc: line (default), file or traceback"},
	TRACEMALLOC_SPECS{0},
};

struct request {
	const struct view *view;
	const char *view_name; /* as given; NULL: not */
	struct view_request shown;
	struct error_options errors; /* of the view errors */
	struct tracemalloc_options python;
	const char *by; /* as given; NULL: not */
	bool normalize;
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
	return !request->shown.merge &&
	       (request->path_count > 1 ||
		       (request->path_count == 1 && is_folder(request->paths[0])));
}

static int wrong_view(const struct command *command, const char *name)
{
	_cleanup_(text_deinit) struct text names;
	text_init(&names);
	view_add_names(&names);
	return options_wrong(command, "invalid --view '%s': expected one of %s", name,
		names.data ? names.data : "");
}

static int wrong_metric(const struct command *command, const struct view *view, const char *name)
{
	_cleanup_(text_deinit) struct text names;
	text_init(&names);
	view_add_metrics(&names, view);
	return options_wrong(command, "this view can't be sorted by '%s': expected one of %s", name,
		names.data ? names.data : "");
}

/* Of what is compared; 0: all is right. */
static int check_base(const struct command *command, const struct request *request)
{
	const char *reason = view_no_base(request->view);
	if (!request->shown.query.base && request->normalize)
		return options_wrong(command, "--normalize needs --base");
	if (request->normalize && view_needs_moments(request->view, &request->shown.options))
		return options_wrong(command, "--normalize doesn't work with this view, which "
					      "shows each recording over time");
	if (request->shown.query.base && reason)
		return options_wrong(command, "this view doesn't support --base: %s", reason);
	if (request->shown.query.base && is_tree(request))
		return options_wrong(command,
			"--base with several recordings needs --merge, which adds them up");
	return 0;
}

/* Of CSV, which is one table; 0: all is right. */
static int check_csv(const struct command *command, const struct request *request)
{
	const struct view_request *shown = &request->shown;
	if (!shown->options.csv)
		return 0;
	if (shown->options.json)
		return options_wrong(command, "--csv and --json exclude each other");
	return 0;
}

/* Of the view errors; 0: all is right. */
static int check_errors(const struct command *command, struct request *request)
{
	struct error_options *errors = &request->errors;
	struct view_options *options = &request->shown.options;
	if (!errors->given)
		return 0;
	if (request->view != view_find("errors"))
		return options_wrong(command, "%s needs --view errors", errors->given);
	if (request->shown.query.anonymize && errors->suppressions.len)
		return options_wrong(command, "--anonymize replaces names before suppressions "
					      "apply: it can't be used with --suppressions");
	options->json |= errors->form == ERROR_FORM_JSON;
	options->csv |= errors->form == ERROR_FORM_CSV;
	options->write_suppressions = errors->gen_suppressions;
	/* Who wants suppressions wants them all. */
	if (errors->gen_suppressions && !options->limit)
		options->limit = VIEW_NO_LIMIT;
	if (errors->form > ERROR_FORM_CSV && view_is_for_programs(options))
		return options_wrong(command, "--format %s excludes --json and --csv",
			error_form_name(errors->form));
	return 0;
}

/* How it is grouped: by the key that is given, or as the view is. False, after saying so. */
static bool set_python_key(const struct command *command, struct request *request)
{
	static const struct {
		const char *view;
		enum python_key key;
	} keys[] = {{"lines", PYTHON_BY_LINE}, {"files", PYTHON_BY_FILE},
		{"sites", PYTHON_BY_TRACEBACK}};
	enum python_key *key = &request->python.grouping.key;
	if (request->by && !tracemalloc_key_parse(request->by, key))
		return options_wrong(command, "invalid --by '%s': expected line, file or traceback",
			       request->by),
		       false;
	const char *view = request->view_name;
	for (size_t i = 0; view && i < ARRAY_SIZE(keys); i++) {
		if (strcmp(view, keys[i].view) != 0)
			continue;
		if (request->by && *key != keys[i].key)
			return options_wrong(command, "--by %s and --view %s exclude each other",
				       request->by, view),
			       false;
		*key = keys[i].key;
		return true;
	}
	if (view)
		options_wrong(command,
			"--format " TRACEMALLOC_FORMAT " needs --view lines, files or sites, not "
			"%s",
			view);
	return !view;
}

/* What can't be asked for together with that form; NULL: nothing is. */
static const char *refuse_with_python(const struct request *request)
{
	const struct view_request *shown = &request->shown;
	return shown->options.json     ? "--json"
	       : shown->options.csv    ? "--csv"
	       : shown->metric_name    ? "--sort"
	       : request->errors.given ? request->errors.given
	       : request->normalize    ? "--normalize"
				       : NULL;
}

/* Of --format tracemalloc and what belongs to it; 0: all is right. */
static int check_python(const struct command *command, struct request *request)
{
	const char *needs = request->by ? "--by" : request->python.given;
	if (!request->python.chosen)
		return needs ? options_wrong(
				       command, "%s needs --format " TRACEMALLOC_FORMAT, needs)
			     : 0;
	const char *refused = refuse_with_python(request);
	if (refused)
		return options_wrong(
			command, "--format " TRACEMALLOC_FORMAT " excludes %s", refused);
	if (request->shown.query.base)
		return options_wrong(command, "--format " TRACEMALLOC_FORMAT
					      " doesn't support --base: use 'heapwise diff "
					      "OLDER NEWER --format " TRACEMALLOC_FORMAT "'");
	if (is_tree(request))
		return options_wrong(command, "--format " TRACEMALLOC_FORMAT
					      " shows one recording: give one file, or add several "
					      "up with --merge");
	if (!set_python_key(command, request))
		return ERROR_USAGE;
	struct python_grouping *grouping = &request->python.grouping;
	grouping->cum = request->shown.options.by_cum;
	if (grouping->cum && grouping->key == PYTHON_BY_TRACEBACK)
		return options_wrong(command, "--cum needs --by line or file, not traceback");
	request->view = view_find("lines");
	return 0;
}

/* What cannot be asked of the view; 0: all can. */
static int cmd_report_check(const struct command *command, struct request *request)
{
	int code = check_python(command, request);
	if (code || request->python.chosen)
		return code;
	const char *view = request->view_name;
	struct view_request *shown = &request->shown;
	bool filtered = filter_is_given(&shown->query.filter);
	request->view = view_find(view ? view : filtered ? "sites" : "summary");
	if (!request->view)
		return wrong_view(command, view);
	const char *sort = shown->metric_name;
	if (sort && view_needs_marks(request->view))
		return options_wrong(
			command, "marks are in order of time and can't be sorted by '%s'", sort);
	if (shown->merge && view_needs_marks(request->view))
		return options_wrong(
			command, "marks can't be shown for several recordings (--merge)");
	if (sort && (!metric_find(sort, &shown->options.sort) ||
			    !view_can_sort(request->view, shown->options.sort)))
		return wrong_metric(command, request->view, sort);
	if (filtered && !view_can_filter(request->view))
		return options_wrong(command,
			"filters don't work with --view %s, which shows everything that was "
			"recorded: use --view sites",
			view);
	if (shown->options.by_cum && !view_has_cum(request->view))
		return options_wrong(command,
			"--cum needs --view functions, lines, addresses, files or modules");
	bool summary = !view || strcmp(view, "summary") == 0;
	if (is_tree(request) &&
		(!summary || sort || filtered || moments_query(&shown->query.moments)))
		return options_wrong(command, "--view shows one recording: give one file, or add "
					      "several up with --merge");
	code = check_base(command, request);
	if (!code)
		code = check_errors(command, request);
	return code ? code : check_csv(command, request);
}

/* Whether it is an option for errors; *ret_ok: it was taken. */
static bool take_errors(
	const struct options *options, int id, struct request *request, bool *ret_ok)
{
	bool taken;
	_cleanup_error_ struct error *error =
		error_options_take(&request->errors, id, options->argument, &taken);
	if (error)
		options_wrong(options->command, "%s%s", error->message,
			id == ERROR_OPT_FORMAT ? "; or " TRACEMALLOC_FORMAT : "");
	*ret_ok = !error;
	return taken;
}

/* Whether it is an option of that form; *ret_ok: it was taken. */
static bool take_python(
	const struct options *options, int id, struct request *request, bool *ret_ok)
{
	bool taken;
	*ret_ok = true;
	if (id == ERROR_OPT_FORMAT) {
		request->python.chosen = strcmp(options->argument, TRACEMALLOC_FORMAT) == 0;
		return request->python.chosen;
	}
	_cleanup_error_ struct error *error =
		tracemalloc_options_take(&request->python, id, options->argument, &taken);
	if (error)
		options_wrong(options->command, "%s", error->message);
	*ret_ok = !error;
	return taken;
}

static bool cmd_report_take(const struct options *options, int id, void *ctx)
{
	struct request *request = ctx;
	bool ok;
	if (take_python(options, id, request, &ok))
		return ok;
	if (take_errors(options, id, request, &ok))
		return ok;
	switch (id) {
	case OPT_VIEW:
		request->view_name = options->argument;
		return true;
	case OPT_NORMALIZE:
		request->normalize = true;
		return true;
	case OPT_COUNT_LIBRARIES:
		request->shown.options.count_libraries = true;
		return true;
	case OPT_REPORT_BY:
		request->by = options->argument;
		return true;
	case OPT_CUM:
		request->shown.options.by_cum = true;
		return true;
	default:
		return view_options_take(options, id, &request->shown);
	}
}

/* False: leave with *ret_code, all is said. */
static bool cmd_report_parse(
	const struct command *command, int argc, char **argv, struct request *ret, int *ret_code)
{
	struct options options = {.command = command, .argc = argc, .argv = argv};
	if (!options_each(&options, cmd_report_take, ret, ret_code))
		return false;
	ret->paths = argv + options.operand;
	ret->path_count = (size_t)(argc - options.operand);
	*ret_code = cmd_report_check(command, ret);
	return *ret_code == 0;
}

/* Lives and reallocs of a sample are those of its blocks alone, not estimates for all. */
static bool lives_compare(
	const struct request *request, const struct model *older, const struct model *newer)
{
	const struct recording *a = model_recording(older), *b = model_recording(newer);
	if (!view_needs_lives(request->view) || a->sample_bytes == b->sample_bytes)
		return true;
	message("%s and %s can't be compared in this view, which only knows sampled blocks: their "
		"sampling rates differ; use --view sites",
		a->path, b->path);
	return false;
}

/* A file that is a difference is shown as a comparison, which not every view can be. */
static bool is_refused(const struct request *request, const struct model *model)
{
	const char *reason = view_no_base(request->view);
	if (!model_subtracted(model) || !reason)
		return false;
	message("%s is a difference of two states: %s", model_recording(model)->path, reason);
	return true;
}

/* Shows it as it is other than the older one, or than what a difference subtracts. */
static int cmd_report_compare(struct request *request, unsigned flags, const struct model *model)
{
	struct view_request *shown = &request->shown;
	_cleanup_(operand_deinit) struct operand older = {.model = NULL};
	struct view_base base = {.model = model_subtracted(model),
		.label = "what it subtracts",
		.same_recording = true};
	int code = shown->query.base ? view_request_open_base(shown, flags, &older) : 0;
	if (code)
		return code;
	if (shown->query.base)
		base = (struct view_base){
			.model = older.model,
			.label = shown->query.base,
			.same_recording = operand_is_of(&older, model),
			.normalize = request->normalize,
		};
	if (!lives_compare(request, base.model, model))
		return ERROR_INPUT;
	shown->options.base = &base;
	code = view_request_show(shown, request->view, model);
	shown->options.base = NULL;
	return code;
}

/* Whether a verdict on all of one recording is wanted: it says what allocation sites do over time.
 */
static bool looks_at_lives(const struct request *request)
{
	const struct view_request *shown = &request->shown;
	return request->view == view_find("summary") && !shown->merge && !shown->query.base &&
	       !moments_query(&shown->query.moments) && !query_blocks(&shown->query);
}

struct shown_errors {
	const struct model *model;
	struct error_form_options options;
};

static struct error *write_errors(void *ctx, const struct sink *sink)
{
	const struct shown_errors *shown = ctx;
	return error_form_write(shown->model, &shown->options, sink);
}

/* Shows the view errors, without what is suppressed, and judges it. */
static int show_errors(struct request *request, struct model *model)
{
	const struct error_options *errors = &request->errors;
	const struct view_options *view = &request->shown.options;
	struct error *error = error_options_settle(errors, model, request->shown.merge);
	if (error)
		return message_error(error);
	struct shown_errors shown = {
		model, {.form = errors->form,
			       .limit = view->limit ? view->limit : VIEW_NO_LIMIT,
			       .write_suppressions = errors->gen_suppressions,
			       .version = HW_VERSION}};
	int code = errors->form > ERROR_FORM_CSV
			   ? view_request_write(&request->shown, NULL, write_errors, &shown)
			   : view_request_show(&request->shown, request->view, model);
	return error_options_judge(errors, model, code);
}

static int cmd_report_show(const struct command *command, struct request *request)
{
	_cleanup_(model_cleanup) struct model *model = NULL;
	unsigned flags = view_shows_inherited(request->view) ? SOURCE_WITH_INHERITED : 0;
	flags |= view_needs_marks(request->view) ? SOURCE_WITH_MARKS : 0;
	const char *path;
	request->shown.query.series.rows =
		view_needs_moments(request->view, &request->shown.options);
	request->shown.query.series.sites_every =
		view_moments_every(request->view, &request->shown.options);
	if (view_needs_lives(request->view))
		flags |= SOURCE_WITH_LIVES;
	if ((request->shown.query.series.rows || view_needs_lives(request->view)) &&
		request->shown.merge)
		return options_wrong(
			command, "this view shows one recording: a sum of several has no times");
	if (view_needs_lives(request->view) && query_blocks(&request->shown.query))
		return options_wrong(command, "this view shows all blocks: --min-size, --thread, "
					      "--min-lifetime… don't work with it");
	if (!view_request_files(command, &request->shown, "a report", request->paths,
		    request->path_count, &path))
		return ERROR_USAGE;
	if (looks_at_lives(request)) {
		flags |= SOURCE_WITH_LIVES | SOURCE_IF_FEW;
		request->shown.query.series.rows = GROWTH_MOMENTS;
		request->shown.query.series_if_known = true;
	}
	int code = view_request_open(&request->shown, path, flags, &model);
	if (code)
		return code;
	if (!request->python.chosen && is_refused(request, model))
		return ERROR_INPUT;
	if (request->view == view_find("errors"))
		return show_errors(request, model);
	if (request->python.chosen)
		return python_lines_show(&request->shown, &request->python, model);
	return request->shown.query.base || model_subtracted(model)
		       ? cmd_report_compare(request, flags, model)
		       : view_request_show(&request->shown, request->view, model);
}

static int cmd_report_run(const struct command *command, int argc, char **argv)
{
	struct request request = {.shown = VIEW_REQUEST_DEFAULT};
	error_options_init(&request.errors);
	tracemalloc_options_init(&request.python);
	int code;
	if (cmd_report_parse(command, argc, argv, &request, &code)) {
		const struct report_tree_options tree = {
			.view = &request.shown.options,
			.paged = !request.shown.no_pager,
			.anonymize = request.shown.query.anonymize,
		};
		code = is_tree(&request) ? report_tree(request.paths, request.path_count, &tree)
					 : cmd_report_show(command, &request);
	}
	view_request_deinit(&request.shown);
	error_options_deinit(&request.errors);
	tracemalloc_options_deinit(&request.python);
	return code;
}

const struct command command_report = {
	.name = "report",
	.synopsis = "[FILE…|FOLDER] [--view VIEW] [--sort METRIC] [--limit N] [--base OLD] "
		    "[--focus REGEX] [--json|--csv]",
	.what = "Shows where the memory of a recorded program went.",
	.about = "Without FILE: the newest recording (*.hpw) in the current directory. A truncated "
		 "recording is shown\n"
		 "up to where it ends, with a note on what is missing. Several files, or a "
		 "directory of recordings:\n"
		 "a table of the processes and their sum.\n",
	.examples =
		"  heapwise report                                 verdict, totals, top lists\n"
		"  heapwise report --view never-freed --limit 50   what was never freed, with "
		"stacks\n"
		"  heapwise report --view sites --sort allocations --json app.hpw\n"
		"  heapwise report --focus '^parse_' --ignore libstdc  stacks with such a frame\n"
		"  heapwise report build*.hpw                      the process tree, with figures\n"
		"  heapwise report --merge one.hpw two.hpw        added up, as one recording\n"
		"  heapwise report --view threads --base old.hpw new.hpw  what grew per thread\n"
		"  heapwise report --view errors --suppressions known.supp --format sarif "
		"app.xml\n"
		"  heapwise report --format tracemalloc --at mark:python-exit  lines of Python, as "
		"tracemalloc writes them\n",
	.options = option_specs,
	.run = cmd_report_run,
};
