/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/gperftools_options.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/leaks.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/command.h"
#include "cli/terminal/message.h"
#include "model/model.h"

#define CHECK_VARIABLE "HEAPCHECK"
/* The exit status for leaks. */
#define CHECK_FAILED 1
#define MEGA_BITS 20
#define SOURCE_ALIGNMENT "HEAP_CHECK_POINTER_SOURCE_ALIGNMENT"
#define POINTER_OFFSET "HEAP_CHECK_MAX_POINTER_OFFSET"
#define DUMP_DIRECTORY "HEAP_CHECK_DUMP_DIRECTORY"
#define POINTER_OFFSET_DEFAULT 1024 /* gperftools' */
#define NS_A_SECOND 1000000000u

static const char *check_variable(void)
{
	const char *text = getenv(CHECK_VARIABLE);
	return text && *text ? text : NULL;
}

/* As there: what begins so is true, and so is an empty value. */
static bool flag_of(const char *name, bool otherwise)
{
	const char *text = getenv(name);
	return text ? !*text || strchr("tTyY1", *text) : otherwise;
}

static long number_of(const char *name, long otherwise)
{
	const char *text = getenv(name);
	return text ? strtol(text, NULL, 10) : otherwise;
}

/* A mode of HEAPCHECK, as gperftools' HeapLeakChecker_InternalInitStart() has it: what the program
 * is told, and what holds blocks. */
static const struct check_mode {
	const char *name;
	enum hw_heap_check heap_check;
	bool by_variables; /* whether these places hold blocks is said by variables */
	bool no_roots;
} check_modes[] = {
	{"minimal", HW_HEAP_CHECK_SINCE_START, false, false},
	{"normal", HW_HEAP_CHECK_WHOLE, false, false},
	{"strict", HW_HEAP_CHECK_WHOLE, false, false},
	{"draconian", HW_HEAP_CHECK_WHOLE, false, true},
	{"as-is", HW_HEAP_CHECK_WHOLE, true, false},
	{"local", HW_HEAP_CHECK_LOCAL, true, false},
};

static unsigned source_alignment(void)
{
	long bytes = number_of(SOURCE_ALIGNMENT, 0);
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 ? (unsigned)bytes : 0;
}

static struct leak_rules check_rules(const struct check_mode *mode)
{
	long offset = number_of(POINTER_OFFSET, POINTER_OFFSET_DEFAULT);
	bool by_variables = mode->by_variables;
	return (struct leak_rules){.since_start = mode->heap_check == HW_HEAP_CHECK_SINCE_START,
		.no_globals = mode->no_roots ||
			      (by_variables && !flag_of("HEAP_CHECK_IGNORE_GLOBAL_LIVE", true)),
		.no_threads = mode->no_roots ||
			      (by_variables && !flag_of("HEAP_CHECK_IGNORE_THREAD_LIVE", true)),
		.offset_limit = offset < 0 ? 0 : (uint64_t)offset + 1,
		.alignment = source_alignment()};
}

/* The whole program is searched at its end, in all modes but "local". */
static struct error *check_prepare(struct leak_check *ret)
{
	const char *name = check_variable();
	size_t i = 0;
	if (!name)
		return NULL;
	while (i < ARRAY_SIZE(check_modes) && strcmp(check_modes[i].name, name) != 0)
		i++;
	if (i == ARRAY_SIZE(check_modes))
		return error_create(ERROR_USAGE, "Unsupported heap_check flag: %s", name);
	ret->heap_check = check_modes[i].heap_check;
	ret->by_tool = ret->heap_check != HW_HEAP_CHECK_LOCAL;
	ret->rules = check_rules(&check_modes[i]);
	return NULL;
}

/* As there: HEAP_PROFILE_ONLY_MMAP leaves the heap out, unless the user wants something of it. */
static void prepare_mappings(struct launch_options *launch)
{
	struct mode *mode = &launch->mode;
	const struct leak_check *leaks = &launch->leak_check;
	bool only = flag_of("HEAP_PROFILE_ONLY_MMAP", false);
	bool needs_heap = mode->is_chosen || leaks->heap_check || leaks->at_exit ||
			  leaks->at_main_end || leaks->on_death;
	if (mode->mappings == MODE_MAPPINGS_OFF && (only || flag_of("HEAP_PROFILE_MMAP", false)))
		mode->mappings = only && !needs_heap ? MODE_MAPPINGS_ONLY : MODE_MAPPINGS_TOO;
}

struct error *gperftools_options_prepare(struct launch_options *launch)
{
	const struct mode *mode = &launch->mode;
	if (mode->kind == MODE_SAMPLE)
		return error_create(ERROR_USAGE,
			"--as=gperftools needs all allocations: --mode exact or aggregate");
	struct error *error = check_prepare(&launch->leak_check);
	prepare_mappings(launch);
	return error;
}

void gperftools_options_check(struct leak_options *options)
{
	const unsigned kinds = 1u << LEAK_DEFINITE | 1u << LEAK_INDIRECT;
	const long most = number_of("HEAP_CHECK_MAX_LEAKS", LONG_MAX);
	if (!options->limit && most != LONG_MAX)
		options->limit = most > 0 ? (size_t)most : SIZE_MAX;
	if (!options->show_kinds_given)
		options->show_kinds = kinds;
	if (!options->error_kinds_given)
		options->error_kinds = kinds;
	options->only_leaks = true;
}

