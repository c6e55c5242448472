/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/check/check_options.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/number.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/check/uninit.h"

#define NOT_GIVEN UINT_MAX
/* The exit status of a program that ends at its first error, unless --error-exitcode says another.
 */
#define FIRST_EXITCODE 1
#define PERCENT_MOST 100u
#define BUDGET_MOST 1000u
#define UNINIT_DEFAULT 4u

const struct option_spec check_option_specs[] = {
	{OPT_CHECK_FULL, "full", NULL, "guard every block, not only some of each call stack"},
	{OPT_CHECK_ALIGN, "align", "BYTES",
		"place guarded blocks so exactly at the inaccessible memory: 16 (default), 8, 4, 2 "
		"or 1"},
	{OPT_CHECK_BEFORE, "before", "PERCENT",
		"so many of the guarded blocks have it before them, not after (default: 20)"},
	{OPT_CHECK_BUDGET, "cpu-budget", "PERCENT",
		"guard as many blocks as that slows the program down (default: 20)"},
	{OPT_CHECK_SEED, "seed", "HEX",
		"choose the same blocks as the run that printed this seed (default: others each "
		"time)"},
	{OPT_CHECK_BACKEND, "backend", "WAY",
		"how memory is made inaccessible: auto (default), madvise, uffd, mprotect or none"},
	{OPT_CHECK_ERRORS, "errors", "WHICH",
		"all (default): the program goes on after an error; first: it ends at the first"},
	{OPT_ERROR_EXITCODE, "error-exitcode", "N",
		"exit status if there are errors (default: the program's own)"},
	{OPT_CHECK_KILL, "kill-on-error", "SIGNAL",
		"send the program this signal at its first error"},
	{OPT_CHECK_GDB, "attach-gdb", NULL, "print the command that attaches a debugger"},
	{OPT_CHECK_TRACE_CHILDREN, "trace-children", "yes|no",
		"check the processes that the program starts, too (default: yes)"},
	{OPT_CHECK_UNINIT, "uninit", "[=N]",
		"search for memory that is used and was never written, by running the program some "
		"20 times with different fills: at most N blocks (default: 4)"},
	{OPT_CHECK_UNINIT_RUNS, "uninit-runs", "N",
		"end the search of --uninit after N runs (default: 400)"},
	{OPT_SUPPRESSIONS, "suppressions", "FILE",
		"file of known errors and leaks, in Valgrind's, ASan's or LSan's format; may be "
		"repeated"},
	{OPT_CHECK_ENGINE, "engine", "WHICH",
		"native (default), or valgrind: run Valgrind's memcheck, which finds uses of "
		"uninitialised values, too"},
	{OPT_CHECK_ORIGINS, "track-origins", NULL,
		"with memcheck: say where uninitialised values come from (slower)"},
	{OPT_CHECK_ESCALATE, "escalate", NULL,
		"if there are errors, or the program fails, run it again under memcheck"},
	{'o', "output", "FILE",
		"keep the recording as FILE (default: none is kept); %n program, %p PID, %h host"},
	{'f', "force", NULL, "replace FILE if it exists"},
	{OPT_MODE, "mode", "MODE",
		"exact: record each allocation too (default: errors alone, unless --leak-check)"},
	{OPT_LEAK_CHECK, "leak-check", "[=WHAT]",
		"search for leaks at the end, too: full, summary, no (default)"},
	{OPT_NUM_CALLERS, "num-callers", "N", "show at most N frames of a stack (default: all)"},
	{OPT_LEAK_ALL_FRAMES, "all-frames", NULL, "show frames of libc and the like, too"},
	{OPT_LEAK_JSON, "json", NULL,
		"print errors as JSON, schema heapwise.check/1: a line for each event"},
	ERROR_SPEC_GEN_SUPPRESSIONS{ERROR_OPT_FORMAT, "format", "FORM",
		"text (default), json, or a document at the end: memcheck, valgrind (XML), sarif, "
		"junit or github"},
	{OPT_LOG_FILE, "log-file", "FILE", "write errors to FILE instead of stderr"},
	SYMBOL_SPECS{'q', "quiet", NULL, "print errors alone, without a summary"},
	{0},
};

_Static_assert(ARRAY_SIZE(check_option_specs) <= 64, "a bit each in struct check_options");

void check_options_init(struct check_options *options)
{
	*options = (struct check_options){.recording = RECORDING_OPTIONS_DEFAULT,
		.align = NOT_GIVEN,
		.before = NOT_GIVEN,
		.budget = NOT_GIVEN};
	leak_options_init(&options->leaks);
	error_options_init(&options->errors);
}

void check_options_deinit(struct check_options *options)
{
	free(options->setting);
	leak_options_deinit(&options->leaks);
	error_options_deinit(&options->errors);
	recording_options_deinit(&options->recording);
}

