/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of a search as rows: merged, classified, with who holds them. */
#include "analysis/leaks.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "lib/tap.h"
#include "unit/fake_symbols.h"
#include "unit/leaks_fixture.h"

static struct fixture fixture;
static struct resolver *resolver;
static struct leaks leaks;

static void build(struct leaks_options options)
{
	build_finish(fixture.model);
	CHECK_OK(resolver_create(fixture.model, true, &resolver));
	leaks_init(&leaks);
	CHECK_OK(leaks_build(fixture.model, resolver, &options, &leaks));
}

static void finish(void)
{
	leaks_deinit(&leaks);
	resolver_destroy(resolver);
	fixture_deinit(&fixture);
}

/* The n-th row of a class. */
static const struct leak_row *row_of(enum leak_class class, size_t n)
{
	for (size_t i = 0; i < leaks.rows.len; i++)
		if (leaks.rows.data[i].class == class && n-- == 0)
			return &leaks.rows.data[i];
	tap_fail("there is no such row");
	return NULL;
}

static void check_sum(enum leak_class class, uint64_t rows, uint64_t blocks, uint64_t bytes)
{
	CHECK_U64(leaks.sums[class].rows, rows);
	CHECK_U64(leaks.sums[class].blocks, blocks);
	CHECK_U64(leaks.sums[class].bytes, bytes);
}

CASE(merged, "records of one kind whose stacks read the same are one row, largest first")
{
	leaks_fixture_demo(&fixture);
	build((struct leaks_options){.separate_libraries = true});
	check_sum(LEAK_CLASS_DEFINITE, 1, 6, 600);
	check_sum(LEAK_CLASS_INDIRECT, 1, 2, 128);
	check_sum(LEAK_CLASS_POSSIBLE, 1, 1, 4000);
	check_sum(LEAK_CLASS_REACHABLE, 3, 76, 2 * (1 << 20) + 640 + 64 * 32 + 1);
	check_sum(LEAK_CLASS_SUPPRESSED, 0, 0, 0);
	const struct leak_row *row = row_of(LEAK_CLASS_DEFINITE, 0);
	CHECK_U64(leak_row_retained(row), 728);
	CHECK_U64(row->indirect_blocks, 2);
	CHECK_U64(row->example.size, 102);
	CHECK_U64(row->example_ns, 1200000000);
	CHECK_U64(row_of(LEAK_CLASS_REACHABLE, 0)->bytes, 2 << 20);
	CHECK_U64(row_of(LEAK_CLASS_REACHABLE, 1)->bytes, 64 * 32 + 1);
	CHECK_U64(row_of(LEAK_CLASS_REACHABLE, 2)->bytes, 640);
	finish();
}

CASE(by_address, "by address two calls on one line are two rows")
{
	leaks_fixture_demo(&fixture);
	build((struct leaks_options){.by_address = true});
	check_sum(LEAK_CLASS_DEFINITE, 2, 6, 600);
	finish();
}

CASE(frames, "stacks are cut to as many frames as Valgrind would count, and then agree")
{
	leaks_fixture_demo(&fixture);
	/* malloc and one more: load_config; and the three that inlining makes of one */
	build((struct leaks_options){.frames = 2});
	CHECK_U64(leaks.stacks.data[row_of(LEAK_CLASS_DEFINITE, 0)->stack].depth, 1);
	CHECK_U64(leaks.stacks.data[row_of(LEAK_CLASS_REACHABLE, 0)->stack].depth, 2);
	finish();
	leaks_fixture_demo(&fixture);
	build((struct leaks_options){.frames = 1});
	/* all from malloc are one, of definite ones and of reachable ones */
	check_sum(LEAK_CLASS_DEFINITE, 1, 6, 600);
	check_sum(LEAK_CLASS_REACHABLE, 3, 77, 2 * (1 << 20) + 640 + 64 * 32 + 1 + 4096);
	CHECK_U64(leaks.stacks.data[row_of(LEAK_CLASS_DEFINITE, 0)->stack].depth, 0);
	finish();
}

