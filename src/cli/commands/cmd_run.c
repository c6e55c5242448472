/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise run: a program, started and recorded; its ending is ours. */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "capture/launch.h"
#include "cli/commands/leak_report.h"
#include "cli/java/java_run.h"
#include "cli/options/gperftools_options.h"
#include "cli/options/leak_judge.h"
#include "cli/options/recording_options.h"
#include "cli/options/shims.h"
#include "cli/pages/page_file.h"
#include "cli/setup/program_end.h"
#include "cli/setup/recording_end.h"
#include "cli/setup/runtime_find.h"
#include "cli/terminal/message.h"
#include "process/elf_imports.h"
#include "process/program.h"
#include "sources/hpw_unrecorded.h"

/* What the functions are called that programs have for LeakSanitizer, and it for them. */
#define LSAN_PREFIX "__lsan_"

/* Beyond those of LEAK_OPTIONS. */
enum { OPT_RUN_HTML = 1024, OPT_RUN_JAVA, OPT_RUN_NO_JAVA };

static const struct option_spec option_specs[] = {RECORDING_OPTIONS, LEAK_OPTIONS,
	{OPT_RUN_HTML, "html", "[=FILE]",
		"write a page for browsers at the end, as 'heapwise html' (default: named after "
		"the recording, in the current directory)"},
	{OPT_RUN_JAVA, "java", NULL,
		"record Java objects of JVMs that the program starts, too (each prints that it "
		"picked up JAVA_TOOL_OPTIONS)"},
	{OPT_RUN_NO_JAVA, "no-java", NULL,
		"of a JVM record only what malloc sees, no Java objects"},
	{0}};

static const struct option_heading option_headings[] = {RECORDING_HEADINGS, LEAK_HEADINGS,
	{OPT_RUN_HTML, "A page at the end"}, {OPT_RUN_JAVA, "Java"}, {0}};

struct request {
	struct recording_options recording;
	struct leak_options leaks;
	struct leak_report *report; /* NULL: nobody wants a search for leaks */
	struct leak_judge judge;
	bool html; /* a page is wanted */
	struct page_file page;
	struct java_run java;
};

static void request_deinit(struct request *request)
{
	leak_report_destroy(request->report);
	leak_options_deinit(&request->leaks);
	page_file_deinit(&request->page);
	java_run_deinit(&request->java);
	recording_options_deinit(&request->recording);
}

static int cmd_run_wrong(const struct command *command, struct error *error)
{
	if (error->code == ERROR_USAGE) {
		options_wrong(command, "%s", error->message);
		error_destroy(error);
	} else {
		message_error(error);
	}
	return EXIT_OURS;
}

/* What is asked of the search is checked before anything runs. */
static struct error *cmd_run_check(struct request *request)
{
	struct error *error = recording_options_check(&request->recording);
	const struct leak_check *search = &request->recording.launch.leak_check;
	bool at_end = search->at_exit || search->at_main_end;
	if (error)
		return error;
	if (at_end && request->recording.leak_check)
		request->leaks.detail = request->recording.leak_check;
	request->leaks.quiet = request->recording.quiet;
	request->leaks.of_run = true;
	if (search->as_lsan)
		leak_options_as_lsan(&request->leaks);
	if (search->heap_check)
		gperftools_options_leaks(&request->leaks, search->by_tool);
	leak_judge_init(&request->judge, &request->leaks);
	request->recording.launch.verdict = leak_judge;
	request->recording.launch.verdict_context = &request->judge;
	if (!at_end && !search->on_death && request->leaks.error_exitcode == LEAK_NO_EXITCODE)
		return NULL;
	request->leaks.errors_only = !at_end && !search->on_death;
	return leak_report_create(&request->leaks, &request->report);
}

