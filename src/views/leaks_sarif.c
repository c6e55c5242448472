/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leaks as SARIF 2.1.0 (OASIS, "Static Analysis Results Interchange Format"): a rule for each kind,
 * a result for each row. A result is the same one as in another run if its fingerprint is: kind,
 * allocation function and the functions of the stack, but no line and no address. Of results that
 * agree in all that each has its number behind the fingerprint.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/util.h"
#include "views/json_parts.h"
#include "views/leaks_page.h"

static inline bool fingerprint_equal(uint64_t a, uint64_t b)
{
	return a == b;
}

DEFINE_MAP(fingerprint_map, uint64_t, uint32_t, hash_u64, fingerprint_equal)

static const struct rule {
	const char *id, *name, *text;
} rules[LEAK_KINDS] = {
	[LEAK_DEFINITE] = {"leak-definite", "DefiniteLeak",
		"Nothing points to these blocks any more."},
	[LEAK_INDIRECT] = {"leak-indirect", "IndirectLeak",
		"Only blocks that are lost point to these blocks."},
	[LEAK_POSSIBLE] = {"leak-possible", "PossibleLeak",
		"Only pointers into the middle of these blocks are left."},
	[LEAK_REACHABLE] = {"leak-reachable", "ReachableBlocks",
		"These blocks were not freed, but something still points to them."},
};

static const char *level_of(const struct leaks_page *page, enum leak_kind kind)
{
	if (!(page->options->error_kinds >> kind & 1))
		return "note";
	return kind == LEAK_POSSIBLE ? "warning" : "error";
}

static void put_text(struct json *json, const char *key, const char *text)
{
	json_key(json, key);
	json_object_begin(json);
	json_put_string(json, "text", text);
	json_object_end(json);
}