CASE(resolution, "of stacks that agree in the given frames one is shown whole")
{
	leaks_fixture_init(&fixture);
	leaks_record(&fixture, SITE_LOAD, LEAK_DEFINITE, LEAK_NO_GROUP, 1, 8);
	uint32_t other = fixture_stack(&fixture, 0, MODULE_CXX, 0x500);
	uint32_t load = fixture_stack(&fixture, other, MODULE_APP, 0x1100);
	fixture_site(&fixture, load, &(struct site){.kind = KIND_MALLOC});
	leaks_record(&fixture, LEAKS_SITES, LEAK_DEFINITE, LEAK_NO_GROUP, 1, 16);
	build((struct leaks_options){.resolution = 2});
	check_sum(LEAK_CLASS_DEFINITE, 1, 2, 24);
	CHECK_U64(leaks.stacks.data[row_of(LEAK_CLASS_DEFINITE, 0)->stack].depth, 2);
	leaks_deinit(&leaks);
	leaks_init(&leaks);
	CHECK_OK(leaks_build(
		fixture.model, resolver, &(struct leaks_options){.resolution = 4}, &leaks));
	check_sum(LEAK_CLASS_DEFINITE, 2, 2, 24);
	finish();
}

CASE(libraries, "what libraries keep is told apart, or is of the kind that it is")
{
	leaks_fixture_demo(&fixture);
	build((struct leaks_options){.separate_libraries = true});
	check_sum(LEAK_CLASS_LIBRARY, 1, 1, 4096);
	CHECK_STR(row_of(LEAK_CLASS_LIBRARY, 0)->library, "stdio-buffer");
	CHECK_U64(row_of(LEAK_CLASS_LIBRARY, 0)->kind, LEAK_REACHABLE);
	finish();
	leaks_fixture_demo(&fixture);
	_cleanup_(suppressions_cleanup) struct suppressions *set = NULL;
	CHECK_OK(suppressions_create(&set));
	CHECK_OK(suppressions_add_built_in(set));
	build((struct leaks_options){.suppressions = set});
	check_sum(LEAK_CLASS_LIBRARY, 0, 0, 0);
	check_sum(LEAK_CLASS_SUPPRESSED, 0, 0, 0);
	CHECK_U64(leaks.sums[LEAK_CLASS_REACHABLE].rows, 4);
	finish();
}

static struct suppressions *suppressions_of(const char *text)
{
	struct suppressions *set = NULL;
	CHECK_OK(suppressions_create(&set));
	CHECK_OK(suppressions_parse(set, "known.supp", text, strlen(text)));
	return set;
}

CASE(suppressed, "rows that an entry fits are suppressed, each kind for itself")
{
	leaks_fixture_demo(&fixture);
	_cleanup_(suppressions_cleanup) struct suppressions *set = suppressions_of(
		"{\nlost\nMemcheck:Leak\nmatch-leak-kinds: "
		"definite\nfun:malloc\nfun:load_config\n}\n"
		"{\nnodes\nMemcheck:Leak\nmatch-leak-kinds: reachable\nfun:calloc\nfun:node\n}\n"
		"{\nunused\nMemcheck:Leak\nfun:nothing\n}\n");
	build((struct leaks_options){.suppressions = set});
	check_sum(LEAK_CLASS_DEFINITE, 0, 0, 0);
	check_sum(LEAK_CLASS_INDIRECT, 1, 2, 128);
	check_sum(LEAK_CLASS_SUPPRESSED, 2, 16, 1240);
	CHECK_U64(suppressions_get(set, 0)->blocks, 6);
	CHECK_U64(suppressions_get(set, 0)->bytes, 600);
	CHECK_U64(suppressions_get(set, 1)->blocks, 10);
	CHECK_U64(suppressions_get(set, 2)->records, 0);
	CHECK_U64(leaks_count(&leaks, LEAK_KINDS_ALL), 5);
	CHECK_U64(leaks_count(&leaks, 1u << LEAK_DEFINITE), 0);
	finish();
}

