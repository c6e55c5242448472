/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/commands/mtrace_log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "capture/launch.h"
#include "cli/options/shims.h"
#include "cli/setup/context.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"
#include "query/bundles.h"
#include "query/stacks.h"
#include "views/export.h"

#define LOG_VARIABLE "MALLOC_TRACE"
/* As src/runtime/shims/mtrace/mtrace.c marks them. */
#define BEGIN "mtrace"
#define END "muntrace"

struct error *mtrace_log_prepare(struct launch_options *launch)
{
	const struct mode *mode = &launch->mode;
	if (mode->kind != MODE_EXACT || mode->ring_bytes || mode->file_bytes)
		return error_create(ERROR_USAGE,
			"--as=mtrace needs all events: --mode exact, without --ring or --max-file");
	launch->all_processes = true;
	return NULL;
}

/* The part of a recording that is logged: of several the last, as each mtrace() begins the file
 * anew. */
struct logged_part {
	const struct collector_recording *recording; /* NULL: there is none */
	uint64_t begin, end;                         /* which of the marks; end 0: none follows */
};

static struct error *find_part(const struct collector_recording *recording, struct logged_part *ret)
{
	_cleanup_(model_cleanup) struct model *model = NULL;
	struct error *error = recording_open(
		cli_context(), recording->file, SOURCE_WITH_MARKS | SOURCE_TABLES, NULL, &model);
	if (error)
		return error;
	size_t count;
	const struct mark *marks = model_marks(model, &count);
	struct logged_part part = {.recording = NULL};
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(marks[i].name, BEGIN))
			part = (struct logged_part){recording, marks[i].nth, 0};
		else if (!strcmp(marks[i].name, END) && part.recording && !part.end)
			part.end = marks[i].nth;
	}
	if (part.recording)
		*ret = part;
	return NULL;
}

static struct error *put_part(void *context, const struct event_sink *sink)
{
	const struct query *query = context;
	return recording_events(
		query->context, query->opened, moments_query(&query->moments), sink);
}

/* Writes the events of the query's range; callers are those of the whole recording. */
static struct error *write_part(struct query *range, const struct sink *sink)
{
	_cleanup_(query_deinit) struct query whole = {.context = range->context};
	_cleanup_(model_cleanup) struct model *model = NULL;
	_cleanup_(stacks_deinit) struct stacks stacks = {.model = NULL};
	_cleanup_(text_deinit) struct text lost;
	const struct operand none = {.path = NULL};
	const struct stacks_wanted wanted = {.metric = METRIC_ALLOCATED_BYTES, .all_frames = true};
	text_init(&lost);
	struct error *error = query_open(&whole, range->opened, 0, &model);
	if (!error)
		error = stacks_build(&whole, model, &none, &wanted, &stacks);
	if (error)
		return error;
	const struct event_stream events = {.context = range, .each = put_part};
	const struct exported from = {.profile = &stacks.profile, .events = &events, .lost = &lost};
	return export_write(export_find("mtrace"), PACKING_NONE, &from, sink);
}

static struct error *set_range(
	const struct logged_part *part, struct query *query, struct text *begin, struct text *end)
{
	text_printf(begin, "mark:" BEGIN "#%" PRIu64, part->begin);
	text_printf(end, part->end ? "mark:" END "#%" PRIu64 : "end", part->end);
	query->opened = strdup(part->recording->file);
	if (begin->failed || end->failed || !query->opened)
		return error_no_memory();
	struct error *error = moments_set(&query->moments, begin->data, true);
	return error ? error : moments_set(&query->moments, end->data, false);
}

/* Returns 0, or an exit code after saying why. */
static int write_file(const struct logged_part *part, const char *path)
{
	_cleanup_(query_deinit) struct query query = {.context = cli_context()};
	_cleanup_(text_deinit) struct text begin, end;
	struct output output;
	struct sink sink;
	text_init(&begin);
	text_init(&end);
	struct error *error = set_range(part, &query, &begin, &end);
	if (error)
		return message_error(error);
	int code = output_open(&output, &sink, path, OUTPUT_MODE);
	if (code)
		return code;
	error = write_part(&query, &sink);
	if (!error)
		return output_end(&output);
	output_drop(&output);
	return message_error(error);
}

/* MALLOC_TRACE, in the folder where the program started. */
static char *log_path(const struct shim_run *run)
{
	const char *name = getenv(LOG_VARIABLE);
	char *path = NULL;
	if (!name || !*name)
		return NULL;
	if (*name == '/' || !run->folder)
		return strdup(name);
	return asprintf(&path, "%s/%s", run->folder, name) < 0 ? NULL : path;
}

static void describe_other_logs(const struct logged_part *part, size_t others)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_add_counted(&text, others, "other process", "other processes");
	message("%s called mtrace(), too; the log is of %s (%d). Others: heapwise export --format "
		"mtrace --from mark:" BEGIN " RECORDING",
		text.data ? text.data : "others", part->recording->command,
		(int)part->recording->pid);
}

static bool write_log(const struct shim_run *run, const struct logged_part *part, size_t others)
{
	_cleanup_free_ char *path = log_path(run);
	if (!path) {
		if (!run->quiet)
			message("the program called mtrace(), but " LOG_VARIABLE
				" is not set in heapwise's environment, so no log is written; to "
				"write one: heapwise export --format mtrace --from mark:" BEGIN
				" -o LOG %s",
				part->recording->file);
		return true;
	}
	if (write_file(part, path))
		return false;
	if (!run->quiet && others)
		describe_other_logs(part, others);
	if (!run->quiet)
		message("the log of mtrace() is in %s", getenv(LOG_VARIABLE));
	return true;
}

bool mtrace_log_write(const struct shim_run *run)
{
	struct logged_part part = {.recording = NULL};
	size_t found = 0;
	for (size_t i = 0; i < run->recording_count; i++) {
		struct logged_part one = {.recording = NULL};
		const struct collector_recording *recording = &run->recordings[i];
		struct error *error =
			recording->totals.file_gone ? NULL : find_part(recording, &one);
		if (error)
			message_error(error);
		if (!one.recording)
			continue;
		part = one;
		found++;
	}
	if (part.recording)
		return write_log(run, &part, found - 1);
	if (!run->quiet)
		message("the program never called mtrace(), so no log is written");
	return true;
}
