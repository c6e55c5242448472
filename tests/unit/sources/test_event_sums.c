/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stories of calls written by hand, and the figures that they must give. */
#include "base/util.h"
#include "lib/tap.h"
#include "sources/events/event_adapter.h"
#include "sources/events/event_sums.h"

#define MS UINT64_C(1000000)

enum call { TIME, ALLOC, FREE, REALLOC, FAILED };

/* REALLOC: of the block at `address` to `to`. */
struct line {
	enum call call;
	uint64_t address, size;
	uint32_t site, thread;
	uint64_t to;
};

struct story {
	const struct line *lines;
	size_t count;
};

static struct error *tell_line(struct event_adapter *feed, const struct line *line)
{
	struct error *error;
	switch (line->call) {
	case TIME:
		event_adapter_time(feed, line->size * MS);
		return NULL;
	case ALLOC:
		return event_adapter_alloc(
			feed, line->thread, line->address, line->size, line->site);
	case FREE:
		return event_adapter_free(feed, line->thread, line->address, HW_FREE);
	case REALLOC:
		error = event_adapter_free(feed, line->thread, line->address, HW_FREE_REALLOC);
		return error ? error
			     : event_adapter_alloc(
				       feed, line->thread, line->to, line->size, line->site);
	case FAILED:
		return event_adapter_failed(feed, line->thread, line->size, line->site);
	}
	return NULL;
}

static struct error *tell(
	const void *context, const struct hpw_visitor *visitor, const bool *enough)
{
	const struct story *story = context;
	struct event_adapter feed;
	struct error *error = event_adapter_init(&feed, visitor);
	for (size_t i = 0; !error && i < story->count && !(enough && *enough); i++)
		error = tell_line(&feed, &story->lines[i]);
	event_adapter_deinit(&feed);
	return error;
}

/* A model with three sites; 2 is of realloc. */
static struct model *make_model(void)
{
	static const enum alloc_kind kinds[] = {KIND_MALLOC, KIND_NEW, KIND_REALLOC};
	struct model *model;
	CHECK_OK(build_create(&model));
	CHECK_OK(build_string(model, "story", 5, &build_recording(model)->path));
	build_recording(model)->duration_ns = 100 * MS;
	for (uint32_t i = 0; i < ARRAY_SIZE(kinds); i++)
		CHECK_OK(build_site(model, (struct site_id){i}, (struct stack_id){0}, kinds[i]));
	return model;
}

static struct error *sum(const struct line *lines, size_t count, unsigned flags,
	const struct source_query *query, struct model *model)
{
	const struct story story = {lines, count};
	const struct event_replay events = {.context = &story, .each = tell, .blocks_max = 1000};
	return event_sums_put(&events, 0, flags, query, model);
}

#define SUM(lines, flags, query, model) CHECK_OK(sum(lines, ARRAY_SIZE(lines), flags, query, model))

static const struct site *site_of(const struct model *model, size_t id)
{
	size_t count;
	return &model_sites(model, &count)[id];
}

/* Two equal peaks; at the first one site 0 has 300, site 1 has 50. */
static const struct line peaks[] = {
	{TIME, .size = 1},
	{ALLOC, 0x100, 300, .site = 0},
	{TIME, .size = 2},
	{ALLOC, 0x500, 50, .site = 1},
	{TIME, .size = 3},
	{FREE, .address = 0x100},
	{TIME, .size = 4},
	{ALLOC, 0x100, 200, .site = 0},
	{ALLOC, 0x900, 100, .site = 1},
	{TIME, .size = 5},
	{FREE, .address = 0x900},
	{FREE, .address = 0x900},
};

CASE(totals, "counts, live bytes, frees and unknown frees of a story")
{
	struct model *model = make_model();
	SUM(peaks, 0, NULL, model);
	const struct totals *totals = model_totals(model);
	CHECK_U64(totals->allocations, 4);
	CHECK_U64(totals->allocated_bytes, 650);
	CHECK_U64(totals->frees, 3);
	CHECK_U64(totals->live_blocks, 2);
	CHECK_U64(totals->live_bytes, 250);
	CHECK_U64(model_recording(model)->unknown_frees, 1);
	CHECK_U64(model_recording(model)->events, 7);
	CHECK_U64(site_of(model, 1)->min_size, 50);
	CHECK_U64(site_of(model, 1)->max_size, 100);
	size_t sizes;
	CHECK_U64(model_sizes(model, &sizes)[0].size, 50);
	CHECK_U64(sizes, 4);
	model_destroy(model);
}

