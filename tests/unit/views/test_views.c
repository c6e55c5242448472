/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each view of the demo model, byte for byte as in tests/data/golden/report/;
 * HEAPWISE_GOLDEN=update writes these files anew.
 */
#include "base/cleanup.h"
#include "lib/tap.h"
#include "unit/fake_symbols.h"
#include "unit/golden.h"
#include "unit/model_fixture.h"
#include "views/views.h"

static bool collect(void *ctx, const char *data, size_t len)
{
	text_add_n(ctx, data, len);
	return true;
}

static char *render(const struct model *model, const char *view, struct view_options options)
{
	struct text text;
	text_init(&text);
	struct sink sink = {collect, &text};
	CHECK(view_find(view));
	CHECK_OK(view_write(view_find(view), model, &options, &sink));
	return text_steal(&text);
}

static void check_report(const char *name, const char *is)
{
	char path[256];
	snprintf(path, sizeof(path), "report/%s", name);
	check_golden(path, is);
}

static void check_view(const char *view)
{
	struct fixture fixture;
	fixture_demo(&fixture);
	for (int json = 0; json < 2; json++) {
		struct view_options options = {.sort = METRICS, .json = json};
		_cleanup_free_ char *is = render(fixture.model, view, options);
		char name[64];
		snprintf(name, sizeof(name), "%s.%s", view, json ? "json" : "txt");
		check_report(name, is);
	}
	fixture_deinit(&fixture);
}

CASE(view_summary, "summary")
{
	check_view("summary");
}

CASE(view_sites, "sites")
{
	check_view("sites");
}

CASE(view_never_freed, "never-freed")
{
	check_view("never-freed");
}

CASE(view_peak, "peak")
{
	check_view("peak");
}

CASE(view_inherited, "inherited: apart from what the process itself did")
{
	struct fixture fixture;
	fixture_demo(&fixture);
	size_t count;
	const struct site *sites = model_sites(fixture.model, &count);
	CHECK_OK(build_inherited_site(fixture.model, sites[0].stack, KIND_CALLOC, 6, 30018));
	CHECK_OK(build_inherited_site(fixture.model, sites[1].stack, KIND_NEW, 2, 48));
	*build_inherited(fixture.model) = (struct inherited){.from = "parent.hpw",
		.blocks = 8,
		.bytes = 30066,
		.generations = 2,
		.at_most = true};
	for (int json = 0; json < 2; json++) {
		struct view_options options = {.sort = METRICS, .json = json};
		_cleanup_free_ char *is = render(fixture.model, "inherited", options);
		check_report(json ? "inherited.json" : "inherited.txt", is);
	}
	_cleanup_free_ char *summary =
		render(fixture.model, "summary", (struct view_options){.sort = METRICS});
	CHECK_CONTAINS(summary, "  It inherited at most 8 blocks of 29.4 KiB from its ancestors; "
				"none of them was freed here.\n");
	_cleanup_free_ char *own =
		render(fixture.model, "sites", (struct view_options){.sort = METRICS});
	CHECK(!strstr(own, "29.3 KiB"));
	fixture_deinit(&fixture);
}

CASE(view_temporary, "temporary")
{
	check_view("temporary");
}

CASE(view_functions, "functions")
{
	check_view("functions");
}

CASE(view_files, "files")
{
	check_view("files");
}

CASE(view_modules, "modules")
{
	check_view("modules");
}

