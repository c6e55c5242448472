/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resolving, merging what reads the same, and merging by the innermost part. */
#include "analysis/folding.h"
#include "analysis/merge.h"
#include "base/cleanup.h"
#include "lib/tap.h"
#include "unit/fake_symbols.h"
#include "unit/model_fixture.h"

struct setting {
	struct fixture fixture;
	struct resolver *resolver;
	struct rows rows;
};

static void setting_init(struct setting *setting, bool all_frames)
{
	CHECK_OK(resolver_create(setting->fixture.model, all_frames, &setting->resolver));
	rows_init(&setting->rows);
	CHECK_OK(rows_build(setting->fixture.model, setting->resolver, &setting->rows));
}

static void setting_deinit(struct setting *setting)
{
	rows_deinit(&setting->rows);
	resolver_destroy(setting->resolver);
	fixture_deinit(&setting->fixture);
}

/* The innermost frames' functions, joined by '<'. */
static const char *stack_text(const struct row *row)
{
	static char text[512];
	size_t len = 0;
	text[0] = '\0';
	for (size_t i = 0; i < row->depth && len < sizeof(text); i++) {
		const char *function = row->frames[i]->function;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i ? "<" : "",
			row->frames[i]->mark != MARK_NONE ? "(mark)"
			: function                        ? function
							  : "?");
	}
	return text;
}

/* The only row whose stack reads so. */
static const struct row *find(const struct rows *rows, const char *stack)
{
	const struct row *found = NULL;
	for (size_t i = 0; i < rows->rows.len; i++) {
		if (strcmp(stack_text(&rows->rows.data[i]), stack) != 0)
			continue;
		CHECK(!found);
		found = &rows->rows.data[i];
	}
	if (!found)
		tap_fail("no row reads %s", stack);
	return found;
}

CASE(rows_merge_same_lines, "two call instructions of one line are one row")
{
	struct setting setting;
	fixture_demo(&setting.fixture);
	setting_init(&setting, false);
	const struct row *row = find(&setting.rows, "xmalloc<load_config<main");
	CHECK_U64(row->stacks, 2);
	CHECK_U64(row->sums->allocations, 1304);
	CHECK_U64(row->sums->live_bytes, 318000);
	CHECK_U64(row->sums->min_size, 200);
	CHECK_U64(row->sums->max_size, 280);
	CHECK_U64(row->sums->failed, 2);
	CHECK(!row->partial);
	setting_deinit(&setting);
}

CASE(rows_many, "more stacks than are taken at a time, of any depth, are found again each")
{
	enum { STACKS = 5 * RESOLVER_BATCH + 3 };
	static const struct fake_symbol none[] = {{0}};
	struct setting setting;
	fixture_init(&setting.fixture);
	fake_symbols = none;
	for (uint32_t i = 0; i < 2 * STACKS; i++) {
		uint32_t stack = 0;
		for (uint32_t depth = 0; depth < 1 + i % STACKS % 90; depth++)
			stack = fixture_stack(&setting.fixture, stack, MODULE_GONE, 0x10 + depth);
		/* All of one depth differ in their innermost frame. */
		stack = fixture_stack(
			&setting.fixture, stack, MODULE_GONE, 0x1000 + i % STACKS / 90 * 16);
		fixture_site(&setting.fixture, stack,
			&(struct site){.kind = KIND_MALLOC, .allocations = 1 + i % STACKS});
	}
	setting_init(&setting, false);
	CHECK_U64(setting.rows.rows.len, STACKS);
	for (uint32_t i = 0; i < STACKS; i++) {
		const struct row *row = &setting.rows.rows.data[i];
		CHECK_U64(row->stacks, 2);
		CHECK_U64(row->sums->allocations, 2 * (1 + i));
		CHECK_U64(row->depth, 2 + i % 90);
		CHECK_U64(setting.rows.row_of_site[STACKS + i], i);
	}
	setting_deinit(&setting);
}

