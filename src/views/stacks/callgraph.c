/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See callgraph.h. Sizes, colours and texts follow pprof's internal/graph/dotgraph.go.
 */
#include "views/callgraph.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "views/stacks/figures.h"

#define FONT_LEAST 8
#define FONT_GROWTH 16.0
/* Of longer parts of a name the first so many bytes: template arguments reach thousands. */
#define NAME_PART_BYTES 60u

struct graph_writing {
	const struct profile *profile;
	const struct callgraph *graph;
	const struct callgraph_options *options;
	enum grain grain;
	uint64_t whole;
	struct text *out;
	struct spot_rows *spot; /* of the row that is laid out */
};

static const struct byte_unit_info {
	const char *const names[3];
	double bytes;
} units[] = {
	[UNIT_AUTO] = {{"auto", "minimum", NULL}, 0},
	[UNIT_B] = {{"B", "bytes", NULL}, 1},
	[UNIT_KIB] = {{"KiB", "kb", NULL}, 1024},
	[UNIT_MIB] = {{"MiB", "mb", NULL}, 1 << 20},
	[UNIT_GIB] = {{"GiB", "gb", NULL}, 1 << 30},
};

bool byte_unit_parse(const char *text, enum byte_unit *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		for (size_t k = 0; units[i].names[k]; k++)
			if (strcasecmp(units[i].names[k], text) == 0) {
				*ret = (enum byte_unit)i;
				return true;
			}
	return false;
}

static void callgraph_add_value(const struct graph_writing *at, struct text *out, int64_t value)
{
	enum byte_unit unit = at->options->unit;
	if (unit == UNIT_AUTO || !metric_is_bytes(at->options->view.sort)) {
		text_add_figure(out, at->options->view.sort, value, at->profile->base);
		return;
	}
	const char *sign = at->profile->base && value > 0 ? "+" : "";
	if (unit == UNIT_B)
		text_printf(out, "%s%" PRIi64 " B", sign, value);
	else
		text_printf(out, "%s%.2f %s", sign, (double)value / units[unit].bytes,
			units[unit].names[0]);
}

/* "12.50%", "0.031%", "100%" */
static void add_share(const struct graph_writing *at, struct text *out, int64_t value)
{
	double percent = at->whole ? fabs(100.0 * (double)value / (double)at->whole) : 0;
	if (percent >= 99.95 && percent <= 100.05)
		text_add(out, "100%");
	else
		text_printf(out, percent >= 1 ? "%.2f%%" : "%.2g%%", percent);
}

/* Within quotes of the DOT language. */
static void add_quoted_n(struct text *out, const char *string, size_t len)
{
	_cleanup_(text_deinit) struct text part, plain;
	text_init(&part);
	text_init(&plain);
	text_add_n(&part, string, len);
	text_add_plain(&plain, part.data ? part.data : "");
	for (size_t i = 0; i < plain.len; i++) {
		if (plain.data[i] == '"' || plain.data[i] == '\\')
			text_add_char(out, '\\');
		text_add_char(out, plain.data[i]);
	}
}

static void add_quoted(struct text *out, const char *string)
{
	add_quoted_n(out, string, strlen(string));
}

/* The end of the first part of a qualified name; "::" within template arguments parts nothing. */
static const char *part_end(const char *name)
{
	size_t open = 0;
	for (; *name; name++) {
		open += *name == '<' || *name == '(';
		open -= open && (*name == '>' || *name == ')');
		if (!open && name[0] == ':' && name[1] == ':')
			return name;
	}
	return name;
}

/* A line for each part of a name. */
static void add_name_lines(struct text *out, const char *name)
{
	while (*name) {
		const char *end = part_end(name);
		size_t len = (size_t)(end - name), shown = min(len, (size_t)NAME_PART_BYTES);
		while (shown < len && shown && ((unsigned char)name[shown] & 0xc0) == 0x80)
			shown--;
		add_quoted_n(out, name, shown);
		text_add(out, shown < len ? "…\\n" : "\\n");
		name = *end ? end + 2 : end;
	}
}

static void add_label(
	const struct graph_writing *at, struct text *out, const struct callgraph_node *node)
{
	_cleanup_(text_deinit) struct text label;
	text_init(&label);
	const struct shown_frame *frame = node->spot->frame;
	if (at->grain == GRAIN_FILES && frame->file) {
		add_quoted(out, frame->file);
		text_add(out, "\\n");
	} else {
		add_name_lines(out, node->spot->brief);
	}
	spot_add_label(&label, at->grain, node->spot);
	/* What the label has behind the name: file and line, address. */
	size_t name_len = strlen(node->spot->brief);
	if (label.len > name_len) {
		add_quoted(out, label.data + name_len + 1);
		text_add(out, "\\n");
	}
}

