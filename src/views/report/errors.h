/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors of a model, with their stacks, in any document that tells of them. Inside views/ only. */
#ifndef VIEWS_ERRORS_H
#define VIEWS_ERRORS_H

#include "analysis/resolve.h"
#include "base/text.h"
#include "model/errors.h"
#include "table/answer.h"

struct errors_shown {
	const struct model *model;
	struct resolver *resolver;
	size_t limit; /* rows */
	bool all_frames;
	bool write_suppressions; /* as text: an entry for each */
};

/* The frames of a stack of theirs, innermost first. False: no memory. */
bool errors_frames(const struct errors_shown *errors, uint32_t stack, struct frame_vec *ret);

/* Adds a line on which member of a structure the first byte is, if it was never written and that is
 * known; `indent` comes first. NULL: done. */
struct error *errors_add_member(const struct errors_shown *errors,
	const struct program_error *error, const char *indent, struct text *out) must_check_;

/* Adds each error as text, with its stacks. */
void errors_add(const struct errors_shown *errors, struct text *out);

/* Hands over report_errors_type from row `first` on. */
void errors_put_from(const struct errors_shown *errors, size_t first, struct answer *answer);

/* Hands over report_errors_count_type and report_errors_type, as people read them, too. */
void errors_put(const struct errors_shown *errors, struct answer *answer);

#endif
