/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two recordings, or two moments of one, compared: as text, JSON and CSV
 * "heapwise.diff/1" (docs/schema/diff-1.md). Equal input gives equal bytes.
 */
#ifndef VIEWS_DIFF_VIEW_H
#define VIEWS_DIFF_VIEW_H

#include "analysis/diff.h"
#include "table/answer.h"
#include "views/views.h"

extern const struct answer_type diff_answer_type;

struct diff_view_options {
	struct diff_options diff;
	struct view_options view; /* `sort` is not used: diff.metric */
	const char *labels[2];    /* what the older and the newer one are called: "a.hpw@3s" */
};

struct diff_outcome {
	struct diff_figure total; /* of the metric */
	struct text top; /* what grew most, as in the verdict, with a newline; may be empty */
};

/* Writes it. The outcome's text is the caller's to deinit. NULL also when the sink stopped it. */
struct error *diff_view_write(const struct model *older, const struct model *newer,
	const struct diff_view_options *options, const struct sink *sink,
	struct diff_outcome *ret) must_check_;

#endif
