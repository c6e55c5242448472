/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise diff: two recordings, or two moments of one, compared. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/evidence.h"
#include "analysis/profile.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "cli/options/limits.h"
#include "cli/pages/page_file.h"
#include "cli/python/python_lines.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"
#include "query/operands.h"
#include "views/diff_view.h"
#include "views/trend_view.h"

enum {
	OPT_NORMALIZE = 256,
	OPT_FAIL_ON_GROWTH,
	OPT_COUNT_LIBRARIES,
	OPT_TREND,
	OPT_VIEW,
	OPT_BY,
	OPT_DIFF_CSV,
	OPT_DIFF_HTML,
	OPT_DIFF_FORMAT,
};

static const struct option_spec option_specs[] = {
	{VIEW_OPT_METRIC, "metric", "METRIC",
		"what to compare: live_bytes (default, if both know it), live_blocks, peak_bytes, "
		"allocations, allocated_bytes, temporary, …"},
	{VIEW_OPT_LIMIT, "limit", "N",
		"show at most N allocation sites in each list (default: 10)"},
	{VIEW_OPT_JSON, "json", NULL,
		"write JSON, schema heapwise.diff/1; all rows unless --limit is given"},
	{OPT_DIFF_CSV, "csv", NULL,
		"write the allocation sites that differ as CSV; all rows unless --limit is given"},
	{OPT_DIFF_HTML, "html", "[=FILE]",
		"write a page for browsers, as 'heapwise html --base OLDER NEWER' (default: "
		"NEWER.diff.html in the current directory)"},
	{OPT_NORMALIZE, "normalize", NULL, "scale the older figures so that both totals are equal"},
	{OPT_FAIL_ON_GROWTH, "fail-on-growth", "LIMIT",
		"exit with 1 if the metric grew by more: a size (64K, 1M), a number or a "
		"percentage (5%)"},
	{OPT_COUNT_LIBRARIES, "count-libraries", NULL,
		"count what libraries keep for themselves as the program's own"},
	{OPT_TREND, "trend", NULL,
		"show what grows steadily over two or more recordings, the oldest first"},
	{OPT_VIEW, "view", "VIEW",
		"lists (default), tree, flame or graph: like these commands with --base OLDER"},
	{OPT_BY, "by", "WHAT",
		"compare cores and processes by type (default), owner (what references the "
		"blocks), or stack (where a recording says they were allocated; default together "
		"with a recording); of --format tracemalloc: line (default), file or traceback"},
	{OPT_DIFF_FORMAT, "format", "FORM",
		"text (default), or tracemalloc: what lines of Python keep alive, and how that "
		"changed, as Python's tracemalloc writes it"},
	TRACEMALLOC_SPECS VIEW_SPEC_CLASS VIEW_SPECS_TERMINAL VIEW_SPECS_FILTER
		VIEW_SPEC_ALL_FRAMES{0},
};

struct request {
	struct page_file page; /* its `shown` also of what is no page */
	struct diff_options diff;
	bool trend, html;
	const struct command *view; /* that shows it; NULL: lists */
	struct limit growth;
	const char *growth_text; /* NULL: none */
	const char *by_text;     /* NULL: not given */
	enum heap_by by;
	struct tracemalloc_options python;
};

static bool take_view(const struct options *options, struct request *request)
{
	static const char *const names[] = {"tree", "flame", "graph"};
	request->view = NULL;
	if (strcmp(options->argument, "lists") == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], options->argument) == 0)
			request->view = command_find(names[i]);
	if (!request->view)
		options_wrong(options->command,
			"invalid --view '%s': expected lists, tree, flame or graph",
			options->argument);
	return request->view;
}

/* What chooses stacks and blocks is said on a page. */
static bool note_asked(const struct options *options, int id, struct request *request)
{
	static const struct option_spec choosing[] = {
		VIEW_SPEC_CLASS VIEW_SPECS_FILTER VIEW_SPEC_WHOLE_STACKS{0}};
	return option_words_note(&request->page.asked, choosing, id, options->argument);
}

