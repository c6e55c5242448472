/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise html: a recording as one HTML file, to look at in a browser and to send. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "cli/commands/page_options.h"
#include "cli/commands/page_parts.h"
#include "cli/commands/page_sources.h"
#include "cli/commands/report_tree.h"
#include "cli/heap/heap_html.h"
#include "cli/options/view_options.h"
#include "cli/setup/context.h"
#include "cli/terminal/message.h"
#include "cli/terminal/page_output.h"
#include "page/page.h"
#include "query/bundles.h"
#include "query/heap_operand.h"
#include "query/stacks.h"

enum {
	OPT_PAGE_LIMIT = 256,
	OPT_SOURCE,
	OPT_SOURCE_PATH,
	OPT_CONTAINER,
	OPT_OUTPUT = 'o',
	OPT_FORCE = 'f',
};

/* What to do if a file must not be replaced. */
#define OTHER_WAYS "use -f to replace it, or -o FILE for another name"

static const struct option_spec option_specs[] = {
	{OPT_OUTPUT, "output", "FILE",
		"write to FILE (default: named after the recording, in the current directory; -: "
		"stdout)"},
	{OPT_FORCE, "force", NULL, "replace FILE even if it is not a page of heapwise"},
	{OPT_PAGE_LIMIT, "page-limit", "SIZE",
		"write at most SIZE bytes; the smallest stacks are summed up (default: 16M)"},
	{OPT_SOURCE, "source", NULL,
		"put the lines of source code that stacks go through into the page, for everybody "
		"who gets it to read"},
	{OPT_SOURCE_PATH, "source-path", "FOLDER",
		"with --source: where sources are, if they moved after they were compiled; may be "
		"repeated"},
	{OPT_CONTAINER, "container", NULL,
		"write the page's data alone, for programs: schema heapwise.page/1 (default: to "
		"stdout)"},
	PAGE_SPECS_ASKED SYMBOL_SPECS VIEW_SPEC_ANONYMIZE{0},
};

DEFINE_VEC(asked_vec, char *)

struct request {
	struct view_request shown;
	struct asked_vec asked; /* options that choose what the page is of; owned */
	const char *path;       /* NULL: the newest recording here */
	const char *output;
	bool force;
	uint64_t most_bytes;
	enum page_lifetimes lifetimes;
	struct page_sources sources;
	struct process_rows processes; /* of a folder of recordings; else none */
	bool no_timeline, container;
};

static bool take_yes(const struct options *options, const char *name, bool *ret)
{
	*ret = strcmp(options->argument, "yes") == 0;
	if (*ret || strcmp(options->argument, "no") == 0)
		return true;
	options_wrong(
		options->command, "invalid --%s '%s': expected yes or no", name, options->argument);
	return false;
}

static bool take_lifetimes(const struct options *options, enum page_lifetimes *ret)
{
	bool yes;
	bool ok = take_yes(options, "lifetimes", &yes);
	*ret = yes ? PAGE_LIFETIMES_YES : PAGE_LIFETIMES_NO;
	return ok;
}

static bool take_timeline(const struct options *options, bool *ret_none)
{
	bool yes;
	bool ok = take_yes(options, "timeline", &yes);
	*ret_none = !yes;
	return ok;
}

/* Notes an option that chooses what the page is of, as "--focus=^parse_". False: no memory, which
 * is said. */
static bool note_asked(const struct options *options, int id, struct request *request)
{
	const struct option_spec *spec = option_specs;
	while (spec->id && spec->id != id)
		spec++;
	char *word = NULL;
	bool ok =
		!spec->id || (asprintf(&word, "--%s%s%s", spec->name, options->argument ? "=" : "",
				      options->argument ? options->argument : "") >= 0 &&
				     asked_vec_push(&request->asked, word));
	if (!ok)
		message_error(error_no_memory());
	return ok;
}

/* What was asked for can name what the page must not. */
static void asked_hide_arguments(struct asked_vec *asked)
{
	for (size_t i = 0; i < asked->len; i++) {
		char *argument = strchr(asked->data[i], '=');
		if (argument)
			*argument = '\0';
	}
}

static void asked_free(struct asked_vec *asked)
{
	for (size_t i = 0; i < asked->len; i++)
		free(asked->data[i]);
	asked_vec_deinit(asked);
}

