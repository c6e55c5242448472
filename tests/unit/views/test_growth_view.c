/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The view growth of models made by hand, alone, filtered, and beside an older one, byte for byte
 * as tests/data/golden/report/growth*. Older code stands at 0x1000 and on, newer code at 0x2000 and
 * on.
 */
#include "analysis/filter.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "lib/tap.h"
#include "unit/fake_symbols.h"
#include "unit/golden.h"
#include "unit/model_fixture.h"
#include "views/views.h"

#define APP "/opt/demo/app"
#define CODE(at, name, line)                                                                       \
	{APP, 0x1000 + (at), {name, name, "/old/src/app.c", line, false}},                         \
	{                                                                                          \
		APP, 0x2000 + (at),                                                                \
		{                                                                                  \
			name, name, "/new/src/app.c", 100 + (line), false                          \
		}                                                                                  \
	}

enum { MAIN, QUEUE, QUEUE_AGAIN, LOG, CACHE, TABLE, BURST, DRIP, NODE };

/* clang-format off */
static const struct fake_symbol symbols[] = {
	CODE(MAIN, "main", 10),
	CODE(QUEUE, "queue_push", 20),
	CODE(QUEUE_AGAIN, "queue_push", 25),
	CODE(LOG, "log_line", 30),
	CODE(CACHE, "cache_get", 40),
	CODE(TABLE, "table_make", 50),
	CODE(BURST, "sort_all", 60),
	CODE(DRIP, "drip", 70),
	CODE(NODE, "node_new", 80),
	{0},
};
/* clang-format on */

#define MOMENTS 133u
#define MOMENT_NS 100000000u
#define BLOCK 1000u

/* Blocks that are live at a moment; one a unit. */
typedef uint64_t shape(uint64_t moment);

static uint64_t rises(uint64_t moment)
{
	return 5 * moment;
}

static uint64_t rises_faster(uint64_t moment)
{
	return 12 * moment;
}

static uint64_t rises_slowly(uint64_t moment)
{
	return 3 * moment;
}

static uint64_t levels_off(uint64_t moment)
{
	return moment < 40 ? 10 * moment : 400;
}

static uint64_t stays(uint64_t moment)
{
	return moment ? 250 : 0;
}

static uint64_t bursts(uint64_t moment)
{
	return moment > 30 && moment < 45 ? 900 : 4;
}

static uint64_t never(uint64_t moment)
{
	(void)moment;
	return 0;
}

/* A place: a stack below main, outermost first, and what it does in each recording. */
static const struct place {
	int path[3]; /* ended by 0 */
	shape *shapes[2];
} places[] = {
	{{QUEUE, NODE}, {rises_slowly, rises}},
	{{QUEUE_AGAIN, NODE}, {never, rises}}, /* another line of the function */
	{{LOG}, {levels_off, rises_faster}},
	{{CACHE}, {levels_off, levels_off}},
	{{TABLE}, {stays, stays}},
	{{BURST}, {bursts, bursts}},
	{{DRIP}, {rises, never}},
	{{CACHE, NODE}, {rises_faster, stays}},
	{{DRIP, NODE}, {never, rises_slowly}},
};

struct story {
	struct fixture fixtures[2];
	struct filter filter;
};

static void tell(struct fixture *fixture, int side)
{
	uint64_t code = side ? 0x2000 : 0x1000;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		uint32_t stack = fixture_stack(fixture, 0, MODULE_APP, code + MAIN);
		for (const int *at = places[i].path; at < places[i].path + 3 && *at; at++)
			stack = fixture_stack(fixture, stack, MODULE_APP, code + (uint64_t)*at);
		uint64_t live = places[i].shapes[side](MOMENTS - 1);
		if (places[i].shapes[side] != never)
			fixture_site(fixture, stack,
				&(struct site){.kind = KIND_MALLOC,
					.allocations = 1000,
					.allocated_bytes = 1000 * BLOCK,
					.live_blocks = live,
					.live_bytes = live * BLOCK,
					.peak_blocks = live,
					.peak_bytes = live * BLOCK,
					.min_size = BLOCK,
					.max_size = BLOCK});
	}
}

static void add_moment(struct fixture *fixture, int side, uint64_t moment, uint64_t stack_bytes)
{
	struct series_site sites[ARRAY_SIZE(places)];
	struct series_row row = {.step = 10 * moment,
		.time_ns = moment * MOMENT_NS * (side ? 2 : 1),
		.stack_bytes = stack_bytes};
	size_t count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (places[i].shapes[side] == never)
			continue;
		uint64_t live = places[i].shapes[side](moment);
		sites[count] = (struct series_site){{(uint32_t)count}, live, live * BLOCK};
		row.live_blocks += live;
		row.live_bytes += live * BLOCK;
		count++;
	}
	CHECK_OK(build_series_row(fixture->model, &row, sites, count));
}

