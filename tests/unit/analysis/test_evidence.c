/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * No gate passes where the figure it rests on isn't there: each rule of a budget, against each way
 * in which a figure can be unknown, partial or estimated. What is new in recordings gets a row.
 */
#include "analysis/budget.h"
#include "analysis/profile.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "lib/tap.h"
#include "model/errors.h"
#include "unit/leaks_fixture.h"

#define PLENTY (UINT64_C(1) << 40)

#define BIT(rule) (1u << BUDGET_##rule)
#define LIVE (BIT(NEVER_FREED) | BIT(PER_STACK) | BIT(GROWTH))
#define COUNTS (BIT(ALLOCATIONS) | BIT(TEMPORARY))
#define LEAKS (BIT(LEAK) | BIT(LEAK_PER_STACK))
#define FIGURES (LIVE | COUNTS | BIT(PEAK))
#define ALL (FIGURES | LEAKS)

static void be_whole(struct model *model)
{
	(void)model;
}

static void lack_attachment(struct model *model)
{
	build_recording(model)->not_attached = true;
}

static void have_own_malloc(struct model *model)
{
	build_recording(model)->own_malloc = true;
}

static void have_malloc_in_front(struct model *model)
{
	build_recording(model)->own_malloc = build_recording(model)->malloc_in_front = true;
}

static void have_all_collected(struct model *model)
{
	build_recording(model)->types = build_recording(model)->all_collected = true;
}

static void have_no_heap(struct model *model)
{
	build_recording(model)->types = build_recording(model)->no_heap = true;
}

static void have_unread_heap(struct model *model)
{
	build_recording(model)->types = true;
	build_recording(model)->complete = false;
}

static void be_cut(struct model *model)
{
	build_recording(model)->complete = false;
}

static void run_still(struct model *model)
{
	build_recording(model)->complete = false;
	build_target(model)->exit_kind = EXIT_KIND_RUNNING;
}

static void be_killed(struct model *model)
{
	build_target(model)->exit_kind = EXIT_KIND_SIGNAL;
	build_target(model)->exit_value = 9;
}

static void lose_events(struct model *model)
{
	build_recording(model)->lost_events = 1;
}

static void load_apart(struct model *model)
{
	build_recording(model)->loaded_apart = true;
}

static void be_repaired(struct model *model)
{
	build_recording(model)->repairs = 1;
}

static void fill_stacks(struct model *model)
{
	build_recording(model)->stacks_full = 1;
}

static void be_merged(struct model *model)
{
	build_recording(model)->merged = 2;
}

static void go_on_unrecorded(struct model *model)
{
	build_target(model)->pid = 77;
	struct unrecorded_program one = {
		.path = "/bin/other", .pid = 77, .reason = UNRECORDED_STATIC};
	CHECK_OK(build_unrecorded(model, &one, one.path, strlen(one.path)));
}

static void know_nothing(struct model *model)
{
	build_recording(model)->unknown = UINT32_MAX;
}

static void be_sampled(struct model *model)
{
	build_recording(model)->sample_bytes = PLENTY;
	build_recording(model)->unknown |= UNKNOWN_TEMPORARY;
	static const struct spread wide = {1e18, 1e18, 1e18, 1e18, 1e18, 1e18, 1e18, 0, 0, 0, 0};
	size_t count;
	model_sites(model, &count);
	for (uint32_t i = 0; i < count; i++)
		build_site_at(model, (struct site_id){i})->spread = wide;
	/* A library's own are taken off. */
	static const struct spread wider = {1e20, 1e20, 1e20, 1e20, 1e20, 1e20, 1e20, 0, 0, 0, 0};
	build_totals(model)->spread = wider;
}

static struct leak_search *search_of(struct model *model)
{
	return (struct leak_search *)(uintptr_t)model_leak_search(model);
}

static void lack_search(struct model *model)
{
	search_of(model)->way = LEAK_WAY_NONE;
}

static void damage_search(struct model *model)
{
	search_of(model)->damaged = true;
}

static void search_early(struct model *model)
{
	search_of(model)->moment = LEAK_ON_DEMAND;
}

