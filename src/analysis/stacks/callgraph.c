/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See callgraph.h. The graph of all functions says which have too little; a second one, of the
 * others, has edges over those that are left out (residual ones); a third one of the most telling
 * nodes alone, if there are still too many. Each time rows are walked anew, since edges of a graph
 * don't say which stacks they are of.
 */
#include "analysis/callgraph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/util.h"

#define NO_NODE UINT32_MAX

static uint64_t hash_number(uint64_t number)
{
	return hash_u64(number);
}

static bool same_number(uint64_t a, uint64_t b)
{
	return a == b;
}

DEFINE_MAP(edge_map, uint64_t, uint32_t, hash_number, same_number)

struct graphing {
	const struct rows *rows;
	enum metric metric;
	struct spots *spots;
	const bool *is_kept; /* by spot id; NULL: all */
	uint32_t *node_of;   /* by spot id */
	uint32_t *last_row;  /* by spot id: the row last added to its cum, from 1 */
	struct edge_map map;
	struct callgraph *graph;
};

void callgraph_init(struct callgraph *graph)
{
	*graph = (struct callgraph){.in = NULL};
	callgraph_nodes_init(&graph->nodes);
	callgraph_edges_init(&graph->edges);
}

void callgraph_deinit(struct callgraph *graph)
{
	callgraph_nodes_deinit(&graph->nodes);
	callgraph_edges_deinit(&graph->edges);
	free(graph->in);
	free(graph->out);
}

static uint64_t callgraph_amount(struct figure figure)
{
	int64_t value = figure_value(figure);
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

static struct error *find_node(struct graphing *at, const struct spot *spot, uint32_t *ret)
{
	uint32_t *known = &at->node_of[spot->id];
	if (*known == NO_NODE) {
		*known = (uint32_t)at->graph->nodes.len;
		if (!callgraph_nodes_push(&at->graph->nodes, (struct callgraph_node){.spot = spot}))
			return error_no_memory();
	}
	*ret = *known;
	return NULL;
}

/* The way that a row takes through the graph, from the outermost frame inward. */
struct walk {
	uint32_t row;    /* from 1 */
	uint32_t parent; /* the node last met */
	bool residual;   /* nodes that are left out came since */
};

static struct error *add_edge(struct graphing *at, const struct row *row, const struct walk *walk,
	uint32_t node, bool inlined)
{
	if (walk->parent == NO_NODE || walk->parent == node)
		return NULL;
	bool is_new;
	uint32_t *known = edge_map_insert(&at->map, (uint64_t)walk->parent << 32 | node, &is_new);
	if (!known)
		return error_no_memory();
	if (is_new) {
		struct callgraph_edge edge = {.from = walk->parent, .to = node, .inlined = inlined};
		*known = (uint32_t)at->graph->edges.len;
		if (!callgraph_edges_push(&at->graph->edges, edge))
			return error_no_memory();
	}
	struct callgraph_edge *edge = &at->graph->edges.data[*known];
	if (edge->last_row == walk->row)
		return NULL;
	edge->last_row = walk->row;
	edge->residual |= walk->residual;
	edge->inlined &= inlined;
	figure_add(&edge->weight, at->metric, row);
	return NULL;
}

static struct error *callgraph_add_frame(struct graphing *at, const struct row *row,
	const struct shown_frame *frame, struct walk *walk)
{
	const struct spot *spot;
	struct error *error = spots_find(at->spots, frame, &spot);
	if (error || !spot)
		return error;
	if (at->is_kept && !at->is_kept[spot->id]) {
		walk->residual = true;
		return NULL;
	}
	uint32_t node = 0;
	error = find_node(at, spot, &node);
	if (!error)
		error = add_edge(at, row, walk, node, frame->inlined);
	if (error)
		return error;
	if (at->last_row[spot->id] != walk->row)
		figure_add(&at->graph->nodes.data[node].cum, at->metric, row);
	at->last_row[spot->id] = walk->row;
	walk->parent = node;
	walk->residual = false;
	return NULL;
}

static struct error *add_rows(struct graphing *at)
{
	for (size_t i = 0; i < at->rows->rows.len; i++) {
		const struct row *row = &at->rows->rows.data[i];
		struct walk walk = {.row = (uint32_t)i + 1, .parent = NO_NODE};
		if (!metric_of_site(at->metric, row->sums) &&
			!metric_of_site(at->metric, row->base))
			continue;
		for (size_t k = row->depth; k > 0; k--) {
			struct error *error =
				callgraph_add_frame(at, row, row->frames[k - 1], &walk);
			if (error)
				return error;
		}
		if (walk.parent != NO_NODE && !walk.residual)
			figure_add(&at->graph->nodes.data[walk.parent].flat, at->metric, row);
	}
	return NULL;
}

/* Edges of each node, as parts of two arrays. Left-out ones are in neither. */
static struct error *index_edges(struct callgraph *graph)
{
	struct callgraph_node *nodes = graph->nodes.data;
	free(graph->in);
	free(graph->out);
	graph->in = calloc(graph->edges.len + 1, sizeof(*graph->in));
	graph->out = calloc(graph->edges.len + 1, sizeof(*graph->out));
	if (!graph->in || !graph->out)
		return error_no_memory();
	for (size_t i = 0; i < graph->nodes.len; i++)
		nodes[i].ins = nodes[i].outs = 0;
	for (size_t i = 0; i < graph->edges.len; i++) {
		const struct callgraph_edge *edge = &graph->edges.data[i];
		nodes[edge->to].ins += !edge->dropped;
		nodes[edge->from].outs += !edge->dropped;
	}
	uint32_t in = 0, out = 0;
	for (size_t i = 0; i < graph->nodes.len; i++) {
		nodes[i].first_in = in;
		nodes[i].first_out = out;
		in += nodes[i].ins;
		out += nodes[i].outs;
		nodes[i].ins = nodes[i].outs = 0;
	}
	for (uint32_t i = 0; i < graph->edges.len; i++) {
		const struct callgraph_edge *edge = &graph->edges.data[i];
		if (edge->dropped)
			continue;
		struct callgraph_node *from = &nodes[edge->from], *to = &nodes[edge->to];
		graph->out[from->first_out + from->outs++] = i;
		graph->in[to->first_in + to->ins++] = i;
	}
	return NULL;
}

static double callgraph_entropy(
	const struct callgraph *graph, const uint32_t *edges, uint32_t count, int64_t self)
{
	double total = (double)self, score = 0;
	for (uint32_t i = 0; i < count; i++) {
		int64_t weight = figure_value(graph->edges.data[edges[i]].weight);
		total += weight > 0 ? (double)weight : 0;
	}
	if (total == 0)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		double part = (double)callgraph_amount(graph->edges.data[edges[i]].weight) / total;
		score -= part > 0 ? part * log2(part) : 0;
	}
	if (self > 0)
		score -= (double)self / total * log2((double)self / total);
	return score;
}