/* Takes the options of `run` itself; false: it is none of these. */
static bool take_own(struct request *request, int id, const char *argument)
{
	switch (id) {
	case OPT_RUN_HTML:
		request->html = true;
		request->page.output = argument;
		return true;
	case OPT_RUN_JAVA:
		request->java.children = true;
		request->java.off = false;
		return true;
	case OPT_RUN_NO_JAVA:
		request->java.off = true;
		request->java.children = false;
		return true;
	default:
		return false;
	}
}

static int cmd_run_parse(const struct command *command, int argc, char **argv, struct request *ret)
{
	if (!recording_options_from_environment(&ret->recording, &ret->leaks))
		return EXIT_OURS;
	struct options options = {.command = command, .argc = argc, .argv = argv};
	struct error *error = NULL;
	int id;
	while (!error && (id = options_next(&options)) > 0) {
		bool taken = take_own(ret, id, options.argument) ||
			     recording_options_take(&ret->recording, id, options.argument);
		if (!taken)
			error = leak_options_take(&ret->leaks, id, options.argument, &taken);
	}
	if (error)
		return cmd_run_wrong(command, error);
	if (id < 0)
		return options.exit_code ? EXIT_OURS : 0;
	if (options.operand >= argc) {
		options_wrong(command, "missing PROGRAM");
		return EXIT_OURS;
	}
	error = cmd_run_check(ret);
	if (error)
		return cmd_run_wrong(command, error);
	/* -f is about the recording: a page never replaces what is none. */
	ret->page.way_out = "use --html=FILE for another name";
	if (ret->html && ret->page.output && !page_file_may_write(&ret->page, ret->page.output))
		return EXIT_OURS;
	ret->recording.launch.argv = argv + options.operand;
	return -1;
}

static void describe_text(struct text *text)
{
	message("%s", text->data ? text->data : "");
	text_clear(text);
}

static int cmd_run_refuse(struct error *error, enum program_state state)
{
	message_error(error);
	return state == PROGRAM_NOT_FOUND        ? EXIT_NOT_FOUND
	       : state == PROGRAM_NOT_EXECUTABLE ? EXIT_NOT_EXECUTABLE
						 : EXIT_OURS;
}

static void describe_leaks_of(
	const struct collector_recording *recording, struct leak_report *report, bool by_tool)
{
	uint64_t before = leak_report_sums(report).lost_blocks;
	leak_report_show(report, recording->file, STDERR_FILENO, false);
	if (by_tool && leak_report_sums(report).lost_blocks > before)
		gperftools_dump_leaks(recording);
}

/* What the searches have found, on stderr: stdout is the program's. */
static void describe_leaks(const struct launch_result *r, struct leak_report *report, bool by_tool)
{
	if (r->collector == LAUNCH_COLLECTOR_DIED)
		message("the leak search is lost");
	else if (r->collector == LAUNCH_COLLECTOR_STOPPED)
		message("leaks are not shown here; when it ends, run: heapwise leaks %s",
			recording_short_name(r->file));
	if (r->collector != LAUNCH_COLLECTOR_REPORTED)
		return;
	for (size_t i = 0; i < r->recording_count; i++)
		if (!r->recordings[i].totals.file_gone)
			describe_leaks_of(&r->recordings[i], report, by_tool);
}

/* Processes that no search tells of; those that were left out as the user wished count for nothing.
 */
static uint64_t count_unsearched(const struct launch_result *r, bool errors_only)
{
	uint64_t unwanted = 0, unnamed = errors_only ? r->end.unnamed_frees : r->end.unnamed;
	for (unsigned i = 0; i < COLLECTOR_UNRECORDED_MAX; i++) {
		const struct collector_unrecorded *one = &r->end.unrecorded_named[i];
		if (hpw_unrecorded_reason(one->reason) == UNRECORDED_UNWANTED)
			unwanted += one->count;
	}
	return r->end.unrecorded - unwanted + r->end.living + r->end.silent + unnamed;
}

/* Processes that were searched, but are too many to be shown, and have blocks of kinds that are
 * errors: nobody has asked the suppressions about them. */