static void search_when_asked(struct model *model)
{
	search_of(model)->moment = LEAK_BY_PROGRAM;
}

static void search_in_part(struct model *model)
{
	search_of(model)->partial = true;
}

static void miss_threads(struct model *model)
{
	search_of(model)->threads_missed = 1;
}

static void leave_memory_unread(struct model *model)
{
	search_of(model)->unread_bytes = 1;
}

static void run_meanwhile(struct model *model)
{
	search_of(model)->way = LEAK_WAY_UNSTOPPED;
	search_of(model)->threads = 2;
}

static void be_selected(struct model *model)
{
	search_of(model)->selected = true;
}

/* Rules of which it is undecided whether they are kept when there is plenty of room, and whether
 * they are exceeded when nothing is allowed. */
static const struct way {
	const char *name;
	void (*make)(struct model *model);
	unsigned maybe_more, maybe_less;
} ways[] = {
	{"whole", be_whole, 0, 0},
	{"not attached", lack_attachment, ALL, BIT(GROWTH)},
	{"its own malloc", have_own_malloc, ALL, BIT(GROWTH)},
	{"a malloc in front", have_malloc_in_front, ALL, BIT(GROWTH)},
	{"no heap", have_no_heap, ALL, LEAKS | BIT(GROWTH)},
	{"all a collector's", have_all_collected, LEAKS, LEAKS},
	{"a heap that is unread", have_unread_heap, ALL, BIT(GROWTH)},
	{"cut off", be_cut, FIGURES, LIVE},
	{"running", run_still, FIGURES, LIVE},
	{"killed", be_killed, LIVE, LIVE},
	{"went on unrecorded", go_on_unrecorded, ALL, BIT(GROWTH)},
	{"lost events", lose_events, ALL, LIVE | BIT(PEAK) | LEAKS},
	{"loaded apart", load_apart, ALL, LIVE},
	{"repaired", be_repaired, BIT(GROWTH), LIVE | BIT(PEAK)},
	{"too many stacks", fill_stacks, BIT(PER_STACK), BIT(PER_STACK)},
	{"merged", be_merged, 0, BIT(PEAK)},
	{"a file that knows nothing", know_nothing, FIGURES, FIGURES},
	{"sampled", be_sampled, FIGURES | LEAKS, FIGURES},
	{"no search", lack_search, LEAKS, LEAKS},
	{"a damaged search", damage_search, LEAKS, LEAKS},
	{"searched while it ran", search_early, LEAKS, 0},
	{"searched when it asked", search_when_asked, LEAKS, 0},
	{"searched in part", search_in_part, LEAKS, 0},
	{"threads not searched", miss_threads, 0, LEAKS},
	{"memory not searched", leave_memory_unread, 0, LEAKS},
	{"ran meanwhile", run_meanwhile, LEAKS, LEAKS},
	{"shown in part", be_selected, LIVE | LEAKS, 0},
};

/* A program with leaks, a peak, and temporary allocations. */
static void make(struct fixture *fixture, void (*change)(struct model *model))
{
	leaks_fixture_demo(fixture);
	struct model *model = fixture->model;
	build_recording(model)->complete = true;
	size_t count;
	model_sites(model, &count);
	for (uint32_t i = 0; i < count; i++) {
		struct site *site = build_site_at(model, (struct site_id){i});
		site->live_blocks = 1;
		site->live_bytes = 100;
	}
	*build_totals(model) = (struct totals){.allocations = count + 5,
		.temporary = 5,
		.live_blocks = count,
		.live_bytes = count * 100,
		.peak_blocks = count + 1,
		.peak_bytes = count * 100 + 1};
	change(model);
	build_finish(model);
}

struct judged {
	struct profile now, then;
	struct diff diff;
	struct resolver *resolver;
	struct leaks leaks;
	struct budget budget;
};

