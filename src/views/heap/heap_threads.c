/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `threads`: the call stack of each thread, and where it is in Python. */
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "heap/python_frames.h"
#include "heap/stacks.h"
#include "views/heap/heap_parts.h"
#include "views/heap_answers.h"
#include "views/report/member_columns.h"

/* One thread: the only row at a time. */
struct thread_row {
	const struct address_thread *thread;
	struct heap_stack_frames frames;
	struct python_frames python;
};

enum { FRAME_ADDRESS, FRAME_FUNCTION, FRAME_FILE, FRAME_LINE, FRAME_INLINED, FRAME_MODULE };
static const struct column frame_columns[] = {
	[FRAME_ADDRESS] = ADDRESS_AS("address", heap_stack_frame, pc, "where it goes on"),
	[FRAME_FUNCTION] = WORD_OF(heap_stack_frame, function, "its name, or null"),
	[FRAME_FILE] = WORD_OF(heap_stack_frame, file, "the source file, or null"),
	[FRAME_LINE] = NUMBER_OF(heap_stack_frame, line, "in it; 0: not known"),
	[FRAME_INLINED] = FLAG_OF(heap_stack_frame, inlined, "it is part of the frame after it"),
	[FRAME_MODULE] = {"module", COLUMN_TEXT, .says = "the path of the loaded file, or null"},
	COLUMNS_END};

static void frame_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct heap_stack_frame *frame = &((const struct heap_stack_frame *)context)[row];
	if (column == FRAME_MODULE)
		ret->text = frame->module ? frame->module->path : NULL;
	else
		table_member(&frame_columns[column], frame, ret);
}

static const struct table_type frame_type = {.columns = frame_columns, .cell = frame_cell};

static const struct column python_columns[] = {WORD_OF(python_frame, function, "its name"),
	WORD_OF(python_frame, file, "the source file"),
	NUMBER_OF(python_frame, line, "in it; 0: not known"), COLUMNS_END};

static const struct table_type python_frame_type = {
	.columns = python_columns, .row_bytes = sizeof(struct python_frame)};

static void frames_text(const struct heap_stack_frames *frames, struct text *out)
{
	for (size_t i = 0; i < frames->len; i++) {
		const struct heap_stack_frame *frame = &frames->data[i];
		text_printf(out, "  #%-3zu 0x%012" PRIx64 "  ", i, frame->pc);
		text_add_shown(out, frame->function ? frame->function : "??", 200);
		if (frame->file) {
			text_add(out, "  ");
			text_add_shown(out, frame->file, 300);
			text_printf(out, ":%u", frame->line);
		} else if (frame->module) {
			text_add(out, "  in ");
			text_add_shown(out, path_last_part(frame->module->path), 200);
		}
		if (frame->function && !frame->module)
			text_add(out, "  [made at run time]");
		text_add(out, frame->inlined ? "  (inlined)\n" : "\n");
	}
}

static void python_text(const struct python_frames *frames, struct text *out)
{
	if (frames->len)
		text_add(out, "  in Python:\n");
	for (size_t i = 0; i < frames->len; i++) {
		const struct python_frame *frame = &frames->data[i];
		text_printf(out, "  #%-3zu ", i);
		text_add_shown(out, frame->function, 200);
		text_add(out, "  ");
		text_add_shown(out, frame->file, 300);
		text_printf(out, frame->line ? ":%u\n" : "\n", frame->line);
	}
	if (frames->len == PYTHON_FRAMES_MAX)
		text_add(out, "  … and those that called them\n");
}

static void heap_threads_row_text(const void *context, size_t number, struct text *out)
{
	const struct thread_row *row = context;
	int signal = row->thread->signal;
	(void)number;
	text_printf(out, "thread %d", (int)row->thread->tid);
	if (signal)
		text_printf(out, ", SIG%s", sigabbrev_np(signal) ? sigabbrev_np(signal) : "?");
	text_add(out, row->thread->stopped ? "\n" : ": its registers are not known\n");
	frames_text(&row->frames, out);
	python_text(&row->python, out);
}

