/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/commands/page_parts.h"

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
	model_destroy(parts->over_time);
	model_destroy(parts->model);
}

static struct error *write_part(
	void *ctx, size_t limit, const struct sink *sink, size_t *ret_left_out)
{
	const struct page_part *part = ctx;
	if (part->problem)
		return error_create(ERROR_INPUT, "%s", part->problem);
	if (part->leaks)
		return leak_report_write(part->leaks, part->model, limit, sink, ret_left_out);
	struct view_options options = *part->options;
	options.limit = limit;
	options.left_out = ret_left_out;
	return view_write(part->view, part->model, &options, sink);
}

static void add_part(struct page_parts *parts, const char *name, const struct page_part *part)
{
	assert(parts->count < PAGE_PARTS_MAX);
	struct page_part *kept = &parts->parts[parts->count];
	*kept = *part;
	parts->documents[parts->count++] =
		(struct page_document){.name = name, .write = write_part, .ctx = kept};
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

static void add_view(struct page_parts *parts, const char *name, const char *view_name,
	const struct model *model, const char *problem)
{
	const struct view *view = view_find(view_name);
	if (!problem && parts->options.base)
		problem = view_no_base(view);
	const struct page_part part = {
		.view = view, .model = model, .options = &parts->options, .problem = problem};
	add_part(parts, name, &part);
}

static void add_parts(struct page_parts *parts)
{
	static const char *const tables[] = {
		"functions", "files", "modules", "threads", "sizes", "errors"};
	const struct model *timed = parts->over_time ? parts->over_time : parts->model;
	const char *no_times = parts->no_times ? parts->no_times->message : NULL;
	add_view(parts, "report", "summary", parts->model, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		add_view(parts, tables[i], tables[i], parts->model, NULL);
	add_view(parts, "lifetimes", "lifetimes", timed,
		parts->no_lives ? parts->no_lives : no_times);
	add_view(parts, "timeline", "timeline", timed, no_times);
	if (model_recording(parts->model)->marks)
		add_view(parts, "marks", "marks", timed, no_times);
	const struct page_part leaks = {
		.leaks = parts->leaks, .model = parts->model, .problem = parts->no_leaks};
	add_part(parts, "leaks", &leaks);
}

/* Whether the figures are of everything that was recorded. */
static bool is_whole(const struct query *query)
{
	return !moments_query(&query->moments) && !query_blocks(query);
}

/* What the report, the tables of figures and leaks need, as those commands ask for it. */
static int open_figures(struct view_request *request, const char *path, struct page_parts *ret)
{
	struct query *query = &request->query;
	unsigned flags = SOURCE_WITH_INHERITED;
	if (is_whole(query)) {
		flags |= SOURCE_WITH_LIVES | SOURCE_IF_FEW | SOURCE_WITH_LEAK_TIMES;
		query->series.rows = GROWTH_MOMENTS;
		query->series_if_known = true;
	} else {
		ret->no_leaks = "leaks are those of the whole recording";
	}
	return view_request_open(request, path, flags, &ret->model);
}

/* Why lifetimes are left out; NULL: they are not. */
static const char *refuse_lives(const struct query *query, const struct page_parts *parts)
{
	if (query_blocks(query))
		return "lifetimes are those of all blocks";
	if (parts->lifetimes == PAGE_LIFETIMES_NO)
		return "lifetimes were not wanted (--lifetimes no)";
	return parts->lifetimes == PAGE_LIFETIMES_AUTO &&
			       model_recording(parts->model)->events > PAGE_LIVES_EVENTS
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
	/* With the sites of all moments a page can show any range. */
	query->series.sites_every =
		sites <= LIVES_FEW_SITES ? 0 : view_moments_every(timeline, &request->options);
	query->series_if_known = false;
	query->again = true;
	return query_open(query, path, flags, &ret->over_time);
}

static struct error *look_at_times(struct view_request *request, struct page_parts *ret)
{
	const struct recording *recording = model_recording(ret->model);
	if (ret->no_timeline) {
		ret->no_times = error_create(
			ERROR_INPUT, "what happened over time was not wanted (--timeline no)");
		return ret->no_times ? NULL : error_no_memory();
	}
	/* The views of what a file doesn't know say so. */
	if (recording->unknown & UNKNOWN_SERIES || model_subtracted(ret->model))
		return NULL;
	struct error *error = open_times(request, ret);
	if (!error || error->code != ERROR_INPUT)
		return error;
	ret->no_times = error;
	return NULL;
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
	if (error)
		return message_error(error);
	ret->options = request->options;
	ret->options.json = true;
	ret->options.sort = METRICS;
	ret->subtracted = (struct view_base){.model = model_subtracted(ret->model),
		.label = "what it subtracts",
		.same_recording = true};
	if (ret->subtracted.model)
		ret->options.base = &ret->subtracted;
	add_parts(ret);
	return 0;
}
