/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The view errors: what a checker found beside leaks, in its order, with all stacks that it tells.
 */
#include <inttypes.h>
#include <string.h>

#include "analysis/block_type.h"
#include "analysis/errors_settle.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "model/errors.h"
#include "views/report/coverage.h"
#include "views/report/errors.h"
#include "views/report/figure_text.h"
#include "views/report/member_columns.h"
#include "views/report/page.h"
#include "views/report/recorded_columns.h"
#include "views/report/report_answers.h"
#include "views/report/text_parts.h"
#include "views/stacks/frames.h"

#define WHAT_MOST 400u

bool errors_frames(const struct errors_shown *errors, uint32_t stack, struct frame_vec *ret)
{
	struct error *error =
		resolver_stack(errors->resolver, (struct stack_id){stack}, KIND_UNKNOWN, ret);
	error_destroy(error);
	return !error;
}

/* Whether it is of bytes that were never written, in a block whose allocation is known. */
static bool has_member(const struct program_error *error)
{
	const struct error_block *block = &error->block;
	bool unwritten = !strcmp(error->kind, "UninitValue") ||
			 (!strcmp(error->kind, "SyscallParam") &&
				 strstr(error->what, "points to uninitialised"));
	return unwritten && block->known && block->has_offset && block->allocated_at &&
	       block->offset >= 0;
}

static struct error *find_member(const struct errors_shown *shown,
	const struct program_error *error, struct block_member *ret)
{
	_cleanup_(block_types_cleanup) struct block_types *types = NULL;
	if (!has_member(error))
		return NULL;
	struct error *failed = block_types_create(shown->resolver, &types);
	return failed ? failed
		      : block_types_find(types, (struct stack_id){error->block.allocated_at},
				error->block.size, (uint64_t)error->block.offset, ret);
}

struct error *errors_add_member(const struct errors_shown *errors,
	const struct program_error *error, const char *indent, struct text *out)
{
	_cleanup_(block_member_deinit) struct block_member member;
	block_member_init(&member);
	struct error *failed = find_member(errors, error, &member);
	if (failed || !member.type.len)
		return failed;
	text_add(out, indent);
	block_member_add(&member, (uint64_t)error->block.offset, out);
	text_add(out, "\n");
	return NULL;
}

static uint64_t count_all(const struct program_error *errors, size_t count)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < count; i++)
		if (__builtin_add_overflow(sum, errors[i].count, &sum))
			return UINT64_MAX;
	return sum;
}

static void errors_add_stacks(
	const struct errors_shown *shown, const struct program_error *error, struct text *out)
{
	size_t count;
	const struct error_stack *stacks = model_error_stacks(shown->model, &count);
	struct frame_vec frames;
	frame_vec_init(&frames);
	for (size_t i = 0; i < error->stack_count; i++) {
		const struct error_stack *stack = &stacks[error->first_stack + i];
		if (*stack->what) {
			text_add(out, "    ");
			text_add_shown(out, stack->what, WHAT_MOST);
			text_add(out, "\n");
		}
		if (!stack->stack)
			continue;
		if (!errors_frames(shown, stack->stack, &frames))
			out->failed = true;
		text_stack(frames.data, frames.len, shown->all_frames, out);
	}
	frame_vec_deinit(&frames);
}

static const struct program_error *error_of(const struct errors_shown *shown, size_t number)
{
	size_t count;
	return &model_errors(shown->model, &count)[number];
}

static void errors_row_text(const void *context, size_t row, struct text *out)
{
	const struct errors_shown *shown = context;
	const struct program_error *error = error_of(shown, row);
	text_add(out, "\n  ");
	text_add_shown(out, *error->kind ? error->kind : "error", WHAT_MOST);
	if (error->count > 1)
		text_printf(out, ", %s times", FMT_COUNT(error->count));
	if (error->tid > 1 || *error->thread) {
		text_printf(out, ", thread %" PRIu32, error->tid);
		text_add(out, *error->thread ? " " : "");
		text_add_shown(out, error->thread, WHAT_MOST);
	}
	text_add(out, *error->what ? ": " : "");
	text_add_shown(out, error->what, WHAT_MOST);
	text_add(out, "\n");
	errors_add_stacks(shown, error, out);
	struct error *failed = errors_add_member(shown, error, "    ", out);
	if (!failed && shown->write_suppressions)
		failed = errors_write_suppression(shown->resolver, shown->model, error, out);
	out->failed |= failed != NULL;
	error_destroy(failed);
}