/* Nodes tell little that one call falls through. */
static void score_nodes(struct callgraph *graph)
{
	for (size_t i = 0; i < graph->nodes.len; i++) {
		struct callgraph_node *node = &graph->nodes.data[i];
		int64_t flat = figure_value(node->flat);
		double score = node->ins ? callgraph_entropy(
						   graph, graph->in + node->first_in, node->ins, 0)
					 : 1;
		score += node->outs ? callgraph_entropy(
					      graph, graph->out + node->first_out, node->outs, flat)
				    : 1;
		node->score = (int64_t)(score * (double)figure_value(node->cum)) + flat;
	}
}

static int compare_nodes(const void *left, const void *right)
{
	const struct callgraph_node *a = left, *b = right;
	uint64_t x = a->score < 0 ? -(uint64_t)a->score : (uint64_t)a->score;
	uint64_t y = b->score < 0 ? -(uint64_t)b->score : (uint64_t)b->score;
	if (x != y)
		return x > y ? -1 : 1;
	int names = strcmp(a->spot->name, b->spot->name);
	if (names)
		return names;
	x = callgraph_amount(a->flat);
	y = callgraph_amount(b->flat);
	if (x != y)
		return x > y ? -1 : 1;
	return a->spot->id < b->spot->id ? -1 : 1;
}

static int compare_edges(const void *left, const void *right, void *ctx)
{
	const struct callgraph_edge *a = left, *b = right;
	const struct callgraph_node *nodes = ctx;
	if (a->dropped != b->dropped)
		return a->dropped ? 1 : -1;
	if (callgraph_amount(a->weight) != callgraph_amount(b->weight))
		return callgraph_amount(a->weight) > callgraph_amount(b->weight) ? -1 : 1;
	int names = strcmp(nodes[a->from].spot->name, nodes[b->from].spot->name);
	if (!names)
		names = strcmp(nodes[a->to].spot->name, nodes[b->to].spot->name);
	if (names)
		return names;
	return a->from != b->from ? (a->from < b->from ? -1 : 1) : a->to < b->to ? -1 : 1;
}

