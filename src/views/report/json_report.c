/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All views as JSON, schema "heapwise.report/1" (docs/schema/report-1.md: change both together).
 * Every view carries target, recording and totals; then come its own parts. Members are only ever
 * added.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/interval.h"
#include "base/json.h"
#include "base/util.h"
#include "views/compare/change_view.h"
#include "views/report/report_answers.h"
#include "views/report/text_parts.h"

/* Estimated figures, and their names in totals if they are others. */
static const struct ranged {
	enum metric metric;
	const char *in_totals;
} ranged[] = {
	{METRIC_ALLOCATIONS, NULL},
	{METRIC_ALLOCATED_BYTES, NULL},
	{METRIC_LIVE_BLOCKS, "live_blocks_at_end"},
	{METRIC_LIVE_BYTES, "live_bytes_at_end"},
	{METRIC_PEAK_BLOCKS, NULL},
	{METRIC_PEAK_BYTES, NULL},
	{METRIC_FAILED, NULL},
};

/* "ranges": {"allocations": [1, 2], …} of a site, or of the totals if it is NULL; null if the
 * figures are no estimates. With them whether those of numbers of blocks are by mean sizes. */
static void put_ranges(struct json *json, const struct page *page, const struct site *site)
{
	const struct recording *recording = model_recording(page->model);
	bool by_mean_sizes = false;
	json_key(json, "ranges");
	if (!recording->sample_bytes) {
		json_null(json);
		return;
	}
	json_object_begin(json);
	for (size_t i = 0; i < ARRAY_SIZE(ranged); i++) {
		enum metric metric = ranged[i].metric;
		struct interval range;
		bool known = site ? interval_of_site(recording, metric, site, &range)
				  : interval_of_totals(
					    recording, metric, model_totals(page->model), &range);
		if (!known)
			continue;
		json_key(json,
			!site && ranged[i].in_totals ? ranged[i].in_totals : metric_name(metric));
		json_array_begin(json);
		json_u64(json, range.low);
		json_u64(json, range.high);
		json_array_end(json);
		by_mean_sizes |= range.by_mean_sizes;
	}
	json_object_end(json);
	json_put_bool(json, "by_mean_sizes", by_mean_sizes);
}

bool figure_is_known(const struct recording *recording, const char *name)
{
	static const struct {
		const char *name;
		uint32_t unknown;
	} others[] = {
		{"frees", UNKNOWN_FREES},
		{"live_blocks_at_end", UNKNOWN_LIVE_BLOCKS},
		{"live_bytes_at_end", UNKNOWN_LIVE_BYTES},
		{"peak_time_ns", UNKNOWN_TIMES},
		{"threads", UNKNOWN_THREADS},
		{"min_size", UNKNOWN_EXTREMES},
		{"max_size", UNKNOWN_EXTREMES},
		{"max_failed_size", UNKNOWN_FAILED | UNKNOWN_FAILED_SIZE},
	};
	enum metric metric;
	if (!recording->unknown)
		return true;
	if (metric_find(name, &metric))
		return metric_is_known(metric, recording);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strcmp(others[i].name, name) == 0)
			return !(recording->unknown & others[i].unknown);
	return true;
}

/* Figures by their names; null: the source does not say it. */
static void put_figures(struct json *json, const struct page *page,
	const struct json_member *members, size_t count, const void *base)
{
	for (size_t i = 0; i < count; i++) {
		if (figure_is_known(model_recording(page->model), members[i].name)) {
			json_put_members(json, &members[i], 1, base);
			continue;
		}
		json_key(json, members[i].name);
		json_null(json);
	}
}

static void put_fits_on_stack(struct json *json, const struct page *page, const struct row *row)
{
	json_key(json, "fits_on_stack");
	if (!metric_is_known(METRIC_TEMPORARY, model_recording(page->model)))
		json_null(json);
	else
		json_bool(json, row->fits_on_stack);
}

