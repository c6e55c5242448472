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
#include "views/page.h"

static void put_u64(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

static void put_bool(struct json *json, const char *key, bool value)
{
	json_key(json, key);
	json_bool(json, value);
}

/* NULL gives null. */
static void put_string(struct json *json, const char *key, const char *value)
{
	json_key(json, key);
	if (value)
		json_string(json, value);
	else
		json_null(json);
}

/* A string, "0x…"; null if it is not known. */
static void put_hexadecimal(struct json *json, const char *key, uint64_t value, bool known)
{
	char text[2 + 16 + 1];
	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	put_string(json, key, known ? text : NULL);
}

/* An array of the lines of a text. */
static void put_lines(struct json *json, const char *key, const struct text *text)
{
	json_key(json, key);
	json_array_begin(json);
	for (size_t at = 0; at < text->len;) {
		const char *line = text->data + at;
		const char *newline = memchr(line, '\n', text->len - at);
		size_t len = newline ? (size_t)(newline - line) : text->len - at;
		json_string_n(json, line, len);
		at += len + 1;
	}
	json_array_end(json);
}

static void put_exit(struct json *json, const struct target *target)
{
	json_key(json, "exit");
	if (target->exit_kind == EXIT_KIND_UNKNOWN) {
		json_null(json);
		return;
	}
	json_object_begin(json);
	switch (target->exit_kind) {
	case EXIT_KIND_STATUS:
		put_u64(json, "code", (uint64_t)target->exit_value);
		break;
	case EXIT_KIND_SIGNAL:
		put_u64(json, "signal", (uint64_t)target->exit_value);
		break;
	default:
		put_bool(json, "exec", true);
	}
	json_object_end(json);
}

static void put_target(struct json *json, const struct target *target)
{
	json_key(json, "target");
	json_object_begin(json);
	json_key(json, "command");
	json_array_begin(json);
	for (size_t i = 0; i < target->command_len; i++)
		json_string(json, target->command[i]);
	json_array_end(json);
	put_string(json, "exe", target->exe);
	put_string(json, "cwd", target->cwd);
	put_string(json, "host", target->host);
	put_u64(json, "pid", target->pid);
	put_u64(json, "ppid", target->ppid);
	put_u64(json, "outer_pid", target->outer_pid);
	put_u64(json, "outer_ppid", target->outer_ppid);
	put_u64(json, "wall_start_ns", target->wall_start_ns);
	put_exit(json, target);
	json_object_end(json);
}

/* Counters by their member's name. */
struct member {
	const char *name;
	size_t offset;
};

static void put_members(
	struct json *json, const struct member *members, size_t count, const void *base)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value;
		memcpy(&value, (const char *)base + members[i].offset, sizeof(value));
		put_u64(json, members[i].name, value);
	}
}

