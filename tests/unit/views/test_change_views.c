/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Views of a report that is compared with an older one. Both models are made by hand: the older
 * program stands in /old, code at 0x1000 and on; the newer one is called otherwise, in /new, code
 * at 0x2000 and on. HEAPWISE_GOLDEN=update rewrites tests/data/golden/report/base-*.
 */
#include "analysis/life_changes.h"
#include "analysis/realloc_changes.h"
#include "analysis/size_classes.h"
#include "analysis/spot_totals.h"
#include "analysis/thread_changes.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "lib/tap.h"
#include "unit/fake_symbols.h"
#include "unit/golden.h"
#include "unit/model_fixture.h"
#include "views/views.h"

#define OLD "/opt/demo/app"
#define NEW "/opt/newer/app-2"
#define BOTH(at, name, file, line)                                                                 \
	{OLD, 0x1000 + (at), {name, name, "/old/src/" file, line, false}},                         \
	{                                                                                          \
		NEW, 0x2000 + (at),                                                                \
		{                                                                                  \
			name, name, "/new/folder/" file, 100 + (line), false                       \
		}                                                                                  \
	}

enum {
	MAIN,
	LOAD = 0x10,
	PARSE = 0x20,
	STALE = 0x30,
	DROP = 0x40,
	FRESH = 0x50,
	CONF = 0x60,
	CHURN = 0x70,
	FIRST = 0x80,
	SECOND = 0x90
};

static const struct fake_symbol symbols[] = {
	BOTH(MAIN, "main", "main.c", 10),
	BOTH(LOAD, "load", "load.c", 11),
	BOTH(PARSE, "parse", "parse.c", 12),
	{OLD, 0x1000 + STALE, {"stale", "stale", "/old/src/stale.c", 13, false}},
	{OLD, 0x1000 + DROP, {"drop", "drop", "/old/src/load.c", 14, false}},
	{NEW, 0x2000 + FRESH, {"fresh", "fresh", "/new/folder/fresh.c", 15, false}},
	BOTH(CONF, "conf", "conf.c", 16),
	BOTH(CHURN, "churn", "churn.c", 17),
	BOTH(FIRST, "first", "steps.c", 18),
	BOTH(SECOND, "second", "steps.c", 19),
	{0},
};

struct pair {
	struct fixture fixtures[2];
	const struct model *models[2];
};

/* Outermost first, ended by -1. Returns the site. */
static uint32_t tell(struct pair *pair, int side, const struct site *site, const int *path)
{
	struct fixture *fixture = &pair->fixtures[side];
	uint32_t stack = 0;
	for (; *path >= 0; path++)
		stack = fixture_stack(
			fixture, stack, MODULE_APP, (uint64_t)(*path + (side ? 0x2000 : 0x1000)));
	fixture_site(fixture, stack, site);
	return fixture->sites - 1;
}

#define TELL(pair, side, site, ...) tell(pair, side, site, (const int[]){__VA_ARGS__, -1})

/* Blocks that stay. */
static struct site kept(uint64_t count, uint64_t size)
{
	return (struct site){.kind = KIND_MALLOC,
		.allocations = count,
		.allocated_bytes = count * size,
		.live_blocks = count,
		.live_bytes = count * size,
		.peak_blocks = count,
		.peak_bytes = count * size,
		.min_size = size,
		.max_size = size};
}

static struct site temporary(uint64_t count, uint64_t size)
{
	return (struct site){.kind = KIND_MALLOC,
		.allocations = count,
		.allocated_bytes = count * size,
		.temporary = count,
		.min_size = size,
		.max_size = size};
}

static void tell_both(struct pair *pair)
{
	static const uint64_t loaded[] = {3, 8}, parsed[] = {9, 2}, churned[] = {100, 700};
	for (int i = 0; i < 2; i++) {
		struct site load = kept(loaded[i], i ? 1000 : 100), parse = kept(parsed[i], 70);
		struct site conf = kept(9, 24), churn = temporary(churned[i], 32);
		TELL(pair, i, &load, MAIN, LOAD);
		TELL(pair, i, &parse, MAIN, PARSE);
		TELL(pair, i, &conf, MAIN, CONF);
		TELL(pair, i, &churn, MAIN, FIRST, CHURN);
		TELL(pair, i, &churn, MAIN, SECOND, CHURN);
	}
	struct site stale = kept(4, 50), drop = kept(2, 40), fresh = kept(6, 1000);
	TELL(pair, 0, &stale, MAIN, STALE);
	TELL(pair, 0, &drop, MAIN, DROP);
	TELL(pair, 1, &fresh, MAIN, FRESH);
}

