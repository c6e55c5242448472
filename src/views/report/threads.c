/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The view threads: what each thread allocated and freed. */
#include <inttypes.h>

#include "base/cleanup.h"
#include "views/report/page.h"
#include "views/report/report_answers.h"
#include "views/report/text_parts.h"

/* A thread's name, and how many others it stands for. */
static void add_name(const struct thread *thread, struct text *out)
{
	text_add_shown(out, thread->name, SIZE_MAX);
	if (!thread->others)
		return;
	text_printf(out, "%s+ ", *thread->name ? " " : "");
	text_add_count(out, thread->others);
}

void text_thread_name(const struct thread *thread, struct text *out)
{
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	add_name(thread, &name);
	int behind = 0; /* bytes of UTF-8 that take no place of their own */
	for (size_t i = 0; i < name.len; i++)
		behind += ((unsigned char)name.data[i] & 0xc0) == 0x80;
	text_printf(
		out, "%10" PRIu32 "  %-*s ", thread->tid, 16 + behind, name.data ? name.data : "");
}

static void show_name(const void *context, size_t row, const struct cell *cell, struct text *out)
{
	(void)cell;
	add_name(((const struct page *)context)->threads.data[row], out);
}

enum { TID, NAME, THREADS, ALLOCATIONS, BYTES, FREES, TEMPORARY, FIRST, LAST, ENDED };
static const struct column columns[] = {
	[TID] = {"tid", COLUMN_INTEGER, .says = "its number", .ascending = true, .title = "tid",
		.width = 10, .plain = true},
	[NAME] = {"name", COLUMN_TEXT, .says = "as the program has it", .title = "name", .gap = 2,
		.width = -16, .show = show_name},
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
	[FIRST] = {"first_ns", COLUMN_INTEGER, UNIT_NS, .says = "its first event",
		COLUMN_OF(thread, first_ns)},
	[LAST] = {"last_ns", COLUMN_INTEGER, UNIT_NS, .says = "its last event",
		COLUMN_OF(thread, last_ns)},
	[ENDED] = {"ended", COLUMN_BOOLEAN, .says = "it ended before the program",
		COLUMN_OF(thread, ended)},
	COLUMNS_END};

static void cell_of(const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct page *page = context;
	const struct thread *thread = page->threads.data[number];
	const struct recording *recording = model_recording(page->model);
	bool is_figure = column >= ALLOCATIONS && column <= TEMPORARY;
	if (column == TID)
		ret->number = thread->tid;
	else if (column == NAME)
		ret->text = thread->name;
	else if (column == THREADS)
		ret->number = thread->others + 1;
	else
		table_member(&columns[column], thread, ret);
	if (is_figure && !figure_is_known(recording, columns[column].name))
		ret->state = CELL_UNKNOWN;
}

static const struct table_type thread_type = {.name = "threads",
	.says = "a row a thread, or several that are alike",
	.columns = columns,
	.cell = cell_of};

const struct answer_type report_threads_type = {.schema = "heapwise.report/1",
	.from = "heapwise report --view threads",
	.says = "what each thread allocated and freed",
	.tables = (const struct table_type *const[]){&thread_type, NULL},
	.main = &thread_type};

void report_threads(const struct page *page, struct answer *answer)
{
	const struct table threads = {&thread_type, page, page->threads.len, .limit = page->limit};
	struct text *prose = answer_prose(answer);
	uint64_t more = 0;
	if (prose)
		text_printf(prose, "\n%s\n", page->view->title);
	answer_table(answer, &threads);
	for (size_t i = page->limit; i < page->threads.len; i++)
		more += 1 + page->threads.data[i]->others;
	if (prose)
		text_more(more, "thread", "threads", prose);
}
