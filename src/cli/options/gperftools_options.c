/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/gperftools_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/leaks.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "model/model.h"

#define CHECK_VARIABLE "HEAPCHECK"
/* The exit status for leaks. */
#define CHECK_FAILED 1
#define MEGA_BITS 20
#define NS_A_SECOND 1000000000u

static const char *check_variable(void)
{
	const char *text = getenv(CHECK_VARIABLE);
	return text && *text ? text : NULL;
}

/* The whole program is searched at its end, in all modes but "local". */
static struct error *check_prepare(struct leak_check *ret)
{
	static const char *const modes[] = {
		"minimal", "normal", "strict", "draconian", "as-is", "local"};
	const char *mode = check_variable();
	size_t i = 0;
	while (mode && i < ARRAY_SIZE(modes) && strcmp(modes[i], mode) != 0)
		i++;
	if (i == ARRAY_SIZE(modes))
		return error_create(ERROR_USAGE, "Unsupported heap_check flag: %s", mode);
	ret->by_tool = mode && strcmp(mode, "local") != 0;
	return NULL;
}

struct error *gperftools_options_prepare(struct launch_options *launch)
{
	const struct mode *mode = &launch->mode;
	if (mode->kind == MODE_SAMPLE)
		return error_create(ERROR_USAGE,
			"--as=gperftools needs all allocations: --mode exact or aggregate");
	return check_prepare(&launch->leak_check);
}

void gperftools_options_leaks(struct leak_options *options)
{
	unsigned kinds = 1u << LEAK_DEFINITE | 1u << LEAK_INDIRECT;
	if (check_variable() && !strcmp(check_variable(), "draconian"))
		kinds = LEAK_KINDS_ALL;
	if (!options->show_kinds_given)
		options->show_kinds = kinds;
	if (!options->error_kinds_given)
		options->error_kinds = kinds;
	if (options->error_exitcode == LEAK_NO_EXITCODE)
		options->error_exitcode = CHECK_FAILED;
	/* The real library, should the program have it, is not to search, too. */
	unsetenv(CHECK_VARIABLE);
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
