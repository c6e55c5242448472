/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A comparison as JSON, schema "heapwise.diff/1" (docs/schema/diff-1.md: change both together).
 * Members are only ever added. */
#include "base/util.h"
#include "views/compare/change_parts.h"
#include "views/compare/diff_page.h"
#include "views/report/json_parts.h"

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

static void put_stack(struct json *json, const struct thread_pair *row)
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

/* What libraries keep for themselves, and the totals without that: as sentences and limits go. */
static void put_libraries(struct json *json, const struct diff *diff)
{
	static const enum metric metrics[] = {METRIC_LIVE_BYTES, METRIC_LIVE_BLOCKS};
	json_key(json, "libraries");
	json_object_begin(json);
	for (int side = 0; side < 2; side++) {
		const struct site *kept = side ? &diff->kept_newer : &diff->kept_older;
		json_key(json, side ? "newer" : "older");
		json_object_begin(json);
		json_put_u64(json, "blocks", kept->live_blocks);
		json_put_u64(json, "bytes", kept->live_bytes);
		json_object_end(json);
	}
	json_object_end(json);
	json_key(json, "without_libraries");
	json_object_begin(json);
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++)
		json_change_of_program(json, diff, metrics[i]);
	json_object_end(json);
}

static void put_totals(struct json *json, const struct diff_page *page)
{
	json_key(json, "totals");
	json_object_begin(json);
	json_change_figures(json, page->diff, NULL);
	json_object_end(json);
	put_libraries(json, page->diff);
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

static void put_row(struct json *json, const struct diff_page *page, const struct row *row)
{
	json_object_begin(json);
	json_put_string(json, "status", diff_status_name(diff_status(page->diff, row)));
	json_put_string(json, "kind", alloc_kind_name(row->sums.kind));
	json_put_string(json, "library", row->library);
	json_change_figures(json, page->diff, row);
	json_put_stack(json, row);
	json_object_end(json);
}

struct error *diff_json(const struct diff_page *page, const struct sink *sink)
{
	const struct diff *diff = page->diff;
	struct json json;
	json_init(&json, sink->write, sink->ctx);
	json_repeats_begin(&json);
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
	json_change_renames(&json, diff);
	json_key(&json, "rows");
	json_array_begin(&json);
	for (int status = 0; status < DIFF_SAME; status++)
		for (size_t i = 0; i < diff->lists[status].len && i < page->limit; i++)
			put_row(&json, page, diff->lists[status].data[i]);
	for (size_t i = 0; i < diff->libraries.len && i < page->limit; i++)
		put_row(&json, page, diff->libraries.data[i]);
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
	json_repeats_end(&json);
	return NULL;
}