static void judge(
	struct judged *judged, const struct model *model, const struct model *older, uint64_t limit)
{
	profile_init(&judged->now);
	profile_init(&judged->then);
	diff_init(&judged->diff);
	leaks_init(&judged->leaks);
	budget_init(&judged->budget);
	CHECK_OK(profile_build(model, false, NULL, &judged->now));
	CHECK_OK(profile_build(older, false, NULL, &judged->then));
	struct match_side sides[2] = {{older, &judged->then.all}, {model, &judged->now.all}};
	struct diff_options how = {.metric = METRIC_LIVE_BYTES};
	CHECK_OK(diff_build(&sides[0], &sides[1], &how, &judged->diff));
	CHECK_OK(resolver_create(model, true, &judged->resolver));
	struct leaks_options options = {.separate_libraries = true};
	CHECK_OK(leaks_build(model, judged->resolver, &options, &judged->leaks));
	struct budget_limits limits = {.leak_kinds = 1u << LEAK_DEFINITE};
	for (int rule = 0; rule < BUDGET_RULES; rule++) {
		limits.given[rule] = rule != BUDGET_ERRORS; /* has cases of its own */
		limits.limits[rule] = (struct limit){.value = limit, .percent = -1};
	}
	struct budget_input input = {.model = model,
		.rows = &judged->now.all,
		.baseline = older,
		.diff = &judged->diff,
		.leaks = &judged->leaks};
	CHECK_OK(budget_build(&input, &limits, &judged->budget));
}

static void judged_deinit(struct judged *judged)
{
	budget_deinit(&judged->budget);
	leaks_deinit(&judged->leaks);
	resolver_destroy(judged->resolver);
	diff_deinit(&judged->diff);
	profile_deinit(&judged->then);
	profile_deinit(&judged->now);
}

/* What became of each rule: bits. */
struct states {
	unsigned kept, exceeded, undecided;
};

static struct states states_of(const struct budget *budget)
{
	struct states states = {0};
	for (size_t i = 0; i < budget->checks.len; i++) {
		const struct budget_check *check = &budget->checks.data[i];
		unsigned bit = 1u << check->rule;
		CHECK_U64(check->undecided, check->unknown != NULL);
		CHECK_U64(check->undecided && check->exceeded, false);
		states.undecided |= check->undecided ? bit : 0;
		states.exceeded |= check->exceeded ? bit : 0;
		states.kept |= check->undecided || check->exceeded ? 0 : bit;
	}
	return states;
}

static void empty(struct model *model)
{
	size_t count;
	model_sites(model, &count);
	for (uint32_t i = 0; i < count; i++)
		build_site_at(model, (struct site_id){i})->live_bytes = 0;
	build_totals(model)->live_bytes = 0;
}

static struct states try(const struct way *way, uint64_t limit)
{
	struct fixture now, older;
	make(&now, way->make);
	make(&older, empty);
	struct judged judged;
	judge(&judged, now.model, older.model, limit);
	struct states ret = states_of(&judged.budget);
	judged_deinit(&judged);
	fixture_deinit(&now);
	fixture_deinit(&older);
	return ret;
}

CASE(kept, "a limit with plenty of room is kept where the figure is there, and undecided else")
{
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		/* What may be missing of the newer one is no growth; of the older one it is. */
		unsigned undecided = ways[i].maybe_more;
		if (ways[i].make == be_repaired)
			undecided = 0;
		struct states states = try(&ways[i], PLENTY);
		printf("# %s\n", ways[i].name);
		CHECK_U64(states.undecided, undecided);
		CHECK_U64(states.kept, ALL & ~undecided);
	}
}

CASE(exceeded, "a limit of 0 is exceeded where the figure is there, and undecided else")
{
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		unsigned undecided = ways[i].maybe_less & ~(unsigned)BIT(GROWTH);
		if (ways[i].maybe_less & BIT(NEVER_FREED))
			undecided |= BIT(GROWTH);
		struct states states = try(&ways[i], 0);
		printf("# %s\n", ways[i].name);
		CHECK_U64(states.undecided, undecided);
		CHECK_U64(states.exceeded, ALL & ~undecided);
	}
}