static void add_sizes(struct pair *pair)
{
	static const struct size_count older[] = {{24, 9}, {32, 200}, {40, 2}, {50, 4}, {70, 9},
		{100, 3}},
				       newer[] = {{24, 9}, {32, 1400}, {70, 2}, {1000, 14}};
	for (size_t i = 0; i < ARRAY_SIZE(older); i++)
		CHECK_OK(build_size(pair->fixtures[0].model, older[i].size, older[i].allocations));
	for (size_t i = 0; i < ARRAY_SIZE(newer); i++)
		CHECK_OK(build_size(pair->fixtures[1].model, newer[i].size, newer[i].allocations));
}

static void add_thread(
	struct pair *pair, int side, uint32_t tid, const char *name, uint64_t allocations)
{
	const struct thread thread = {.tid = tid,
		.allocations = allocations,
		.allocated_bytes = allocations * 32,
		.frees = allocations / 2,
		.temporary = allocations / 4};
	CHECK_OK(build_thread(pair->fixtures[side].model, &thread, name, strlen(name)));
	build_totals(pair->fixtures[side].model)->threads++;
}

static void add_threads(struct pair *pair)
{
	add_thread(pair, 0, 100, "app", 27);
	add_thread(pair, 0, 101, "worker", 100);
	add_thread(pair, 0, 102, "logger", 50);
	add_thread(pair, 0, 103, "worker", 50);
	add_thread(pair, 0, 104, "idle", 0);
	add_thread(pair, 1, 200, "app-2", 25);
	add_thread(pair, 1, 201, "net", 400);
	add_thread(pair, 1, 202, "worker", 100);
	add_thread(pair, 1, 203, "worker", 700);
	add_thread(pair, 1, 204, "worker", 200);
}

static void add_lives(struct pair *pair)
{
	for (int i = 0; i < 2; i++) {
		struct lifetimes *lives = build_lifetimes(pair->fixtures[i].model);
		lives->known = true;
		lives->by_time[0] = (struct life_count){i ? 1300 : 200, i ? 41600 : 6400, 0, 0};
		lives->by_time[20 + i] = (struct life_count){i ? 100 : 0, i ? 3200 : 0, 9, 216};
		lives->by_others[2] = (struct life_count){i ? 1400 : 200, i ? 44800 : 6400, 9, 216};
	}
}

/* Of the first two sites of each: load and parse. */
static void add_reallocs(struct pair *pair)
{
	static const struct realloc_site rows[2][2] = {{{.site = 0,
								.calls = 3,
								.grown = 3,
								.grown_bytes = 700,
								.copied_bytes = 700,
								.chains = 1,
								.longest = 3,
								.longest_from = 100,
								.longest_to = 800,
								.step_bytes = 100,
								.step_count = 1,
								.log2_factors = 3},
							       {.site = 1,
								       .calls = 8,
								       .grown = 8,
								       .grown_bytes = 64,
								       .copied_bytes = 96,
								       .longest = 2,
								       .longest_from = 62,
								       .longest_to = 70,
								       .step_bytes = 8,
								       .step_count = 8,
								       .log2_factors = 1}},
		{{.site = 0,
			 .calls = 100,
			 .grown = 100,
			 .grown_bytes = 900,
			 .copied_bytes = 50000,
			 .chains = 1,
			 .longest = 100,
			 .longest_from = 100,
			 .longest_to = 1000,
			 .step_bytes = 9,
			 .step_count = 100,
			 .log2_factors = 3},
			{0}}};
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 2; k++)
			if (rows[i][k].calls)
				CHECK_OK(build_realloc_site(pair->fixtures[i].model, &rows[i][k]));
}

static void add_inherited(struct pair *pair)
{
	for (int i = 0; i < 2; i++) {
		struct model *model = pair->fixtures[i].model;
		size_t count;
		struct stack_id stack = model_sites(model, &count)[0].stack;
		CHECK_OK(build_inherited_site(model, stack, KIND_CALLOC, i ? 6 : 2, i ? 600 : 200));
		*build_inherited(model) = (struct inherited){.from = "parent.hpw",
			.blocks = i ? 6 : 2,
			.bytes = i ? 600 : 200,
			.generations = 1};
	}
}

static void pair_init(struct pair *pair)
{
	fake_symbols = symbols;
	fake_files = NULL;
	for (int i = 0; i < 2; i++) {
		struct fixture *fixture = &pair->fixtures[i];
		fixture_init(fixture);
		build_recording(fixture->model)->path = i ? "new.hpw" : "old.hpw";
		build_target(fixture->model)->exe = i ? NEW : OLD;
		if (i) {
			struct module module =
				*model_module(fixture->model, (struct module_id){MODULE_APP});
			CHECK_OK(build_module(fixture->model, (struct module_id){MODULE_APP},
				&module, NEW, strlen(NEW)));
		}
	}
	tell_both(pair);
	add_sizes(pair);
	add_threads(pair);
	add_lives(pair);
	add_reallocs(pair);
	add_inherited(pair);
	for (int i = 0; i < 2; i++) {
		build_finish(pair->fixtures[i].model);
		pair->models[i] = pair->fixtures[i].model;
	}
}

