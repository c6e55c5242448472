/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise leaks: what a search for leaks has found, recorded or made now in a running process. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "capture/ask.h"
#include "cli/commands/leak_report.h"
#include "cli/options/recording_options.h"
#include "cli/setup/context.h"
#include "cli/terminal/message.h"
#include "query/main_program.h"

static const struct option_spec option_specs[] = {
	{OPT_LEAK_CHECK, "leak-check", "[=WHAT]",
		"full (default): each place; summary: the kinds alone; no: only what is left"},
	LEAK_OPTIONS,
	LEAK_SPECS_TERMINAL,
	{OPT_LEAK_CHECK_HEURISTICS, "leak-check-heuristics", "LIST",
		"of a search in PID: as for run"},
	{OPT_LEAK_CHECK_ALIGNMENT, "leak-check-alignment", "BYTES",
		"of a search in PID: as for run"},
	{'q', "quiet", NULL, "only places, nothing if there are none"},
	{0},
};

struct request {
	struct leak_options view;
	struct recording_options search; /* of these only what is about the search */
	struct leak_check check;
	struct leak_report *report;
};

static void request_deinit(struct request *request)
{
	leak_report_destroy(request->report);
	leak_options_deinit(&request->view);
	recording_options_deinit(&request->search);
}

static struct error *take(struct request *request, int id, const char *argument)
{
	bool taken;
	struct error *error = leak_options_take(&request->view, id, argument, &taken);
	if (!error && !taken)
		recording_options_take(&request->search, id, argument);
	return error;
}

static struct error *check(struct request *request)
{
	if (request->search.leak_check)
		request->view.detail = request->search.leak_check;
	request->view.quiet = request->search.quiet;
	struct error *error = recording_options_leak_check(&request->search, &request->check);
	return error ? error : leak_report_create(&request->view, &request->report);
}

/* A process, unless a file is called so. */
static bool is_process(const char *word, pid_t *ret)
{
	uint64_t number;
	if (!number_whole(word, &number) || number > INT_MAX || access(word, F_OK) == 0)
		return false;
	*ret = (pid_t)number;
	return true;
}

static int show(struct request *request, const char *word)
{
	pid_t pid;
	if (!is_process(word, &pid))
		return leak_report_show(request->report, word, STDOUT_FILENO, false);
	struct ask_reply reply;
	struct error *error = ask_for_leaks(pid, &request->check, &reply);
	if (error)
		return message_error(error);
	return leak_report_show(request->report, reply.file, STDOUT_FILENO, true);
}

static int show_newest(struct request *request)
{
	_cleanup_free_ char *newest = NULL;
	struct error *error = main_program_newest(cli_context(),
		MAIN_PROGRAM_ALL ", 'heapwise leaks FILE…' what others lost", &newest);
	if (error)
		return message_error(error);
	return leak_report_show(request->report, newest, STDOUT_FILENO, false);
}

/* All are shown, also when one of them cannot be. */
static int show_all(struct request *request, char *const *words, int count)
{
	int code = count == 0 ? show_newest(request) : 0;
	for (int i = 0; i < count; i++) {
		int this = show(request, words[i]);
		code = code ? code : this;
	}
	if (code)
		return code;
	return leak_report_fails(request->report)       ? leak_report_exitcode(request->report)
	       : leak_report_undecided(request->report) ? ERROR_INPUT
							: 0;
}

static int run(const struct command *command, int argc, char **argv)
{
	_cleanup_(request_deinit) struct request request = {.search = RECORDING_OPTIONS_DEFAULT};
	leak_options_init(&request.view);
	struct options options = {.command = command, .argc = argc, .argv = argv};
	struct error *error = NULL;
	int id;
	while (!error && (id = options_next(&options)) > 0)
		error = take(&request, id, options.argument);
	if (!error && id < 0)
		return options.exit_code;
	if (!error)
		error = check(&request);
	if (error && error->code == ERROR_USAGE) {
		options_wrong(command, "%s", error->message);
		error_destroy(error);
		return ERROR_USAGE;
	}
	if (error)
		return message_error(error);
	/* A pager has one input, which ends with the first. */
	if (argc - options.operand > 1)
		request.view.no_pager = true;
	return show_all(&request, argv + options.operand, argc - options.operand);
}

const struct command command_leaks = {
	.name = "leaks",
	.synopsis = "[FILE…|PID…] [--show-leak-kinds LIST] [--suppressions FILE] [--format FORM] "
		    "[OPTION…]",
	.what = "Says what of a program's memory was lost, and who holds the rest.",
	.about =
		"PID: a process that is being recorded; it is searched now and goes on. FILE: what "
		"was found when\n"
		"it was recorded with 'heapwise run --leak-check=full'; of another recording what "
		"was never freed\n"
		"is shown. Without either: the newest recording (*.hpw) in the current folder.\n"
		"\n"
		"Options are called as Valgrind's that mean the same. The exit status is 0 unless "
		"--error-exitcode\n"
		"is given: then it is that if there are errors (leaks of these kinds, or frees "
		"that were "
		"wrong), and 3 if that cannot be decided "
		"(no "
		"search, one that\n"
		"was made before the end, an allocator that was not seen…).\n",
	.examples = "  heapwise leaks app.hpw                            what was lost\n"
		    "  heapwise leaks --show-leak-kinds=all app.hpw      and who holds the rest\n"
		    "  heapwise leaks --format=memcheck app.hpw          as Valgrind would say it\n"
		    "  heapwise leaks --error-exitcode=1 -q --suppressions=known.supp app.hpw\n"
		    "  heapwise leaks 4711                               of a running process\n",
	.options = option_specs,
	.run = run,
};
