/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise check: a program, run with an allocator that finds its memory errors. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "capture/launch.h"
#include "cli/check/check_folder.h"
#include "cli/check/check_library.h"
#include "cli/check/check_options.h"
#include "cli/check/check_printer.h"
#include "cli/check/check_scope.h"
#include "cli/check/engine_valgrind.h"
#include "cli/check/error_document.h"
#include "cli/check/unwritten.h"
#include "cli/commands/leak_report.h"
#include "cli/setup/context.h"
#include "cli/setup/program_end.h"
#include "cli/setup/runtime_find.h"
#include "cli/terminal/message.h"
#include "process/program.h"
#include "query/leak_search.h"

struct checking {
	struct check_options options;
	struct leak_report *report; /* NULL: nobody wants a search for leaks */
	struct text guard;          /* path of the library */
	struct check_folder folder; /* of recordings that are not kept; none: they are */
	char *pattern;              /* of their names */
	struct check_printer printer;
	int log;
};

static void checking_deinit(struct checking *c)
{
	leak_report_destroy(c->report);
	text_deinit(&c->guard);
	check_options_deinit(&c->options);
	check_folder_remove(&c->folder);
	free(c->pattern);
	if (c->log > STDERR_FILENO)
		close(c->log);
}

static int check_wrong(const struct command *command, struct error *error)
{
	if (error->code == ERROR_USAGE) {
		options_wrong(command, "%s", error->message);
		error_destroy(error);
	} else {
		message_error(error);
	}
	return EXIT_OURS;
}

static struct error *check_complete(struct checking *c)
{
	const struct suppression_files *known = &c->options.leaks.suppressions;
	_cleanup_(suppressions_cleanup) struct suppressions *set = NULL;
	struct error *error = check_options_complete(&c->options);
	if (!error) /* mistakes in the files are known before anything runs */
		error = leak_search_suppressions(
			cli_context(), known->data, known->len, NULL, false, &set);
	const struct leak_check *search = &c->options.recording.launch.leak_check;
	if (error || (!search->at_exit && !search->at_main_end))
		return error;
	return leak_report_create(&c->options.leaks, &c->report);
}

static void describe_scope(const struct check_options *options)
{
	_cleanup_(text_deinit) struct text text;
	char *rest = NULL;
	text_init(&text);
	check_scope_add(options, &text);
	for (char *line = text.data ? strtok_r(text.data, "\n", &rest) : NULL; line;
		line = strtok_r(NULL, "\n", &rest))
		message("%s", line);
}

/* -1: go on; else the exit status. */
static int check_parse(const struct command *command, int argc, char **argv, struct checking *c)
{
	struct options options = {.command = command, .argc = argc, .argv = argv};
	struct error *error = NULL;
	int id;
	while (!error && (id = options_next(&options)) > 0)
		error = check_options_take(&c->options, id, options.argument);
	if (error)
		return check_wrong(command, error);
	if (id < 0)
		return options.exit_code ? EXIT_OURS : 0;
	if (options.operand >= argc) {
		options_wrong(command, "missing PROGRAM");
		return EXIT_OURS;
	}
	error = check_complete(c);
	if (error)
		return check_wrong(command, error);
	c->options.recording.launch.argv = argv + options.operand;
	describe_scope(&c->options);
	return -1;
}

/* A name in a pattern of names. */
static void add_escaped(struct text *text, const char *name)
{
	for (; *name; name++) {
		text_add_char(text, *name);
		if (*name == '%')
			text_add_char(text, '%');
	}
}

static struct error *folder_create(struct checking *c)
{
	struct text pattern;
	struct error *error = check_folder_create(&c->folder);
	if (error)
		return error;
	text_init(&pattern);
	add_escaped(&pattern, c->folder.path);
	text_add(&pattern, "/check.hpw");
	c->pattern = pattern.data;
	return pattern.failed ? error_no_memory() : NULL;
}

static struct error *log_prepare(struct checking *c)
{
	const char *log = c->options.leaks.log_file;
	if (!log)
		return NULL;
	c->log = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
	return c->log < 0 ? error_errno(ERROR_ENVIRONMENT, errno, "can't write %s", log) : NULL;
}

static struct error *files_prepare(struct checking *c)
{
	struct launch_options *launch = &c->options.recording.launch;
	struct error *error = launch->file ? NULL : folder_create(c);
	if (error)
		return error;
	if (!launch->file)
		launch->file = c->pattern;
	return log_prepare(c);
}

