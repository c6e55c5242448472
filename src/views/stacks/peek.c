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
#include "views/report/json_parts.h"
#include "views/report/paint.h"
#include "views/report/text_parts.h"
#include "views/stacks/figures.h"

#define FIGURE_WIDTH 12
#define CELLS_WIDTH (FIGURE_WIDTH + 8)

DEFINE_VEC(node_list, uint32_t)

struct peeking {
	const struct profile *profile;
	const struct callgraph *graph;
	const struct peek_options *options;
	enum grain grain;
	uint64_t whole;
	struct node_list nodes;
	struct text *out;
};

static uint64_t peek_amount(struct figure figure)
{
	int64_t value = figure_value(figure);
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

static struct error *peek_choose(struct peeking *at, const bool *is_chosen)
{
	for (uint32_t i = 0; i < at->graph->nodes.len; i++)
		if (!is_chosen || is_chosen[at->graph->nodes.data[i].spot->id])
			if (!node_list_push(&at->nodes, i))
				return error_no_memory();
	return NULL;
}

static void peek_add_cells(const struct peeking *at, struct figure figure, uint64_t whole)
{
	text_add_figure_cell(at->out, at->options->metric, figure_value(figure),
		at->profile->base != NULL, FIGURE_WIDTH);
	text_add_percent(at->out, figure_value(figure), whole);
}

/* One call: how much of it goes this way, of what the function in the middle has. */
static void add_call(
	const struct peeking *at, const struct callgraph_edge *edge, uint32_t other, uint64_t whole)
{
	text_printf(at->out, "%*s", 2 * CELLS_WIDTH, "");
	peek_add_cells(at, edge->weight, whole);
	text_add(at->out, " |   ");
	spot_add_line(at->out, at->grain, at->graph->nodes.data[other].spot);
	text_add(at->out, edge->residual ? "  (through others)" : "");
	text_add(at->out, edge->inlined ? "  (inlined)\n" : "\n");
}

static void peek_add_node(const struct peeking *at, uint32_t number)
{
	const struct callgraph_node *node = &at->graph->nodes.data[number];
	const struct callgraph_edge *edges = at->graph->edges.data;
	for (uint32_t i = 0; i < node->ins; i++) {
		const struct callgraph_edge *edge = &edges[at->graph->in[node->first_in + i]];
		add_call(at, edge, edge->from, peek_amount(node->cum));
	}
	peek_add_cells(at, node->flat, at->whole);
	peek_add_cells(at, node->cum, at->whole);
	text_printf(at->out, "%*s | ", CELLS_WIDTH, "");
	paint_begin(at->out, at->options->colour, PAINT_TITLE);
	spot_add_line(at->out, at->grain, node->spot);
	paint_end(at->out, at->options->colour, PAINT_TITLE);
	text_add_char(at->out, '\n');
	for (uint32_t i = 0; i < node->outs; i++) {
		const struct callgraph_edge *edge = &edges[at->graph->out[node->first_out + i]];
		add_call(at, edge, edge->to, peek_amount(node->cum));
	}
}

static void add_ruler(const struct peeking *at)
{
	for (int i = 0; i < 3 * CELLS_WIDTH; i++)
		text_add_char(at->out, '-');
	text_add(at->out, "-+-----------------\n");
}

static struct error *peek_write_text(const struct peeking *at, const struct sink *sink)
{
	struct text *out = at->out;
	text_heading(at->profile->model, out);
	text_notes(&at->profile->notes, out);
	text_printf(out, "\n%s by %s: ", metric_title(at->options->metric), grain_name(at->grain));
	text_add_figure(out, at->options->metric, (int64_t)at->whole, false);
	text_add(out, "\n");
	if (at->graph->dropped_nodes && at->graph->node_cutoff) {
		text_printf(out, "  %zu left out, which have less than ", at->graph->dropped_nodes);
		text_add_figure(out, at->options->metric, (int64_t)at->graph->node_cutoff, false);
		text_add(out, "\n");
	}
	text_printf(out, "%*s%8s%*s%8s%*s%8s | callers, function, callees\n", FIGURE_WIDTH, "flat",
		"flat%", FIGURE_WIDTH, "cum", "cum%", FIGURE_WIDTH, "calls", "calls%");
	add_ruler(at);
	for (size_t i = 0; i < at->nodes.len; i++) {
		peek_add_node(at, at->nodes.data[i]);
		add_ruler(at);
	}
	if (out->failed)
		return error_no_memory();
	sink->write(sink->ctx, out->data, out->len);
	return NULL;
}

static void put_figure(
	const struct peeking *at, struct json *json, const char *key, struct figure figure)
{
	json_key(json, key);
	json_object_begin(json);
	json_key(json, "value");
	json_i64(json, figure_value(figure));
	if (at->profile->base)
		json_put_u64(json, "base", figure.base);
	json_object_end(json);
}

static void put_calls(const struct peeking *at, struct json *json, const char *key,
	const uint32_t *edges, uint32_t count, bool outward)
{
	json_key(json, key);
	json_array_begin(json);
	for (uint32_t i = 0; i < count; i++) {
		const struct callgraph_edge *edge = &at->graph->edges.data[edges[i]];
		uint32_t other = outward ? edge->from : edge->to;
		json_object_begin(json);
		json_put_spot(json, at->grain, at->graph->nodes.data[other].spot);
		put_figure(at, json, "calls", edge->weight);
		json_put_bool(json, "residual", edge->residual);
		json_put_bool(json, "inlined", edge->inlined);
		json_object_end(json);
	}
	json_array_end(json);
}

static void peek_write_json(const struct peeking *at, const struct sink *sink)
{
	struct json json;
	json_init(&json, sink->write, sink->ctx);
	json_object_begin(&json);
	json_put_string(&json, "schema", "heapwise.peek/1");
	json_put_profile(&json, at->profile, at->options->metric);
	json_put_string(&json, "by", grain_name(at->grain));
	json_put_u64(&json, "dropped_nodes", at->graph->dropped_nodes);
	json_put_u64(&json, "dropped_edges", at->graph->dropped_edges);
	json_key(&json, "functions");
	json_array_begin(&json);
	for (size_t i = 0; i < at->nodes.len; i++) {
		const struct callgraph_node *node = &at->graph->nodes.data[at->nodes.data[i]];
		json_object_begin(&json);
		json_put_spot(&json, at->grain, node->spot);
		put_figure(at, &json, "flat", node->flat);
		put_figure(at, &json, "cum", node->cum);
		put_calls(at, &json, "callers", at->graph->in + node->first_in, node->ins, true);
		put_calls(
			at, &json, "callees", at->graph->out + node->first_out, node->outs, false);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
}

struct error *peek_write(const struct profile *profile, const struct callgraph *graph,
	struct spots *spots, const bool *is_chosen, const struct peek_options *options,
	const struct sink *sink)
{
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	struct peeking at = {
		.profile = profile,
		.graph = graph,
		.options = options,
		.grain = spots_grain(spots),
		.whole = profile_whole(profile, options->metric),
		.out = &out,
	};
	struct error *error = peek_choose(&at, is_chosen);
	if (!error && options->json)
		peek_write_json(&at, sink);
	else if (!error)
		error = peek_write_text(&at, sink);
	node_list_deinit(&at.nodes);
	return error;
}
