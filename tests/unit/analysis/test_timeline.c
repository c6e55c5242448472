/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The timeline of moments made by hand, byte for byte as in tests/data/golden/timeline/. */
#include "analysis/timeline.h"

#include "base/cleanup.h"
#include "lib/tap.h"
#include "unit/fake_symbols.h"
#include "unit/golden.h"
#include "unit/model_fixture.h"
#include "views/views.h"

#define MOMENTS 24u
#define PEAK_AT 17u

static bool collect(void *ctx, const char *data, size_t len)
{
	text_add_n(ctx, data, len);
	return true;
}

/* A rise and a fall, of a few sites, one of which is too small for a line. */
static void add_moments(struct fixture *fixture, bool with_peak)
{
	struct series_row row = {.step = 0};
	for (uint32_t i = 0; i < MOMENTS; i++) {
		uint64_t blocks = i <= PEAK_AT ? i : 2 * PEAK_AT - i;
		const struct series_site sites[] = {{{0}, blocks, blocks * 5003},
			{{1}, 2 * blocks, blocks * 2002}, {{2}, 1, 7}};
		uint64_t live = blocks * (5003 + 2002) + 7;
		row.step = 3 * i;
		row.time_ns = i * 71300000u;
		row.allocated_bytes += live > row.live_bytes ? live - row.live_bytes : 0;
		row.freed_bytes = row.allocated_bytes - live;
		row.live_bytes = live;
		row.live_blocks = 3 * blocks + 1;
		row.padding = row.live_blocks * 5;
		row.peak = with_peak && i == PEAK_AT;
		CHECK_OK(build_series_row(fixture->model, &row, sites, i ? 3 : 0));
	}
}

static char *render(const struct model *model, struct view_options options)
{
	struct text text;
	text_init(&text);
	struct sink sink = {collect, &text};
	CHECK_OK(view_write(view_find("timeline"), model, &options, &sink));
	return text_steal(&text);
}

static struct view_options defaults(void)
{
	return (struct view_options){.sort = METRICS, .timeline = TIMELINE_DEFAULT};
}

CASE(forms, "both forms of a rise and a fall")
{
	struct fixture fixture;
	fixture_demo(&fixture);
	add_moments(&fixture, true);
	struct view_options options = defaults();
	_cleanup_free_ char *text = render(fixture.model, options);
	check_golden("timeline/timeline.txt", text);
	options.json = true;
	_cleanup_free_ char *json = render(fixture.model, options);
	check_golden("timeline/timeline.json", json);
	fixture_deinit(&fixture);
}

/* An older run that took twice as long, had less at its peak, and kept all of it. */
static void add_older_moments(struct fixture *fixture)
{
	struct series_row row = {.step = 0};
	for (uint32_t i = 0; i < 2 * MOMENTS; i++) {
		uint64_t blocks = i < 20 ? i : 20;
		const struct series_site sites[] = {{{0}, blocks, blocks * 4001}};
		row.step = 2 * i;
		row.time_ns = i * 71300000u;
		row.allocated_bytes = row.live_bytes = blocks * 4001;
		row.live_blocks = blocks;
		row.padding = blocks * 15;
		row.peak = i == 20;
		CHECK_OK(build_series_row(fixture->model, &row, sites, 1));
	}
}

CASE(beside, "an older run: its outline and its totals, where the same part of it had passed")
{
	struct fixture fixture, older;
	fixture_demo(&older);
	add_older_moments(&older);
	fixture_demo(&fixture);
	add_moments(&fixture, true);
	struct view_options options = defaults();
	struct view_base base = {.model = older.model, .label = "old.hpw"};
	options.base = &base;
	_cleanup_free_ char *text = render(fixture.model, options);
	check_golden("timeline/base.txt", text);
	options.json = true;
	_cleanup_free_ char *json = render(fixture.model, options);
	check_golden("timeline/base.json", json);
	fixture_deinit(&fixture);
	fixture_deinit(&older);
}

