/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two models compared. Both are made by hand, from one table of symbols: old code stands at 0x1000
 * and on, newer code at 0x2000 and on. HEAPWISE_GOLDEN=update rewrites tests/data/golden/diff/.
 */
#include "analysis/diff.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "lib/tap.h"
#include "unit/fake_symbols.h"
#include "unit/golden.h"
#include "unit/model_fixture.h"
#include "views/diff_view.h"

#define APP "/opt/demo/app"
#define CXX "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"
#define CODE(at, name, file, line)                                                                 \
	{                                                                                          \
		APP, at,                                                                           \
		{                                                                                  \
			name, name, file, line, false                                              \
		}                                                                                  \
	}

static const struct fake_symbol symbols[] = {
	CODE(0x1000, "main", "/old/src/main.c", 10),
	CODE(0x1001, "main", "/old/src/main.c", 20),
	CODE(0x1010, "load", "/old/src/load.c", 11),
	CODE(0x1020, "parse.part.0", "/old/src/parse.c", 12),
	CODE(0x1030, "{anonymous}::cache [clone .cold]", "/old/src/cache.cc", 13),
	CODE(0x1040, "read_conf", "/old/src/conf.c", 14),
	CODE(0x1050, "helper", "/old/src/a.c", 15),
	CODE(0x1060, "first_old", "/old/src/many.c", 16),
	CODE(0x1070, "second_old", "/old/src/many.c", 17),
	CODE(0x1080, "xmalloc", "/old/src/util.c", 18),
	CODE(0x1090, "buffer", "/old/src/buffer.c", 19),
	CODE(0x2000, "main", "/new/folder/main.c", 110),
	CODE(0x2001, "main", "/new/folder/main.c", 120),
	CODE(0x2010, "load", "/new/folder/load.c", 111),
	CODE(0x2020, "parse", "/new/folder/parse.c", 112),
	CODE(0x2030, "(anonymous namespace)::cache", "/new/folder/cache.cc", 113),
	CODE(0x2040, "read_config", "/new/folder/conf.c", 114),
	CODE(0x2050, "helper", "/new/folder/b.c", 115),
	CODE(0x2060, "first_new", "/new/folder/many.c", 116),
	CODE(0x2070, "second_new", "/new/folder/many.c", 117),
	CODE(0x2080, "xmalloc", "/new/folder/util.c", 118),
	CODE(0x2090, "buffer", "/new/folder/buffer.c", 119),
	{CXX, 0x500, {"std::string::reserve", "_d", NULL, 0, false}},
	{0},
};

enum {
	MAIN = 0x1000,
	LOAD = 0x1010,
	PARSE = 0x1020,
	CACHE = 0x1030,
	CONF = 0x1040,
	HELPER = 0x1050,
	FIRST = 0x1060,
	SECOND = 0x1070,
	XMALLOC = 0x1080,
	BUFFER = 0x1090,
	NEWER = 0x1000
};

struct setting {
	struct fixture fixtures[2];
	struct resolver *resolvers[2];
	struct rows rows[2];
	struct diff diff;
	bool one_build; /* the newer program's code is the older one's */
};

static void setting_init(struct setting *setting)
{
	*setting = (struct setting){0};
	fake_symbols = symbols;
	fake_files = NULL;
	for (int i = 0; i < 2; i++)
		fixture_init(&setting->fixtures[i]);
	build_recording(setting->fixtures[0].model)->path = "old.hpw";
	build_recording(setting->fixtures[1].model)->path = "new.hpw";
	diff_init(&setting->diff);
}

static void setting_deinit(struct setting *setting)
{
	diff_deinit(&setting->diff);
	for (int i = 0; i < 2; i++) {
		rows_deinit(&setting->rows[i]);
		resolver_destroy(setting->resolvers[i]);
		fixture_deinit(&setting->fixtures[i]);
	}
}

/* `count` blocks of `size`, never freed, from a stack: code of the older program, outermost first,
 * ended by 0. The newer one has the same at other addresses. */
