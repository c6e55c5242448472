/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Column sets (FORMAT.md, "Columns"): each column becomes a cursor of its own. */
#ifndef SOURCES_HPW_COLUMNS_H
#define SOURCES_HPW_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accounts/site_columns.h"
#include "base/cursor.h"
#include "sources/recording/hpw_file.h"

struct hpw_column {
	struct cursor cursor; /* empty if the column is missing */
	bool present;
};

/* Fills columns[0 … limit - 1]; columns with larger numbers are skipped. Twice the same: refused.
 */
struct error *hpw_columns_open(
	const struct hpw_payload *payload, struct hpw_column *columns, size_t limit);

/* Finds a single column; *ret says if it is missing. */
struct error *hpw_columns_find(
	const struct hpw_payload *payload, uint64_t number, struct hpw_column *ret);

/*
 * Counts the rows, and checks that the columns present in `mask` (bit = number) have equally many
 * varints; 0 if there is none.
 */
struct error *hpw_columns_rows(
	const struct hpw_column *columns, size_t limit, uint32_t mask, size_t *ret);

/*
 * Reads the next `count` numbers into ret; all 0 if the column is missing. For loops over millions
 * of rows: it decodes runs of small numbers eight at a time.
 */
struct error *hpw_column_read(struct hpw_column *column, uint64_t *ret, size_t count) must_check_;

/* Returns what is not known where site_columns[i] has no column: of enum unknown_figure. */
uint32_t hpw_columns_unknown(size_t i);

/* Finds the next row's number; 0 if the column is missing. */
static inline struct error *hpw_column_next(struct hpw_column *column, uint64_t *ret)
{
	if (!column->present) {
		*ret = 0;
		return NULL;
	}
	return cursor_try_varint(&column->cursor, ret) ? NULL : cursor_varint(&column->cursor, ret);
}

#endif
