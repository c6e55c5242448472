/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/errors_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/errors_settle.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/util.h"
#include "views/report/coverage.h"
#include "views/report/errors.h"
#include "views/report/member_columns.h"
#include "views/report/report_answers.h"
#include "views/report/text_parts.h"
#include "views/stacks/frames.h"

#define WHAT_MOST 400u

/* What comes first is worse; what is not here is worst of all, since it is not known. */
static const char *const by_severity[] = {"InvalidJump", "InvalidWrite", "DoubleFree",
	"InvalidFree", "MismatchedFree", "SyscallParam", "Overlap", "InvalidRead", "UninitValue",
	"MismatchedAllocateDeallocateSize", "MismatchedAllocateDeallocateAlignment", "FishyValue",
	"InvalidAlignment", "ReallocSizeZero"};

unsigned errors_view_severity(const char *kind)
{
	for (unsigned i = 0; i < ARRAY_SIZE(by_severity); i++)
		if (!strcmp(by_severity[i], kind))
			return i + 1;
	return 0;
}

static void add_heading(const struct program_error *error, uint32_t main_thread,
	const struct errors_view_options *options, struct text *out)
{
	text_add_shown(out, *error->what ? error->what : error->kind, WHAT_MOST);
	text_add(out, "  [");
	text_add_shown(out, *error->kind ? error->kind : "error", WHAT_MOST);
	if (options->process) {
		text_add(out, ", ");
		text_add_shown(out, options->process, WHAT_MOST);
	}
	if (error->tid && error->tid != main_thread) {
		text_printf(out, ", thread %" PRIu32 "%s", error->tid, *error->thread ? " " : "");
		text_add_shown(out, error->thread, WHAT_MOST);
	}
	text_add(out, "]\n");
}

static void add_stack(const struct errors_shown *shown, const struct error_stack *stack,
	const struct errors_view_options *options, struct text *out)
{
	_cleanup_(frame_vec_deinit) struct frame_vec frames;
	frame_vec_init(&frames);
	if (*stack->what) {
		text_add(out, "  ");
		text_add_shown(out, stack->what, WHAT_MOST);
		text_add(out, "\n");
	}
	if (!stack->stack)
		return;
	if (!errors_frames(shown, stack->stack, &frames)) {
		out->failed = true;
		return;
	}
	size_t most = options->frames ? options->frames : frames.len, there = frames.len;
	text_stack(frames.data, min(there, most), options->all_frames, out);
	if (there > most)
		text_printf(out, "      … %zu more frames (--num-callers)\n", there - most);
}

/* An entry is made of all frames, with their other names. */
static struct error *create_suppressor(
	const struct model *model, const struct errors_view_options *options, struct resolver **ret)
{
	if (!options->write_suppressions)
		return NULL;
	struct error *error = resolver_create(model, true, ret);
	if (!error)
		resolver_add_aliases(*ret);
	return error;
}

struct error *errors_view_add(
	const struct model *model, const struct errors_view_options *options, struct text *out)
{
	_cleanup_(resolver_cleanup) struct resolver *resolver = NULL, *suppressor = NULL;
	struct error *error = resolver_create(model, options->all_frames, &resolver);
	if (!error)
		error = create_suppressor(model, options, &suppressor);
	if (error)
		return error;
	const struct errors_shown shown = {model, resolver, SIZE_MAX, options->all_frames, false};
	size_t count, stack_count;
	const struct program_error *errors = model_errors(model, &count);
	/* Valgrind counts threads from 1. */
	bool own = !strcmp(model_recording(model)->source, "recording");
	uint32_t main_thread = own ? model_target(model)->pid : 1;
	const struct error_stack *stacks = model_error_stacks(model, &stack_count);
	for (size_t i = options->first; i < count && !error; i++) {
		add_heading(&errors[i], main_thread, options, out);
		for (size_t k = 0; k < errors[i].stack_count; k++)
			add_stack(&shown, &stacks[errors[i].first_stack + k], options, out);
		error = errors_add_member(&shown, &errors[i], "  ", out);
		if (!error && suppressor)
			error = errors_write_suppression(suppressor, model, &errors[i], out);
		text_add(out, "\n");
	}
	return !error && out->failed ? error_no_memory() : error;
}

struct errors_view_places {
	const struct model *model;
	struct resolver *resolver;
	struct frame_vec frames;
};

struct error *errors_view_places_open(const struct model *model, struct errors_view_places **ret)
{
	struct errors_view_places *places = calloc(1, sizeof(*places));
	if (!places)
		return error_no_memory();
	places->model = model;
	frame_vec_init(&places->frames);
	struct error *error = resolver_create(model, false, &places->resolver);
	if (error)
		errors_view_places_close(places);
	else
		*ret = places;
	return error;
}

void errors_view_places_close(struct errors_view_places *places)
{
	resolver_destroy(places->resolver);
	frame_vec_deinit(&places->frames);
	free(places);
}

/* The first frame of the program's own in any of the error's stacks, else the first of all; NULL:
 * none is known. *ret_stack: in which. */
