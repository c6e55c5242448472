/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The view lifetimes: histograms with bars. */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/util.h"
#include "views/report/histogram_axis.h"
#include "views/report/page.h"
#include "views/report/report_answers.h"
#include "views/report/text_parts.h"

#define BAR_WIDTH TEXT_BAR_WIDTH
#define BAR_PARTS 8u

/* As long as value is of the most, in eighths of a character, then blanks. */
void text_add_bar(struct text *out, uint64_t value, uint64_t most)
{
	static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	unsigned eighths =
		most ? (unsigned)((double)value / (double)most * BAR_WIDTH * BAR_PARTS + 0.5) : 0;
	if (value && !eighths)
		eighths = 1;
	unsigned width = (eighths + BAR_PARTS - 1) / BAR_PARTS;
	for (unsigned i = 0; i < eighths / BAR_PARTS; i++)
		text_add(out, "█");
	text_add(out, parts[eighths % BAR_PARTS]);
	text_printf(out, "%*s", (int)(BAR_WIDTH - width), "");
}

static void histograms_add_cell(
	struct text *out, void (*add)(struct text *text, uint64_t value), uint64_t value, int width)
{
	_cleanup_(text_deinit) struct text cell;
	text_init(&cell);
	add(&cell, value);
	/* "µ" is one character of two bytes. */
	int bytes = cell.data && strstr(cell.data, "µ") ? 1 : 0;
	text_printf(out, "%*s", width + bytes, cell.data ? cell.data : "");
}

void text_add_padded_bytes(struct text *out, uint64_t bytes, int width)
{
	histograms_add_cell(out, text_add_bytes, bytes, width);
}

void life_bounds(const struct life_count *counts, unsigned *ret_first, unsigned *ret_end)
{
	*ret_first = *ret_end = 0;
	for (unsigned i = 0; i < LIFE_BUCKETS; i++) {
		if (!counts[i].freed_blocks && !counts[i].live_blocks)
			continue;
		if (!*ret_end)
			*ret_first = i;
		*ret_end = i + 1;
	}
}

const struct life_axis life_by_time = {"lived", "too short", text_add_duration_ns};
const struct life_axis life_by_others = {"allocations", "none", text_add_count};

void life_add_bound(const struct life_axis *axis, unsigned bucket, struct text *out)
{
	bool last = bucket + 1 == LIFE_BUCKETS;
	_cleanup_(text_deinit) struct text cell;
	text_init(&cell);
	if (bucket == 0) {
		text_add(&cell, axis->least);
	} else {
		text_add(&cell, last ? "> " : "≤ ");
		axis->add(&cell, life_bucket_most(last ? bucket - 1 : bucket));
	}
	size_t shown = 0;
	for (size_t i = 0; i < cell.len; i++)
		shown += (cell.data[i] & 0xc0) != 0x80;
	text_printf(
		out, "%*s%s", shown < 16 ? (int)(16 - shown) : 0, "", cell.data ? cell.data : "");
}

/* The context of a histogram: rows are buckets. */
struct life_rows {
	const struct life_count *counts;
	const struct life_axis *axis;
	uint64_t most; /* that bars are of */
};

static void show_bound(const void *context, size_t row, const struct cell *cell, struct text *out)
{
	(void)cell;
	life_add_bound(((const struct life_rows *)context)->axis, (unsigned)row, out);
}

static void show_bar(const void *context, size_t row, const struct cell *cell, struct text *out)
{
	const struct life_rows *rows = context;
	(void)cell;
	text_add_bar(out, rows->counts[row].freed_blocks, rows->most);
}

