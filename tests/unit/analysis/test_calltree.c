/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The demo model as trees of calls, byte for byte as in tests/data/golden/calltree/, and what trees
 * promise whatever the model.
 */
#include "analysis/names.h"
#include "base/cleanup.h"
#include "lib/tap.h"
#include "unit/fake_symbols.h"
#include "unit/golden.h"
#include "unit/stack_setting.h"
#include "views/calltree.h"

/* Spots that know all frames, and which of them are meant; `wanted` NULL: all. */
static bool *choose(struct setting *s, struct spots *spots, const char *wanted)
{
	struct spot_vec stack;
	spot_vec_init(&stack);
	for (size_t i = 0; i < s->profile.all.rows.len; i++) {
		const struct row *row = &s->profile.all.rows.data[i];
		CHECK_OK(spots_stack(spots, row->frames, row->depth, &stack));
	}
	spot_vec_deinit(&stack);
	bool *chosen = calloc(spots_count(spots) + 1, sizeof(*chosen));
	size_t count;
	CHECK(chosen);
	CHECK_OK(names_find(spots, wanted, chosen, &count));
	CHECK(count > 0);
	return chosen;
}

static void build(struct setting *s, enum metric metric, enum calltree_way way, enum grain grain,
	const char *wanted)
{
	struct spots *spots;
	CHECK_OK(spots_create(grain, &spots));
	_cleanup_free_ bool *chosen = wanted ? choose(s, spots, wanted) : NULL;
	CHECK_OK(calltree_build(profile_rows(&s->profile), metric, way, chosen, spots, &s->tree));
}

static char *render(const struct setting *s, struct calltree_options options)
{
	struct text text;
	text_init(&text);
	struct sink sink = {collect, &text};
	CHECK_OK(calltree_write(&s->profile, &s->tree, &options, &sink));
	return text_steal(&text);
}

static void check_tree(
	const char *name, struct calltree_options options, enum calltree_way way, enum grain grain)
{
	struct setting s;
	set_up(&s);
	build(&s, options.view.sort, way, grain, options.wanted);
	options.depth = VIEW_NO_LIMIT;
	for (size_t form = 0; form < ARRAY_SIZE(golden_forms); form++) {
		options.view.json = form == 1;
		options.view.csv = form == 2;
		_cleanup_free_ char *is = render(&s, options);
		char path[128];
		snprintf(path, sizeof(path), "calltree/%s.%s", name, golden_forms[form]);
		check_golden(path, is);
	}
	tear_down(&s);
}

CASE(tree_down, "top-down")
{
	check_tree("down", (struct calltree_options){.view.sort = METRIC_ALLOCATED_BYTES},
		CALLTREE_DOWN, GRAIN_FUNCTIONS);
}

CASE(tree_up, "bottom-up, the small ones summed up")
{
	check_tree("up", (struct calltree_options){.view.sort = METRIC_ALLOCATIONS, .threshold = 5},
		CALLTREE_UP, GRAIN_LINES);
}

CASE(tree_callers, "callers")
{
	check_tree("callers",
		(struct calltree_options){.view.sort = METRIC_LIVE_BYTES, .wanted = "xmalloc"},
		CALLTREE_CALLERS, GRAIN_FUNCTIONS);
}

CASE(tree_callees, "callees, by the end of a name")
{
	check_tree("callees",
		(struct calltree_options){.view.sort = METRIC_ALLOCATED_BYTES, .wanted = "add"},
		CALLTREE_CALLEES, GRAIN_FUNCTIONS);
}

CASE(tree_modules, "by module")
{
	check_tree("modules", (struct calltree_options){.view.sort = METRIC_PEAK_BYTES},
		CALLTREE_DOWN, GRAIN_MODULES);
}

CASE(tree_sums,
	"each way and grain adds up: the root has all, a node what its children and it have")
{
	for (int way = CALLTREE_DOWN; way <= CALLTREE_UP; way++)
		for (int grain = 0; grain < GRAINS; grain++)
			for (int metric = 0; metric < METRICS; metric++) {
				struct setting s;
				set_up(&s);
				build(&s, (enum metric)metric, (enum calltree_way)way,
					(enum grain)grain, NULL);
				CHECK_U64(s.tree.nodes.data[0].total.now,
					metric_of_totals((enum metric)metric,
						model_totals(s.fixture.model)));
				for (size_t i = 0; way == CALLTREE_DOWN && i < s.tree.nodes.len;
					i++) {
					const struct calltree_node *node = &s.tree.nodes.data[i];
					uint64_t sum = node->self.now;
					for (uint32_t k = 0; k < node->children; k++)
						sum += calltree_child(&s.tree, node, k)->total.now;
					CHECK_U64(sum, node->total.now);
				}
				tear_down(&s);
			}
}

/* A function that calls itself: main → f → g → f. */
static void recurse(struct setting *s)
{
	static const struct fake_symbol symbols[] = {
		{"/opt/demo/app", 0x10, {"main", "main", NULL, 0, false}},
		{"/opt/demo/app", 0x20, {"f", "f", NULL, 0, false}},
		{"/opt/demo/app", 0x30, {"g", "g", NULL, 0, false}},
		{0},
	};
	fake_symbols = symbols;
	fixture_init(&s->fixture);
	uint32_t stack = fixture_stack(&s->fixture, 0, MODULE_APP, 0x10);
	stack = fixture_stack(&s->fixture, stack, MODULE_APP, 0x20);
	stack = fixture_stack(&s->fixture, stack, MODULE_APP, 0x30);
	stack = fixture_stack(&s->fixture, stack, MODULE_APP, 0x20);
	fixture_site(&s->fixture, stack, &(struct site){.allocations = 3, .allocated_bytes = 300});
	build_finish(s->fixture.model);
	profile_init(&s->profile);
	calltree_init(&s->tree);
	CHECK_OK(profile_build(s->fixture.model, false, NULL, &s->profile));
}