static void tell(struct setting *setting, int side, uint64_t count, uint64_t size, const int *path)
{
	struct fixture *fixture = &setting->fixtures[side];
	uint32_t stack = 0;
	for (; *path; path++)
		stack = fixture_stack(fixture, stack, MODULE_APP,
			(uint64_t)(*path + (side && !setting->one_build ? NEWER : 0)));
	fixture_site(fixture, stack,
		&(struct site){.kind = KIND_MALLOC,
			.allocations = count,
			.allocated_bytes = count * size,
			.live_blocks = count,
			.live_bytes = count * size,
			.peak_blocks = count,
			.peak_bytes = count * size,
			.min_size = size,
			.max_size = size});
}

#define TELL(setting, side, count, size, ...)                                                      \
	tell(setting, side, count, size, (const int[]){__VA_ARGS__, 0})
#define TELL_BOTH(setting, count, size, ...)                                                       \
	do {                                                                                       \
		TELL(setting, 0, count, size, __VA_ARGS__);                                        \
		TELL(setting, 1, count, size, __VA_ARGS__);                                        \
	} while (0)

static void compare_with(struct setting *setting, struct diff_options options)
{
	struct match_side sides[2];
	for (int i = 0; i < 2; i++) {
		build_finish(setting->fixtures[i].model);
		CHECK_OK(
			resolver_create(setting->fixtures[i].model, false, &setting->resolvers[i]));
		CHECK_OK(rows_build(
			setting->fixtures[i].model, setting->resolvers[i], &setting->rows[i]));
		sides[i] = (struct match_side){setting->fixtures[i].model, &setting->rows[i]};
	}
	CHECK_OK(diff_build(&sides[0], &sides[1], &options, &setting->diff));
}

static void compare(struct setting *setting)
{
	compare_with(setting, (struct diff_options){.metric = METRIC_LIVE_BYTES});
}

/* "new:load grown:…", by the innermost function; and the renames: "read_conf→read_config". */
static const char *outcome(const struct setting *setting)
{
	static char text[1024];
	size_t len = 0;
	text[0] = '\0';
	for (int status = 0; status < DIFF_SAME; status++)
		for (size_t i = 0; i < setting->diff.lists[status].len; i++) {
			const struct row *row = setting->diff.lists[status].data[i];
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s:%s",
				len ? " " : "", diff_status_name((enum diff_status)status),
				row->frames[0]->function);
		}
	const struct rename_vec *renames = &setting->diff.match->renames;
	for (size_t i = 0; i < renames->len; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%s%s", len ? " " : "",
			renames->data[i].from->function, renames->data[i].moved ? "⇒" : "→",
			renames->data[i].to->function);
	return text;
}

static void check_outcome(const struct setting *setting, const char *expected)
{
	const char *is = outcome(setting);
	if (strcmp(is, expected) != 0)
		tap_fail("it is '%s', not '%s'", is, expected);
}

static bool says(const struct text *text, const char *words)
{
	return text->data && strstr(text->data, words);
}

CASE(rebuilt,
	"addresses, lines, folders, parts of functions and how namespaces are spelt change nothing")
{
	struct setting setting;
	setting_init(&setting);
	TELL_BOTH(&setting, 3, 100, MAIN, LOAD, PARSE);
	TELL_BOTH(&setting, 5, 33, MAIN, CACHE);
	compare(&setting);
	check_outcome(&setting, "");
	CHECK_U64(setting.diff.lists[DIFF_SAME].len, 2);
	CHECK(says(&setting.diff.verdict, "Nothing changed"));
	setting_deinit(&setting);
}

CASE(four_lists, "places are new, grown, shrunk or gone, by how much, and totals add up")
{
	struct setting setting;
	setting_init(&setting);
	TELL(&setting, 0, 3, 100, MAIN, LOAD);
	TELL(&setting, 1, 8, 100, MAIN, LOAD);
	TELL(&setting, 0, 9, 70, MAIN, PARSE);
	TELL(&setting, 1, 2, 70, MAIN, PARSE);
	TELL(&setting, 0, 4, 50, MAIN, BUFFER);
	TELL(&setting, 1, 6, 1000, MAIN, CACHE);
	compare(&setting);
	check_outcome(
		&setting, "new:(anonymous namespace)::cache grown:load shrunk:parse gone:buffer");
	int64_t sum = 0;
	for (int i = 0; i < DIFF_STATUSES; i++)
		sum += setting.diff.sums[i];
	struct diff_figure total;
	diff_of_totals(&setting.diff, METRIC_LIVE_BYTES, &total);
	CHECK(sum == total.change);
	CHECK(total.change == 6000 + 500 - 490 - 200);
	CHECK(says(&setting.diff.verdict, "Live memory grew by 5.67 KiB"));
	CHECK(says(&setting.diff.top, "cache (cache.cc:113), +5.86 KiB"));
	CHECK(says(&setting.diff.verdict, "1 new, 1 grew, 1 shrank, 1 gone"));
	setting_deinit(&setting);
}

