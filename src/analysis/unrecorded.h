/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which programs ran without a recording, by program and reason. */
#ifndef ANALYSIS_UNRECORDED_H
#define ANALYSIS_UNRECORDED_H

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"
#include "base/vec.h"
#include "model/model.h"

struct unrecorded_group {
	const char *path; /* the model's; "" if unknown */
	enum unrecorded_reason reason;
	bool itself; /* the recorded process went on as it; else it started it */
	uint64_t count;
};
DEFINE_VEC(unrecorded_groups, struct unrecorded_group)

/* Finds the groups, most frequent first; those that the recording only counts are in none.
 * Initialises *ret, which the caller deinits in any case. */
struct error *unrecorded_group(const struct model *model, struct unrecorded_groups *ret);

/* Returns how many are of the recorded process itself. */
uint64_t unrecorded_itself(const struct unrecorded_groups *groups);

/*
 * Names the groups that are `itself` or not, the first few: "/usr/bin/foo (static), 3 × bar (musl)
 * and 2 more" of `total` programs.
 */
void unrecorded_add_groups(
	struct text *text, const struct unrecorded_groups *groups, bool itself, uint64_t total);

/*
 * Adds "2 child processes ran unrecorded: /usr/bin/foo (static), …." and "After exec, the process
 * ran unrecorded as ….", each with a newline; nothing if there are none.
 */
void unrecorded_add_sentences(const struct model *model, struct text *text);

#endif
