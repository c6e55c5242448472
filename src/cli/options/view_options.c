/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/view_options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/profile.h"
#include "base/cleanup.h"
#include "cli/terminal/message.h"
#include "cli/terminal/progress.h"
#include "model/model.h"
#include "sources/merge.h"

void view_request_deinit(struct view_request *request)
{
	query_deinit(&request->query);
	free(request->path);
	for (size_t i = 0; i < request->merged.len; i++)
		free(request->merged.data[i]);
	recording_paths_deinit(&request->merged);
}

static bool take_pattern(
	const struct options *options, enum filter_part part, struct view_request *request)
{
	_cleanup_error_ struct error *error =
		filter_set(&request->query.filter, part, options->argument);
	if (error)
		options_refuse(options, error);
	return !error;
}

static bool take_moment_text(
	const struct command *command, struct moments *moments, const char *text, bool from)
{
	_cleanup_error_ struct error *error = moments_set(moments, text, from);
	if (error)
		options_wrong(command, "%s", error->message);
	return !error;
}

static bool take_kind_named(
	const struct options *options, const char *name, struct view_request *request)
{
	if (filter_add_kind(&request->query.filter, name))
		return true;
	_cleanup_(text_deinit) struct text names;
	text_init(&names);
	filter_add_kind_names(&names);
	options_wrong(options->command, "invalid --kind '%s': expected one of %s", name,
		names.data ? names.data : "");
	return false;
}

static bool take_kind(const struct options *options, struct view_request *request)
{
	return take_kind_named(options, options->argument, request);
}

static bool take_limit(const struct options *options, struct view_request *request)
{
	uint64_t number;
	if (!options_number(options, options->argument, "limit", &number))
		return false;
	request->options.limit = number;
	return true;
}

static bool take_colour(const struct options *options, struct view_request *request)
{
	if (colour_when_parse(options->argument, &request->colour))
		return true;
	options_wrong(options->command, "invalid --color '%s': expected auto, always or never",
		options->argument);
	return false;
}

static bool take_size(const struct options *options, uint64_t *ret)
{
	if (options_size(options->argument, ret))
		return true;
	options_wrong(options->command, "invalid size '%s': expected a number like 100, 4K or 200M",
		options->argument);
	return false;
}

/* Lifetimes, and ages of blocks that are live at the end, are measured alike. */
static bool take_life(
	const struct options *options, bool live_only, uint64_t *ret, struct source_blocks *blocks)
{
	if (!duration_parse(options->argument, ret)) {
		options_wrong(options->command,
			"invalid time '%s': expected a number with a unit, like 1s, 20ms or 2min",
			options->argument);
		return false;
	}
	if (blocks->by_life && blocks->live_only != live_only) {
		options_wrong(options->command, "lifetime and age filters exclude each other");
		return false;
	}
	blocks->by_life = true;
	blocks->live_only = live_only;
	return true;
}

static bool take_blocks(
	const struct options *options, enum view_option id, struct source_blocks *blocks)
{
	switch (id) {
	case VIEW_OPT_MIN_SIZE:
		return take_size(options, &blocks->min_size);
	case VIEW_OPT_MAX_SIZE:
		return take_size(options, &blocks->max_size);
	case VIEW_OPT_MIN_LIFETIME:
		return take_life(options, false, &blocks->min_life_ns, blocks);
	case VIEW_OPT_MAX_LIFETIME:
		return take_life(options, false, &blocks->max_life_ns, blocks);
	case VIEW_OPT_MIN_AGE:
		return take_life(options, true, &blocks->min_life_ns, blocks);
	case VIEW_OPT_MAX_AGE:
		return take_life(options, true, &blocks->max_life_ns, blocks);
	case VIEW_OPT_TEMPORARY_WITHIN:
		return options_number(
			options, options->argument, "temporary-within", &blocks->temporary_within);
	default:
		blocks->thread = options->argument;
		return true;
	}
}

