/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of a table of the heap's: which of them are wanted, and in which order. */
#ifndef VIEWS_HEAP_ROWS_H
#define VIEWS_HEAP_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"

enum rows_kind {
	ROWS_AMOUNT, /* a number; the largest comes first */
	ROWS_PLACE,  /* an address, or a number that goes up */
	ROWS_TEXT,   /* in the order of its bytes */
};

struct rows_column {
	const char *name; /* NULL ends a table of columns */
	enum rows_kind kind;
};

struct rows_cell {
	uint64_t number;
	const char *text;  /* of ROWS_TEXT; NULL: it has none */
	bool is_unknown;   /* fits nothing, and comes last */
	bool is_makeshift; /* the text only stands for a name that nobody knows: comes behind names
			    */
};

/* The words of a user: "bytes>=1m", "type=node*", "state!=free", "type~string". */
DEFINE_VEC(rows_words, const char *)

/* What is asked of a table. */
struct rows_asked {
	const char *sort; /* a column; with '-' before it in the other order; NULL: as it is */
	struct rows_words where; /* borrowed; all must fit */
	bool count_only;
};

struct rows_test {
	unsigned column;
	bool is_not, has_part; /* of texts: '~' */
	uint64_t least, most;  /* of numbers */
	const char *pattern;   /* of texts; borrowed */
};
DEFINE_VEC(rows_tests, struct rows_test)

/* The same, in terms of a table's columns. */
struct heap_rows {
	const struct rows_column *columns;
	void (*cell)(const void *context, size_t row, unsigned column, struct rows_cell *ret);
	struct rows_tests tests;
	bool is_sorted, is_turned;
	unsigned sort;
};

/* asked NULL: all as it is. ERROR_USAGE says which columns there are. */
struct error *heap_rows_open(const struct rows_column *columns,
	void (*cell)(const void *context, size_t row, unsigned column, struct rows_cell *ret),
	const struct rows_asked *asked, struct heap_rows *ret) must_check_;
void heap_rows_close(struct heap_rows *rows);

/* Whether a row is wanted. */
bool heap_rows_take(const struct heap_rows *rows, const void *context, size_t row);

/* The numbers of the rows that are wanted, of `count`, in their order; the caller frees. */
struct error *heap_rows_choose(const struct heap_rows *rows, const void *context, size_t count,
	size_t **ret_order, size_t *ret_count) must_check_;

/* "4096", "1k..", "..64k", "1k..2m": both ends are among it; units are powers of 1,024. False: it
 * is none of these. */
bool heap_rows_range(const char *text, uint64_t *ret_least, uint64_t *ret_most);

#endif
