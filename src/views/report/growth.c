/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The view growth:
 *
 *   leak suspect: keeps growing  ▁▁▂▃▃▄▅▅▆▇▇█  +1.19 MiB, 39.7 KiB/s; 1.21 MiB in 1,204 blocks from
 * malloc at read_line  input.c:41  [app]
 *
 * The little graph is the least that was live in each twelfth of the time, from nothing up to the
 * most.
 */
#include "analysis/growth.h"

#include "base/cleanup.h"
#include "base/util.h"
#include "views/compare/change_view.h"
#include "views/report/figure_text.h"
#include "views/report/member_columns.h"
#include "views/report/page.h"
#include "views/report/recorded_columns.h"
#include "views/report/report_answers.h"
#include "views/report/site_columns.h"
#include "views/report/text_parts.h"

static void add_graph(const struct growth_row *row, struct text *out)
{
	static const char *const levels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	uint64_t most = 1;
	for (size_t i = 0; i < GROWTH_WINDOWS; i++)
		if (row->floors[i] > most)
			most = row->floors[i];
	for (size_t i = 0; i < GROWTH_WINDOWS; i++)
		text_add(out, levels[(unsigned)((double)row->floors[i] / (double)most * 7 + 0.5)]);
}

/* "+1.19 MiB, 39.7 KiB/s" */
static void add_growth(const struct growth_row *row, struct text *out)
{
	text_printf(out, "+%s", FMT_BYTES((uint64_t)row->grown_bytes));
	if (row->bytes_per_s >= 1)
		text_printf(out, ", %s/s", FMT_BYTES((uint64_t)row->bytes_per_s));
}

/* What it comes to, behind its verdict. */
static void growth_add_figures(const struct growth_row *row, struct text *out)
{
	add_graph(row, out);
	text_add(out, "  ");
	if (row->verdict == GROWTH_LEAK) {
		add_growth(row, out);
		text_add(out, "; ");
	} else if (row->verdict == GROWTH_BURST || row->verdict == GROWTH_STEADY) {
		text_printf(out, "up to %s; ", FMT_BYTES(row->highest));
	}
	text_printf(out, "%s in %s %s", FMT_BYTES(row->live_bytes), FMT_COUNT(row->live_blocks),
		row->live_blocks == 1 ? "block" : "blocks");
}

static void growth_add_head(const struct growth_row *row, struct text *out)
{
	text_printf(out, "  %s  ", growth_row_text(row));
	growth_add_figures(row, out);
	row_add_kind(row->row->sums->kind, out);
}

/* The time that was judged: "… up to 27 s, without the last 10% of the time". */
static void growth_add_title(const struct page *page, const struct growth *growth, struct text *out)
{
	text_printf(out, "\n%s up to %s, without the last %u%% of the time", page->view->title,
		FMT_DURATION(growth->until_ns), page->options->tail_percent);
}

/* What is not judged. */
static void add_later(
	const struct page *page, const struct growth *growth, const char *side, struct text *out)
{
	_cleanup_(text_deinit) struct text later;
	text_init(&later);
	growth_describe_later(growth, page->options->tail_percent, &later);
	if (later.len)
		text_printf(out, "  %s%s", side, later.data);
	out->failed |= later.failed;
}

static void add_compared_row(
	const struct page *page, const struct growth_change_row *row, struct text *out)
{
	const struct growth_row *sides[] = {&row->newer, &row->older};
	for (int i = 0; i < 2; i++) {
		text_printf(out, "  %-6s  ", i ? "before" : "now");
		if (sides[i]->verdict == GROWTH_NONE) {
			text_add(out,
				i && !page->growth_change.older_known ? "not known" : "nothing");
		} else {
			text_printf(out, "%s  ", growth_row_text(sides[i]));
			growth_add_figures(sides[i], out);
		}
		if (i)
			row_add_kind(row->newer.row->sums->kind, out);
		else
			text_add_char(out, '\n');
	}
	text_row_stack(row->newer.row, page->options->all_frames, out);
}

static const struct column floor_columns[] = {
	{"", COLUMN_INTEGER, UNIT_BYTES,
		.says = "the least that was live in a twelfth of the time"},
	COLUMNS_END};

