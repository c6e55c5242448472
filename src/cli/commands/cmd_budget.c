/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise budget: whether a recording keeps limits, as a gate for CI. */
#include <stdlib.h>
#include <string.h>

#include "analysis/errors_settle.h"
#include "base/cleanup.h"
#include "cli/commands/leak_report.h"
#include "cli/options/leak_options.h"
#include "cli/options/limits.h"
#include "cli/options/view_options.h"
#include "cli/setup/context.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"
#include "query/main_program.h"
#include "views/budget_view.h"

#define EXCEEDED 1

enum {
	OPT_LIMIT_FIRST = 256, /* and on: limits, by rule */
	OPT_BASELINE = OPT_LIMIT_FIRST + BUDGET_RULES,
	OPT_FAIL_ON,
	OPT_COUNT_LIBRARIES,
	OPT_BUDGET_FORMAT,
	OPT_BUDGET_JSON,
	OPT_BUDGET_CSV,
	OPT_BUDGET_LIMIT,
};

static const struct option_spec option_specs[] = {
	{OPT_LIMIT_FIRST + BUDGET_PEAK, "max-peak", "SIZE", "bytes live at the peak"},
	{OPT_LIMIT_FIRST + BUDGET_NEVER_FREED, "max-never-freed", "SIZE", "bytes live at the end"},
	{OPT_LIMIT_FIRST + BUDGET_PER_STACK, "max-per-stack", "SIZE",
		"bytes live at the end, per stack"},
	{OPT_LIMIT_FIRST + BUDGET_ALLOCATIONS, "max-allocations", "N", "allocations"},
	{OPT_LIMIT_FIRST + BUDGET_TEMPORARY, "max-temporary", "N", "temporary allocations"},
	{OPT_BASELINE, "baseline", "OLD", "a recording (FILE, FILE@MOMENT) to compare with"},
	{OPT_LIMIT_FIRST + BUDGET_GROWTH, "max-growth", "SIZE|%",
		"growth of the bytes live at the end since the baseline (default with a baseline: "
		"0)"},
	{OPT_LIMIT_FIRST + BUDGET_LEAK, "max-leak", "SIZE",
		"bytes leaked; needs 'heapwise run --leak-check=full'"},
	{OPT_LIMIT_FIRST + BUDGET_LEAK_PER_STACK, "max-leak-per-stack", "SIZE",
		"bytes leaked, per stack"},
	{OPT_LIMIT_FIRST + BUDGET_ERRORS, "max-errors", "N",
		"memory errors that 'heapwise check' or a checker found, equal ones counted once"},
	{OPT_FAIL_ON, "fail-on", "LIST",
		"kinds that count as leaked: definite, indirect, possible, reachable, all "
		"(default: definite,indirect); on its own: as --max-leak 0"},
	{OPT_COUNT_LIBRARIES, "count-libraries", NULL,
		"count what libraries keep for themselves as live at the end"},
	{OPT_SUPPRESSIONS, "suppressions", "FILE",
		"file of known leaks and errors, in Valgrind's, LSan's or ASan's format; may be "
		"repeated"},
	{OPT_DEFAULT_SUPPRESSIONS, "default-suppressions", "yes|no",
		"use the built-in suppressions too (default: yes)"},
	{OPT_BUDGET_FORMAT, "format", "FORM",
		"text (default), json, csv, sarif, junit, github or markdown"},
	{OPT_BUDGET_JSON, "json", NULL, "as --format json: schema heapwise.budget/1"},
	{OPT_BUDGET_CSV, "csv", NULL, "as --format csv: a line for each limit"},
	{OPT_BUDGET_LIMIT, "limit", "N",
		"list at most N stacks for each limit (default: 10; all in formats for programs)"},
	SYMBOL_SPECS{0},
};

struct request {
	struct budget_view_options view;
	struct leak_options leaks; /* of these the suppressions, and how names are found */
	const char *baseline;      /* NULL: none */
	bool kinds_given;
};