static double callgraph_clamp(double value)
{
	return value < -1 ? -1 : value > 1 ? 1 : value;
}

/* Green for -1, grey for 0, red for 1; light for backgrounds. Between, the more the further. */
static void add_colour(struct text *out, double score, bool background)
{
	double saturation = background ? 0.1 : 1.0, value = background ? 0.93 : 0.7;
	score = callgraph_clamp(score);
	if (fabs(score) < 0.2)
		saturation *= fabs(score) / 0.2;
	score = copysign(pow(fabs(score), 0.3), score);
	double red = score < 0 ? value * (1 + saturation * score) : value;
	double green = score < 0 ? value : value * (1 - saturation * score);
	double blue = value * (1 - saturation);
	text_printf(out, "\"#%02x%02x%02x\"", (unsigned)(red * 255), (unsigned)(green * 255),
		(unsigned)(blue * 255));
}

static double score_of(const struct graph_writing *at, struct figure figure)
{
	return at->whole ? (double)figure_value(figure) / (double)at->whole : 0;
}

static uint64_t largest_flat(const struct callgraph *graph)
{
	uint64_t largest = 0;
	for (size_t i = 0; i < graph->nodes.len; i++)
		largest = max(largest, figure_amount(graph->nodes.data[i].flat));
	return largest;
}

/* "12.3 MiB (60%)\nof 15.0 MiB (75%)", "0 of 15.0 MiB (75%)" */
static void callgraph_add_figures(const struct graph_writing *at, const struct callgraph_node *node)
{
	int64_t flat = figure_value(node->flat), cum = figure_value(node->cum);
	if (flat) {
		callgraph_add_value(at, at->out, flat);
		text_add(at->out, " (");
		add_share(at, at->out, flat);
		text_add(at->out, ")");
	} else {
		text_add(at->out, "0");
	}
	if (cum == flat)
		return;
	text_add(at->out, flat ? "\\nof " : " of ");
	callgraph_add_value(at, at->out, cum);
	text_add(at->out, " (");
	add_share(at, at->out, cum);
	text_add(at->out, ")");
}

static void callgraph_add_node(const struct graph_writing *at, size_t number, uint64_t largest)
{
	const struct callgraph_node *node = &at->graph->nodes.data[number];
	uint64_t flat = figure_amount(node->flat);
	int font = FONT_LEAST;
	if (flat)
		font += (int)ceil(FONT_GROWTH * sqrt((double)flat / (double)largest));
	text_printf(at->out, "N%zu [label=\"", number + 1);
	add_label(at, at->out, node);
	callgraph_add_figures(at, node);
	text_printf(
		at->out, "\" id=\"node%zu\" fontsize=%d shape=box tooltip=\"", number + 1, font);
	add_quoted(at->out, node->spot->brief);
	text_add(at->out, " (");
	callgraph_add_value(at, at->out, figure_value(node->cum));
	text_add(at->out, ")\" color=");
	add_colour(at->out, score_of(at, node->cum), false);
	text_add(at->out, " fillcolor=");
	add_colour(at->out, score_of(at, node->cum), true);
	text_add(at->out, "]\n");
}

static void add_tooltip(const struct graph_writing *at, const struct callgraph_edge *edge)
{
	add_quoted(at->out, at->graph->nodes.data[edge->from].spot->brief);
	text_add(at->out, edge->residual ? " ... " : " -> ");
	add_quoted(at->out, at->graph->nodes.data[edge->to].spot->brief);
	text_add(at->out, " (");
	callgraph_add_value(at, at->out, figure_value(edge->weight));
	text_add(at->out, ")");
}

static void add_edge(const struct graph_writing *at, const struct callgraph_edge *edge)
{
	double part = fabs(callgraph_clamp(score_of(at, edge->weight)));
	text_printf(
		at->out, "N%" PRIu32 " -> N%" PRIu32 " [label=\" ", edge->from + 1, edge->to + 1);
	callgraph_add_value(at, at->out, figure_value(edge->weight));
	text_add(at->out, edge->inlined ? "\\n (inline)\"" : "\"");
	if ((int)(part * 100))
		text_printf(at->out, " weight=%d", 1 + (int)(part * 100));
	if ((int)(part * 5))
		text_printf(at->out, " penwidth=%d", 1 + (int)(part * 5));
	text_add(at->out, " color=");
	add_colour(at->out, score_of(at, edge->weight), false);
	text_add(at->out, " tooltip=\"");
	add_tooltip(at, edge);
	text_add(at->out, "\" labeltooltip=\"");
	add_tooltip(at, edge);
	text_add(at->out, edge->residual ? "\" style=\"dotted\"]\n" : "\"]\n");
}

