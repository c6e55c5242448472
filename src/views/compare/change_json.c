/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What --base adds to a report as JSON (docs/schema/report-1.md: change both together). */
#include <string.h>

#include "base/util.h"
#include "views/compare/change_parts.h"
#include "views/compare/change_view.h"

void json_change_report(const struct page *page, struct json *json)
{
	const struct diff *diff = &page->compared.diff;
	json_key(json, "base");
	json_object_begin(json);
	json_put_older(page, json);
	json_object_end(json);
	json_key(json, "change");
	json_object_begin(json);
	json_put_bool(json, "same_recording", diff->options.same_recording);
	json_put_bool(json, "normalized", diff->options.normalize);
	json_put_lines(json, "verdict", &page->verdict);
	json_key(json, "totals");
	json_object_begin(json);
	json_change_figures(json, diff, NULL);
	json_object_end(json);
	json_change_renames(json, diff);
	json_object_end(json);
}

const char *change_status(uint64_t base, uint64_t value)
{
	return diff_status_name(base == value  ? DIFF_SAME
				: !base        ? DIFF_NEW
				: !value       ? DIFF_GONE
				: value > base ? DIFF_GROWN
					       : DIFF_SHRUNK);
}

static uint64_t value_at(const void *base, size_t offset)
{
	return *(const uint64_t *)(const void *)((const char *)base + offset);
}

static bool is_unknown(const struct change_members *members, size_t i)
{
	return members->sampled && strcmp(members->members[i].name, "temporary") == 0;
}

static void put_base(struct json *json, const struct change_members *members)
{
	for (size_t i = 0; members && i < members->count; i++) {
		if (is_unknown(members, i)) {
			json_key(json, members->members[i].name);
			json_null(json);
			continue;
		}
		json_put_members(json, &members->members[i], 1, members->base);
	}
}

static void put_change(struct json *json, const struct change_members *members)
{
	for (size_t i = 0; members && i < members->count; i++) {
		size_t offset = members->members[i].offset;
		json_key(json, members->members[i].name);
		if (is_unknown(members, i))
			json_null(json);
		else
			json_i64(json, (int64_t)(value_at(members->value, offset) -
						 value_at(members->base, offset)));
	}
}

void json_change_members(
	struct json *json, const char *status, const struct change_members *members)
{
	json_put_string(json, "status", status);
	json_key(json, "base");
	json_object_begin(json);
	put_base(json, members);
	json_object_end(json);
	json_key(json, "change");
	json_object_begin(json);
	put_change(json, members);
	json_object_end(json);
}

/* All metrics of one side, or the differences. */
static void put_metrics(
	struct json *json, const struct diff *diff, const struct row *row, bool change)
{
	for (int i = 0; i < METRICS; i++) {
		enum metric metric = (enum metric)i;
		json_key(json, metric_name(metric));
		if (!diff_knows(diff, metric))
			json_null(json);
		else if (change)
			json_i64(json, row_value(row, metric));
		else
			json_u64(json, metric_of_site(metric, &row->base));
	}
}

static void put_within_error(const struct page *page, const struct row *row, struct json *json)
{
	struct diff_figure figure;
	diff_of_row(&page->compared.diff, row, page->sort, &figure);
	json_put_bool(json, "within_error", figure.within_error);
}

void json_change_row(const struct page *page, const struct row *row, const char *status,
	const struct change_members *more, struct json *json)
{
	const struct diff *diff = &page->compared.diff;
	if (!status)
		status = diff_status_name(diff_status(diff, row));
	json_put_string(json, "status", status);
	put_within_error(page, row, json);
	json_key(json, "base");
	json_object_begin(json);
	put_metrics(json, diff, row, false);
	put_base(json, more);
	json_object_end(json);
	json_key(json, "change");
	json_object_begin(json);
	put_metrics(json, diff, row, true);
	put_change(json, more);
	json_object_end(json);
}

void json_change_spot(const struct page *page, const struct spot_total *total, struct json *json)
{
	static const char *const keys[] = {"base", "change"};
	const struct diff *diff = &page->compared.diff;
	json_put_string(json, "status", diff_status_name(diff_status(diff, &total->cum)));
	for (int change = 0; change < 2; change++) {
		json_key(json, keys[change]);
		json_object_begin(json);
		json_key(json, "flat");
		json_object_begin(json);
		put_metrics(json, diff, &total->flat, change);
		json_object_end(json);
		json_key(json, "cum");
		json_object_begin(json);
		put_metrics(json, diff, &total->cum, change);
		json_object_end(json);
		json_object_end(json);
	}
}