/* The stacks of an error; frames are those of the stack that is laid out. */
struct error_stack_rows {
	const struct errors_shown *shown;
	const struct error_stack *stacks;
	struct frame_vec *frames;
};

enum { STACK_WHAT, STACK };
static const struct column stack_columns[] = {
	[STACK_WHAT] = {"what", COLUMN_TEXT,
		.says = "a sentence about it; null of the first: where the error was made"},
	[STACK] = {"stack", COLUMN_TABLE, .says = "none if there is only the sentence",
		.nested = &plain_frame_type},
	COLUMNS_END};

static void errors_stack_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct error_stack_rows *rows = context;
	const struct error_stack *stack = &rows->stacks[row];
	if (column == STACK_WHAT) {
		ret->text = *stack->what ? stack->what : NULL;
		return;
	}
	bool known = stack->stack && errors_frames(rows->shown, stack->stack, rows->frames);
	ret->built.failed |= stack->stack && !known;
	ret->nested = (struct table){&plain_frame_type, rows->frames->data,
		known ? rows->frames->len : 0, .limit = TABLE_NO_LIMIT};
}

/* "the block was allocated: make < main" */
static void errors_stack_gist(const void *context, size_t row, struct text *out)
{
	const struct error_stack_rows *rows = context;
	const struct error_stack *stack = &rows->stacks[row];
	text_add(out, stack->what);
	if (!stack->stack)
		return;
	out->failed |= !errors_frames(rows->shown, stack->stack, rows->frames);
	for (size_t i = 0; i < rows->frames->len; i++) {
		text_add(out, i ? " < " : *stack->what ? ": " : "");
		plain_frame_type.gist(rows->frames->data, i, out);
	}
}

static const struct table_type stack_type = {.name = "stacks",
	.columns = stack_columns,
	.cell = errors_stack_cell,
	.gist = errors_stack_gist};

static const struct column access_columns[] = {ADDRESS_OF(error_access, address, "its first byte"),
	MEMBER_AS("bytes", COLUMN_INTEGER, UNIT_BYTES, error_access, bytes,
		"how many; null where nobody knows", .zero_unknown = true),
	FLAG_OF(error_access, exact, "false: `bytes` or more"), COLUMNS_END};
static const struct table_type access_type = {
	.columns = access_columns, .row_bytes = sizeof(struct error_access)};

enum { ADDRESS, SIZE, OFFSET, FREED, GUARDED, ALLOCATED_AT, FREED_AT, ALLOCATED_BY, FREED_BY };
static const struct column block_columns[] = {
	[ADDRESS] = ADDRESS_OF(error_block, address, "as the program got it"),
	[SIZE] = BYTES_OF(error_block, size, "as the program asked for"),
	[OFFSET] = {"offset", COLUMN_SIGNED, UNIT_BYTES,
		.says = "of the address from the block's: negative before the block, `size` and "
			"more after it; null of errors without an address"},
	[FREED] = FLAG_OF(error_block, freed, "whether it was free then"),
	[GUARDED] = FLAG_OF(error_block, guarded, "whether inaccessible memory was next to it"),
	[ALLOCATED_AT] = {"allocated_at", COLUMN_TABLE, .says = "the stack; empty: not known",
		.nested = &plain_frame_type},
	[FREED_AT] = {"freed_at", COLUMN_TABLE, .says = "the stack; empty: not known, or not freed",
		.nested = &plain_frame_type},
	[ALLOCATED_BY] = MEMBER_AS("allocated_by", COLUMN_INTEGER, UNIT_NONE, error_block,
		allocated_by, "id of the thread; null: not known", .zero_unknown = true),
	[FREED_BY] = MEMBER_AS("freed_by", COLUMN_INTEGER, UNIT_NONE, error_block, freed_by,
		"likewise", .zero_unknown = true),
	COLUMNS_END};

/* The block of an error, and frames of one of its stacks. */
struct error_block_row {
	const struct errors_shown *shown;
	const struct error_block *block;
	struct frame_vec *frames;
};