static void floor_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)column;
	ret->number = ((const uint64_t *)context)[row];
}

static const struct table_type floor_type = {.columns = floor_columns, .cell = floor_cell};

enum { VERDICT, GROWN, PER_SECOND, HIGHEST, BYTES, BLOCKS, END_BYTES, FREED_AT_END, FLOORS };
static const struct column judged_columns[] = {
	[VERDICT] = {"verdict", COLUMN_TEXT,
		.says = "`leak-suspect`, `cache`, `burst`, `start-up` or `steady`; `unknown`: it "
			"was "
			"not there"},
	[GROWN] = CHANGE_OF(growth_row, grown_bytes, "by a line through `floors`"),
	[PER_SECOND] = {"bytes_per_second", COLUMN_SIGNED, UNIT_BYTES, .says = "its slope"},
	[HIGHEST] =
		BYTES_AS("highest_bytes", growth_row, highest, "of all moments that are judged"),
	[BYTES] = BYTES_AS("bytes", growth_row, live_bytes, "at the end of the judged time"),
	[BLOCKS] = COUNT_AS("blocks", growth_row, live_blocks, "likewise"),
	[END_BYTES] = BYTES_OF(growth_row, end_bytes, "when the recording ends"),
	[FREED_AT_END] = {"freed_at_end", COLUMN_BOOLEAN,
		.says = "a suspect of which less than half was left then: no leak that a check at "
			"exit finds"},
	[FLOORS] = {"floors", COLUMN_LIST, .says = "in order", .nested = &floor_type},
	COLUMNS_END};

static void judged_cell(const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct growth_row *row = &((const struct growth_row *)context)[number];
	switch (column) {
	case VERDICT:
		ret->text = growth_verdict_name(row->verdict);
		break;
	case PER_SECOND:
		ret->signed_number = (int64_t)row->bytes_per_s;
		break;
	case FREED_AT_END:
		ret->truth = growth_was_freed(row);
		break;
	case FLOORS:
		ret->nested = (struct table){
			&floor_type, row->floors, GROWTH_WINDOWS, .limit = TABLE_NO_LIMIT};
		break;
	default:
		table_member(&judged_columns[column], row, ret);
	}
}

static const struct table_type judged_type = {
	.name = "judged", .columns = judged_columns, .cell = judged_cell};

/* The context of places. */
struct place_rows {
	const struct page *page;
	const struct growth_row *places;
	struct site_rows *site; /* of the place that is laid out */
};

enum { JUDGED, SITE };
static const struct column place_columns[] = {
	[JUDGED] = {"", COLUMN_RECORD, .nested = &judged_type},
	[SITE] = {"", COLUMN_RECORD, .nested = &site_type},
	COLUMNS_END};

static void place_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct place_rows *rows = context;
	if (column == SITE) {
		site_cell(rows->site, &rows->places[row].row, ret);
		return;
	}
	ret->nested = (struct table){&judged_type, rows->places, 1, .limit = 1};
	ret->row = row;
}

static void place_text(const void *context, size_t row, struct text *out)
{
	const struct place_rows *rows = context;
	growth_add_head(&rows->places[row], out);
	text_row_stack(rows->places[row].row, rows->page->options->all_frames, out);
}

const struct table_type report_places_type = {.name = "places",
	.within = "growth",
	.total = "places_total",
	.says = "view `growth`: sites, suspects first",
	.columns = place_columns,
	.cell = place_cell,
	.row_text = place_text};

static const struct column left_columns[] = {COUNT_AS("places", growth, later_places, "how many"),
	BYTES_AS("bytes", growth, later_bytes, "what they have when the recording ends"),
	COLUMNS_END};
static const struct table_type left_type = {.columns = left_columns};

enum { STACKS_VERDICT };
static const struct column stack_columns[] = {
	[STACKS_VERDICT] = {"verdict", COLUMN_TEXT, .says = "as of a site"},
	BYTES_AS("highest_bytes", growth, stacks.highest, "likewise"),
	BYTES_AS("bytes", growth, stacks.live_bytes, "likewise"),
	COLUMNS_END};