CASE(beside_itself, "beside itself a run has its own totals, at every moment, by time and by bytes")
{
	struct fixture fixture;
	fixture_demo(&fixture);
	add_moments(&fixture, true);
	for (int unit = TIMELINE_MS; unit <= TIMELINE_BYTES; unit++) {
		struct timeline_options options = TIMELINE_DEFAULT;
		options.unit = (enum timeline_unit)unit;
		struct timeline timeline;
		timeline_init(&timeline);
		CHECK_OK(timeline_build_curve(fixture.model, &options, &timeline));
		for (size_t i = 0; i < timeline.snapshots.len; i++) {
			const struct timeline_snapshot *snapshot = &timeline.snapshots.data[i];
			double part = timeline_part(&timeline, snapshot->time);
			CHECK_U64(timeline_at(&timeline, part)->total, snapshot->total);
		}
		timeline_deinit(&timeline);
	}
	fixture_deinit(&fixture);
}

CASE(beside_nothing, "a recording of nothing beside another, on either side")
{
	struct fixture fixture, older;
	fixture_init(&fixture);
	fixture_demo(&older);
	add_older_moments(&older);
	struct view_options options = defaults();
	struct view_base base = {.model = older.model, .label = "old.hpw"};
	options.base = &base;
	_cleanup_free_ char *text = render(fixture.model, options);
	CHECK_CONTAINS(text, "Number of snapshots: 0\n");
	base.model = fixture.model;
	_cleanup_free_ char *other = render(older.model, options);
	CHECK_CONTAINS(other, "o: old.hpw\n");
	CHECK_CONTAINS(other, "older(B)\n");
	fixture_deinit(&fixture);
	fixture_deinit(&older);
}

CASE(bytes, "by bytes, another admin, a small graph; what is below the threshold is summed up")
{
	struct fixture fixture;
	fixture_demo(&fixture);
	add_moments(&fixture, true);
	struct view_options options = defaults();
	options.timeline = (struct timeline_options){.unit = TIMELINE_BYTES,
		.max_snapshots = 30,
		.detailed_freq = 5,
		.depth = 2,
		.threshold = 50,
		.alignment = 1,
		.width = 30,
		.height = 5};
	_cleanup_free_ char *text = render(fixture.model, options);
	check_golden("timeline/bytes.txt", text);
	fixture_deinit(&fixture);
}

CASE(no_peak, "without a moment of the peak the highest stands for it, and that is said")
{
	struct fixture fixture;
	fixture_demo(&fixture);
	add_moments(&fixture, false);
	_cleanup_free_ char *text = render(fixture.model, defaults());
	CHECK_CONTAINS(text, " Detailed snapshots: [9, 17 (peak), 19]\n");
	CHECK_CONTAINS(text, "The peak is the highest snapshot");
	fixture_deinit(&fixture);
}

CASE(nothing, "nothing was ever allocated")
{
	struct fixture fixture;
	fixture_init(&fixture);
	CHECK_OK(build_series_row(fixture.model, &(struct series_row){.step = 0}, NULL, 0));
	_cleanup_free_ char *text = render(fixture.model, defaults());
	CHECK_CONTAINS(text, "Number of snapshots: 1\n Detailed snapshots: []\n");
	CHECK_CONTAINS(text, "    1^");
	fixture_deinit(&fixture);
}

CASE(alloc_fns,
	"allocation functions by name give way to their callers, and sites are found by them")
{
	struct fixture fixture;
	fixture_demo(&fixture);
	add_moments(&fixture, true);
	_cleanup_(resolver_cleanup) struct resolver *resolver = NULL;
	CHECK_OK(resolver_create(fixture.model, false, &resolver));
	struct timeline_options options = TIMELINE_DEFAULT;
	const char *const names[] = {"xmalloc", "load_config"};
	struct timeline timeline;
	for (size_t with = 0; with < 2; with++) {
		options.alloc_fns = names;
		options.alloc_fn_count = with;
		timeline_init(&timeline);
		CHECK_OK(timeline_build(fixture.model, resolver, &options, &timeline));
		const struct timeline_nodes *tree = &timeline.snapshots.data[PEAK_AT].tree;
		CHECK(tree->len > 1);
		CHECK_STR(tree->data[1].frame->function, with ? "load_config" : "xmalloc");
		timeline_deinit(&timeline);
	}
	for (size_t n = 1; n < 3; n++) {
		bool *found = NULL;
		size_t count = 0;
		options.alloc_fn_count = n - 1;
		CHECK_OK(timeline_find_sites(
			fixture.model, resolver, &options, names + n - 1, 1, &found, &count));
		CHECK(count && found[0]);
		free(found);
	}
	fixture_deinit(&fixture);
}

TAP_MAIN