static uint64_t count_unjudged(const struct launch_result *r, const struct leak_options *leaks)
{
	uint64_t ret = 0;
	for (unsigned kinds = 0; kinds < 1u << HPW_LEAK_KINDS && !leaks->errors_only; kinds++)
		ret += kinds & leaks->error_kinds ? r->end.unnamed_kinds[kinds] : 0;
	return ret;
}

static void describe_unjudged(uint64_t count)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_add_counted(&text, count, "more process", "more processes");
	text_printf(&text,
		" %s blocks that may be errors, and %s not compared with suppressions here: "
		"'heapwise leaks FILE…' does",
		count == 1 ? "has" : "have", count == 1 ? "was" : "were");
	describe_text(&text);
}

/* Whether leaks that somebody wants a status for may be where nobody searched. Says so. */
static bool is_undecided(const struct launch_result *r, const struct request *request)
{
	const struct leak_report *report = request->report;
	if (!leak_report_is_gate(report))
		return false;
	if (r->collector != LAUNCH_COLLECTOR_REPORTED || !r->recording_count)
		return true;
	uint64_t unsearched = count_unsearched(r, request->leaks.errors_only);
	if (unsearched) {
		_cleanup_(text_deinit) struct text text;
		text_init(&text);
		text_add_counted(&text, unsearched, "process", "processes");
		text_printf(&text, " that the program started %s not %s",
			unsearched == 1 ? "was" : "were",
			request->leaks.errors_only ? "looked at" : "searched for leaks");
		recording_add_unrecorded(&text, &r->end);
		text_add(&text, "; exclude processes with --children");
		describe_text(&text);
	}
	uint64_t unjudged = count_unjudged(r, &request->leaks);
	if (unjudged)
		describe_unjudged(unjudged);
	return unsearched || unjudged || leak_report_undecided(report);
}

/* The exit status for leaks, or -1: the program's own. */
static int judge_leaks(const struct request *request, const struct launch_result *result)
{
	if (!request->report)
		return -1;
	bool by_tool = request->recording.launch.leak_check.by_tool;
	if (by_tool)
		leak_report_leave_out_requested(request->report);
	describe_leaks(result, request->report, by_tool);
	if (by_tool && leak_report_searched_any(request->report))
		gperftools_describe_leaks(leak_report_sums(request->report),
			result->file ? recording_short_name(result->file) : NULL);
	if (WIFSIGNALED(result->status)) /* which is worse */
		return -1;
	if (leak_report_fails(request->report))
		return leak_report_exitcode(request->report);
	bool undecided = is_undecided(result, request);
	return undecided && !WEXITSTATUS(result->status) ? EXIT_OURS : -1;
}

/* Writes the page of a recording (NULL: there is none). False, after saying why: there is none. */
static bool write_page(struct request *request, const struct collector_recording *recording)
{
	struct page_file *page = &request->page;
	if (!recording || recording->totals.file_gone) {
		message("no page was written: there is no recording to show");
		return false;
	}
	page->path = recording_short_name(recording->file);
	page->quiet = request->recording.quiet;
	return page_file_write(page) == 0;
}

/* Has the tool that the program is recorded as write its files. False, after saying why: one is
 * missing. */
static bool conclude_shim(
	const struct recording_options *recording, const struct launch_result *result)
{
	char folder[PATH_MAX];
	const struct shim_run run = {.folder = getcwd(folder, sizeof(folder)),
		.recordings = result->recordings,
		.recording_count = result->recording_count,
		.quiet = recording->quiet};
	return result->collector != LAUNCH_COLLECTOR_REPORTED ||
	       shim_conclude(recording->shim, &run);
}

/* Names the option for a habit of another tool that has no effect without it. */
static void suggest_shim(const struct recording_options *recording)
{
	const struct shim *shim = NULL;
	const char *variable = recording->shim || recording->quiet ? NULL : shim_find_asked(&shim);
	if (variable)
		message("%s is set: 'heapwise run --as=%s' does what it asks for", variable,
			shim->name);
}

/* The exit status of a program that could not be executed, of leaks or of a missing file; -1: the
 * program's own. */
