/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leaks as SARIF 2.1.0 (OASIS, "Static Analysis Results Interchange Format"): a rule for each kind,
 * a result for each row. A result is the same one as in another run if its fingerprint is: kind,
 * allocation function and the functions of the stack, but no line and no address. Of results that
 * agree in all that each has its number behind the fingerprint.
 */
#include "base/cleanup.h"
#include "views/gates/ci_parts.h"
#include "views/leaks/leaks_page.h"
#include "views/report/json_parts.h"

static const struct sarif_rule rules[LEAK_KINDS] = {
	[LEAK_DEFINITE] = {"leak-definite", "DefiniteLeak",
		"Nothing points to these blocks any more.", NULL},
	[LEAK_INDIRECT] = {"leak-indirect", "IndirectLeak",
		"Only blocks that are lost point to these blocks.", NULL},
	[LEAK_POSSIBLE] = {"leak-possible", "PossibleLeak",
		"Only pointers into the middle of these blocks are left.", NULL},
	[LEAK_REACHABLE] = {"leak-reachable", "ReachableBlocks",
		"These blocks were not freed, but something still points to them.", NULL},
};

static const char *level_of(const struct leaks_page *page, enum leak_kind kind)
{
	if (!(page->options->error_kinds >> kind & 1))
		return "note";
	return kind == LEAK_POSSIBLE ? "warning" : "error";
}

static struct error *put_message(
	struct json *json, const struct leaks_page *page, const struct leak_row *row)
{
	_cleanup_(text_deinit) struct text message;
	text_init(&message);
	leaks_add_message(page, row, &message);
	if (message.failed)
		return error_no_memory();
	sarif_put_text(json, "message", message.data);
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
	uint64_t fingerprint;
	if (!error && !leaks_fingerprint(page, row, &fingerprint))
		error = error_no_memory();
	if (!error)
		error = sarif_put_fingerprint(json, fingerprint, seen);
	sarif_put_place(json, page->model, stack->place);
	sarif_put_stack(json, page->model, stack->frames, stack->depth);
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
	if (!error)
		error = leaks_errors_sarif(page, json, LEAK_KINDS, &seen);
	json_array_end(json);
	return error;
}

struct error *leaks_sarif(const struct leaks_page *page, const struct sink *sink)
{
	struct json json;
	json_init(&json, sink->write, sink->ctx);
	struct sarif_rule own[LEAK_KINDS + 1];
	for (unsigned i = 0; i < LEAK_KINDS; i++) {
		own[i] = rules[i];
		own[i].level = level_of(page, (enum leak_kind)i);
	}
	own[LEAK_KINDS] = (struct sarif_rule){LEAKS_ERROR_RULE, "MemoryError",
		"Memory was freed, or used, that must not be.", "error"};
	sarif_begin(&json, page->options->version, own, LEAK_KINDS + (page->error_count > 0));
	sarif_put_invocation(&json, !leaks_any_doubt(page),
		(const struct text *const[]){&page->verdict, &page->notes}, 2);
	struct error *error = put_results(&json, page);
	sarif_end(&json);
	json_finish(&json);
	return error;
}
