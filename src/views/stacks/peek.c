/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 *	      flat   flat%           cum    cum%         calls  calls%
 *	                                               23.5 MiB  100.0% |   main
 *	  23.5 MiB   82.1%      23.5 MiB   82.1%                        | read_line  [app]
 *	                                                512 KiB    2.1% |   xmalloc
 */
#include "views/peek.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "views/report/paint.h"
#include "views/report/recorded_columns.h"
#include "views/stacks/figures.h"

#define FIGURE_WIDTH 12
#define CELLS_WIDTH (FIGURE_WIDTH + 8)

DEFINE_VEC(node_list, size_t)

struct peeking;

/* A figure of a row, and what it is of. */
struct figure_row {
	const struct profile *profile;
	struct figure figure;
};

/* The calls of a function, to it or from it. */
struct call_rows {
	const struct peeking *page;
	const uint32_t *edges;
	bool inward;
};

struct peeking {
	const struct profile *profile;
	const struct callgraph *graph;
	const struct view_options *options;
	enum grain grain;
	uint64_t whole;
	struct node_list nodes; /* rows */
	/* What is nested in the row that is laid out. */
	struct peek_inner {
		struct spot_rows spot;
		struct figure_row figure;
		struct call_rows calls;
	} * inner;
};

static struct error *peek_choose(
	const struct callgraph *graph, const bool *is_chosen, struct node_list *ret)
{
	for (size_t i = 0; i < graph->nodes.len; i++)
		if (!is_chosen || is_chosen[graph->nodes.data[i].spot->id])
			if (!node_list_push(ret, i))
				return error_no_memory();
	return NULL;
}

static void peek_add_cells(
	const struct peeking *at, struct figure figure, uint64_t whole, struct text *out)
{
	text_add_figure_cell(
		out, at->options->sort, figure_value(figure), at->profile->base, FIGURE_WIDTH);
	text_add_percent(out, figure_value(figure), whole);
}

/* One call: how much of it goes this way, of what the function in the middle has. */
static void add_call(const struct peeking *at, const struct callgraph_edge *edge, uint32_t other,
	uint64_t whole, struct text *out)
{
	text_printf(out, "%*s", 2 * CELLS_WIDTH, "");
	peek_add_cells(at, edge->weight, whole, out);
	text_add(out, " |   ");
	spot_add_line(out, at->grain, at->graph->nodes.data[other].spot);
	text_add(out, edge->residual ? "  (through others)" : "");
	text_add(out, edge->inlined ? "  (inlined)\n" : "\n");
}

static void add_ruler(struct text *out)
{
	for (int i = 0; i < 3 * CELLS_WIDTH; i++)
		text_add_char(out, '-');
	text_add(out, "-+-----------------\n");
}

static void peek_row_text(const void *context, size_t row, struct text *out)
{
	const struct peeking *at = context;
	const struct callgraph_node *node = &at->graph->nodes.data[row];
	const struct callgraph_edge *edges = at->graph->edges.data;
	for (uint32_t i = 0; i < node->ins; i++) {
		const struct callgraph_edge *edge = &edges[at->graph->in[node->first_in + i]];
		add_call(at, edge, edge->from, figure_amount(node->cum), out);
	}
	peek_add_cells(at, node->flat, at->whole, out);
	peek_add_cells(at, node->cum, at->whole, out);
	text_printf(out, "%*s | ", CELLS_WIDTH, "");
	paint_begin(out, at->options->colour, PAINT_TITLE);
	spot_add_line(out, at->grain, node->spot);
	paint_end(out, at->options->colour, PAINT_TITLE);
	text_add_char(out, '\n');
	for (uint32_t i = 0; i < node->outs; i++) {
		const struct callgraph_edge *edge = &edges[at->graph->out[node->first_out + i]];
		add_call(at, edge, edge->to, figure_amount(node->cum), out);
	}
	add_ruler(out);
}

static void peek_add_title(const struct peeking *at, struct text *out)
{
	enum metric metric = at->options->sort;
	text_printf(out, "\n%s by %s: ", metric_title(metric), grain_name(at->grain));
	text_add_figure(out, metric, (int64_t)at->whole, false);
	text_add(out, "\n");
	if (at->graph->dropped_nodes && at->graph->node_cutoff) {
		text_printf(out, "  left out: %zu with less than ", at->graph->dropped_nodes);
		text_add_figure(out, metric, (int64_t)at->graph->node_cutoff, false);
		text_add(out, " (--nodefraction)\n");
	}
	text_printf(out, "%*s%8s%*s%8s%*s%8s | callers, function, callees\n", FIGURE_WIDTH, "flat",
		"flat%", FIGURE_WIDTH, "cum", "cum%", FIGURE_WIDTH, "calls", "calls%");
	add_ruler(out);
}

static const struct column figure_columns[] = {
	{"value", COLUMN_SIGNED, .says = "in a comparison the difference"},
	{"base", COLUMN_INTEGER, .optional = true, .says = "in a comparison: the older figure"},
	COLUMNS_END};

static void value_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct figure_row *figure = context;
	(void)row;
	figure_cell(figure->profile, figure->figure, column, ret);
}

static const struct table_type value_type = {.columns = figure_columns, .cell = value_cell};

static void peek_take_figure(const struct peeking *at, struct figure figure, struct cell *ret)
{
	at->inner->figure = (struct figure_row){at->profile, figure};
	cell_take_record(ret, &value_type, &at->inner->figure);
}

