/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits and whether a recording keeps them: a table, as text, JSON and CSV
 * "heapwise.budget/1" (docs/schema/budget-1.md), and in the forms that CI systems read. Equal input
 * gives equal bytes.
 */
#ifndef VIEWS_BUDGET_VIEW_H
#define VIEWS_BUDGET_VIEW_H

#include "analysis/budget.h"
#include "table/answer.h"
#include "views/views.h"

enum budget_form {
	BUDGET_TEXT,
	BUDGET_JSON,
	BUDGET_CSV,
	BUDGET_SARIF,    /* 2.1.0 */
	BUDGET_JUNIT,    /* XML */
	BUDGET_GITHUB,   /* workflow commands that annotate lines */
	BUDGET_MARKDOWN, /* a summary for a merge request or a job */
	BUDGET_FORMS
};

struct budget_view_options {
	enum budget_form form;
	struct budget_limits limits;
	const struct model *baseline;      /* NULL: none */
	bool same_recording;               /* the baseline is of it too */
	bool count_libraries;              /* what they keep for themselves counts too */
	const char *labels[2];             /* what baseline and recording are called */
	struct suppressions *suppressions; /* of leaks; NULL: none */
	size_t limit;                      /* findings of each limit; VIEW_DEFAULT_LIMIT */
	const char *version;               /* of the tool, for BUDGET_SARIF */
};

extern const struct answer_type budget_answer_type;

/* NULL if there is no form of that number. */
const char *budget_form_name(enum budget_form form);

/*
 * Writes it. *ret_exceeded, *ret_unknown: how many limits are, and how many could not be judged.
 * NULL also when the sink stopped it: the sink knows.
 */
struct error *budget_view_write(const struct model *model,
	const struct budget_view_options *options, const struct sink *sink, size_t *ret_exceeded,
	size_t *ret_unknown) must_check_;

#endif