CASE(suppressed_by_class, "a written entry fits its own row, inlined functions and all")
{
	leaks_fixture_demo(&fixture);
	build((struct leaks_options){.separate_libraries = true});
	_cleanup_(suppress_frame_vec_deinit) struct suppress_frame_vec frames;
	suppress_frame_vec_init(&frames);
	for (size_t i = 0; i < leaks.rows.len; i++) {
		const struct leak_row *row = &leaks.rows.data[i];
		_cleanup_(text_deinit) struct text text;
		text_init(&text);
		CHECK_OK(leaks_suppress_frames(&leaks, row, &frames));
		suppress_write(&text, (enum suppress_kind)row->kind, frames.data, frames.len);
		_cleanup_(suppressions_cleanup) struct suppressions *set =
			suppressions_of(text.data);
		uint32_t id;
		CHECK_OK(suppressions_match(
			set, frames.data, frames.len, (enum suppress_kind)row->kind, &id));
		CHECK_U64(id, 0);
	}
	finish();
}

/* The path of the largest hold of a row. */
static const struct leak_path *path_of(const struct leak_row *row, size_t n)
{
	CHECK(n < row->hold_count);
	return &leaks.paths.paths.data[leaks.holds.data[row->first_hold + n].path];
}

static char *holder_of(const struct leak_path *path)
{
	struct text text;
	text_init(&text);
	struct leak_holder *holder = &leaks.paths.holders.data[path->holder];
	CHECK_OK(leak_holder_find_place(resolver, holder));
	leak_holder_describe(&text, holder);
	return text_steal(&text);
}

static void check_holder(const struct leak_path *path, const char *expected)
{
	_cleanup_free_ char *is = holder_of(path);
	CHECK_STR(is, expected);
}

CASE(held, "words of one variable are one path, a list is a path that goes on")
{
	leaks_fixture_demo(&fixture);
	build((struct leaks_options){.separate_libraries = true});
	const struct leak_row *table = row_of(LEAK_CLASS_REACHABLE, 1);
	CHECK_U64(table->hold_count, 1);
	const struct leak_path *path = path_of(table, 0);
	CHECK_U64(path->words, 64);
	CHECK_U64(path->blocks, 64);
	CHECK_U64(path->size, UINT64_MAX); /* one is larger */
	CHECK_U64(path->offset, 0);
	CHECK(!leaks.paths.holders.data[path->holder].data.file); /* nobody asked */
	check_holder(path, "global g_table (table.c:7)");
	const struct leak_row *list = row_of(LEAK_CLASS_REACHABLE, 2);
	CHECK_U64(list->hold_count, 2);
	CHECK_U64(path_of(list, 0)->depth, 2);
	CHECK_U64(path_of(list, 0)->blocks, 9);
	CHECK_U64(path_of(list, 0)->size, 64);
	CHECK_U64(path_of(list, 1)->depth, 1);
	check_holder(path_of(list, 0), "global g_list (list.c:5)");
	check_holder(path_of(row_of(LEAK_CLASS_REACHABLE, 0), 0),
		"stack or thread-local storage of the main thread");
	check_holder(
		path_of(row_of(LEAK_CLASS_POSSIBLE, 0), 0), "register rbx of thread 4712 (worker)");
	finish();
}

