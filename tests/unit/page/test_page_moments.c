/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moments of a page: which there are, the end without sites of its own, fewer of them, changes. */
#include "page/parts/moments.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/tap.h"
#include "unit/fake_symbols.h"
#include "unit/model_fixture.h"

#define MOMENTS 9u
#define PEAK_AT 5u

/* Every third has sites, as of recordings with very many; and the peak. */
static void add_moments(struct fixture *fixture, uint64_t end_bytes)
{
	for (uint32_t i = 0; i < MOMENTS; i++) {
		bool has_sites = i % 3 == 2 || i == PEAK_AT;
		uint64_t bytes = i + 1 == MOMENTS ? end_bytes : 100 * (i + 1);
		const struct series_row row = {.step = i,
			.time_ns = 1000 * i,
			.live_bytes = bytes,
			.live_blocks = 1,
			.peak = i == PEAK_AT};
		const struct series_site sites[] = {{{0}, 1, bytes}};
		has_sites &= i + 1 < MOMENTS;
		CHECK_OK(build_series_row(fixture->model, &row, sites, has_sites));
	}
}

struct made {
	struct fixture fixture;
	struct profile profile;
	struct page_moments moments;
	struct page_mark mark;
};

/* mark_ns: of a mark at which the end's figures were; 0: there is none. */
static void made_init_marked(struct made *made, uint64_t more_bytes, uint64_t mark_ns)
{
	fixture_demo(&made->fixture);
	add_moments(&made->fixture, model_totals(made->fixture.model)->live_bytes + more_bytes);
	profile_init(&made->profile);
	CHECK_OK(profile_build(made->fixture.model, false, NULL, &made->profile));
	page_moments_init(&made->moments);
	const struct page_wanted wanted = {.profile = &made->profile,
		.over_time = made->fixture.model,
		.marks = &made->mark,
		.mark_count = mark_ns > 0};
	made->mark = (struct page_mark){mark_ns, made->fixture.model};
	CHECK_OK(page_moments_build(&wanted, &made->moments));
	CHECK(!made->moments.problem);
}

static void made_init(struct made *made, uint64_t more_bytes)
{
	made_init_marked(made, more_bytes, 0);
}

static void made_deinit(struct made *made)
{
	page_moments_deinit(&made->moments);
	profile_deinit(&made->profile);
	fixture_deinit(&made->fixture);
}

static uint64_t moment_bytes(const struct made *made, size_t number)
{
	const struct page_moment *moment = &made->moments.moments.data[number];
	uint64_t bytes = 0;
	for (size_t i = 0; i < moment->count; i++)
		bytes += made->moments.cells.data[moment->first + i].bytes;
	return bytes;
}

CASE(end, "the end has what rows have, if the series has no sites of it")
{
	struct made made;
	made_init(&made, 0);
	const struct page_moment_vec *moments = &made.moments.moments;
	CHECK_U64(moments->len, 3);
	CHECK_U64(moments->data[0].flags, 0);
	CHECK_U64(moments->data[1].flags, PAGE_MOMENT_PEAK);
	CHECK_U64(moments->data[2].flags, PAGE_MOMENT_END);
	CHECK_U64(moments->data[2].time_ns, 8000);
	CHECK_U64(moment_bytes(&made, 0), 300);
	CHECK_U64(moment_bytes(&made, 1), 600);
	CHECK_U64(moment_bytes(&made, 2), model_totals(made.fixture.model)->live_bytes);
	made_deinit(&made);
}

CASE(marks, "a mark is a moment with its own figures, where its time is, and is kept")
{
	struct made made;
	made_init_marked(&made, 0, 4000);
	const struct page_moment_vec *moments = &made.moments.moments;
	CHECK_U64(moments->len, 4);
	CHECK_U64(moments->data[0].mark, 0);
	CHECK_U64(moments->data[1].mark, 1);
	CHECK_U64(moments->data[1].time_ns, 4000);
	CHECK_U64(moment_bytes(&made, 1), model_totals(made.fixture.model)->live_bytes);
	CHECK_U64(moments->data[2].flags, PAGE_MOMENT_PEAK);
	CHECK_U64(moment_bytes(&made, 2), 600);
	CHECK_U64(page_moments_left(&made.moments, 9), 4);
	made_deinit(&made);
}

CASE(no_end, "a last moment with other bytes than the end is not the end")
{
	struct made made;
	made_init(&made, 1);
	CHECK_U64(made.moments.moments.len, 2);
	CHECK_U64(made.moments.moments.data[1].flags, PAGE_MOMENT_PEAK);
	made_deinit(&made);
}

CASE(changes, "columns have changes; rows that are one add up; others are left out")
{
	struct made made;
	made_init(&made, 0);
	size_t rows = profile_rows(&made.profile)->rows.len;
	_cleanup_free_ uint32_t *numbers = calloc(rows + 1, sizeof(*numbers));
	struct page_columns columns;
	page_columns_init(&columns);
	/* All of them in row 1 of the page. */
	for (size_t i = 0; i < rows; i++)
		numbers[i] = 1;
	CHECK(page_moments_put(&made.moments, 1, numbers, 2, &columns));
	const uint64_t wanted[] = {300, 600, model_totals(made.fixture.model)->live_bytes};
	CHECK_STR(columns.data[5].name, "cell.bytes");
	CHECK_U64(columns.data[4].count, 3);
	double before = 0;
	for (size_t i = 0; i < 3; i++) {
		double change;
		uint32_t row;
		memcpy(&change, columns.data[5].data.data + i * sizeof(change), sizeof(change));
		memcpy(&row, columns.data[4].data.data + i * sizeof(row), sizeof(row));
		CHECK_U64(row, 1);
		before += change;
		CHECK_U64((uint64_t)before, wanted[i]);
	}
	page_columns_deinit(&columns);
	for (size_t i = 0; i < rows; i++)
		numbers[i] = ROWS_NONE;
	page_columns_init(&columns);
	CHECK(page_moments_put(&made.moments, 1, numbers, 2, &columns));
	CHECK_U64(columns.data[4].count, 0);
	page_columns_deinit(&columns);
	made_deinit(&made);
}

CASE(fewer, "of fewer the peak and the last are kept")
{
	struct made made;
	made_init(&made, 0);
	CHECK_U64(page_moments_left(&made.moments, 1), 3);
	CHECK_U64(page_moments_left(&made.moments, 4), 3);
	made.moments.moments.data[1].flags = 0;
	CHECK_U64(page_moments_left(&made.moments, 4), 2);
	made_deinit(&made);
}

TAP_MAIN