CASE(rows_marked, "what a mark says of a stack is found, however its frames were")
{
	struct setting setting;
	fixture_demo(&setting.fixture);
	setting_init(&setting, false);
	for (size_t i = 0; i < setting.rows.rows.len; i++) {
		const struct row *row = &setting.rows.rows.data[i];
		bool any = false;
		for (size_t k = 0; k < row->depth; k++)
			any |= row->frames[k]->mark != MARK_NONE;
		CHECK(row->unmarked == !any);
	}
	setting_deinit(&setting);
}

CASE(folding_same, "where no two stacks fold alike, the rows are what they were; else they join")
{
	static const struct fake_symbol symbols[] = {
		{"/opt/demo/app", 0x10, {"work", "work", "/a.c", 3, false}},
		{"/opt/demo/app", 0x20, {"other", "other", "/a.c", 9, false}},
		{"/opt/demo/app", 0x30,
			{"std::sort", "std::sort", "/usr/include/c++/12/algo", 1, false}},
		{"/opt/demo/app", 0x40,
			{"std::find", "std::find", "/usr/include/c++/12/algo", 2, false}},
		{0}};
	struct setting setting;
	struct filtered folded;
	bool same;
	fixture_init(&setting.fixture);
	fake_symbols = symbols;
	const struct site site = {.kind = KIND_MALLOC, .allocations = 1};
	uint32_t work = fixture_stack(&setting.fixture, 0, MODULE_APP, 0x10);
	uint32_t other = fixture_stack(&setting.fixture, 0, MODULE_APP, 0x20);
	fixture_site(
		&setting.fixture, fixture_stack(&setting.fixture, work, MODULE_APP, 0x30), &site);
	fixture_site(
		&setting.fixture, fixture_stack(&setting.fixture, other, MODULE_APP, 0x30), &site);
	setting_init(&setting, false);
	filtered_init(&folded);
	CHECK_OK(folding_rows(&setting.rows, FOLDING_REMARKS, &folded, &same));
	CHECK(same);
	CHECK_U64(folded.rows.rows.len, 0);
	filtered_deinit(&folded);
	filtered_init(&folded);
	CHECK_OK(folding_rows(&setting.rows, FOLDING_TAKES_OUT, &folded, &same));
	CHECK(!same);
	CHECK_U64(folded.rows.rows.len, 2);
	CHECK_U64(folded.rows.rows.data[0].depth, 1);
	filtered_deinit(&folded);
	rows_deinit(&setting.rows);
	resolver_destroy(setting.resolver);

	fixture_site(
		&setting.fixture, fixture_stack(&setting.fixture, work, MODULE_APP, 0x40), &site);
	setting_init(&setting, false);
	filtered_init(&folded);
	CHECK_OK(folding_rows(&setting.rows, FOLDING_REMARKS, &folded, &same));
	CHECK(!same);
	CHECK_U64(folded.rows.rows.len, 2);
	CHECK_U64(folded.rows.rows.data[0].sums->allocations, 2);
	CHECK(folded.rows.rows.data[0].varies);
	CHECK_U64(folded.row_of[2], 0);
	filtered_deinit(&folded);
	setting_deinit(&setting);
}

CASE(rows_add_up, "rows add up to the totals, by every metric")
{
	struct setting setting;
	fixture_demo(&setting.fixture);
	setting_init(&setting, false);
	for (int metric = 0; metric < METRICS; metric++) {
		uint64_t sum = 0;
		for (size_t i = 0; i < setting.rows.rows.len; i++)
			sum += metric_of_site((enum metric)metric, setting.rows.rows.data[i].sums);
		CHECK_U64(sum,
			metric_of_totals((enum metric)metric, model_totals(setting.fixture.model)));
	}
	setting_deinit(&setting);
}

