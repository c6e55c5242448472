/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What comparisons look like wherever they are shown. Inside views/ only. */
#ifndef VIEWS_CHANGE_PARTS_H
#define VIEWS_CHANGE_PARTS_H

#include "analysis/comparison.h"
#include "base/json.h"

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

/* The metric that stands beside it, and what that counts: "calls". */
enum metric change_other(enum metric metric);
const char *change_unit(enum metric metric);

/* Which two are compared, the older one first. */
void text_change_sides(
	const struct model *const models[2], const char *const labels[2], struct text *out);

/* Adds what limits a comparison, and each side, with its label before it. */
void change_add_notes(
	const struct comparison *comparison, const char *const labels[2], struct text *out);

/* All metrics as members, each an object: "live_bytes": {"older": 1, …}. row NULL: the totals. */
void json_change_figures(struct json *json, const struct diff *diff, const struct row *row);
/* One of these, of the totals as sentences and limits have it. */
void json_change_of_program(struct json *json, const struct diff *diff, enum metric metric);
/* "renames": [ … ] */
void json_change_renames(struct json *json, const struct diff *diff);

#endif