static struct states try_baseline(const struct way *way, uint64_t limit)
{
	struct fixture now, older;
	make(&now, be_whole);
	make(&older, way->make);
	struct judged judged;
	judge(&judged, now.model, older.model, limit);
	struct states ret = states_of(&judged.budget);
	judged_deinit(&judged);
	fixture_deinit(&now);
	fixture_deinit(&older);
	return ret;
}

CASE(baseline, "growth over a baseline whose figure is not there is undecided")
{
	static const unsigned growth = BIT(GROWTH);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		bool smaller = ways[i].maybe_less & BIT(NEVER_FREED);
		struct states states = try_baseline(&ways[i], 100);
		printf("# %s\n", ways[i].name);
		CHECK_U64(states.undecided & growth, smaller ? growth : 0);
		CHECK_U64(states.undecided & ~growth, 0);
	}
}

CASE(all_freed,
	"what was never searched has no leaks where every block was freed, and that is known")
{
	struct fixture fixture;
	make(&fixture, lack_search);
	struct totals *totals = build_totals(fixture.model);
	totals->live_blocks = totals->live_bytes = 0;
	struct evidence evidence = evidence_of_leaks(fixture.model, LEAK_KINDS_ALL, true);
	CHECK_U64(evidence.unknown || evidence.more || evidence.less, false);
	have_own_malloc(fixture.model);
	evidence = evidence_of_leaks(fixture.model, LEAK_KINDS_ALL, true);
	CHECK_U64(evidence.unknown && evidence.more, true);
	fixture_deinit(&fixture);
}

/* What became of --max-errors. */
static struct budget_check errors_check(const struct model *model, uint64_t limit)
{
	struct judged judged;
	profile_init(&judged.now);
	profile_init(&judged.then);
	diff_init(&judged.diff);
	leaks_init(&judged.leaks);
	budget_init(&judged.budget);
	CHECK_OK(profile_build(model, false, NULL, &judged.now));
	CHECK_OK(resolver_create(model, true, &judged.resolver));
	struct budget_limits limits = {.given[BUDGET_ERRORS] = true};
	limits.limits[BUDGET_ERRORS] = (struct limit){.value = limit, .percent = -1};
	struct budget_input input = {
		.model = model, .rows = &judged.now.all, .resolver = judged.resolver};
	CHECK_OK(budget_build(&input, &limits, &judged.budget));
	CHECK_U64(judged.budget.checks.len, 1);
	struct budget_check ret = judged.budget.checks.data[0];
	CHECK_U64(ret.count, ret.exceeded ? ret.value : 0);
	judged_deinit(&judged);
	return ret;
}

static void have_error(struct model *model)
{
	const struct program_error error = {
		.kind = "InvalidFree", .what = "", .thread = "", .count = 3};
	CHECK_OK(build_program_error(model, &error, NULL, 0));
}

static void be_of_checker(struct model *model)
{
	build_recording(model)->source = "a checker's";
	build_errors(model);
}

CASE(errors_unknown, "errors that nobody looked for are no errors that are not there")
{
	struct fixture fixture;
	make(&fixture, be_whole);
	CHECK(errors_check(fixture.model, PLENTY).undecided);
	build_errors(fixture.model); /* frees were checked */
	CHECK(errors_check(fixture.model, 0).undecided);
	have_error(fixture.model);
	CHECK(errors_check(fixture.model, 0).exceeded);
	CHECK(errors_check(fixture.model, 1).undecided);
	lose_events(fixture.model); /* the free may have been right */
	CHECK(errors_check(fixture.model, 0).undecided);
	fixture_deinit(&fixture);
}

CASE(errors_of_checker, "errors of a checker decide, unless its file is cut off")
{
	struct fixture fixture;
	make(&fixture, be_of_checker);
	struct budget_check check = errors_check(fixture.model, 0);
	CHECK(!check.exceeded && !check.undecided);
	CHECK_OK(build_damage(fixture.model, "it is cut off"));
	CHECK(errors_check(fixture.model, 0).undecided);
	have_error(fixture.model);
	CHECK(errors_check(fixture.model, 0).exceeded);
	CHECK(errors_check(fixture.model, 1).undecided);
	fixture_deinit(&fixture);
}

TAP_MAIN
