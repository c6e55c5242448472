/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions with who calls them and whom they call, as pprof's -peek and -tree lay it out; as JSON
 * "heapwise.peek/1", described in docs/schema/peek-1.md.
 */
#ifndef VIEWS_PEEK_H
#define VIEWS_PEEK_H

#include "analysis/callgraph.h"
#include "analysis/profile.h"
#include "views/views.h"

struct peek_options {
	enum metric metric;
	bool json;
	bool colour; /* of text */
};

/*
 * Writes the functions with a place in `is_chosen` (by spot id; NULL: all of the graph), in the
 * graph's order. NULL also when the sink stopped it: the sink knows.
 */
struct error *peek_write(const struct profile *profile, const struct callgraph *graph,
	struct spots *spots, const bool *is_chosen, const struct peek_options *options,
	const struct sink *sink) must_check_;

#endif
