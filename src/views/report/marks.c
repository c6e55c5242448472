/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The view marks: what was live at each mark. */
#include <inttypes.h>
#include <string.h>

#include "views/report/member_columns.h"
#include "views/report/page.h"
#include "views/report/report_answers.h"
#include "views/report/text_parts.h"

/* "step#2" */
static bool ends_in_number(const char *name)
{
	const char *hash = strrchr(name, '#');
	return hash && hash[1] && !hash[1 + strspn(hash + 1, "0123456789")];
}

/* As --at takes it after "mark:". */
static void marks_show_name(
	const void *context, size_t row, const struct cell *cell, struct text *out)
{
	const struct mark *mark = &((const struct page *)context)->marks[row];
	text_add_shown(out, cell->text, 200);
	if (mark->nth > 1 || ends_in_number(mark->name))
		text_printf(out, "#%" PRIu64, mark->nth);
}

enum { TIME, LIVE_BYTES, CHANGE, LIVE_BLOCKS, NAME, NTH };
static const struct column columns[] = {
	[TIME] = {"time_ns", COLUMN_INTEGER, UNIT_NS, .says = "since the recording began",
		.ascending = true, .title = "after", .width = 12, COLUMN_OF(mark, time_ns)},
	[LIVE_BYTES] = {"live_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "live then",
		.title = "live", .gap = 1, .width = 12, COLUMN_OF(mark, live_bytes)},
	[CHANGE] = {"change_bytes", COLUMN_SIGNED, UNIT_BYTES, .says = "since the mark before it",
		.title = "change", .gap = 1, .width = 13},
	[LIVE_BLOCKS] = {"live_blocks", COLUMN_INTEGER, UNIT_COUNT, .says = "live then",
		.title = "blocks", .gap = 1, .width = 13, COLUMN_OF(mark, live_blocks)},
	[NAME] = {"name", COLUMN_TEXT, .says = "as the program gave it", .title = "mark", .gap = 2,
		.show = marks_show_name, COLUMN_OF(mark, name)},
	[NTH] = NUMBER_OF(mark, nth, "of the marks of that name, from 1 on"),
	COLUMNS_END};

static void marks_cell_of(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct mark *mark = &((const struct page *)context)->marks[row];
	if (column == CHANGE)
		ret->signed_number = (int64_t)(mark->live_bytes - (row ? mark[-1].live_bytes : 0));
	else
		table_member(&columns[column], mark, ret);
}

const struct table_type report_marks_type = {.name = "marks",
	.total = "marks_total",
	.says = "view `marks`: a row a mark, in the order of time",
	.columns = columns,
	.cell = marks_cell_of};

void report_marks(const struct page *page, struct answer *answer)
{
	struct table marks = {&report_marks_type, page, page->mark_count, .limit = page->limit};
	struct text *prose = answer_prose(answer);
	if (prose && !page->mark_count) {
		text_add(prose, "\nNo marks: heapwise_mark() and heapwise mark set them.\n");
		return;
	}
	if (prose)
		text_printf(prose, "\n%s\n", page->view->title);
	answer_table(answer, &marks);
	if (prose && marks.count > marks.limit)
		text_more(marks.count - marks.limit, "mark", "marks", prose);
}
