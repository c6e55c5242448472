/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/notable.h"

bool notable_growth(const struct growth_row *row, uint64_t judged_ns, uint64_t peak_bytes)
{
	return row->verdict == GROWTH_LEAK && judged_ns >= NOTABLE_GROWTH_NS &&
	       row->grown_bytes >= (int64_t)NOTABLE_GROWTH_BYTES &&
	       (uint64_t)row->grown_bytes >= peak_bytes / NOTABLE_GROWTH_PART;
}

bool notable_reallocs(const struct realloc_row *row)
{
	const struct realloc_site *sums = &row->sums;
	return row->stepwise && sums->longest >= NOTABLE_CHAIN &&
	       sums->copied_bytes >= NOTABLE_COPIED_BYTES &&
	       sums->copied_bytes / NOTABLE_COPIED_TIMES >= sums->longest_to;
}

bool notable_churn(const struct totals *totals)
{
	return totals->allocations >= NOTABLE_CHURN_ALLOCATIONS && totals->peak_bytes &&
	       totals->allocated_bytes / NOTABLE_CHURN_TIMES >= totals->peak_bytes;
}

uint64_t notable_short_lived(const struct lifetimes *lives)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < LIFE_BUCKETS; i++)
		if (life_bucket_most(i) <= NOTABLE_SHORT_OTHERS)
			sum += lives->by_others[i].freed_blocks;
	return sum;
}

/* The first ones: they grew most. */
#define SITES_NAMED 2u

void notable_describe_growth(
	const struct totals *totals, const struct growth *growth, struct text *text)
{
	size_t notable = 0;
	for (size_t i = 0; growth && i < growth->suspects.len; i++) {
		const struct growth_row *row = &growth->suspects.data[i];
		if (!notable_growth(row, growth->until_ns - growth->from_ns, totals->peak_bytes))
			continue;
		if (notable++ < SITES_NAMED)
			growth_describe_suspect(row, growth->until_ns, text);
	}
	if (notable > SITES_NAMED) {
		size_t more = notable - SITES_NAMED;
		text_printf(text, "%zu more %s growing (report --view growth).\n", more,
			more == 1 ? "allocation site keeps" : "allocation sites keep");
	}
}

void notable_describe_reallocs(const struct reallocs *reallocs, struct text *text)
{
	size_t notable = 0;
	for (size_t i = 0; reallocs && i < reallocs->rows.len; i++)
		if (notable_reallocs(&reallocs->rows.data[i]) && notable++ < SITES_NAMED)
			realloc_row_describe(&reallocs->rows.data[i], text);
}