void json_put_totals(const struct page *page, struct json *json)
{
#define MEMBER(name, member)                                                                       \
	{                                                                                          \
		name, offsetof(struct totals, member)                                              \
	}
	static const struct json_member members[] = {
		MEMBER("allocations", allocations),
		MEMBER("allocated_bytes", allocated_bytes),
		MEMBER("frees", frees),
		MEMBER("failed", failed),
		MEMBER("live_blocks_at_end", live_blocks),
		MEMBER("live_bytes_at_end", live_bytes),
		MEMBER("kept_blocks", kept_blocks),
		MEMBER("kept_bytes", kept_bytes),
		MEMBER("temporary", temporary),
		MEMBER("peak_bytes", peak_bytes),
		MEMBER("peak_blocks", peak_blocks),
		MEMBER("peak_time_ns", peak_time_ns),
		MEMBER("threads", threads),
	};
#undef MEMBER
	json_key(json, "totals");
	json_object_begin(json);
	put_figures(json, page, members, ARRAY_SIZE(members), model_totals(page->model));
	put_ranges(json, page, NULL);
	json_object_end(json);
}

void json_row_members(const struct page *page, const struct row *row, struct json *json)
{
#define MEMBER(name)                                                                               \
	{                                                                                          \
#name, offsetof(struct site, name)                                                 \
	}
	static const struct json_member members[] = {
		MEMBER(allocations),
		MEMBER(allocated_bytes),
		MEMBER(live_blocks),
		MEMBER(live_bytes),
		MEMBER(kept_blocks),
		MEMBER(kept_bytes),
		MEMBER(peak_blocks),
		MEMBER(peak_bytes),
		MEMBER(temporary),
		MEMBER(failed),
		MEMBER(min_size),
		MEMBER(max_size),
		MEMBER(max_failed_size),
	};
#undef MEMBER
	json_put_string(json, "kind", alloc_kind_name(row->sums.kind));
	put_figures(json, page, members, ARRAY_SIZE(members), &row->sums);
	put_ranges(json, page, &row->sums);
	json_put_string(json, "library", row->library);
	put_fits_on_stack(json, page, row);
	json_put_stack(json, row);
}

static void put_row(struct json *json, const struct page *page, const struct row *row)
{
	json_object_begin(json);
	json_row_members(page, row, json);
	if (page->options->base)
		json_change_row(page, row, NULL, NULL, json);
	json_object_end(json);
}

static void put_rows(struct json *json, const struct page *page, const char *key,
	const struct row_list *list, size_t limit)
{
	json_key(json, key);
	json_array_begin(json);
	for (size_t i = 0; i < list->len && i < limit; i++)
		put_row(json, page, list->data[i]);
	json_array_end(json);
}

/* Lists of the summary are for reading: their best few, whatever the limit of `sites`. */
#define TOP_ROWS 5u

/* "inherited": {…}; null if it is not known. */
static void put_inherited(struct json *json, const struct inherited *inherited)
{
	json_key(json, "inherited");
	if (!inherited->from) {
		json_null(json);
		return;
	}
	json_object_begin(json);
	json_put_string(json, "from", inherited->from);
	json_put_u64(json, "blocks", inherited->blocks);
	json_put_u64(json, "bytes", inherited->bytes);
	json_put_u64(json, "generations", inherited->generations);
	json_put_bool(json, "at_most", inherited->at_most);
	json_put_u64(json, "freed_blocks", inherited->freed_blocks);
	json_key(json, "left_blocks");
	if (inherited_is_counted(inherited))
		json_u64(json, inherited_left(inherited));
	else
		json_null(json);
	json_object_end(json);
}

/* "leaks": {…}; null where nobody searched. As 'heapwise leaks' has them. */
static void put_leaks(struct json *json, const struct summary *summary)
{
	json_key(json, "leaks");
	if (!summary->searched) {
		json_null(json);
		return;
	}
	json_object_begin(json);
	for (unsigned class = 0; class < LEAK_CLASS_NEVER_FREED; class ++) {
		json_key(json, leak_class_name((enum leak_class) class));
		json_object_begin(json);
		json_put_u64(json, "blocks", summary->leaks[class].blocks);
		json_put_u64(json, "bytes", summary->leaks[class].bytes);
		json_object_end(json);
	}
	json_object_end(json);
}

