/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answer before the evidence: what a recording says, in a few sentences, and the four lists a
 * person looks at first.
 */
#ifndef ANALYSIS_SUMMARY_H
#define ANALYSIS_SUMMARY_H

#include "analysis/growth.h"
#include "analysis/leaks.h"
#include "analysis/reallocs.h"
#include "analysis/rows.h"
#include "base/text.h"

enum summary_list {
	SUMMARY_NEVER_FREED,
	SUMMARY_PEAK,
	SUMMARY_CALLS,
	SUMMARY_TEMPORARY,
	SUMMARY_LISTS
};

struct summary {
	struct text verdict; /* sentences, each with a newline; the first one weighs most */
	/* All rows, best first; METRIC as summary_metric. Without those of libraries' own blocks.
	 */
	struct row_list lists[SUMMARY_LISTS];
	struct rows merged[SUMMARY_LISTS]; /* where their rows live */
	struct growth growth;              /* empty unless the model has a series with sites */
	struct reallocs reallocs;          /* empty unless the model has lives */
	bool has_growth, has_reallocs;
	struct site libraries; /* what they keep for themselves */
	bool searched;         /* for leaks; then, by class: */
	struct leak_sum leaks[LEAK_CLASSES];
};

void summary_init(struct summary *summary);
void summary_deinit(struct summary *summary);

/*
 * Fills an empty summary. `all` are those of rows_build(), `rows` the same as they are shown; they
 * must outlive it. Growth and reallocs are looked at where the model has what they need and there
 * is a resolver; NULL: they are not.
 */
struct error *summary_build(const struct model *model, struct resolver *resolver,
	const struct rows *all, const struct rows *rows, struct summary *ret);

/* Adds what makes an allocation temporary: "by the same thread before its next allocation"; where
 * the source does not tell threads apart, "of any thread". */
void summary_add_temporary_rule(struct text *text, const struct recording *recording);

/*
 * Adds sentences, each with a newline, that say what limits the figures: damage, loss, an ending by
 * a signal, symbols that the resolver missed. Nothing if all is well.
 */
void summary_add_notes(
	const struct model *model, const struct resolver *resolver, struct text *text);

/* Returns what a list is sorted by. SUMMARY_NEVER_FREED of a part that does not begin with the
 * recording is of what was allocated in it. */
enum metric summary_metric(const struct range *range, enum summary_list list);
/* As a key in JSON: "never_freed"… */
const char *summary_list_name(enum summary_list list);

/* Adds "status 0", "signal 11 (SIGSEGV)"… as a clause: "ended with status 0". */
void summary_add_ending(struct text *text, const struct target *target);
/* Adds how a frame is named within a sentence: "foo (foo.c:12)". */
void summary_add_place(struct text *text, const struct shown_frame *frame);

#endif
