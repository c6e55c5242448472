/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/report/json_parts.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "analysis/folding.h"
#include "base/cleanup.h"
#include "base/util.h"

void json_put_u64(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

/* 0 is not known: null. */
static void json_put_known(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	if (value)
		json_u64(json, value);
	else
		json_null(json);
}

void json_put_bool(struct json *json, const char *key, bool value)
{
	json_key(json, key);
	json_bool(json, value);
}

void json_put_string(struct json *json, const char *key, const char *value)
{
	json_key(json, key);
	if (value)
		json_string(json, value);
	else
		json_null(json);
}

void json_put_hexadecimal(struct json *json, const char *key, uint64_t value, bool known)
{
	char text[2 + 16 + 1];
	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	json_put_string(json, key, known ? text : NULL);
}

void json_put_lines(struct json *json, const char *key, const struct text *text)
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

/* A string, "0x…"; null if it is not known. */
static void put_hexadecimal(struct json *json, const char *key, uint64_t value, bool known)
{
	char text[2 + 16 + 1];
	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	json_put_string(json, key, known ? text : NULL);
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
		json_put_u64(json, "code", (uint64_t)target->exit_value);
		break;
	case EXIT_KIND_SIGNAL:
		json_put_u64(json, "signal", (uint64_t)target->exit_value);
		break;
	case EXIT_KIND_RUNNING:
		json_put_bool(json, "running", true);
		break;
	default:
		json_put_bool(json, "exec", true);
	}
	json_object_end(json);
}

void json_put_target(struct json *json, const struct target *target)
{
	json_key(json, "target");
	json_object_begin(json);
	json_key(json, "command");
	json_array_begin(json);
	for (size_t i = 0; i < target->command_len; i++)
		json_string(json, target->command[i]);
	json_array_end(json);
	json_put_string(json, "exe", target->exe);
	json_put_string(json, "cwd", target->cwd);
	json_put_string(json, "host", target->host);
	/* A process that has no number is one of which a file of another tool says nothing. */
	void (*put)(struct json *, const char *, uint64_t) =
		target->pid ? json_put_u64 : json_put_known;
	put(json, "pid", target->pid);
	put(json, "ppid", target->ppid);
	put(json, "outer_pid", target->outer_pid);
	put(json, "outer_ppid", target->outer_ppid);
	put(json, "wall_start_ns", target->wall_start_ns);
	put_exit(json, target);
	json_object_end(json);
}

void json_put_members(
	struct json *json, const struct json_member *members, size_t count, const void *base)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value;
		memcpy(&value, (const char *)base + members[i].offset, sizeof(value));
		json_put_u64(json, members[i].name, value);
	}
}

void json_put_known_members(
	struct json *json, const struct json_member *members, size_t count, const void *base)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value;
		memcpy(&value, (const char *)base + members[i].offset, sizeof(value));
		json_put_known(json, members[i].name, value);
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
		json_put_u64(json, "pid", one->pid);
		json_put_u64(json, "start_ns", one->start_ns);
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
		json_put_string(json, "program", group->path);
		json_put_string(json, "reason", unrecorded_reason_key(group->reason));
		json_put_bool(json, "itself", group->itself);
		json_put_u64(json, "count", group->count);
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
			json_put_u64(json, reasons[why], recording->lost[why]);
	}
	json_object_end(json);
}

/* "range": {…}; null: all of it */
static void put_range(struct json *json, const struct range *range)
{
	json_key(json, "range");
	if (!range->part) {
		json_null(json);
		return;
	}
	json_object_begin(json);
	json_put_string(json, "from", range->from);
	json_put_string(json, "to", range->to);
	json_put_u64(json, "from_ns", range->from_ns);
	json_put_u64(json, "to_ns", range->to_ns);
	json_object_end(json);
}