static int64_t shown_flat(const struct callgraph *graph)
{
	int64_t sum = 0;
	for (size_t i = 0; i < graph->nodes.len; i++)
		sum += figure_value(graph->nodes.data[i].flat);
	return sum;
}

/* "Showing nodes for 12.3 MiB, 80.00% of 15.4 MiB in all", what was left out, the filter. */
static void callgraph_add_sums(const struct graph_writing *at, struct text *out)
{
	const struct callgraph *graph = at->graph;
	int64_t shown = shown_flat(graph);
	text_add(out, "Showing nodes for ");
	callgraph_add_value(at, out, shown);
	text_add(out, ", ");
	add_share(at, out, shown);
	text_add(out, " of ");
	text_add_figure(out, at->options->view.sort, (int64_t)at->whole, false);
	text_add(out, " in all\n");
	if (graph->dropped_nodes) {
		text_printf(out, "Left out %zu nodes with less than ", graph->dropped_nodes);
		text_add_figure(out, at->options->view.sort, (int64_t)graph->node_cutoff, false);
		text_add(out, " (--nodefraction)\n");
	}
	if (graph->dropped_edges) {
		text_printf(out, "Left out %zu edges with less than ", graph->dropped_edges);
		text_add_figure(out, at->options->view.sort, (int64_t)graph->edge_cutoff, false);
		text_add(out, " (--edgefraction)\n");
	}
	if (graph->node_limit)
		text_printf(out, "Showing the %zu most significant nodes (--nodecount)\n",
			graph->nodes.len);
}

static void add_legend(const struct graph_writing *at)
{
	_cleanup_(text_deinit) struct text legend;
	text_init(&legend);
	const struct target *target = model_target(at->profile->model);
	for (size_t i = 0; i < target->command_len; i++) {
		if (i)
			text_add_char(&legend, ' ');
		text_add_shown(&legend, target->command[i], 60);
	}
	text_printf(&legend, "\n%s by %s\n", metric_title(at->options->view.sort),
		grain_name(at->grain));
	callgraph_add_sums(at, &legend);
	text_add_n(&legend, at->profile->notes.data, at->profile->notes.len);
	text_add(at->out, "subgraph cluster_L { \"legend\" [shape=box fontsize=16 label=\"");
	const char *line = legend.data ? legend.data : "";
	while (*line) {
		size_t len = strcspn(line, "\n");
		add_quoted_n(at->out, line, len);
		text_add(at->out, "\\l");
		line += len + (line[len] == '\n');
	}
	text_add(at->out, "\"] }\n");
}

static struct error *write_dot(const struct graph_writing *at, const struct sink *sink)
{
	const struct callgraph *graph = at->graph;
	uint64_t largest = largest_flat(graph);
	text_add(at->out, "digraph \"heapwise\" {\nnode [style=filled fillcolor=\"#f8f8f8\"]\n");
	add_legend(at);
	for (size_t i = 0; i < graph->nodes.len; i++)
		callgraph_add_node(at, i, largest);
	for (size_t i = 0; i < graph->edges.len; i++)
		if (!graph->edges.data[i].dropped)
			add_edge(at, &graph->edges.data[i]);
	text_add(at->out, "}\n");
	if (at->out->failed)
		return error_no_memory();
	sink->write(sink->ctx, at->out->data, at->out->len);
	return NULL;
}

enum { SPOT, FLAT, FLAT_BASE, CUM, CUM_BASE };
static const struct column node_columns[] = {[SPOT] = {"", COLUMN_RECORD, .nested = &spot_type},
	FIGURE_PAIR(FLAT, "flat", "what it allocated itself"),
	FIGURE_PAIR(
		CUM, "cum", "including everything that was allocated below it, each stack once"),
	COLUMNS_END};

static void callgraph_node_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct graph_writing *at = context;
	const struct callgraph_node *node = &at->graph->nodes.data[row];
	if (column == SPOT)
		spot_cell(at->spot, node->spot, ret);
	else if (column < CUM)
		figure_cell(at->profile, node->flat, column == FLAT_BASE, ret);
	else
		figure_cell(at->profile, node->cum, column == CUM_BASE, ret);
}

static const struct table_type node_type = {.name = "nodes",
	.says = "the most significant first",
	.columns = node_columns,
	.cell = callgraph_node_cell};

