/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/report/json_parts.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "table/answer.h"
#include "views/stacks/frames.h"

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

void json_put_frames(
	struct json *json, const struct shown_frame *const *frames, size_t depth, bool own_doing)
{
	struct frame_rows rows = {.frames = NULL};
	json->failed |= !frame_rows_fill(&rows, frames, depth, own_doing);
	const struct table table = frame_rows_table(&rows);
	json_put_table(json, &table);
	frame_rows_deinit(&rows);
}