/* Lives as no program had them: some of all kinds. */
static void add_lives(struct model *model)
{
	struct lifetimes *lifetimes = build_lifetimes(model);
	lifetimes->known = true;
	for (unsigned i = 0; i < LIFE_BUCKETS; i += i ? 1 : 13) {
		uint64_t blocks = i < 30 ? (i % 7) * 1001 : i + 1 == LIFE_BUCKETS;
		lifetimes->by_time[i] =
			(struct life_count){blocks + 3, blocks * 48, i % 3, i % 3 * 100};
		lifetimes->by_others[i] = (struct life_count){i % 3, i % 3 * 48, 0, 0};
	}
	static const struct realloc_site sites[] = {
		{.site = 0,
			.calls = 65535,
			.grown = 65535,
			.grown_bytes = 1048560,
			.copied_bytes = 34359214080,
			.chains = 1,
			.longest = 65535,
			.longest_from = 16,
			.longest_to = 1048576,
			.step_bytes = 16,
			.step_count = 65535,
			.log2_factors = 16},
		{.site = 1,
			.calls = 3,
			.grown = 3,
			.grown_bytes = 48,
			.copied_bytes = 96,
			.longest = 3,
			.longest_from = 16,
			.longest_to = 64,
			.step_bytes = 16,
			.step_count = 3,
			.log2_factors = 2},
		{.site = 2,
			.calls = 17,
			.grown = 17,
			.grown_bytes = 1048568,
			.copied_bytes = 1048568,
			.chains = 1,
			.longest = 17,
			.longest_from = 8,
			.longest_to = 1048576,
			.step_bytes = 8,
			.step_count = 1,
			.log2_factors = 17},
		{.site = 3,
			.calls = 2,
			.shrunk = 2,
			.copied_bytes = 96,
			.longest = 1,
			.longest_from = 640,
			.longest_to = 48},
	};
	for (size_t i = 0; i < sizeof(sites) / sizeof(*sites); i++)
		CHECK_OK(build_realloc_site(model, &sites[i]));
	CHECK_ERROR(build_realloc_site(model, &sites[0]), ERROR_INPUT, "ascend");
}

CASE(view_lives, "lifetimes, realloc")
{
	static const char *const names[] = {"lifetimes", "realloc"};
	struct fixture fixture;
	fixture_demo(&fixture);
	add_lives(fixture.model);
	for (int i = 0; i < 4; i++) {
		struct view_options options = {.sort = METRICS, .json = i % 2};
		_cleanup_free_ char *is = render(fixture.model, names[i / 2], options);
		char name[64];
		snprintf(name, sizeof(name), "%s.%s", names[i / 2], i % 2 ? "json" : "txt");
		check_report(name, is);
	}
	fixture_deinit(&fixture);
}

CASE(view_sizes, "sizes")
{
	check_view("sizes");
}

CASE(view_threads, "threads")
{
	check_view("threads");
}

/* How often `part` stands in `text`. */
static size_t occurrences(const char *text, const char *part)
{
	size_t count = 0;
	for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
		count++;
	return count;
}

CASE(view_limit, "a limit cuts rows, and what was cut is said")
{
	struct fixture fixture;
	fixture_demo(&fixture);
	_cleanup_free_ char *json = render(fixture.model, "sites",
		(struct view_options){.sort = METRICS, .limit = 3, .json = true});
	CHECK_U64(occurrences(json, "\"kind\":"), 3);
	CHECK_CONTAINS(json, "\"sites_total\": 37");
	_cleanup_free_ char *all = render(
		fixture.model, "sites", (struct view_options){.sort = METRICS, .json = true});
	CHECK_U64(occurrences(all, "\"kind\":"), 37);
	_cleanup_free_ char *text =
		render(fixture.model, "sizes", (struct view_options){.sort = METRICS, .limit = 4});
	CHECK_CONTAINS(text, "… 2 more sizes\n");
	fixture_deinit(&fixture);
}

CASE(view_sort, "rows follow the metric that was asked for")
{
	struct fixture fixture;
	fixture_demo(&fixture);
	_cleanup_free_ char *failed = render(
		fixture.model, "sites", (struct view_options){.sort = METRIC_FAILED, .limit = 1});
	CHECK_CONTAINS(failed,
		"  2 failed (100.0%)  beside 1,304 successful calls  from malloc at\n"
		"      … 1 allocator frame (xmalloc)\n");
	_cleanup_free_ char *calls = render(fixture.model, "summary",
		(struct view_options){.sort = METRIC_ALLOCATIONS, .limit = 1});
	CHECK_CONTAINS(calls, "Sites by allocations (1 of 37 allocation sites)\n  5,000 calls");
	_cleanup_free_ char *bytes = render(fixture.model, "sizes",
		(struct view_options){.sort = METRIC_ALLOCATED_BYTES, .limit = 1, .json = true});
	CHECK_CONTAINS(bytes, "\"size\": 4096,");
	_cleanup_free_ char *threads = render(fixture.model, "threads",
		(struct view_options){.sort = METRIC_TEMPORARY, .limit = 1, .json = true});
	CHECK_CONTAINS(threads, "\"tid\": 4711,");
	fixture_deinit(&fixture);
}

