/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A budget as JUnit XML, where each limit is a test case, and as workflow commands of GitHub's and
 * Gitea's runners.
 */
#include <string.h>

#include "base/cleanup.h"
#include "views/gates/budget_page.h"
#include "views/gates/ci_parts.h"
#include "views/report/text_parts.h"

static void add_frames(const struct budget_finding *finding, struct text *out)
{
	text_stack(finding->frames, finding->depth, false, out);
}

static void add_stacks(
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
	add_stacks(page, check, out);
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
