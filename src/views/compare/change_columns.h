/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Columns of figures of two recordings, and how they differ. Inside views/ only. */
#ifndef VIEWS_CHANGE_COLUMNS_H
#define VIEWS_CHANGE_COLUMNS_H

#include "analysis/diff.h"
#include "analysis/spot_totals.h"
#include "table/table.h"

/* A record of one figure: a struct diff_figure. */
extern const struct table_type figure_type;

#define FIGURE_COLUMN(name_, unit_, says_)                                                         \
	{                                                                                          \
		name_, COLUMN_RECORD, unit_, .says = says_, .nested = &figure_type                 \
	}
/* A column a metric, in their order. */
#define FIGURE_COLUMNS                                                                             \
	FIGURE_COLUMN("allocations", UNIT_COUNT, "calls that allocated"),                          \
		FIGURE_COLUMN("allocated_bytes", UNIT_BYTES, "by these"),                          \
		FIGURE_COLUMN("live_bytes", UNIT_BYTES, "live at the end"),                        \
		FIGURE_COLUMN("live_blocks", UNIT_COUNT, "live at the end"),                       \
		FIGURE_COLUMN("kept_bytes", UNIT_BYTES, "of a range, live at its end"),            \
		FIGURE_COLUMN("kept_blocks", UNIT_COUNT, "of a range, live at its end"),           \
		FIGURE_COLUMN("peak_bytes", UNIT_BYTES, "live at the peak"),                       \
		FIGURE_COLUMN("peak_blocks", UNIT_COUNT, "live at the peak"),                      \
		FIGURE_COLUMN("temporary", UNIT_COUNT,                                             \
			"temporary allocations; null: not known, as of samples"),                  \
		FIGURE_COLUMN("failed", UNIT_COUNT, "calls that failed")

/* The cell of a metric's column. row NULL: of the totals. `room` holds it as long as the cell. */
void change_figure_cell(const struct diff *diff, const struct row *row, enum metric metric,
	struct diff_figure *room, struct cell *ret);

/* All of the totals, as a record "totals". */
struct change_totals {
	const struct diff *diff;
	struct diff_figure *room;
};
extern const struct table_type change_totals_type;
/* Rows are of struct rename. */
extern const struct table_type change_renames_type;
struct table change_renames(const struct diff *diff);

/* Two structs of one kind, older and newer, whose members are figures that columns name. */
struct change_pair {
	const struct column *columns; /* COLUMN_OF uint64_t */
	const void *base, *value;
	uint64_t unknown; /* bit set of columns that are not known */
};
/* Cells of a record of such a pair: what was, and by how much there is more. */
void change_base_cell(const void *context, size_t row, unsigned column, struct cell *ret);
void change_change_cell(const void *context, size_t row, unsigned column, struct cell *ret);

/*
 * Defines NAME_base_type and NAME_change_type, records of a struct change_pair, from a macro that
 * gives the columns for a type of column, and NAME_base_columns.
 */
#define CHANGE_PAIR_TYPES(name, FIGURES)                                                           \
	static const struct column name##_base_columns[] = {FIGURES(COLUMN_INTEGER), COLUMNS_END}; \
	static const struct column name##_change_columns[] = {                                     \
		FIGURES(COLUMN_SIGNED), COLUMNS_END};                                              \
	static const struct table_type name##_base_type = {                                        \
		.columns = name##_base_columns, .cell = change_base_cell};                         \
	static const struct table_type name##_change_type = {                                      \
		.columns = name##_change_columns, .cell = change_change_cell}

/* Their columns, and before them the one that says what became of the row. */
#define CHANGE_STATUS_COLUMN                                                                       \
	{                                                                                          \
		"status", COLUMN_TEXT,                                                             \
			.says = "`new`, `grown`, `shrunk`, `gone` or `same`, by the metric of "    \
				"`sorted_by`; of a bucket by its blocks, of `reallocs` by `calls`" \
	}
#define CHANGE_BASE_COLUMN(name)                                                                   \
	{                                                                                          \
		"base", COLUMN_RECORD, .says = "the older figures", .nested = &name##_base_type    \
	}
#define CHANGE_CHANGE_COLUMN(name)                                                                 \
	{                                                                                          \
		"change", COLUMN_RECORD, .says = "the differences, newer less older",              \
					 .nested = &name##_change_type                             \
	}

/* What changed of a row: status, within_error, and of all metrics base and change. */
struct change_row {
	const char *status;
	bool within_error;
	struct change_pair pair;
};
extern const struct table_type change_row_type, change_row_base_type, change_row_change_type;
/* status NULL: by the metric. */
void change_row_fill(struct change_row *ret, const struct diff *diff, const struct row *row,
	enum metric metric, const char *status);

/* As above, for a function, file or module: flat and cum in each. */
struct change_spot {
	const char *status;
	struct change_pair flat, cum;
};
extern const struct table_type change_spot_type;
void change_spot_fill(
	struct change_spot *ret, const struct diff *diff, const struct spot_total *total);

#endif