CASE(whole_call_paths, "one function called along two ways is two places")
{
	struct setting setting;
	setting_init(&setting);
	TELL_BOTH(&setting, 1, 64, MAIN, LOAD, BUFFER);
	TELL(&setting, 1, 1, 64, MAIN, PARSE, BUFFER);
	TELL_BOTH(&setting, 1, 64, MAIN, PARSE);
	compare(&setting);
	check_outcome(&setting, "new:buffer");
	CHECK(strcmp(setting.diff.lists[DIFF_NEW].data[0]->frames[1]->function, "parse") == 0);
	setting_deinit(&setting);
}

CASE(two_lines, "call sites of one function are one place between builds")
{
	struct setting setting;
	setting_init(&setting);
	TELL_BOTH(&setting, 1, 64, MAIN);
	TELL_BOTH(&setting, 1, 32, MAIN + 1);
	compare(&setting);
	CHECK_U64(setting.diff.rows.rows.len, 1);
	CHECK_U64(setting.diff.rows.rows.data[0].base->live_bytes, 96);
	check_outcome(&setting, "");
	setting_deinit(&setting);
}

static void set_build_id(struct fixture *fixture, const char *build_id)
{
	struct module module = *model_module(fixture->model, (struct module_id){MODULE_APP});
	module.build_id = (const uint8_t *)build_id;
	module.build_id_len = strlen(build_id);
	CHECK_OK(build_module(
		fixture->model, (struct module_id){MODULE_APP}, &module, APP, strlen(APP)));
}

CASE(same_build, "call sites of one function are told apart where the build is the same")
{
	for (int same = 0; same < 2; same++) {
		struct setting setting;
		setting_init(&setting);
		setting.one_build = true;
		set_build_id(&setting.fixtures[0], "abc");
		set_build_id(&setting.fixtures[1], same ? "abc" : "abd");
		TELL(&setting, 0, 1, 64, MAIN);
		TELL(&setting, 0, 1, 32, MAIN + 1);
		TELL(&setting, 1, 1, 64, MAIN);
		TELL(&setting, 1, 2, 32, MAIN + 1);
		compare(&setting);
		CHECK_U64(setting.diff.rows.rows.len, same ? 2 : 1);
		check_outcome(&setting, "grown:main");
		setting_deinit(&setting);
	}
}

CASE(same_recording, "moments of one recording are compared line by line")
{
	struct setting setting;
	setting_init(&setting);
	setting.one_build = true;
	TELL(&setting, 0, 1, 64, MAIN);
	TELL(&setting, 0, 1, 32, MAIN + 1);
	TELL(&setting, 1, 1, 64, MAIN);
	TELL(&setting, 1, 1, 32, MAIN + 1);
	TELL(&setting, 1, 1, 16, LOAD);
	compare_with(&setting,
		(struct diff_options){.metric = METRIC_LIVE_BYTES, .same_recording = true});
	CHECK_U64(setting.diff.rows.rows.len, 3);
	check_outcome(&setting, "new:load");
	setting_deinit(&setting);
}

CASE(moved, "a function that moved to another file is the same one, and that is said")
{
	struct setting setting;
	setting_init(&setting);
	TELL(&setting, 0, 3, 100, MAIN, HELPER);
	TELL(&setting, 1, 7, 100, MAIN, HELPER);
	compare(&setting);
	check_outcome(&setting, "grown:helper helper⇒helper");
	CHECK(says(&setting.diff.verdict, "moved: helper: a.c → b.c"));
	setting_deinit(&setting);
}

CASE(moved_elsewhere, "a function of that name that is called by others is another one")
{
	struct setting setting;
	setting_init(&setting);
	TELL_BOTH(&setting, 1, 10, MAIN, LOAD);
	TELL(&setting, 0, 3, 100, MAIN, HELPER);
	TELL(&setting, 1, 3, 100, MAIN, LOAD, HELPER);
	compare(&setting);
	check_outcome(&setting, "new:helper gone:helper");
	setting_deinit(&setting);
}

