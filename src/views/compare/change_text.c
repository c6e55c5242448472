/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compared views of stacks as text: which two, the verdict, a table by the size of the changes. */
#include "table/answer.h"
#include "views/compare/change_columns.h"
#include "views/compare/change_parts.h"
#include "views/compare/change_view.h"
#include "views/report/figure_text.h"
#include "views/report/member_columns.h"
#include "views/report/paint.h"
#include "views/report/recorded_columns.h"
#include "views/report/report_answers.h"
#include "views/report/site_columns.h"
#include "views/report/text_parts.h"

void text_change_heading(const struct page *page, struct text *out)
{
	const struct view_base *base = page->options->base;
	const struct recorded sides[] = {
		{.model = base->model, .label = base->label},
		{.model = page->model, .label = model_recording(page->model)->path},
	};
	text_change_sides(sides, out);
	text_verdict(&page->verdict, out);
	text_notes(&page->notes, out);
}

const char *change_remark(bool was, bool is)
{
	return was == is ? "" : is ? "  new" : "  gone";
}

enum { SAME_RECORDING, NORMALIZED, VERDICT, TOTALS, RENAMES };
static const struct column whole_columns[] = {
	[SAME_RECORDING] = FLAG_OF(diff_options, same_recording, "both are moments of one"),
	[NORMALIZED] = FLAG_AS("normalized", diff_options, normalize,
		"the older figures are scaled (`--normalize`)"),
	[VERDICT] = VERDICT_COLUMN,
	[TOTALS] = {"totals", COLUMN_RECORD, .says = "of both processes",
		.nested = &change_totals_type},
	[RENAMES] = {"renames", COLUMN_TABLE, .says = "functions with another name or file",
		.nested = &change_renames_type},
	COLUMNS_END};

struct change_whole {
	const struct page *page;
	struct change_totals totals;
};

static void whole_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct change_whole *whole = context;
	(void)row;
	if (column == VERDICT)
		cell_take_lines(ret, &whole->page->verdict);
	else if (column == TOTALS)
		cell_take_record(ret, &change_totals_type, &whole->totals);
	else if (column == RENAMES)
		ret->nested = change_renames(whole->totals.diff);
	else
		table_member(&whole_columns[column], &whole->totals.diff->options, ret);
}

const struct table_type change_whole_type = {.name = "change",
	.says = "what changed in all",
	.columns = whole_columns,
	.cell = whole_cell};

void change_head(const struct page *page, struct answer *answer)
{
	const struct diff *diff = &page->compared.diff;
	const struct view_base *base = page->options->base;
	struct diff_figure room;
	const struct recorded older = {.model = base->model, .label = base->label};
	const struct change_whole whole = {page, {diff, &room}};
	answer_record_of(answer, &change_base_type, &older);
	answer_record_of(answer, &change_whole_type, &whole);
}

const char *change_status(uint64_t base, uint64_t value)
{
	return diff_status_name(base == value  ? DIFF_SAME
				: !base        ? DIFF_NEW
				: !value       ? DIFF_GONE
				: value > base ? DIFF_GROWN
					       : DIFF_SHRUNK);
}

static void change_text_add_rest(size_t count, const char *one, const char *many, struct text *out)
{
	text_printf(out, "%s %s", FMT_COUNT(count), count == 1 ? one : many);
}

/* "  3 allocation sites are the same"; nothing if there are none. `shown` of `changed` were. */
static void text_change_rest(size_t shown, size_t changed, size_t all, const char *one,
	const char *many, struct text *out)
{
	if (!changed)
		text_add(out, "  nothing changed\n");
	text_more(changed - shown, one, many, out);
	if (changed < all) {
		text_add(out, "  ");
		change_text_add_rest(all - changed, one, many, out);
		text_add(out, all - changed == 1 ? " is the same\n" : " are the same\n");
	}
}

void change_rows(struct answer *answer, const struct table *table,
	bool (*differs)(const void *context, size_t row), const char *one, const char *many)
{
	struct text *prose = answer_prose(answer);
	struct table shown = *table;
	size_t changed = 0, count = 0;
	if (!prose) {
		answer_table(answer, table);
		return;
	}
	for (size_t i = 0; i < table->count; i++)
		changed += differs(table->context, i);
	shown.limit = TABLE_NO_LIMIT;
	answer_table_begin(answer, &shown);
	for (size_t i = 0; i < table->count && count < table->limit; i++) {
		if (!differs(table->context, i))
			continue;
		answer_row(answer, table, i);
		count++;
	}
	answer_table_end(answer, &shown);
	text_change_rest(count, changed, table->count, one, many, prose);
}

bool change_text_add_title(const struct page *page, struct text *out)
{
	bool colour = page->options->colour;
	text_add_char(out, '\n');
	paint_begin(out, colour, PAINT_TITLE);
	text_printf(out, "%s, by the change of %s", page->view->title, metric_name(page->sort));
	paint_end(out, colour, PAINT_TITLE);
	text_add_char(out, '\n');
	if (diff_knows(&page->compared.diff, page->sort))
		return true;
	text_printf(out, "  not known of %s\n", diff_ignorant(&page->compared.diff));
	return false;
}

/* Rows of sites differ by the metric; of people's text those come first. */
static bool change_text_differs(const void *context, size_t number)
{
	const struct site_rows *rows = context;
	return diff_status(&rows->page->compared.diff, rows->ranges.rows[number]) != DIFF_SAME;
}

void change_sites(const struct page *page, struct answer *answer)
{
	const struct site_list list = {
		&report_sites_type, NULL, page->sort, &page->list, page->limit, false};
	if (!answer_prose(answer))
		page->view->answer(page, answer);
	else if (change_text_add_title(page, answer_prose(answer)))
		report_site_list(page, &list, answer);
}

void change_site_rows(struct answer *answer, const struct table *sites)
{
	change_rows(answer, sites, change_text_differs, "allocation site", "allocation sites");
}

/* The rest is what diff shows, if it can be asked for it: it knows no ranges and no sums. */
static void add_summary(const struct page *page, struct text *out)
{
	const struct recording *recording = model_recording(page->model);
	text_add(out, "\nWhere it changed: heapwise ");
	if (recording->merged || recording->range.from_step || model_subtracted(page->model)) {
		text_printf(out, "report --view sites, with the same options\n");
		return;
	}
	text_add(out, "diff ");
	text_add_shown(out, page->options->base->label, 400);
	text_add_char(out, ' ');
	text_add_shown(out, recording->path, 400);
	if (recording->range.part)
		text_printf(out, "@%s", recording->range.to);
	text_add_char(out, '\n');
}

void change_summary(const struct page *page, struct answer *answer)
{
	if (answer_prose(answer))
		add_summary(page, answer_prose(answer));
	else
		report_summary(page, answer);
}
