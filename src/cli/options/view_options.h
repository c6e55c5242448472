/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options that the commands share which show what is in a recording. A command puts the rows of
 * those that it takes into its table, hands on what is not its own, and opens the recording:
 *
 *	static const struct option_spec option_specs[] = {
 *		{OPT_DEPTH, "depth", "N", "…"}, // its own: ids from 256 to 511
 *		VIEW_SPEC_METRIC VIEW_SPECS_OUTPUT VIEW_SPECS_MOMENTS VIEW_SPECS_FILTER
 *		{0},
 *	};
 *	…
 *	struct view_request request = VIEW_REQUEST_DEFAULT;
 *	while ((id = options_next(&options)) > 0)
 *		switch (id) {
 *		case OPT_DEPTH: …
 *		default:
 *			if (!view_options_take(&options, id, &request))
 *				return ERROR_USAGE; // all is said
 *		}
 *	…
 *	code = view_request_open(&request, path, 0, &model);
 *	…
 *	view_request_deinit(&request);
 */
#ifndef CLI_VIEW_OPTIONS_H
#define CLI_VIEW_OPTIONS_H

#include "analysis/grain.h"
#include "analysis/growth.h"
#include "cli/options/options.h"
#include "cli/options/symbol_options.h"
#include "cli/setup/context.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "query/query.h"
#include "query/recordings.h"
#include "views/views.h"

enum view_option {
	VIEW_OPT_METRIC = 512,
	VIEW_OPT_LIMIT,
	VIEW_OPT_JSON,
	VIEW_OPT_CSV,
	VIEW_OPT_ALL_FRAMES,
	VIEW_OPT_AT,
	VIEW_OPT_FROM,
	VIEW_OPT_TO,
	VIEW_OPT_FOCUS,
	VIEW_OPT_IGNORE,
	VIEW_OPT_HIDE,
	VIEW_OPT_SHOW,
	VIEW_OPT_SHOW_FROM,
	VIEW_OPT_KIND,
	VIEW_OPT_FUNCTIONS,
	VIEW_OPT_LINES,
	VIEW_OPT_FILES,
	VIEW_OPT_ADDRESSES,
	VIEW_OPT_MODULES,
	VIEW_OPT_MERGE,
	VIEW_OPT_MIN_SIZE,
	VIEW_OPT_MAX_SIZE,
	VIEW_OPT_THREAD,
	VIEW_OPT_MIN_LIFETIME,
	VIEW_OPT_MAX_LIFETIME,
	VIEW_OPT_MIN_AGE,
	VIEW_OPT_MAX_AGE,
	VIEW_OPT_TEMPORARY_WITHIN,
	VIEW_OPT_TAGFOCUS,
	VIEW_OPT_COLOUR,
	VIEW_OPT_NO_PAGER,
	VIEW_OPT_TAIL,
	VIEW_OPT_BASE,
	VIEW_OPT_ANONYMIZE,
	VIEW_OPT_CLASS,
};

#define VIEW_METRIC_HELP "allocations, allocated_bytes, live_bytes, live_blocks, peak_bytes, …"
/* What a view's documents are written as. */
#define VIEW_SPECS_FORM(schema, rows)                                                              \
	{VIEW_OPT_JSON, "json", NULL, "write JSON, schema " schema},                               \
		{VIEW_OPT_CSV, "csv", NULL, "write " rows " as CSV"},
#define VIEW_SPEC_SORT {VIEW_OPT_METRIC, "sort", "METRIC", VIEW_METRIC_HELP},
#define VIEW_SPEC_METRIC                                                                           \
	{VIEW_OPT_METRIC, "metric", "METRIC",                                                      \
		"what to show: allocations, allocated_bytes, live_bytes, live_blocks, "            \
		"kept_bytes, peak_bytes (default), …"},
#define VIEW_SPEC_WHOLE_STACKS                                                                     \
	{VIEW_OPT_ALL_FRAMES, "all-frames", NULL,                                                  \
		"show whole stacks: do not fold frames of std, runtimes, Python's interpreter "    \
		"and "                                                                             \
		"allocators"},
