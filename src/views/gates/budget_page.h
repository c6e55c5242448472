/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the forms of a budget share. Inside views/ only. */
#ifndef VIEWS_BUDGET_PAGE_H
#define VIEWS_BUDGET_PAGE_H

#include "views/budget_view.h"

struct budget_page {
	const struct model *model;
	const struct budget_view_options *options;
	const struct budget *budget;
	struct text notes; /* sentences, each with a newline */
	size_t limit;      /* findings to show of each check */
};

static inline const struct budget_finding *budget_finding_at(
	const struct budget_page *page, const struct budget_check *check, size_t i)
{
	return &page->budget->findings.data[check->first + i];
}

/* How many findings of a check are shown. */
static inline size_t budget_shown(const struct budget_page *page, const struct budget_check *check)
{
	return check->count < page->limit ? check->count : page->limit;
}

/* What stays of a finding when lines move. False: no memory. */
bool budget_fingerprint(
	const struct budget_check *check, const struct budget_finding *finding, uint64_t *ret);
/* Adds a finding in one sentence without a full stop: "510 B in 5 blocks, from malloc in …". */
void budget_add_message(
	struct text *text, const struct budget_check *check, const struct budget_finding *finding);

/* "… 2 more stacks" of a list that was cut, as a line. */
void budget_add_more(const struct budget_page *page, const struct budget_check *check,
	const char *indent, struct text *out);

/* All of it as a table. */
struct answer;
struct error *budget_answer(const struct budget_page *page, struct answer *answer) must_check_;
/* Forms that CI systems read. Text ones add to a text, JSON ones write to the sink. */
void budget_junit(const struct budget_page *page, struct text *out);
void budget_github(const struct budget_page *page, struct text *out);
void budget_markdown(const struct budget_page *page, struct text *out);
struct error *budget_sarif(const struct budget_page *page, const struct sink *sink) must_check_;

#endif