static int cmd_run_conclude(struct request *request, const struct launch_result *result)
{
	const struct recording_options *recording = &request->recording;
	if (result->exec_errno)
		return program_end_not_executed(recording->launch.argv[0], result->exec_errno);
	suggest_shim(recording);
	const struct collector_recording *first =
		recording_describe_end(result, &recording->launch.dumps, recording->quiet);
	java_run_describe(&request->java, recording->quiet);
	fflush(stderr);
	int code = judge_leaks(request, result);
	bool missing = request->html && !write_page(request, first);
	missing |= !conclude_shim(recording, result);
	return missing && code < 0 && WIFEXITED(result->status) && !WEXITSTATUS(result->status)
		       ? EXIT_OURS
		       : code;
}

/* Adds the libraries that are loaded after the runtime: that of --as, and LeakSanitizer's functions
 * for programs that know them, without which these run as ever. */
static struct error *cmd_run_add_shims(struct request *request, const char *image, struct text *ret)
{
	struct leak_check *leak_check = &request->recording.launch.leak_check;
	const struct shim *wanted = request->recording.shim, *lsan = shim_find("lsan");
	const char *runtime = request->recording.launch.runtime;
	if (wanted && !shim_add_library(wanted, runtime, ret))
		return shim_missing(wanted);
	struct error *error = wanted && wanted->examine
				      ? wanted->examine(image, &request->recording.launch)
				      : NULL;
	if (error)
		return error;
	bool speaks = wanted == lsan || elf_mentions_name(image, LSAN_PREFIX);
	if (speaks && wanted != lsan && !shim_add_library(lsan, runtime, ret))
		message_error(shim_missing(lsan));
	if (speaks)
		lsan_program_find(image, &leak_check->program);
	for (const struct shim *shim = shims; shim->name; shim++)
		if (shim->warn && (shim == wanted || (speaks && shim == lsan)))
			shim->warn();
	return ret->failed ? error_no_memory() : NULL;
}

/* Starts the server if it is wanted. Returns false, after saying why, if it can't be. */
static bool start_http(struct recording_options *recording, struct http_server *ret)
{
	struct error *error = recording_options_serve(recording, ret);
	if (error)
		message_error(error);
	else if (ret->url && !recording->quiet)
		message("profiles: %sdebug/pprof/", ret->url);
	return !error;
}

static int cmd_run(const struct command *command, int argc, char **argv)
{
	hold_standard_streams();
	_cleanup_(request_deinit) struct request request = {
		.recording = RECORDING_OPTIONS_DEFAULT, .page = PAGE_FILE_DEFAULT};
	leak_options_init(&request.leaks);
	int code = cmd_run_parse(command, argc, argv, &request);
	if (code >= 0)
		return code;
	struct launch_options *options = &request.recording.launch;
	_cleanup_free_ char *program = NULL, *image = NULL;
	enum program_state state;
	struct error *error = program_find(options->argv[0], &program, &image, &state);
	if (error)
		return cmd_run_refuse(error, state);
	_cleanup_free_ char *runtime = NULL;
	error = runtime_find(&runtime);
	if (error) {
		message_error(error);
		return EXIT_OURS;
	}
	options->program = program;
	options->runtime = runtime;
	_cleanup_(text_deinit) struct text beside;
	text_init(&beside);
	error = cmd_run_add_shims(&request, image, &beside);
	if (!error)
		error = java_run_prepare(&request.java, image, options);
	if (error) {
		message_error(error);
		return EXIT_OURS;
	}
	options->beside = beside.data;
	options->on_python = request.recording.quiet ? NULL : recording_describe_python;
	_cleanup_(http_server_deinit) struct http_server http = HTTP_SERVER_NONE;
	if (!start_http(&request.recording, &http))
		return EXIT_OURS;
	dump_options_warn(&request.recording.dumps);
	struct launch_result result;
	error = launch(options, &result);
	if (error) {
		message_error(error);
		return EXIT_OURS;
	}
	code = cmd_run_conclude(&request, &result);
	fflush(stderr);
	int status = result.status;
	launch_result_deinit(&result);
	return code >= 0 ? code : program_end_like(status);
}

