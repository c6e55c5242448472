/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A budget for programs: JSON "heapwise.budget/1" (docs/schema/budget-1.md: change both together),
 * and SARIF 2.1.0, where each stack to blame is a result. */
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "views/gates/budget_page.h"
#include "views/gates/ci_parts.h"
#include "views/report/json_parts.h"

static struct error *put_finding(
	struct json *json, const struct budget_check *check, const struct budget_finding *finding)
{
	uint64_t fingerprint;
	if (!budget_fingerprint(check, finding, &fingerprint))
		return error_no_memory();
	char text[16 + 1];
	snprintf(text, sizeof(text), "%016" PRIx64, fingerprint);
	json_object_begin(json);
	json_put_string(json, "fingerprint", text);
	json_put_u64(json, "value", finding->value);
	if (budget_counts_blocks(check, finding)) {
		json_put_u64(json, "blocks", finding->blocks);
	} else {
		json_key(json, "blocks");
		json_null(json);
	}
	json_put_string(json, "kind", alloc_kind_name(finding->kind));
	json_put_frames(json, finding->frames, finding->depth, false);
	json_object_end(json);
	return NULL;
}

/* "range": [low, high]; null: the value is no estimate. */
static void put_range(struct json *json, const struct budget_check *check)
{
	json_key(json, "range");
	if (!check->estimated || !check->figure_known) {
		json_null(json);
		return;
	}
	json_array_begin(json);
	json_u64(json, check->low);
	json_u64(json, check->high);
	json_array_end(json);
}

static struct error *put_check(
	struct json *json, const struct budget_page *page, const struct budget_check *check)
{
	const struct budget_rule_info *info = budget_rule_info(check->rule);
	struct error *error = NULL;
	json_object_begin(json);
	json_put_string(json, "rule", info->option);
	json_put_string(json, "metric", metric_name(info->metric));
	json_put_string(json, "state",
		check->unknown    ? "unknown"
		: check->exceeded ? "exceeded"
				  : "kept");
	json_put_string(json, "reason", check->unknown);
	json_put_u64(json, "limit", check->limit);
	json_key(json, "value");
	if (check->figure_known)
		json_u64(json, check->value);
	else
		json_null(json);
	put_range(json, check);
	json_key(json, "base");
	if (check->rule == BUDGET_GROWTH && check->figure_known)
		json_u64(json, check->base);
	else
		json_null(json);
	json_put_u64(json, "findings_total", check->count);
	json_key(json, "findings");
	json_array_begin(json);
	for (size_t i = 0; i < budget_shown(page, check) && !error; i++)
		error = put_finding(json, check, budget_finding_at(page, check, i));
	json_array_end(json);
	json_object_end(json);
	return error;
}

static void put_baseline(struct json *json, const struct budget_page *page)
{
	json_key(json, "baseline");
	if (!page->options->baseline) {
		json_null(json);
		return;
	}
	json_object_begin(json);
	json_put_string(json, "label", page->options->labels[0]);
	json_put_target(json, model_target(page->options->baseline));
	json_put_recording(json, page->options->baseline, NULL);
	json_object_end(json);
}

struct error *budget_json(const struct budget_page *page, const struct sink *sink)
{
	const struct budget *budget = page->budget;
	struct error *error = NULL;
	struct json json;
	json_init(&json, sink->write, sink->ctx);
	json_object_begin(&json);
	json_put_string(&json, "schema", "heapwise.budget/1");
	json_put_target(&json, model_target(page->model));
	json_put_recording(&json, page->model, NULL);
	put_baseline(&json, page);
	json_put_bool(&json, "passed", !budget->exceeded && !budget->unknown);
	json_put_lines(&json, "verdict", &budget->verdict);
	json_put_lines(&json, "notes", &page->notes);
	json_key(&json, "checks");
	json_array_begin(&json);
	for (size_t i = 0; i < budget->checks.len && !error; i++)
		error = put_check(&json, page, &budget->checks.data[i]);
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
	return error;
}

struct results {
	struct json *json;
	const struct budget_page *page;
	struct fingerprint_map seen;
};

/* A result of a finding, or of a check without any (NULL). */
static struct error *put_result(struct results *results, size_t rule,
	const struct budget_check *check, const struct budget_finding *finding)
{
	struct json *json = results->json;
	const struct budget_rule_info *info = budget_rule_info(check->rule);
	_cleanup_(text_deinit) struct text message;
	text_init(&message);
	budget_add_check(&message, check);
	if (finding) {
		text_add(&message, ". ");
		budget_add_message(&message, check, finding);
	}
	if (message.failed)
		return error_no_memory();
	json_object_begin(json);
	json_put_string(json, "ruleId", info->option);
	json_put_u64(json, "ruleIndex", rule);
	json_put_string(json, "level", "error");
	sarif_put_text(json, "message", message.data);
	static const struct budget_finding none = {.kind = KIND_UNKNOWN};
	uint64_t fingerprint;
	struct error *error = NULL;
	if (!budget_fingerprint(check, finding ? finding : &none, &fingerprint))
		error = error_no_memory();
	if (!error)
		error = sarif_put_fingerprint(json, fingerprint, &results->seen);
	sarif_put_place(json, results->page->model, finding ? finding->place : NULL);
	if (finding)
		sarif_put_stack(json, results->page->model, finding->frames, finding->depth);
	json_object_end(json);
	return error;
}

static struct error *put_results(struct json *json, const struct budget_page *page)
{
	struct results results = {.json = json, .page = page};
	fingerprint_map_init(&results.seen);
	struct error *error = NULL;
	json_key(json, "results");
	json_array_begin(json);
	for (size_t rule = 0; rule < page->budget->checks.len; rule++) {
		const struct budget_check *check = &page->budget->checks.data[rule];
		if (check->exceeded && !check->count && !error)
			error = put_result(&results, rule, check, NULL);
		for (size_t i = 0; i < budget_shown(page, check) && !error; i++)
			error = put_result(
				&results, rule, check, budget_finding_at(page, check, i));
	}
	json_array_end(json);
	fingerprint_map_deinit(&results.seen);
	return error;
}

struct error *budget_sarif(const struct budget_page *page, const struct sink *sink)
{
	const struct budget *budget = page->budget;
	struct sarif_rule rules[BUDGET_RULES];
	for (size_t i = 0; i < budget->checks.len; i++) {
		const struct budget_rule_info *info = budget_rule_info(budget->checks.data[i].rule);
		rules[i] = (struct sarif_rule){info->option, info->name, info->text, "error"};
	}
	struct json json;
	json_init(&json, sink->write, sink->ctx);
	sarif_begin(&json, page->options->version, rules, budget->checks.len);
	sarif_put_invocation(&json, !budget->unknown,
		(const struct text *const[]){&budget->verdict, &page->notes}, 2);
	struct error *error = put_results(&json, page);
	sarif_end(&json);
	json_finish(&json);
	return error;
}
