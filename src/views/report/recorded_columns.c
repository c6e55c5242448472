/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/report/recorded_columns.h"

#include <string.h>

#include "analysis/filter.h"
#include "table/answer.h"
#include "views/views.h"

void cell_take_record(struct cell *cell, const struct table_type *type, const void *row)
{
	cell->nested = (struct table){type, row, 1, .limit = 1};
}

const struct column line_columns[] = {{"", COLUMN_TEXT, .says = "a sentence"}, COLUMNS_END};

void line_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct text *text = context;
	const char *line = text->data, *end = line + text->len;
	(void)column;
	while (row--)
		line = (const char *)memchr(line, '\n', (size_t)(end - line)) + 1;
	const char *newline = memchr(line, '\n', (size_t)(end - line));
	text_add_n(&ret->built, line, (size_t)((newline ? newline : end) - line));
	cell_take_built(ret);
}

const struct table_type lines_type = {.columns = line_columns, .cell = line_cell};

struct table lines_table(const struct table_type *type, const struct text *lines)
{
	size_t count = 0;
	for (size_t i = 0; i < lines->len; i++)
		count += lines->data[i] == '\n' || i + 1 == lines->len;
	return (struct table){type, lines, count, .limit = TABLE_NO_LIMIT};
}

void cell_take_lines(struct cell *cell, const struct text *lines)
{
	cell->nested = lines_table(&lines_type, lines);
}

void cell_take_filter(struct cell *cell, const struct filter *filter)
{
	if (filter_is_given(filter))
		filter_add_options(filter, &cell->built);
	cell->text = cell->built.len ? cell->built.data : NULL;
}

static void recorded_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct recorded *recorded = &((const struct recorded *)context)[row];
	if (!column)
		ret->text = recorded->label;
	else if (column == 1)
		cell_take_record(ret, &report_target_type, model_target(recorded->model));
	else
		cell_take_record(ret, &report_recording_type, recorded);
}

static const struct column recorded_columns[] = {
	{"label", COLUMN_TEXT, .says = "as given on the command line"}, RECORDED_COLUMNS,
	COLUMNS_END};

const struct table_type recorded_type = {.name = "recorded",
	.says = "one of the recordings that an answer is about",
	.columns = recorded_columns,
	.cell = recorded_cell};
const struct table_type change_base_type = {.name = "base",
	.says = "what the recording is compared with",
	.columns = recorded_columns,
	.cell = recorded_cell};
const struct table_type change_older_type = {.within = "older",
	.says = "view `timeline`: the older recording",
	.columns = recorded_columns,
	.cell = recorded_cell};