static struct error *take_number(
	const char *name, const char *text, uint64_t least, uint64_t most, unsigned *ret)
{
	uint64_t value;
	bool zero = !strcmp(text, "0");
	if (!zero && !number_whole(text, &value))
		value = UINT64_MAX;
	if (zero)
		value = 0;
	if (value < least || value > most)
		return error_create(ERROR_USAGE,
			"invalid --%s '%s': expected a number from %" PRIu64 " to %" PRIu64, name,
			text, least, most);
	*ret = (unsigned)value;
	return NULL;
}

static struct error *take_align(const char *text, unsigned *ret)
{
	struct error *error = take_number("align", text, 1, 16, ret);
	if (!error && *ret & (*ret - 1))
		error = error_create(
			ERROR_USAGE, "invalid --align '%s': expected 1, 2, 4, 8 or 16", text);
	return error;
}

static struct error *take_word(
	const char *name, const char *text, const char *const *words, const char *expected)
{
	for (; *words; words++)
		if (!strcmp(*words, text))
			return NULL;
	return error_create(ERROR_USAGE, "invalid --%s '%s': expected %s", name, text, expected);
}

static struct error *take_errors(const char *text, bool *ret)
{
	static const char *const words[] = {"all", "first", NULL};
	struct error *error = take_word("errors", text, words, "all or first");
	*ret = !error && !strcmp(text, "first");
	return error;
}

static struct error *take_kill(const char *text, int *ret)
{
	const char *name = strncmp(text, "SIG", 3) ? text : text + 3;
	uint64_t number;
	for (int i = 1; i < NSIG; i++) {
		const char *known = sigabbrev_np(i);
		if (known && !strcmp(known, name)) {
			*ret = i;
			return NULL;
		}
	}
	if (!number_whole(text, &number) || number >= NSIG)
		return error_create(ERROR_USAGE,
			"invalid --kill-on-error '%s': expected a signal, as SEGV, STOP or 11",
			text);
	*ret = (int)number;
	return NULL;
}

static struct error *take_backend(struct check_options *options, const char *text)
{
	static const char *const words[] = {"auto", "madvise", "uffd", "mprotect", "none", NULL};
	options->backend = text;
	return take_word("backend", text, words, "auto, madvise, uffd, mprotect or none");
}

static struct error *take_engine(const char *text, bool *ret)
{
	static const char *const words[] = {"native", "valgrind", NULL};
	*ret = !strcmp(text, "valgrind");
	return take_word("engine", text, words, "native or valgrind");
}

static struct error *take_children(struct check_options *options, const char *text)
{
	static const char *const words[] = {"yes", "no", NULL};
	struct error *error = take_word("trace-children", text, words, "yes or no");
	if (!error)
		options->recording.launch.children =
			strcmp(text, "no") ? COLLECTOR_CHILDREN_ALL : COLLECTOR_CHILDREN_NO;
	return error;
}

static struct error *take_seed(struct check_options *options, const char *text)
{
	const char *digits = strncmp(text, "0x", 2) ? text : text + 2;
	size_t length = strlen(digits);
	options->seed = digits;
	return length && length <= 16 && strspn(digits, "0123456789abcdefABCDEF") == length
		       ? NULL
		       : error_create(ERROR_USAGE,
				 "invalid --seed '%s': expected up to 16 hexadecimal digits", text);
}

static void note_given(struct check_options *options, int id)
{
	for (size_t i = 0; check_option_specs[i].name; i++)
		if (check_option_specs[i].id == id)
			options->given |= 1ull << i;
}

struct error *check_options_take(struct check_options *options, int id, const char *argument)
{
	bool taken;
	struct error *error = error_options_take(&options->errors, id, argument, &taken);
	if (error || taken)
		return error;
	note_given(options, id);
	switch (id) {
	case OPT_CHECK_FULL:
		options->full = true;
		return NULL;
	case OPT_CHECK_ALIGN:
		return take_align(argument, &options->align);
	case OPT_CHECK_BEFORE:
		return take_number("before", argument, 0, PERCENT_MOST, &options->before);
	case OPT_CHECK_BUDGET:
		return take_number("cpu-budget", argument, 1, BUDGET_MOST, &options->budget);
	case OPT_CHECK_SEED:
		return take_seed(options, argument);
	case OPT_CHECK_UNINIT:
		options->uninit = UNINIT_DEFAULT;
		return argument ? take_number("uninit", argument, 1, UNINIT_FINDINGS_MOST,
					  &options->uninit)
				: NULL;
	case OPT_CHECK_UNINIT_RUNS:
		return take_number("uninit-runs", argument, UNINIT_RUNS_LEAST, UINT_MAX - 1,
			&options->uninit_runs);
	case OPT_CHECK_BACKEND:
		return take_backend(options, argument);
	case OPT_CHECK_ERRORS:
		return take_errors(argument, &options->first);
	case OPT_CHECK_KILL:
		return take_kill(argument, &options->kill_signal);
	case OPT_LEAK_JSON:
		options->json = true;
		return NULL;
	case OPT_CHECK_GDB:
		options->attach_gdb = true;
		return NULL;
	case OPT_CHECK_TRACE_CHILDREN:
		return take_children(options, argument);
	case OPT_CHECK_ENGINE:
		return take_engine(argument, &options->valgrind);
	case OPT_CHECK_ESCALATE:
		options->escalate = true;
		return NULL;
	case OPT_CHECK_ORIGINS:
		options->track_origins = true;
		return NULL;
	default:
		if (recording_options_take(&options->recording, id, argument))
			return NULL;
		return leak_options_take(&options->leaks, id, argument, &taken);
	}
}