enum { TID, SIGNAL, STACK, PYTHON };
static const struct column columns[] = {[TID] = {"tid", COLUMN_INTEGER, .says = "its number"},
	[SIGNAL] = {"signal", COLUMN_INTEGER, .says = "that ended it; 0: none"},
	[STACK] = {"stack", COLUMN_TABLE, .says = "innermost frame first", .nested = &frame_type},
	[PYTHON] = {"python", COLUMN_TABLE, .nested = &python_frame_type,
		.says = "innermost frame first; empty where a thread is not in Python"},
	COLUMNS_END};

static void heap_threads_cell_of(
	const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct thread_row *row = context;
	(void)number;
	ret->number = column == TID ? (uint64_t)row->thread->tid : (uint64_t)row->thread->signal;
	if (column == STACK)
		ret->nested = (struct table){
			&frame_type, row->frames.data, row->frames.len, .limit = TABLE_NO_LIMIT};
	else if (column == PYTHON)
		ret->nested = (struct table){&python_frame_type, row->python.data, row->python.len,
			.limit = TABLE_NO_LIMIT};
}

static const struct table_type thread_type = {.name = "threads",
	.says = "a row a thread",
	.columns = columns,
	.cell = heap_threads_cell_of,
	.one = "thread",
	.many = "threads",
	.row_text = heap_threads_row_text};

static const struct column made_columns[] = {
	{"names", COLUMN_TEXT,
		.says = "where names of such code are from, or why it has none, as "
			"a sentence; null: no thread is in such code"},
	COLUMNS_END};

static void made_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct made_code *code = context;
	(void)row, (void)column;
	ret->text = *code->words ? code->words : NULL;
	ret->state = ret->text ? CELL_KNOWN : CELL_ABSENT;
}

static void made_text(const void *context, size_t row, struct text *out)
{
	const struct made_code *code = context;
	(void)row;
	if (*code->words)
		text_printf(out, "%s\n", code->words);
}

static const struct table_type made_type = {.name = "made_code",
	.says = "code that was made at run time",
	.columns = made_columns,
	.cell = made_cell,
	.row_text = made_text};

const struct answer_type heap_threads_type = {
	HEAP_ANSWER("threads", " threads", "the call stack of each thread"),
	.tables = (const struct table_type *const[]){&heap_partial_type, &made_type, &thread_type,
		NULL},
	.main = &thread_type};

static struct error *heap_threads_put_threads(const struct heap_page *page,
	struct unwinder *unwinder, const struct made_code *code, struct answer *answer)
{
	const struct address_space *space = page->space;
	struct python_stacks stacks;
	struct thread_row row;
	const struct table table = {&thread_type, &row, space->threads.len,
		.limit = heap_page_limit(page, answer, TABLE_NO_LIMIT)};
	struct error *error = python_stacks_open(space, &stacks);
	heap_stack_frames_init(&row.frames);
	python_frames_init(&row.python);
	answer_table_begin(answer, &table);
	for (size_t i = 0; i < table_shown(&table) && !error; i++) {
		row.thread = &space->threads.data[i];
		error = heap_stack_make(unwinder, space, page->names, code, i, &row.frames);
		if (!error)
			error = python_stack_make(&stacks, i, &row.python);
		if (!error)
			answer_row(answer, &table, 0);
	}
	if (answer->asked_limit)
		answer->left_out += table.count - table_shown(&table);
	answer_table_end(answer, &table);
	python_stacks_close(&stacks);
	python_frames_deinit(&row.python);
	heap_stack_frames_deinit(&row.frames);
	return error;
}

struct error *heap_threads_answer(const struct heap_page *page, struct answer *answer)
{
	struct unwinder *unwinder;
	struct error *error = heap_stacks_open(page->space, &unwinder);
	if (error)
		return error;
	struct made_code code;
	made_code_init(&code);
	error = heap_stacks_made_code(unwinder, page->space, &code);
	if (!error) {
		answer_begin(answer, &heap_threads_type);
		heap_memory_head_answer(answer, page->space, NULL);
		answer_record_of(answer, &made_type, &code);
		error = heap_threads_put_threads(page, unwinder, &code, answer);
	}
	made_code_deinit(&code);
	unwinder_destroy(unwinder);
	return error ? error : answer_end(answer);
}
