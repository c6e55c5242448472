/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What comparisons look like wherever they are shown. Inside views/ only. */
#ifndef VIEWS_CHANGE_PARTS_H
#define VIEWS_CHANGE_PARTS_H

#include "analysis/comparison.h"
#include "views/report/recorded_columns.h"

struct change_look {
	const struct diff *diff;
	bool colour, all_frames;
};

/*
 * A place: by how much the comparison's metric and the one beside it changed, and the stack. The
 * remark stands before it.
 */
void text_change_row(const struct change_look *look, const struct row *row, const char *remark,
	struct text *out);

/* Likewise of a row of struct site_rows, with a base, as struct table_type wants it. */
void change_site_text(const void *context, size_t number, struct text *out);

/* The metric that stands beside it, and what that counts: "calls". */
enum metric change_other(enum metric metric);
const char *change_unit(enum metric metric);

/* Which two are compared, the older one first. */
void text_change_sides(const struct recorded sides[2], struct text *out);

/* Adds what limits a comparison, and each side, with its label before it. */
void change_add_notes(
	const struct comparison *comparison, const char *const labels[2], struct text *out);

#endif
