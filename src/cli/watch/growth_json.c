/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/watch/growth_json.h"

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/watch/watch_members.h"

static void member_pages(struct json *json, const char *key, uint64_t pages)
{
	member_u64(json, key, pages * GROWTH_PAGE_BYTES);
}

void growth_json_begin(struct json *json, uint64_t pid)
{
	watch_json_head(json, "heapwise.growth/1");
	member_u64(json, "pid", pid);
	member_u64(json, "page_bytes", GROWTH_PAGE_BYTES);
	watch_json_intervals(json);
}

static void sums_write(struct json *json, const struct growth_sums *sums)
{
	member_bool(json, "has_ended", sums->has_ended);
	member_pages(json, "touched_bytes", sums->touched);
	if (sums->has_ended)
		return;
	member_pages(json, "unexplained_bytes", sums->unexplained);
	member_pages(json, "gone_bytes", sums->gone);
	member_pages(json, "resident_bytes", sums->pages);
	member_pages(json, "start_resident_bytes", sums->start_pages);
	member_pages(json, "rss_bytes", sums->counted);
	member_pages(json, "start_rss_bytes", sums->start_counted);
	member_pages(json, "swapped_bytes", sums->swapped);
}

static void losses_write(struct json *json, const struct growth_losses *losses)
{
	json_key(json, "lost");
	json_object_begin(json);
	member_u64(json, "pages_full", losses->pages);
	member_u64(json, "stacks_full", losses->stacks);
	member_u64(json, "threads_full", losses->threads);
	member_u64(json, "unwind_rows", losses->rows_missing);
	json_object_end(json);
	member_u64(json, "programs_executed", losses->programs);
	member_u64(json, "events", losses->events);
	member_u64(json, "events_with_incomplete_stacks", losses->incomplete);
}

static void pages_write(
	struct json *json, const struct growth_before *before, const struct growth_rank *rank)
{
	const struct growth_stack *stack = rank->stack;
	member_pages(json, "bytes", stack->pages);
	member_pages(json, "neighbour_bytes", stack->along_pages);
	member_pages(json, "file_bytes", stack->file_pages);
	if (before->looks)
		member_i64(json, "since_last_bytes",
			(int64_t)(stack->pages - growth_before_pages(before, rank->number)) *
				(int64_t)GROWTH_PAGE_BYTES);
}

static void calls_write(struct json *json, const struct growth_stack *stack)
{
	member_string(json, "call", stack->call);
	member_u64(json, "mapped_bytes", stack->more_bytes);
	member_u64(json, "mapped_calls", stack->more_calls);
	member_u64(json, "unmapped_bytes", stack->less_bytes);
	member_u64(json, "unmapped_calls", stack->less_calls);
}

/* `before` NULL: they changed mappings. */
static struct error *ranks_write(struct json *json, const struct growth *growth,
	struct watch_names *names, uint64_t top, const struct growth_before *before,
	const struct growth_ranks *ranks)
{
	struct error *error = NULL;
	json_array_begin(json);
	for (size_t i = 0; i < min(ranks->len, (size_t)top) && !error; i++) {
		const struct growth_stack *stack = ranks->data[i].stack;
		json_object_begin(json);
		member_u64(json, "stack", ranks->data[i].number);
		if (before)
			pages_write(json, before, &ranks->data[i]);
		else
			calls_write(json, stack);
		member_bool(json, "complete", !stack->is_incomplete);
		error = member_frames(
			json, names, growth_modules_get(growth), stack->frames, stack->frame_count);
		json_object_end(json);
	}
	json_array_end(json);
	return error;
}

struct error *growth_json_add(struct json *json, const struct growth *growth,
	struct watch_names *names, uint64_t top, struct growth_before *before,
	uint64_t wall_seconds)
{
	_cleanup_(growth_ranks_deinit) struct growth_ranks pages = {0};
	_cleanup_(growth_ranks_deinit) struct growth_ranks calls = {0};
	struct error *error = growth_rank_pages(growth, &pages);
	if (!error)
		error = growth_rank_calls(growth, &calls);
	if (error)
		return error;
	json_object_begin(json);
	member_u64(json, "time", wall_seconds);
	sums_write(json, growth_sums_get(growth));
	losses_write(json, growth_losses_get(growth));
	json_key(json, "touched");
	error = ranks_write(json, growth, names, top, before, &pages);
	json_key(json, "mapped");
	if (!error)
		error = ranks_write(json, growth, names, top, NULL, &calls);
	else
		json_u64(json, 0);
	json_object_end(json);
	return error ? error : growth_before_note(before, growth);
}