static void story_init(struct story *story, size_t moments)
{
	*story = (struct story){0};
	fake_symbols = symbols;
	fake_files = NULL;
	for (int side = 0; side < 2; side++) {
		fixture_init(&story->fixtures[side]);
		tell(&story->fixtures[side], side);
		for (uint64_t i = 0; i < (side ? MOMENTS : moments); i++)
			add_moment(&story->fixtures[side], side, i, (side ? 90000 : 300) * i);
		build_finish(story->fixtures[side].model);
	}
	build_recording(story->fixtures[0].model)->path = "old.hpw";
	build_recording(story->fixtures[1].model)->path = "new.hpw";
}

static void story_deinit(struct story *story)
{
	filter_deinit(&story->filter);
	for (int side = 0; side < 2; side++)
		fixture_deinit(&story->fixtures[side]);
}

static bool collect(void *ctx, const char *data, size_t len)
{
	text_add_n(ctx, data, len);
	return true;
}

enum form { TEXT, JSON };

/* The newer one, beside the older one or alone; the caller frees it. */
static char *render(struct story *story, enum form form, bool beside)
{
	const struct view_base base = {.model = story->fixtures[0].model, .label = "old.hpw@peak"};
	struct view_options options = {.sort = METRICS,
		.json = form == JSON,
		.tail_percent = 10,
		.filter = &story->filter,
		.base = beside ? &base : NULL,
		.timeline = TIMELINE_DEFAULT};
	struct text text;
	text_init(&text);
	struct sink sink = {collect, &text};
	CHECK_OK(view_write(view_find("growth"), story->fixtures[1].model, &options, &sink));
	return text_steal(&text);
}

static void check_forms(struct story *story, bool beside, const char *text, const char *json)
{
	_cleanup_free_ char *as_text = render(story, TEXT, beside);
	check_golden(text, as_text);
	_cleanup_free_ char *as_json = render(story, JSON, beside);
	check_golden(json, as_json);
}

CASE(alone, "which places keep growing, level off, burst or were there from the start")
{
	struct story story;
	story_init(&story, MOMENTS);
	check_forms(&story, false, "report/growth.txt", "report/growth.json");
	story_deinit(&story);
}

CASE(beside, "suspects are new, were there before, each with both rates, or are gone")
{
	struct story story;
	story_init(&story, MOMENTS);
	check_forms(&story, true, "report/growth_base.txt", "report/growth_base.json");
	story_deinit(&story);
}

CASE(focused, "stacks are chosen: what is not shown is not judged, nor are stacks of threads")
{
	struct story story;
	story_init(&story, MOMENTS);
	CHECK_OK(filter_set(&story.filter, FILTER_FOCUS, "cache_get|table"));
	_cleanup_free_ char *text = render(&story, TEXT, false);
	CHECK_CONTAINS(text, "No allocation site among those shown keeps growing.\n");
	CHECK_CONTAINS(text, "Showing --focus 'cache_get|table': 3 of 8 allocation sites;");
	CHECK(!strstr(text, "queue_push") && !strstr(text, "Thread stacks"));
	_cleanup_free_ char *both = render(&story, TEXT, true);
	CHECK_CONTAINS(both, "node_new (app.c:180) no longer keeps growing");
	CHECK(!strstr(both, "queue_push") && !strstr(both, "Thread stacks"));
	story_deinit(&story);
}

CASE(hidden, "places that read the same without hidden frames are judged as one")
{
	struct story story;
	story_init(&story, MOMENTS);
	CHECK_OK(filter_set(&story.filter, FILTER_FOCUS, "queue"));
	CHECK_OK(filter_set(&story.filter, FILTER_HIDE, "queue"));
	_cleanup_free_ char *text = render(&story, TEXT, false);
	/* Ten blocks a moment, of both. */
	CHECK_CONTAINS(
		text, "node_new (app.c:180) keeps growing: by 1.03 MiB, 48.9 KiB a second, to");
	CHECK_CONTAINS(text, ": 1 of 8 allocation sites;");
	_cleanup_free_ char *both = render(&story, TEXT, true);
	CHECK_CONTAINS(both, "keeps growing as it did before: by 1.03 MiB, 48.9 KiB a second; "
			     "before by 318 KiB, 29.4 KiB a second.");
	story_deinit(&story);
}

CASE(few_before, "an older recording of a few moments cannot tell, and that is said")
{
	struct story story;
	story_init(&story, 5);
	_cleanup_free_ char *text = render(&story, TEXT, true);
	CHECK_CONTAINS(text, "The older recording has too few data points");
	CHECK_CONTAINS(text, "app.c:130) keeps growing: by ");
	CHECK_CONTAINS(text, "\nAllocation sites that keep growing (");
	CHECK_CONTAINS(text, "  before  not known  from malloc at\n");
	_cleanup_free_ char *json = render(&story, JSON, true);
	CHECK_CONTAINS(json, "\"suspect\": \"unknown\"");
	CHECK(!strstr(json, "\"suspect\": \"new\""));
	story_deinit(&story);
}

TAP_MAIN
