/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/trend_view.h"

#include <assert.h>

#include "analysis/diff.h"
#include "analysis/filter.h"
#include "analysis/profile.h"
#include "analysis/trend.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "views/report/json_parts.h"
#include "views/report/paint.h"
#include "views/report/text_parts.h"

#define TEXT_ROWS 10u

static_assert(TREND_MODELS_MAX <= IDENTITIES_SIDES_MAX, "as many as can be matched");

struct trend_page {
	const struct trend *trend;
	const struct model *const *models;
	const char *const *labels;
	const struct view_options *options;
	size_t limit;
};

/* "1 MiB → 2 MiB (+1 MiB) → 3 MiB (+1 MiB)" */
static void add_steps(const struct trend *trend, const uint64_t *values, struct text *out)
{
	for (size_t i = 0; i < trend->count; i++) {
		text_add(out, i ? " → " : "  ");
		diff_add_value(out, trend->metric, values[i]);
		if (!i)
			continue;
		text_add(out, " (");
		diff_add_change(out, trend->metric, (int64_t)(values[i] - values[i - 1]));
		text_add(out, ")");
	}
}

static void add_row(const struct trend_page *page, const struct trend_row *row, struct text *out)
{
	const struct trend *trend = page->trend;
	text_add(out, "  ");
	diff_add_change(
		out, trend->metric, (int64_t)(row->values[trend->count - 1] - row->values[0]));
	add_steps(trend, row->values, out);
	if (row->row->sums.kind == KIND_UNKNOWN)
		text_add(out, "  from\n");
	else
		text_printf(out, "  from %s at\n", alloc_kind_name(row->row->sums.kind));
	text_row_stack(row->row, page->options->all_frames, out);
}

static void add_text(const struct trend_page *page, struct text *out)
{
	const struct trend *trend = page->trend;
	for (size_t i = 0; i < trend->count; i++) {
		text_add_shown(out, page->labels[i], 400);
		text_printf(out, ": %s ", metric_name(trend->metric));
		diff_add_value(out, trend->metric, trend->totals[i]);
		text_add(out, "\n");
	}
	text_verdict(&trend->verdict, out);
	if (!trend->growing.len)
		return;
	text_add_char(out, '\n');
	paint_begin(out, page->options->colour, PAINT_TITLE);
	text_add(out, "Growing steadily (");
	if (trend->growing.len > page->limit)
		text_printf(out, "%zu of ", page->limit);
	text_add_count(out, trend->growing.len);
	text_add(out, trend->growing.len == 1 ? " place)" : " places)");
	paint_end(out, page->options->colour, PAINT_TITLE);
	text_add(out, "\n");
	for (size_t i = 0; i < trend->growing.len && i < page->limit; i++)
		add_row(page, &trend->growing.data[i], out);
}

static void put_values(struct json *json, const struct trend *trend, const uint64_t *values)
{
	json_key(json, "values");
	json_array_begin(json);
	for (size_t i = 0; i < trend->count; i++)
		json_u64(json, values[i]);
	json_array_end(json);
	json_key(json, "steps");
	json_array_begin(json);
	for (size_t i = 1; i < trend->count; i++)
		json_i64(json, (int64_t)(values[i] - values[i - 1]));
	json_array_end(json);
}

static void put_recordings(struct json *json, const struct trend_page *page)
{
	json_key(json, "recordings");
	json_array_begin(json);
	for (size_t i = 0; i < page->trend->count; i++) {
		json_object_begin(json);
		json_put_string(json, "label", page->labels[i]);
		json_put_target(json, model_target(page->models[i]));
		json_put_recording(json, page->models[i], NULL);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_json(const struct trend_page *page, const struct sink *sink)
{
	const struct trend *trend = page->trend;
	struct json json;
	json_init(&json, sink->write, sink->ctx);
	json_object_begin(&json);
	json_put_string(&json, "schema", "heapwise.trend/1");
	json_put_string(&json, "metric", metric_name(trend->metric));
	put_recordings(&json, page);
	json_put_filter(&json, page->options->filter);
	json_put_lines(&json, "verdict", &trend->verdict);
	json_key(&json, "total");
	json_object_begin(&json);
	json_put_bool(&json, "grows", trend->total_grows);
	put_values(&json, trend, trend->totals);
	json_object_end(&json);
	json_put_u64(&json, "rows_total", trend->growing.len);
	json_key(&json, "rows");
	json_array_begin(&json);
	for (size_t i = 0; i < trend->growing.len && i < page->limit; i++) {
		const struct trend_row *row = &trend->growing.data[i];
		json_object_begin(&json);
		json_put_string(&json, "kind", alloc_kind_name(row->row->sums.kind));
		put_values(&json, trend, row->values);
		json_put_stack(&json, row->row);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
}

static struct error *write_page(const struct trend_page *page, const struct sink *sink)
{
	if (page->options->json) {
		write_json(page, sink);
		return NULL;
	}
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	add_text(page, &out);
	if (out.failed)
		return error_no_memory();
	sink->write(sink->ctx, out.data, out.len);
	return NULL;
}

struct profiles {
	size_t count;
	struct profile of[TREND_MODELS_MAX];
};

static void profiles_deinit(struct profiles *profiles)
{
	for (size_t i = 0; i < profiles->count; i++)
		profile_deinit(&profiles->of[i]);
}

struct error *trend_view_write(const struct model *const *models, const char *const *labels,
	size_t count, bool same_recording, const struct view_options *options,
	const struct sink *sink)
{
	_cleanup_(profiles_deinit) struct profiles profiles = {.count = 0};
	_cleanup_(trend_deinit) struct trend trend;
	trend_init(&trend);
	struct match_side sides[TREND_MODELS_MAX];
	for (; profiles.count < count; profiles.count++) {
		size_t i = profiles.count;
		profile_init(&profiles.of[i]);
		struct error *error = profile_build(
			models[i], options->all_frames, options->filter, &profiles.of[i]);
		sides[i] = (struct match_side){models[i], profile_rows(&profiles.of[i])};
		if (error) {
			profile_deinit(&profiles.of[i]);
			return error;
		}
	}
	/* A place may be missing of some of them, not of all. */
	size_t left = 0;
	for (size_t i = 0; i < count; i++)
		left += profile_rows(&profiles.of[i])->rows.len;
	struct error *error =
		left || !count ? NULL
			       : filter_check_left(options->filter, &profiles.of[count - 1].all,
					 profile_rows(&profiles.of[count - 1]));
	if (error)
		return error;
	error = trend_build(sides, count, options->sort, same_recording, &trend);
	if (error)
		return error;
	size_t own_limit = options->json ? VIEW_NO_LIMIT : TEXT_ROWS;
	struct trend_page page = {
		.trend = &trend,
		.models = models,
		.labels = labels,
		.options = options,
		.limit = options->limit == VIEW_DEFAULT_LIMIT ? own_limit : options->limit,
	};
	return write_page(&page, sink);
}
