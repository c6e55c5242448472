/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/pages/page_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/terminal/message.h"

void page_parts_deinit(struct page_parts *parts)
{
	leak_report_destroy(parts->leaks);
	leak_options_deinit(&parts->leak_options);
	error_destroy(parts->no_times);
	operand_deinit(&parts->older_times);
	model_destroy(parts->over_time);
	page_marks_deinit(&parts->marks);
	operand_deinit(&parts->older);
	model_destroy(parts->model);
}

static struct error *write_diff(
	const struct page_diff *diff, size_t limit, const struct sink *sink, size_t *ret_left_out)
{
	const struct diff_view_options options = {
		.diff = diff->options,
		.view = {.sort = METRICS,
			.limit = limit,
			.json = true,
			.all_frames = diff->all_frames,
			.count_libraries = diff->options.count_libraries,
			.filter = diff->filter,
			.left_out = ret_left_out},
		.labels = {diff->labels[0], diff->labels[1]},
	};
	struct diff_outcome outcome = {.total = {0}};
	struct error *error = diff_view_write(diff->older, diff->newer, &options, sink, &outcome);
	text_deinit(&outcome.top);
	return error;
}

static struct error *write_part(
	void *ctx, size_t limit, const struct sink *sink, size_t *ret_left_out)
{
	const struct page_part *part = ctx;
	if (part->problem)
		return error_create(ERROR_INPUT, "%s", part->problem);
	if (part->diff)
		return write_diff(part->diff, limit, sink, ret_left_out);
	if (part->leaks)
		return leak_report_write(part->leaks, part->model, limit, sink, ret_left_out);
	struct view_options options = *part->options;
	options.limit = limit;
	options.left_out = ret_left_out;
	return view_write(part->view, part->model, &options, sink);
}

/* Rows of a table in a document; 0: as others have. */
static size_t rows_most_of(const char *name)
{
	static const char *const spots[] = {"functions", "files", "modules"};
	if (strcmp(name, "report") == 0)
		return PAGE_REPORT_ROWS;
	for (size_t i = 0; i < ARRAY_SIZE(spots); i++)
		if (strcmp(name, spots[i]) == 0)
			return PAGE_SPOT_ROWS;
	return 0;
}

static void add_part(struct page_parts *parts, const char *name, const struct page_part *part)
{
	assert(parts->count < PAGE_PARTS_MAX);
	struct page_part *kept = &parts->parts[parts->count];
	*kept = *part;
	parts->documents[parts->count++] = (struct page_document){
		.name = name, .write = write_part, .ctx = kept, .rows_most = rows_most_of(name)};
}

void page_parts_add(struct page_parts *parts, const char *name,
	struct error *(*write)(
		void *ctx, size_t limit, const struct sink *sink, size_t *ret_left_out),
	void *ctx)
{
	assert(parts->count < PAGE_PARTS_MAX);
	parts->documents[parts->count++] =
		(struct page_document){.name = name, .write = write, .ctx = ctx};
}

/* Which view; over time or not; and why it can't be shown, if that is known. */
static void add_view(struct page_parts *parts, const char *name, const char *view_name, bool timed,
	const char *problem)
{
	const struct view *view = view_find(view_name);
	const struct view_options *options = timed ? &parts->timed : &parts->options;
	if (!problem && options->base)
		problem = view_no_base(view);
	const struct page_part part = {
		.view = view,
		.model = timed && parts->over_time ? parts->over_time : parts->model,
		.options = options,
		.problem = problem,
	};
	add_part(parts, name, &part);
}

static void add_leaks(
	struct page_parts *parts, const char *name, const struct model *model, const char *problem)
{
	const struct page_part part = {.leaks = parts->leaks, .model = model, .problem = problem};
	add_part(parts, name, &part);
}

/* A moment of one has no share of the totals of the other. */
#define NOT_SCALED "figures over time can't be scaled (--normalize)"