CASE(tree_recursion, "a stack of a function that calls itself counts once")
{
	static const enum calltree_way ways[] = {CALLTREE_CALLERS, CALLTREE_CALLEES};
	static const uint64_t nodes[] = {5, 4}; /* f g f main; f g f; and the root */
	for (int i = 0; i < 2; i++) {
		struct setting s;
		recurse(&s);
		build(&s, METRIC_ALLOCATED_BYTES, ways[i], GRAIN_FUNCTIONS, "f");
		CHECK_U64(s.tree.nodes.data[0].total.now, 300);
		CHECK_U64(s.tree.nodes.len, nodes[i]);
		CHECK_STR(s.tree.nodes.data[1].spot->name, "f");
		CHECK_U64(s.tree.nodes.data[1].total.now, 300);
		tear_down(&s);
	}
}

CASE(tree_signs, "of a comparison figures have signs, the largest change first")
{
	struct setting s;
	set_up(&s);
	compare_with(&s, 1000000);
	build(&s, METRIC_ALLOCATED_BYTES, CALLTREE_DOWN, GRAIN_FUNCTIONS, NULL);
	_cleanup_free_ char *text = render(
		&s, (struct calltree_options){.view.sort = METRIC_ALLOCATED_BYTES, .depth = 2});
	CHECK_CONTAINS(text, "  -27.2 MiB");
	CHECK_CONTAINS(text, "  +15.0 MiB");
	CHECK(strstr(text, "step") < strstr(text, "table_grow"));
	_cleanup_free_ char *json = render(
		&s, (struct calltree_options){
			    .view.sort = METRIC_ALLOCATED_BYTES, .depth = 2, .view.json = true});
	CHECK_CONTAINS(json, "\"total_base\": 30000000, \"self\": 0");
	tear_down(&s);
}

CASE(tree_deep, "thousands of levels are drawn, JSON says what it leaves out")
{
	struct setting s;
	static const struct fake_symbol none[] = {{0}};
	fake_symbols = none;
	fixture_init(&s.fixture);
	uint32_t stack = 0;
	for (uint64_t i = 0; i < 5000; i++)
		stack = fixture_stack(&s.fixture, stack, MODULE_APP, 0x1000 + i);
	fixture_site(&s.fixture, stack, &(struct site){.allocations = 3, .allocated_bytes = 300});
	build_finish(s.fixture.model);
	profile_init(&s.profile);
	calltree_init(&s.tree);
	CHECK_OK(profile_build(s.fixture.model, true, NULL, &s.profile));
	build(&s, METRIC_ALLOCATED_BYTES, CALLTREE_DOWN, GRAIN_FUNCTIONS, NULL);
	_cleanup_free_ char *text =
		render(&s, (struct calltree_options){.view.sort = METRIC_ALLOCATED_BYTES,
				   .view.all_frames = true,
				   .depth = VIEW_NO_LIMIT});
	CHECK_CONTAINS(text, "  app+0x2386\n");
	_cleanup_free_ char *folded =
		render(&s, (struct calltree_options){
				   .view.sort = METRIC_ALLOCATED_BYTES, .depth = VIEW_NO_LIMIT});
	CHECK_CONTAINS(folded, "… 4,999 more\n");
	_cleanup_free_ char *json =
		render(&s, (struct calltree_options){.view.sort = METRIC_ALLOCATED_BYTES,
				   .depth = VIEW_NO_LIMIT,
				   .view.json = true});
	CHECK_CONTAINS(json, "\"more\": 1");
	_cleanup_free_ char *deepest =
		render(&s, (struct calltree_options){.view.sort = METRIC_ALLOCATED_BYTES,
				   .depth = CALLTREE_JSON_DEPTH_MAX,
				   .view.json = true});
	CHECK_CONTAINS(deepest, "app+0x118f");
	tear_down(&s);
}

CASE(names_near, "names that are like an unknown one are named, the nearest first")
{
	struct setting s;
	set_up(&s);
	build(&s, METRIC_ALLOCATIONS, CALLTREE_DOWN, GRAIN_FUNCTIONS, NULL);
	bool chosen[100];
	size_t count;
	CHECK_OK(names_find(s.tree.spots, "table_gorw", chosen, &count));
	CHECK_U64(count, 0);
	_cleanup_(text_deinit) struct text near;
	text_init(&near);
	CHECK_OK(names_add_near(s.tree.spots, "table_gorw", &near));
	CHECK(strncmp(near.data, "'table_grow'", 12) == 0);
	text_clear(&near);
	CHECK_OK(names_add_near(s.tree.spots, "LOAD", &near));
	CHECK(strncmp(near.data, "'load_config'", 13) == 0);
	text_clear(&near);
	CHECK_OK(names_add_near(s.tree.spots, "qqqqqqqqqqqqqqq", &near));
	CHECK_U64(near.len, 0);
	CHECK_OK(names_find(s.tree.spots, "^(step|main)$", chosen, &count));
	CHECK_U64(count, 2);
	_cleanup_error_ struct error *error = names_find(s.tree.spots, "step(", chosen, &count);
	CHECK(error && error->code == ERROR_USAGE);
	tear_down(&s);
}

TAP_MAIN