static void pair_deinit(struct pair *pair)
{
	for (int i = 0; i < 2; i++)
		fixture_deinit(&pair->fixtures[i]);
}

static bool collect(void *ctx, const char *data, size_t len)
{
	text_add_n(ctx, data, len);
	return true;
}

static char *render(
	const struct pair *pair, const char *name, struct view_options options, bool normalize)
{
	const struct view_base base = {
		.model = pair->models[0], .label = "old.hpw", .normalize = normalize};
	struct text text;
	text_init(&text);
	struct sink sink = {collect, &text};
	options.base = &base;
	CHECK(view_find(name));
	CHECK_OK(view_write(view_find(name), pair->models[1], &options, &sink));
	return text_steal(&text);
}

static const char *const names[] = {"summary", "sites", "never-freed", "peak", "inherited",
	"temporary", "functions", "lines", "addresses", "files", "modules", "lifetimes", "realloc",
	"sizes", "threads"};

CASE(golden, "each view as text and as JSON")
{
	struct pair pair;
	pair_init(&pair);
	for (size_t i = 0; i < ARRAY_SIZE(names) * 2; i++) {
		struct view_options options = {.sort = METRICS, .json = i % 2};
		_cleanup_free_ char *is = render(&pair, names[i / 2], options, false);
		char path[128];
		snprintf(path, sizeof(path), "report/base-%s.%s", names[i / 2],
			i % 2 ? "json" : "txt");
		check_golden(path, is);
	}
	pair_deinit(&pair);
}

CASE(every_view, "a view is compared, or says why it is not")
{
	_cleanup_(text_deinit) struct text all;
	text_init(&all);
	view_add_names(&all);
	size_t count = 0;
	char *at = NULL;
	for (char *name = strtok_r(all.data, ", ", &at); name; name = strtok_r(NULL, ", ", &at)) {
		bool shown = false;
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			shown |= strcmp(name, names[i]) == 0;
		/* Those with a series are tested in test_growth_view.c and test_timeline.c. */
		if (view_needs_moments(
			    view_find(name), &(struct view_options){.timeline = TIMELINE_DEFAULT}))
			continue;
		if (shown == (view_no_base(view_find(name)) != NULL))
			tap_fail("%s is %scompared here", name, shown ? "" : "not ");
		count++;
	}
	CHECK(count > ARRAY_SIZE(names));
}

CASE(limits, "what a limit cuts is said, and what did not change")
{
	struct pair pair;
	pair_init(&pair);
	_cleanup_free_ char *sites =
		render(&pair, "sites", (struct view_options){.sort = METRICS, .limit = 2}, false);
	CHECK_CONTAINS(sites, "  … 5 more allocation sites\n  1 allocation site is the same\n");
	CHECK_CONTAINS(sites, "Total allocated memory grew by");
	_cleanup_free_ char *sizes =
		render(&pair, "sizes", (struct view_options){.sort = METRICS, .limit = 1}, false);
	CHECK_CONTAINS(sizes, "  … 5 more sizes\n  1 size is the same\n");
	pair_deinit(&pair);
}

CASE(nothing, "what is compared with itself did not change")
{
	struct pair pair;
	pair_init(&pair);
	pair.models[0] = pair.models[1];
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *is =
			render(&pair, names[i], (struct view_options){.sort = METRICS}, false);
		CHECK(!strstr(is, "grew") && !strstr(is, "shrank") && !strstr(is, "  new"));
		if (strcmp(names[i], "summary") != 0 && strcmp(names[i], "lifetimes") != 0)
			CHECK_CONTAINS(is, "  nothing changed\n");
	}
	pair_deinit(&pair);
}

/* "app=app-2 worker=worker -logger +net", by tid. */
static void check_threads(struct pair *pair, bool same_recording, const char *expected)
{
	struct thread_change_vec rows;
	thread_change_vec_init(&rows);
	CHECK_OK(thread_changes_build(pair->models[0], pair->models[1], same_recording,
		METRIC_ALLOCATIONS, false, &rows));
	char is[512] = "";
	for (size_t i = 0; i < rows.len; i++) {
		const struct thread_change *row = &rows.data[i];
		size_t len = strlen(is);
		if (row->older && row->newer)
			snprintf(is + len, sizeof(is) - len, "%u=%u ", row->older->tid,
				row->newer->tid);
		else
			snprintf(is + len, sizeof(is) - len, "%c%u ", row->newer ? '+' : '-',
				(row->newer ? row->newer : row->older)->tid);
	}
	CHECK_STR(is, expected);
	thread_change_vec_deinit(&rows);
}