static void errors_block_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct error_block_row *at = context;
	(void)row;
	if (column == OFFSET) {
		ret->signed_number = at->block->offset;
		ret->state = at->block->has_offset ? CELL_KNOWN : CELL_UNKNOWN;
	} else if (column == ALLOCATED_AT || column == FREED_AT) {
		uint32_t stack = column == FREED_AT ? at->block->freed_at : at->block->allocated_at;
		bool known = stack && errors_frames(at->shown, stack, at->frames);
		ret->built.failed |= stack && !known;
		ret->nested = (struct table){&plain_frame_type, at->frames->data,
			known ? at->frames->len : 0, .limit = TABLE_NO_LIMIT};
	} else {
		table_member(&block_columns[column], at->block, ret);
	}
}

static const struct table_type block_type = {.columns = block_columns, .cell = errors_block_cell};

enum { KIND, WHAT, COUNT, TID, THREAD, ENDS, ACCESS, BLOCK, STACKS };
static const struct column columns[] = {
	[KIND] = WORD_OF(program_error, kind,
		"as the checker calls it; of recordings memcheck's names, and `DoubleFree`"),
	[WHAT] = WORD_OF(program_error, what, "as a sentence; may be empty"),
	[COUNT] = COUNT_OF(program_error, count, "how often it came"),
	[TID] = NUMBER_OF(program_error, tid, "of the thread"),
	[THREAD] = WORD_OF(program_error, thread, "its name; may be empty"),
	[ENDS] = FLAG_AS("ends_program", program_error, ends,
		"whether the program ended because of it: `--errors=first` wants it so, or it is a "
		"fault that nothing handles"),
	[ACCESS] = {"access", COLUMN_RECORD,
		.says = "the access, or the address that was freed; null: not known, as of other "
			"checkers",
		.nested = &access_type},
	[BLOCK] = {"block", COLUMN_RECORD,
		.says = "the block that the address is in or next to; null: not known",
		.nested = &block_type},
	[STACKS] = {"stacks", COLUMN_TABLE,
		.says = "where it was made first, then what else the checker knows",
		.nested = &stack_type},
	COLUMNS_END};

/* The context of errors is what comes first in this. */
struct error_rows {
	struct errors_shown shown;
	struct error_stack_rows *stacks; /* of the error that is laid out */
	struct error_block_row *block;   /* likewise */
};

static void errors_cell_of(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct error_rows *rows = context;
	const struct program_error *error = error_of(&rows->shown, row);
	size_t count;
	if (column == ACCESS && error->access.known) {
		cell_take_record(ret, &access_type, &error->access);
		return;
	}
	if (column == BLOCK && error->block.known) {
		rows->block->block = &error->block;
		cell_take_record(ret, &block_type, rows->block);
		return;
	}
	if (column != STACKS) {
		if (column == ACCESS || column == BLOCK)
			ret->state = CELL_UNKNOWN;
		else
			table_member(&columns[column], error, ret);
		return;
	}
	rows->stacks->stacks = model_error_stacks(rows->shown.model, &count) + error->first_stack;
	ret->nested = (struct table){
		&stack_type, rows->stacks, error->stack_count, .limit = TABLE_NO_LIMIT};
}

const struct table_type report_errors_type = {.name = "errors",
	.says = "view `errors`: a row an error, as the checker has them",
	.columns = columns,
	.cell = errors_cell_of,
	.row_text = errors_row_text};

enum { TOTAL, TIMES };
static const struct column count_columns[] = {
	[TOTAL] = {"errors_total", COLUMN_INTEGER, UNIT_COUNT,
		.says = "view `errors`: how many there are, beyond a limit too"},
	[TIMES] = {"error_count", COLUMN_INTEGER, UNIT_COUNT,
		.says = "how often they came, all together"},
	COLUMNS_END};

static void count_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	size_t count;
	const struct program_error *errors = model_errors(context, &count);
	(void)row;
	ret->number = column == TOTAL ? count : count_all(errors, count);
}

const struct table_type report_errors_count_type = {.columns = count_columns, .cell = count_cell};

