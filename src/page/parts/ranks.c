/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "page/parts/lost.h"
#include "page/parts/stacks.h"

struct ranked_row {
	double share;
	uint32_t row;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked_row *x = a, *y = b;
	if (x->share != y->share)
		return x->share < y->share ? 1 : -1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* What there is of a metric: in a comparison by how much it changed, or in the larger of both. */
typedef double amount_of(const struct row *row, enum metric metric);

static double larger_amount(const struct row *row, enum metric metric)
{
	return fmax((double)metric_of_site(metric, row->sums),
		(double)metric_of_site(metric, row->base));
}

static double change_amount(const struct row *row, enum metric metric)
{
	return fabs((double)row_value(row, metric));
}

static void raise_shares(
	const struct rows *rows, enum metric metric, amount_of *amount, struct ranked_row *ret)
{
	double whole = 0;
	for (size_t i = 0; i < rows->rows.len; i++)
		whole += amount(&rows->rows.data[i], metric);
	for (size_t i = 0; whole > 0 && i < rows->rows.len; i++)
		ret[i].share = fmax(ret[i].share, amount(&rows->rows.data[i], metric) / whole);
}

static void raise_lost_shares(const struct page_lost *lost, size_t count, struct ranked_row *ret)
{
	double whole = 0;
	for (size_t i = 0; i < count; i++)
		whole += (double)lost[i].bytes;
	for (size_t i = 0; whole > 0 && i < count; i++)
		ret[i].share = fmax(ret[i].share, (double)lost[i].bytes / whole);
}

static void raise_moment_shares(
	const struct page_moments *moments, size_t count, struct ranked_row *ret)
{
	double whole = 0;
	for (size_t i = 0; i < count; i++)
		whole += (double)moments->most[i];
	for (size_t i = 0; whole > 0 && i < count; i++)
		ret[i].share = fmax(ret[i].share, (double)moments->most[i] / whole);
}

struct error *page_ranks_build(
	const struct profile *profile, const struct page_moments *moments, struct page_ranks *ret)
{
	const struct rows *rows = profile_rows(profile);
	size_t count = rows->rows.len;
	_cleanup_free_ struct ranked_row *ranked = calloc(count + 1, sizeof(*ranked));
	ret->rows = calloc(count + 1, sizeof(*ret->rows));
	_cleanup_free_ struct page_lost *lost = NULL;
	struct error *error =
		ranked && ret->rows ? page_lost_build(profile, &lost) : error_no_memory();
	if (error)
		return error;
	for (size_t i = 0; i < count; i++)
		ranked[i].row = (uint32_t)i;
	for (int metric = 0; metric < METRICS; metric++) {
		raise_shares(rows, (enum metric)metric, larger_amount, ranked);
		if (profile->base)
			raise_shares(rows, (enum metric)metric, change_amount, ranked);
	}
	if (lost)
		raise_lost_shares(lost, count, ranked);
	if (moments->most)
		raise_moment_shares(moments, count, ranked);
	qsort(ranked, count, sizeof(*ranked), compare_ranked);
	for (size_t i = 0; i < count && ranked[i].share > 0; i++)
		ret->rows[ret->count++] = ranked[i].row;
	return NULL;
}

void page_ranks_deinit(struct page_ranks *ranks)
{
	free(ranks->rows);
	*ranks = (struct page_ranks){.rows = NULL};
}