CASE(rows_kinds, "the same stack with another kind is another row")
{
	struct setting setting;
	fixture_demo(&setting.fixture);
	uint32_t stack = fixture_stack(&setting.fixture, 0, MODULE_GONE, 0x10);
	fixture_site(
		&setting.fixture, stack, &(struct site){.kind = KIND_MALLOC, .allocations = 1});
	fixture_site(
		&setting.fixture, stack, &(struct site){.kind = KIND_CALLOC, .allocations = 1});
	setting_init(&setting, false);
	size_t found = 0;
	for (size_t i = 0; i < setting.rows.rows.len; i++)
		found += setting.rows.rows.data[i].sums->stack.value == stack;
	CHECK_U64(found, 2);
	setting_deinit(&setting);
}

CASE(rows_hide_allocators, "a program's own operator new is hidden, unless all frames are shown")
{
	static const char inner[] = "std::string::reserve<std::__new_allocator<int>::allocate<"
				    "std::vector<int>::push_back<Queue::add<main";
	struct setting setting;
	fixture_demo(&setting.fixture);
	setting_init(&setting, false);
	find(&setting.rows, inner);
	rows_deinit(&setting.rows);
	resolver_destroy(setting.resolver);

	setting_init(&setting, true);
	char all[256];
	snprintf(all, sizeof(all), "malloc<operator new<%s", inner);
	const struct row *row = find(&setting.rows, all);
	CHECK(!row->frames[0]->module && row->frames[0]->address == 0);
	setting_deinit(&setting);
}

CASE(rows_only_allocator, "a stack of nothing but allocators is not hidden whole")
{
	static const struct fake_symbol symbols[] = {
		{"/opt/demo/app", 0x10, {"malloc", "malloc", "/m.c", 3, false}}, {0}};
	struct setting setting;
	fixture_init(&setting.fixture);
	fake_symbols = symbols;
	fake_files = NULL;
	fixture_site(&setting.fixture, fixture_stack(&setting.fixture, 0, MODULE_APP, 0x10),
		&(struct site){.kind = KIND_CALLOC, .allocations = 1});
	setting_init(&setting, false);
	find(&setting.rows, "malloc");
	setting_deinit(&setting);
}

CASE(rows_marks,
	"cut stacks say why, guessed ones once, and a signal stands before what it interrupted")
{
	struct setting setting;
	fixture_demo(&setting.fixture);
	uint32_t mark = fixture_mark(&setting.fixture, 0, MARK_GUESSED);
	fixture_site(&setting.fixture, fixture_stack(&setting.fixture, mark, MODULE_GONE, 0x99),
		&(struct site){.kind = KIND_PVALLOC, .allocations = 1});
	uint32_t outer = fixture_stack(&setting.fixture, mark, MODULE_GONE, 0x9a);
	uint32_t again = fixture_mark(&setting.fixture, outer, MARK_GUESSED);
	fixture_site(&setting.fixture, fixture_stack(&setting.fixture, again, MODULE_GONE, 0x9b),
		&(struct site){.kind = KIND_PVALLOC, .allocations = 1});
	setting_init(&setting, false);
	find(&setting.rows, "on_signal<(mark)<table_grow<main");
	/* Guessed step by step, said once. */
	find(&setting.rows, "?<(mark)<?");
	for (size_t i = 0; i < setting.rows.rows.len; i++) {
		const struct row *row = &setting.rows.rows.data[i];
		CHECK(row->guessed == (row->sums->kind == KIND_PVALLOC));
		CHECK((row->cut == MARK_DEPTH_LIMIT) == (row->sums->kind == KIND_CALLOC));
	}
	setting_deinit(&setting);
}