CASE(held_nameless, "what has no name is told by its module or address, each word for itself")
{
	leaks_fixture_init(&fixture);
	const struct leak_root roots[] = {
		{.place = LEAK_PLACE_DATA, .start = 0x470000, .size = 64, .module = {MODULE_APP}},
		{.place = LEAK_PLACE_DATA, .start = 0x500000, .size = 64},
		{.place = LEAK_PLACE_MAPPING, .start = 0x600000, .size = 64},
		{.place = LEAK_PLACE_MAPPING, .start = 0x700000, .size = 64},
		{.place = LEAK_PLACE_STACK, .start = 0x800000, .size = 64, .tid = 99},
	};
	static const char *const names[] = {"", "", "", "/dev/shm/x", ""};
	for (uint32_t i = 0; i < ARRAY_SIZE(roots); i++)
		leaks_root(&fixture, &roots[i], names[i]);
	static const struct {
		uint32_t root;
		uint64_t word;
		const char *is;
		uint64_t offset;
	} words[] = {
		{0, 0x470008, "data of app at 0x70008", 0},
		{0, 0x470010, "data of app at 0x70010", 0},
		{1, 0x500008, "data at 0x500008", 0},
		{2, 0x600010, "memory mapped at 0x600000", 0x10},
		{3, 0x700018, "mapping of /dev/shm/x", 0x18},
		{4, 0x800020, "stack or thread-local storage of thread 99", 0x20},
	};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		uint32_t group = leaks_group(
			&fixture, LEAK_NO_GROUP, words[i].root, words[i].word, SITE_NODE);
		leaks_record(&fixture, SITE_NODE, LEAK_REACHABLE, group, 10 - i, 64);
	}
	build((struct leaks_options){.frames = 0});
	const struct leak_row *row = row_of(LEAK_CLASS_REACHABLE, 0);
	CHECK_U64(row->hold_count, ARRAY_SIZE(words));
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		check_holder(path_of(row, i), words[i].is);
		CHECK_U64(path_of(row, i)->offset, words[i].offset);
	}
	finish();
}

CASE(held_far, "of a long path the first and the last blocks are shown")
{
	leaks_fixture_init(&fixture);
	struct leak_root data = {
		.place = LEAK_PLACE_DATA, .start = 0x460000, .size = 64, .module = {MODULE_APP}};
	uint32_t root = leaks_root(&fixture, &data, "");
	uint32_t group = LEAK_NO_GROUP;
	for (unsigned i = 0; i < 1000; i++)
		group = leaks_group(
			&fixture, group, root, 0x460000, i % 2 ? SITE_NODE : SITE_BUCKET);
	leaks_record(&fixture, SITE_NODE, LEAK_REACHABLE, group, 1, 64);
	build((struct leaks_options){.frames = 0});
	const struct leak_row *row = row_of(LEAK_CLASS_REACHABLE, 0);
	uint32_t steps[LEAK_STEPS_MAX], skipped;
	CHECK_U64(leak_path_steps(
			  &leaks.paths, leaks.holds.data[row->first_hold].path, steps, &skipped),
		LEAK_STEPS_MAX);
	CHECK_U64(skipped, 1000 - LEAK_STEPS_MAX);
	CHECK_U64(leaks.paths.paths.data[steps[0]].depth, 1);
	CHECK_U64(leaks.paths.paths.data[steps[1]].depth, 1000 - LEAK_STEPS_MAX + 2);
	CHECK_U64(leaks.paths.paths.data[steps[LEAK_STEPS_MAX - 1]].depth, 1000);
	finish();
}

static void check_words(void (*say)(const struct leaks *leaks, struct text *ret), const char *part)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	say(&leaks, &text);
	CHECK_CONTAINS(text.data ? text.data : "", part);
}

CASE(verdict, "the verdict says what is lost before all else")
{
	leaks_fixture_demo(&fixture);
	build((struct leaks_options){.separate_libraries = true});
	check_words(leaks_verdict, "6 blocks (600 B) are definitely lost, from 1 allocation site; "
				   "2 blocks (128 B) are indirectly lost (referenced only by "
				   "them).\n1 block (3.91 KiB) is possibly lost");
	check_words(leaks_verdict, "for themselves: stdio-buffer.\n");
	check_words(leaks_circumstances, "paused for 15.0 ms");
	finish();
	leaks_fixture_init(&fixture);
	build((struct leaks_options){.separate_libraries = true});
	check_words(leaks_verdict, "All blocks were freed: no leaks are possible.\n");
	finish();
	leaks_fixture_init(&fixture);
	leaks_record(&fixture, SITE_STDIO, LEAK_REACHABLE, LEAK_NO_GROUP, 1, 4096);
	build((struct leaks_options){.separate_libraries = true});
	check_words(leaks_verdict, "No block is definitely lost.\n1 block (4.00 KiB) is kept by");
	finish();
}

