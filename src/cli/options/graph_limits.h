/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pprof's options for what is left of a large graph. */
#ifndef CLI_GRAPH_LIMITS_H
#define CLI_GRAPH_LIMITS_H

#include "analysis/callgraph.h"
#include "cli/options/options.h"

enum graph_limit_option {
	GRAPH_OPT_NODE_FRACTION = 1024,
	GRAPH_OPT_EDGE_FRACTION,
	GRAPH_OPT_NODE_COUNT,
	GRAPH_OPT_END,
};

#define GRAPH_LIMIT_SPECS                                                                          \
	{GRAPH_OPT_NODE_FRACTION, "nodefraction", "F",                                             \
		"leave out functions with less than this fraction of the whole (pprof: 0.005)"},   \
		{GRAPH_OPT_EDGE_FRACTION, "edgefraction", "F",                                     \
			"leave out calls with less than this fraction (pprof: 0.001)"},            \
		{GRAPH_OPT_NODE_COUNT, "nodecount", "N",                                           \
			"show at most N functions, 0: all (pprof: 80)"},

static inline bool graph_limits_have(int id)
{
	return id >= GRAPH_OPT_NODE_FRACTION && id < GRAPH_OPT_END;
}

/* Takes one of these. False, after saying so: its argument is wrong. */
bool graph_limits_take(const struct options *options, int id, struct callgraph_limits *limits);

#endif
