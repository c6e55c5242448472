/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/report/site_columns.h"

#include <assert.h>
#include <string.h>

#include "analysis/interval.h"
#include "base/util.h"
#include "table/answer.h"
#include "views/report/json_parts.h"
#include "views/report/member_columns.h"
#include "views/report/page.h"

/* Figures that are estimated. */
static const enum metric ranged[] = {METRIC_ALLOCATIONS, METRIC_ALLOCATED_BYTES, METRIC_LIVE_BLOCKS,
	METRIC_LIVE_BYTES, METRIC_PEAK_BLOCKS, METRIC_PEAK_BYTES, METRIC_FAILED};

static const struct column bound_columns[] = {
	{"", COLUMN_INTEGER, .says = "the least and the most"}, COLUMNS_END};

static bool find_range(
	const struct range_rows *rows, size_t row, size_t number, struct interval *ret)
{
	return rows->totals ? interval_of_totals(rows->recording, ranged[number], rows->totals, ret)
			    : interval_of_site(
				      rows->recording, ranged[number], rows->rows[row]->sums, ret);
}

/* Two rows a range, all ranges of a row behind each other. */
static void bound_cell(const void *context, size_t number, unsigned column, struct cell *ret)
{
	struct interval range = {0};
	size_t which = number / 2;
	(void)column;
	find_range(context, which / ARRAY_SIZE(ranged), which % ARRAY_SIZE(ranged), &range);
	ret->number = number % 2 ? range.high : range.low;
}

static const struct table_type bound_type = {.columns = bound_columns, .cell = bound_cell};

static void range_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	struct interval range;
	size_t first = 2 * (row * ARRAY_SIZE(ranged) + column);
	ret->nested = (struct table){&bound_type, context, 2, .first = first, .limit = 2};
	if (!find_range(context, row, column, &range))
		ret->state = CELL_ABSENT;
}

#define RANGE(name)                                                                                \
	{                                                                                          \
		name, COLUMN_LIST, .optional = true,                                               \
				   .says = "the true figure lies in it in 19 of 20 "               \
					   "recordings",                                           \
				   .nested = &bound_type                                           \
	}
#define RANGES(live_blocks, live_bytes)                                                            \
	RANGE("allocations"), RANGE("allocated_bytes"), RANGE(live_blocks), RANGE(live_bytes),     \
		RANGE("peak_blocks"), RANGE("peak_bytes"), RANGE("failed"), COLUMNS_END
static const struct column range_columns[] = {RANGES("live_blocks", "live_bytes")};
static const struct column total_range_columns[] = {
	RANGES("live_blocks_at_end", "live_bytes_at_end")};

static const struct table_type ranges_type = {
	.name = "ranges", .columns = range_columns, .cell = range_cell};
const struct table_type total_ranges_type = {
	.name = "ranges", .columns = total_range_columns, .cell = range_cell};

void ranges_cell(
	const struct range_rows *rows, size_t row, const struct table_type *type, struct cell *ret)
{
	ret->nested = (struct table){type, rows, 1, .limit = 1};
	ret->row = row;
	ret->state = rows->recording->sample_bytes ? CELL_KNOWN : CELL_UNKNOWN;
}

void by_mean_sizes_cell(const struct range_rows *rows, size_t row, struct cell *ret)
{
	struct interval range;
	ret->state = rows->recording->sample_bytes ? CELL_KNOWN : CELL_ABSENT;
	for (size_t i = 0; ret->state == CELL_KNOWN && i < ARRAY_SIZE(ranged); i++)
		ret->truth |= find_range(rows, row, i, &range) && range.by_mean_sizes;
}

bool figure_is_known(const struct recording *recording, const char *name)
{
	static const struct {
		const char *name;
		uint32_t unknown;
	} others[] = {{"frees", UNKNOWN_FREES}, {"live_blocks_at_end", UNKNOWN_LIVE_BLOCKS},
		{"live_bytes_at_end", UNKNOWN_LIVE_BYTES}, {"peak_time_ns", UNKNOWN_TIMES},
		{"threads", UNKNOWN_THREADS},
		{"max_failed_size", UNKNOWN_FAILED | UNKNOWN_FAILED_SIZE},
#define COUNTER_UNKNOWN_(name, how, column, part, unknown) {#name, unknown},
		SITE_COUNTERS(COUNTER_UNKNOWN_)
#undef COUNTER_UNKNOWN_
	};
	enum metric metric;
	if (!recording->unknown)
		return true;
	if (metric_find(name, &metric))
		return metric_is_known(metric, recording);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strcmp(others[i].name, name) == 0)
			return !(recording->unknown & others[i].unknown);
	return true;
}

enum { MERGED_STACKS, PARTIAL, TRUNCATED, REASON, GUESSED, STACK };
static const struct column stack_columns[] = {
	[MERGED_STACKS] =
		COUNT_AS("merged_stacks", row, stacks, "recorded sites that this one stands for"),
	[PARTIAL] = FLAG_OF(
		row, partial, "`stack` is only the innermost part, which all merged stacks share"),
	[TRUNCATED] = {"truncated", COLUMN_BOOLEAN, .says = "the recorded stack is not whole"},
	[REASON] = {"truncated_reason", COLUMN_TEXT,
		.says = "`depth-limit`, `no-unwind-info`, `table-full`, `in-signal-handler` or "
			"`python-frames`; null: it is whole"},
	[GUESSED] = FLAG_OF(row, guessed, "some outer frames were found by frame pointers alone"),
	[STACK] = {"stack", COLUMN_TABLE,
		.says = "innermost frame first; whole: what text folds is in it, but not the "
			"allocator's own innermost frames (`malloc`, `operator new`…), nor those "
			"of Python's interpreter in a stack of Python, unless `--all-frames` is "
			"given",
		.nested = &frame_type},
	COLUMNS_END};

