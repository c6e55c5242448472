/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See error_forms.h. What a single error looks like in each form is leaks_errors.c's, which shows
 * them beside leaks; this is the document around it where nobody asked for leaks.
 */
#include "views/error_forms.h"

#include <inttypes.h>
#include <string.h>

#include "analysis/evidence.h"
#include "analysis/summary.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "base/vec.h"
#include "model/errors.h"
#include "views/gates/ci_parts.h"
#include "views/leaks/leaks_page.h"
#include "views/report/errors.h"

/* That there are none, or why that is not known. */
#define NONE "no memory errors"
#define UNKNOWN "whether there are memory errors can't be decided"

DEFINE_VEC(sarif_rules, struct sarif_rule)

const char *error_form_name(enum error_form form)
{
	static const char *const names[ERROR_FORMS] = {
		[ERROR_FORM_TEXT] = "text",
		[ERROR_FORM_JSON] = "json",
		[ERROR_FORM_CSV] = "csv",
		[ERROR_FORM_MEMCHECK] = "memcheck",
		[ERROR_FORM_VALGRIND] = "valgrind",
		[ERROR_FORM_SARIF] = "sarif",
		[ERROR_FORM_JUNIT] = "junit",
		[ERROR_FORM_GITHUB] = "github",
	};
	return names[form];
}

static struct error *errors_memcheck(const struct leaks_page *page, struct text *out)
{
	size_t count, suppressed;
	const struct program_error *errors = model_errors(page->model, &count);
	const struct error_suppression *entries =
		model_error_suppressions(page->model, &suppressed);
	uint64_t times = 0, hidden = 0, contexts = 0;
	leaks_errors_memcheck(page, out);
	for (size_t i = 0; i < count; i++)
		times += errors[i].count;
	for (size_t i = 0; i < suppressed; i++) {
		hidden += entries[i].count;
		contexts += entries[i].count > 0;
	}
	uint32_t pid = model_target(page->model)->pid;
	if (page->error_doubt)
		text_printf(out, "==%" PRIu32 "== %s: %s\n", pid, UNKNOWN, page->error_doubt);
	text_printf(out,
		"==%" PRIu32 "== ERROR SUMMARY: %" PRIu64 " errors from %zu contexts (suppressed: "
		"%" PRIu64 " from %" PRIu64 ")\n",
		pid, times, count, hidden, contexts);
	return NULL;
}

static void errors_junit_add_head(const struct leaks_page *page, struct text *out)
{
	const struct target *target = model_target(page->model);
	size_t failures = leaks_errors_cases(page);
	bool doubt = page->error_doubt, passed = !failures && !doubt;
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	text_add(&name, "heapwise errors:");
	for (size_t i = 0; i < target->command_len; i++)
		text_printf(&name, " %s", target->command[i]);
	out->failed |= name.failed;
	text_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite");
	ci_add_attribute(out, "name", name.data ? name.data : "");
	text_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%d\" skipped=\"0\">\n",
		failures + doubt + passed, failures, doubt);
}

static struct error *errors_junit(const struct leaks_page *page, struct text *out)
{
	errors_junit_add_head(page, out);
	leaks_errors_junit(page, out);
	if (page->error_doubt) {
		text_add(out, "    <testcase classname=\"heapwise.errors\" name=\"" NONE "\">\n"
			      "      <error");
		ci_add_attribute(out, "message", page->error_doubt);
		text_add(out, "/>\n    </testcase>\n");
	} else if (!leaks_errors_cases(page)) {
		text_add(out, "    <testcase classname=\"heapwise.errors\" name=\"" NONE "\"/>\n");
	}
	text_add(out, "    <system-out>");
	text_add_xml(out, page->notes.data ? page->notes.data : "");
	text_add(out, "</system-out>\n  </testsuite>\n</testsuites>\n");
	return NULL;
}

static struct error *errors_github(const struct leaks_page *page, struct text *out)
{
	leaks_errors_github(page, out);
	if (page->error_doubt)
		ci_add_annotation(out, "error", page->model, NULL, UNKNOWN, page->error_doubt);
	return NULL;
}