static const struct shown_frame *place_of(
	struct errors_view_places *places, const struct program_error *error, size_t *ret_stack)
{
	const struct errors_shown shown = {places->model, places->resolver, SIZE_MAX, false, false};
	size_t count;
	const struct error_stack *stacks =
		model_error_stacks(places->model, &count) + error->first_stack;
	for (size_t i = 0; i < error->stack_count; i++) {
		const struct shown_frame *any = NULL;
		*ret_stack = i;
		if (!stacks[i].stack || !errors_frames(&shown, stacks[i].stack, &places->frames))
			continue;
		for (size_t k = 0; k < places->frames.len; k++) {
			const struct shown_frame *frame = places->frames.data[k];
			if (frame->is_program)
				return frame;
			any = any || frame->mark != MARK_NONE ? any : frame;
		}
		if (any)
			return any;
	}
	return NULL;
}

void errors_view_place(struct errors_view_places *places, size_t number, struct text *out)
{
	size_t count, stack = 0;
	const struct program_error *error = &model_errors(places->model, &count)[number];
	const struct shown_frame *frame = place_of(places, error, &stack);
	text_add_shown(out, *error->kind ? error->kind : "error", WHAT_MOST);
	if (!frame)
		return;
	text_add(out, stack ? " to a block of " : " in ");
	text_add_shown(out, frame->function ? frame->function : "an unknown function", WHAT_MOST);
	if (!frame->file || !frame->line)
		return;
	text_add(out, " (");
	text_add_shown(out, path_last_part(frame->file), WHAT_MOST);
	text_printf(out, ":%" PRIu32 ")", frame->line);
}

enum { EVENT };
static const struct column event_columns[] = {
	[EVENT] = {"event", COLUMN_TEXT,
		.says = "`errors`; `uninit`: what a search for unwritten memory came to; "
			"`end`: there are no more"},
	COLUMNS_END};

static void event_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)row, (void)column;
	ret->text = context;
}

static const struct table_type event_type = {.columns = event_columns, .cell = event_cell};

enum { PID, COMMAND, PATH };
static const struct column process_columns[] = {
	[PID] = NUMBER_OF(target, pid, "as the process sees itself"),
	[COMMAND] = {"command", COLUMN_TEXT, .says = "the program; null: not known"},
	[PATH] = {"recording", COLUMN_TEXT,
		.says = "its file, which is kept with `--output`; with `--engine=valgrind` "
			"memcheck's XML, or null"},
	COLUMNS_END};

struct shown_process {
	const struct model *model;
	const char *recording; /* NULL: it is not kept */
};

static void process_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct shown_process *process = context;
	const struct target *target = model_target(process->model);
	(void)row;
	if (column == PID)
		table_member(&process_columns[PID], target, ret);
	else if (column == COMMAND)
		ret->text = target->command_len ? target->command[0] : NULL;
	else
		ret->text = process->recording;
}

static const struct table_type process_type = {.within = "process",
	.says = "event `errors`: the process that they are of",
	.columns = process_columns,
	.cell = process_cell};

static const struct column end_columns[] = {
	COUNT_OF(errors_view_end, errors, "how often, in all processes"),
	COUNT_OF(errors_view_end, different, "different ones of each process, added up"),
	COUNT_OF(errors_view_end, suppressed,
		"how often errors came that `--suppressions` leaves out of these figures"),
	COUNT_OF(errors_view_end, processes, "that were looked at"),
	COUNT_OF(errors_view_end, undecided, "of them, in which errors may be missing"),
	FLAG_AS("ended_program", errors_view_end, ended,
		"whether a program was ended because of one, as `--errors=first` wants it"),
	COLUMNS_END};
static const struct table_type end_type = {.within = "sums",
	.says = "event `end`: what it comes to",
	.columns = end_columns,
	.row_bytes = sizeof(struct errors_view_end)};

static const struct column search_columns[] = {
	WORD_OF(errors_view_search, verdict,
		"`found`; `none`: no fill changed a result; `unnamed`: one did, but no block was "
		"found that does; `not-repeatable`, `not-checked`: can't be told"),
	WORD_OF(errors_view_search, why, "what differs, if that is all that is known"),
	COUNT_OF(errors_view_search, runs, "how often the program was run"),
	COUNT_OF(errors_view_search, blocks, "that the first run allocated"),
	COUNT_OF(errors_view_search, lines_left_out,
		"lines of output that differ by themselves, and were not compared"),
	FLAG_OF(errors_view_search, more, "whether there may be further blocks"),
	COUNT_OF(errors_view_search, runs_most, "the bound of `runs` (`--uninit-runs`)"),
	FLAG_OF(errors_view_search, spent,
		"whether the search ended at that bound: a block that was not found may be there"),
	COLUMNS_END};
static const struct table_type search_type = {.within = "search",
	.says = "event `uninit`: the search",
	.columns = search_columns,
	.row_bytes = sizeof(struct errors_view_search)};