CASE(renamed, "a function that was renamed is the same one, and that is said")
{
	struct setting setting;
	setting_init(&setting);
	TELL_BOTH(&setting, 7, 33, MAIN, CONF);
	TELL(&setting, 0, 3, 500, MAIN, FIRST);
	TELL(&setting, 1, 4, 600, MAIN, FIRST);
	compare(&setting);
	check_outcome(&setting, "new:first_new gone:first_old read_conf→read_config");
	CHECK(says(&setting.diff.verdict, "renamed: read_conf → read_config"));
	setting_deinit(&setting);
}

CASE(still_there, "a function that the other build still has was not renamed, nor moved")
{
	static const char *const there[] = {"read_conf", "helper", "a.c", NULL};
	struct setting setting;
	setting_init(&setting);
	fake_mentions = there;
	TELL_BOTH(&setting, 7, 33, MAIN, CONF);
	TELL(&setting, 0, 3, 100, MAIN, HELPER);
	TELL(&setting, 1, 7, 100, MAIN, HELPER);
	compare(&setting);
	check_outcome(&setting, "new:helper new:read_config gone:helper gone:read_conf");
	fake_mentions = NULL;
	setting_deinit(&setting);
}

CASE(renamed_chain, "renamed callers are found once their callees are")
{
	struct setting setting;
	setting_init(&setting);
	TELL_BOTH(&setting, 7, 33, MAIN, CONF, FIRST);
	TELL(&setting, 0, 9, 10, MAIN, CONF);
	TELL(&setting, 1, 11, 10, MAIN, CONF);
	compare(&setting);
	check_outcome(&setting, "grown:read_config first_old→first_new read_conf→read_config");
	setting_deinit(&setting);
}

CASE(renamed_by_callee, "the only caller of a function keeps that role under another name")
{
	struct setting setting;
	setting_init(&setting);
	TELL(&setting, 0, 7, 33, MAIN, CONF, BUFFER);
	TELL(&setting, 1, 9, 33, MAIN, CONF, BUFFER);
	compare(&setting);
	check_outcome(&setting, "grown:buffer read_conf→read_config");
	setting_deinit(&setting);
}

CASE(doubt_equal, "of two that may be the renamed one neither is")
{
	struct setting setting;
	setting_init(&setting);
	TELL_BOTH(&setting, 7, 33, MAIN, FIRST);
	TELL_BOTH(&setting, 7, 33, MAIN, SECOND);
	compare(&setting);
	check_outcome(&setting, "new:first_new new:second_new gone:first_old gone:second_old");
	setting_deinit(&setting);
}

CASE(doubt_wrapper, "calling the same wrapper makes no renamed function")
{
	struct setting setting;
	setting_init(&setting);
	TELL(&setting, 0, 7, 33, MAIN, FIRST, XMALLOC);
	TELL(&setting, 1, 8, 40, MAIN, FIRST, XMALLOC);
	compare(&setting);
	check_outcome(&setting, "new:xmalloc gone:xmalloc");
	setting_deinit(&setting);
}

CASE(doubt_shared, "calling what others call too makes no renamed function")
{
	struct setting setting;
	setting_init(&setting);
	TELL_BOTH(&setting, 2, 24, MAIN, LOAD, BUFFER);
	TELL(&setting, 0, 7, 33, MAIN, FIRST, BUFFER);
	TELL(&setting, 1, 8, 40, MAIN, FIRST, BUFFER);
	compare(&setting);
	check_outcome(&setting, "new:buffer gone:buffer");
	setting_deinit(&setting);
}

CASE(one_place, "frames of one function have one place number, of old and new stacks")
{
	struct setting setting;
	setting_init(&setting);
	TELL(&setting, 0, 3, 100, MAIN, LOAD);
	TELL(&setting, 1, 3, 90, MAIN, PARSE);
	compare(&setting);
	const struct row *gone = setting.diff.lists[DIFF_GONE].data[0];
	const struct row *new = setting.diff.lists[DIFF_NEW].data[0];
	CHECK_U64(gone->frames[1]->place, new->frames[1]->place);
	CHECK(gone->frames[1]->line == 10 && new->frames[1]->line == 110);
	CHECK(gone->place == gone->frames[0] && new->place == new->frames[0]);
	CHECK(row_value(gone, METRIC_LIVE_BYTES) == -300);
	setting_deinit(&setting);
}

