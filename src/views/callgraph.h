/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A graph of calls for Graphviz, drawn as pprof draws it: the larger a name, the more the function
 * allocated itself; the redder a node, the more was allocated below it (green: in a comparison, the
 * more is gone); the thicker an arrow, the more went along it; dotted: over functions that are left
 * out. Or as CSV and JSON: "heapwise.graph/1", described in docs/schema/graph-1.md.
 */
#ifndef VIEWS_CALLGRAPH_H
#define VIEWS_CALLGRAPH_H

#include "analysis/callgraph.h"
#include "analysis/profile.h"
#include "table/answer.h"
#include "views/views.h"

/* In which unit bytes are written. */
enum byte_unit { UNIT_AUTO, UNIT_B, UNIT_KIB, UNIT_MIB, UNIT_GIB };

/* "auto", "B", "KiB", "kb"…; false: no unit. */
bool byte_unit_parse(const char *text, enum byte_unit *ret);

struct callgraph_options {
	struct view_options view; /* neither JSON nor CSV: DOT */
	enum byte_unit unit;
};

extern const struct answer_type callgraph_answer_type;

/* Writes the graph. NULL also when the sink stopped it: the sink knows. */
struct error *callgraph_write(const struct profile *profile, const struct callgraph *graph,
	struct spots *spots, const struct callgraph_options *options,
	const struct sink *sink) must_check_;

/* Adds a graph that Graphviz drew as SVG, with a script that pans, zooms and searches it in a
 * browser. What has no </svg> is added as it is. */
void callgraph_add_script(const char *svg, size_t len, struct text *ret);

#endif
