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
		"full (default): each allocation site; summary: only the kinds; no: only what was "
		"never freed"},
	LEAK_OPTIONS,
	LEAK_SPECS_TERMINAL,
	{OPT_LEAK_CHECK_HEURISTICS, "leak-check-heuristics", "LIST",
		"for a search of PID: as for run"},
	{OPT_LEAK_CHECK_ALIGNMENT, "leak-check-alignment", "BYTES",
		"for a search of PID: as for run"},
	{'q', "quiet", NULL, "print only leaks, and nothing if there are none"},
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

static struct error *cmd_leaks_take(struct request *request, int id, const char *argument)
{
	bool taken;
	struct error *error = leak_options_take(&request->view, id, argument, &taken);
	if (!error && !taken)
		recording_options_take(&request->search, id, argument);
	return error;
}

static struct error *cmd_leaks_check(struct request *request)
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

/* NULL: options about the search have a search to be about. Without words the newest recording is
 * shown. */
static struct error *cmd_leaks_check_search(
	const struct request *request, char *const *words, int count)
{
	const char *option = request->search.leak_heuristics  ? "--leak-check-heuristics"
			     : request->search.leak_alignment ? "--leak-check-alignment"
							      : NULL;
	pid_t pid;
	int i = 0;
	while (i < count && is_process(words[i], &pid))
		i++;
	if (!option || (count && i == count))
		return NULL;
	return error_create(ERROR_USAGE,
		"%s is for a search of a running process (PID); %s was searched when it was "
		"recorded: use 'heapwise run %s=…'",
		option, count ? words[i] : "a recording", option);
}

static int cmd_leaks_show(struct request *request, const char *word)
{
	pid_t pid;
	if (!is_process(word, &pid))
		return leak_report_show(request->report, word, STDOUT_FILENO, false);
	struct hw_reply reply;
	struct error *error = ask_for_leaks(pid, &request->check, &reply);
	if (error)
		return message_error(error);
	return leak_report_show(request->report, reply.file, STDOUT_FILENO, true);
}

static int show_newest(struct request *request)
{
	_cleanup_free_ char *newest = NULL;
	struct error *error = main_program_newest(cli_context(),
		MAIN_PROGRAM_ALL ", 'heapwise leaks FILE…' the leaks of others", &newest);
	if (error)
		return message_error(error);
	return leak_report_show(request->report, newest, STDOUT_FILENO, false);
}

/* All are shown, also when one of them cannot be. */
static int show_all(struct request *request, char *const *words, int count)
{
	int code = count == 0 ? show_newest(request) : 0;
	for (int i = 0; i < count; i++) {
		int this = cmd_leaks_show(request, words[i]);
		code = code ? code : this;
	}
	if (code)
		return code;
	return leak_report_fails(request->report)       ? leak_report_exitcode(request->report)
	       : leak_report_undecided(request->report) ? ERROR_INPUT
							: 0;
}

static int cmd_leaks_run(const struct command *command, int argc, char **argv)
{
	_cleanup_(request_deinit) struct request request = {.search = RECORDING_OPTIONS_DEFAULT};
	leak_options_init(&request.view);
	struct options options = {.command = command, .argc = argc, .argv = argv};
	struct error *error = NULL;
	int id;
	while (!error && (id = options_next(&options)) > 0)
		error = cmd_leaks_take(&request, id, options.argument);
	if (!error && id < 0)
		return options.exit_code;
	if (!error)
		error = cmd_leaks_check(&request);
	if (!error)
		error = cmd_leaks_check_search(
			&request, argv + options.operand, argc - options.operand);
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
	.what = "Shows what a program leaked, and what references the rest of its memory.",
	.about = "PID: a process that is being recorded. It is searched now, and runs on. FILE: "
		 "shows the leaks that\n"
		 "were found if it was recorded with 'heapwise run --leak-check=full'; otherwise, "
		 "what was never\n"
		 "freed. Without either: the newest recording (*.hpw) in the current directory.\n"
		 "\nOptions that Valgrind has too have its names. The exit status is 0 unless "
		 "--error-exitcode=N is\n"
		 "given. Then it is N if there are errors (leaks of the chosen kinds, or invalid "
		 "or mismatched\n"
		 "frees), and 3 if that can't be decided (no search, a search before the end, an "
		 "allocator that was\n"
		 "not recorded…).\n",
	.examples =
		"  heapwise leaks app.hpw                            leaks\n"
		"  heapwise leaks --show-leak-kinds=all app.hpw      and what references the rest\n"
		"  heapwise leaks --format=memcheck app.hpw          in the format of Memcheck\n"
		"  heapwise leaks --error-exitcode=1 -q --suppressions=known.supp app.hpw\n"
		"  heapwise leaks 4711                               of a running process\n",
	.options = option_specs,
	.run = cmd_leaks_run,
};
