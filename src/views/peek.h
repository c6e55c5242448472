/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions with who calls them and whom they call, as pprof's -peek and -tree lay it out; as JSON
 * "heapwise.peek/1", described in docs/schema/peek-1.md.
 */
#ifndef VIEWS_PEEK_H
#define VIEWS_PEEK_H

#include "analysis/callgraph.h"
#include "analysis/profile.h"
#include "table/answer.h"
#include "views/views.h"

extern const struct answer_type peek_answer_type;

/*
 * Writes the functions that are set in `is_chosen` (by spot id; NULL: all of the graph), in the
 * graph's order. NULL also when the sink stopped it: the sink knows.
 */
struct error *peek_write(const struct profile *profile, const struct callgraph *graph,
	struct spots *spots, const bool *is_chosen, const struct view_options *options,
	const struct sink *sink) must_check_;

#endif