/* A sentence of the summary: with --log-file it is there, but not between lines of JSON. */
static void describe_sentence(const struct checking *c, const char *sentence)
{
	if (!c->options.leaks.log_file || c->options.json) {
		message("%s", sentence);
		return;
	}
	_cleanup_(text_deinit) struct text line;
	text_init(&line);
	text_printf(&line, "%s\n", sentence);
	if (!line.failed)
		error_destroy(write_all(c->log, c->options.leaks.log_file, line.data, line.len));
}

/* Those have no recording of their own. */
static void describe_small(const struct checking *c, const struct collector_end *end)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	if (!end->small)
		return;
	text_add_counted(&text, end->small, "more program", "more programs");
	text_add(&text,
		" that allocated little had no errors; what was guarded there is not counted");
	describe_sentence(c, text.data ? text.data : "");
}

/* Processes that are not among those whose errors were shown. */
static bool describe_others(const struct checking *c, const struct launch_result *r)
{
	const struct collector_end *end = &r->end;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	if (end->unnamed_frees) {
		text_add_counted(&text, end->unnamed_frees, "more process", "more processes");
		text_add(&text, " may have errors that are not shown: with --output=FILE 'heapwise "
				"report --view errors' shows each");
		describe_sentence(c, text.data ? text.data : "");
	}
	text_clear(&text);
	if (end->living + end->silent) {
		text_add_counted(&text, end->living + end->silent, "other process is",
			"other processes are");
		text_add(&text, " still running: later errors are not shown");
		describe_sentence(c, text.data ? text.data : "");
	}
	text_clear(&text);
	if (end->unrecorded) {
		text_add_counted(&text, end->unrecorded, "other process that it started was",
			"other processes that it started were");
		text_add(&text, " NOT checked (static, set-user-ID, or left out)");
		describe_sentence(c, text.data ? text.data : "");
	}
	if (end->message[0])
		describe_sentence(c, end->message);
	return end->unnamed_frees || end->living || end->silent || end->unrecorded;
}

/* Says what is wrong with the recording. Returns whether errors may be missing because of that. */
static bool describe_faults(const struct checking *c, const struct launch_result *r)
{
	if (r->collector != LAUNCH_COLLECTOR_REPORTED) {
		message(r->collector == LAUNCH_COLLECTOR_STOPPED
				? "the collector is stopped: errors that it has not seen yet are "
				  "not shown"
				: "the collector was killed: errors that it had not seen are not "
				  "shown");
		return true;
	}
	if (!r->recording_count) {
		message("nothing was checked: %s",
			r->end.message[0] ? r->end.message
					  : "the program ended without loading the runtime");
		return true;
	}
	return describe_others(c, r);
}

/* Has the rest shown; fills *ret. Returns whether errors may be missing. */
static bool check_conclude(
	struct checking *c, const struct launch_result *r, struct check_result *ret)
{
	signal(SIGXFSZ, SIG_IGN); /* the program's limit holds for our words as well */
	signal(SIGPIPE, SIG_IGN);
	bool doubt = false;
	if (r->collector == LAUNCH_COLLECTOR_REPORTED)
		for (size_t i = 0; i < r->recording_count; i++)
			check_printer_name(&c->printer, r->recordings[i].file);
	else if (r->file)
		check_printer_name(&c->printer, r->file);
	if (!check_printer_end(&c->printer, ret)) {
		message("the process that prints errors has ended too early: some are not shown");
		doubt = true;
	}
	doubt |= describe_faults(c, r) || ret->unchecked;
	if (!c->options.recording.quiet)
		describe_small(c, &r->end);
	bool ends = c->options.first || c->options.kill_signal;
	if (ret->ended && ends && !c->options.recording.quiet)
		describe_sentence(c, c->options.kill_signal
					     ? "the program was sent a signal at its first "
					       "error, as --kill-on-error says"
					     : "the program was ended at its first error, as "
					       "--errors=first says");
	return doubt;
}

static bool check_leaks(const struct checking *c, const struct launch_result *r)
{
	if (!c->report || r->collector != LAUNCH_COLLECTOR_REPORTED)
		return false;
	for (size_t i = 0; i < r->recording_count; i++)
		leak_report_show(c->report, r->recordings[i].file, c->log, false);
	return leak_report_fails(c->report);
}