CASE(limits_said, "what limits a search is said")
{
	leaks_fixture_init(&fixture);
	struct leak_search *search = build_leak_search(fixture.model);
	search->way = LEAK_WAY_UNSTOPPED;
	search->threads = 2;
	search->unread_bytes = 4096;
	search->partial = true;
	search->problem = "no time.";
	build_recording(fixture.model)->sample_bytes = 524288;
	build((struct leaks_options){.frames = 0});
	check_words(leaks_circumstances, "Other threads could not be stopped");
	check_words(leaks_circumstances, "4.00 KiB could not be read");
	check_words(leaks_circumstances, "leaks may be missed, but none is a false positive");
	check_words(leaks_circumstances, "The recording is sampled");
	check_words(leaks_circumstances, "The search: no time.\n");
	finish();
	leaks_fixture_init(&fixture);
	search = build_leak_search(fixture.model);
	search->way = LEAK_WAY_HELD;
	search->threads = 5;
	search->threads_missed = 2;
	build((struct leaks_options){.frames = 0});
	check_words(leaks_circumstances, "2 of 5 threads could not be stopped");
	finish();
}

/* A model with blocks that were never freed, and no search. */
static void unsearched(void)
{
	leaks_fixture_init(&fixture);
	fixture_deinit(&fixture);
	fixture_init(&fixture);
	uint32_t stack = fixture_stack(&fixture, 0, MODULE_APP, 0x1100);
	fixture_site(&fixture, stack,
		&(struct site){.kind = KIND_MALLOC,
			.allocations = 4,
			.allocated_bytes = 400,
			.live_blocks = 3,
			.live_bytes = 300});
}

CASE(never_freed, "without a search only never freed is known, and how to know more is said")
{
	unsearched();
	build((struct leaks_options){.separate_libraries = true});
	CHECK(!leaks.searched);
	check_sum(LEAK_CLASS_NEVER_FREED, 1, 3, 300);
	CHECK_U64(leaks_count(&leaks, LEAK_KINDS_ALL), 0);
	check_words(leaks_verdict, "3 blocks (300 B) were never freed, from 1 allocation site.\n");
	check_words(leaks_verdict, "heapwise run --leak-check=full");
	finish();
	unsearched();
	build_target(fixture.model)->exit_kind = EXIT_KIND_SIGNAL;
	build((struct leaks_options){.separate_libraries = true});
	check_words(leaks_verdict, "the program was killed");
	finish();
	unsearched();
	build_target(fixture.model)->exit_kind = EXIT_KIND_EXEC;
	build((struct leaks_options){.separate_libraries = true});
	check_words(leaks_verdict, "executed another program (exec)");
	finish();
	unsearched();
	build_leak_search(fixture.model)->problem = "it is traced by gdb";
	build((struct leaks_options){.separate_libraries = true});
	CHECK(!leaks.searched);
	check_sum(LEAK_CLASS_NEVER_FREED, 1, 3, 300);
	check_words(leaks_verdict, "no leak search was made (it is traced by gdb)");
	finish();
}

CASE(lost, "where events were lost nobody says that every block was freed")
{
	leaks_fixture_init(&fixture);
	fixture_deinit(&fixture);
	fixture_init(&fixture);
	uint32_t stack = fixture_stack(&fixture, 0, MODULE_APP, 0x1100);
	fixture_site(&fixture, stack,
		&(struct site){.kind = KIND_MALLOC, .allocations = 4, .allocated_bytes = 400});
	build_recording(fixture.model)->lost_events = 1;
	build((struct leaks_options){.separate_libraries = true});
	check_words(leaks_verdict, "No block that was seen was live at the end.");
	finish();
}

TAP_MAIN