enum { LOOKED_AT, CALLS, CHANGED, LEFT_OUT };
static const struct column buffers_columns[] = {
	[LOOKED_AT] = COUNT_AS("looked_at", errors_view_search, leaving_looked_at,
		"calls that handed a buffer to the kernel, in the first run"),
	[CALLS] = COUNT_AS("calls", errors_view_search, leaving_calls,
		"of them, with bytes that were never written; null: can't be told"),
	[CHANGED] = COUNT_AS("changed", errors_view_search, leaving_changed,
		"of them, that may have such bytes, but were not made in each run: nothing is "
		"known of them; null: can't be told"),
	[LEFT_OUT] = COUNT_AS("left_out", errors_view_search, leaving_left_out,
		"of them, in which not all such bytes were looked for, as a bound was reached"),
	COLUMNS_END};

static void buffers_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct errors_view_search *search = context;
	(void)row;
	if ((column == CALLS || column == CHANGED) && !search->leaving_known)
		ret->state = CELL_UNKNOWN;
	else
		table_member(&buffers_columns[column], search, ret);
}

static const struct table_type buffers_type = {.within = "buffers",
	.says = "event `uninit`: buffers for the kernel. The bytes are among the errors that "
		"follow, of kind `SyscallParam`",
	.columns = buffers_columns,
	.cell = buffers_cell};

enum { NUMBER, BLOCK_BYTES, OFFSET, BYTES, ALONE, DIFFERENCE };
static const struct column unwritten_columns[] = {
	[NUMBER] = COUNT_AS("block_number", errors_view_unwritten, number,
		"of the block, in the order of allocation, from 0"),
	[BLOCK_BYTES] = BYTES_OF(errors_view_unwritten, block_bytes, "null: not known"),
	[OFFSET] = BYTES_OF(errors_view_unwritten, offset,
		"of the unwritten bytes in the block; null: not known"),
	[BYTES] = BYTES_OF(errors_view_unwritten, bytes, "so many; null: not known"),
	[ALONE] = FLAG_OF(errors_view_unwritten, alone,
		"whether they change the result without those of earlier blocks"),
	[DIFFERENCE] = WORD_OF(errors_view_unwritten, difference, "what they change"),
	COLUMNS_END};

static void unwritten_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct errors_view_unwritten *one =
		&((const struct errors_view_unwritten *)context)[row];
	bool known = column == BLOCK_BYTES                 ? one->block_bytes
		     : column == OFFSET || column == BYTES ? one->has_bytes
							   : true;
	if (known)
		table_member(&unwritten_columns[column], one, ret);
	else
		ret->state = CELL_UNKNOWN;
}

static const struct table_type unwritten_type = {.name = "unwritten",
	.says = "event `uninit`: blocks whose unwritten bytes change the results",
	.columns = unwritten_columns,
	.cell = unwritten_cell};

const struct answer_type check_answer_type = {.schema = "heapwise.check/1",
	.from = "heapwise check --json",
	.says = "memory errors, as they happen: each line is a document. An error comes again, "
		"with "
		"a larger `count`, in no further line: how often each came is in the recording. "
		"`coverage` is that of all processes together, in the last line",
	.tables = (const struct table_type *const[]){&event_type, &process_type,
		&report_errors_type, &search_type, &buffers_type, &unwritten_type, &end_type,
		&report_coverage_type, NULL},
	.parts = (const struct table_type *const[]){&plain_frame_type, NULL}};

static struct error *document_begin(const struct sink *sink, const char *event, struct answer **ret)
{
	*ret = answer_json_create(sink, false);
	if (!*ret)
		return error_no_memory();
	answer_begin(*ret, &check_answer_type);
	answer_record_of(*ret, &event_type, event);
	return NULL;
}

static struct error *document_end(struct answer *answer)
{
	struct error *error = answer_end(answer);
	answer_destroy(answer);
	return error;
}

struct error *errors_view_json(const struct model *model, const struct errors_view_options *options,
	const struct sink *sink)
{
	_cleanup_(resolver_cleanup) struct resolver *resolver = NULL;
	struct answer *answer;
	struct error *error = resolver_create(model, options->all_frames, &resolver);
	if (!error)
		error = document_begin(sink, "errors", &answer);
	if (error)
		return error;
	const struct errors_shown shown = {model, resolver, SIZE_MAX, true, false};
	const struct shown_process process = {model,
		options->recording_moves ? options->recording : model_recording(model)->path};
	answer_record_of(answer, &process_type, &process);
	errors_put_from(&shown, options->first, answer);
	return document_end(answer);
}

struct error *errors_view_json_search(
	const struct errors_view_search *search, const struct sink *sink)
{
	struct answer *answer;
	struct error *error = document_begin(sink, "uninit", &answer);
	if (error)
		return error;
	const struct table found = {
		&unwritten_type, search->found, search->found_count, .limit = TABLE_NO_LIMIT};
	answer_record_of(answer, &search_type, search);
	answer_record_of(answer, &buffers_type, search);
	answer_table(answer, &found);
	return document_end(answer);
}

struct error *errors_view_json_end(const struct errors_view_end *end,
	const struct check_coverage *coverage, const struct sink *sink)
{
	struct answer *answer;
	struct error *error = document_begin(sink, "end", &answer);
	if (error)
		return error;
	answer_record_of(answer, &end_type, end);
	if (coverage)
		coverage_put(coverage, answer);
	return document_end(answer);
}