static void growth_stack_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct growth *growth = context;
	(void)row;
	if (column == STACKS_VERDICT)
		ret->text = growth_verdict_name(growth->stacks.verdict);
	else
		table_member(&stack_columns[column], growth, ret);
}

static const struct table_type stack_type = {.columns = stack_columns, .cell = growth_stack_cell};

enum { HIDDEN_FRAMES = 3, STACKS };
static const struct column span_columns[] = {TIME_OF(growth, from_ns, "the time that was judged"),
	TIME_OF(growth, until_ns, "its end"), COUNT_OF(growth, moments, "that it was judged by"),
	[HIDDEN_FRAMES] = {"left_out", COLUMN_RECORD,
		.says = "sites that began after it, which are not judged", .nested = &left_type},
	[STACKS] = {"stacks", COLUMN_RECORD, .says = "the stacks of all threads together",
		.nested = &stack_type},
	COLUMNS_END};

static void span_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)row;
	if (column < HIDDEN_FRAMES)
		table_member(&span_columns[column], context, ret);
	else
		ret->nested = (struct table){
			column == STACKS ? &stack_type : &left_type, context, 1, .limit = 1};
}

const struct table_type report_growth_type = {.within = "growth",
	.says = "view `growth`: what was judged",
	.columns = span_columns,
	.cell = span_cell};

static void add_places_title(const struct page *page, size_t shown, struct text *out)
{
	const struct growth *growth = &page->growth;
	growth_add_title(page, growth, out);
	if (shown < growth->rows.len)
		text_printf(
			out, " (%zu of %s allocation sites)", shown, FMT_COUNT(growth->rows.len));
	text_add(out, "\n");
	add_later(page, growth, "", out);
}

void report_growth(const struct page *page, struct answer *answer)
{
	struct frame_rows frames = {.frames = NULL};
	struct site_rows site = {
		.ranges = {.recording = model_recording(page->model)}, .frames = &frames};
	const struct place_rows rows = {page, page->growth.rows.data, &site};
	const struct table places = {
		&report_places_type, &rows, page->growth.rows.len, .limit = page->limit};
	struct text *prose = answer_prose(answer);
	answer_record_of(answer, &report_growth_type, &page->growth);
	if (prose)
		add_places_title(page, table_shown(&places), prose);
	answer_table(answer, &places);
	frame_rows_deinit(&frames);
}

/* The other side of a comparison. */
struct older {
	struct recorded recorded;
	const struct growth *judged;
};

static const struct column older_columns[] = {{"", COLUMN_RECORD, .nested = &recorded_type},
	{"", COLUMN_RECORD, .nested = &report_growth_type}, COLUMNS_END};

static void older_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct older *older = context;
	(void)row;
	if (column)
		cell_take_record(ret, &report_growth_type, older->judged);
	else
		cell_take_record(ret, &recorded_type, &older->recorded);
}

const struct table_type change_growth_type = {.name = "older",
	.within = "growth",
	.says = "view `growth`: the older recording, and what was judged there",
	.columns = older_columns,
	.cell = older_cell};

/* The context of places that are compared. */
struct change_places {
	const struct page *page;
	struct site_rows *site; /* of the place that is laid out */
};

enum { SUSPECT, NOW, OLDER, CHANGE_SITE };
static const struct column change_columns[] = {
	[SUSPECT] = {"suspect", COLUMN_TEXT,
		.says = "`new`: it keeps growing, and did not before; `before`: as it did before; "
			"`gone`: it did before; `unknown`: it keeps growing, and the older "
			"recording has too few moments; null: it is none and was none"},
	[NOW] = {"", COLUMN_RECORD, .nested = &judged_type},
	[OLDER] = {"older", COLUMN_RECORD, .says = "what is judged of it there",
		.nested = &judged_type},
	[CHANGE_SITE] = {"", COLUMN_RECORD, .nested = &site_type},
	COLUMNS_END};