static bool cmd_html_take(const struct options *options, int id, void *ctx)
{
	struct request *request = ctx;
	switch (id) {
	case OPT_OUTPUT:
		request->output = options->argument;
		return true;
	case OPT_FORCE:
		request->force = true;
		return true;
	case OPT_PAGE_LIMIT:
		if (options_size(options->argument, &request->most_bytes))
			return true;
		options_wrong(options->command,
			"invalid --page-limit '%s': expected a size like 512K, 2M or 1G",
			options->argument);
		return false;
	case OPT_CONTAINER:
		request->container = true;
		return true;
	case PAGE_OPT_LIFETIMES:
		return take_lifetimes(options, &request->lifetimes);
	case OPT_SOURCE:
		request->sources.wanted = true;
		return true;
	case OPT_SOURCE_PATH:
		if (source_folders_push(&request->sources.folders, (char *)options->argument))
			return true;
		message_error(error_no_memory());
		return false;
	case PAGE_OPT_TIMELINE:
		return take_timeline(options, &request->no_timeline);
	default:
		return note_asked(options, id, request) &&
		       view_options_take(options, id, &request->shown);
	}
}

struct page_request {
	const struct request *request;
	const struct page_parts *parts;
	const struct stacks *stacks;
};

static struct error *write_page(void *ctx, const struct sink *sink)
{
	const struct page_request *page = ctx;
	const struct recording *recording = model_recording(page->parts->model);
	const char *slash = strrchr(recording->path, '/');
	const struct page_wanted wanted = {
		.writer = "heapwise " HW_VERSION,
		.kind = strcmp(recording->source, "recording") == 0 ? "recording" : "profile",
		.title = slash ? slash + 1 : recording->path,
		.asked = (const char *const *)page->request->asked.data,
		.asked_count = page->request->asked.len,
		.documents = page->parts->documents,
		.document_count = page->parts->count,
		.profile = &page->stacks->profile,
		.over_time = page->parts->over_time,
		.most_bytes = page->request->most_bytes,
		.container = page->request->container,
	};
	return page_write(&wanted, sink);
}

static struct error *write_processes(
	void *ctx, size_t limit, const struct sink *sink, size_t *ret_left_out)
{
	const struct process_rows *rows = ctx;
	const struct view_options options = {.json = true, .limit = limit};
	*ret_left_out = rows->unread;
	return tree_write(rows->data, rows->len, &options, sink);
}

/* Adds the document of processes, if the page is of a folder. */
static struct error *add_processes(struct request *request, struct page_parts *parts)
{
	struct process_rows *rows = &request->processes;
	struct anonymizer *anonymizer = request->shown.query.anonymizer;
	if (!rows->len)
		return NULL;
	page_parts_add(parts, "processes", write_processes, rows);
	struct error *error = anonymizer ? process_rows_hide(rows, anonymizer) : NULL;
	return error ? error : tree_arrange(rows->data, rows->len);
}

/* Adds the document of source lines, which are of the stacks. */
static struct error *add_sources(
	struct page_sources *sources, const struct stacks *stacks, struct page_parts *parts)
{
	const char *bundle = bundle_folder(cli_context(), model_recording(stacks->model)->path);
	page_parts_add(parts, "sources", page_sources_write, sources);
	return page_sources_build(stacks, bundle, sources);
}

static int write_to(struct request *request, struct page_parts *parts)
{
	_cleanup_(stacks_deinit) struct stacks stacks = {.model = NULL};
	const struct stacks_wanted wanted = {
		.metric = METRICS, .all_frames = request->shown.options.all_frames};
	struct page_request page = {request, parts, &stacks};
	const struct page_output output = {.path = request->output,
		.of = model_recording(parts->model)->path,
		.force = request->force,
		.ways = OTHER_WAYS};
	struct error *error =
		stacks_build(&request->shown.query, parts->model, NULL, &wanted, &stacks);
	if (!error)
		error = add_processes(request, parts);
	if (!error && request->sources.wanted)
		error = add_sources(&request->sources, &stacks, parts);
	return error ? message_error(error) : page_output_write(&output, write_page, &page);
}

static int cmd_html_show(struct request *request)
{
	_cleanup_(page_parts_deinit) struct page_parts parts = {
		.lifetimes = request->lifetimes, .no_timeline = request->no_timeline};
	int code = page_parts_open(&request->shown, request->path, &parts);
	if (!code && request->container && !request->output)
		request->output = OUTPUT_STDOUT;
	if (!code && request->shown.query.anonymize)
		asked_hide_arguments(&request->asked);
	return code ? code : write_to(request, &parts);
}

/* What a page of a heap has no use for; NULL: nothing of it was given. */
static const char *beyond_heaps(const struct request *request)
{
	const struct query *query = &request->shown.query;
	return filter_is_given(&query->filter)     ? "options that choose stacks"
	       : query_blocks(query)               ? "options that choose blocks"
	       : request->shown.options.all_frames ? "--all-frames"
	       : request->lifetimes                ? "--lifetimes"
	       : request->sources.wanted           ? "--source"
						   : NULL;
}

