/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/python/python_lines.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/evidence.h"
#include "analysis/profile.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "cli/setup/context.h"
#include "cli/terminal/message.h"
#include "cli/terminal/progress.h"
#include "query/bundles.h"
#include "query/source_files.h"
#include "views/tracemalloc.h"

/* Lines of a source file, found by number. */
DEFINE_VEC(line_starts, size_t)

struct python_source {
	struct listing_source file;
	struct line_starts starts; /* of each line, and the end of the last one */
};

static uint64_t hash_file(const char *file)
{
	return hash_bytes(file, strlen(file));
}

static bool same_file(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

DEFINE_MAP(python_sources, const char *, struct python_source *, hash_file, same_file)

struct python_reader {
	const struct model *model;
	struct python_sources sources;
};

static void python_reader_deinit(struct python_reader *reader)
{
	for (uint32_t i = 0; i < reader->sources.slots; i++) {
		if (!reader->sources.hashes[i])
			continue;
		struct python_source *source = reader->sources.entries[i].value;
		source_file_deinit(&source->file);
		line_starts_deinit(&source->starts);
		free(source);
	}
	python_sources_deinit(&reader->sources);
}

static struct error *split_lines(struct python_source *source)
{
	const char *text = source->file.text;
	size_t len = text ? source->file.len : 0;
	for (size_t at = 0; at < len;) {
		if (!line_starts_push(&source->starts, at))
			return error_no_memory();
		const char *end = memchr(text + at, '\n', len - at);
		at = end ? (size_t)(end - text) + 1 : len;
	}
	return line_starts_push(&source->starts, len) ? NULL : error_no_memory();
}

static struct error *open_source(
	struct python_reader *reader, const char *file, struct python_source *ret)
{
	const struct target *target = model_target(reader->model);
	const struct source_search search = {.file = file,
		.cwd = target->cwd,
		.bundle = bundle_folder(cli_context(), model_recording(reader->model)->path),
		.recorded_ns = target->wall_start_ns};
	struct error *error = source_file_find(&search, &ret->file);
	if (!error)
		error = split_lines(ret);
	if (!error && ret->file.newer)
		message("%s has changed since it was recorded: the lines shown may be others",
			ret->file.found);
	return error;
}

static struct error *python_reader_line(
	void *ctx, const char *file, uint32_t line, const char **ret, size_t *ret_len)
{
	struct python_reader *reader = ctx;
	bool is_new;
	struct python_source **known = python_sources_insert(&reader->sources, file, &is_new);
	if (!known)
		return error_no_memory();
	if (is_new) {
		*known = calloc(1, sizeof(**known));
		if (!*known) {
			python_sources_remove(&reader->sources, file);
			return error_no_memory();
		}
		struct error *error = open_source(reader, file, *known);
		if (error)
			return error;
	}
	const struct python_source *source = *known;
	if (line + (size_t)1 > source->starts.len)
		return NULL;
	const size_t *starts = &source->starts.data[line - 1];
	if (starts[1] <= starts[0])
		return NULL;
	*ret = source->file.text + starts[0];
	*ret_len = starts[1] - starts[0];
	return NULL;
}

/* A recording's rows and what Python's lines have of them. */
struct python_side {
	struct profile profile;
	struct python_statistics statistics;
};

static void python_side_init(struct python_side *side)
{
	profile_init(&side->profile);
	python_statistics_init(&side->statistics);
}

static void python_side_deinit(struct python_side *side)
{
	python_statistics_deinit(&side->statistics);
	profile_deinit(&side->profile);
}

/* Only what is live, in exact figures of one state, has this form. */
static struct error *check_state(const struct model *model)
{
	const struct recording *recording = model_recording(model);
	if (model_subtracted(model))
		return error_create(ERROR_INPUT,
			"%s is a difference of two states, which --format " TRACEMALLOC_FORMAT
			" can't show: use --view lines",
			recording->path);
	if (metric_is_known(METRIC_LIVE_BYTES, recording) &&
		metric_is_known(METRIC_LIVE_BLOCKS, recording))
		return NULL;
	return error_create(ERROR_INPUT,
		"%s: %s files do not say which blocks are live, and how many, as "
		"--format " TRACEMALLOC_FORMAT " shows them: use --view lines --sort %s",
		recording->path, recording->source,
		metric_name(metric_or_known(METRIC_LIVE_BYTES, recording)));
}

/* Sentences, each with a newline, as messages. */
static void say_notes(const struct text *notes)
{
	const char *line = notes->len ? notes->data : NULL;
	for (const char *end; line && (end = strchr(line, '\n')); line = end + 1)
		message("%.*s", (int)(end - line), line);
}

/* What the format has no place for. */
static void say_evidence(const struct model *model)
{
	const char *path = model_recording(model)->path;
	if (model_recording(model)->sample_bytes)
		message("%s is a sample: sizes and counts are estimates, without the ranges that "
			"--view lines has",
			path);
	struct evidence evidence =
		evidence_of_metric(model, METRIC_LIVE_BYTES, EVIDENCE_OF_EACH_STACK);
	if (evidence.more)
		message("%s: sizes may be larger: %s", path, evidence.more);
	if (evidence.less && evidence.less != evidence.more)
		message("%s: sizes may be smaller: %s", path, evidence.less);
}

static void say_native(const struct python_side *side)
{
	const struct python_statistics *statistics = &side->statistics;
	if (!statistics->native_blocks)
		return;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_add_bytes(&text, statistics->native_bytes);
	text_add(&text, " in ");
	text_add_counted(&text, statistics->native_blocks, "live block", "live blocks");
	message("%s: %s without a Python frame %s not in these figures; --view sites shows %s",
		model_recording(side->profile.model)->path, text.data ? text.data : "",
		statistics->native_blocks == 1 ? "is" : "are",
		statistics->native_blocks == 1 ? "it" : "them");
}

static struct error *python_side_build(const struct view_request *request,
	const struct tracemalloc_options *options, const struct model *model,
	struct python_side *ret)
{
	struct error *error = check_state(model);
	progress_begin("looking up names");
	if (!error)
		error = profile_build(
			model, request->options.all_frames, &request->query.filter, &ret->profile);
	if (!error)
		error = python_statistics_build(
			profile_rows(&ret->profile), &options->grouping, &ret->statistics);
	progress_end();
	return error;
}

static bool has_python(const struct python_side *side)
{
	const struct rows *rows = profile_rows(&side->profile);
	for (size_t i = 0; i < rows->rows.len; i++)
		for (size_t k = 0; k < rows->rows.data[i].depth; k++)
			if (rows->rows.data[i].frames[k]->is_python)
				return true;
	return false;
}

/* Says what is beside the figures of a side; returns whether any stack has a frame of Python. */
static bool say_side(const struct python_side *side)
{
	say_notes(&side->profile.notes);
	say_evidence(side->profile.model);
	say_native(side);
	return has_python(side);
}

/* Says why there is nothing to show; returns the exit code. */
static int say_nothing(const struct tracemalloc_options *options, const char *path, bool any_python)
{
	if (!any_python) {
		message("%s has no frames of Python in these stacks: only recordings of Python "
			"programs with such frames can be shown as " TRACEMALLOC_FORMAT
			" does; --view lines shows all others",
			path);
		return ERROR_INPUT;
	}
	message("%s: no block that a line of Python allocated is live%s; --at MOMENT shows "
		"another moment",
		path, options->grouping.filters.len ? " and fits --include and --exclude" : "");
	return 0;
}

struct python_writing {
	const struct tracemalloc_form *form;
	const struct python_statistics *statistics;
	const struct python_changes *changes; /* NULL: the statistics are written */
};

static struct error *write_python_lines(void *ctx, const struct sink *sink)
{
	const struct python_writing *writing = ctx;
	return writing->changes ? tracemalloc_write_changes(writing->changes, writing->form, sink)
				: tracemalloc_write(writing->statistics, writing->form, sink);
}

/* Writes what is filled in; `model` says where sources are. */
static int write_answer(struct view_request *request, const struct tracemalloc_options *options,
	const struct model *model, struct python_writing *writing)
{
	_cleanup_(python_reader_deinit) struct python_reader reader = {.model = model};
	python_sources_init(&reader.sources);
	size_t limit = request->options.limit;
	const struct tracemalloc_form form = {
		.tracebacks = options->grouping.key == PYTHON_BY_TRACEBACK,
		.most_recent_first = options->most_recent_first,
		.limit = limit == VIEW_DEFAULT_LIMIT ? VIEW_NO_LIMIT : limit,
		.line = python_reader_line,
		.ctx = &reader,
	};
	writing->form = &form;
	return view_request_write(request, NULL, write_python_lines, writing);
}

int python_lines_show(struct view_request *request, const struct tracemalloc_options *options,
	const struct model *model)
{
	_cleanup_(python_side_deinit) struct python_side side;
	python_side_init(&side);
	struct error *error = python_side_build(request, options, model, &side);
	if (!error && side.profile.filter)
		error = filter_check_left(
			&request->query.filter, &side.profile.all, profile_rows(&side.profile));
	if (error)
		return message_error(error);
	bool any_python = say_side(&side);
	if (!side.statistics.list.len)
		return say_nothing(options, model_recording(model)->path, any_python);
	struct python_writing writing = {.statistics = &side.statistics};
	return write_answer(request, options, model, &writing);
}

int python_lines_compare(struct view_request *request, const struct tracemalloc_options *options,
	const struct model *older, const struct model *newer)
{
	_cleanup_(python_side_deinit) struct python_side before;
	_cleanup_(python_side_deinit) struct python_side after;
	_cleanup_(python_changes_deinit) struct python_changes changes;
	python_side_init(&before);
	python_side_init(&after);
	python_changes_init(&changes);
	struct error *error = python_side_build(request, options, older, &before);
	if (!error)
		error = python_side_build(request, options, newer, &after);
	if (!error)
		error = python_statistics_compare(&before.statistics, &after.statistics, &changes);
	if (error)
		return message_error(error);
	bool any_python = say_side(&before);
	any_python |= say_side(&after);
	if (!changes.len)
		return say_nothing(options, model_recording(newer)->path, any_python);
	struct python_writing writing = {.changes = &changes};
	return write_answer(request, options, newer, &writing);
}