static bool take_format(const struct options *options, struct request *request)
{
	for (unsigned i = 0; i < BUDGET_FORMS; i++)
		if (strcmp(budget_form_name((enum budget_form)i), options->argument) == 0) {
			request->view.form = (enum budget_form)i;
			return true;
		}
	options_wrong(options->command,
		"invalid --format '%s': expected text, json, csv, sarif, junit, github or markdown",
		options->argument);
	return false;
}

/* Says what is wrong with an option, if anything is. */
static bool is_taken(const struct options *options, struct error *error)
{
	if (!error)
		return true;
	options_wrong(options->command, "%s", error->message);
	error_destroy(error);
	return false;
}

static bool take_limit(
	const struct options *options, enum budget_rule rule, struct request *request)
{
	struct budget_limits *limits = &request->view.limits;
	limits->given[rule] = true;
	return limit_take(options, budget_rule_info(rule)->option,
		rule == BUDGET_GROWTH ? LIMIT_SHARE : LIMIT_PLAIN, &limits->limits[rule]);
}

static bool cmd_budget_take(const struct options *options, int id, void *ctx)
{
	struct request *request = ctx;
	bool taken;
	uint64_t number;
	switch (id) {
	case OPT_BASELINE:
		request->baseline = options->argument;
		return true;
	case OPT_FAIL_ON:
		request->kinds_given = true;
		return is_taken(options, leak_options_kinds("fail-on", options->argument,
						 &request->view.limits.leak_kinds));
	case OPT_COUNT_LIBRARIES:
		request->view.count_libraries = true;
		return true;
	case OPT_BUDGET_FORMAT:
		return take_format(options, request);
	case OPT_BUDGET_JSON:
		request->view.form = BUDGET_JSON;
		return true;
	case OPT_BUDGET_CSV:
		request->view.form = BUDGET_CSV;
		return true;
	case OPT_BUDGET_LIMIT:
		if (!options_number(options, options->argument, "limit", &number))
			return false;
		request->view.limit = number;
		return true;
	case OPT_SUPPRESSIONS:
	case OPT_DEFAULT_SUPPRESSIONS:
		break;
	default:
		if (id >= OPT_LIMIT_FIRST && id - OPT_LIMIT_FIRST < BUDGET_RULES)
			return take_limit(
				options, (enum budget_rule)(id - OPT_LIMIT_FIRST), request);
	}
	return is_taken(options,
		       leak_options_take(&request->leaks, id, options->argument, &taken)) &&
	       (taken || options_untaken(options, id));
}

/* Fills in what goes without saying; returns 0, or the exit code after saying what is wrong. */
static int cmd_budget_check(const struct command *command, struct request *request)
{
	struct budget_limits *limits = &request->view.limits;
	static const struct limit nothing = {.percent = -1};
	if (limits->given[BUDGET_GROWTH] && !request->baseline)
		return options_wrong(
			command, "--max-growth needs a recording to compare with: --baseline OLD");
	if (request->baseline && !limits->given[BUDGET_GROWTH]) {
		limits->given[BUDGET_GROWTH] = true;
		limits->limits[BUDGET_GROWTH] = nothing;
	}
	bool leaks = limits->given[BUDGET_LEAK] || limits->given[BUDGET_LEAK_PER_STACK];
	if (request->kinds_given && !leaks) {
		limits->given[BUDGET_LEAK] = true;
		limits->limits[BUDGET_LEAK] = nothing;
	}
	for (int rule = 0; rule < BUDGET_RULES; rule++)
		if (limits->given[rule])
			return 0;
	return options_wrong(command, "missing limit: --max-peak, --max-never-freed, …");
}

static int cmd_budget_judge(const struct request *request, const struct operand *recording)
{
	size_t exceeded = 0, unknown = 0;
	struct output output;
	struct sink sink = output_sink(&output);
	struct error *error =
		budget_view_write(recording->model, &request->view, &sink, &exceeded, &unknown);
	int code = error ? message_error(error) : output_end(&output);
	if (!code && unknown)
		message("%zu %s be decided", unknown,
			unknown == 1 ? "limit can't" : "limits can't");
	return code ? code : exceeded ? EXCEEDED : unknown ? ERROR_INPUT : 0;
}