CASE(peak, "the peak is the first of two equal ones, and a site's is its share then")
{
	struct model *model = make_model();
	SUM(peaks, 0, NULL, model);
	const struct totals *totals = model_totals(model);
	CHECK_U64(totals->peak_bytes, 350);
	CHECK_U64(totals->peak_blocks, 2);
	CHECK_U64(totals->peak_time_ns, 2 * MS);
	CHECK_U64(site_of(model, 0)->peak_bytes, 300);
	CHECK_U64(site_of(model, 1)->peak_bytes, 50);
	model_destroy(model);
}

CASE(temporary, "temporary is by thread, and never by realloc")
{
	static const struct line lines[] = {
		{ALLOC, 0x10, 8, .site = 0, .thread = 0},
		{ALLOC, 0x20, 8, .site = 1, .thread = 1},
		{FREE, .address = 0x10, .thread = 0}, /* thread 1's does not count */
		{ALLOC, 0x30, 8, .site = 0, .thread = 0},
		{FREE, .address = 0x30, .thread = 1}, /* another thread's */
		{ALLOC, 0x30, 8, .site = 0, .thread = 0},
		{REALLOC, 0x30, 16, .site = 2, .thread = 0, .to = 0x40},
		{FREE, .address = 0x40, .thread = 0},
	};
	struct model *model = make_model();
	SUM(lines, 0, NULL, model);
	CHECK_U64(model_totals(model)->temporary, 2);
	CHECK_U64(site_of(model, 0)->temporary, 1);
	CHECK_U64(site_of(model, 2)->temporary, 1);
	CHECK_U64(model_totals(model)->threads, 2);
	size_t threads;
	CHECK_U64(model_threads(model, &threads)[1].allocations, 1);
	model_destroy(model);
}

CASE(given_out_again, "a block whose free is missing ends where its address is given out again")
{
	static const struct line lines[] = {
		{ALLOC, 0x10, 8, .site = 0},
		{ALLOC, 0x10, 30, .site = 1},
		{FREE, .address = 0x10},
	};
	struct model *model = make_model();
	SUM(lines, 0, NULL, model);
	CHECK_U64(model_totals(model)->live_blocks, 0);
	CHECK_U64(model_totals(model)->peak_bytes, 30);
	CHECK_U64(model_totals(model)->temporary, 1);
	model_destroy(model);
}

CASE(failed, "a call that failed is no allocation")
{
	static const struct line lines[] = {
		{ALLOC, 0x10, 8, .site = 2},
		{FAILED, .size = UINT64_MAX, .site = 2},
	};
	struct model *model = make_model();
	SUM(lines, 0, NULL, model);
	CHECK_U64(model_totals(model)->allocations, 1);
	CHECK_U64(model_totals(model)->failed, 1);
	CHECK_U64(site_of(model, 2)->failed, 1);
	model_destroy(model);
}

CASE(moment, "what was live at a time, and at the peak")
{
	const struct source_query at = {
		.to = {.kind = SOURCE_TIME, .time_ns = 3 * MS}, .to_text = "3ms"};
	struct model *model = make_model();
	SUM(peaks, 0, &at, model);
	CHECK_U64(model_totals(model)->live_bytes, 50);
	CHECK_U64(model_totals(model)->allocations, 2);
	CHECK(model_recording(model)->range.part);
	CHECK_U64(model_recording(model)->range.to_ns, 3 * MS);
	model_destroy(model);
	const struct source_query peak = {.to = {.kind = SOURCE_PEAK}};
	model = make_model();
	SUM(peaks, 0, &peak, model);
	CHECK_U64(model_totals(model)->live_bytes, 350);
	model_destroy(model);
}

CASE(range, "a range counts its calls; kept is what it allocated and left")
{
	const struct source_query query = {
		.from = {.kind = SOURCE_TIME, .time_ns = 2 * MS}, .to = {.kind = SOURCE_END}};
	struct model *model = make_model();
	SUM(peaks, 0, &query, model);
	const struct totals *totals = model_totals(model);
	CHECK_U64(totals->allocations, 2);
	CHECK_U64(totals->frees, 3);
	CHECK_U64(totals->live_bytes, 250);
	CHECK_U64(totals->kept_bytes, 200);
	CHECK_U64(totals->peak_bytes, 350);
	CHECK_U64(totals->peak_time_ns, 2 * MS);
	model_destroy(model);
}