CASE(rows_fits_on_stack, "only one small size, freed where it was allocated, fits on the stack")
{
	static const struct {
		struct site counts;
		bool fits;
	} table[] = {
		{{.allocations = 5, .same_frame = 5, .min_size = 64, .max_size = 64}, true},
		{{.allocations = 5, .same_frame = 4, .min_size = 64, .max_size = 64}, false},
		{{.allocations = 5, .same_frame = 5, .min_size = 63, .max_size = 64}, false},
		{{.allocations = 5, .same_frame = 5, .min_size = 1024, .max_size = 1024}, true},
		{{.allocations = 5, .same_frame = 5, .min_size = 1025, .max_size = 1025}, false},
		{{.failed = 5}, false},
	};
	struct setting setting;
	fixture_demo(&setting.fixture);
	uint32_t first = setting.fixture.stacks;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		fixture_site(&setting.fixture,
			fixture_stack(&setting.fixture, 0, MODULE_GONE, 0x100 + i),
			&table[i].counts);
	setting_init(&setting, false);
	size_t seen = 0;
	for (size_t i = 0; i < setting.rows.rows.len; i++) {
		const struct row *row = &setting.rows.rows.data[i];
		if (row->sums->stack.value < first)
			continue;
		CHECK(row->fits_on_stack == table[row->sums->stack.value - first].fits);
		seen++;
	}
	CHECK_U64(seen, sizeof(table) / sizeof(table[0]));
	setting_deinit(&setting);
}

CASE(rows_share_figures, "a row of one site has the model's figures until it is added to")
{
	struct setting setting;
	size_t count;
	fixture_demo(&setting.fixture);
	setting_init(&setting, false);
	const struct site *sites = model_sites(setting.fixture.model, &count);
	struct row *row = NULL;
	for (size_t i = 0; i < setting.rows.rows.len; i++)
		if (setting.rows.rows.data[i].stacks == 1 && !row)
			row = &setting.rows.rows.data[i];
	CHECK(row && row->sums >= sites && row->sums < sites + count);
	const struct site before = *row->sums;
	struct row copy = row_copy(row), again;
	CHECK(row_add(&copy, row, &setting.rows.arena));
	again = row_copy(&copy);
	CHECK(row_add(&again, row, &setting.rows.arena));
	CHECK(!memcmp(row->sums, &before, sizeof(before)));
	CHECK_U64(copy.sums->allocations, 2 * before.allocations);
	CHECK_U64(again.sums->allocations, 3 * before.allocations);
	CHECK(copy.stacks == 2 && again.stacks == 3 && again.base == &row_no_site);
	setting_deinit(&setting);
}

CASE(rows_select_order, "rows come largest first, equals by stack")
{
	struct setting setting;
	fixture_demo(&setting.fixture);
	setting_init(&setting, false);
	_cleanup_(row_list_deinit) struct row_list list;
	row_list_init(&list);
	CHECK_OK(rows_select(&setting.rows, METRIC_LIVE_BLOCKS, METRIC_LIVE_BYTES, &list));
	CHECK_U64(list.len, 5);
	for (size_t i = 1; i < list.len; i++) {
		const struct site *a = list.data[i - 1]->sums, *b = list.data[i]->sums;
		CHECK(a->live_bytes > b->live_bytes ||
			(a->live_bytes == b->live_bytes && a->stack.value < b->stack.value));
	}
	setting_deinit(&setting);
}

CASE(merge_churn, "a helper that frees what it allocates is one row, whoever calls it")
{
	struct setting setting;
	fixture_demo(&setting.fixture);
	setting_init(&setting, false);
	struct rows merged;
	rows_init(&merged);
	CHECK_OK(rows_merge(&setting.rows, METRIC_TEMPORARY, &merged));
	CHECK_U64(merged.rows.len, 2);
	const struct row *row = find(&merged, "temp_name");
	CHECK_U64(row->stacks, 30);
	CHECK_U64(row->sums->temporary, 30435);
	CHECK(row->partial && row->fits_on_stack);
	rows_deinit(&merged);
	setting_deinit(&setting);
}

/* One wrapper, called along ways that weigh 40, 30 and 30 times 1. */
static void add_wrapper(struct fixture *fixture)
{
	uint32_t outer = fixture_stack(fixture, 0, MODULE_GONE, 0x10);
	for (uint32_t i = 0; i < 32; i++) {
		uint32_t caller = fixture_stack(fixture, outer, MODULE_GONE, 0x1000 + i);
		fixture_site(fixture, fixture_stack(fixture, caller, MODULE_GONE, 0x20),
			&(struct site){.kind = KIND_MALLOC,
				.allocations = i == 0   ? 40
					       : i == 1 ? 30
							: 1,
				.min_size = i,
				.max_size = i});
	}
}