static bool take_tail(const struct options *options, unsigned *ret)
{
	char *end;
	unsigned long percent = strtoul(options->argument, &end, 10);
	if (*end == '%')
		end++;
	if (end == options->argument || *end || options->argument[0] == '-' || percent > 90) {
		options_wrong(options->command,
			"invalid --tail '%s': expected a percentage up to 90", options->argument);
		return false;
	}
	*ret = (unsigned)percent;
	return true;
}

/* A size as pprof writes it, "64", "1kb"; nothing of it is no size. */
static bool tag_size(const char *text, size_t len, uint64_t *ret)
{
	_cleanup_free_ char *size = strndup(text, len);
	if (!size || !len)
		return false;
	for (char *c = size; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	if (len > 1 && size[len - 1] == 'B')
		size[len - 1] = 0;
	return options_size(size, ret);
}

/* "64:1kb", "1mb:", ":64", or one size. */
static bool tag_sizes(const char *text, struct source_blocks *blocks)
{
	const char *colon = strchr(text, ':');
	if (!colon)
		return tag_size(text, strlen(text), &blocks->min_size) &&
		       (blocks->max_size = blocks->min_size, true);
	bool ok = colon[1] || colon > text;
	if (colon > text)
		ok = ok && tag_size(text, (size_t)(colon - text), &blocks->min_size);
	if (colon[1])
		ok = ok && tag_size(colon + 1, strlen(colon + 1), &blocks->max_size);
	return ok;
}

/* The tags that a recording has, in pprof's words. */
static bool take_tag(const struct options *options, struct view_request *request)
{
	static const char bytes[] = "bytes=", thread[] = "thread=", kind[] = "kind=";
	const char *text = options->argument;
	if (strncmp(text, thread, strlen(thread)) == 0) {
		request->query.blocks.thread = text + strlen(thread);
		return true;
	}
	if (strncmp(text, kind, strlen(kind)) == 0)
		return take_kind_named(options, text + strlen(kind), request);
	if (strncmp(text, bytes, strlen(bytes)) == 0)
		text += strlen(bytes);
	if (tag_sizes(text, &request->query.blocks))
		return true;
	options_wrong(options->command,
		"invalid tag '%s': expected sizes (64:1kb, 1mb:, bytes=64), thread=NAME or "
		"kind=FUNC",
		options->argument);
	return false;
}

/* Whether it is an option of these; *ret_ok: it was taken. */
static bool take_symbols(
	const struct options *options, int id, struct view_request *request, bool *ret_ok)
{
	bool taken;
	_cleanup_error_ struct error *error =
		symbol_options_take(&request->query.names, id, options->argument, &taken);
	if (error)
		options_wrong(options->command, "%s", error->message);
	*ret_ok = !error;
	return taken;
}

static bool take_class(const struct options *options, struct query *query)
{
	if (!strcmp(options->argument, "heap"))
		query->class = SOURCE_HEAP;
	else if (!strcmp(options->argument, "mapping"))
		query->class = SOURCE_MAPPINGS;
	else if (!strcmp(options->argument, "all"))
		query->class = SOURCE_HEAP_AND_MAPPINGS;
	else
		return !options_wrong(options->command,
			"invalid --class '%s': expected heap, mapping or all", options->argument);
	return true;
}

bool view_options_take(const struct options *options, int id, struct view_request *request)
{
	bool ok;
	if (take_symbols(options, id, request, &ok))
		return ok;
	switch ((enum view_option)id) {
	case VIEW_OPT_METRIC:
		request->metric_name = options->argument;
		return true;
	case VIEW_OPT_LIMIT:
		return take_limit(options, request);
	case VIEW_OPT_JSON:
		request->options.json = true;
		return true;
	case VIEW_OPT_CSV:
		request->options.csv = true;
		return true;
	case VIEW_OPT_ALL_FRAMES:
		request->options.all_frames = true;
		return true;
	case VIEW_OPT_AT:
	case VIEW_OPT_TO:
		return take_moment_text(
			options->command, &request->query.moments, options->argument, false);
	case VIEW_OPT_FROM:
		return take_moment_text(
			options->command, &request->query.moments, options->argument, true);
	case VIEW_OPT_CLASS:
		return take_class(options, &request->query);
	case VIEW_OPT_FOCUS:
	case VIEW_OPT_IGNORE:
	case VIEW_OPT_HIDE:
	case VIEW_OPT_SHOW:
	case VIEW_OPT_SHOW_FROM:
		return take_pattern(
			options, (enum filter_part)(FILTER_FOCUS + (id - VIEW_OPT_FOCUS)), request);
	case VIEW_OPT_KIND:
		return take_kind(options, request);
	case VIEW_OPT_FUNCTIONS:
	case VIEW_OPT_LINES:
	case VIEW_OPT_FILES:
	case VIEW_OPT_ADDRESSES:
	case VIEW_OPT_MODULES:
		request->grain = (enum grain)(GRAIN_FUNCTIONS + (id - VIEW_OPT_FUNCTIONS));
		return true;
	case VIEW_OPT_MIN_SIZE:
	case VIEW_OPT_MAX_SIZE:
	case VIEW_OPT_THREAD:
	case VIEW_OPT_MIN_LIFETIME:
	case VIEW_OPT_MAX_LIFETIME:
	case VIEW_OPT_MIN_AGE:
	case VIEW_OPT_MAX_AGE:
	case VIEW_OPT_TEMPORARY_WITHIN:
		return take_blocks(options, (enum view_option)id, &request->query.blocks);
	case VIEW_OPT_TAGFOCUS:
		return take_tag(options, request);
	case VIEW_OPT_ANONYMIZE:
		request->query.anonymize = true;
		return true;
	case VIEW_OPT_BASE:
		request->query.base = options->argument;
		return true;
	case VIEW_OPT_MERGE:
		request->merge = true;
		return true;
	case VIEW_OPT_COLOUR:
		return take_colour(options, request);
	case VIEW_OPT_TAIL:
		return take_tail(options, &request->options.tail_percent);
	case VIEW_OPT_NO_PAGER:
		request->no_pager = true;
		return true;
	}
	return options_untaken(options, id);
}

bool view_request_metric(
	const struct command *command, struct view_request *request, enum metric other)
{
	request->options.sort = other;
	if (!request->metric_name || metric_find(request->metric_name, &request->options.sort))
		return true;
	_cleanup_(text_deinit) struct text names;
	text_init(&names);
	for (int i = 0; i < METRICS; i++)
		text_printf(&names, "%s%s", i ? ", " : "", metric_name((enum metric)i));
	options_wrong(command, "invalid metric '%s': expected one of %s", request->metric_name,
		names.data ? names.data : "");
	return false;
}

/* Splits FILE@MOMENT. */
static bool take_moment(struct view_request *request, const char **path)
{
	const char *moment = *path ? moment_after(*path) : NULL;
	if (!moment)
		return true;
	request->path = strndup(*path, (size_t)(moment - *path) - 1);
	if (!request->path) {
		message_error(error_no_memory());
		return false;
	}
	*path = request->path;
	return take_moment_text(request->command, &request->query.moments, moment, false);
}

/* What there is to add up: of a folder all recordings in it. */
static struct error *find_merged(char *const *words, size_t count, struct recording_paths *ret)
{
	struct error *error = NULL;
	for (size_t i = 0; i < count && !error; i++) {
		struct stat st;
		if (!stat(words[i], &st) && S_ISDIR(st.st_mode)) {
			error = recordings_in_folder(words[i], ret);
			continue;
		}
		char *copy = strdup(words[i]);
		if (copy && recording_paths_push(ret, copy))
			continue;
		free(copy);
		error = error_no_memory();
	}
	return error;
}

bool view_request_files(const struct command *command, struct view_request *request,
	const char *what, char *const *words, size_t count, const char **ret_path)
{
	if (request->merge && count) {
		struct error *error = find_merged(words, count, &request->merged);
		if (error) {
			message_error(error);
			return false;
		}
		words = request->merged.data;
		count = request->merged.len;
	}
	*ret_path = count ? words[0] : NULL;
	if (count > 1 && !request->merge) {
		options_wrong(command, "%s shows one recording, not %zu; --merge adds several up",
			what, count);
		return false;
	}
	if (count > MERGE_MODELS_MAX) {
		options_wrong(command, "--merge accepts at most %u recordings, not %zu",
			MERGE_MODELS_MAX, count);
		return false;
	}
	for (size_t i = 0; request->merge && i < count; i++)
		if (moment_after(words[i])) {
			options_wrong(command,
				"--merge adds up recordings as of one moment, which --at says; "
				"'%s' "
				"names one of its own",
				words[i]);
			return false;
		}
	request->query.more = words + 1;
	request->query.more_count = count ? count - 1 : 0;
	request->command = command;
	return take_moment(request, ret_path);
}

struct sink view_request_sink(struct view_request *request, struct output *output)
{
	const struct view_options *options = &request->options;
	request->options.colour =
		!view_is_for_programs(options) && terminal_has_colour(request->colour);
	return output_sink_paged(output, !request->no_pager);
}

int view_request_write(
	struct view_request *request, const char *file, view_writer *write, void *ctx)
{
	struct output output;
	struct sink sink;
	if (file) {
		int code = output_open(&output, &sink, file, OUTPUT_MODE);
		if (code)
			return code;
	} else {
		sink = view_request_sink(request, &output);
	}
	progress_begin("looking up names");
	struct error *error = write(ctx, &sink);
	progress_end();
	if (error)
		output_drop(&output);
	return error ? message_error(error) : output_end(&output);
}

struct shown_view {
	const struct view *view;
	const struct model *model;
	const struct view_options *options;
};

static struct error *write_view(void *ctx, const struct sink *sink)
{
	const struct shown_view *shown = ctx;
	struct error *error = profile_check_heap(shown->model);
	return error ? error : view_write(shown->view, shown->model, shown->options, sink);
}

int view_request_show(
	struct view_request *request, const struct view *view, const struct model *model)
{
	struct shown_view shown = {view, model, &request->options};
	return view_request_write(request, NULL, write_view, &shown);
}

/* Series of other tools tell time in one unit, and stacks are in their totals. */
static void take_unit_of_file(struct view_request *request, const struct model *model)
{
	struct timeline_options *timeline = &request->options.timeline;
	const char *unit = model_recording(model)->time_unit;
	if (!unit)
		return;
	timeline->stacks = true;
	for (timeline->unit = TIMELINE_MS; timeline->unit < TIMELINE_INSTRUCTIONS; timeline->unit++)
		if (strcmp(timeline_unit_name(timeline->unit), unit) == 0)
			break;
}

int operand_take(const struct command *command, const char *text, struct operand *ret)
{
	_cleanup_error_ struct error *error = operand_parse(text, ret);
	return error ? options_wrong(command, "%s", error->message) : 0;
}

int operand_take_open(const struct command *command, const char *text,
	const struct operand_wanted *wanted, struct operand *ret)
{
	int code = operand_take(command, text, ret);
	struct error *error = code ? NULL : operand_open(cli_context(), wanted, ret);
	return error ? message_error(error) : code;
}

int view_request_open(
	struct view_request *request, const char *path, unsigned flags, struct model **ret)
{
	request->options.filter = &request->query.filter;
	struct error *error = query_open(&request->query, path, flags, ret);
	if (error)
		return message_error(error);
	take_unit_of_file(request, *ret);
	return 0;
}

int view_request_open_base(struct view_request *request, unsigned flags, struct operand *ret)
{
	int code = operand_take(request->command, request->query.base, ret);
	struct error *error = code ? NULL : query_open_base(&request->query, flags, ret);
	return error ? message_error(error) : code;
}