void gperftools_options_leaks(struct leak_options *options, bool at_end)
{
	/* The real library, should the program have it, is not to search, too. */
	unsetenv(CHECK_VARIABLE);
	if (!at_end)
		return;
	gperftools_options_check(options);
	options->only_leaks = false;
	if (options->error_exitcode == LEAK_NO_EXITCODE)
		options->error_exitcode = CHECK_FAILED;
}

void gperftools_options_warn(void)
{
	static const char *const ignored[][2] = {
		{"HEAP_CHECK_TEST_POINTER_ALIGNMENT",
			"to see which leaks only unaligned pointers lead to, run again "
			"with " SOURCE_ALIGNMENT "=1: it finds the others alone"},
		{"HEAP_CHECK_IDENTIFY_LEAKS", "'heapwise leaks -v' names an address of each leak"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		if (flag_of(ignored[i][0], false))
			message("%s counts for nothing here: %s", ignored[i][0], ignored[i][1]);
	if (getenv(SOURCE_ALIGNMENT) && !source_alignment())
		message("%s=%s counts for nothing here: expected 1, 2, 4 or 8", SOURCE_ALIGNMENT,
			getenv(SOURCE_ALIGNMENT));
}

void gperftools_describe_leaks(struct leaks_sums sums, const char *recording)
{
	if (sums.lost_blocks) {
		fprintf(stderr,
			"Leak check _main_ detected leaks of %" PRIu64 " bytes in %" PRIu64
			" objects\n",
			sums.lost_bytes, sums.lost_blocks);
		if (recording)
			fprintf(stderr,
				"If the preceding stack traces are not enough to find the leaks, "
				"try running THIS shell command:\n\nheapwise leaks %s\n\n",
				recording);
		return;
	}
	fprintf(stderr,
		"No leaks found for check \"_main_\" (but no 100%% guarantee that there aren't "
		"any): found %" PRIu64 " reachable heap objects of %" PRIu64 " bytes\n",
		sums.blocks, sums.bytes);
}

/* The end of a name that --log-file takes as it is. */
static void add_log_name(struct text *text, const char *name)
{
	for (const char *p = name; *p; p++) {
		text_add_char(text, *p);
		if (*p == '%')
			text_add_char(text, *p);
	}
}

void gperftools_dump_leaks(const struct collector_recording *recording)
{
	const char *folder = getenv(DUMP_DIRECTORY);
	if (!folder)
		return;
	_cleanup_(text_deinit) struct text path, option;
	text_init(&path);
	text_init(&option);
	text_printf(
		&path, "%s/%s.%d._main_-end.heap", folder, recording->command, (int)recording->pid);
	text_add(&option, "--log-file=");
	add_log_name(&option, path.data ? path.data : "");
	if (path.failed || option.failed) {
		message_error(error_no_memory());
		return;
	}
	const char *words[] = {"leaks", "--format=gperftools",
		"--show-leak-kinds=definite,indirect", option.data, recording->file, NULL};
	if (!command_leaks.run(&command_leaks, (int)ARRAY_SIZE(words) - 1, (char **)words))
		message("to look at these leaks with google-pprof: google-pprof %s \"%s\"",
			recording->command, path.data);
}

/* As the user has named it: a relative name is shown by as many parts as the pattern has. */
static const char *shown_name(const struct dump_conversion *conversion)
{
	const char *pattern = conversion->plan->files, *to = conversion->to;
	if (!pattern || *pattern == '/')
		return to;
	const char *at = to + strlen(to);
	size_t slashes = 0;
	for (const char *p = pattern; *p; p++)
		slashes += *p == '/';
	while (at > to && (at[-1] != '/' || slashes--))
		at--;
	return at;
}

/* The sums in the first line of the file. */
static bool read_sums(const char *path, uint64_t *ret_live, uint64_t *ret_allocated)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	return file && fscanf(file, "heap profile: %*u: %" SCNu64 " [%*u: %" SCNu64 "]", ret_live,
			       ret_allocated) == 2;
}

static void add_reason(struct text *text, const struct dump_conversion *conversion)
{
	uint64_t live = 0, allocated = 0;
	const struct dump_plan *plan = conversion->plan;
	bool known = read_sums(conversion->to, &live, &allocated);
	if (conversion->reason == DUMP_TIME)
		text_printf(
			text, "%" PRIu64 " sec since the last dump", plan->period_ns / NS_A_SECOND);
	else if (!known)
		text_add(text, "figures are not known");
	else if (conversion->reason == DUMP_ALLOCATED)
		text_printf(
			text, "%" PRIu64 " MB allocated cumulatively, ", allocated >> MEGA_BITS);
	else if (conversion->reason == DUMP_FREED)
		text_printf(text, "%" PRIu64 " MB freed cumulatively, ",
			(allocated - min(live, allocated)) >> MEGA_BITS);
	if (known && conversion->reason != DUMP_TIME)
		text_printf(text, "%" PRIu64 " MB currently in use", live >> MEGA_BITS);
}

void gperftools_announce(const struct dump_conversion *conversion, bool done)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	if (conversion->reason == DUMP_ASKED || conversion->reason == DUMP_EXIT)
		return;
	text_add(&text, done ? "Dumping heap profile to " : "Failed dumping heap profile to ");
	text_add_plain(&text, shown_name(conversion));
	if (done) {
		text_add(&text, " (");
		add_reason(&text, conversion);
		text_add_char(&text, ')');
	}
	text_add_char(&text, '\n');
	if (!text.failed)
		fputs(text.data, stderr);
}