CASE(view_metrics, "each view names what it can be sorted by")
{
	CHECK(!view_find("nonsense"));
	CHECK(view_can_sort(view_find("sites"), METRIC_FAILED));
	CHECK(!view_can_sort(view_find("sizes"), METRIC_FAILED));
	CHECK(!view_can_sort(view_find("sites"), METRICS));
	_cleanup_(text_deinit) struct text names;
	text_init(&names);
	view_add_names(&names);
	CHECK_STR(names.data,
		"summary, sites, never-freed, libraries, kept, peak, inherited, temporary, "
		"functions, lines, addresses, "
		"files, modules, growth, timeline, lifetimes, "
		"realloc, sizes, threads, marks, rss, errors");
	_cleanup_(text_deinit) struct text metrics;
	text_init(&metrics);
	view_add_metrics(&metrics, view_find("threads"));
	CHECK_STR(metrics.data, "allocations, allocated_bytes, temporary");
}

CASE(view_exits, "how a program ended, in JSON")
{
	static const struct {
		enum exit_kind kind;
		int value;
		const char *json;
	} table[] = {
		{EXIT_KIND_STATUS, 7, "\"exit\": {\"code\": 7}"},
		{EXIT_KIND_SIGNAL, 9, "\"exit\": {\"signal\": 9}"},
		{EXIT_KIND_EXEC, 0, "\"exit\": {\"exec\": true}"},
		{EXIT_KIND_UNKNOWN, 0, "\"exit\": null"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct fixture fixture;
		fixture_demo(&fixture);
		build_target(fixture.model)->exit_kind = table[i].kind;
		build_target(fixture.model)->exit_value = table[i].value;
		_cleanup_free_ char *json = render(fixture.model, "sizes",
			(struct view_options){.sort = METRICS, .json = true});
		CHECK_CONTAINS(json, table[i].json);
		fixture_deinit(&fixture);
	}
}

CASE(view_deep, "a stack deeper than forty frames is cut in text alone")
{
	struct fixture fixture;
	fixture_demo(&fixture);
	uint32_t stack = 0;
	for (uint64_t i = 0; i < 52; i++)
		stack = fixture_stack(&fixture, stack, MODULE_GONE, 0x100 + i);
	fixture_site(&fixture, stack, &(struct site){.kind = KIND_MALLOC, .failed = 9});
	struct view_options options = {.sort = METRIC_FAILED, .limit = 1};
	_cleanup_free_ char *text = render(fixture.model, "sites", options);
	CHECK_U64(occurrences(text, "  libgone.so+0x"), 40);
	CHECK_CONTAINS(text, "… 12 more frames");
	options.all_frames = true;
	_cleanup_free_ char *whole = render(fixture.model, "sites", options);
	CHECK_U64(occurrences(whole, "  libgone.so+0x"), 52);
	options = (struct view_options){.sort = METRIC_FAILED, .limit = 1, .json = true};
	_cleanup_free_ char *json = render(fixture.model, "sites", options);
	CHECK_U64(occurrences(json, "\"inlined\":"), 52);
	fixture_deinit(&fixture);
}

CASE(view_no_file, "code that was made at run time stands as its address, in no file")
{
	struct fixture fixture;
	fixture_demo(&fixture);
	uint32_t made = fixture_stack(&fixture, 0, MODULE_NONE, 0x12344f);
	fixture_site(&fixture, made, &(struct site){.allocations = 3, .failed = 7});
	struct view_options options = {.sort = METRIC_FAILED, .limit = 1};
	_cleanup_free_ char *text = render(fixture.model, "sites", options);
	CHECK_CONTAINS(text, "      0x123450  [in no file]\n");
	fixture_deinit(&fixture);
}

static bool stop_at_once(void *ctx, const char *data, size_t len)
{
	(void)data, (void)len;
	++*(int *)ctx;
	return false;
}

CASE(view_sink_stops, "a sink that wants no more is left alone")
{
	struct fixture fixture;
	fixture_demo(&fixture);
	for (int json = 0; json < 2; json++) {
		int calls = 0;
		struct sink sink = {stop_at_once, &calls};
		struct view_options options = {.sort = METRICS, .json = json};
		CHECK_OK(view_write(view_find("sites"), fixture.model, &options, &sink));
		CHECK_U64(calls, 1);
	}
	fixture_deinit(&fixture);
}

TAP_MAIN