void errors_put_from(const struct errors_shown *shown, size_t first, struct answer *answer)
{
	size_t count;
	struct frame_vec frames;
	struct error_stack_rows stacks = {.shown = shown, .frames = &frames};
	struct error_block_row block = {.shown = shown, .frames = &frames};
	const struct error_rows rows = {*shown, &stacks, &block};
	model_errors(shown->model, &count);
	const struct table errors = {&report_errors_type, &rows, count > first ? count - first : 0,
		.first = first, .limit = shown->limit};
	frame_vec_init(&frames);
	answer_table(answer, &errors);
	frame_vec_deinit(&frames);
}

void errors_put(const struct errors_shown *shown, struct answer *answer)
{
	answer_record_of(answer, &report_errors_count_type, shown->model);
	errors_put_from(shown, 0, answer);
}

static void add_more(const struct errors_shown *shown, struct text *out)
{
	size_t count;
	model_errors(shown->model, &count);
	if (count <= shown->limit)
		return;
	text_printf(out, "\n  … %s more errors\n", FMT_COUNT(count - shown->limit));
}

void errors_add(const struct errors_shown *shown, struct text *out)
{
	size_t count;
	model_errors(shown->model, &count);
	for (size_t i = 0; i < count && i < shown->limit; i++)
		errors_row_text(shown, i, out);
	add_more(shown, out);
}

static void suppression_text(const void *context, size_t row, struct text *out)
{
	const struct error_suppression *one = &((const struct error_suppression *)context)[row];
	if (one->count)
		text_printf(out, "  %s%s", FMT_COUNT(one->count),
			one->count == 1 ? " time   " : " times  ");
	else
		text_add(out, "  never    ");
	text_add_shown(out, one->name, WHAT_MOST);
	text_add(out, *one->from ? " (" : "");
	text_add_shown(out, one->from, WHAT_MOST);
	text_add(out, *one->from ? ")\n" : "\n");
}

static const struct column suppression_columns[] = {
	WORD_OF(error_suppression, name, "of the checker's suppression"),
	COUNT_OF(error_suppression, count, "how many errors it suppressed; 0: it fits none"),
	WORD_OF(error_suppression, from,
		"`FILE:LINE` of one of `--suppressions`; empty of the checker's own"),
	COLUMNS_END};
const struct table_type report_suppressions_type = {.name = "suppressions",
	.says = "view `errors`: suppressions of the checker that matched, and entries for "
		"errors of `--suppressions`",
	.title = "Suppressions",
	.columns = suppression_columns,
	.row_bytes = sizeof(struct error_suppression),
	.row_text = suppression_text};

static bool are_suppressed(const struct error_suppression *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].count && *rows[i].from)
			return true;
	return false;
}

/* What is said of a recording in which no error was found. */
static const char *none_found(const struct recording *recording, bool checked)
{
	if (checked || strcmp(recording->source, "recording") != 0)
		return "\nNo errors.\n";
	if (recording->watched)
		return "\nErrors are not known: probes in the kernel do not tell by which function "
		       "a block was freed, nor see frees of what is no block.\n";
	if (recording->attached_ns)
		return "\nNo errors: each free that was seen was by a function that matches, as "
		       "far as the block's is known; those of blocks that are not known are not "
		       "among them. (Other errors are not looked for.)\n";
	return "\nNo errors: each free was of a live block, by a function that matches. (Other "
	       "errors are not looked for.)\n";
}

void report_errors(const struct page *page, struct answer *answer)
{
	const struct errors_shown shown = {page->model, page->resolver, page->limit,
		page->options->all_frames, page->options->write_suppressions};
	struct text *prose = answer_prose(answer);
	size_t count, suppression_count;
	const struct error_suppression *rows =
		model_error_suppressions(page->model, &suppression_count);
	const struct table suppressions = {
		&report_suppressions_type, rows, suppression_count, .limit = TABLE_NO_LIMIT};
	const struct check_coverage *coverage = model_check_coverage(page->model);
	model_errors(page->model, &count);
	if (prose)
		text_add(prose, count ? "\nErrors\n"
				: are_suppressed(rows, suppression_count)
					? "\nNo errors but those that are suppressed.\n"
					: none_found(model_recording(page->model), coverage));
	errors_put(&shown, answer);
	if (prose)
		add_more(&shown, prose);
	if (coverage)
		coverage_put(coverage, answer);
	answer_table(answer, &suppressions);
}