/* And what else is about frames. */
#define VIEW_SPEC_ALL_FRAMES VIEW_SPEC_WHOLE_STACKS SYMBOL_SPECS SYMBOL_SPEC_EXE
#define VIEW_SPECS_TERMINAL                                                                        \
	{VIEW_OPT_COLOUR, "color", "WHEN", "auto (default: on terminals), always or never"},       \
		{VIEW_OPT_NO_PAGER, "no-pager", NULL,                                              \
			"write directly to the terminal, without a pager ($HEAPWISE_PAGER, "       \
			"$PAGER or less)"},
#define VIEW_SPEC_CLASS                                                                            \
	{VIEW_OPT_CLASS, "class", "heap|mapping|all",                                              \
		"what figures are of: heap (default), what the program mapped (recorded with run " \
		"--mmap), or both as one"},
#define VIEW_SPECS_MOMENTS                                                                         \
	VIEW_SPEC_CLASS{VIEW_OPT_AT, "at", "MOMENT",                                               \
		"show the state at a point in time: start, end, peak, a time (3.2s, "              \
		"150ms, 2min) "                                                                    \
		"or mark:NAME (mark:NAME#2: the second of that name)"},                            \
		{VIEW_OPT_FROM, "from", "MOMENT",                                                  \
			"leave out what happened before; kept_bytes is what was allocated "        \
			"since and is live"},                                                      \
		{VIEW_OPT_TO, "to", "MOMENT",                                                      \
			"leave out what happened after; takes what --at takes"},
#define VIEW_SPECS_FILTER                                                                          \
	{VIEW_OPT_FOCUS, "focus", "REGEX",                                                         \
		"only stacks with a frame whose function, file or module matches"},                \
		{VIEW_OPT_IGNORE, "ignore", "REGEX", "leave out stacks with a matching frame"},    \
		{VIEW_OPT_HIDE, "hide", "REGEX", "remove matching frames from stacks"},            \
		{VIEW_OPT_SHOW, "show", "REGEX", "keep only matching frames in stacks"},           \
		{VIEW_OPT_SHOW_FROM, "show-from", "REGEX",                                         \
			"cut off the callers of the outermost matching frame"},                    \
		{VIEW_OPT_KIND, "kind", "FUNC",                                                    \
			"only blocks from malloc, calloc, 'operator new'…; may be repeated"},      \
		{VIEW_OPT_MIN_SIZE, "min-size", "SIZE", "only blocks of at least SIZE bytes"},     \
		{VIEW_OPT_MAX_SIZE, "max-size", "SIZE", "only blocks of at most SIZE bytes"},      \
		{VIEW_OPT_THREAD, "thread", "TID|NAME", "only blocks that this thread allocated"}, \
		{VIEW_OPT_MIN_LIFETIME, "min-lifetime", "TIME",                                    \
			"only blocks that live at least that long (1s, 20ms)"},                    \
		{VIEW_OPT_MAX_LIFETIME, "max-lifetime", "TIME",                                    \
			"only blocks that live at most that long"},                                \
		{VIEW_OPT_MIN_AGE, "min-age", "TIME",                                              \
			"only blocks that are live at the end and at least that old"},             \
		{VIEW_OPT_MAX_AGE, "max-age", "TIME",                                              \
			"only blocks that are live at the end and at most that old"},              \
		{VIEW_OPT_TEMPORARY_WITHIN, "temporary-within", "N",                               \
			"count a block as temporary if its thread frees it within N of its own "   \
			"allocations (default: 1, before the next one)"},                          \
		{VIEW_OPT_TAGFOCUS, "tagfocus", "TAG",                                             \
			"only blocks with this tag: sizes (64:1kb, 1mb:, bytes=64), thread=NAME "  \
			"or kind=FUNC"},