/* Writes what --format wants. Returns whether it could not. */
static bool check_document(struct checking *c, const struct launch_result *r, bool doubt)
{
	const struct suppression_files *known = &c->options.leaks.suppressions;
	const struct error_document document = {.form = c->options.errors.form,
		.gen_suppressions = c->options.errors.gen_suppressions,
		.known = known->data,
		.known_count = known->len,
		.names = &c->options.leaks.symbols,
		.doubt = doubt ? "not all processes were checked up to their end" : NULL,
		.log = c->log};
	if (!check_options_wants_document(&c->options))
		return false;
	_cleanup_free_ const char **paths = calloc(r->recording_count + 1, sizeof(*paths));
	struct error *error = paths ? NULL : error_no_memory();
	for (size_t i = 0; i < r->recording_count && !error; i++)
		paths[i] = r->recordings[i].file;
	if (!error)
		error = name_settings_ready(cli_context(), &c->options.leaks.symbols);
	if (!error)
		error = error_document_write(&document, paths, r->recording_count);
	if (error)
		message_error(error);
	return error != NULL;
}

/* As the program ended, unless --error-exitcode wants another status. */
static int check_exit(const struct checking *c, int status, bool errors, bool doubt)
{
	int wanted = c->options.leaks.error_exitcode;
	if (wanted == LEAK_NO_EXITCODE || WIFSIGNALED(status))
		return program_end_like(status);
	if (errors)
		return wanted;
	return doubt && !WEXITSTATUS(status) ? EXIT_OURS : program_end_like(status);
}

static struct check_engine_request engine_request(const struct checking *c)
{
	const struct check_options *options = &c->options;
	const struct launch_options *launch = &options->recording.launch;
	return (struct check_engine_request){.argv = launch->argv,
		.output = launch->file,
		.overwrite = launch->overwrite,
		.trace_children = strcmp(launch->children, COLLECTOR_CHILDREN_NO) != 0,
		.track_origins = options->track_origins,
		.first = options->first,
		.leak_check = options->recording.leak_check,
		.suppressions = options->leaks.suppressions.data,
		.suppression_count = options->leaks.suppressions.len,
		.gen_suppressions = options->errors.gen_suppressions,
		.form = options->errors.form,
		.json = options->json,
		.error_exitcode = options->leaks.error_exitcode,
		.log = c->log,
		.quiet = options->recording.quiet,
		.num_callers = options->leaks.num_callers};
}

static int check_by_valgrind(struct checking *c)
{
	struct error *error = log_prepare(c);
	if (error) {
		message_error(error);
		return EXIT_OURS;
	}
	const struct check_engine_request request = engine_request(c);
	return check_engine_valgrind(&request);
}

/* Runs what has failed again, and that alone. Returns whether that has found errors for which there
 * is a status. */
static bool check_again(const struct checking *c)
{
	struct check_engine_request request = engine_request(c);
	request.output = NULL; /* names the first run's recording */
	request.json = false;
	request.returns = true;
	message("running it again under Valgrind's memcheck, as --escalate says; what it finds is "
		"what this second run does");
	int code = check_engine_valgrind(&request);
	return request.error_exitcode != LEAK_NO_EXITCODE && code == request.error_exitcode;
}

/* unwritten: what the run is to report again; NULL: it is the first one. */
static int check_launch(struct checking *c, const struct unwritten *unwritten)
{
	struct launch_options *launch_options = &c->options.recording.launch;
	struct launch_result result;
	struct check_result found = {.errors = 0};
	launch_options->errors = c->printer.pipe;
	struct unwritten_streams streams;
	if (unwritten)
		unwritten_streams_hide(unwritten, &streams);
	struct error *error = launch(launch_options, &result);
	if (unwritten)
		unwritten_streams_show(&streams);
	if (error) {
		check_printer_cancel(&c->printer);
		check_folder_remove(&c->folder);
		message_error(error);
		return EXIT_OURS;
	}
	if (result.exec_errno) {
		check_printer_cancel(&c->printer);
		check_folder_remove(&c->folder);
		return program_end_not_executed(launch_options->argv[0], result.exec_errno);
	}
	bool doubt = check_conclude(c, &result, &found);
	doubt |= check_document(c, &result, doubt);
	bool leaks = check_leaks(c, &result);
	check_folder_remove(&c->folder);
	fflush(stderr);
	int status = unwritten ? unwritten->found.result.status : result.status;
	launch_result_deinit(&result);
	bool errors = found.errors || found.printed || leaks || unwritten;
	if (unwritten)
		unwritten_compare(unwritten, &c->options, found.errors);
	if (c->options.escalate && (errors || status))
		errors |= check_again(c);
	return check_exit(c, status, errors, doubt);
}

static int check_refuse(struct error *error, enum program_state state)
{
	message_error(error);
	return state == PROGRAM_NOT_FOUND        ? EXIT_NOT_FOUND
	       : state == PROGRAM_NOT_EXECUTABLE ? EXIT_NOT_EXECUTABLE
						 : EXIT_OURS;
}

/* Searches for memory that is used and was never written, and has a last run report what was found.
 */
