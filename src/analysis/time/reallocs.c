/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/reallocs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/summary.h"
#include "base/cleanup.h"

/* A place grows blocks step by step if one of them was reallocated so often … */
#define CHAIN_LEAST 16u
/* … and they grow by less than that in the mean. Growing by half, or by the golden ratio, does not.
 */
#define FACTOR_MOST 1.25

void reallocs_init(struct reallocs *reallocs)
{
	realloc_rows_init(&reallocs->rows);
	text_init(&reallocs->verdict);
}

void reallocs_deinit(struct reallocs *reallocs)
{
	realloc_rows_deinit(&reallocs->rows);
	text_deinit(&reallocs->verdict);
}

void realloc_site_add(struct realloc_site *sums, const struct realloc_site *site)
{
	sums->calls += site->calls;
	sums->grown += site->grown;
	sums->shrunk += site->shrunk;
	sums->grown_bytes += site->grown_bytes;
	sums->copied_bytes += site->copied_bytes;
	sums->chains += site->chains;
	sums->log2_factors += site->log2_factors;
	if (site->longest > sums->longest) {
		sums->longest = site->longest;
		sums->longest_from = site->longest_from;
		sums->longest_to = site->longest_to;
	}
	if (site->step_bytes == sums->step_bytes) {
		sums->step_count += site->step_count;
	} else if (site->step_count > sums->step_count) {
		sums->step_bytes = site->step_bytes;
		sums->step_count = site->step_count;
	}
}

static unsigned doublings_between(uint64_t from, uint64_t to)
{
	unsigned count = 0;
	for (double size = from ? (double)from : 1; size < (double)to; size *= 2)
		count++;
	return count;
}

void realloc_row_conclude(struct realloc_row *row)
{
	const struct realloc_site *sums = &row->sums;
	row->factor = sums->grown ? exp2(sums->log2_factors / (double)sums->grown) : 0;
	row->doublings = doublings_between(sums->longest_from, sums->longest_to);
	row->stepwise = sums->longest >= CHAIN_LEAST && sums->grown >= CHAIN_LEAST &&
			row->factor < FACTOR_MOST && row->doublings < sums->longest / 2;
}

static int reallocs_compare_rows(const void *left, const void *right)
{
	const struct realloc_row *a = left, *b = right;
	if (a->sums.copied_bytes != b->sums.copied_bytes)
		return a->sums.copied_bytes > b->sums.copied_bytes ? -1 : 1;
	if (a->sums.calls != b->sums.calls)
		return a->sums.calls > b->sums.calls ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static void describe_step(const struct realloc_row *row, struct text *text)
{
	const struct realloc_site *sums = &row->sums;
	bool usual = sums->step_count * 2 >= sums->grown;
	text_add(text, " grows by ");
	text_add_bytes(text, usual ? sums->step_bytes : sums->grown_bytes / sums->grown);
	text_add(text, usual ? " at a time: " : " on average: ");
}

void realloc_row_describe(const struct realloc_row *row, struct text *text)
{
	const struct realloc_site *sums = &row->sums;
	if (row->row->place)
		summary_add_place(text, row->row->place);
	else
		text_add(text, "An unnamed allocation site");
	describe_step(row, text);
	text_add_count(text, sums->calls);
	text_add(text, " reallocs may have copied ");
	text_add_bytes(text, sums->copied_bytes);
	text_add(text, "; for the longest chain, ");
	text_add_count(text, sums->longest);
	text_add(text, " reallocs from ");
	text_add_bytes(text, sums->longest_from);
	text_add(text, " to ");
	text_add_bytes(text, sums->longest_to);
	text_printf(text, ", doubling would have needed %u.\n", row->doublings);
}

#define SITES_NAMED 3u

static void reallocs_describe(struct reallocs *reallocs)
{
	size_t stepwise = 0;
	for (size_t i = 0; i < reallocs->rows.len; i++)
		if (reallocs->rows.data[i].stepwise && stepwise++ < SITES_NAMED)
			realloc_row_describe(&reallocs->rows.data[i], &reallocs->verdict);
	if (stepwise > SITES_NAMED)
		text_printf(&reallocs->verdict,
			"%zu more allocation sites grow blocks step by step.\n",
			stepwise - SITES_NAMED);
	if (!reallocs->rows.len)
		text_add(&reallocs->verdict, "No block was reallocated.\n");
	else if (!stepwise)
		text_add(&reallocs->verdict, "No allocation site grows blocks step by step.\n");
}

static struct error *reallocs_add_sites(const struct model *model, const uint32_t *row_of_site,
	const struct rows *rows, struct reallocs *ret)
{
	_cleanup_free_ uint32_t *places = calloc(rows->rows.len + 1, sizeof(*places));
	if (!places)
		return error_no_memory();
	size_t count;
	const struct realloc_site *sites = model_reallocs(model, &count);
	for (size_t i = 0; i < count; i++) {
		uint32_t number = row_of_site[sites[i].site];
		if (number == ROWS_NONE)
			continue;
		if (places[number]) {
			realloc_site_add(&ret->rows.data[places[number] - 1].sums, &sites[i]);
			continue;
		}
		struct realloc_row row = {.row = &rows->rows.data[number], .sums = sites[i]};
		if (!realloc_rows_push(&ret->rows, row))
			return error_no_memory();
		places[number] = (uint32_t)ret->rows.len;
	}
	return NULL;
}

struct error *reallocs_build(const struct model *model, struct resolver *resolver,
	const struct rows *rows, struct reallocs *ret)
{
	_cleanup_free_ uint32_t *row_of_site = NULL;
	struct error *error = rows_of_sites(model, resolver, rows, &row_of_site);
	if (!error)
		error = reallocs_add_sites(model, row_of_site, rows, ret);
	if (error)
		return error;
	for (size_t i = 0; i < ret->rows.len; i++)
		realloc_row_conclude(&ret->rows.data[i]);
	if (ret->rows.len)
		qsort(ret->rows.data, ret->rows.len, sizeof(*ret->rows.data),
			reallocs_compare_rows);
	reallocs_describe(ret);
	return ret->verdict.failed ? error_no_memory() : NULL;
}