CASE(normalized, "scaled to equal totals, shares are compared")
{
	struct setting setting;
	setting_init(&setting);
	TELL(&setting, 0, 10, 100, MAIN, LOAD);
	TELL(&setting, 0, 10, 300, MAIN, PARSE);
	TELL(&setting, 1, 40, 100, MAIN, LOAD);
	TELL(&setting, 1, 20, 200, MAIN, PARSE);
	compare_with(
		&setting, (struct diff_options){.metric = METRIC_LIVE_BYTES, .normalize = true});
	check_outcome(&setting, "grown:load shrunk:parse");
	CHECK(setting.diff.sums[DIFF_GROWN] == 2000);
	struct diff_figure total;
	diff_of_totals(&setting.diff, METRIC_LIVE_BYTES, &total);
	CHECK(total.change == 0 && total.base == 8000);
	setting_deinit(&setting);
}

CASE(news, "a few bytes more or less are no news")
{
	static const struct {
		enum metric metric;
		uint64_t base;
		int64_t change;
		bool news;
	} cases[] = {
		{METRIC_LIVE_BYTES, 0, 0, false},
		{METRIC_LIVE_BYTES, 0, 48, true}, /* from nothing */
		{METRIC_LIVE_BYTES, 1000, 48, false},
		{METRIC_LIVE_BYTES, 1000, 100, true},
		{METRIC_LIVE_BYTES, 1 << 20, 1023, false},
		{METRIC_LIVE_BYTES, 1 << 20, 10486, true},
		{METRIC_LIVE_BYTES, 1 << 20, -20000, true},
		{METRIC_LIVE_BYTES, 1 << 30, 1 << 20, false},
		{METRIC_ALLOCATIONS, 500, 9, false},
		{METRIC_ALLOCATIONS, 500, 10, true},
		{METRIC_ALLOCATIONS, 5000, 10, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct diff_figure figure = {.base = cases[i].base, .change = cases[i].change};
		if (diff_is_news(cases[i].metric, &figure) != cases[i].news)
			tap_fail("row %zu is %snews", i, cases[i].news ? "no " : "");
		figure.within_error = true;
		CHECK(!diff_is_news(cases[i].metric, &figure));
	}
}

/* A sample's site: n samples of blocks that stand for 10,000 B each. */
static void tell_sampled(struct setting *setting, int side, uint64_t samples, int code)
{
	struct fixture *fixture = &setting->fixtures[side];
	struct recording *recording = build_recording(fixture->model);
	recording->sample_bytes = 10000;
	recording->mode = "sample";
	struct site site = {.kind = KIND_MALLOC, .allocations = 100 * samples};
	site.allocated_bytes = site.live_bytes = 10000 * samples;
	site.live_blocks = site.allocations;
	site.spread.live_bytes = 1e8 * (double)samples;
	site.spread.live_blocks = 1e4 * (double)samples;
	uint32_t stack = fixture_stack(fixture, 0, MODULE_APP, MAIN);
	fixture_site(fixture, fixture_stack(fixture, stack, MODULE_APP, (uint64_t)code), &site);
	build_totals(fixture->model)->spread.live_bytes += site.spread.live_bytes;
}

CASE(sampled, "estimates whose ranges overlap differ within the error, others have error bars")
{
	struct setting setting;
	setting_init(&setting);
	tell_sampled(&setting, 0, 100, LOAD);
	tell_sampled(&setting, 1, 115, LOAD);
	tell_sampled(&setting, 0, 100, PARSE);
	tell_sampled(&setting, 1, 400, PARSE);
	compare(&setting);
	check_outcome(&setting, "grown:parse.part.0 grown:load");
	struct diff_figure figure;
	diff_of_row(
		&setting.diff, setting.diff.lists[DIFF_GROWN].data[1], METRIC_LIVE_BYTES, &figure);
	CHECK(figure.estimated && figure.within_error && figure.low < 0 && figure.high > 150000);
	diff_of_row(
		&setting.diff, setting.diff.lists[DIFF_GROWN].data[0], METRIC_LIVE_BYTES, &figure);
	CHECK(figure.estimated && !figure.within_error);
	/* The variance of the difference is the sum: 100 + 400 samples, 1.96 × 224,000 B. */
	CHECK(figure.low > 2400000 && figure.low < 2620000);
	CHECK(figure.high > 3380000 && figure.high < 3560000);
	CHECK(says(&setting.diff.verdict, "1 grew, 1 within the error"));
	CHECK(!says(&setting.diff.top, "load"));
	setting_deinit(&setting);
}

CASE(sampled_total,
	"a total is within the error where the range of its change has 0, as gates have it")
{
	struct setting setting;
	setting_init(&setting);
	tell_sampled(&setting, 0, 100, LOAD);
	tell_sampled(&setting, 1, 140, LOAD);
	compare(&setting);
	struct diff_figure figure;
	diff_of_row(
		&setting.diff, setting.diff.lists[DIFF_GROWN].data[0], METRIC_LIVE_BYTES, &figure);
	/* The ranges of both overlap, and yet no true change of 0 is in that of the change. */
	CHECK(figure.within_error && figure.low > 0);
	diff_of_totals(&setting.diff, METRIC_LIVE_BYTES, &figure);
	CHECK(figure.estimated && !figure.within_error && figure.low > 0);
	diff_of_program(&setting.diff, METRIC_LIVE_BYTES, &figure);
	CHECK(figure.estimated && !figure.within_error && figure.low > 0);
	CHECK(says(&setting.diff.total, "grew by about "));
	CHECK(says(&setting.diff.verdict, "1 within the error"));
	setting_deinit(&setting);
}

static bool collect(void *ctx, const char *data, size_t len)
{
	text_add_n(ctx, data, len);
	return true;
}

/* A thread whose stack is as large at the end; the recording's sum is that of all of them. */
static void tell_stack(struct setting *setting, int side, const char *name, uint64_t bytes)
{
	struct model *model = setting->fixtures[side].model;
	size_t count;
	model_threads(model, &count);
	const struct thread row = {
		.tid = (uint32_t)(side ? 200 + count : 100 + count), .stack_bytes = bytes};
	CHECK_OK(build_thread(model, &row, name, strlen(name)));
	build_recording(model)->stack_bytes += bytes;
}

/* "worker 4096→8192, …", by change. */
static const char *stacks_of(const struct setting *setting)
{
	static char text[512];
	size_t len = 0;
	text[0] = '\0';
	for (size_t i = 0; i < setting->diff.stacks.rows.len; i++) {
		const struct thread_pair *row = &setting->diff.stacks.rows.data[i];
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s %llu→%llu",
			len ? ", " : "", (row->newer ? row->newer : row->older)->name,
			(unsigned long long)(row->older ? row->older->stack_bytes : 0),
			(unsigned long long)(row->newer ? row->newer->stack_bytes : 0));
	}
	return text;
}