static int check_unwritten(struct checking *c)
{
	_cleanup_(unwritten_deinit) struct unwritten unwritten;
	if (c->log == STDERR_FILENO) /* which the last run does not show */
		c->log = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	struct error *error = unwritten_search(&c->options, c->guard.data, &unwritten);
	if (!error)
		error = unwritten_show(&unwritten, &c->options, c->log);
	bool found = !error && unwritten_is_found(&unwritten);
	if (found)
		error = unwritten_prepare(&unwritten, &c->options);
	if (!error && found)
		error = check_printer_start(&c->options, c->log, &c->folder, &c->printer);
	if (!error && found)
		return check_launch(c, &unwritten);
	check_folder_remove(&c->folder);
	if (error) {
		message_error(error);
		return EXIT_OURS;
	}
	enum uninit_verdict verdict = unwritten.found.verdict;
	if (c->options.recording.launch.file != c->pattern && !c->options.recording.quiet)
		message("no recording was made: --output names that of a last run, which is for "
			"blocks that were found");
	return check_exit(c, unwritten.found.result.status, verdict == UNINIT_UNNAMED,
		verdict != UNINIT_NONE);
}

static int cmd_check(const struct command *command, int argc, char **argv)
{
	hold_standard_streams();
	_cleanup_(checking_deinit) struct checking c = {
		.log = STDERR_FILENO, .folder = CHECK_FOLDER_NONE};
	check_options_init(&c.options);
	text_init(&c.guard);
	int code = check_parse(command, argc, argv, &c);
	if (code >= 0)
		return code;
	if (c.options.valgrind)
		return check_by_valgrind(&c);
	struct launch_options *launch_options = &c.options.recording.launch;
	_cleanup_free_ char *program = NULL, *image = NULL, *runtime = NULL;
	enum program_state state;
	struct error *error = program_find(launch_options->argv[0], &program, &image, &state);
	if (error)
		return check_refuse(error, state);
	error = runtime_find(&runtime);
	if (!error)
		error = check_library_find(runtime, &c.guard);
	if (!error)
		error = files_prepare(&c);
	if (!error && !c.options.uninit)
		error = check_printer_start(&c.options, c.log, &c.folder, &c.printer);
	if (error) {
		check_folder_remove(&c.folder);
		message_error(error);
		return EXIT_OURS;
	}
	launch_options->program = program;
	launch_options->runtime = runtime;
	launch_options->beside = c.guard.data;
	return c.options.uninit ? check_unwritten(&c) : check_launch(&c, NULL);
}

const struct command command_check = {
	.name = "check",
	.synopsis = "[--full] [--errors all|first] [--error-exitcode N] [-o FILE] [--] PROGRAM "
		    "[ARGUMENT…]",
	.what = "Runs a program and finds its memory errors.",
	.about =
		"Finds reads and writes outside of heap blocks and after their free, invalid and "
		"mismatched frees, and\n"
		"wrong arguments of libc's functions, in programs as they are built. Each error is "
		"printed to stderr as\n"
		"it happens; the program goes on, and at the end there is a summary with what was "
		"looked at. Without\n"
		"--full, some blocks of each call stack are guarded, so that the program stays "
		"fast: errors that\n"
		"happen to others are found at their free or not at all.\n"
		"\nThe program keeps its own streams, directory and signals. heapwise exits with "
		"the program's exit\n"
		"status, or dies by the same signal; with --error-exitcode=N, the exit status is N "
		"if there are errors,\n"
		"and 125 if that can't be decided and the program's own status is 0.\n"
		"\nWith --engine=valgrind, the program runs under Valgrind's memcheck, which also "
		"finds uses of\n"
		"uninitialised values; FILE is then its XML. With --escalate, a program that has "
		"errors or fails runs\n"
		"again under it: it must do the same twice.\n"
		"\nNo recording is kept unless --output names one: 'heapwise report --view errors "
		"FILE' shows its errors\n"
		"again, and as JSON.\n",
	.examples = "  heapwise check ./app --fast input.txt\n"
		    "  heapwise check --full --error-exitcode=1 ./test\n"
		    "  heapwise check --format=sarif --log-file=errors.sarif ./test\n"
		    "  heapwise check --errors=first --log-file=errors.txt make test\n"
		    "  heapwise check -o app.hpw --leak-check=full ./app\n"
		    "  heapwise check --engine=valgrind --track-origins ./app\n"
		    "  heapwise check --escalate --error-exitcode=1 ./test\n"
		    "  heapwise check --uninit ./app input.txt\n",
	.options = check_option_specs,
	.stops_at_operand = true,
	.no_files = true,
	.run = cmd_check,
};
