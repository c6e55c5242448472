/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several recordings as one table: who started whom, what each allocated, and the sum. JSON is
 * "heapwise.tree/1", described in docs/schema/tree-1.md.
 */
#ifndef VIEWS_TREE_H
#define VIEWS_TREE_H

#include "analysis/unrecorded.h"
#include "table/answer.h"
#include "views/views.h"

extern const struct answer_type tree_answer_type;

/* One recording; strings are the caller's. */
struct tree_row {
	const char *file;
	const char *command;  /* arguments with spaces between */
	struct target target; /* only its numbers are looked at */
	struct totals totals;
	uint64_t lost_events, duration_ns;
	struct unrecorded_groups unrecorded; /* what it started without a recording */
	uint64_t children_unrecorded;        /* all of them, those too that are in no group */
	bool complete;
	bool changed; /* its mode was changed at the end: the process went on in another one */
	bool small;   /* it has no file of its own: `file` has it as a row */
	bool sampled; /* temporary allocations are not known */
	bool unseen;  /* its malloc is its own, or there was no room for the recorder */
	/* Set by tree_arrange(): */
	uint32_t process; /* equal: images of one process, not of another that had its number later
			   */
	uint32_t depth;   /* below a process that no other row has started */
};

/*
 * Puts a process after the one that started it, in the order of their beginnings, and the images of
 * one process one after the other.
 */
struct error *tree_arrange(struct tree_row *rows, size_t count);

/* Writes the arranged rows. NULL also when the sink stopped it: the sink knows. */
struct error *tree_write(const struct tree_row *rows, size_t count,
	const struct view_options *options, const struct sink *sink);

#endif