static void check_stacks(const struct setting *setting, const char *expected)
{
	if (strcmp(stacks_of(setting), expected) != 0)
		tap_fail("they are '%s', not '%s'", stacks_of(setting), expected);
}

CASE(stacks_matched, "stacks are those of the first threads, and of others by name and order")
{
	struct setting setting;
	setting_init(&setting);
	tell_stack(&setting, 0, "app-1.0", 5000);
	tell_stack(&setting, 0, "worker", 100);
	tell_stack(&setting, 0, "ended", 0);
	tell_stack(&setting, 0, "worker", 200);
	tell_stack(&setting, 0, "old", 7);
	tell_stack(&setting, 1, "app-1.1", 5000);
	tell_stack(&setting, 1, "new", 1 << 20);
	tell_stack(&setting, 1, "worker", 102);
	tell_stack(&setting, 1, "worker", 1200);
	tell_stack(&setting, 1, "worker", 300);
	compare(&setting);
	check_stacks(&setting,
		"new 0→1048576, worker 200→1200, worker 0→300, old 7→0, worker 100→102, "
		"app-1.1 5000→5000");
	setting_deinit(&setting);
}

CASE(stacks_of_one, "stacks of one recording are those of the same threads, whatever their names")
{
	struct setting setting;
	setting_init(&setting);
	tell_stack(&setting, 0, "app", 10);
	tell_stack(&setting, 0, "worker", 0);
	tell_stack(&setting, 0, "worker", 20);
	tell_stack(&setting, 1, "app", 10);
	tell_stack(&setting, 1, "worker", 1000);
	tell_stack(&setting, 1, "busy", 50);
	compare_with(&setting,
		(struct diff_options){.metric = METRIC_LIVE_BYTES, .same_recording = true});
	check_stacks(&setting, "worker 0→1000, busy 20→50, app 10→10");
	setting_deinit(&setting);
}