CASE(merge_wrapper, "heavy callers of a wrapper are rows of their own, light ones merge")
{
	struct setting setting;
	fixture_init(&setting.fixture);
	static const struct fake_symbol no_symbols[] = {{0}};
	fake_symbols = no_symbols;
	fake_files = NULL;
	add_wrapper(&setting.fixture);
	setting_init(&setting, false);
	CHECK_U64(setting.rows.rows.len, 32);
	struct rows merged;
	rows_init(&merged);
	CHECK_OK(rows_merge(&setting.rows, METRIC_ALLOCATIONS, &merged));
	CHECK_U64(merged.rows.len, 3);
	_cleanup_(row_list_deinit) struct row_list list;
	row_list_init(&list);
	CHECK_OK(rows_select(&merged, METRICS, METRIC_ALLOCATIONS, &list));
	CHECK_U64(list.data[0]->sums->allocations, 40);
	CHECK_U64(list.data[0]->depth, 3);
	CHECK(!list.data[0]->partial);
	CHECK_U64(list.data[2]->sums->allocations, 30);
	CHECK_U64(list.data[1]->sums->allocations + list.data[2]->sums->allocations, 60);
	const struct row *light = list.data[1]->stacks == 30 ? list.data[1] : list.data[2];
	CHECK_U64(light->stacks, 30);
	CHECK_U64(light->depth, 1);
	CHECK(light->partial);
	CHECK_U64(light->sums->min_size, 2);
	CHECK_U64(light->sums->max_size, 31);
	rows_deinit(&merged);
	setting_deinit(&setting);
}

CASE(rows_place, "a wrapper passes the blame on, unless it frees the blocks itself")
{
	static const struct fake_symbol symbols[] = {
		{"/opt/demo/app", 0x10, {"caller", "caller", "/c.c", 3, false}},
		{"/opt/demo/app", 0x20, {"ns::Pool<int>::Allocate", "_p", "/p.cc", 4, false}},
		{"/opt/demo/app", 0x30, {"allocator_setup", "s", "/s.c", 5, false}},
		{0},
	};
	static const struct {
		uint64_t elf;
		uint64_t same_frame;
		const char *place;
	} table[] = {
		{0x20, 0, "caller"},
		{0x20, 1, "ns::Pool<int>::Allocate"},
		{0x30, 0, "allocator_setup"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct setting setting;
		fixture_init(&setting.fixture);
		fake_symbols = symbols;
		fake_files = NULL;
		uint32_t outer = fixture_stack(&setting.fixture, 0, MODULE_APP, 0x10);
		fixture_site(&setting.fixture,
			fixture_stack(&setting.fixture, outer, MODULE_APP, table[i].elf),
			&(struct site){.allocations = 1, .same_frame = table[i].same_frame});
		setting_init(&setting, false);
		CHECK_STR(setting.rows.rows.data[0].place->function, table[i].place);
		setting_deinit(&setting);
	}
}

CASE(resolve_notes, "a file that is gone or has changed is said once")
{
	struct setting setting;
	fixture_demo(&setting.fixture);
	static const struct fake_file files[] = {
		{"/opt/demo/libgone.so", SYMBOLS_MISSING}, {"/opt/demo/app", SYMBOLS_CHANGED}, {0}};
	fake_files = files;
	setting_init(&setting, false);
	_cleanup_(text_deinit) struct text notes;
	text_init(&notes);
	resolver_notes(setting.resolver, &notes);
	CHECK_STR(notes.data,
		"/opt/demo/app has changed since it was recorded: its functions have no names.\n"
		"/opt/demo/libgone.so cannot be read: its functions have no names.\n");
	setting_deinit(&setting);
}

TAP_MAIN
