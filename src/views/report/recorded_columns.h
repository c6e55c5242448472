/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an answer is about, as tables: the program, how it was recorded and read, sentences. Inside
 * views/ only. */
#ifndef VIEWS_RECORDED_COLUMNS_H
#define VIEWS_RECORDED_COLUMNS_H

#include "base/error.h"
#include "model/model.h"
#include "table/table.h"
#include "views/report/head.h"

/* One of the recordings that an answer is about. */
struct process_order;
struct recorded {
	const struct model *model;
	const char *label; /* as it was named on the command line; NULL: that is not told */
	const struct unrecorded_groups *unrecorded; /* NULL leaves them out */
	struct process_order *processes;            /* with them: room for those of one */
};

/* Rows are of struct recorded: the label, `target`, `recording`. */
extern const struct table_type recorded_type;
/* As the member "base" of a report, and in "older" of a timeline. */
extern const struct table_type change_base_type, change_older_type;
/* A list of the lines of a struct text; what other types of such lists have. */
extern const struct table_type lines_type;
extern const struct column line_columns[];
void line_cell(const void *context, size_t row, unsigned column, struct cell *ret);
struct table lines_table(const struct table_type *type, const struct text *lines);

/* Cells of these types. The text of lines is borrowed. */
void cell_take_record(struct cell *cell, const struct table_type *type, const void *row);
void cell_take_lines(struct cell *cell, const struct text *lines);
/* Such a cell of a filter: as options of a command line; unknown without one (or NULL). */
struct filter;
void cell_take_filter(struct cell *cell, const struct filter *filter);

#define RECORDED_COLUMNS                                                                           \
	{"target", COLUMN_RECORD, .says = "the program", .nested = &report_target_type},           \
	{                                                                                          \
		"recording", COLUMN_RECORD, .says = "how it was recorded and read",                \
					    .nested = &report_recording_type                       \
	}
#define VERDICT_COLUMN                                                                             \
	{                                                                                          \
		"verdict", COLUMN_LIST, .says = "the answer in sentences, the weightiest first",   \
					.nested = &lines_type                                      \
	}
#define NOTES_COLUMN                                                                               \
	{                                                                                          \
		"notes", COLUMN_LIST, .says = "what limits the figures", .nested = &lines_type     \
	}
#define FILTER_COLUMN                                                                              \
	{                                                                                          \
		"filter", COLUMN_TEXT,                                                             \
			.says = "what chooses stacks and frames, as options, or null: totals are " \
				"of all of them"                                                   \
	}

#endif