/* The number of the rule for a kind, a new one if need be; SIZE_MAX: no memory. */
static size_t rule_of(struct sarif_rules *rules, const char *kind)
{
	for (size_t i = 0; i < rules->len; i++)
		if (!strcmp(rules->data[i].id, kind))
			return i;
	const struct sarif_rule rule = {kind, kind,
		"An access, a free or a call that the program must not make (in memcheck's words).",
		"error"};
	return sarif_rules_push(rules, rule) ? rules->len - 1 : SIZE_MAX;
}

static struct error *put_results(
	const struct leaks_page *page, struct sarif_rules *rules, struct json *json)
{
	_cleanup_(fingerprint_map_deinit) struct fingerprint_map seen;
	fingerprint_map_init(&seen);
	struct error *error = NULL;
	json_key(json, "results");
	json_array_begin(json);
	for (size_t i = 0; i < leaks_errors_shown(page) && !error; i++) {
		const char *kind = leaks_error_word(leaks_error_at(page, i));
		const struct leaks_sarif_rule rule = {kind, rule_of(rules, kind)};
		error = leaks_error_sarif(page, i, json, &rule, &seen);
	}
	json_array_end(json);
	return error;
}

static struct error *errors_sarif(const struct leaks_page *page, const struct sink *sink)
{
	_cleanup_(sarif_rules_deinit) struct sarif_rules rules;
	_cleanup_(text_deinit) struct text doubt;
	struct json json;
	sarif_rules_init(&rules);
	text_init(&doubt);
	if (page->error_doubt)
		text_printf(&doubt, "%s: %s\n", UNKNOWN, page->error_doubt);
	for (size_t i = 0; i < leaks_errors_shown(page); i++)
		if (rule_of(&rules, leaks_error_word(leaks_error_at(page, i))) == SIZE_MAX)
			return error_no_memory();
	json_init(&json, sink->write, sink->ctx);
	sarif_begin(&json, page->options->version, rules.data, rules.len);
	sarif_put_invocation(
		&json, !page->error_doubt, (const struct text *const[]){&doubt, &page->notes}, 2);
	struct error *error = put_results(page, &rules, &json);
	sarif_end(&json);
	json_finish(&json);
	return error;
}

static struct error *write_form(
	const struct leaks_page *page, enum error_form form, const struct sink *sink)
{
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	if (form == ERROR_FORM_VALGRIND)
		return leaks_valgrind(page, sink);
	if (form == ERROR_FORM_SARIF)
		return errors_sarif(page, sink);
	struct error *error = form == ERROR_FORM_MEMCHECK ? errors_memcheck(page, &out)
			      : form == ERROR_FORM_JUNIT  ? errors_junit(page, &out)
							  : errors_github(page, &out);
	if (!error && out.failed)
		error = error_no_memory();
	if (!error && out.len)
		sink->write(sink->ctx, out.data, out.len);
	return error;
}

static void errors_page_deinit(struct leaks_page *page)
{
	text_deinit(&page->notes);
	resolver_destroy(page->resolver);
}

struct error *error_form_write(const struct model *model, const struct error_form_options *options,
	const struct sink *sink)
{
	const struct leaks_view_options shown = {.errors_only = true,
		.write_suppressions = options->write_suppressions,
		.version = options->version};
	_cleanup_(errors_page_deinit) struct leaks_page page = {
		.model = model, .options = &shown, .limit = options->limit};
	text_init(&page.notes);
	if (!model_errors(model, &page.error_count))
		return error_create(ERROR_INPUT, "%s: %s files contain no errors",
			model_recording(model)->path, model_recording(model)->source);
	page.error_doubt = evidence_of_checks(model);
	if (!page.error_doubt)
		page.error_doubt = options->doubt;
	struct error *error = resolver_create(model, true, &page.resolver);
	if (error)
		return error;
	resolver_add_aliases(page.resolver);
	summary_add_notes(model, page.resolver, &page.notes);
	if (page.notes.failed)
		return error_no_memory();
	return write_form(&page, options->form, sink);
}
