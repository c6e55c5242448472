/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/watch/watch_json.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/util.h"

/* Estimates are whole numbers, too. */
static void member_count(struct json *json, const char *key, double value)
{
	json_key(json, key);
	json_i64(json, llround(value));
}

void watch_json_begin(
	struct json *json, const struct watch *watch, uint64_t pid, const struct watch_shown *shown)
{
	size_t functions, files;
	watch_probes(watch, &functions, &files);
	watch_json_head(json, "heapwise.watch/1");
	if (watch_is_kernel(watch))
		member_bool(json, "kernel", true);
	else
		member_u64(json, "pid", pid);
	member_bool(json, "exact", !shown->is_sampled);
	if (shown->mean_bytes)
		member_u64(json, "sample_bytes", shown->mean_bytes);
	member_string(json, "way", watch_way_name(watch));
	member_u64(json, "probed_functions", functions);
	watch_json_intervals(json);
}

static void verdict_write(struct json *json, const struct watch_verdict *verdict)
{
	member_count(json, "leaked_bytes", verdict->leaked.bytes);
	member_count(json, "leaked_blocks", verdict->leaked.blocks);
	member_count(json, "referenced_bytes", verdict->referenced.bytes);
	member_count(json, "referenced_blocks", verdict->referenced.blocks);
	member_count(json, "unjudged_bytes", verdict->unjudged.bytes);
	member_count(json, "unjudged_blocks", verdict->unjudged.blocks);
}

/* What verdicts rest on, and their sums. */
static void verify_write(struct json *json, const struct watch_verify *verify)
{
	if (!verify)
		return;
	json_key(json, "verified");
	json_object_begin(json);
	member_string(json, "problem", verify->problem);
	if (!verify->problem) {
		member_string(json, "way", verify->is_copy ? "copy" : "stopped");
		member_u64(json, "pause_ns", verify->pause_ns);
		member_u64(json, "unread_bytes", verify->unread_bytes);
		verdict_write(json, &verify->total);
	}
	json_object_end(json);
}

static struct error *stack_write(struct json *json, const struct watch *watch,
	struct watch_names *names, const struct watch_shown *shown,
	const struct watch_before *before, const struct watch_rank *rank)
{
	const struct watch_stack *stack = rank->stack;
	json_object_begin(json);
	member_u64(json, "stack", rank->number);
	member_string(json, "allocator", stack->function);
	member_bool(json, "mapping", stack->is_mapping);
	member_count(json, "live_bytes", rank->bytes);
	member_count(json, "live_blocks", rank->blocks);
	member_u64(json, "live_samples", stack->live_samples);
	if (before->looks) {
		member_count(json, "since_last_bytes",
			rank->bytes - watch_before_bytes(&before->last, rank->number));
		member_count(json, "since_first_bytes",
			rank->bytes - watch_before_bytes(&before->first, rank->number));
	}
	member_count(json, "allocated_bytes", stack->all_bytes);
	member_count(json, "allocated_blocks", stack->all_blocks);
	member_count(json, "freed_bytes", stack->freed_bytes);
	member_count(json, "freed_blocks", stack->freed_blocks);
	if (shown->verify && !shown->verify->problem)
		verdict_write(json, &shown->verify->by_stack.data[rank->number]);
	member_bool(json, "complete", !stack->is_incomplete);
	struct error *error =
		member_frames(json, names, watch_is_kernel(watch) ? NULL : watch_modules_get(watch),
			stack->frames, stack->frame_count);
	json_object_end(json);
	return error;
}

static void losses_write(struct json *json, const struct watch *watch)
{
	const struct watch_losses *losses = watch_losses_get(watch);
	json_key(json, "lost");
	json_object_begin(json);
	member_u64(json, "blocks_full", losses->blocks);
	member_u64(json, "stacks_full", losses->stacks);
	member_u64(json, "threads_full", losses->threads);
	member_u64(json, "events", losses->events);
	member_u64(json, "may_throw", losses->throwing);
	member_u64(json, "unwind_rows", losses->rows_missing);
	member_u64(json, "frees_unseen", losses->replaced);
	if (watch_is_kernel(watch) && losses->skipped_is_known) {
		member_u64(json, "skipped", losses->skipped);
	} else if (watch_is_kernel(watch)) {
		json_key(json, "skipped");
		json_null(json);
	}
	json_object_end(json);
	member_u64(json, "failed_allocations", losses->failed);
	member_u64(json, "programs_executed", losses->programs);
	member_u64(json, "samples", losses->samples);
	member_u64(json, "samples_with_incomplete_stacks", losses->incomplete);
}

struct error *watch_json_add(struct json *json, const struct watch *watch,
	struct watch_names *names, const struct watch_shown *shown, struct watch_before *before,
	uint64_t wall_seconds)
{
	_cleanup_(watch_ranks_deinit) struct watch_ranks ranks = {0};
	struct error *error = watch_rank_stacks(watch, shown, &ranks);
	double bytes = 0, blocks = 0;
	if (error)
		return error;
	for (size_t i = 0; i < ranks.len; i++) {
		bytes += ranks.data[i].bytes;
		blocks += ranks.data[i].blocks;
	}
	json_object_begin(json);
	member_u64(json, "time", wall_seconds);
	member_count(json, "live_bytes", bytes);
	member_count(json, "live_blocks", blocks);
	member_u64(json, "stacks_with_blocks", ranks.len);
	losses_write(json, watch);
	verify_write(json, shown->verify);
	json_key(json, "stacks");
	json_array_begin(json);
	for (size_t i = 0; i < min(ranks.len, (size_t)shown->top) && !error; i++)
		error = stack_write(json, watch, names, shown, before, &ranks.data[i]);
	json_array_end(json);
	json_object_end(json);
	return error ? error : watch_before_note(before, watch, shown);
}