/* The page of a core or process, as `core --html` and `heap --html` make it. */
static int cmd_html_heap(struct request *request, const struct command *command)
{
	const char *beyond = beyond_heaps(request);
	if (request->shown.query.anonymize)
		return options_wrong(command,
			"a page of a heap can't be anonymous: it is made of the names of types and "
			"variables; anonymize a recording, or send no page");
	if (beyond)
		return options_wrong(command, "%s can't be used with a core or process", beyond);
	_cleanup_(heap_look_close) struct heap_look look;
	heap_look_init(&look);
	look.heap.pid = heap_operand_process(request->path);
	look.heap.core = look.heap.pid ? NULL : request->path;
	look.heap.symbols = request->shown.query.names;
	request->shown.query.names = (struct name_settings){.settings = NULL};
	const struct heap_html page = {.output = request->output,
		.force = request->force,
		.ways = OTHER_WAYS,
		.most_bytes = request->most_bytes};
	struct error *error = heap_session_open(&look.heap);
	return error ? message_error(error) : heap_html_write(&look, &page);
}

static bool is_heap(const struct request *request)
{
	return request->path && !request->shown.query.moments.given &&
	       heap_operand_is(cli_context(), request->path);
}

/* Of a folder, the page is of the process with the largest peak, beside the table of all. Sets
 * *ret to its recording, to be freed; NULL: what is asked for is no folder. Returns 0, or the exit
 * code after saying why. */
static int choose_process(struct request *request, char **ret)
{
	struct stat st;
	*ret = NULL;
	if (!request->path || stat(request->path, &st) || !S_ISDIR(st.st_mode))
		return 0;
	char *folder = (char *)request->path;
	int code = process_rows_read(&request->processes, &folder, 1);
	const struct tree_row *row = code ? NULL : process_rows_main(&request->processes);
	if (!row)
		return code;
	*ret = strdup(row->file);
	return *ret ? 0 : message_error(error_no_memory());
}

/* Returns 0, or the exit code; also of recordings of a folder that could not be read. */
static int cmd_html_open(struct request *request)
{
	_cleanup_free_ char *chosen = NULL;
	int code = choose_process(request, &chosen);
	if (code)
		return code;
	if (chosen)
		request->path = chosen;
	code = cmd_html_show(request);
	return code ? code : request->processes.code;
}

static bool is_consistent(const struct command *command, const struct request *request)
{
	const struct page_sources *sources = &request->sources;
	if (sources->wanted && request->shown.query.anonymize)
		options_wrong(command, "--source and --anonymize exclude each other");
	else if (!sources->wanted && sources->folders.len)
		options_wrong(command, "--source-path needs --source");
	else
		return true;
	return false;
}

static int cmd_html_run(const struct command *command, int argc, char **argv)
{
	struct request request = {.shown = VIEW_REQUEST_DEFAULT, .most_bytes = PAGE_BYTES_MAX};
	struct options options = {.command = command, .argc = argc, .argv = argv};
	int code;
	if (options_each(&options, cmd_html_take, &request, &code) &&
		is_consistent(command, &request) &&
		view_request_files(command, &request.shown, "a page", argv + options.operand,
			(size_t)(argc - options.operand), &request.path))
		code = is_heap(&request) ? cmd_html_heap(&request, command)
					 : cmd_html_open(&request);
	process_rows_deinit(&request.processes);
	page_sources_deinit(&request.sources);
	asked_free(&request.asked);
	view_request_deinit(&request.shown);
	return code;
}

const struct command command_html = {
	.name = "html",
	.synopsis = "[FILE|FOLDER|PID] [-o OUT.html] [OPTION…]",
	.what = "Writes a recording, profile or heap as one HTML page for a browser.",
	.about = "Without FILE: the newest recording (*.hpw) in the current directory. FILE may "
		 "also be another\n"
		 "tool's. The page needs no network and no other files: the verdict, figures, "
		 "leaks, timeline and all\n"
		 "stacks are in it, with names of functions, files and the command line "
		 "(--anonymize leaves them out).\n"
		 "Of a FOLDER of recordings: the table of its processes, and all else of the one "
		 "with the largest peak.\n"
		 "FILE may also be a core or a PID: then the page has types, sizes and owners of "
		 "what is in the heap,\n"
		 "and no contents of memory, as `core --html` and `heap --html` write it.\n",
	.examples = "  heapwise html app.hpw                         app.html\n"
		    "  heapwise html -o peak.html app.hpw@peak       as of the peak\n"
		    "  heapwise html -o run.html recordings/         a run of several processes\n"
		    "  heapwise html --anonymize -o report.html      to attach to a bug report\n"
		    "  heapwise html core.1234                       the heap of a core\n",
	.options = option_specs,
	.run = cmd_html_run,
};