/* Largest figure first, then by name, as pprof's texts are. */
static int compare_figures(const void *left, const void *right, bool by_cum)
{
	const struct callgraph_node *a = left, *b = right;
	uint64_t x = callgraph_amount(by_cum ? a->cum : a->flat),
		 y = callgraph_amount(by_cum ? b->cum : b->flat);
	if (x != y)
		return x > y ? -1 : 1;
	int names = strcmp(a->spot->name, b->spot->name);
	if (names)
		return names;
	x = callgraph_amount(by_cum ? a->flat : a->cum);
	y = callgraph_amount(by_cum ? b->flat : b->cum);
	if (x != y)
		return x > y ? -1 : 1;
	return a->spot->id < b->spot->id ? -1 : 1;
}

static int compare_flat(const void *left, const void *right)
{
	return compare_figures(left, right, false);
}

static int compare_cum(const void *left, const void *right)
{
	return compare_figures(left, right, true);
}

/* The heaviest first, those that are left out last. */
static struct error *sort_edges(struct callgraph *graph)
{
	if (graph->edges.len)
		qsort_r(graph->edges.data, graph->edges.len, sizeof(*graph->edges.data),
			compare_edges, graph->nodes.data);
	return index_edges(graph);
}

/* Puts nodes into their order; edges follow. */
static struct error *sort_nodes(struct callgraph *graph, enum callgraph_order order)
{
	int (*const compare[])(const void *left, const void *right) = {
		[CALLGRAPH_NODES_LEAST] = compare_nodes,
		[CALLGRAPH_FLAT] = compare_flat,
		[CALLGRAPH_CUM] = compare_cum,
	};
	size_t count = graph->nodes.len;
	score_nodes(graph);
	_cleanup_free_ uint32_t *moved = calloc(count + 1, sizeof(*moved));
	if (!moved)
		return error_no_memory();
	/* The old number rides along in first_in, which is set anew below. */
	for (uint32_t i = 0; i < count; i++)
		graph->nodes.data[i].first_in = i;
	if (count)
		qsort(graph->nodes.data, count, sizeof(*graph->nodes.data), compare[order]);
	for (uint32_t i = 0; i < count; i++)
		moved[graph->nodes.data[i].first_in] = i;
	for (size_t i = 0; i < graph->edges.len; i++) {
		graph->edges.data[i].from = moved[graph->edges.data[i].from];
		graph->edges.data[i].to = moved[graph->edges.data[i].to];
	}
	return sort_edges(graph);
}

static size_t trim_edges(struct callgraph *graph)
{
	size_t dropped = 0;
	for (size_t i = 0; i < graph->edges.len; i++) {
		struct callgraph_edge *edge = &graph->edges.data[i];
		if (edge->dropped || callgraph_amount(edge->weight) >= graph->edge_cutoff)
			continue;
		edge->dropped = true;
		dropped++;
	}
	return dropped;
}

static void callgraph_forget(struct callgraph *graph)
{
	graph->nodes.len = graph->edges.len = 0;
}

/* The graph of the spots that are kept. */
static struct error *callgraph_build_build(struct graphing *at, const bool *is_kept)
{
	size_t spots = spots_count(at->spots);
	callgraph_forget(at->graph);
	at->is_kept = is_kept;
	edge_map_init(&at->map);
	at->node_of = malloc((spots + 1) * sizeof(*at->node_of));
	at->last_row = calloc(spots + 1, sizeof(*at->last_row));
	struct error *error = at->node_of && at->last_row ? NULL : error_no_memory();
	for (size_t i = 0; !error && i < spots; i++)
		at->node_of[i] = NO_NODE;
	if (!error)
		error = add_rows(at);
	edge_map_deinit(&at->map);
	free(at->node_of);
	free(at->last_row);
	return error ? error : index_edges(at->graph);
}

static struct error *meet_all(const struct rows *rows, struct spots *spots)
{
	struct error *error = NULL;
	for (size_t i = 0; !error && i < rows->rows.len; i++)
		for (size_t k = 0; !error && k < rows->rows.data[i].depth; k++) {
			const struct spot *spot;
			error = spots_find(spots, rows->rows.data[i].frames[k], &spot);
		}
	return error;
}

/* Of the sum of what is shown, as pprof cuts it to a whole number. */
static uint64_t callgraph_cutoff(const struct callgraph *graph, double fraction)
{
	int64_t sum = 0;
	for (size_t i = 0; i < graph->nodes.len; i++)
		sum += figure_value(graph->nodes.data[i].flat);
	double part = fabs((double)sum * fraction);
	return part < 1e18 ? (uint64_t)part : UINT64_MAX;
}