enum { SPOT, CALLS, RESIDUAL, INLINED };
static const struct column call_columns[] = {[SPOT] = {"", COLUMN_RECORD, .nested = &spot_type},
	[CALLS] = {"calls", COLUMN_RECORD,
		.says = "what was allocated through these calls, each stack once",
		.nested = &value_type},
	[RESIDUAL] = {"residual", COLUMN_BOOLEAN,
		.says = "some of it passes through functions that are left out",
		COLUMN_OF(callgraph_edge, residual)},
	[INLINED] = {"inlined", COLUMN_BOOLEAN, .says = "all of these calls were inlined",
		COLUMN_OF(callgraph_edge, inlined)},
	COLUMNS_END};

static const struct callgraph_edge *call_edge(const struct call_rows *calls, size_t row)
{
	return &calls->page->graph->edges.data[calls->edges[row]];
}

static const struct spot *call_spot(const struct call_rows *calls, size_t row)
{
	const struct callgraph_edge *edge = call_edge(calls, row);
	return calls->page->graph->nodes.data[calls->inward ? edge->from : edge->to].spot;
}

static void call_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct call_rows *calls = context;
	if (column == SPOT)
		spot_cell(&calls->page->inner->spot, call_spot(calls, row), ret);
	else if (column == CALLS)
		peek_take_figure(calls->page, call_edge(calls, row)->weight, ret);
	else
		table_member(&call_columns[column], call_edge(calls, row), ret);
}

static void call_gist(const void *context, size_t row, struct text *out)
{
	text_add(out, call_spot(context, row)->name);
}

static const struct table_type call_type = {.name = "call",
	.says = "calls of one function by another, which is the one that has a name here",
	.columns = call_columns,
	.cell = call_cell,
	.gist = call_gist};

enum { FLAT = SPOT + 1, CUM, CALLERS, CALLEES };
static const struct column function_columns[] = {[SPOT] = {"", COLUMN_RECORD, .nested = &spot_type},
	[FLAT] = {"flat", COLUMN_RECORD, .says = "what the function allocated itself",
		.nested = &value_type},
	[CUM] = {"cum", COLUMN_RECORD,
		.says = "including everything that was allocated below it, each stack once",
		.nested = &value_type},
	[CALLERS] = {"callers", COLUMN_TABLE, .says = "the heaviest first", .nested = &call_type},
	[CALLEES] = {"callees", COLUMN_TABLE, .says = "the heaviest first", .nested = &call_type},
	COLUMNS_END};

static void function_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct peeking *at = context;
	const struct callgraph *graph = at->graph;
	const struct callgraph_node *node = &graph->nodes.data[row];
	bool inward = column == CALLERS;
	if (column == SPOT) {
		spot_cell(&at->inner->spot, node->spot, ret);
	} else if (column < CALLERS) {
		peek_take_figure(at, column == FLAT ? node->flat : node->cum, ret);
	} else {
		at->inner->calls = (struct call_rows){at,
			inward ? graph->in + node->first_in : graph->out + node->first_out, inward};
		ret->nested = (struct table){&call_type, &at->inner->calls,
			inward ? node->ins : node->outs, .limit = TABLE_NO_LIMIT};
	}
}

static const struct table_type function_type = {.name = "functions",
	.says = "those that match, the largest `flat` first (`--cum`: the largest `cum`)",
	.columns = function_columns,
	.cell = function_cell,
	.row_text = peek_row_text};

enum { BY };
static const struct column graph_columns[] = {[BY] = GRAIN_COLUMN,
	{"dropped_nodes", COLUMN_INTEGER, UNIT_COUNT,
		.says = "functions that are left out because they are below `--nodefraction`",
		COLUMN_OF(callgraph, dropped_nodes)},
	{"dropped_edges", COLUMN_INTEGER, UNIT_COUNT,
		.says = "calls that are left out because they are below `--edgefraction`",
		COLUMN_OF(callgraph, dropped_edges)},
	COLUMNS_END};

static void graph_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct peeking *at = context;
	(void)row;
	if (column == BY)
		ret->text = grain_name(at->grain);
	else
		table_member(&graph_columns[column], at->graph, ret);
}

static const struct table_type graph_type = {.columns = graph_columns, .cell = graph_cell};

const struct answer_type peek_answer_type = {.schema = "heapwise.peek/1",
	.from = "heapwise peek --json",
	.says = "the callers and callees of functions. " STACKS_HEAD_SAYS,
	.tables = (const struct table_type *const[]){&stacks_metric_type, &graph_type,
		&function_type, NULL},
	.main = &function_type,
	.parts = (const struct table_type *const[]){&call_type, &spot_type, NULL}};

static struct error *peek_put(void *context, struct answer *answer)
{
	const struct peeking *at = context;
	const struct table functions = {&function_type, at, at->nodes.len, .order = at->nodes.data,
		.limit = TABLE_NO_LIMIT};
	answer_record_of(answer, &graph_type, at);
	if (answer_prose(answer))
		peek_add_title(at, answer_prose(answer));
	answer_table(answer, &functions);
	return NULL;
}

struct error *peek_write(const struct profile *profile, const struct callgraph *graph,
	struct spots *spots, const bool *is_chosen, const struct view_options *options,
	const struct sink *sink)
{
	struct peek_inner inner = {.spot = {.grain = spots_grain(spots)}};
	struct peeking at = {
		.profile = profile,
		.graph = graph,
		.options = options,
		.grain = spots_grain(spots),
		.whole = profile_whole(profile, options->sort),
		.inner = &inner,
	};
	node_list_init(&at.nodes);
	struct error *error = peek_choose(graph, is_chosen, &at.nodes);
	if (!error)
		error = stacks_answer(profile, options, &peek_answer_type, peek_put, &at, sink);
	node_list_deinit(&at.nodes);
	return error;
}
