/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The view errors: what a checker found beside leaks, in its order, with all stacks that it tells.
 */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "model/errors.h"
#include "views/report/errors.h"
#include "views/report/json_parts.h"
#include "views/report/page.h"
#include "views/report/text_parts.h"

#define WHAT_MOST 400u

bool errors_frames(const struct errors_shown *errors, uint32_t stack, struct frame_vec *ret)
{
	struct error *error =
		resolver_stack(errors->resolver, (struct stack_id){stack}, KIND_UNKNOWN, ret);
	error_destroy(error);
	return !error;
}

static uint64_t count_all(const struct program_error *errors, size_t count)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < count; i++)
		if (__builtin_add_overflow(sum, errors[i].count, &sum))
			return UINT64_MAX;
	return sum;
}

static void add_stacks(
	const struct errors_shown *shown, const struct program_error *error, struct text *out)
{
	size_t count;
	const struct error_stack *stacks = model_error_stacks(shown->model, &count);
	struct frame_vec frames;
	frame_vec_init(&frames);
	for (size_t i = 0; i < error->stack_count; i++) {
		const struct error_stack *stack = &stacks[error->first_stack + i];
		if (*stack->what) {
			text_add(out, "    ");
			text_add_shown(out, stack->what, WHAT_MOST);
			text_add(out, "\n");
		}
		if (!stack->stack)
			continue;
		if (!errors_frames(shown, stack->stack, &frames))
			out->failed = true;
		text_stack(frames.data, frames.len, shown->all_frames, out);
	}
	frame_vec_deinit(&frames);
}

static void add_error(
	const struct errors_shown *shown, const struct program_error *error, struct text *out)
{
	text_add(out, "\n  ");
	text_add_shown(out, *error->kind ? error->kind : "error", WHAT_MOST);
	if (error->count > 1) {
		text_add(out, ", ");
		text_add_count(out, error->count);
		text_add(out, " times");
	}
	if (error->tid > 1 || *error->thread) {
		text_printf(out, ", thread %" PRIu32, error->tid);
		text_add(out, *error->thread ? " " : "");
		text_add_shown(out, error->thread, WHAT_MOST);
	}
	text_add(out, *error->what ? ": " : "");
	text_add_shown(out, error->what, WHAT_MOST);
	text_add(out, "\n");
	add_stacks(shown, error, out);
}

void errors_add(const struct errors_shown *shown, struct text *out)
{
	size_t count;
	const struct program_error *errors = model_errors(shown->model, &count);
	for (size_t i = 0; i < count && i < shown->limit; i++)
		add_error(shown, &errors[i], out);
	if (count <= shown->limit)
		return;
	text_add(out, "\n  … ");
	text_add_count(out, count - shown->limit);
	text_add(out, " more errors\n");
}

static struct errors_shown shown_of(const struct page *page)
{
	return (struct errors_shown){
		page->model, page->resolver, page->limit, page->options->all_frames};
}

static void add_suppressions(const struct page *page, struct text *out)
{
	size_t count;
	const struct error_suppression *rows = model_error_suppressions(page->model, &count);
	if (count)
		text_add(out, "\nSuppressed\n");
	for (size_t i = 0; i < count; i++) {
		text_add(out, "  ");
		text_add_count(out, rows[i].count);
		text_add(out, rows[i].count == 1 ? " time   " : " times  ");
		text_add_shown(out, rows[i].name, WHAT_MOST);
		text_add(out, "\n");
	}
}

void text_errors(const struct page *page, struct text *out)
{
	size_t count;
	model_errors(page->model, &count);
	text_heading(page->model, out);
	text_notes(&page->notes, out);
	bool own = !strcmp(model_recording(page->model)->source, "recording");
	text_add(out, count ? "\nErrors\n"
		      : own ? "\nNo errors: each free was of a live block, by a function that "
			      "matches. (Other "
			      "errors are not looked for.)\n"
			    : "\nNo errors.\n");
	const struct errors_shown shown = shown_of(page);
	errors_add(&shown, out);
	add_suppressions(page, out);
}

static void put_stacks(
	const struct errors_shown *shown, const struct program_error *error, struct json *json)
{
	size_t count;
	const struct error_stack *stacks = model_error_stacks(shown->model, &count);
	struct frame_vec frames;
	frame_vec_init(&frames);
	json_key(json, "stacks");
	json_array_begin(json);
	for (size_t i = 0; i < error->stack_count; i++) {
		const struct error_stack *stack = &stacks[error->first_stack + i];
		json_object_begin(json);
		json_put_string(json, "what", *stack->what ? stack->what : NULL);
		json_key(json, "stack");
		json_array_begin(json);
		if (stack->stack && errors_frames(shown, stack->stack, &frames))
			for (size_t k = 0; k < frames.len; k++)
				json_put_frame(json, frames.data[k]);
		json_array_end(json);
		json_object_end(json);
	}
	json_array_end(json);
	frame_vec_deinit(&frames);
}

void errors_put(const struct errors_shown *shown, struct json *json)
{
	size_t count;
	const struct program_error *errors = model_errors(shown->model, &count);
	json_put_u64(json, "errors_total", count);
	json_put_u64(json, "error_count", count_all(errors, count));
	json_key(json, "errors");
	json_array_begin(json);
	for (size_t i = 0; i < count && i < shown->limit; i++) {
		const struct program_error *error = &errors[i];
		json_object_begin(json);
		json_put_string(json, "kind", error->kind);
		json_put_string(json, "what", error->what);
		json_put_u64(json, "count", error->count);
		json_put_u64(json, "tid", error->tid);
		json_put_string(json, "thread", error->thread);
		put_stacks(shown, error, json);
		json_object_end(json);
	}
	json_array_end(json);
}

void json_errors(const struct page *page, struct json *json)
{
	size_t count;
	const struct errors_shown shown = shown_of(page);
	errors_put(&shown, json);
	const struct error_suppression *rows = model_error_suppressions(page->model, &count);
	json_key(json, "suppressions");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++) {
		json_object_begin(json);
		json_put_string(json, "name", rows[i].name);
		json_put_u64(json, "count", rows[i].count);
		json_object_end(json);
	}
	json_array_end(json);
}