/* "libraries": {…}: what they keep for themselves of what was never freed. */
static void put_libraries(struct json *json, const struct site *own)
{
	json_key(json, "libraries");
	json_object_begin(json);
	json_put_u64(json, "blocks", own->live_blocks);
	json_put_u64(json, "bytes", own->live_bytes);
	json_object_end(json);
}

void json_summary(const struct page *page, struct json *json)
{
	json_put_lines(json, "verdict", &page->summary.verdict);
	put_inherited(json, model_inherited(page->model));
	put_leaks(json, &page->summary);
	put_libraries(json, &page->summary.libraries);
	json_key(json, "top");
	json_object_begin(json);
	for (int i = 0; i < SUMMARY_LISTS; i++)
		put_rows(json, page, summary_list_name((enum summary_list)i),
			&page->summary.lists[i], min(page->limit, (size_t)TOP_ROWS));
	json_object_end(json);
	json_sites(page, json);
}

void json_sites(const struct page *page, struct json *json)
{
	json_put_u64(json, "sites_total", page->list.len);
	put_rows(json, page, "sites", &page->list, page->limit);
}

void json_inherited(const struct page *page, struct json *json)
{
	put_inherited(json, model_inherited(page->model));
	json_sites(page, json);
}

#define MEMBER(name)                                                                               \
	{                                                                                          \
#name, offsetof(struct thread, name)                                               \
	}
const struct json_member thread_members[THREAD_MEMBERS] = {
	MEMBER(allocations),
	MEMBER(allocated_bytes),
	MEMBER(frees),
	MEMBER(temporary),
	MEMBER(first_ns),
	MEMBER(last_ns),
};
#undef MEMBER

void json_thread_members(const struct page *page, const struct thread *row, struct json *json)
{
	json_put_u64(json, "tid", row->tid);
	json_put_string(json, "name", row->name);
	json_put_u64(json, "threads", row->others + 1);
	put_figures(json, page, thread_members, THREAD_MEMBERS, row);
	json_put_bool(json, "ended", row->ended);
}

void json_put_older(const struct page *page, struct json *json)
{
	json_put_string(json, "label", page->options->base->label);
	json_put_target(json, model_target(page->options->base->model));
	json_put_recording(json, page->options->base->model, NULL);
}

/* What all reports begin with, after the schema. */
static void put_head(const struct page *page, struct json *json)
{
	json_put_string(json, "view", page->view->name);
	json_put_target(json, model_target(page->model));
	json_put_recording(json, page->model, &page->unrecorded);
	json_put_totals(page, json);
	if (page->options->base && !page->view->own_change)
		json_change_report(page, json);
	json_put_lines(json, "notes", &page->notes);
	json_put_filter(json, view_can_filter(page->view) ? page->options->filter : NULL);
	/* Errors come as the checker has them, marks as time goes. */
	const char *order = page->view->needs_errors ? NULL : "time_ns";
	json_put_string(json, "sorted_by", page->sort < METRICS ? metric_name(page->sort) : order);
}

struct error *report_answer(const struct page *page, struct answer *answer)
{
	struct json *json = answer_json(answer);
	struct text *prose = answer_prose(answer);
	answer_begin(answer, page->view->answer_type);
	if (json)
		put_head(page, json);
	if (prose) {
		text_heading(page->model, prose);
		text_notes(&page->notes, prose);
	}
	page->view->answer(page, answer);
	return answer_end(answer);
}

struct error *json_report(const struct page *page, const struct sink *sink)
{
	struct json json;
	json_init(&json, sink->write, sink->ctx);
	json_repeats_begin(&json);
	json_object_begin(&json);
	json_put_string(
		&json, "schema", page->view->schema ? page->view->schema : "heapwise.report/1");
	put_head(page, &json);
	if (page->options->base && page->view->json_change)
		page->view->json_change(page, &json);
	else
		page->view->json(page, &json);
	json_object_end(&json);
	json_finish(&json);
	json_repeats_end(&json);
	return NULL;
}