static bool take_form(const struct options *options, struct request *request)
{
	request->python.chosen = strcmp(options->argument, TRACEMALLOC_FORMAT) == 0;
	if (request->python.chosen || strcmp(options->argument, "text") == 0)
		return true;
	options_wrong(options->command,
		"invalid --format '%s': expected text or " TRACEMALLOC_FORMAT, options->argument);
	return false;
}

/* Whether it is an option of --format tracemalloc; *ret_ok: it was taken. */
static bool take_python(
	const struct options *options, int id, struct request *request, bool *ret_ok)
{
	bool taken;
	_cleanup_error_ struct error *error =
		tracemalloc_options_take(&request->python, id, options->argument, &taken);
	if (error)
		options_wrong(options->command, "%s", error->message);
	*ret_ok = !error;
	return taken;
}

static bool cmd_diff_take(const struct options *options, int id, void *ctx)
{
	struct request *request = ctx;
	bool ok;
	if (take_python(options, id, request, &ok))
		return ok;
	switch (id) {
	case OPT_NORMALIZE:
		request->diff.normalize = true;
		return true;
	case OPT_COUNT_LIBRARIES:
		request->diff.count_libraries = true;
		request->page.shown.options.count_libraries = true;
		return true;
	case OPT_DIFF_HTML:
		request->html = true;
		request->page.output = options->argument;
		return true;
	case OPT_DIFF_CSV:
		request->page.shown.options.csv = true;
		return true;
	case OPT_VIEW:
		return take_view(options, request);
	case OPT_BY:
		request->by_text = options->argument;
		return true;
	case OPT_DIFF_FORMAT:
		return take_form(options, request);
	case OPT_TREND:
		request->trend = true;
		return true;
	case OPT_FAIL_ON_GROWTH:
		request->growth_text = options->argument;
		return limit_take(options, "fail-on-growth", LIMIT_SHARE, &request->growth);
	default:
		return note_asked(options, id, request) &&
		       view_options_take(options, id, &request->page.shown);
	}
}

/* Says so, and of which of the two that is; returns the exit code. */
static int cmd_diff_undecided(
	const struct request *request, const struct operand operands[2], const char *why)
{
	enum metric metric = request->diff.metric;
	struct evidence newer = evidence_of_metric(operands[1].model, metric, EVIDENCE_OF_TOTAL);
	bool of_newer = why == newer.unknown || why == newer.more || why == newer.less;
	struct evidence older = evidence_of_metric(operands[0].model, metric, EVIDENCE_OF_TOTAL);
	bool of_older = why == older.unknown || why == older.more || why == older.less;
	message("can't decide whether %s grew by more than %s: %s%s%s", metric_name(metric),
		request->growth_text,
		of_newer   ? operands[1].text
		: of_older ? operands[0].text
			   : "",
		of_newer || of_older ? ": " : "", why);
	return ERROR_INPUT;
}

/* What the change rests on: where the older figure may be smaller it may be larger. */
static struct evidence evidence_of_change(enum metric metric, const struct operand operands[2])
{
	struct evidence older = evidence_of_metric(operands[0].model, metric, EVIDENCE_OF_TOTAL);
	struct evidence newer = evidence_of_metric(operands[1].model, metric, EVIDENCE_OF_TOTAL);
	return (struct evidence){
		.unknown = newer.unknown ? newer.unknown : older.unknown,
		.more = newer.more ? newer.more : older.less,
		.less = newer.less ? newer.less : older.more,
	};
}

static bool cmd_diff_exceeds(const struct limit *limit, int64_t change, uint64_t base)
{
	return change > 0 && limit_exceeded(limit, (uint64_t)change, base);
}

static void describe_growth(const struct request *request, const struct diff_outcome *outcome)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_printf(&text, "%s grew by %s", metric_name(request->diff.metric),
		outcome->total.estimated ? "about " : "");
	diff_add_value(&text, request->diff.metric, (uint64_t)outcome->total.change);
	const char *top = outcome->top.data ? outcome->top.data : "";
	text_printf(&text, ", more than %s.%s%s", request->growth_text, *top ? " " : "", top);
	message("%.*s", (int)strcspn(text.data ? text.data : "", "\n"), text.data);
}

