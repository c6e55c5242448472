/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/trend.h"

#include <stdlib.h>

#include "analysis/diff.h"
#include "base/cleanup.h"
#include "base/util.h"

void trend_init(struct trend *trend)
{
	*trend = (struct trend){.match = NULL};
	rows_init(&trend->rows);
	text_init(&trend->verdict);
}

void trend_deinit(struct trend *trend)
{
	match_destroy(trend->match);
	rows_deinit(&trend->rows);
	trend_row_vec_deinit(&trend->growing);
	text_deinit(&trend->verdict);
	free(trend->values);
}

static bool grows_steadily(const uint64_t *values, size_t count)
{
	size_t grown = 0;
	for (size_t i = 1; i < count; i++) {
		if (values[i] < values[i - 1])
			return false;
		grown += values[i] > values[i - 1];
	}
	return grown * 2 > count - 1;
}

static struct error *fill_values(struct trend *trend)
{
	const struct match *match = trend->match;
	trend->values = calloc(match_groups(match) * trend->count + 1, sizeof(*trend->values));
	if (!trend->values)
		return error_no_memory();
	for (size_t i = 0; i < match->members.len; i++) {
		const struct match_member *member = &match->members.data[i];
		trend->values[member->group * trend->count + member->side] +=
			metric_of_site(trend->metric, member->row->sums);
	}
	return NULL;
}

static uint64_t trend_growth(const struct trend_row *row, size_t count)
{
	return row->values[count - 1] - row->values[0];
}

static int trend_compare_rows(const void *left, const void *right, void *ctx)
{
	const struct trend_row *a = left, *b = right;
	const size_t *count = ctx;
	if (trend_growth(a, *count) != trend_growth(b, *count))
		return trend_growth(a, *count) > trend_growth(b, *count) ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

/* What libraries keep for themselves is no growth: a stack is theirs at all steps, or at none. */
static void leave_libraries(struct trend *trend)
{
	for (size_t i = 0; i < trend->rows.rows.len && metric_is_of_live(trend->metric); i++) {
		const uint64_t *values = &trend->values[i * trend->count];
		for (size_t k = 0; trend->rows.rows.data[i].library && k < trend->count; k++) {
			trend->without_libraries |= values[k] != 0;
			trend->totals[k] -= min(values[k], trend->totals[k]);
		}
	}
}

static struct error *pick_growing(struct trend *trend)
{
	for (size_t i = 0; i < trend->rows.rows.len; i++) {
		struct trend_row row = {
			&trend->rows.rows.data[i], &trend->values[i * trend->count]};
		if (row.row->library && metric_is_of_live(trend->metric))
			continue;
		if (grows_steadily(row.values, trend->count) &&
			!trend_row_vec_push(&trend->growing, row))
			return error_no_memory();
	}
	if (trend->growing.len)
		qsort_r(trend->growing.data, trend->growing.len, sizeof(*trend->growing.data),
			trend_compare_rows, &trend->count);
	return NULL;
}

/* "live_bytes grows steadily: 1 MiB, 2 MiB, 3 MiB." */
static void trend_describe(struct trend *trend)
{
	struct text *out = &trend->verdict;
	text_printf(out, "%s %s: ", metric_name(trend->metric),
		trend->total_grows ? "grows steadily" : "does not grow steadily");
	for (size_t i = 0; i < trend->count; i++) {
		text_add(out, i ? " → " : "");
		diff_add_value(out, trend->metric, trend->totals[i]);
	}
	text_add(out, ".\n");
	if (trend->without_libraries)
		text_add(out, "What libraries keep for themselves is not counted.\n");
	uint64_t sum = 0;
	for (size_t i = 0; i < trend->growing.len; i++)
		sum += trend_growth(&trend->growing.data[i], trend->count);
	if (!trend->growing.len) {
		text_add(out, "No allocation site grows steadily.\n");
		return;
	}
	text_add_count(out, trend->growing.len);
	text_add(out, trend->growing.len == 1 ? " allocation site grows steadily, by "
					      : " allocation sites grow steadily, together by ");
	diff_add_value(out, trend->metric, sum);
	text_add(out, ".\n");
}

struct error *trend_build(const struct match_side *sides, size_t count, enum metric metric,
	bool same_recording, struct trend *ret)
{
	ret->metric = metric;
	ret->count = count;
	for (size_t i = 0; i < count; i++)
		ret->totals[i] = metric_of_totals(metric, model_totals(sides[i].model));
	struct error *error = match_create(sides, count, same_recording, &ret->match);
	if (!error)
		error = match_rows(ret->match, 0, &ret->rows);
	if (!error)
		error = fill_values(ret);
	if (!error) {
		leave_libraries(ret);
		ret->total_grows = grows_steadily(ret->totals, count);
		error = pick_growing(ret);
	}
	if (error)
		return error;
	trend_describe(ret);
	error = match_note_unnamed(ret->match, &ret->verdict);
	return error ? error : ret->verdict.failed ? error_no_memory() : NULL;
}
