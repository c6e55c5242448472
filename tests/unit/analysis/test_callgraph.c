/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The demo model as graphs of calls, byte for byte as in tests/data/golden/graph/, and which nodes
 * and edges are left of small graphs made for it.
 */
#include "views/callgraph.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "unit/fake_symbols.h"
#include "unit/golden.h"
#include "unit/stack_setting.h"
#include "views/peek.h"

static const struct callgraph_limits all_limits = {.node_count = 0};

static struct spots *draw(struct setting *s, enum metric metric, enum grain grain,
	const struct callgraph_limits *limits, struct callgraph *ret)
{
	struct spots *spots;
	CHECK_OK(spots_create(grain, &spots));
	callgraph_init(ret);
	CHECK_OK(callgraph_build(profile_rows(&s->profile), metric, spots, limits, ret));
	return spots;
}

static char *render(struct setting *s, enum grain grain, const struct callgraph_limits *limits,
	struct callgraph_options options)
{
	struct callgraph graph;
	struct spots *spots = draw(s, options.view.sort, grain, limits, &graph);
	struct text text;
	text_init(&text);
	struct sink sink = {collect, &text};
	CHECK_OK(callgraph_write(&s->profile, &graph, spots, &options, &sink));
	callgraph_deinit(&graph);
	spots_destroy(spots);
	return text_steal(&text);
}

static void check_graph(const char *name, enum grain grain, const struct callgraph_limits *limits,
	struct callgraph_options options)
{
	static const char *const forms[] = {"dot", "json", "csv"};
	for (size_t form = 0; form < ARRAY_SIZE(forms); form++) {
		struct setting s;
		set_up(&s);
		options.view.json = form == 1;
		options.view.csv = form == 2;
		_cleanup_free_ char *is = render(&s, grain, limits, options);
		char path[64];
		snprintf(path, sizeof(path), "graph/%s.%s", name, forms[form]);
		check_golden(path, is);
		tear_down(&s);
	}
}

CASE(graph_all, "everything, in bytes")
{
	check_graph("all", GRAIN_FUNCTIONS, &all_limits,
		(struct callgraph_options){.view.sort = METRIC_ALLOCATED_BYTES, .unit = UNIT_B});
}

CASE(graph_usual, "with pprof's limits, by line")
{
	static const struct callgraph_limits usual = {CALLGRAPH_NODES_LEAST,
		CALLGRAPH_NODE_FRACTION, CALLGRAPH_EDGE_FRACTION, CALLGRAPH_NODE_COUNT};
	check_graph("usual", GRAIN_LINES, &usual,
		(struct callgraph_options){.view.sort = METRIC_ALLOCATIONS});
}

CASE(graph_files, "by file, in MiB")
{
	check_graph("files", GRAIN_FILES, &all_limits,
		(struct callgraph_options){.view.sort = METRIC_PEAK_BYTES, .unit = UNIT_MIB});
}

CASE(graph_sums, "without limits flat adds up to what has a stack, for each metric and grain")
{
	for (int grain = 0; grain < GRAINS; grain++)
		for (int metric = 0; metric < METRICS; metric++) {
			struct setting s;
			struct callgraph graph;
			set_up(&s);
			struct spots *spots = draw(
				&s, (enum metric)metric, (enum grain)grain, &all_limits, &graph);
			uint64_t sum = 0, stacks = 0;
			for (size_t i = 0; i < graph.nodes.len; i++)
				sum += graph.nodes.data[i].flat.now;
			for (size_t i = 0; i < s.profile.all.rows.len; i++) {
				const struct row *row = &s.profile.all.rows.data[i];
				stacks += row->depth
						  ? metric_of_site((enum metric)metric, row->sums)
						  : 0;
			}
			CHECK_U64(sum, stacks);
			callgraph_deinit(&graph);
			spots_destroy(spots);
			tear_down(&s);
		}
}

#define APP "/opt/demo/app"

/* Functions a to e. */
static const struct fake_symbol letters[] = {
	{APP, 0x10, {"a", "a", NULL, 0, false}},
	{APP, 0x20, {"b", "b", NULL, 0, false}},
	{APP, 0x30, {"c", "c", NULL, 0, false}},
	{APP, 0x40, {"d", "d", NULL, 0, false}},
	{APP, 0x50, {"e", "e", NULL, 0, false}},
	{0},
};

/* "abc 100": a calls b, b calls c, which allocates 100 B. */
static void set_up_ways(struct setting *s, const char *const *ways)
{
	fake_symbols = letters;
	fixture_init(&s->fixture);
	for (; *ways; ways++) {
		uint32_t stack = 0;
		const char *at = *ways;
		for (; *at != ' '; at++)
			stack = fixture_stack(
				&s->fixture, stack, MODULE_APP, (uint64_t)(*at - 'a' + 1) * 16);
		fixture_site(&s->fixture, stack,
			&(struct site){
				.allocations = 1, .allocated_bytes = strtoull(at, NULL, 10)});
	}
	build_finish(s->fixture.model);
	profile_init(&s->profile);
	calltree_init(&s->tree);
	CHECK_OK(profile_build(s->fixture.model, false, NULL, &s->profile));
}

