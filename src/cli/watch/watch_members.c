/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/watch/watch_members.h"

#include "base/util.h"

void member_u64(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

void member_bool(struct json *json, const char *key, bool value)
{
	json_key(json, key);
	json_bool(json, value);
}

void member_string(struct json *json, const char *key, const char *value)
{
	if (!value)
		return;
	json_key(json, key);
	json_string(json, value);
}

void member_i64(struct json *json, const char *key, int64_t value)
{
	json_key(json, key);
	json_i64(json, value);
}

static void symbol_write(struct json *json, const struct watch_modules *modules,
	const struct watch_frame *frame, const struct symbol *symbol)
{
	json_object_begin(json);
	if (frame->module != SIZE_MAX)
		member_string(json, "module", modules->data[frame->module].path);
	member_u64(json, "address", frame->address);
	if (symbol) {
		member_string(json, "function", symbol->function);
		member_string(json, "file", symbol->file);
		if (symbol->line)
			member_u64(json, "line", symbol->line);
		if (symbol->inlined)
			member_bool(json, "inlined", true);
	}
	json_object_end(json);
}

static void kernel_frame_write(struct json *json, const struct watch_frame *frame)
{
	json_object_begin(json);
	member_u64(json, "address", frame->address);
	if (frame->kernel.name) {
		member_string(
			json, "module", frame->kernel.module ? frame->kernel.module : "kernel");
		member_string(json, "function", frame->kernel.name);
		member_u64(json, "offset", frame->kernel.offset);
	}
	json_object_end(json);
}

static void frame_write(
	struct json *json, const struct watch_modules *modules, const struct watch_frame *frame)
{
	if (frame->is_kernel) {
		kernel_frame_write(json, frame);
		return;
	}
	for (size_t i = 0; i < max(frame->count, (size_t)1); i++)
		symbol_write(json, modules, frame, frame->count ? &frame->symbols[i] : NULL);
}

struct error *member_frames(struct json *json, struct watch_names *names,
	const struct watch_modules *modules, const uint64_t *frames, unsigned count)
{
	struct error *error = NULL;
	json_key(json, "frames");
	json_array_begin(json);
	for (unsigned i = 0; i < count && !error; i++) {
		struct watch_frame frame;
		error = watch_names_find(names, modules, frames[i], &frame);
		if (!error)
			frame_write(json, modules, &frame);
	}
	json_array_end(json);
	return error;
}

void watch_json_head(struct json *json, const char *schema)
{
	json_object_begin(json);
	member_string(json, "schema", schema);
}

void watch_json_intervals(struct json *json)
{
	json_key(json, "intervals");
	json_array_begin(json);
}

bool watch_json_end(struct json *json)
{
	json_array_end(json);
	json_object_end(json);
	return json_finish(json);
}
