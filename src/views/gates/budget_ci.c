/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A budget as JUnit XML, where each limit is a test case, as workflow commands of GitHub's and
 * Gitea's runners, and as SARIF 2.1.0, where each stack to blame is a result.
 */
#include <string.h>

#include "base/cleanup.h"
#include "views/gates/budget_page.h"
#include "views/gates/ci_parts.h"
#include "views/report/json_parts.h"
#include "views/report/text_parts.h"

static void add_frames(const struct budget_finding *finding, struct text *out)
{
	text_stack(finding->frames, finding->depth, false, out);
}

static void budget_ci_add_stacks(
	const struct budget_page *page, const struct budget_check *check, struct text *out)
{
	_cleanup_(text_deinit) struct text body;
	text_init(&body);
	for (size_t i = 0; i < budget_shown(page, check); i++) {
		const struct budget_finding *finding = budget_finding_at(page, check, i);
		text_add(&body, i ? "" : "\n");
		budget_add_message(&body, check, finding);
		text_add(&body, "\n");
		add_frames(finding, &body);
	}
	text_add_xml(out, body.data ? body.data : "");
}

static void add_case(
	const struct budget_page *page, const struct budget_check *check, struct text *out)
{
	const char *option = budget_rule_info(check->rule)->option;
	_cleanup_(text_deinit) struct text words;
	text_init(&words);
	budget_add_check(&words, check);
	text_add(out, "    <testcase");
	ci_add_attribute(out, "classname", "heapwise.budget");
	ci_add_attribute(out, "name", option);
	if (!check->exceeded && !check->unknown) {
		text_add(out, "/>\n");
		return;
	}
	const char *element = check->unknown ? "error" : "failure";
	text_printf(out, ">\n      <%s", element);
	ci_add_attribute(out, "type", option);
	ci_add_attribute(out, "message", words.data ? words.data : "");
	text_add(out, ">");
	budget_ci_add_stacks(page, check, out);
	text_printf(out, "</%s>\n    </testcase>\n", element);
}

void budget_junit(const struct budget_page *page, struct text *out)
{
	const struct budget *budget = page->budget;
	const struct target *target = model_target(page->model);
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	text_add(&name, "heapwise budget:");
	for (size_t i = 0; i < target->command_len; i++)
		text_printf(&name, " %s", target->command[i]);
	text_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite");
	ci_add_attribute(out, "name", name.data ? name.data : "");
	text_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"0\">\n",
		budget->checks.len, budget->exceeded, budget->unknown);
	for (size_t i = 0; i < budget->checks.len; i++)
		add_case(page, &budget->checks.data[i], out);
	text_add(out, "    <system-out>");
	if (budget->verdict.data)
		text_add_xml(out, budget->verdict.data);
	if (page->notes.data)
		text_add_xml(out, page->notes.data);
	text_add(out, "</system-out>\n  </testsuite>\n</testsuites>\n");
}

static void cut_newline(struct text *text)
{
	if (text->len && text->data[text->len - 1] == '\n')
		text->data[--text->len] = '\0';
}

static void add_annotations(
	const struct budget_page *page, const struct budget_check *check, struct text *out)
{
	const char *option = budget_rule_info(check->rule)->option;
	_cleanup_(text_deinit) struct text words;
	text_init(&words);
	budget_add_check(&words, check);
	if (check->unknown || (check->exceeded && !check->count))
		ci_add_annotation(
			out, "error", page->model, NULL, option, words.data ? words.data : "");
	for (size_t i = 0; i < budget_shown(page, check); i++) {
		const struct budget_finding *finding = budget_finding_at(page, check, i);
		_cleanup_(text_deinit) struct text message;
		text_init(&message);
		text_printf(&message, "%s. ", words.data ? words.data : "");
		budget_add_message(&message, check, finding);
		text_add(&message, "\n");
		add_frames(finding, &message);
		cut_newline(&message);
		ci_add_annotation(out, "error", page->model, finding->place, option,
			message.data ? message.data : "");
	}
}

void budget_github(const struct budget_page *page, struct text *out)
{
	const struct budget *budget = page->budget;
	for (size_t i = 0; i < budget->checks.len; i++)
		add_annotations(page, &budget->checks.data[i], out);
	_cleanup_(text_deinit) struct text words;
	text_init(&words);
	text_add_n(&words, budget->verdict.data ? budget->verdict.data : "", budget->verdict.len);
	text_add_n(&words, page->notes.data ? page->notes.data : "", page->notes.len);
	cut_newline(&words);
	ci_add_annotation(
		out, "notice", page->model, NULL, "heapwise budget", words.data ? words.data : "");
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
