/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What figures rest on: how far a model's figures and its search for leaks answer a question, and
 * why not further. Verdicts and gates ask here before they say that something is so. Each reason is
 * a row of a table, so that all gates learn at once what is new in a recording.
 */
#ifndef ANALYSIS_EVIDENCE_H
#define ANALYSIS_EVIDENCE_H

#include "analysis/limit.h"
#include "analysis/metric.h"
#include "model/model.h"

/* Why a figure may not be the true one, as clauses without a full stop; static. */
struct evidence {
	const char *unknown; /* why there is none; then the next two are the same. NULL: there is */
	const char *more;    /* why the true one may be larger; NULL: it is not */
	const char *less;    /* why it may be smaller; NULL: it is not */
};

enum evidence_scope {
	EVIDENCE_OF_TOTAL,
	EVIDENCE_OF_EACH_STACK,
};

/* Returns what a figure of the whole process, or those of single stacks, rest on. Error of sampling
 * is not in it: interval.h has that. */
struct evidence evidence_of_metric(
	const struct model *model, enum metric metric, enum evidence_scope scope);

/*
 * Returns what the sums of the search's kinds (bits 1 << enum leak_kind) rest on. `at_end`: the
 * question is what was lost when the program had ended, not when it was searched.
 */
struct evidence evidence_of_leaks(const struct model *model, unsigned kinds, bool at_end);

/* Returns those of `kinds` whose blocks are certain: one such block decides, whatever is unknown
 * about other kinds. */
unsigned evidence_sure_kinds(const struct model *model, unsigned kinds, bool at_end);

/* Returns whether a signal ended the program, and the figures are of all until then: peaks and
 * counts are right, and are those of a run that was cut short. */
bool evidence_is_cut_short(const struct model *model);

/* Returns whether the program went on after the search: what was found is not how it ended. */
bool evidence_search_is_early(const struct model *model);

/* Returns why it is uncertain that the errors of a model (wrong frees) are errors, and all of them;
 * NULL if it is certain. Errors of other checkers are taken as given. */
const char *evidence_of_errors(const struct model *model);

/* Returns why it is uncertain that these are all errors that the program made, of all kinds that
 * checkers look for; NULL if all were looked for. A recording of `run` has checked frees alone. */
const char *evidence_of_checks(const struct model *model);

enum limit_state {
	LIMIT_KEPT,
	LIMIT_EXCEEDED,
	LIMIT_UNDECIDED,
};

/*
 * Returns whether a limit is exceeded by a figure that lies between `low` and `high`, as far as is
 * certain. *ret_why: the reason that it is undecided; NULL: it is decided, or the range is the
 * reason.
 */
enum limit_state evidence_evaluate(
	const struct evidence *evidence, bool low_exceeds, bool high_exceeds, const char **ret_why);

#endif
