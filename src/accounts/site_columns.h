/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters of a site as columns of a recording (FORMAT.md, SITE_STATS and SUMS), for
 * their writer and their reader. */
#ifndef ACCOUNTS_SITE_COLUMNS_H
#define ACCOUNTS_SITE_COLUMNS_H

#include <stddef.h>

#include "accounts/counters.h"
#include "format/hpw.h"

/* No column has the counter. */
#define SITE_COLUMN_NONE HPW_SUMS_COLUMNS

enum site_counter_how {
	SITE_COUNTER_SUM,
	SITE_COUNTER_LIVE_BLOCKS,
	SITE_COUNTER_LIVE_BYTES,
	SITE_COUNTER_PEAK,
	SITE_COUNTER_LEAST,
	SITE_COUNTER_MOST,
};

struct site_column {
	uint32_t stored; /* enum hpw_site_column */
	uint32_t part;   /* enum hpw_sums_column, or SITE_COLUMN_NONE */
	enum site_counter_how how;
	size_t place; /* in struct site_counters */
};

/* In the order of SITE_COUNTERS. */
extern const struct site_column site_columns[SITE_COUNTERS_COUNT];

/* Returns what the column of SITE_STATS, or of SUMS, has of the counters. */
uint64_t site_column_stored(const struct site_column *column, const struct site_counters *from);
uint64_t site_column_part(const struct site_column *column, const struct site_counters *from);

/* Takes a figure from a column. Columns come in the order of site_columns. */
void site_column_take_stored(
	const struct site_column *column, uint64_t value, struct site_counters *ret);
void site_column_take_part(
	const struct site_column *column, uint64_t value, struct site_counters *ret);

#endif