static void add_parts(struct page_parts *parts)
{
	static const char *const tables[] = {
		"functions", "files", "modules", "threads", "sizes", "errors"};
	const char *no_times = parts->no_times ? parts->no_times->message : NULL;
	const char *no_moments = parts->change.normalize && !no_times ? NOT_SCALED : no_times;
	add_view(parts, "report", "summary", false, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		add_view(parts, tables[i], tables[i], false, NULL);
	add_view(parts, "lifetimes", "lifetimes", true,
		parts->no_lives ? parts->no_lives : no_times);
	add_view(parts, "timeline", "timeline", true, no_moments);
	if (model_recording(parts->model)->marks)
		add_view(parts, "marks", "marks", true, no_moments);
	add_leaks(parts, "leaks", parts->model, parts->no_leaks);
	if (parts->older.model)
		add_leaks(parts, "base_leaks", parts->older.model, parts->no_older_leaks);
	const struct page_part diff = {.diff = &parts->diff};
	if (parts->base.model)
		add_part(parts, "diff", &diff);
}

/* Whether the figures are of everything that was recorded. */
static bool is_whole(const struct query *query, const struct moments *moments)
{
	return !moments_query(moments) && !query_blocks(query);
}

/* As the whole recording is searched, not a part of it. */
#define NO_LEAKS "leaks are those of the whole recording"

/* The newer of two, which may be a heap that nobody recorded. */
static int open_newer(
	struct view_request *request, const char *path, unsigned flags, struct model **ret)
{
	struct query *query = &request->query;
	if (!query->base || !path || moments_query(&query->moments) ||
		!heap_operand_is(query->context, path))
		return view_request_open(request, path, flags, ret);
	request->options.filter = &query->filter;
	struct error *error = heap_operand_open(query->context, path, query->base_by, ret);
	if (!error)
		error = query_names(query, *ret);
	return error ? message_error(error) : 0;
}

/* Cores and processes are compared by type; with a recording, which has none, by stack. */
static void choose_by(
	struct view_request *request, const char *path, const struct page_change *change)
{
	struct query *query = &request->query;
	int heaps = heap_operand_is(query->context, query->base) +
		    (path && heap_operand_is(query->context, path));
	query->base_by = change->by_given ? change->by : heaps == 1 ? HEAP_BY_STACK : HEAP_BY_TYPE;
}

/* What the report, the tables of figures and leaks need, as those commands ask for it. */
static int open_figures(struct view_request *request, const char *path, struct page_parts *ret)
{
	struct query *query = &request->query;
	unsigned flags = SOURCE_WITH_INHERITED;
	if (!is_whole(query, &query->moments))
		ret->no_leaks = NO_LEAKS;
	else
		flags |= SOURCE_WITH_LEAK_TIMES;
	if (query->base) {
		choose_by(request, path, &ret->change);
		flags |= SOURCE_WITH_STACKS;
	} else if (!ret->no_leaks) {
		/* What the verdict on one recording says of sites over time. */
		flags |= SOURCE_WITH_LIVES | SOURCE_IF_FEW;
		query->series.rows = GROWTH_MOMENTS;
		query->series_if_known = true;
	}
	int code = open_newer(request, path, flags, &ret->model);
	if (!code && query->base)
		code = view_request_open_base(request, flags, &ret->older);
	if (!code && ret->older.model && !is_whole(query, &ret->older.moments))
		ret->no_older_leaks = NO_LEAKS;
	return code;
}

static bool has_many_events(const struct model *model)
{
	return model && model_recording(model)->events > PAGE_LIVES_EVENTS;
}

/* Why lifetimes are left out; NULL: they are not. */
static const char *refuse_lives(const struct query *query, const struct page_parts *parts)
{
	if (query_blocks(query))
		return "lifetimes are those of all blocks";
	if (parts->older.model && model_recording(parts->older.model)->sample_bytes !=
					  model_recording(parts->model)->sample_bytes)
		return "lifetimes are those of sampled blocks, and the two sampling rates differ";
	if (parts->lifetimes == PAGE_LIFETIMES_NO)
		return "lifetimes were not wanted (--lifetimes no)";
	return parts->lifetimes == PAGE_LIFETIMES_AUTO &&
			       (has_many_events(parts->model) ||
				       has_many_events(parts->older.model))
		       ? "lifetimes take a pass over many events; use --lifetimes yes, or "
			 "'heapwise report --view lifetimes'"
		       : NULL;
}

/* What timelines, lifetimes and marks need. */
static struct error *open_times(struct view_request *request, struct page_parts *ret)
{
	struct query *query = &request->query;
	const struct view *timeline = view_find("timeline");
	_cleanup_free_ char *path = strdup(query->opened);
	unsigned flags = model_recording(ret->model)->marks ? SOURCE_WITH_MARKS : 0;
	if (!path)
		return error_no_memory();
	ret->no_lives = refuse_lives(query, ret);
	flags |= ret->no_lives ? 0 : SOURCE_WITH_LIVES;
	query->series.rows = view_needs_moments(timeline, &request->options);
	size_t sites;
	model_sites(ret->model, &sites);
	/* With the sites of all moments a page of one file can show any range. */
	query->series.sites_every = sites <= LIVES_FEW_SITES && !ret->older.model
					    ? 0
					    : view_moments_every(timeline, &request->options);
	query->series_if_known = false;
	query->again = true;
	struct error *error = query_open(query, path, flags, &ret->over_time);
	if (!error && ret->older.model)
		error = query_open_base(query, flags, &ret->older_times);
	return error;
}

/* The recording at its marks, where moments are those of all of it. */
static struct error *open_marks(struct view_request *request, struct page_parts *ret)
{
	struct query *query = &request->query;
	const struct model *of = ret->over_time;
	if (!of || ret->older.model || moments_query(&query->moments) || query->anonymize)
		return NULL;
	return page_marks_open(query, of,
		has_many_events(ret->model) ? PAGE_MARKS_OF_MANY : PAGE_MARKS_MAX, &ret->marks);
}

static bool has_series(const struct model *model)
{
	return !(model_recording(model)->unknown & UNKNOWN_SERIES);
}

/* Why the times of the two can't be shown together; NULL: they can. */
static const char *refuse_times(const struct page_parts *parts)
{
	const struct model *older = parts->older.model;
	if (!older || (has_series(older) && has_series(parts->model)))
		return NULL;
	return has_series(older) || has_series(parts->model)
		       ? "only one of the two says when anything happened"
		       : "neither of the two says when anything happened";
}

static struct error *look_at_times(struct view_request *request, struct page_parts *ret)
{
	const char *why = refuse_times(ret);
	if (!why && ret->no_timeline)
		why = "what happened over time was not wanted (--timeline no)";
	/* The views of what a file doesn't know say so. */
	if (!why && (!has_series(ret->model) || model_subtracted(ret->model)))
		return NULL;
	struct error *error = why ? error_create(ERROR_INPUT, "%s", why) : open_times(request, ret);
	if (!error || error->code != ERROR_INPUT)
		return error;
	ret->no_times = error;
	return NULL;
}

/* What documents are compared with. */
static void take_base(struct page_parts *parts)
{
	bool same = operand_is_of(&parts->older, parts->model);
	parts->base = parts->base_times = (struct view_base){.model = parts->older.model,
		.label = parts->older.text,
		.same_recording = same,
		.normalize = parts->change.normalize};
	if (parts->older_times.model)
		parts->base_times.model = parts->older_times.model;
	if (!parts->older.model)
		parts->base = parts->base_times =
			(struct view_base){.model = model_subtracted(parts->model),
				.label = "what it subtracts",
				.same_recording = true};
}

static void set_options(const struct view_request *request, struct page_parts *parts)
{
	take_base(parts);
	parts->options = request->options;
	parts->options.json = true;
	parts->options.sort = METRICS;
	parts->options.count_libraries = parts->change.count_libraries;
	parts->options.base = parts->base.model ? &parts->base : NULL;
	parts->timed = parts->options;
	parts->timed.base = parts->base.model ? &parts->base_times : NULL;
	const char *label = parts->change.label;
	parts->diff = (struct page_diff){
		.older = parts->base.model,
		.newer = parts->model,
		.options = {.metric = parts->change.metric,
			.metric_unasked = parts->change.metric_unasked,
			.same_recording = parts->base.same_recording,
			.normalize = parts->change.normalize,
			.count_libraries = parts->change.count_libraries},
		.labels = {parts->base.label, label ? label : model_recording(parts->model)->path},
		.filter = parts->options.filter,
		.all_frames = parts->options.all_frames,
	};
}

int page_parts_open(struct view_request *request, const char *path, struct page_parts *ret)
{
	leak_options_init(&ret->leak_options);
	/* As with --show-leak-kinds=all: the page shows what is reachable and by what, too. */
	ret->leak_options.show_kinds = (1u << LEAK_KINDS) - 1;
	/* For those who want to copy one. */
	ret->leak_options.gen_suppressions = true;
	int code = open_figures(request, path, ret);
	if (code)
		return code;
	struct error *error = leak_report_create(&ret->leak_options, &ret->leaks);
	if (!error)
		error = look_at_times(request, ret);
	if (!error)
		error = open_marks(request, ret);
	if (error)
		return message_error(error);
	set_options(request, ret);
	add_parts(ret);
	return 0;
}