void json_put_recording(
	struct json *json, const struct model *model, const struct unrecorded_groups *unrecorded)
{
#define MEMBER(name)                                                                               \
	{                                                                                          \
#name, offsetof(struct recording, name)                                            \
	}
	static const struct json_member members[] = {
		MEMBER(events),
		MEMBER(lost_events),
		MEMBER(duration_ns),
		MEMBER(repairs),
	};
	/* Of events that another tool wrote this is counted, not taken over. */
	static const struct json_member of_events[] = {MEMBER(unknown_frees)};
	static const struct json_member others[] = {
		MEMBER(inherited_frees),
		MEMBER(mismatched_frees),
		MEMBER(stacks_full),
		MEMBER(children_unrecorded),
		MEMBER(marks),
		MEMBER(longest_wait_ns),
		MEMBER(wait_ns),
		MEMBER(dropped_steps),
		MEMBER(kept_steps),
		MEMBER(kept_from_ns),
		MEMBER(kept_until_ns),
	};
#undef MEMBER
	const struct recording *recording = model_recording(model);
	json_key(json, "recording");
	json_object_begin(json);
	json_put_string(json, "file", recording->path);
	json_put_string(json, "source", recording->source);
	json_put_bool(json, "snapshot", recording->snapshot);
	json_key(json, "resident_peak_bytes");
	if (recording->resident_peak_bytes)
		json_u64(json, recording->resident_peak_bytes);
	else
		json_null(json);
	json_put_u64(json, "merged", recording->merged);
	json_put_string(json, "mode", recording->mode);
	json_put_u64(json, "sample_bytes", recording->sample_bytes);
	json_put_string(json, "writer", recording->writer);
	json_put_bool(json, "complete", recording->complete);
	static const char *const ways[] = {
		[READ_FOOTER] = "footer", [READ_REPLAY] = "replay", [READ_SUMS] = "sums"};
	json_put_string(json, "read", ways[recording->read_way]);
	/* What other tools' files do not count is not 0 by that. */
	bool own = strcmp(recording->source, "recording") == 0;
	bool counted = own || recording->read_way == READ_REPLAY;
	(own ? json_put_members : json_put_known_members)(
		json, members, ARRAY_SIZE(members), recording);
	(counted ? json_put_members : json_put_known_members)(json, of_events, 1, recording);
	(own ? json_put_members : json_put_known_members)(
		json, others, ARRAY_SIZE(others), recording);
	put_range(json, &recording->range);
	json_put_string(json, "blocks", recording->blocks);
	put_lost(json, recording);
	json_put_bool(json, "own_malloc", recording->own_malloc);
	json_put_bool(json, "sandboxed", recording->sandboxed);
	json_put_bool(json, "loaded_apart", recording->loaded_apart);
	json_put_bool(json, "not_attached", recording->not_attached);
	if (unrecorded)
		put_unrecorded(json, model, unrecorded);
	json_key(json, "damage");
	json_array_begin(json);
	size_t count;
	const char *const *damage = model_damage(model, &count);
	for (size_t i = 0; i < count; i++)
		json_string(json, damage[i]);
	json_array_end(json);
	json_object_end(json);
}

void json_put_filter(struct json *json, const struct filter *filter)
{
	_cleanup_(text_deinit) struct text options;
	text_init(&options);
	if (filter_is_given(filter))
		filter_add_options(filter, &options);
	json_put_string(json, "filter", options.data);
}

void json_put_stack(struct json *json, const struct row *row)
{
	json_put_u64(json, "merged_stacks", row->stacks);
	json_put_bool(json, "partial", row->partial);
	json_put_bool(json, "truncated", row->cut != MARK_NONE);
	json_put_string(json, "truncated_reason", stack_mark_cut(row->cut));
	json_put_bool(json, "guessed", row->guessed);
	json_put_frames(json, row->frames, row->depth, row_is_own_doing(row));
}

static void put_frame_members(struct json *json, const struct shown_frame *frame)
{
	bool signal = frame->mark == MARK_SIGNAL;
	json_put_string(json, "function", signal ? SIGNAL_FRAME_NAME : frame->function);
	json_put_string(json, "short", frame->brief);
	json_put_string(json, "file", frame->file);
	json_key(json, "line");
	if (frame->file)
		json_u64(json, frame->line);
	else
		json_null(json);
	json_put_string(json, "module", frame->module_path);
	json_put_bool(json, "inlined", frame->inlined);
	put_hexadecimal(json, "address", frame->address - frame->names_call, frame->address);
	put_hexadecimal(json, "offset", frame->offset,
		frame->module && !frame->unplaced && (frame->offset || !frame->given));
}

void json_put_frame(struct json *json, const struct shown_frame *frame)
{
	json_object_begin(json);
	put_frame_members(json, frame);
	json_object_end(json);
}

void json_put_frames(
	struct json *json, const struct shown_frame *const *frames, size_t depth, bool own_doing)
{
	struct folding folding;
	folding_init(&folding, frames, depth, own_doing);
	json_key(json, "stack");
	json_array_begin(json);
	for (size_t i = 0; i < depth; i++) {
		if (frames[i]->mark != MARK_NONE && frames[i]->mark != MARK_SIGNAL)
			continue;
		bool folded = folding_hides(&folding, i);
		uint64_t number = (uint64_t)(uintptr_t)frames[i] << 1 | folded;
		if (json_again(json, number))
			continue;
		json_object_begin(json);
		put_frame_members(json, frames[i]);
		json_put_bool(json, "folded", folded);
		json_object_end(json);
		json_keep(json, number);
	}
	json_array_end(json);
}