/* Says what grew too much, or why that can't be told; returns the exit code. */
static int cmd_diff_judge(const struct request *request, const struct operand operands[2],
	const struct diff_outcome *outcome)
{
	if (!request->growth_text)
		return 0;
	const struct diff_figure *total = &outcome->total;
	int64_t low = total->estimated ? total->sure_low : total->change;
	int64_t high = total->estimated ? total->sure_high : total->change;
	struct evidence evidence = evidence_of_change(request->diff.metric, operands);
	const char *why;
	switch (evidence_evaluate(&evidence, cmd_diff_exceeds(&request->growth, low, total->base),
		cmd_diff_exceeds(&request->growth, high, total->base), &why)) {
	case LIMIT_KEPT:
		return 0;
	case LIMIT_EXCEEDED:
		describe_growth(request, outcome);
		return 1;
	default:
		return cmd_diff_undecided(request, operands,
			why ? why
			: total->by_mean_sizes
				? "the files do not say how large the blocks of "
				  "a stack are, and so not how many there are"
				: "the limit lies within the range of the estimates");
	}
}

static bool drop_text(void *ctx, const char *data, size_t len)
{
	(void)ctx;
	(void)data;
	(void)len;
	return true;
}

/* Where the lists go: of a page that was written before only the limit is left to be judged. */
static struct sink open_sink(struct request *request, struct output *output)
{
	return request->html ? (struct sink){.write = drop_text}
			     : view_request_sink(&request->page.shown, output);
}

static int cmd_diff_compare(struct request *request, const struct operand operands[2])
{
	struct output output;
	struct sink sink = open_sink(request, &output);
	struct diff_view_options options = {
		.diff = request->diff,
		.view = request->page.shown.options,
		.labels = {operands[0].text, operands[1].text},
	};
	options.view.filter = &request->page.shown.query.filter;
	struct diff_outcome outcome = {.total = {0}};
	struct error *error =
		diff_view_write(operands[0].model, operands[1].model, &options, &sink, &outcome);
	int code = error ? message_error(error) : request->html ? 0 : output_end(&output);
	if (!code)
		code = cmd_diff_judge(request, operands, &outcome);
	text_deinit(&outcome.top);
	return code;
}

/* Sets the metric to one that all know, unless it was asked for. Returns the exit code, after
 * saying which file does not know it. */
static int choose_metric(struct request *request, const struct operand *operands, size_t count)
{
	struct recording all = {.unknown = 0};
	for (size_t i = 0; i < count; i++) {
		struct error *error = profile_check_heap(operands[i].model);
		if (error)
			return message_error(error);
		all.unknown |= model_recording(operands[i].model)->unknown;
	}
	enum metric known = metric_or_known(request->diff.metric, &all);
	if (request->diff.metric_unasked)
		request->diff.metric = request->page.shown.options.sort = known;
	for (size_t i = 0; i < count; i++) {
		const struct recording *recording = model_recording(operands[i].model);
		if (metric_is_known(request->diff.metric, recording))
			continue;
		return message_error(error_create(ERROR_INPUT,
			"%s: %s files contain no %s; use --metric %s", recording->path,
			recording->source, metric_name(request->diff.metric), metric_name(known)));
	}
	return 0;
}

static int show_trend(struct request *request, const struct operand *operands, size_t count)
{
	int code = choose_metric(request, operands, count);
	if (code)
		return code;
	const struct model *models[TREND_MODELS_MAX];
	const char *labels[TREND_MODELS_MAX];
	bool same = true;
	for (size_t i = 0; i < count; i++) {
		models[i] = operands[i].model;
		labels[i] = operands[i].text;
		same &= operand_same_file(&operands[0], &operands[i]);
	}
	request->page.shown.options.filter = &request->page.shown.query.filter;
	struct output output;
	struct sink sink = view_request_sink(&request->page.shown, &output);
	struct error *error =
		trend_view_write(models, labels, count, same, &request->page.shown.options, &sink);
	return error ? message_error(error) : output_end(&output);
}