enum { BOUND, SHOWN_BOUND, FREED_BLOCKS, FREED_BYTES, BAR, LIVE_BLOCKS, LIVE_BYTES };
#define COLUMNS(bound, of, what, heading)                                                          \
	[BOUND] = {bound, COLUMN_INTEGER, of, .says = what},                                       \
	[SHOWN_BOUND] = {"bound", COLUMN_TEXT, .for_people = true, .title = heading, .width = 16,  \
		.show = show_bound},                                                               \
	[FREED_BLOCKS] = {"freed_blocks", COLUMN_INTEGER, UNIT_COUNT,                              \
		.says = "that lived so long", .title = "freed", .width = 14,                       \
		COLUMN_OF(life_count, freed_blocks)},                                              \
	[FREED_BYTES] = {"freed_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "of these",            \
		.title = "bytes", .width = 13, COLUMN_OF(life_count, freed_bytes)},                \
	[BAR] = {"bar", COLUMN_TEXT, .for_people = true, .title = "", .gap = 2,                    \
		.width = (int)BAR_WIDTH, .show = show_bar},                                        \
	[LIVE_BLOCKS] = {"live_blocks", COLUMN_INTEGER, UNIT_COUNT,                                \
		.says = "never freed, and so old", .title = "never freed", .width = 14,            \
		COLUMN_OF(life_count, live_blocks)},                                               \
	[LIVE_BYTES] = {"live_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "of these",              \
		.title = "bytes", .width = 13, COLUMN_OF(life_count, live_bytes)},                 \
	COLUMNS_END
static const struct column time_columns[] = {COLUMNS("up_to_ns", UNIT_NS,
	"the longest lifetime in the bucket; 0: shorter than the recording can measure; null: any",
	"lived")};
static const struct column other_columns[] = {COLUMNS("up_to", UNIT_COUNT,
	"the most allocations of the process in between; null: any", "allocations")};

static void histograms_cell_of(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct life_rows *rows = context;
	if (column == BAR || column == SHOWN_BOUND) {
		ret->text = "";
	} else if (column != BOUND) {
		table_member(&time_columns[column], &rows->counts[row], ret);
	} else {
		ret->number = life_bucket_most((unsigned)row);
		ret->state = row + 1 == LIFE_BUCKETS ? CELL_UNKNOWN : CELL_KNOWN;
	}
}

const struct table_type report_life_types[2] = {
	{.name = "by_time",
		.within = "lifetimes",
		.says = "view `lifetimes`: a row a bucket, ascending",
		.columns = time_columns,
		.cell = histograms_cell_of},
	{.name = "by_allocations",
		.within = "lifetimes",
		.says = "likewise",
		.columns = other_columns,
		.cell = histograms_cell_of}};

/* Buckets in order; people see none between what is too short to tell and the shortest that is not.
 */
static size_t order_buckets(const struct life_count *counts, bool brief, size_t *ret)
{
	unsigned first, end;
	size_t count = 0;
	bool any = false;
	life_bounds(counts, &first, &end);
	for (unsigned i = first; i < end; i++) {
		any |= i && (counts[i].freed_blocks || counts[i].live_blocks);
		if (!i || any || !brief)
			ret[count++] = i;
	}
	return count;
}

void report_put_histogram(
	const struct page *page, bool by_time, const struct table *table, struct answer *answer)
{
	struct text *prose = answer_prose(answer);
	if (prose)
		text_printf(prose, "\n%s, by %s\n\n", page->view->title,
			by_time ? "time" : "allocations of the process in between");
	answer_table(answer, table);
	if (prose && !table->count)
		text_add(prose, "  no blocks\n");
}

static void put_histogram(const struct page *page, bool by_time, struct answer *answer)
{
	const struct lifetimes *lifetimes = model_lifetimes(page->model);
	struct text *prose = answer_prose(answer);
	struct life_rows rows = {by_time ? lifetimes->by_time : lifetimes->by_others,
		by_time ? &life_by_time : &life_by_others, 0};
	size_t order[LIFE_BUCKETS];
	const struct table table = {&report_life_types[!by_time], &rows,
		order_buckets(rows.counts, prose, order), order, .limit = TABLE_NO_LIMIT};
	for (size_t i = 0; i < table.count; i++) {
		rows.most = max(rows.most, rows.counts[order[i]].freed_blocks);
		rows.most = max(rows.most, rows.counts[order[i]].live_blocks);
	}
	report_put_histogram(page, by_time, &table, answer);
}

void report_lifetimes(const struct page *page, struct answer *answer)
{
	put_histogram(page, true, answer);
	put_histogram(page, false, answer);
}