#define VIEW_SPECS_GRAIN                                                                           \
	{VIEW_OPT_FUNCTIONS, "functions", NULL, "one frame per function (default)"},               \
		{VIEW_OPT_LINES, "lines", NULL, "one frame per source line"},                      \
		{VIEW_OPT_FILES, "files", NULL, "one frame per source file"},                      \
		{VIEW_OPT_ADDRESSES, "addresses", NULL, "one frame per address"},                  \
		{VIEW_OPT_MODULES, "modules", NULL, "one frame per executable or library"},

#define VIEW_SPEC_MERGE {VIEW_OPT_MERGE, "merge", NULL, "add up all given recordings"},

#define VIEW_SPEC_BASE                                                                             \
	{VIEW_OPT_BASE, "base", "OLD",                                                             \
		"show the difference from this recording: FILE, or FILE@MOMENT"},

#define VIEW_SPEC_ANONYMIZE                                                                        \
	{VIEW_OPT_ANONYMIZE, "anonymize", NULL,                                                    \
		"leave out names of functions, files, modules, threads, marks, the command and "   \
		"the host: for bug reports"},

struct view_request {
	struct view_options options; /* its filter is set by view_request_open() */
	enum grain grain;
	enum colour_when colour;
	bool no_pager;
	struct query query;
	const char *metric_name;       /* as given; NULL: not */
	const struct command *command; /* set by view_request_files() */
	char *path;                    /* of FILE@MOMENT the file; NULL: as it was given */
	struct recording_paths merged; /* of --merge: files as given, and those of folders */
	bool merge;
};
#define VIEW_REQUEST_DEFAULT                                                                       \
	{                                                                                          \
		.query = {.context = cli_context()}, .options = {                                  \
			.sort = METRICS,                                                           \
			.limit = VIEW_DEFAULT_LIMIT,                                               \
			.tail_percent = GROWTH_TAIL_PERCENT,                                       \
			.timeline = TIMELINE_DEFAULT                                               \
		}                                                                                  \
	}

void view_request_deinit(struct view_request *request);

/* Takes one of the options above. False, after saying so: its argument is wrong. */
bool view_options_take(const struct options *options, int id, struct view_request *request);

/* Sets the metric to what was given, else to that one; false, after saying so: there is none of
 * that name. For commands that show any metric. */
bool view_request_metric(
	const struct command *command, struct view_request *request, enum metric other);

/* Where a view is written to: stdout, through a pager unless that is not wanted. Sets what of the
 * options depends on the terminal, so it comes before the view is made. */
struct sink view_request_sink(struct view_request *request, struct output *output);

/* Writes something of a request to a sink. */
typedef struct error *view_writer(void *ctx, const struct sink *sink);

/*
 * Has it written: to stdout through a pager, as view_request_sink() says; `file` not NULL: to that
 * file, made anew, or to stdout itself (OUTPUT_STDOUT). Returns 0, or the exit code after saying
 * why.
 */
int view_request_write(
	struct view_request *request, const char *file, view_writer *write, void *ctx);
/* As above, for a view of a model. */
int view_request_show(
	struct view_request *request, const struct view *view, const struct model *model);

/*
 * Takes the operands: one file, none (*ret_path is NULL then), or several with --merge. False,
 * after saying so: there are too many; `what` is "a tree". FILE@MOMENT is FILE with --at MOMENT.
 */
bool view_request_files(const struct command *command, struct view_request *request,
	const char *what, char *const *words, size_t count, const char **ret_path);

/* Parses what is compared, says what is wrong with it, and where help is; operand_deinit() in
 * either case. Returns 0, or the exit code. */
int operand_take(const struct command *command, const char *text, struct operand *ret);
/* Parses and opens it likewise. */
int operand_take_open(const struct command *command, const char *text,
	const struct operand_wanted *wanted, struct operand *ret);

/*
 * Opens the recording at `path` as query_open() does, and takes over what of the options depends on
 * it. Returns 0, or the exit code after saying why.
 */
int view_request_open(
	struct view_request *request, const char *path, unsigned flags, struct model **ret);

/* Opens what the recording is compared with as query_open_base() does. Returns 0, or the exit code
 * after saying why. */
int view_request_open_base(struct view_request *request, unsigned flags, struct operand *ret);

#endif