/* Sets which nodes stay: those with enough, of these the first `most`. */
static size_t callgraph_choose(
	const struct callgraph *graph, size_t most, bool *is_kept, size_t spots)
{
	size_t kept = 0;
	memset(is_kept, 0, spots * sizeof(*is_kept));
	for (size_t i = 0; i < graph->nodes.len; i++) {
		const struct callgraph_node *node = &graph->nodes.data[i];
		bool has_any = callgraph_amount(node->cum) || callgraph_amount(node->flat);
		if (kept == most || !has_any || callgraph_amount(node->cum) < graph->node_cutoff)
			continue;
		is_kept[node->spot->id] = true;
		kept++;
	}
	return kept;
}

/* Whether one gets from the edge's beginning to its end without it. */
static bool is_redundant(
	const struct callgraph *graph, uint32_t wanted, bool *seen, uint32_t *queue)
{
	const struct callgraph_edge *edge = &graph->edges.data[wanted];
	size_t first = 0, last = 0;
	memset(seen, 0, graph->nodes.len * sizeof(*seen));
	seen[edge->to] = true;
	queue[last++] = edge->to;
	while (first < last) {
		const struct callgraph_node *node = &graph->nodes.data[queue[first++]];
		for (uint32_t i = 0; i < node->ins; i++) {
			uint32_t number = graph->in[node->first_in + i];
			const struct callgraph_edge *in = &graph->edges.data[number];
			if (number == wanted || in->dropped || seen[in->from])
				continue;
			if (in->from == edge->from)
				return true;
			seen[in->from] = true;
			queue[last++] = in->from;
		}
	}
	return false;
}

/* Residual edges that other ways stand for, the lightest first; none that outweighs a call. */
static struct error *drop_redundant(struct callgraph *graph)
{
	_cleanup_free_ bool *seen = calloc(graph->nodes.len + 1, sizeof(*seen));
	_cleanup_free_ uint32_t *queue = calloc(graph->nodes.len + 1, sizeof(*queue));
	if (!seen || !queue)
		return error_no_memory();
	for (size_t i = graph->nodes.len; i > 0; i--) {
		const struct callgraph_node *node = &graph->nodes.data[i - 1];
		/* Edges are in order of their weight, and so are these. */
		for (uint32_t k = node->ins; k > 0; k--) {
			uint32_t number = graph->in[node->first_in + k - 1];
			struct callgraph_edge *edge = &graph->edges.data[number];
			if (edge->dropped)
				continue;
			if (!edge->residual)
				break;
			if (is_redundant(graph, number, seen, queue))
				edge->dropped = true;
		}
	}
	return NULL;
}

static struct error *callgraph_trim(
	struct graphing *at, const struct callgraph_limits *limits, bool *is_kept)
{
	struct callgraph *graph = at->graph;
	size_t spots = spots_count(at->spots), all = graph->nodes.len;
	graph->node_cutoff = callgraph_cutoff(graph, limits->node_fraction);
	graph->edge_cutoff = callgraph_cutoff(graph, limits->edge_fraction);
	size_t kept = callgraph_choose(graph, SIZE_MAX, is_kept, spots);
	graph->dropped_nodes = all - kept;
	struct error *error = kept < all ? callgraph_build_build(at, is_kept) : NULL;
	size_t most = limits->node_count;
	if (!error)
		error = sort_nodes(graph, limits->order);
	if (!error && most && kept > most) {
		callgraph_choose(graph, most, is_kept, spots);
		graph->node_limit = most;
		error = callgraph_build_build(at, is_kept);
		if (!error)
			error = sort_nodes(graph, limits->order);
	}
	if (error)
		return error;
	graph->dropped_edges = trim_edges(graph);
	if (limits->order == CALLGRAPH_NODES_LEAST)
		error = drop_redundant(graph);
	return error ? error : sort_edges(graph);
}

struct error *callgraph_build(const struct rows *rows, enum metric metric, struct spots *spots,
	const struct callgraph_limits *limits, struct callgraph *ret)
{
	struct graphing at = {.rows = rows, .metric = metric, .spots = spots, .graph = ret};
	struct error *error = meet_all(rows, spots);
	if (!error)
		error = callgraph_build_build(&at, NULL);
	if (error)
		return error;
	_cleanup_free_ bool *is_kept = calloc(spots_count(spots) + 1, sizeof(*is_kept));
	return is_kept ? callgraph_trim(&at, limits, is_kept) : error_no_memory();
}
