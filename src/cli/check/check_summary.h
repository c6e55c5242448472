/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `heapwise check` has found, in all processes, as it says at the end. */
#ifndef CLI_CHECK_SUMMARY_H
#define CLI_CHECK_SUMMARY_H

#include "base/text.h"
#include "base/vec.h"
#include "cli/check/check_printer.h"
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
};

void check_summary_init(struct check_summary *summary);
void check_summary_deinit(struct check_summary *summary);

/* Adds a recording that is complete. */
struct error *check_summary_add(
	struct check_summary *summary, const struct model *model) must_check_;

/* Adds its sentences to *out. */
void check_summary_text(struct check_summary *summary, struct text *out);

#endif
