/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/compare/change_columns.h"

#include <assert.h>

#include "base/util.h"
#include "views/report/member_columns.h"
#include "views/report/recorded_columns.h"
#include "views/stacks/frames.h"

static void range_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct diff_figure *figure = context;
	(void)column;
	ret->signed_number = row ? figure->high : figure->low;
}

static const struct table_type range_type = {
	.columns = (const struct column[]){{"", COLUMN_SIGNED, .says = "the least, the most"},
		COLUMNS_END},
	.cell = range_cell};

enum { OLDER, NEWER, DIFFERENCE, RANGE, BY_MEAN_SIZES, WITHIN_ERROR };
static const struct column columns[] = {
	[OLDER] = NUMBER_AS("older", diff_figure, base, "in the older one"),
	[NEWER] = NUMBER_AS("newer", diff_figure, value, "in the newer one"),
	[DIFFERENCE] = {"change", COLUMN_SIGNED, .says = "by how much the newer one is more",
		COLUMN_OF(diff_figure, change)},
	[RANGE] = {"range", COLUMN_LIST,
		.says = "of a sampled recording: lowest and highest change that would not make "
			"the estimates a surprise (19 of 20); else null",
		.nested = &range_type},
	[BY_MEAN_SIZES] = {"by_mean_sizes", COLUMN_BOOLEAN,
		.says = "the range rests on all blocks of a stack having its mean size, since a "
			"file does not say how large they are",
		.optional = true, COLUMN_OF(diff_figure, by_mean_sizes)},
	[WITHIN_ERROR] = FLAG_OF(diff_figure, within_error,
		"of a sampled recording: it may be no change at all; of a total: 0 is in "
		"the range; of a row: the ranges of both figures overlap. Where the range "
		"is by mean sizes, those that hold for any sizes decide"),
	COLUMNS_END};

static void figure_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct diff_figure *figure = context;
	(void)row;
	if (column == RANGE)
		ret->nested = (struct table){&range_type, figure, 2, .limit = TABLE_NO_LIMIT};
	else
		table_member(&columns[column], figure, ret);
	if (column == RANGE && !figure->estimated)
		ret->state = CELL_UNKNOWN;
	if (column == BY_MEAN_SIZES && !figure->estimated)
		ret->state = CELL_ABSENT;
}

const struct table_type figure_type = {
	.name = "figure", .says = "a figure of both", .columns = columns, .cell = figure_cell};

void change_figure_cell(const struct diff *diff, const struct row *row, enum metric metric,
	struct diff_figure *room, struct cell *ret)
{
	ret->nested = (struct table){&figure_type, room, 1, .limit = 1};
	if (!diff_knows(diff, metric))
		ret->state = CELL_UNKNOWN;
	else if (row)
		diff_of_row(diff, row, metric, room);
	else
		diff_of_totals(diff, metric, room);
}

static const struct column total_columns[] = {FIGURE_COLUMNS, COLUMNS_END};
static_assert(ARRAY_SIZE(total_columns) == METRICS + 1, "each metric has a column");

static void total_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct change_totals *totals = context;
	(void)row;
	change_figure_cell(totals->diff, NULL, (enum metric)column, totals->room, ret);
}

const struct table_type change_totals_type = {.name = "totals",
	.says = "of both processes, with what libraries keep",
	.columns = total_columns,
	.cell = total_cell};

enum { MOVED, FROM, TO };
static const struct column rename_columns[] = {
	[MOVED] = FLAG_OF(rename, moved, "to another file, under its own name"),
	[FROM] = {"from", COLUMN_RECORD, .says = "a frame of the older one",
		.nested = &plain_frame_type},
	[TO] = {"to", COLUMN_RECORD, .says = "a frame of the newer one",
		.nested = &plain_frame_type},
	COLUMNS_END};

static void rename_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct rename *one = (const struct rename *)context + row;
	if (column == MOVED)
		ret->truth = one->moved;
	else
		cell_take_record(ret, &plain_frame_type, column == FROM ? &one->from : &one->to);
}

const struct table_type change_renames_type = {.name = "renames",
	.says = "functions with another name or file",
	.columns = rename_columns,
	.cell = rename_cell};

struct table change_renames(const struct diff *diff)
{
	const struct rename_vec *renames = &diff->match->renames;
	return (struct table){
		&change_renames_type, renames->data, renames->len, .limit = TABLE_NO_LIMIT};
}

void change_base_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct change_pair *pair = context;
	(void)row;
	table_member(&pair->columns[column], pair->base, ret);
	if (pair->unknown >> column & 1)
		ret->state = CELL_UNKNOWN;
}

void change_change_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct change_pair *pair = context;
	struct cell newer = {.number = 0};
	change_base_cell(context, row, column, ret);
	table_member(&pair->columns[column], pair->value, &newer);
	ret->signed_number = (int64_t)(newer.number - ret->number);
}

#define ROW_FIGURE(member, unit, type)                                                             \
	{                                                                                          \
#member, type, unit, .says = "as in the row itself", COLUMN_OF(site, member)       \
	}