/* What a page can't be combined with; NULL: it can. */
static const char *refuse_html(const struct request *request)
{
	const struct view_options *shown = &request->page.shown.options;
	return shown->json                          ? "json"
	       : shown->csv                         ? "csv"
	       : request->view                      ? "view"
	       : request->trend                     ? "trend"
	       : shown->limit != VIEW_DEFAULT_LIMIT ? "limit"
						    : NULL;
}

/* What can't be asked for together with --format tracemalloc; NULL: nothing is. */
static const char *refuse_with_python(const struct request *request)
{
	const struct view_request *shown = &request->page.shown;
	return shown->options.json       ? "json"
	       : shown->options.csv      ? "csv"
	       : request->html           ? "html"
	       : request->trend          ? "trend"
	       : request->view           ? "view"
	       : request->diff.normalize ? "normalize"
	       : request->growth_text    ? "fail-on-growth"
	       : shown->metric_name      ? "metric"
					 : NULL;
}

/* Of --by, and of --format tracemalloc and what belongs to it; 0: all is right. */
static int check_python(const struct command *command, struct request *request)
{
	if (!request->python.chosen && request->python.given)
		return options_wrong(
			command, "%s needs --format " TRACEMALLOC_FORMAT, request->python.given);
	if (!request->python.chosen && request->by_text &&
		!heap_by_parse(request->by_text, &request->by))
		return options_wrong(command, "invalid --by '%s': expected type, owner or stack",
			request->by_text);
	if (!request->python.chosen)
		return 0;
	const char *refused = refuse_with_python(request);
	if (refused)
		return options_wrong(
			command, "--format " TRACEMALLOC_FORMAT " excludes --%s", refused);
	if (request->by_text &&
		!tracemalloc_key_parse(request->by_text, &request->python.grouping.key))
		return options_wrong(command, "invalid --by '%s': expected line, file or traceback",
			request->by_text);
	return 0;
}

/* What cannot be asked for; 0: all can. */
static int cmd_diff_check(const struct command *command, struct request *request, int count)
{
	int code = check_python(command, request);
	if (code)
		return code;
	if (request->html && refuse_html(request))
		return options_wrong(
			command, "--%s can't be used with --html", refuse_html(request));
	if (request->trend && (request->diff.normalize || request->growth_text))
		return options_wrong(command, "--%s can't be used with --trend",
			request->growth_text ? "fail-on-growth" : "normalize");
	if (request->view && (request->trend || request->diff.normalize || request->growth_text))
		return options_wrong(command, "--%s can't be used with --view %s",
			request->trend            ? "trend"
			: request->diff.normalize ? "normalize"
						  : "fail-on-growth",
			request->view->name);
	if (request->page.shown.options.csv && request->page.shown.options.json)
		return options_wrong(command, "--csv and --json exclude each other");
	if (request->view && request->page.shown.options.limit != VIEW_DEFAULT_LIMIT)
		return options_wrong(
			command, "--limit can't be used with --view %s", request->view->name);
	if (request->trend && (count < 2 || count > (int)TREND_MODELS_MAX))
		return options_wrong(command,
			"--trend: expected 2 to %u recordings (FILE or FILE@MOMENT); %d %s given",
			TREND_MODELS_MAX, count, count == 1 ? "is" : "are");
	if (!request->trend && count != 2)
		return options_wrong(command,
			"expected two recordings (FILE or FILE@MOMENT); %d %s given%s", count,
			count == 1 ? "is" : "are", count > 2 ? " (--trend takes more)" : "");
	if (!view_request_metric(command, &request->page.shown, METRIC_LIVE_BYTES))
		return ERROR_USAGE;
	request->diff.metric = request->page.shown.options.sort;
	request->diff.metric_unasked = !request->page.shown.metric_name;
	return 0;
}

