/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A budget as Markdown, for the page of a job or a merge request. */
#include <string.h>

#include "analysis/summary.h"
#include "base/cleanup.h"
#include "views/gates/budget_page.h"
#include "views/report/text_parts.h"

void budget_add_more(const struct budget_page *page, const struct budget_check *check,
	const char *indent, struct text *out)
{
	size_t more = check->count - budget_shown(page, check);
	if (more)
		text_printf(out, "%s… %zu more %s\n", indent, more, more == 1 ? "stack" : "stacks");
}

/* A cell of a table, or code: what would end it is left out. Else "<" would begin a tag. */
static void budget_markdown_add_plain(struct text *out, const char *text)
{
	for (; *text; text++) {
		bool plain = *text != '|' && *text != '`' && (unsigned char)*text >= ' ';
		text_add_n(out, plain ? text : " ", 1);
	}
}

static void add_table(const struct budget_page *page, struct text *out)
{
	text_add(out, "| limit | | |\n|---|---|---|\n");
	for (size_t i = 0; i < page->budget->checks.len; i++) {
		const struct budget_check *check = &page->budget->checks.data[i];
		_cleanup_(text_deinit) struct text words;
		text_init(&words);
		budget_add_check(&words, check);
		text_printf(out, "| `--%s` | %s | ", budget_rule_info(check->rule)->option,
			check->unknown    ? "❔ unknown"
			: check->exceeded ? "❌ exceeded"
					  : "✅ kept");
		budget_markdown_add_plain(out, words.data ? words.data : "");
		text_add(out, " |\n");
	}
}

/* As budget_add_message(): names are code. */
static void add_item(
	const struct budget_check *check, const struct budget_finding *finding, struct text *out)
{
	text_add(out, "\n- ");
	budget_add_finding(out, check, finding);
	if (finding->kind != KIND_UNKNOWN)
		text_printf(out, ", from `%s`", alloc_kind_name(finding->kind));
	if (!finding->place)
		return;
	_cleanup_(text_deinit) struct text place;
	text_init(&place);
	summary_add_place(&place, finding->place);
	text_add(out, " in `");
	budget_markdown_add_plain(out, place.data ? place.data : "");
	text_add(out, "`");
}

static void budget_markdown_add_stacks(
	const struct budget_page *page, const struct budget_check *check, struct text *out)
{
	for (size_t i = 0; i < budget_shown(page, check); i++) {
		const struct budget_finding *finding = budget_finding_at(page, check, i);
		_cleanup_(text_deinit) struct text frames;
		text_init(&frames);
		text_stack(finding->frames, finding->depth, false, &frames);
		add_item(check, finding, out);
		/* Indented by as much as the item: a fence could be closed by a name. */
		text_printf(out, "\n\n%s", frames.data ? frames.data : "");
	}
	if (check->count > budget_shown(page, check))
		text_add(out, "\n");
	budget_add_more(page, check, "- ", out);
}

/* What limits the figures, an item a sentence. */
static void budget_markdown_add_notes(const struct text *notes, struct text *out)
{
	text_add(out, notes->len ? "\n" : "");
	for (const char *line = notes->data; line && *line;) {
		size_t len = strcspn(line, "\n");
		_cleanup_(text_deinit) struct text one;
		text_init(&one);
		text_add_n(&one, line, len);
		text_add(out, "- ");
		budget_markdown_add_plain(out, one.data ? one.data : "");
		text_add(out, "\n");
		line += len + (line[len] == '\n');
	}
}

void budget_markdown(const struct budget_page *page, struct text *out)
{
	const struct budget *budget = page->budget;
	text_add(out, "### Memory of `");
	const struct target *target = model_target(page->model);
	for (size_t i = 0; i < target->command_len; i++) {
		text_add(out, i ? " " : "");
		budget_markdown_add_plain(out, target->command[i]);
	}
	text_add(out, "`\n\n");
	text_add_n(out, budget->verdict.data ? budget->verdict.data : "", budget->verdict.len);
	budget_markdown_add_notes(&page->notes, out);
	text_add(out, "\n");
	add_table(page, out);
	for (size_t i = 0; i < budget->checks.len; i++) {
		const struct budget_check *check = &budget->checks.data[i];
		if (!check->count)
			continue;
		text_printf(out, "\n#### --%s\n", budget_rule_info(check->rule)->option);
		budget_markdown_add_stacks(page, check, out);
	}
}