/* In the order of metrics. */
#define ROW_FIGURES(type)                                                                          \
	ROW_FIGURE(allocations, UNIT_COUNT, type), ROW_FIGURE(allocated_bytes, UNIT_BYTES, type),  \
		ROW_FIGURE(live_bytes, UNIT_BYTES, type),                                          \
		ROW_FIGURE(live_blocks, UNIT_COUNT, type),                                         \
		ROW_FIGURE(kept_bytes, UNIT_BYTES, type),                                          \
		ROW_FIGURE(kept_blocks, UNIT_COUNT, type),                                         \
		ROW_FIGURE(peak_bytes, UNIT_BYTES, type),                                          \
		ROW_FIGURE(peak_blocks, UNIT_COUNT, type),                                         \
		ROW_FIGURE(temporary, UNIT_COUNT, type), ROW_FIGURE(failed, UNIT_COUNT, type)
static const struct column base_columns[] = {ROW_FIGURES(COLUMN_INTEGER), COLUMNS_END};
static const struct column change_columns[] = {ROW_FIGURES(COLUMN_SIGNED), COLUMNS_END};
static_assert(ARRAY_SIZE(base_columns) == METRICS + 1, "each metric has a column");
const struct table_type change_row_base_type = {.name = "older_figures",
	.says = "figures of the older recording, null: not known",
	.columns = base_columns,
	.cell = change_base_cell};
const struct table_type change_row_change_type = {.name = "differences",
	.says = "newer less older figures, null: not known",
	.columns = change_columns,
	.cell = change_change_cell};

static struct change_pair pair_of(const struct diff *diff, const struct row *row)
{
	struct change_pair pair = {base_columns, row->base, row->sums, 0};
	for (int i = 0; i < METRICS; i++)
		pair.unknown |= (uint64_t)!diff_knows(diff, (enum metric)i) << i;
	return pair;
}

void change_row_fill(struct change_row *ret, const struct diff *diff, const struct row *row,
	enum metric metric, const char *status)
{
	struct diff_figure figure;
	diff_of_row(diff, row, metric, &figure);
	*ret = (struct change_row){status ? status : diff_status_name(diff_status(diff, row)),
		figure.within_error, pair_of(diff, row)};
}

enum { STATUS, WITHIN, BASE, CHANGE };
static const struct column row_columns[] = {[STATUS] = CHANGE_STATUS_COLUMN,
	[WITHIN] = FLAG_OF(
		change_row, within_error, "the ranges of both estimates of the metric overlap"),
	[BASE] = CHANGE_BASE_COLUMN(change_row),
	[CHANGE] = CHANGE_CHANGE_COLUMN(change_row),
	COLUMNS_END};

static void change_columns_row_cell(
	const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct change_row *change = context;
	(void)row;
	ret->text = change->status;
	ret->truth = change->within_error;
	ret->nested =
		(struct table){column == BASE ? &change_row_base_type : &change_row_change_type,
			&change->pair, 1, .limit = 1};
}

const struct table_type change_row_type = {.columns = row_columns, .cell = change_columns_row_cell};

#define SPOT_FIGURES(name)                                                                         \
	{"flat", COLUMN_RECORD, .says = "of what it asked for itself",                             \
		.nested = &change_row_##name##_type},                                              \
		{"cum", COLUMN_RECORD, .says = "with all that was allocated below it",             \
			.nested = &change_row_##name##_type},                                      \
		COLUMNS_END
static const struct column spot_base_columns[] = {SPOT_FIGURES(base)};
static const struct column spot_change_columns[] = {SPOT_FIGURES(change)};

static void spot_base_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct change_spot *spot = context;
	(void)row;
	ret->nested = (struct table){
		&change_row_base_type, column ? &spot->cum : &spot->flat, 1, .limit = 1};
}

static void spot_change_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	spot_base_cell(context, row, column, ret);
	ret->nested.type = &change_row_change_type;
}

static const struct table_type spot_base_type = {
	.columns = spot_base_columns, .cell = spot_base_cell};
static const struct table_type spot_change_type = {
	.columns = spot_change_columns, .cell = spot_change_cell};

enum { SPOT_STATUS, SPOT_BASE };
static const struct column spot_columns[] = {[SPOT_STATUS] = CHANGE_STATUS_COLUMN,
	[SPOT_BASE] = CHANGE_BASE_COLUMN(spot),
	CHANGE_CHANGE_COLUMN(spot),
	COLUMNS_END};

static void spot_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)row;
	ret->text = ((const struct change_spot *)context)->status;
	ret->nested = (struct table){
		column == SPOT_BASE ? &spot_base_type : &spot_change_type, context, 1, .limit = 1};
}

const struct table_type change_spot_type = {.columns = spot_columns, .cell = spot_cell};

void change_spot_fill(
	struct change_spot *ret, const struct diff *diff, const struct spot_total *total)
{
	*ret = (struct change_spot){diff_status_name(diff_status(diff, &total->cum)),
		pair_of(diff, &total->flat), pair_of(diff, &total->cum)};
}