/* Hands over to the command that shows one recording, with the older one as its base: options of
 * the command line but --view, which getopt has put before the operands. */
static int hand_over(const struct request *request, char **argv, int operand)
{
	char base[] = "--base", metric[] = "--metric";
	_cleanup_free_ char *name = strdup(metric_name(request->diff.metric));
	_cleanup_free_ char *view = strdup(request->view->name);
	_cleanup_free_ char **words = calloc((size_t)operand + 8, sizeof(*words));
	if (!name || !view || !words)
		return message_error(error_no_memory());
	int count = 0;
	words[count++] = view;
	words[count++] = base;
	words[count++] = argv[operand];
	words[count++] = metric;
	words[count++] = name;
	/* It may be shortened, and no other begins alike. */
	for (int i = 1; i < operand && strcmp(argv[i], "--") != 0; i++)
		if (strncmp(argv[i], "--v", strlen("--v")) != 0)
			words[count++] = argv[i];
		else if (!strchr(argv[i], '='))
			i++;
	words[count++] = argv[operand + 1];
	return request->view->run(request->view, count, words);
}

/* Of a view, which takes one metric: of files of other tools what both know. A recording of
 * heapwise, which alone has moments, and a heap know what is usual. Returns the exit code. */
static int choose_view_metric(
	const struct command *command, struct request *request, char **words, int count)
{
	struct operand operands[2] = {{.model = NULL}};
	const struct operand_wanted wanted = {
		.class = request->page.shown.query.class, .again = true};
	int code = 0;
	for (int i = 0; i < count && request->diff.metric_unasked; i++)
		if (heap_operand_is(cli_context(), words[i]) || moment_after(words[i]))
			return 0;
	for (int i = 0; i < count && !code && request->diff.metric_unasked; i++)
		code = operand_take_open(command, words[i], &wanted, &operands[i]);
	if (!code && request->diff.metric_unasked)
		code = choose_metric(request, operands, (size_t)count);
	for (int i = 0; i < count; i++)
		operand_deinit(&operands[i]);
	return code;
}

/* By what heaps are compared: beside a recording, which has call stacks, by these. */
static int choose_by(
	const struct command *command, struct request *request, char **words, int count)
{
	int heaps = 0;
	if (request->python.chosen)
		return 0;
	for (int i = 0; i < count; i++)
		heaps += heap_operand_is(cli_context(), words[i]);
	if (!request->by_text && heaps && heaps < count)
		request->by = HEAP_BY_STACK;
	if (!request->by_text || (heaps == count) || (heaps && request->by == HEAP_BY_STACK))
		return 0;
	return options_wrong(command,
		"--by works for cores and processes only; recordings have just call stacks");
}

/* The page of what `html --base` shows. */
static int cmd_diff_page(struct request *request, const struct command *command, char **words)
{
	struct page_file *page = &request->page;
	page->shown.query.base = words[0];
	page->way_out = "use --html=FILE for another name";
	page->change = (struct page_change){
		.metric = request->diff.metric,
		.metric_unasked = request->diff.metric_unasked,
		.count_libraries = request->diff.count_libraries,
		.normalize = request->diff.normalize,
		.by_given = request->by_text != NULL,
		.by = request->by,
		.label = words[1],
	};
	return view_request_files(command, &page->shown, "a page", words + 1, 1, &page->path)
		       ? page_file_write(page)
		       : ERROR_USAGE;
}

/* Mappings of one and blocks of the other are nothing to compare. */
static int cmd_diff_check_classes(const struct operand *operands, size_t count)
{
	struct error *error = NULL;
	for (size_t i = 1; !error && i < count; i++)
		error = operand_check_class(
			model_recording(operands[0].model), model_recording(operands[i].model));
	return error ? message_error(error) : 0;
}

static int name_model(struct query *query, struct model *model)
{
	struct error *error = query_names(query, model);
	return error ? message_error(error) : 0;
}

