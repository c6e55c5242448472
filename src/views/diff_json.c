/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A comparison as JSON, schema "heapwise.diff/1" (docs/schema/diff-1.md: change both together).
 * Members are only ever added. */
#include "base/json.h"
#include "views/diff_page.h"
#include "views/json_parts.h"

static bool is_known(const struct diff_page *page, enum metric metric)
{
	return metric_is_known(metric, model_recording(page->models[0])) &&
	       metric_is_known(metric, model_recording(page->models[1]));
}

/* "change": {"older": 1, "newer": 2, "change": 1, "range": null, "within_error": false} */
static void put_figure(struct json *json, const char *key, const struct diff_figure *figure)
{
	json_key(json, key);
	json_object_begin(json);
	json_put_u64(json, "older", figure->base);
	json_put_u64(json, "newer", figure->value);
	json_key(json, "change");
	json_i64(json, figure->change);
	json_key(json, "range");
	if (figure->estimated) {
		json_array_begin(json);
		json_i64(json, figure->low);
		json_i64(json, figure->high);
		json_array_end(json);
	} else {
		json_null(json);
	}
	json_put_bool(json, "within_error", figure->within_error);
	json_object_end(json);
}

static void put_figures(struct json *json, const struct diff_page *page, const struct row *row)
{
	for (int i = 0; i < METRICS; i++) {
		enum metric metric = (enum metric)i;
		struct diff_figure figure;
		if (!is_known(page, metric)) {
			json_key(json, metric_name(metric));
			json_null(json);
			continue;
		}
		if (row)
			diff_of_row(page->diff, row, metric, &figure);
		else
			diff_of_totals(page->diff, metric, &figure);
		put_figure(json, metric_name(metric), &figure);
	}
}

static void put_sides(struct json *json, const struct diff_page *page)
{
	static const char *const keys[] = {"older", "newer"};
	for (int i = 0; i < 2; i++) {
		json_key(json, keys[i]);
		json_object_begin(json);
		json_put_string(json, "label", page->options->labels[i]);
		json_put_target(json, model_target(page->models[i]));
		json_put_recording(json, page->models[i], NULL);
		json_object_end(json);
	}
}

/* null: not known; of a thread also that it was not there. */
static void put_size(struct json *json, const char *key, bool known, uint64_t bytes)
{
	json_key(json, key);
	if (known)
		json_u64(json, bytes);
	else
		json_null(json);
}

static void put_stack(struct json *json, const struct stack_size *row)
{
	const struct thread *thread = row->newer ? row->newer : row->older;
	json_object_begin(json);
	json_put_string(json, "name", thread->name);
	json_put_u64(json, "tid", thread->tid);
	put_size(json, "older", row->older, row->older ? row->older->stack_bytes : 0);
	put_size(json, "newer", row->newer, row->newer ? row->newer->stack_bytes : 0);
	json_key(json, "change");
	json_i64(json, stack_size_change(row));
	json_object_end(json);
}

static void put_stacks(struct json *json, const struct diff_page *page)
{
	const struct stack_sizes *stacks = &page->diff->stacks;
	json_key(json, "stacks");
	json_object_begin(json);
	put_size(json, "older", stacks->older, stacks->older);
	put_size(json, "newer", stacks->newer, stacks->newer);
	json_key(json, "change");
	if (stack_sizes_known(stacks))
		json_i64(json, (int64_t)(stacks->newer - stacks->older));
	else
		json_null(json);
	json_key(json, "threads");
	json_array_begin(json);
	if (stack_sizes_known(stacks))
		for (size_t i = 0; i < stacks->rows.len; i++)
			put_stack(json, &stacks->rows.data[i]);
	json_array_end(json);
	json_object_end(json);
}

static void put_totals(struct json *json, const struct diff_page *page)
{
	json_key(json, "totals");
	json_object_begin(json);
	put_figures(json, page, NULL);
	json_object_end(json);
	put_stacks(json, page);
	json_key(json, "places");
	json_object_begin(json);
	for (int i = 0; i < DIFF_STATUSES; i++) {
		json_key(json, diff_status_name((enum diff_status)i));
		json_object_begin(json);
		json_put_u64(json, "count", page->diff->lists[i].len);
		json_key(json, "change");
		json_i64(json, page->diff->sums[i]);
		json_object_end(json);
	}
	json_object_end(json);
}

static void put_renames(struct json *json, const struct diff_page *page)
{
	const struct rename_vec *renames = &page->diff->match->renames;
	json_key(json, "renames");
	json_array_begin(json);
	for (size_t i = 0; i < renames->len; i++) {
		json_object_begin(json);
		json_put_bool(json, "moved", renames->data[i].moved);
		json_key(json, "from");
		json_put_frame(json, renames->data[i].from);
		json_key(json, "to");
		json_put_frame(json, renames->data[i].to);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_row(struct json *json, const struct diff_page *page, const struct row *row)
{
	json_object_begin(json);
	json_put_string(json, "status", diff_status_name(diff_status(page->diff, row)));
	json_put_string(json, "kind", alloc_kind_name(row->sums.kind));
	put_figures(json, page, row);
	json_put_stack(json, row);
	json_object_end(json);
}

struct error *diff_json(const struct diff_page *page, const struct sink *sink)
{
	const struct diff *diff = page->diff;
	struct json json;
	json_init(&json, sink->write, sink->ctx);
	json_object_begin(&json);
	json_put_string(&json, "schema", "heapwise.diff/1");
	put_sides(&json, page);
	json_put_string(&json, "metric", metric_name(diff->options.metric));
	json_put_bool(&json, "same_recording", diff->options.same_recording);
	json_put_bool(&json, "normalized", diff->options.normalize);
	json_put_filter(&json, page->options->view.filter);
	json_put_lines(&json, "verdict", &diff->verdict);
	json_put_lines(&json, "notes", &page->notes);
	put_totals(&json, page);
	put_renames(&json, page);
	json_key(&json, "rows");
	json_array_begin(&json);
	for (int status = 0; status < DIFF_SAME; status++)
		for (size_t i = 0; i < diff->lists[status].len && i < page->limit; i++)
			put_row(&json, page, diff->lists[status].data[i]);
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
	return NULL;
}
