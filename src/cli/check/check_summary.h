/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `heapwise check` has found, in all processes, as it says at the end. */
#ifndef CLI_CHECK_SUMMARY_H
#define CLI_CHECK_SUMMARY_H

#include "base/text.h"
#include "base/vec.h"
#include "cli/check/check_printer.h"
#include "cli/check/kind_sums.h"
#include "model/errors.h"
#include "model/model.h"

/* An error at a place, in one process or several. */
struct check_row {
	unsigned severity; /* as errors_view_severity() */
	uint64_t count;
	char *what; /* "InvalidWrite  Invalid write of size 4 in put (table.c:21)"; owned */
};
DEFINE_VEC(check_rows, struct check_row)

struct check_summary {
	struct check_rows rows;
	struct check_result result;
	struct check_coverage coverage; /* of all processes, added up */
	uint64_t processes;             /* that are in it */
	struct text doubts;             /* lines: why errors may be missing */
	struct text killed;             /* lines: processes that a signal has killed */
	uint64_t killed_count;
	struct kind_sums all, left; /* errors with those that are suppressed, and without */
};

void check_summary_init(struct check_summary *summary);
void check_summary_deinit(struct check_summary *summary);

/* Adds the errors of a recording that is complete, before suppressions take some of them out. */
struct error *check_summary_add_all(
	struct check_summary *summary, const struct model *model) must_check_;

/* Returns how many errors were suppressed. *ret_kinds: of how many kinds. */
uint64_t check_summary_suppressed(const struct check_summary *summary, size_t *ret_kinds);

/* Adds a recording that is complete, with the errors that are left in it. */
struct error *check_summary_add(
	struct check_summary *summary, const struct model *model) must_check_;

/* Adds its sentences to *out. */
void check_summary_text(struct check_summary *summary, struct text *out);

#endif
