/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of a table: which of them are wanted, and in which order. */
#ifndef TABLE_SELECT_H
#define TABLE_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "table/table.h"

/* The words of a user: "bytes>=1m", "type=node*", "state!=free", "type~string". */
DEFINE_VEC(table_words, const char *)

/* What is asked of a table. */
struct table_asked {
	const char *sort; /* a column; with '-' before it in the other order; NULL: as it is */
	struct table_words where; /* borrowed; all must fit */
	bool count_only;
};

struct table_test {
	unsigned column;
	bool is_not, has_part; /* of texts: '~' */
	uint64_t least, most;  /* of numbers */
	const char *pattern;   /* of texts; borrowed */
};
DEFINE_VEC(table_tests, struct table_test)

/* As above, in terms of a table's columns. */
struct table_select {
	const struct table_type *type;
	struct table_tests tests;
	bool is_sorted, is_turned;
	unsigned sort;
};

/* asked NULL: all rows as they are. ERROR_USAGE says which columns there are, or what a condition
 * looks like. */
struct error *table_select_open(const struct table_type *type, const struct table_asked *asked,
	struct table_select *ret) must_check_;
void table_select_close(struct table_select *select);

/* Whether a row is wanted. `cell` is room for its cells. */
bool table_select_takes(const struct table_select *select, const struct table *table, size_t row,
	struct cell *cell);

/* Puts the rows that are wanted into table->order, which the caller frees, and table->count. */
struct error *table_select_order(
	const struct table_select *select, struct table *table, size_t **ret_order) must_check_;

/* "4096", "1k..", "..64k", "1k..2m": both ends are among it; units are powers of 1,024. False: it
 * is none of these. */
bool table_select_range(const char *text, uint64_t *ret_least, uint64_t *ret_most);

#endif