const struct command command_run = {
	.name = "run",
	.synopsis = "[-o FILE] [-f] [-q] [--html[=FILE]] [--children WHICH] [--] PROGRAM "
		    "[ARGUMENT…]",
	.what = "Runs a program and records its heap.",
	.about = "The program keeps its own streams, directory and signals. heapwise exits with "
		 "the program's exit\n"
		 "status, or dies by the same signal; its own failures exit with 125, 126 (not "
		 "executable) or 127\n"
		 "(not found), like env(1).\n"
		 "\nProcesses that the program starts are recorded too. The program is recorded to "
		 "FILE (say x.hpw),\n"
		 "other processes to x.PID.hpw, and what a process executes next (exec) to "
		 "x.PID.N.hpw, N from 1.\n"
		 "Small processes that end successfully get no file of their own: their totals are "
		 "in FILE\n"
		 "(--all-processes writes a file for each). The command returns when the program "
		 "ends; a collector\n"
		 "stays for processes that are still running, and completes their recordings. "
		 "--children 'cc*'\n"
		 "records only other processes whose program's file name matches.\n"
		 "\nWith --leak-check, each recorded process is searched for leaks when it ends. "
		 "The result is printed\n"
		 "to stderr; 'heapwise leaks' shows it again, in other formats. With "
		 "--error-exitcode=N, the exit\n"
		 "status is N if there are errors (leaks, where they are searched for, and invalid "
		 "or mismatched\n"
		 "frees), and 125 if that can't be decided for one of the processes and the "
		 "program's own status is\n"
		 "0. A program that calls functions of LeakSanitizer (__lsan_do_leak_check and "
		 "others) gets the\n"
		 "answers that LeakSanitizer would give; --as=lsan also searches it at its end, "
		 "with exit status 23\n"
		 "if there are leaks. --as=mtrace logs the calls between mtrace() and muntrace() "
		 "to the "
		 "file that\n"
		 "MALLOC_TRACE names, as glibc does, when the program has ended. --as=jemalloc "
		 "gives "
		 "programs\n"
		 "jemalloc's heap profiler, on any allocator: MALLOC_CONF and mallctl() have it "
		 "write its files,\n"
		 "which jeprof reads. With prof:true there, and without --mode, lg_prof_sample is "
		 "the distance of\n"
		 "samples. --as=gperftools writes the heap profiles that HEAPPROFILE and "
		 "HeapProfilerStart() ask\n"
		 "for, and takes HEAPCHECK for --leak-check.\n"
		 "\nOf a JVM ('heapwise run java …', 11 or later), objects of Java are sampled "
		 "from its start, too, and\n"
		 "written to x.PID.pb when it ends.\n"
		 "\nWith --html, the recording is also written as a page for a browser ('heapwise "
		 "html'): of several\n"
		 "processes the one with the largest peak.\n",
	.examples = "  heapwise run ./app --fast input.txt\n"
		    "  heapwise run -o before.hpw -- jq . big.json\n"
		    "  heapwise run --children=cc1 -o build.hpw -- make\n"
		    "  heapwise run -q --leak-check=full --error-exitcode=1 ./app\n"
		    "  heapwise run -q --as=lsan ./app\n"
		    "  MALLOC_TRACE=app.log heapwise run --as=mtrace ./app\n"
		    "  HEAPPROFILE=/tmp/app heapwise run --as=gperftools ./app\n"
		    "  MALLOC_CONF=prof:true,prof_final:true heapwise run --as=jemalloc ./app\n"
		    "  heapwise run --html=app.html --leak-check ./app\n"
		    "  heapwise run -o shop.hpw java -jar shop.jar\n",
	.options = option_specs,
	.headings = option_headings,
	.stops_at_operand = true,
	.no_files = true,
	.run = cmd_run,
};
