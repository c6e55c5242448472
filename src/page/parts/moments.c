/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page/parts/moments.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void page_moments_init(struct page_moments *moments)
{
	*moments = (struct page_moments){.problem = NULL};
	page_moment_vec_init(&moments->moments);
	page_cells_init(&moments->cells);
}

void page_moments_deinit(struct page_moments *moments)
{
	page_moment_vec_deinit(&moments->moments);
	page_cells_deinit(&moments->cells);
	free(moments->most);
}

/* Sites have the same numbers in both models of the file, or nothing can be said. */
static bool has_same_sites(const struct model *a, const struct model *b)
{
	size_t count, other_count;
	const struct site *sites = model_sites(a, &count);
	const struct site *others = model_sites(b, &other_count);
	if (count != other_count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (sites[i].stack.value != others[i].stack.value ||
			sites[i].kind != others[i].kind)
			return false;
	return true;
}

/* Why a file has no moments to choose from; NULL: it has. */
static const char *find_problem(const struct profile *profile, const struct model *over_time)
{
	const struct recording *recording = model_recording(profile->model);
	if (profile->base)
		return "a difference has no moments";
	if (!over_time)
		return "this file does not say what was live when";
	if (recording->range.from_step || recording->range.from_ns)
		return "moments are counted from the beginning of the recording, and this page "
		       "begins "
		       "later";
	if (recording->time_unit && strcmp(recording->time_unit, "ms") != 0)
		return "this file has no times";
	if (!profile->resolver)
		return "nothing was allocated";
	if (!has_same_sites(profile->model, over_time))
		return "the allocation sites of moments are not those of the totals";
	return NULL;
}

struct moment_maker {
	const struct profile *profile;
	const uint32_t *row_of_site; /* of all rows */
	const uint32_t *shown_of;    /* of these, the one that is shown; NULL: the same */
	uint64_t *now;               /* bytes, by row */
	struct page_moments *moments;
};

static bool add_cell(
	struct moment_maker *maker, uint32_t row, uint64_t live_bytes, uint64_t live_blocks)
{
	maker->now[row] += live_bytes;
	return page_cells_push(
		&maker->moments->cells, (struct page_cell){row, live_bytes, live_blocks});
}

static bool add_site(struct moment_maker *maker, const struct series_site *site)
{
	uint32_t row = maker->row_of_site[site->site.value];
	if (row != ROWS_NONE && maker->shown_of)
		row = maker->shown_of[row];
	return row == ROWS_NONE || add_cell(maker, row, site->live_bytes, site->live_blocks);
}

/* Adds the moment whose cells are there from `first` on. */
static bool add_moment(
	struct moment_maker *maker, const struct series_row *at, size_t first, bool is_end)
{
	struct page_moments *moments = maker->moments;
	unsigned flags = (at->peak ? PAGE_MOMENT_PEAK : 0) | (is_end ? PAGE_MOMENT_END : 0);
	for (size_t i = 0; i < moments->rows; i++) {
		if (maker->now[i] > moments->most[i])
			moments->most[i] = maker->now[i];
		maker->now[i] = 0;
	}
	return page_moment_vec_push(
		&moments->moments, (struct page_moment){.time_ns = at->time_ns,
					   .flags = (uint8_t)flags,
					   .first = first,
					   .count = moments->cells.len - first});
}

/* Whether the last moment of the series is the end that rows have figures of. */
static bool is_at_end(const struct moment_maker *maker, const struct series_row *last)
{
	const struct totals *totals = model_totals(maker->profile->model);
	return !(model_recording(maker->profile->model)->unknown & UNKNOWN_LIVE_BYTES) &&
	       totals->live_bytes == last->live_bytes;
}

/* Adds the end as rows have it, where the series has no sites of it. */
static bool add_end(struct moment_maker *maker, const struct series_row *last)
{
	const struct rows *rows = profile_rows(maker->profile);
	size_t first = maker->moments->cells.len;
	for (size_t i = 0; i < rows->rows.len; i++) {
		const struct site *sums = rows->rows.data[i].sums;
		if ((sums->live_bytes || sums->live_blocks) &&
			!add_cell(maker, (uint32_t)i, sums->live_bytes, sums->live_blocks))
			return false;
	}
	return add_moment(maker, last, first, true);
}

/* Of moments of which the sites are known, or nothing was live; and the end. */
static bool add_moments(struct moment_maker *maker, const struct model *over_time)
{
	size_t count, site_count;
	const struct series_row *series = model_series(over_time, &count);
	const struct series_site *sites = model_series_sites(over_time, &site_count);
	for (size_t i = 0; i < count; i++) {
		const struct series_row *at = &series[i];
		size_t first = maker->moments->cells.len;
		bool is_end = i + 1 == count && is_at_end(maker, at), added = true;
		if (!at->site_count && at->live_bytes) {
			if (is_end && !add_end(maker, at))
				return false;
			continue;
		}
		for (size_t k = 0; added && k < at->site_count; k++)
			added = add_site(maker, &sites[at->first_site + k]);
		if (!added || !add_moment(maker, at, first, is_end))
			return false;
	}
	return true;
}

/* Adds the cells of a mark and puts its moment where its time is. */
static bool add_mark(struct moment_maker *maker, const struct page_mark *mark, uint32_t number)
{
	size_t count, first = maker->moments->cells.len;
	const struct site *sites = model_sites(mark->model, &count);
	const struct series_row at = {.time_ns = mark->time_ns};
	for (size_t i = 0; i < count; i++) {
		const struct series_site site = {
			{(uint32_t)i}, sites[i].live_blocks, sites[i].live_bytes};
		if ((site.live_bytes || site.live_blocks) && !add_site(maker, &site))
			return false;
	}
	if (!add_moment(maker, &at, first, false))
		return false;
	struct page_moment *moments = maker->moments->moments.data;
	size_t place = maker->moments->moments.len - 1;
	struct page_moment made = moments[place];
	made.mark = number;
	for (; place > 0 && moments[place - 1].time_ns >= made.time_ns; place--)
		moments[place] = moments[place - 1];
	moments[place] = made;
	return true;
}

static bool add_marks(struct moment_maker *maker, const struct page_wanted *wanted)
{
	for (size_t i = 0; i < wanted->mark_count; i++)
		if (has_same_sites(maker->profile->model, wanted->marks[i].model) &&
			!add_mark(maker, &wanted->marks[i], (uint32_t)i + 1))
			return false;
	return true;
}

struct error *page_moments_build(const struct page_wanted *wanted, struct page_moments *ret)
{
	const struct profile *profile = wanted->profile;
	const struct model *over_time = wanted->over_time;
	ret->problem = find_problem(profile, over_time);
	if (ret->problem)
		return NULL;
	const struct rows *shown = profile_rows(profile);
	_cleanup_free_ uint32_t *row_of_site = NULL;
	_cleanup_free_ uint64_t *now = calloc(shown->rows.len + 1, sizeof(*now));
	ret->rows = shown->rows.len;
	ret->has_blocks = !(model_recording(profile->model)->unknown & UNKNOWN_LIVE_BLOCKS);
	ret->most = calloc(shown->rows.len + 1, sizeof(*ret->most));
	struct error *error = now && ret->most ? rows_of_sites(profile->model, profile->resolver,
							 &profile->all, &row_of_site)
					       : error_no_memory();
	if (error)
		return error;
	struct moment_maker maker = {.profile = profile,
		.row_of_site = row_of_site,
		.shown_of = shown == &profile->left.rows ? profile->left.row_of : NULL,
		.now = now,
		.moments = ret};
	if (!add_moments(&maker, over_time) || !add_marks(&maker, wanted))
		return error_no_memory();
	if (ret->moments.len < 2)
		ret->problem = "there are not two moments of which it is known";
	return NULL;
}

static bool is_kept(const struct page_moments *moments, size_t step, size_t number)
{
	return number % step == 0 || number + 1 == moments->moments.len ||
	       moments->moments.data[number].flags & PAGE_MOMENT_PEAK ||
	       moments->moments.data[number].mark;
}

size_t page_moments_left(const struct page_moments *moments, size_t step)
{
	size_t left = 0;
	for (size_t i = 0; i < moments->moments.len; i++)
		left += is_kept(moments, step, i);
	return left;
}

struct cell_value {
	uint64_t bytes, blocks;
};

/* Columns that are filled, and what rows of the page had before and have at a moment. */
struct cell_columns {
	struct page_column *time, *flags, *mark, *cells, *row, *bytes, *blocks;
	struct cell_value *before, *now;
	size_t count;
};

static void begin_columns(
	const struct page_moments *moments, struct page_columns *columns, struct cell_columns *ret)
{
	ret->time = page_columns_add(columns, "moment.time_ns", PAGE_F64);
	ret->flags = page_columns_add(columns, "moment.flags", PAGE_U8);
	ret->mark = page_columns_add(columns, "moment.mark", PAGE_U32);
	ret->cells = page_columns_add(columns, "moment.cells", PAGE_U32);
	ret->row = page_columns_add(columns, "cell.row", PAGE_U32);
	ret->bytes = page_columns_add(columns, "cell.bytes", PAGE_F64);
	ret->blocks =
		moments->has_blocks ? page_columns_add(columns, "cell.blocks", PAGE_F64) : NULL;
}

static void fill_now(const struct page_moments *moments, const struct page_moment *moment,
	const uint32_t *number_of, struct cell_columns *at)
{
	memset(at->now, 0, at->count * sizeof(*at->now));
	for (size_t i = 0; i < moment->count; i++) {
		const struct page_cell *cell = &moments->cells.data[moment->first + i];
		uint32_t number = number_of ? number_of[cell->row] : cell->row;
		if (number == ROWS_NONE)
			continue;
		at->now[number].bytes += cell->bytes;
		at->now[number].blocks += cell->blocks;
	}
}

static double cell_change(uint64_t now, uint64_t before)
{
	return (double)now - (double)before;
}

/* Rows as distances from the one before: small numbers, which pack well. */
static void put_cells(struct cell_columns *at)
{
	size_t before = at->row->count;
	uint32_t last = 0;
	for (size_t i = 0; i < at->count; i++) {
		const struct cell_value *now = &at->now[i], *old = &at->before[i];
		if (now->bytes == old->bytes && now->blocks == old->blocks)
			continue;
		page_column_u32(at->row, (uint32_t)i - last);
		last = (uint32_t)i;
		page_column_f64(at->bytes, cell_change(now->bytes, old->bytes));
		if (at->blocks)
			page_column_f64(at->blocks, cell_change(now->blocks, old->blocks));
	}
	page_column_u32(at->cells, (uint32_t)(at->row->count - before));
}

bool page_moments_put(const struct page_moments *moments, size_t step, const uint32_t *number_of,
	size_t count, struct page_columns *columns)
{
	_cleanup_free_ struct cell_value *values = calloc(2 * count + 1, sizeof(*values));
	if (!values)
		return false;
	struct cell_columns at = {.before = values, .now = values + count, .count = count};
	begin_columns(moments, columns, &at);
	for (size_t i = 0; i < moments->moments.len; i++) {
		const struct page_moment *moment = &moments->moments.data[i];
		if (!is_kept(moments, step, i))
			continue;
		fill_now(moments, moment, number_of, &at);
		page_column_f64(at.time, (double)moment->time_ns);
		page_column_u8(at.flags, moment->flags);
		page_column_u32(at.mark, moment->mark);
		put_cells(&at);
		memcpy(at.before, at.now, count * sizeof(*at.before));
	}
	return true;
}
