/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows as a graph of calls: each function is one node, whatever called it. Which nodes and edges
 * are left of a large one is chosen as pprof does (https://github.com/google/pprof,
 * internal/graph/graph.go and newTrimmedGraph() of internal/report/report.go), so that the same
 * options give the same picture.
 */
#ifndef ANALYSIS_CALLGRAPH_H
#define ANALYSIS_CALLGRAPH_H

#include "analysis/calltree.h"

struct callgraph_node {
	const struct spot *spot;
	struct figure flat, cum;
	uint32_t first_in, ins, first_out, outs; /* in `in` and `out` of the graph */
	int64_t score;                           /* how much it tells */
};

struct callgraph_edge {
	uint32_t from, to; /* nodes */
	struct figure weight;
	bool residual; /* over nodes that are left out */
	bool inlined;  /* all of these calls were */
	bool dropped;
	uint32_t last_row;
};

DEFINE_VEC(callgraph_nodes, struct callgraph_node)
DEFINE_VEC(callgraph_edges, struct callgraph_edge)

struct callgraph {
	struct callgraph_nodes nodes; /* in the order that was asked for */
	struct callgraph_edges edges; /* the heaviest first */
	uint32_t *in, *out;           /* edges of each node, one after another */
	size_t dropped_nodes, dropped_edges;
	uint64_t node_cutoff, edge_cutoff; /* what has less is left out */
	size_t node_limit;                 /* 0: none was reached */
};

/* Which functions come first, and stay where there are too many. */
enum callgraph_order {
	CALLGRAPH_NODES_LEAST, /* for pictures: calls that others stand for are left out too */
	CALLGRAPH_FLAT,
	CALLGRAPH_CUM,
};

/* pprof's --nodefraction, --edgefraction, --nodecount; 0: all. */
struct callgraph_limits {
	enum callgraph_order order;
	double node_fraction, edge_fraction; /* of the sum of what is shown */
	size_t node_count;
};

#define CALLGRAPH_NODE_FRACTION 0.005
#define CALLGRAPH_EDGE_FRACTION 0.001
#define CALLGRAPH_NODE_COUNT 80u

void callgraph_init(struct callgraph *graph);
void callgraph_deinit(struct callgraph *graph);

/* Fills an empty graph. `spots` and rows must outlive it. */
struct error *callgraph_build(const struct rows *rows, enum metric metric, struct spots *spots,
	const struct callgraph_limits *limits, struct callgraph *ret) must_check_;

#endif