static void change_cell(const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct change_places *places = context;
	const struct growth_change *change = &places->page->growth_change;
	const struct growth_change_row *row = &change->list.data[number];
	bool unsure = row->fate == GROWTH_NEW && !change->older_known;
	if (column == SUSPECT)
		ret->text = unsure ? "unknown" : growth_fate_name(row->fate);
	else if (column == CHANGE_SITE)
		site_cell(places->site, &row->newer.row, ret);
	else
		cell_take_record(ret, &judged_type, column == NOW ? &row->newer : &row->older);
}

static void change_text(const void *context, size_t number, struct text *out)
{
	const struct page *page = ((const struct change_places *)context)->page;
	const struct growth_change_row *row = &page->growth_change.list.data[number];
	if (row->fate != GROWTH_OTHER) {
		add_compared_row(page, row, out);
		return;
	}
	growth_add_head(&row->newer, out);
	text_row_stack(row->newer.row, page->options->all_frames, out);
}

const struct table_type change_places_type = {.name = "places",
	.within = "growth",
	.total = "places_total",
	.says = "view `growth`: sites, by `suspect`: new ones first, then those of before, those "
		"that are gone, and the others",
	.columns = change_columns,
	.cell = change_cell,
	.row_text = change_text};

static void add_change_head(const struct page *page, struct text *out)
{
	const struct growth_change *change = &page->growth_change;
	text_heading(page->model, out);
	text_add(out, "Compared with ");
	text_add_shown(out, page->options->base->label, 400);
	text_add(out, "\n  ");
	text_heading(page->options->base->model, out);
	text_verdict(&change->verdict, out);
	text_notes(&page->notes, out);
	growth_add_title(page, &change->judged[1], out);
	text_printf(out, "; before up to %s\n", FMT_DURATION(change->judged[0].until_ns));
	add_later(page, &change->judged[1], "Now: ", out);
	add_later(page, &change->judged[0], "Before: ", out);
}

/* Of suspects that became so alike, or the places that are none. */
static void add_fate(
	const struct growth_change *change, enum growth_fate fate, size_t shown, struct text *out)
{
	static const char *const titles[GROWTH_FATES] = {
		[GROWTH_NEW] = "New allocation sites that keep growing",
		[GROWTH_STAYS] = "Allocation sites that keep growing, as before",
		[GROWTH_GONE] = "Gone: allocation sites that kept growing before",
		[GROWTH_OTHER] = "Other allocation sites",
	};
	size_t count = change->counts[fate];
	bool unsure = fate == GROWTH_NEW && !change->older_known;
	text_printf(out, "\n%s (", unsure ? "Allocation sites that keep growing" : titles[fate]);
	if (shown < count)
		text_printf(out, "%zu of ", shown);
	text_printf(out, "%s%s", FMT_COUNT(count),
		count == 1 ? " allocation site)\n" : " allocation sites)\n");
}

/* The list is by fate. */
static void put_fates(const struct page *page, const struct table *places, struct answer *answer)
{
	size_t next = 0, left = page->limit;
	answer_table_begin(answer, places);
	for (int fate = 0; fate < GROWTH_FATES; fate++) {
		size_t count = page->growth_change.counts[fate], shown = min(count, left);
		if (count && answer_prose(answer))
			add_fate(&page->growth_change, (enum growth_fate)fate, shown,
				answer_prose(answer));
		for (size_t i = 0; i < shown; i++)
			answer_row(answer, places, next + i);
		next += count;
		left -= shown;
	}
	answer_table_end(answer, places);
}

void change_growth(const struct page *page, struct answer *answer)
{
	const struct growth_change *change = &page->growth_change;
	const struct view_base *base = page->options->base;
	struct frame_rows frames = {.frames = NULL};
	struct site_rows site = {
		.ranges = {.recording = model_recording(page->model)}, .frames = &frames};
	const struct older older = {
		{.model = base->model, .label = base->label}, &change->judged[0]};
	const struct change_places context = {page, &site};
	const struct table places = {
		&change_places_type, &context, change->list.len, .limit = TABLE_NO_LIMIT};
	if (answer_prose(answer))
		add_change_head(page, answer_prose(answer));
	answer_record_of(answer, &report_growth_type, &change->judged[1]);
	answer_record_of(answer, &change_growth_type, &older);
	put_fates(page, &places, answer);
	frame_rows_deinit(&frames);
}