/* "a 0/115, a-b 100, …": nodes by name with flat and cum, edges in their order; "~" is residual. */
static char *describe(const char *const *ways, const struct callgraph_limits *limits)
{
	struct setting s;
	set_up_ways(&s, ways);
	struct callgraph graph;
	struct spots *spots = draw(&s, METRIC_ALLOCATED_BYTES, GRAIN_FUNCTIONS, limits, &graph);
	struct text text;
	text_init(&text);
	for (char name = 'a'; name <= 'e'; name++)
		for (size_t i = 0; i < graph.nodes.len; i++) {
			const struct callgraph_node *node = &graph.nodes.data[i];
			if (node->spot->name[0] == name)
				text_printf(&text, "%c %" PRIu64 "/%" PRIu64 ", ", name,
					node->flat.now, node->cum.now);
		}
	for (size_t i = 0; i < graph.edges.len; i++) {
		const struct callgraph_edge *edge = &graph.edges.data[i];
		if (!edge->dropped)
			text_printf(&text, "%s%s%s %" PRIu64 ", ",
				graph.nodes.data[edge->from].spot->name, edge->residual ? "~" : "-",
				graph.nodes.data[edge->to].spot->name, edge->weight.now);
	}
	callgraph_deinit(&graph);
	spots_destroy(spots);
	tear_down(&s);
	return text_steal(&text);
}

static void check_ways(
	const char *const *ways, const struct callgraph_limits *limits, const char *expected)
{
	_cleanup_free_ char *is = describe(ways, limits);
	CHECK_STR(is, expected);
}

CASE(graph_recursion, "a stack counts once for a node and for an edge; a call of itself is no edge")
{
	static const char *const ways[] = {"abab 100", "aab 10", "abb 1", NULL};
	check_ways(ways, &all_limits, "a 0/111, b 111/111, a-b 111, b-a 100, ");
}

CASE(graph_residual, "edges over what is left out are residual, and flat of it is nobody's")
{
	static const char *const ways[] = {"abc 100", "ad 900", "abe 2", NULL};
	/* 5% of 1002: e has less. b 102, c 100. */
	static const struct callgraph_limits few = {.node_fraction = 0.05};
	check_ways(
		ways, &few, "a 0/1002, b 0/102, c 100/100, d 900/900, a-d 900, a-b 102, b-c 100, ");
	/* 10.1% of it is 101.2: c goes too. */
	static const struct callgraph_limits fewer = {.node_fraction = 0.101};
	check_ways(ways, &fewer, "a 0/1002, b 0/102, d 900/900, a-d 900, a-b 102, ");
	static const char *const over[] = {"abc 100", "adc 100", NULL};
	static const struct callgraph_limits middle = {.node_fraction = 0.51};
	check_ways(over, &middle, "a 0/200, c 200/200, a~c 200, ");
}

CASE(graph_redundant,
	"a residual edge goes where others lead there as well, unless it outweighs them")
{
	/* b is left out: a~d stands beside a-c-d. */
	static const char *const ways[] = {"abd 10", "acd 500", "acd 490", NULL};
	static const struct callgraph_limits limits = {.node_fraction = 0.05};
	check_ways(ways, &limits, "a 0/1000, c 0/990, d 1000/1000, a-c 990, c-d 990, ");
	static const char *const heavy[] = {"abd 20", "aed 20", "acd 25", NULL};
	static const struct callgraph_limits half = {.node_fraction = 0.35};
	check_ways(heavy, &half, "a 0/65, c 0/25, d 65/65, a~d 40, a-c 25, c-d 25, ");
}

CASE(graph_edges, "light edges are left out, and counted")
{
	static const char *const ways[] = {"ab 1", "ac 999", NULL};
	static const struct callgraph_limits limits = {.edge_fraction = 0.01};
	check_ways(ways, &limits, "a 0/1000, b 1/1, c 999/999, a-c 999, ");
}

CASE(graph_count, "of too many nodes those that tell most are left")
{
	static const char *const ways[] = {"abcd 100", "abce 100", NULL};
	static const struct callgraph_limits limits = {.node_count = 3};
	/* b is fallen through: one way in, one out. */
	_cleanup_free_ char *is = describe(ways, &limits);
	CHECK(!strstr(is, "b "));
	CHECK_CONTAINS(is, "c 0/200");
	CHECK_CONTAINS(is, "a~c 200");
}

CASE(graph_units, "units of bytes")
{
	enum byte_unit unit;
	CHECK(byte_unit_parse("mb", &unit) && unit == UNIT_MIB);
	CHECK(byte_unit_parse("KIB", &unit) && unit == UNIT_KIB);
	CHECK(byte_unit_parse("minimum", &unit) && unit == UNIT_AUTO);
	CHECK(!byte_unit_parse("seconds", &unit));
}

CASE(graph_nothing, "of nothing, a legend alone")
{
	struct setting s;
	static const char *const none[] = {NULL};
	set_up_ways(&s, none);
	_cleanup_free_ char *dot = render(&s, GRAIN_FUNCTIONS, &all_limits,
		(struct callgraph_options){.view.sort = METRIC_PEAK_BYTES});
	CHECK_CONTAINS(dot, "digraph \"heapwise\" {\n");
	CHECK(!strstr(dot, "N1"));
	tear_down(&s);
}

CASE(graph_peek, "peek has the same functions, with who calls them and whom they call")
{
	const struct callgraph_limits limits = {.order = CALLGRAPH_FLAT};
	for (size_t form = 0; form < ARRAY_SIZE(golden_forms); form++) {
		struct setting s;
		set_up(&s);
		const struct view_options options = {
			.sort = METRIC_ALLOCATED_BYTES, .json = form == 1, .csv = form == 2};
		struct callgraph graph;
		struct spots *spots = draw(&s, options.sort, GRAIN_FUNCTIONS, &limits, &graph);
		_cleanup_(text_deinit) struct text text;
		text_init(&text);
		struct sink sink = {collect, &text};
		CHECK_OK(peek_write(&s.profile, &graph, spots, NULL, &options, &sink));
		char path[64];
		snprintf(path, sizeof(path), "peek/all.%s", golden_forms[form]);
		check_golden(path, text.data);
		callgraph_deinit(&graph);
		spots_destroy(spots);
		tear_down(&s);
	}
}

TAP_MAIN