static int cmd_diff_answer(struct request *request, const struct command *command, char **argv,
	struct options *options)
{
	int count = options->argc - options->operand;
	char **words = argv + options->operand;
	int code = cmd_diff_check(command, request, count);
	if (code)
		return code;
	if (request->view) {
		code = choose_view_metric(command, request, words, count);
		return code ? code : hand_over(request, argv, options->operand);
	}
	code = choose_by(command, request, words, count);
	if (code)
		return code;
	if (request->html)
		code = cmd_diff_page(request, command, words);
	if (code || (request->html && !request->growth_text))
		return code;
	struct operand operands[TREND_MODELS_MAX] = {{.model = NULL}};
	const struct operand_wanted wanted = {
		.flags = request->trend ? 0 : SOURCE_WITH_STACKS,
		.blocks = query_blocks(&request->page.shown.query),
		.by = request->by,
		.class = request->page.shown.query.class,
		.again = request->html,
	};
	for (int i = 0; i < count && !code; i++) {
		code = operand_take_open(command, words[i], &wanted, &operands[i]);
		if (!code)
			code = name_model(&request->page.shown.query, operands[i].model);
	}
	if (!code)
		code = cmd_diff_check_classes(operands, (size_t)count);
	request->diff.same_recording = !code && operand_same_file(&operands[0], &operands[1]);
	if (!code && request->python.chosen)
		code = python_lines_compare(&request->page.shown, &request->python,
			operands[0].model, operands[1].model);
	else if (!code)
		code = request->trend ? show_trend(request, operands, (size_t)count)
				      : cmd_diff_compare(request, operands);
	for (int i = 0; i < count; i++)
		operand_deinit(&operands[i]);
	return code;
}

static int cmd_diff_run(const struct command *command, int argc, char **argv)
{
	struct request request = {.page = PAGE_FILE_DEFAULT};
	struct options options = {.command = command, .argc = argc, .argv = argv};
	int code;
	tracemalloc_options_init(&request.python);
	if (options_each(&options, cmd_diff_take, &request, &code))
		code = cmd_diff_answer(&request, command, argv, &options);
	page_file_deinit(&request.page);
	tracemalloc_options_deinit(&request.python);
	return code;
}

const struct command command_diff = {
	.name = "diff",
	.synopsis = "OLDER NEWER [--metric METRIC] [--html[=FILE]] [--fail-on-growth LIMIT] "
		    "[OPTION…] | "
		    "--trend FILE…",
	.what = "Shows what grew between two recordings, cores or points in time.",
	.about = "OLDER and NEWER are FILE or FILE@MOMENT (3.2s, peak, start, end, mark:NAME); "
		 "without a moment, the\n"
		 "whole recording. Allocation sites match if their functions, source files and "
		 "modules match,\n"
		 "whatever their addresses and lines, so that runs and builds can be compared; "
		 "docs/diff.md has the\n"
		 "rules. OLDER and NEWER may also be cores or running processes (PID or "
		 "process:PID): their heaps are\n"
		 "compared by type, or by what references the blocks (--by owner). The exit status "
		 "is 1 if the limit\n"
		 "of --fail-on-growth is exceeded, and 3 if that can't be decided.\n",
	.examples =
		"  heapwise diff old.hpw new.hpw                     two runs, two builds\n"
		"  heapwise diff app.hpw@10s app.hpw@60s             what grew in between\n"
		"  heapwise diff --metric peak_bytes old.hpw new.hpw\n"
		"  heapwise diff --view tree old.hpw new.hpw         by callers\n"
		"  heapwise diff --html old.hpw new.hpw              as a page: new.diff.html\n"
		"  heapwise diff --trend app.hpw@1min app.hpw@2min app.hpw@3min\n"
		"  heapwise diff before.core 1234                    since `heapwise heap 1234 "
		"save before.core`\n"
		"  heapwise diff --by owner core.1 core.2            which globals retain more\n"
		"  heapwise diff --fail-on-growth 5% main.hpw change.hpw\n",
	.options = option_specs,
	.run = cmd_diff_run,
};
