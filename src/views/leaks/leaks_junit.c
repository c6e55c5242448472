/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leaks as JUnit XML: a test case for each kind that is an error and has none, which has passed,
 * and one for each row, which has failed if its kind is an error.
 */
#include <inttypes.h>

#include "base/cleanup.h"
#include "views/gates/ci_parts.h"
#include "views/leaks/leaks_page.h"
#include "views/report/text_parts.h"

static void add_body(const struct leaks_page *page, const struct leak_row *row, struct text *out)
{
	const struct leak_stack *stack = leaks_stack(page, row);
	_cleanup_(text_deinit) struct text frames;
	text_init(&frames);
	text_stack(stack->frames, stack->depth, false, &frames);
	if (frames.data)
		text_add_xml(out, frames.data);
}

/* The same from run to run: no sizes and no lines. */
static void add_case_name(
	const struct leaks_page *page, const struct leak_row *row, struct text *out)
{
	const struct leak_stack *stack = leaks_stack(page, row);
	const struct shown_frame *place = stack->place;
	uint64_t fingerprint = 0;
	leaks_fingerprint(page, row, &fingerprint);
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	text_printf(&name, "%s: %s in %s [%08" PRIx32 "]", leaks_kind_words(row),
		leaks_function(stack),
		place && place->function ? place->function : "an unknown function",
		(uint32_t)(fingerprint >> 32));
	ci_add_attribute(out, "name", name.data ? name.data : "");
}

static void add_case(const struct leaks_page *page, const struct leak_row *row, struct text *out)
{
	_cleanup_(text_deinit) struct text message;
	text_init(&message);
	leaks_add_message(page, row, &message);
	const char *words = message.data ? message.data : "";
	bool error = leaks_is_error(page, row);
	text_add(out, "    <testcase");
	ci_add_attribute(out, "classname", "heapwise.leaks");
	add_case_name(page, row, out);
	text_add(out, ">\n      ");
	text_add(out, error ? "<failure" : "<system-out>");
	if (error) {
		ci_add_attribute(out, "type", leak_class_name((enum leak_class)row->kind));
		ci_add_attribute(out, "message", words);
		text_add(out, ">");
	}
	add_body(page, row, out);
	text_add(out, error ? "</failure>\n    </testcase>\n" : "</system-out>\n    </testcase>\n");
}

/* A kind that is an error and of which there are none, for sure. */
static bool is_clean(const struct leaks_page *page, unsigned kind)
{
	bool at_end = !page->options->of_moment;
	return !page->doubt && (page->options->error_kinds >> kind & 1) != 0 &&
	       page->leaks.sums[kind].rows == 0 &&
	       !evidence_of_leaks(page->model, 1u << kind, at_end).more;
}

static bool is_listed(const struct leaks_page *page, const struct leak_row *row)
{
	return leaks_shows(page, row) || leaks_may_be_error(page, row);
}

static void add_cases(const struct leaks_page *page, struct text *out)
{
	for (unsigned kind = 0; kind < LEAK_KINDS; kind++) {
		if (!is_clean(page, kind))
			continue;
		text_add(out, "    <testcase");
		ci_add_attribute(out, "classname", "heapwise.leaks");
		text_printf(out, " name=\"no leaks of kind %s\"/>\n",
			leak_class_name((enum leak_class)kind));
	}
	size_t shown = 0;
	for (size_t i = 0; i < page->leaks.rows.len && shown < page->limit; i++)
		if (is_listed(page, &page->leaks.rows.data[i])) {
			add_case(page, &page->leaks.rows.data[i], out);
			shown++;
		}
	leaks_errors_junit(page, out);
	if (!leaks_any_doubt(page))
		return;
	text_add(out, "    <testcase classname=\"heapwise.leaks\" name=\"search for leaks\">\n"
		      "      <error");
	ci_add_attribute(out, "message", leaks_any_doubt(page));
	text_add(out, "/>\n    </testcase>\n");
}

static void count_cases(const struct leaks_page *page, uint64_t *ret_cases, uint64_t *ret_failures)
{
	uint64_t rows = 0;
	*ret_cases = *ret_failures = 0;
	for (unsigned kind = 0; kind < LEAK_KINDS; kind++)
		*ret_cases += is_clean(page, kind);
	for (size_t i = 0; i < page->leaks.rows.len && rows < page->limit; i++) {
		const struct leak_row *row = &page->leaks.rows.data[i];
		rows += is_listed(page, row);
		*ret_failures += is_listed(page, row) && leaks_is_error(page, row);
	}
	*ret_cases += rows + leaks_errors_cases(page) + (leaks_any_doubt(page) != NULL);
	*ret_failures += leaks_errors_cases(page);
}

struct error *leaks_junit(const struct leaks_page *page, struct text *out)
{
	uint64_t cases, failures;
	count_cases(page, &cases, &failures);
	const struct target *target = model_target(page->model);
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	text_add(&name, "heapwise leaks:");
	for (size_t i = 0; i < target->command_len; i++)
		text_printf(&name, " %s", target->command[i]);
	text_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite");
	ci_add_attribute(out, "name", name.data ? name.data : "");
	text_printf(out,
		" tests=\"%" PRIu64 "\" failures=\"%" PRIu64 "\" errors=\"%d\" skipped=\"0\">\n",
		cases, failures, leaks_any_doubt(page) != NULL);
	add_cases(page, out);
	text_add(out, "    <system-out>");
	if (page->verdict.data)
		text_add_xml(out, page->verdict.data);
	if (page->notes.data)
		text_add_xml(out, page->notes.data);
	text_add(out, "</system-out>\n  </testsuite>\n</testsuites>\n");
	return NULL;
}