CASE(late_moment, "a moment behind the end is refused")
{
	const struct source_query query = {
		.to = {.kind = SOURCE_TIME, .time_ns = 101 * MS}, .to_text = "101ms"};
	struct model *model = make_model();
	CHECK_ERROR(sum(peaks, ARRAY_SIZE(peaks), 0, &query, model), ERROR_INPUT,
		"it ends after 100 ms");
	model_destroy(model);
}

CASE(series, "rows of a series have what sites had then, and the peak is one")
{
	const struct source_series wanted = {
		.rows = 64, .axis = SOURCE_BY_STEPS, .with_sites = true};
	const struct source_query query = {.to = {.kind = SOURCE_END}, .series = &wanted};
	struct model *model = make_model();
	SUM(peaks, 0, &query, model);
	size_t count, sites, found = 0;
	const struct series_row *rows = model_series(model, &count);
	const struct series_site *shares = model_series_sites(model, &sites);
	for (size_t i = 0; i < count; i++) {
		uint64_t bytes = 0;
		for (size_t k = 0; k < rows[i].site_count; k++)
			bytes += shares[rows[i].first_site + k].live_bytes;
		CHECK_U64(bytes, rows[i].live_bytes);
		found += rows[i].peak;
		if (rows[i].peak)
			CHECK_U64(rows[i].live_bytes, 350);
	}
	CHECK_U64(found, 1);
	CHECK_U64(rows[count - 1].live_bytes, 250);
	model_destroy(model);
}

CASE(lives, "lifetimes and chains of reallocs")
{
	static const struct line lines[] = {
		{TIME, .size = 1},
		{ALLOC, 0x10, 10, .site = 0},
		{TIME, .size = 3},
		{REALLOC, 0x10, 20, .site = 2, .to = 0x20},
		{REALLOC, 0x20, 40, .site = 2, .to = 0x20},
		{REALLOC, 0x20, 30, .site = 2, .to = 0x40},
		{TIME, .size = 8},
		{FREE, .address = 0x40},
		{ALLOC, 0x50, 7, .site = 0},
	};
	struct model *model = make_model();
	SUM(lines, SOURCE_WITH_LIVES, NULL, model);
	const struct lifetimes *lives = model_lifetimes(model);
	CHECK(lives->known);
	CHECK_U64(lives->by_time[life_bucket_of(2 * MS)].freed_bytes, 10);
	CHECK_U64(lives->by_time[life_bucket_of(5 * MS)].freed_bytes, 30);
	/* What is live ages until the recording ends. */
	CHECK_U64(lives->by_time[life_bucket_of(92 * MS)].live_bytes, 7);
	size_t count;
	const struct realloc_site *row = model_reallocs(model, &count);
	CHECK_U64(count, 1);
	CHECK_U64(row->calls, 3);
	CHECK_U64(row->chains, 1);
	CHECK_U64(row->grown, 2);
	CHECK_U64(row->shrunk, 1);
	CHECK_U64(row->copied_bytes, 10 + 20 + 30);
	model_destroy(model);
}

CASE(chosen, "blocks are chosen by size and by how long they live")
{
	const struct source_blocks large = {.min_size = 100};
	const struct source_query sized = {.to = {.kind = SOURCE_END}, .blocks = &large};
	struct model *model = make_model();
	SUM(peaks, 0, &sized, model);
	CHECK_U64(model_totals(model)->allocations, 3);
	CHECK_STR(model_recording(model)->blocks, "of at least 100 B");
	model_destroy(model);
	const struct source_blocks short_lived = {.by_life = true, .max_life_ns = 1 * MS};
	const struct source_query lived = {.to = {.kind = SOURCE_END}, .blocks = &short_lived};
	model = make_model();
	SUM(peaks, 0, &lived, model);
	CHECK_U64(model_totals(model)->allocated_bytes, 100);
	model_destroy(model);
}

CASE(too_many, "more live blocks than are believed are refused")
{
	static struct line lines[1001];
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		lines[i] = (struct line){ALLOC, i * 16, 1, .site = 0};
	struct model *model = make_model();
	CHECK_ERROR(sum(lines, ARRAY_SIZE(lines), 0, NULL, model), ERROR_INPUT, "blocks are live");
	model_destroy(model);
}

TAP_MAIN
