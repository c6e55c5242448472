/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The view threads: what each thread allocated and freed. */
#include <string.h>

#include "base/util.h"
#include "views/report/figure_text.h"
#include "views/report/member_columns.h"
#include "views/report/page.h"
#include "views/report/report_answers.h"
#include "views/report/site_columns.h"
#include "views/report/text_parts.h"

void text_thread_name(const struct thread *thread, struct text *out)
{
	text_add_shown(out, thread->name, SIZE_MAX);
	if (!thread->others)
		return;
	text_printf(out, "%s+ %s", *thread->name ? " " : "", FMT_COUNT(thread->others));
}

struct thread_rows {
	const struct recording *recording;
	const struct thread *const *threads;
};

static void threads_show_name(
	const void *context, size_t row, const struct cell *cell, struct text *out)
{
	(void)cell;
	text_thread_name(((const struct thread_rows *)context)->threads[row], out);
}

enum { TID, NAME, THREADS, ALLOCATIONS, BYTES, FREES, TEMPORARY, STACK, FIRST, LAST, ENDED };
static const struct column columns[] = {
	[TID] = {"tid", COLUMN_INTEGER, .says = "its number", .ascending = true, .title = "tid",
		.width = 10, .plain = true},
	[NAME] = {"name", COLUMN_TEXT, .says = "as the program has it", .title = "name", .gap = 2,
		.width = -16, .show = threads_show_name},
	[THREADS] = {"threads", COLUMN_INTEGER, UNIT_COUNT, .says = "that the row stands for"},
	[ALLOCATIONS] = {"allocations", COLUMN_INTEGER, UNIT_COUNT, .says = "by it",
		.title = "allocations", .gap = 1, .width = 15, .unknown = "not known",
		COLUMN_OF(thread, allocations)},
	[BYTES] = {"allocated_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "by these",
		.title = "allocated", .gap = 1, .width = 12, .unknown = "not known",
		COLUMN_OF(thread, allocated_bytes)},
	[FREES] = {"frees", COLUMN_INTEGER, UNIT_COUNT, .says = "by it, of any thread's blocks",
		.title = "frees", .gap = 1, .width = 15, .unknown = "not known",
		COLUMN_OF(thread, frees)},
	[TEMPORARY] = {"temporary", COLUMN_INTEGER, UNIT_COUNT,
		.says = "allocations that it freed at once; null: not known, as of samples",
		.title = "temporary", .gap = 1, .width = 15, .unknown = "not known",
		COLUMN_OF(thread, temporary)},
	[STACK] = {"stack_used_bytes", COLUMN_INTEGER, UNIT_BYTES, .optional = true,
		.says = "how far down its stack was used, in whole pages, as far as the recorder "
			"saw it: it looks about once a second, and at the end; null: not known",
		.gap = 1, .width = 12, .unknown = "not known", COLUMN_OF(thread, stack_used_bytes)},
	[FIRST] = TIME_OF(thread, first_ns, "its first event"),
	[LAST] = TIME_OF(thread, last_ns, "its last event"),
	[ENDED] = FLAG_OF(thread, ended, "it ended before the program"),
	COLUMNS_END};

static void threads_cell_of(const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct thread_rows *rows = context;
	const struct thread *thread = rows->threads[number];
	bool is_figure = column >= ALLOCATIONS && column <= TEMPORARY;
	if (column == TID)
		ret->number = thread->tid;
	else if (column == NAME)
		ret->text = thread->name;
	else if (column == THREADS)
		ret->number = thread->others + 1;
	else
		table_member(&columns[column], thread, ret);
	if (column == STACK && !thread->stack_used_bytes)
		ret->state = rows->recording->mappings ? CELL_UNKNOWN : CELL_ABSENT;
	if (is_figure && !figure_is_known(rows->recording, columns[column].name))
		ret->state = CELL_UNKNOWN;
}

const struct table_type report_threads_type = {.name = "threads",
	.says = "view `threads`: a row a thread; of more than 16,384 those that lived one after "
		"the "
		"other can share one: `tid` is the last one's, `name` is empty unless all had it",
	.columns = columns,
	.cell = threads_cell_of};

void report_threads(const struct page *page, struct answer *answer)
{
	const struct thread_rows rows = {model_recording(page->model), page->threads.data};
	struct column shown[ARRAY_SIZE(columns)];
	struct table_type type = report_threads_type;
	memcpy(shown, columns, sizeof(shown));
	shown[STACK].title = rows.recording->mappings ? "stack used" : NULL;
	type.columns = shown;
	struct text *prose = answer_prose(answer);
	const struct table threads = {prose ? &type : &report_threads_type, &rows,
		page->threads.len, .limit = page->limit};
	uint64_t more = 0;
	if (prose)
		text_printf(prose, "\n%s\n", page->view->title);
	answer_table(answer, &threads);
	for (size_t i = page->limit; i < page->threads.len; i++)
		more += 1 + page->threads.data[i]->others;
	if (prose)
		text_more(more, "thread", "threads", prose);
}