CASE(stacks_news, "stacks are news if they grew by more than a mebibyte and than the heap")
{
	static const struct {
		uint64_t older, newer, heap;
		bool news;
	} cases[] = {
		{1 << 14, (1 << 14) + (1 << 20), 0, false},
		{1 << 14, (1 << 14) + (1 << 20) + 1, 0, true},
		{1 << 14, 4 << 20, (4 << 20) - (1 << 14), false},
		{1 << 14, 4 << 20, 3 << 20, true},
		{4 << 20, 1 << 14, 0, false},
		{0, 4 << 20, 0, false}, /* what was before is not known */
		{4 << 20, 0, 0, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct setting setting;
		setting_init(&setting);
		tell_stack(&setting, 0, "app", cases[i].older);
		tell_stack(&setting, 1, "app", cases[i].newer);
		if (cases[i].heap)
			TELL(&setting, 1, 1, cases[i].heap, MAIN);
		compare(&setting);
		if (says(&setting.diff.verdict, "Thread stacks grew") != cases[i].news)
			tap_fail("row %zu is %snews", i, cases[i].news ? "no " : "");
		setting_deinit(&setting);
	}
}

/* Writes one form, and deinitialises the setting; returns the change of live bytes. */
static int64_t check_forms(struct setting *setting, bool json, const char *name)
{
	for (int i = 0; i < 2; i++)
		build_finish(setting->fixtures[i].model);
	struct diff_view_options options = {
		.diff = {.metric = METRIC_LIVE_BYTES},
		.view = {.json = json},
		.labels = {"old.hpw", "new.hpw@3s"},
	};
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	struct sink sink = {collect, &text};
	struct diff_outcome outcome = {.total = {0}};
	CHECK_OK(diff_view_write(
		setting->fixtures[0].model, setting->fixtures[1].model, &options, &sink, &outcome));
	text_deinit(&outcome.top);
	check_golden(name, text.data);
	setting_deinit(setting);
	return outcome.total.change;
}

CASE(golden_stacks, "sizes of stacks as text and as JSON, and which of them are not known")
{
	for (int json = 0; json < 2; json++) {
		struct setting setting;
		setting_init(&setting);
		tell_stack(&setting, 0, "app", 12000);
		tell_stack(&setting, 0, "writer", 9000);
		tell_stack(&setting, 1, "app", 12000);
		tell_stack(&setting, 1, "worker", 8 << 20);
		tell_stack(&setting, 1, "", 5000);
		TELL_BOTH(&setting, 9, 70, MAIN, CONF);
		check_forms(&setting, json, json ? "diff/stacks.json" : "diff/stacks.txt");
	}
	struct setting setting;
	setting_init(&setting);
	tell_stack(&setting, 1, "app", 12000);
	TELL_BOTH(&setting, 9, 70, MAIN, CONF);
	check_forms(&setting, false, "diff/stacks_unknown.txt");
}

CASE(golden, "as text and as JSON")
{
	for (int json = 0; json < 2; json++) {
		struct setting setting;
		setting_init(&setting);
		TELL(&setting, 0, 3, 100, MAIN, LOAD, PARSE);
		TELL(&setting, 1, 8, 1000, MAIN, LOAD, PARSE);
		TELL_BOTH(&setting, 9, 70, MAIN, CONF);
		TELL(&setting, 0, 9, 70, MAIN, PARSE);
		TELL(&setting, 1, 2, 70, MAIN, PARSE);
		TELL(&setting, 0, 4, 50, MAIN, FIRST);
		TELL(&setting, 1, 6, 1000, MAIN, CACHE);
		TELL_BOTH(&setting, 1, 24, MAIN, HELPER);
		CHECK(check_forms(&setting, json, json ? "diff/four.json" : "diff/four.txt") ==
			8000 - 300 - 490 - 200 + 6000);
	}
}

TAP_MAIN
