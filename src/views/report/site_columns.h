/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sites as rows of tables, in every document that has some: their figures, with the ranges of
 * estimates, and their stack. Inside views/ only. */
#ifndef VIEWS_SITE_COLUMNS_H
#define VIEWS_SITE_COLUMNS_H

#include "analysis/rows.h"
#include "model/model.h"
#include "table/table.h"
#include "views/stacks/frames.h"

struct page;

/* What ranges are of: the totals, or rows. */
struct range_rows {
	const struct recording *recording;
	const struct totals *totals;   /* NULL: of rows */
	const struct row *const *rows; /* NULL: of totals */
};

/* The context of tables of sites. */
struct site_rows {
	struct range_rows ranges;
	struct frame_rows *frames; /* of the stack that is laid out */
	/* For text alone. */
	const struct page *page;
	enum metric metric;        /* heads each row */
	uint64_t whole;            /* that it is a share of */
	bool brief;                /* of a stack the frame to blame, and who called it */
	struct change_row *change; /* of the row that is laid out; without a base NULL */
};

/* A site: kind, figures, ranges, library, stack. Its text is a head and the stack, a line a frame.
 */
extern const struct table_type site_type;
/* What is to be said of a row's stack, and the stack: the end of a site. */
extern const struct table_type row_stack_type;
/* "ranges" of the totals of a recording: its context is struct range_rows. */
extern const struct table_type total_ranges_type;
/* As the columns "ranges" and "by_mean_sizes" have them, of a row or the totals. */
void ranges_cell(
	const struct range_rows *rows, size_t row, const struct table_type *type, struct cell *ret);
void by_mean_sizes_cell(const struct range_rows *rows, size_t row, struct cell *ret);

/* Whether the source says the figure that JSON calls so. */
bool figure_is_known(const struct recording *recording, const char *name);

/* The site of one row as a record, into a cell of a column without a name; `rows` is changed. */
void site_cell(struct site_rows *rows, const struct row *const *row, struct cell *ret);
/* As above, only for its stack (STACK_COLUMN). */
void site_stack_cell(struct site_rows *rows, const struct row *const *row, struct cell *ret);
#define STACK_COLUMN                                                                               \
	{                                                                                          \
		"", COLUMN_RECORD, .nested = &row_stack_type                                       \
	}
#define KIND_COLUMN                                                                                \
	{                                                                                          \
		"kind", COLUMN_TEXT,                                                               \
			.says = "which function was called: `malloc`, `calloc`, `realloc`, "       \
				"`posix_memalign`, `aligned_alloc`, `memalign`, `valloc`, "        \
				"`pvalloc`, `operator new`, `operator new[]`, or `unknown`"        \
	}
/* Adds which function was called, before a stack: "  from malloc at\n". */
void row_add_kind(enum alloc_kind kind, struct text *out);
/* The text of a row, as struct table_type wants it. */
void site_row_text(const void *context, size_t row, struct text *out);

#endif
