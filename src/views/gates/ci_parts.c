/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/gates/ci_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "base/cleanup.h"
#include "views/report/json_parts.h"

const char *ci_file(const struct model *model, const struct shown_frame *frame)
{
	const char *cwd = model_target(model)->cwd;
	size_t len = strlen(cwd);
	if (!frame || !frame->file)
		return NULL;
	if (len > 1 && strncmp(frame->file, cwd, len) == 0 && frame->file[len] == '/')
		return frame->file + len + 1;
	return frame->file;
}

bool ci_fingerprint(const char *class, enum alloc_kind kind,
	const struct shown_frame *const *frames, size_t depth, uint64_t *ret)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_printf(&text, "%s\n%s\n", class, alloc_kind_name(kind));
	for (size_t i = 0; i < depth; i++) {
		const struct shown_frame *frame = frames[i];
		if (frame->mark == MARK_NONE)
			text_printf(&text, "%s\t%s\n", frame->function ? frame->function : "",
				frame->module ? frame->module : "");
	}
	*ret = text.data ? checksum64(text.data, text.len) : 0;
	return !text.failed;
}

void ci_add_attribute(struct text *out, const char *name, const char *value)
{
	text_printf(out, " %s=\"", name);
	text_add_xml(out, value);
	text_add(out, "\"");
}

void ci_add_github(struct text *out, const char *text, bool property)
{
	for (; *text; text++) {
		bool escaped = strchr("%\r\n", *text) || (property && strchr(":,", *text));
		if (escaped)
			text_printf(out, "%%%02X", (unsigned)(unsigned char)*text);
		else
			text_add_char(out, *text);
	}
}

void ci_add_annotation(struct text *out, const char *level, const struct model *model,
	const struct shown_frame *frame, const char *title, const char *message)
{
	const char *file = frame ? ci_file(model, frame) : NULL;
	text_printf(out, "::%s ", level);
	if (file) {
		text_add(out, "file=");
		ci_add_github(out, file, true);
		if (frame->line)
			text_printf(out, ",line=%" PRIu32, frame->line);
		text_add(out, ",");
	}
	text_add(out, "title=");
	ci_add_github(out, title, true);
	text_add(out, "::");
	ci_add_github(out, message, false);
	text_add(out, "\n");
}

void sarif_put_text(struct json *json, const char *key, const char *text)
{
	json_key(json, key);
	json_object_begin(json);
	json_put_string(json, "text", text);
	json_object_end(json);
}

static void put_driver(
	struct json *json, const char *version, const struct sarif_rule *rules, size_t count)
{
	json_key(json, "tool");
	json_object_begin(json);
	json_key(json, "driver");
	json_object_begin(json);
	json_put_string(json, "name", "heapwise");
	if (version)
		json_put_string(json, "version", version);
	json_key(json, "rules");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++) {
		json_object_begin(json);
		json_put_string(json, "id", rules[i].id);
		json_put_string(json, "name", rules[i].name);
		sarif_put_text(json, "shortDescription", rules[i].text);
		json_key(json, "defaultConfiguration");
		json_object_begin(json);
		json_put_string(json, "level", rules[i].level);
		json_object_end(json);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
	json_object_end(json);
}

void sarif_begin(
	struct json *json, const char *version, const struct sarif_rule *rules, size_t count)
{
	json_object_begin(json);
	json_put_string(json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	json_put_string(json, "version", "2.1.0");
	json_key(json, "runs");
	json_array_begin(json);
	json_object_begin(json);
	put_driver(json, version, rules, count);
}

void sarif_end(struct json *json)
{
	json_object_end(json);
	json_array_end(json);
	json_object_end(json);
}

void sarif_put_invocation(
	struct json *json, bool successful, const struct text *const *texts, size_t count)
{
	json_key(json, "invocations");
	json_array_begin(json);
	json_object_begin(json);
	json_put_bool(json, "executionSuccessful", successful);
	json_key(json, "toolExecutionNotifications");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++) {
		if (!texts[i]->len)
			continue;
		json_object_begin(json);
		json_put_string(json, "level", "note");
		sarif_put_text(json, "message", texts[i]->data);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
	json_array_end(json);
	json_put_string(json, "columnKind", "utf16CodeUnits");
}

/* Bytes that a URI may have as they are (RFC 3986), and slashes. */
static void add_uri(struct text *out, const char *file)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~/+@";
	if (file[0] == '/')
		text_add(out, "file://");
	for (; *file; file++) {
		if (strchr(plain, *file))
			text_add_char(out, *file);
		else
			text_printf(out, "%%%02X", (unsigned)(unsigned char)*file);
	}
}

/* The members of a location object: source and function, as far as they are known. */
static void put_location(
	struct json *json, const struct model *model, const struct shown_frame *frame)
{
	const char *file = ci_file(model, frame);
	_cleanup_(text_deinit) struct text uri;
	text_init(&uri);
	if (file)
		add_uri(&uri, file);
	if (uri.data && !uri.failed) {
		json_key(json, "physicalLocation");
		json_object_begin(json);
		json_key(json, "artifactLocation");
		json_object_begin(json);
		json_put_string(json, "uri", uri.data);
		json_object_end(json);
		if (frame->line) {
			json_key(json, "region");
			json_object_begin(json);
			json_put_u64(json, "startLine", frame->line);
			json_object_end(json);
		}
		json_object_end(json);
	}
	if (!frame->function)
		return;
	json_key(json, "logicalLocations");
	json_array_begin(json);
	json_object_begin(json);
	json_put_string(json, "fullyQualifiedName", frame->function);
	json_put_string(json, "kind", "function");
	json_object_end(json);
	json_array_end(json);
}

void sarif_put_place(struct json *json, const struct model *model, const struct shown_frame *place)
{
	json_key(json, "locations");
	json_array_begin(json);
	if (place) {
		json_object_begin(json);
		put_location(json, model, place);
		json_object_end(json);
	}
	json_array_end(json);
}

void sarif_put_stack(struct json *json, const struct model *model,
	const struct shown_frame *const *frames, size_t depth)
{
	json_key(json, "stacks");
	json_array_begin(json);
	json_object_begin(json);
	json_key(json, "frames");
	json_array_begin(json);
	for (size_t i = 0; i < depth; i++) {
		const struct shown_frame *frame = frames[i];
		if (frame->mark != MARK_NONE)
			continue;
		json_object_begin(json);
		json_key(json, "location");
		json_object_begin(json);
		put_location(json, model, frame);
		json_object_end(json);
		if (frame->module)
			json_put_string(json, "module", frame->module);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
	json_array_end(json);
}

struct error *sarif_put_fingerprint(
	struct json *json, uint64_t fingerprint, struct fingerprint_map *seen)
{
	uint32_t *number = fingerprint_map_insert(seen, fingerprint, NULL);
	if (!number)
		return error_no_memory();
	char text[16 + 1 + 10 + 1];
	snprintf(text, sizeof(text), "%016" PRIx64 ":%" PRIu32, fingerprint, ++*number);
	json_key(json, "partialFingerprints");
	json_object_begin(json);
	json_put_string(json, "heapwiseStack/v1", text);
	json_object_end(json);
	return NULL;
}