CASE(threads, "first threads are the same, others by name and order; of one recording by number")
{
	struct pair pair;
	pair_init(&pair);
	check_threads(&pair, false, "103=203 +201 +204 -102 100=200 101=202 ");
	check_threads(&pair, true, "103=203 101=201 +204 102=202 100=200 ");
	pair_deinit(&pair);
}

CASE(normalized, "scaled, sums of sizes, lives, threads and reallocs agree")
{
	struct pair pair;
	pair_init(&pair);
	struct size_changes sizes;
	size_changes_init(&sizes);
	CHECK_OK(size_changes_build(
		pair.models[0], pair.models[1], METRIC_ALLOCATIONS, true, &sizes));
	uint64_t class_sum = 0;
	for (unsigned i = 0; i < SIZE_CLASSES; i++)
		class_sum += sizes.base.classes[i].allocations;
	/* 1,425 but for what is rounded. */
	CHECK(class_sum >= 1422 && class_sum <= 1428);
	size_changes_deinit(&sizes);
	struct lifetimes lives;
	lifetimes_as_base(
		model_lifetimes(pair.models[0]), model_lifetimes(pair.models[1]), true, &lives);
	CHECK_U64(lives.by_time[0].freed_blocks, 1400);
	CHECK_U64(lives.by_time[20].live_blocks, 9);
	struct thread_change_vec threads;
	thread_change_vec_init(&threads);
	CHECK_OK(thread_changes_build(
		pair.models[0], pair.models[1], false, METRIC_ALLOCATIONS, true, &threads));
	uint64_t sum = 0;
	for (size_t i = 0; i < threads.len; i++)
		sum += threads.data[i].base.allocations;
	CHECK(sum >= 1423 && sum <= 1427);
	thread_change_vec_deinit(&threads);
	_cleanup_free_ char *reallocs =
		render(&pair, "realloc", (struct view_options){.sort = METRICS}, true);
	CHECK_CONTAINS(reallocs, "possibly copied by realloc is the same");
	_cleanup_free_ char *sites =
		render(&pair, "sites", (struct view_options){.sort = METRICS}, true);
	CHECK_CONTAINS(sites, "Total allocated memory is the same");
	pair_deinit(&pair);
}

CASE(joined, "a file or module is gone only if all that stood in it is")
{
	struct pair pair;
	pair_init(&pair);
	_cleanup_free_ char *files =
		render(&pair, "files", (struct view_options){.sort = METRICS}, false);
	CHECK_CONTAINS(files, "/old/src/stale.c  gone\n");
	CHECK_CONTAINS(files, "/new/folder/fresh.c  new\n");
	CHECK(!strstr(files, "/old/src/load.c"));
	/* 8 × 1000 now; 3 × 100 and 2 × 40 before. */
	CHECK_CONTAINS(files, "    7.81 KiB    +7.44 KiB           8           +3");
	_cleanup_free_ char *modules =
		render(&pair, "modules", (struct view_options){.sort = METRICS}, false);
	CHECK(strstr(modules, "  app-2\n") && !strstr(modules, "gone"));
	pair_deinit(&pair);
}

CASE(stepwise, "what began to grow blocks step by step is said, and what stopped")
{
	struct pair pair;
	pair_init(&pair);
	_cleanup_free_ char *is =
		render(&pair, "realloc", (struct view_options){.sort = METRICS}, false);
	CHECK_CONTAINS(is, "load (load.c:111) grows blocks step by step now.\n");
	const struct model *newer = pair.models[1];
	pair.models[1] = pair.models[0];
	pair.models[0] = newer;
	_cleanup_free_ char *back =
		render(&pair, "realloc", (struct view_options){.sort = METRICS}, false);
	CHECK_CONTAINS(back, "load (load.c:11) no longer grows blocks step by step.\n");
	pair_deinit(&pair);
}

CASE(unknown, "temporary allocations of a sample are not known")
{
	struct pair pair;
	pair_init(&pair);
	build_recording(pair.fixtures[0].model)->sample_bytes = 1000;
	build_recording(pair.fixtures[0].model)->mode = "sample";
	build_recording(pair.fixtures[0].model)->unknown = UNKNOWN_TEMPORARY;
	_cleanup_free_ char *temporaries =
		render(&pair, "temporary", (struct view_options){.sort = METRICS}, false);
	CHECK_CONTAINS(temporaries, "allocations is unknown for a sample.\n");
	CHECK_CONTAINS(temporaries, "temporary\n  not known of a sample\n");
	_cleanup_free_ char *threads = render(
		&pair, "threads", (struct view_options){.sort = METRICS, .json = true}, false);
	CHECK_CONTAINS(threads, "\"temporary\": null");
	pair_deinit(&pair);
}

TAP_MAIN