enum { FROM, TO, WEIGHT, WEIGHT_BASE, RESIDUAL, INLINED };
static const struct column edge_columns[] = {
	[FROM] = {"from", COLUMN_INTEGER, .says = "the caller: its index in `nodes`, from 0",
		COLUMN_OF(callgraph_edge, from)},
	[TO] = {"to", COLUMN_INTEGER, .says = "the function that it calls, likewise",
		COLUMN_OF(callgraph_edge, to)},
	FIGURE_PAIR(WEIGHT, "weight", "what was allocated through these calls"),
	[RESIDUAL] = {"residual", COLUMN_BOOLEAN,
		.says = "some of it passes through nodes that are left out",
		COLUMN_OF(callgraph_edge, residual)},
	[INLINED] = {"inlined", COLUMN_BOOLEAN, .says = "all of these calls were inlined",
		COLUMN_OF(callgraph_edge, inlined)},
	COLUMNS_END};

static void edge_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct graph_writing *at = context;
	const struct callgraph_edge *edge = &at->graph->edges.data[row];
	if (column == WEIGHT || column == WEIGHT_BASE)
		figure_cell(at->profile, edge->weight, column == WEIGHT_BASE, ret);
	else
		table_member(&edge_columns[column], edge, ret);
}

static const struct table_type edge_type = {
	.name = "edges", .says = "the heaviest first", .columns = edge_columns, .cell = edge_cell};

#define LEFT(member, unit_, what)                                                                  \
	{                                                                                          \
#member, COLUMN_INTEGER, unit_, .says = what, COLUMN_OF(callgraph, member)         \
	}
enum { BY, SHOWN };
static const struct column graph_columns[] = {[BY] = GRAIN_COLUMN,
	[SHOWN] = {"shown", COLUMN_SIGNED, .says = "the sum of `flat` of all nodes"},
	LEFT(dropped_nodes, UNIT_COUNT, "nodes that are left out: below `node_cutoff`"),
	LEFT(dropped_edges, UNIT_COUNT, "edges that are left out: below `edge_cutoff`"),
	LEFT(node_cutoff, UNIT_NONE, "`--nodefraction` of what is shown"),
	LEFT(edge_cutoff, UNIT_NONE, "`--edgefraction` of what is shown"),
	LEFT(node_limit, UNIT_COUNT, "`--nodecount`, if more nodes than that remained; else 0"),
	COLUMNS_END};

static void graph_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct graph_writing *at = context;
	(void)row;
	if (column == BY)
		ret->text = grain_name(at->grain);
	else if (column == SHOWN)
		ret->signed_number = shown_flat(at->graph);
	else
		table_member(&graph_columns[column], at->graph, ret);
}

static const struct table_type graph_type = {.columns = graph_columns, .cell = graph_cell};

const struct answer_type callgraph_answer_type = {.schema = "heapwise.graph/1",
	.from = "heapwise graph --json",
	.says = "how much memory each call path allocates, as a graph. " STACKS_HEAD_SAYS,
	.tables = (const struct table_type *const[]){&stacks_metric_type, &graph_type, &node_type,
		&edge_type, NULL},
	.main = &node_type,
	.parts = spot_parts};

static struct error *callgraph_put(void *context, struct answer *answer)
{
	const struct graph_writing *at = context;
	const struct callgraph_edges *all = &at->graph->edges;
	const struct table nodes = {&node_type, at, at->graph->nodes.len, .limit = TABLE_NO_LIMIT};
	const struct table edges = {&edge_type, at, all->len, .limit = TABLE_NO_LIMIT};
	answer_record_of(answer, &graph_type, at);
	answer_table(answer, &nodes);
	answer_table_begin(answer, &edges);
	for (size_t i = 0; i < all->len; i++)
		if (!all->data[i].dropped)
			answer_row(answer, &edges, i);
	answer_table_end(answer, &edges);
	return NULL;
}

struct error *callgraph_write(const struct profile *profile, const struct callgraph *graph,
	struct spots *spots, const struct callgraph_options *options, const struct sink *sink)
{
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	struct spot_rows spot = {.grain = spots_grain(spots)};
	struct graph_writing at = {
		.profile = profile,
		.graph = graph,
		.options = options,
		.grain = spots_grain(spots),
		.whole = profile_whole(profile, options->view.sort),
		.out = &out,
		.spot = &spot,
	};
	if (!view_is_for_programs(&options->view))
		return write_dot(&at, sink);
	return stacks_answer(
		profile, &options->view, &callgraph_answer_type, callgraph_put, &at, sink);
}