static void put_unrecorded_processes(
	struct json *json, const struct model *model, const struct unrecorded_group *group)
{
	size_t count;
	const struct unrecorded_program *programs = model_unrecorded(model, &count);
	json_key(json, "processes");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++) {
		const struct unrecorded_program *one = &programs[i];
		if (one->reason != group->reason || strcmp(one->path, group->path) != 0 ||
			(one->pid == model_target(model)->pid) != group->itself)
			continue;
		json_object_begin(json);
		put_u64(json, "pid", one->pid);
		put_u64(json, "start_ns", one->start_ns);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_unrecorded(
	struct json *json, const struct model *model, const struct unrecorded_groups *groups)
{
	json_key(json, "unrecorded");
	json_array_begin(json);
	for (size_t i = 0; i < groups->len; i++) {
		const struct unrecorded_group *group = &groups->data[i];
		json_object_begin(json);
		put_string(json, "program", group->path);
		put_string(json, "reason", unrecorded_reason_key(group->reason));
		put_bool(json, "itself", group->itself);
		put_u64(json, "count", group->count);
		put_unrecorded_processes(json, model, group);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_lost(struct json *json, const struct recording *recording)
{
	static const char *const reasons[LOST_REASONS] = {
		[LOST_STALLED] = "stalled",
		[LOST_IN_HANDLER] = "in_handler",
		[LOST_SAMPLED] = "sampled",
		[LOST_HELD] = "held",
		[LOST_REALLOC_FAILED] = "realloc_failed",
		[LOST_SAMPLER] = "sampler",
		[LOST_OWNERLESS] = "ownerless",
		[LOST_DAMAGED] = "damaged",
		[LOST_NO_MEMORY] = "no_memory",
	};
	json_key(json, "lost");
	json_object_begin(json);
	for (unsigned why = 0; why < LOST_REASONS; why++) {
		if (recording->lost[why])
			put_u64(json, reasons[why], recording->lost[why]);
	}
	json_object_end(json);
}

static void put_recording(struct json *json, const struct page *page)
{
#define MEMBER(name)                                                                               \
	{                                                                                          \
#name, offsetof(struct recording, name)                                            \
	}
	static const struct member members[] = {
		MEMBER(events),
		MEMBER(lost_events),
		MEMBER(duration_ns),
		MEMBER(repairs),
		MEMBER(unknown_frees),
		MEMBER(inherited_frees),
		MEMBER(mismatched_frees),
		MEMBER(stacks_full),
		MEMBER(children_unrecorded),
		MEMBER(longest_wait_ns),
		MEMBER(wait_ns),
		MEMBER(dropped_steps),
		MEMBER(kept_steps),
		MEMBER(kept_from_ns),
		MEMBER(kept_until_ns),
	};
#undef MEMBER
	const struct recording *recording = model_recording(page->model);
	json_key(json, "recording");
	json_object_begin(json);
	put_string(json, "file", recording->path);
	put_string(json, "mode", recording->mode);
	put_u64(json, "sample_bytes", recording->sample_bytes);
	put_string(json, "writer", recording->writer);
	put_bool(json, "complete", recording->complete);
	put_string(json, "read", recording->read_way == READ_FOOTER ? "footer" : "replay");
	put_members(json, members, ARRAY_SIZE(members), recording);
	put_lost(json, recording);
	put_bool(json, "own_malloc", recording->own_malloc);
	put_bool(json, "sandboxed", recording->sandboxed);
	put_bool(json, "loaded_apart", recording->loaded_apart);
	put_bool(json, "not_attached", recording->not_attached);
	put_unrecorded(json, page->model, &page->unrecorded);
	json_key(json, "damage");
	json_array_begin(json);
	size_t count;
	const char *const *damage = model_damage(page->model, &count);
	for (size_t i = 0; i < count; i++)
		json_string(json, damage[i]);
	json_array_end(json);
	json_object_end(json);
}

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
 * figures are no estimates. */
static void put_ranges(struct json *json, const struct page *page, const struct site *site)
{
	const struct recording *recording = model_recording(page->model);
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
	}
	json_object_end(json);
}

static void put_totals(struct json *json, const struct page *page)
{
#define MEMBER(name, member)                                                                       \
	{                                                                                          \
		name, offsetof(struct totals, member)                                              \
	}
	static const struct member members[] = {
		MEMBER("allocations", allocations),
		MEMBER("allocated_bytes", allocated_bytes),
		MEMBER("frees", frees),
		MEMBER("failed", failed),
		MEMBER("live_blocks_at_end", live_blocks),
		MEMBER("live_bytes_at_end", live_bytes),
		MEMBER("temporary", temporary),
		MEMBER("peak_bytes", peak_bytes),
		MEMBER("peak_blocks", peak_blocks),
		MEMBER("peak_time_ns", peak_time_ns),
		MEMBER("threads", threads),
	};
#undef MEMBER
	json_key(json, "totals");
	json_object_begin(json);
	put_members(json, members, ARRAY_SIZE(members), model_totals(page->model));
	put_ranges(json, page, NULL);
	json_object_end(json);
}

static void put_frame(struct json *json, const struct shown_frame *frame)
{
	json_object_begin(json);
	bool signal = frame->mark == MARK_SIGNAL;
	put_string(json, "function", signal ? SIGNAL_FRAME_NAME : frame->function);
	put_string(json, "file", frame->file);
	json_key(json, "line");
	if (frame->file)
		json_u64(json, frame->line);
	else
		json_null(json);
	put_string(json, "module", frame->module_path);
	put_bool(json, "inlined", frame->inlined);
	put_hexadecimal(json, "address", frame->address, frame->address);
	put_hexadecimal(json, "offset", frame->offset, frame->module);
	json_object_end(json);
}

static void put_row(struct json *json, const struct page *page, const struct row *row)
{
#define MEMBER(name)                                                                               \
	{                                                                                          \
#name, offsetof(struct site, name)                                                 \
	}
	static const struct member members[] = {
		MEMBER(allocations),
		MEMBER(allocated_bytes),
		MEMBER(live_blocks),
		MEMBER(live_bytes),
		MEMBER(peak_blocks),
		MEMBER(peak_bytes),
		MEMBER(temporary),
		MEMBER(failed),
		MEMBER(min_size),
		MEMBER(max_size),
	};
#undef MEMBER
	json_object_begin(json);
	put_string(json, "kind", alloc_kind_name(row->sums.kind));
	put_members(json, members, ARRAY_SIZE(members), &row->sums);
	put_ranges(json, page, &row->sums);
	put_bool(json, "fits_on_stack", row->fits_on_stack);
	put_u64(json, "merged_stacks", row->stacks);
	put_bool(json, "partial", row->partial);
	put_bool(json, "truncated", row->cut != MARK_NONE);
	put_string(json, "truncated_reason", stack_mark_cut(row->cut));
	put_bool(json, "guessed", row->guessed);
	json_key(json, "stack");
	json_array_begin(json);
	for (size_t i = 0; i < row->depth; i++)
		if (row->frames[i]->mark == MARK_NONE || row->frames[i]->mark == MARK_SIGNAL)
			put_frame(json, row->frames[i]);
	json_array_end(json);
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
	put_string(json, "from", inherited->from);
	put_u64(json, "blocks", inherited->blocks);
	put_u64(json, "bytes", inherited->bytes);
	put_u64(json, "generations", inherited->generations);
	put_bool(json, "at_most", inherited->at_most);
	json_object_end(json);
}

void json_summary(const struct page *page, struct json *json)
{
	put_lines(json, "verdict", &page->summary.verdict);
	put_inherited(json, model_inherited(page->model));
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
	put_u64(json, "sites_total", page->list.len);
	put_rows(json, page, "sites", &page->list, page->limit);
}

void json_inherited(const struct page *page, struct json *json)
{
	put_inherited(json, model_inherited(page->model));
	json_sites(page, json);
}

void json_sizes(const struct page *page, struct json *json)
{
	json_key(json, "sizes");
	json_array_begin(json);
	for (size_t i = 0; i < page->sizes.len && i < page->limit; i++) {
		struct size_count row = page->sizes.data[i];
		json_object_begin(json);
		put_u64(json, "size", row.size);
		put_u64(json, "allocations", row.allocations);
		put_u64(json, "bytes", row.size * row.allocations);
		json_object_end(json);
	}
	json_array_end(json);
}

void json_threads(const struct page *page, struct json *json)
{
#define MEMBER(name)                                                                               \
	{                                                                                          \
#name, offsetof(struct thread, name)                                               \
	}
	static const struct member members[] = {
		MEMBER(allocations),
		MEMBER(allocated_bytes),
		MEMBER(frees),
		MEMBER(temporary),
		MEMBER(first_ns),
		MEMBER(last_ns),
	};
#undef MEMBER
	json_key(json, "threads");
	json_array_begin(json);
	for (size_t i = 0; i < page->threads.len && i < page->limit; i++) {
		const struct thread *row = page->threads.data[i];
		json_object_begin(json);
		put_u64(json, "tid", row->tid);
		put_string(json, "name", row->name);
		put_members(json, members, ARRAY_SIZE(members), row);
		put_bool(json, "ended", row->ended);
		json_object_end(json);
	}
	json_array_end(json);
}

struct error *json_report(const struct page *page, const struct sink *sink)
{
	struct json json;
	json_init(&json, sink->write, sink->ctx);
	json_object_begin(&json);
	put_string(&json, "schema", "heapwise.report/1");
	put_string(&json, "view", page->view->name);
	put_target(&json, model_target(page->model));
	put_recording(&json, page);
	put_totals(&json, page);
	put_lines(&json, "notes", &page->notes);
	put_string(&json, "sorted_by", metric_name(page->sort));
	page->view->json(page, &json);
	json_object_end(&json);
	json_finish(&json);
	return NULL;
}