static void put_driver(struct json *json, const struct leaks_page *page)
{
	json_key(json, "tool");
	json_object_begin(json);
	json_key(json, "driver");
	json_object_begin(json);
	json_put_string(json, "name", "heapwise");
	if (page->options->version)
		json_put_string(json, "version", page->options->version);
	json_key(json, "rules");
	json_array_begin(json);
	for (unsigned i = 0; i < LEAK_KINDS; i++) {
		json_object_begin(json);
		json_put_string(json, "id", rules[i].id);
		json_put_string(json, "name", rules[i].name);
		put_text(json, "shortDescription", rules[i].text);
		json_key(json, "defaultConfiguration");
		json_object_begin(json);
		json_put_string(json, "level", level_of(page, (enum leak_kind)i));
		json_object_end(json);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
	json_object_end(json);
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
	struct json *json, const struct leaks_page *page, const struct shown_frame *frame)
{
	const char *file = leaks_file(page, frame);
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

static void put_stacks(
	struct json *json, const struct leaks_page *page, const struct leak_stack *stack)
{
	json_key(json, "stacks");
	json_array_begin(json);
	json_object_begin(json);
	json_key(json, "frames");
	json_array_begin(json);
	for (size_t i = 0; i < stack->depth; i++) {
		const struct shown_frame *frame = stack->frames[i];
		if (frame->mark != MARK_NONE)
			continue;
		json_object_begin(json);
		json_key(json, "location");
		json_object_begin(json);
		put_location(json, page, frame);
		json_object_end(json);
		if (frame->module)
			json_put_string(json, "module", frame->module);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
	json_array_end(json);
}

static struct error *put_fingerprint(struct json *json, const struct leaks_page *page,
	const struct leak_row *row, struct fingerprint_map *seen)
{
	uint64_t fingerprint;
	if (!leaks_fingerprint(page, row, &fingerprint))
		return error_no_memory();
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

static struct error *put_message(
	struct json *json, const struct leaks_page *page, const struct leak_row *row)
{
	_cleanup_(text_deinit) struct text message;
	text_init(&message);
	leaks_add_message(page, row, &message);
	if (message.failed)
		return error_no_memory();
	put_text(json, "message", message.data);
	return NULL;
}

static void put_properties(struct json *json, const struct leak_row *row)
{
	json_key(json, "properties");
	json_object_begin(json);
	json_put_u64(json, "blocks", row->blocks);
	json_put_u64(json, "bytes", row->bytes);
	json_put_u64(json, "indirectBlocks", row->indirect_blocks);
	json_put_u64(json, "indirectBytes", row->indirect_bytes);
	json_object_end(json);
}

/* A result that a suppression fits is still told, with why it is of no interest. */
static void put_suppressions(
	struct json *json, const struct leaks_page *page, const struct leak_row *row)
{
	json_key(json, "suppressions");
	json_array_begin(json);
	if (row->class == LEAK_CLASS_SUPPRESSED) {
		const struct suppression *one =
			suppressions_get(page->options->suppressions, row->suppression);
		json_object_begin(json);
		json_put_string(json, "kind", "external");
		json_put_string(json, "justification", one->name);
		json_object_end(json);
	}
	json_array_end(json);
}

static struct error *put_result(struct json *json, const struct leaks_page *page,
	const struct leak_row *row, struct fingerprint_map *seen)
{
	const struct leak_stack *stack = leaks_stack(page, row);
	json_object_begin(json);
	json_put_string(json, "ruleId", rules[row->kind].id);
	json_put_u64(json, "ruleIndex", row->kind);
	json_put_string(json, "level", level_of(page, row->kind));
	struct error *error = put_message(json, page, row);
	if (!error)
		error = put_fingerprint(json, page, row, seen);
	json_key(json, "locations");
	json_array_begin(json);
	if (stack->place) {
		json_object_begin(json);
		put_location(json, page, stack->place);
		json_object_end(json);
	}
	json_array_end(json);
	put_stacks(json, page, stack);
	put_suppressions(json, page, row);
	put_properties(json, row);
	json_object_end(json);
	return error;
}

static struct error *put_results(struct json *json, const struct leaks_page *page)
{
	_cleanup_(fingerprint_map_deinit) struct fingerprint_map seen;
	fingerprint_map_init(&seen);
	struct error *error = NULL;
	size_t shown = 0;
	json_key(json, "results");
	json_array_begin(json);
	for (size_t i = 0; i < page->leaks.rows.len && shown < page->limit && !error; i++) {
		const struct leak_row *row = &page->leaks.rows.data[i];
		bool known = row->class == LEAK_CLASS_SUPPRESSED &&
			     (page->options->show_kinds >> row->kind & 1) != 0;
		if (row->class == LEAK_CLASS_NEVER_FREED || (!known && !leaks_shows(page, row)))
			continue;
		error = put_result(json, page, row, &seen);
		shown++;
	}
	json_array_end(json);
	return error;
}

/* How the run went: notes say what limits the results. */
static void put_invocation(struct json *json, const struct leaks_page *page)
{
	json_key(json, "invocations");
	json_array_begin(json);
	json_object_begin(json);
	json_put_bool(json, "executionSuccessful", page->leaks.searched);
	json_key(json, "toolExecutionNotifications");
	json_array_begin(json);
	const struct text *texts[] = {&page->verdict, &page->notes};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!texts[i]->len)
			continue;
		json_object_begin(json);
		json_put_string(json, "level", "note");
		put_text(json, "message", texts[i]->data);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
	json_array_end(json);
}

struct error *leaks_sarif(const struct leaks_page *page, const struct sink *sink)
{
	struct json json;
	json_init(&json, sink->write, sink->ctx);
	json_object_begin(&json);
	json_put_string(&json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	json_put_string(&json, "version", "2.1.0");
	json_key(&json, "runs");
	json_array_begin(&json);
	json_object_begin(&json);
	put_driver(&json, page);
	put_invocation(&json, page);
	json_put_string(&json, "columnKind", "utf16CodeUnits");
	struct error *error = put_results(&json, page);
	json_object_end(&json);
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
	return error;
}