bool check_options_records_heap(const struct check_options *options)
{
	return options->recording.launch.mode.check == MODE_CHECK_TOO;
}

static void add_number(struct text *text, const char *key, unsigned value)
{
	if (value != NOT_GIVEN)
		text_printf(text, ",%s=%u", key, value);
}

/* The seed is chosen here: it is one for all processes. */
static struct error *make_setting(struct check_options *options)
{
	uint64_t seed;
	struct text text;
	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		return error_errno(ERROR_ENVIRONMENT, errno, "can't get a random number");
	text_init(&text);
	text_printf(&text, "full=%d", options->full);
	add_number(&text, "align", options->align);
	add_number(&text, "before", options->before);
	add_number(&text, "budget", options->budget);
	if (options->seed)
		text_printf(&text, ",seed=%s", options->seed);
	else
		text_printf(&text, ",seed=%" PRIx64, seed);
	if (options->backend)
		text_printf(&text, ",backend=%s", options->backend);
	bool first = options->first || options->kill_signal;
	int status = options->leaks.error_exitcode;
	text_printf(&text, ",errors=%s,signal=%d,exit=%d", first ? "first" : "all",
		options->kill_signal, status > 0 ? status : FIRST_EXITCODE);
	if (text.failed) {
		text_deinit(&text);
		return error_no_memory();
	}
	options->setting = text.data;
	options->recording.launch.check = options->setting;
	return NULL;
}

bool check_options_wants_document(const struct check_options *options)
{
	return options->errors.form > ERROR_FORM_CSV;
}

/* A document has errors alone, and all that is written beside it would be in it. */
static struct error *check_options_form(struct check_options *options)
{
	const char *name = error_form_name(options->errors.form), *search = NULL;
	if (options->errors.form == ERROR_FORM_CSV)
		return error_create(ERROR_USAGE,
			"--format csv is not for check: keep a recording with --output FILE, and "
			"use 'heapwise report --view errors --csv FILE'");
	if (check_options_wants_document(options) && options->json)
		return error_create(ERROR_USAGE, "--format %s excludes --json", name);
	options->json |= options->errors.form == ERROR_FORM_JSON;
	if (options->json && options->errors.gen_suppressions)
		return error_create(
			ERROR_USAGE, "--gen-suppressions is for text: JSON has no entries");
	if (!check_options_wants_document(options))
		return NULL;
	search = options->recording.leak_check;
	if (search && strcmp(search, "no") != 0)
		return error_create(ERROR_USAGE,
			"--format %s has no leaks: keep a recording with --output FILE, and use "
			"'heapwise leaks --format %s FILE' for them",
			name, name);
	if (options->uninit || options->escalate)
		return error_create(ERROR_USAGE, "--format %s excludes --%s, which runs again",
			name, options->uninit ? "uninit" : "escalate");
	return NULL;
}

struct error *check_options_complete(struct check_options *options)
{
	struct recording_options *recording = &options->recording;
	struct launch_options *launch = &recording->launch;
	if (options->uninit && options->valgrind)
		return error_create(ERROR_USAGE,
			"--uninit is not for --engine=valgrind, which finds uses of uninitialised "
			"values itself");
	struct error *error = check_options_form(options);
	if (!error)
		error = recording_options_check(recording);
	if (error)
		return error;
	if (launch->mode.kind != MODE_EXACT)
		return error_create(ERROR_USAGE,
			"invalid --mode '%s': check records errors alone, or with exact each "
			"allocation too",
			recording->mode);
	const struct leak_check *search = &launch->leak_check;
	bool heap = recording->mode || search->at_exit;
	launch->mode.check = heap ? MODE_CHECK_TOO : MODE_CHECK_ONLY;
	options->leaks.of_run = true;
	options->leaks.quiet = recording->quiet;
	options->leaks.detail = recording->leak_check;
	options->leaks.no_errors = true;
	return make_setting(options);
}