static void site_columns_stack_cell(
	const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct site_rows *rows = context;
	const struct row *row = rows->ranges.rows[number];
	switch (column) {
	case TRUNCATED:
		ret->truth = row->cut != MARK_NONE;
		break;
	case REASON:
		ret->text = stack_mark_cut(row->cut);
		break;
	case STACK:
		frame_rows_cell(rows->frames, row->frames, row->depth, row_is_own_doing(row), ret);
		break;
	default:
		table_member(&stack_columns[column], row, ret);
	}
}

const struct table_type row_stack_type = {
	.name = "stack", .columns = stack_columns, .cell = site_columns_stack_cell};

#define FIGURE(member, unit, what)                                                                 \
	{                                                                                          \
#member, COLUMN_INTEGER, unit, .says = what, COLUMN_OF(site, member)               \
	}
#define BYTES(member, what) FIGURE(member, UNIT_BYTES, what)
#define COUNT(member, what) FIGURE(member, UNIT_COUNT, what)

enum {
	KIND,
	FIRST_FIGURE,
	FIGURES = 13,
	RANGES = FIRST_FIGURE + FIGURES,
	BY_MEAN_SIZES,
	LIBRARY,
	FITS_ON_STACK,
	ROW_STACK
};
static const struct column columns[] = {[KIND] = KIND_COLUMN,
	[FIRST_FIGURE] = COUNT(allocations, "successful calls"),
	BYTES(allocated_bytes, "that they asked for"),
	COUNT(live_blocks, "at the end"),
	BYTES(live_bytes, "at the end"),
	COUNT(kept_blocks, "of these, allocated in the range: all of them if there is none"),
	BYTES(kept_bytes, "of these blocks"),
	COUNT(peak_blocks, "the share at the peak of the process"),
	BYTES(peak_bytes, "of these blocks"),
	COUNT(temporary, "calls whose block was freed at once; null: not known, as of samples"),
	COUNT(failed, "calls that failed"),
	BYTES(min_size, "the smallest size that was allocated; 0: none was"),
	BYTES(max_size, "the largest size that was allocated; 0: none was"),
	BYTES(max_failed_size,
		"the largest size that a failed call asked for; 0: none failed; null: not known, "
		"as of samples, older recordings and most files of other tools"),
	[RANGES] = {"ranges", COLUMN_RECORD,
		.says = "what estimates may be; null: the figures are none",
		.nested = &ranges_type},
	[BY_MEAN_SIZES] = {"by_mean_sizes", COLUMN_BOOLEAN, .optional = true,
		.says = "ranges of numbers of blocks take all blocks of a stack for blocks of its "
			"mean size (docs/formats.md)"},
	[LIBRARY] = WORD_OF(row, library,
		"the library's own: what it is (`stdio-buffer`…); null: the program's"),
	[FITS_ON_STACK] = FLAG_OF(row, fits_on_stack,
		"each block had the same small size and was freed by the frame that "
		"allocated it; null: not known, as of samples"),
	[ROW_STACK] = {"", COLUMN_RECORD, .nested = &row_stack_type},
	COLUMNS_END};
static_assert(ARRAY_SIZE(columns) == ROW_STACK + 2, "figures are as many as FIGURES says");

static void site_columns_cell_of(
	const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct site_rows *rows = context;
	const struct row *row = rows->ranges.rows[number];
	const struct recording *recording = rows->ranges.recording;
	switch (column) {
	case KIND:
		ret->text = alloc_kind_name(row->sums->kind);
		break;
	case RANGES:
		ranges_cell(&rows->ranges, number, &ranges_type, ret);
		break;
	case BY_MEAN_SIZES:
		by_mean_sizes_cell(&rows->ranges, number, ret);
		break;
	case LIBRARY:
		ret->text = row->library;
		break;
	case FITS_ON_STACK:
		ret->truth = row->fits_on_stack;
		if (!metric_is_known(METRIC_TEMPORARY, recording))
			ret->state = CELL_UNKNOWN;
		break;
	case ROW_STACK:
		ret->nested = (struct table){&row_stack_type, rows, 1, .limit = 1};
		ret->row = number;
		break;
	default:
		table_member(&columns[column], row->sums, ret);
		if (recording->unknown && !figure_is_known(recording, columns[column].name))
			ret->state = CELL_UNKNOWN;
	}
}

const struct table_type site_type = {.name = "site",
	.says = "stacks that read the same and the function that was called there; null: the "
		"source does not say it",
	.columns = columns,
	.cell = site_columns_cell_of,
	.row_text = site_row_text};

void site_stack_cell(struct site_rows *rows, const struct row *const *row, struct cell *ret)
{
	rows->ranges.rows = row;
	ret->nested = (struct table){&row_stack_type, rows, 1, .limit = 1};
}

void site_cell(struct site_rows *rows, const struct row *const *row, struct cell *ret)
{
	rows->ranges.rows = row;
	ret->nested = (struct table){&site_type, rows, 1, .limit = 1};
}

void row_add_kind(enum alloc_kind kind, struct text *out)
{
	if (kind == KIND_UNKNOWN)
		text_add(out, "  from\n");
	else
		text_printf(out, "  from %s at\n", alloc_kind_name(kind));
}