/* The model may be NULL. */
static int find_names(struct request *request, struct model *model)
{
	struct error *error =
		model ? name_settings_apply(cli_context(), &request->leaks.symbols, model) : NULL;
	return error ? message_error(error) : 0;
}

static int open_all(const struct command *command, struct request *request, const char *file,
	struct operand operands[2])
{
	const struct operand_wanted wanted = {.flags = 0};
	int code = operand_take_open(command, file, &wanted, &operands[1]);
	if (code || !request->baseline)
		return code;
	code = operand_take_open(command, request->baseline, &wanted, &operands[0]);
	request->view.baseline = operands[0].model;
	request->view.same_recording = operand_same_file(&operands[0], &operands[1]);
	request->view.labels[0] = request->baseline;
	return code;
}

static int cmd_budget_answer(
	const struct command *command, struct request *request, char **words, int count)
{
	if (count > 1)
		return options_wrong(command, "expected one recording, got %d", count);
	_cleanup_free_ char *newest = NULL;
	struct error *error =
		count ? NULL : main_program_newest(cli_context(), MAIN_PROGRAM_ALL, &newest);
	if (error)
		return message_error(error);
	const char *file = count ? words[0] : newest;
	request->view.labels[1] = file;
	_cleanup_(suppressions_cleanup) struct suppressions *suppressions = NULL;
	struct operand operands[2] = {{.model = NULL}};
	int code = open_all(command, request, file, operands);
	if (!code)
		error = leak_report_suppressions(&request->leaks, operands[1].model, &suppressions);
	if (!error && !code)
		error = errors_settle(operands[1].model, suppressions, true);
	if (error)
		code = message_error(error);
	request->view.suppressions = suppressions;
	for (size_t i = 0; i < 2 && !code; i++)
		code = find_names(request, operands[i].model);
	if (!code)
		code = cmd_budget_judge(request, &operands[1]);
	operand_deinit(&operands[0]);
	operand_deinit(&operands[1]);
	return code;
}

static int cmd_budget_run(const struct command *command, int argc, char **argv)
{
	struct request request = {.view = {.limit = VIEW_DEFAULT_LIMIT, .version = HW_VERSION}};
	request.view.limits.leak_kinds = 1u << LEAK_DEFINITE | 1u << LEAK_INDIRECT;
	leak_options_init(&request.leaks);
	struct options options = {.command = command, .argc = argc, .argv = argv};
	int code;
	if (options_each(&options, cmd_budget_take, &request, &code) &&
		!(code = cmd_budget_check(command, &request)))
		code = cmd_budget_answer(
			command, &request, argv + options.operand, argc - options.operand);
	leak_options_deinit(&request.leaks);
	return code;
}

const struct command command_budget = {
	.name = "budget",
	.synopsis = "[FILE] [--max-peak SIZE] [--max-never-freed SIZE] [--baseline OLD] [OPTION…]",
	.what = "Checks a recording against limits; a gate for CI.",
	.about = "Without FILE: the newest recording (*.hpw) in the current directory. For each "
		 "exceeded limit, the\n"
		 "stacks that together make up the excess are listed. The exit status is 0 if all "
		 "limits are met, 1\n"
		 "if one is exceeded, 3 if one can't be decided. Sizes: 4096, 4K, 200M, 1G. "
		 "docs/howto/ci.md shows\n"
		 "how to use it with ctest, meson, make, pytest and CI workflows.\n",
	.examples = "  heapwise budget --max-peak 200M --max-never-freed 0 app.hpw\n"
		    "  heapwise budget --baseline main.hpw --max-growth 5% change.hpw\n"
		    "  heapwise budget --max-leak 0 --fail-on definite,indirect app.hpw\n"
		    "  heapwise budget --max-errors 0 --suppressions known.supp app.hpw\n"
		    "  heapwise budget --max-per-stack 4K --format sarif app.hpw > heap.sarif\n",
	.options = option_specs,
	.run = cmd_budget_run,
};
