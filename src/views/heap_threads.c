/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "heap/python_frames.h"
#include "heap/stacks.h"
#include "views/heap_notes.h"
#include "views/heap_view.h"
#include "views/json_parts.h"

static void text_thread(const struct address_thread *thread, const struct heap_stack_frames *frames,
	struct text *out)
{
	text_printf(out, "thread %d", (int)thread->tid);
	if (thread->signal)
		text_printf(out, ", SIG%s",
			sigabbrev_np(thread->signal) ? sigabbrev_np(thread->signal) : "?");
	text_add(out, thread->stopped ? "\n" : ": its registers are not known\n");
	for (size_t i = 0; i < frames->len; i++) {
		const struct heap_stack_frame *frame = &frames->data[i];
		text_printf(out, "  #%-3zu 0x%012" PRIx64 "  ", i, frame->pc);
		text_add_shown(out, frame->function ? frame->function : "??", 200);
		if (frame->file) {
			text_add(out, "  ");
			text_add_shown(out, frame->file, 300);
			text_printf(out, ":%u", frame->line);
		} else if (frame->module) {
			text_add(out, "  in ");
			text_add_shown(out, path_last_part(frame->module->path), 200);
		}
		text_add(out, frame->inlined ? "  (inlined)\n" : "\n");
	}
}

static void text_python(const struct python_frames *frames, struct text *out)
{
	if (frames->len)
		text_add(out, "  in Python:\n");
	for (size_t i = 0; i < frames->len; i++) {
		const struct python_frame *frame = &frames->data[i];
		text_printf(out, "  #%-3zu ", i);
		text_add_shown(out, frame->function, 200);
		text_add(out, "  ");
		text_add_shown(out, frame->file, 300);
		text_printf(out, frame->line ? ":%u\n" : "\n", frame->line);
	}
	if (frames->len == PYTHON_FRAMES_MAX)
		text_add(out, "  … and those that called them\n");
}

static void put_python(const struct python_frames *frames, struct json *json)
{
	json_key(json, "python");
	json_array_begin(json);
	for (size_t i = 0; i < frames->len; i++) {
		const struct python_frame *frame = &frames->data[i];
		json_object_begin(json);
		json_put_string(json, "function", frame->function);
		json_put_string(json, "file", frame->file);
		json_put_u64(json, "line", frame->line);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_thread(const struct address_thread *thread, const struct heap_stack_frames *frames,
	const struct python_frames *python, struct json *json)
{
	json_object_begin(json);
	json_put_u64(json, "tid", (uint64_t)thread->tid);
	json_put_u64(json, "signal", (uint64_t)thread->signal);
	json_key(json, "stack");
	json_array_begin(json);
	for (size_t i = 0; i < frames->len; i++) {
		const struct heap_stack_frame *frame = &frames->data[i];
		json_object_begin(json);
		json_put_hexadecimal(json, "address", frame->pc, true);
		json_put_string(json, "function", frame->function);
		json_put_string(json, "file", frame->file);
		json_put_u64(json, "line", frame->line);
		json_put_bool(json, "inlined", frame->inlined);
		json_put_string(json, "module", frame->module ? frame->module->path : NULL);
		json_object_end(json);
	}
	json_array_end(json);
	put_python(python, json);
	json_object_end(json);
}

static struct error *write_all_threads(const struct address_space *space, struct heap_names *names,
	struct unwinder *unwinder, struct text *out, struct json *json)
{
	struct heap_stack_frames frames;
	struct python_frames in_python;
	struct python_stacks stacks;
	struct error *error = python_stacks_open(space, &stacks);
	heap_stack_frames_init(&frames);
	python_frames_init(&in_python);
	for (size_t i = 0; i < space->threads.len && !error; i++) {
		error = heap_stack_make(unwinder, space, names, i, &frames);
		if (!error)
			error = python_stack_make(&stacks, i, &in_python);
		if (!error && json)
			put_thread(&space->threads.data[i], &frames, &in_python, json);
		else if (!error) {
			text_thread(&space->threads.data[i], &frames, out);
			text_python(&in_python, out);
		}
	}
	python_stacks_close(&stacks);
	python_frames_deinit(&in_python);
	heap_stack_frames_deinit(&frames);
	return error;
}

struct error *heap_threads_write(const struct address_space *space, struct heap_names *names,
	bool as_json, const struct sink *sink)
{
	struct unwinder *unwinder;
	struct json json;
	struct text out;
	struct error *error = heap_stacks_open(space, &unwinder);
	if (error)
		return error;
	text_init(&out);
	if (as_json) {
		json_init(&json, sink->write, sink->ctx);
		json_object_begin(&json);
		heap_memory_document_put(&json, space);
		json_key(&json, "threads");
		json_array_begin(&json);
	}
	error = write_all_threads(space, names, unwinder, &out, as_json ? &json : NULL);
	if (as_json) {
		json_array_end(&json);
		json_object_end(&json);
		json_finish(&json);
	} else if (!error && out.len) {
		sink->write(sink->ctx, out.data, out.len);
	}
	text_deinit(&out);
	unwinder_destroy(unwinder);
	return error;
}
