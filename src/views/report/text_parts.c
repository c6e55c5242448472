/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/report/text_parts.h"

#include <inttypes.h>
#include <string.h>

#include "analysis/folding.h"
#include "analysis/summary.h"
#include "base/util.h"
#include "views/report/figure_text.h"

void text_frame(const struct shown_frame *frame, struct text *out)
{
	text_add(out, TEXT_FRAME_INDENT);
	if (frame->mark != MARK_NONE) {
		const char *form = frame->mark == MARK_SIGNAL ? "%s\n" : "(%s)\n";
		text_printf(out, form, stack_mark_text(frame->mark));
		return;
	}
	shown_frame_add_shown(out, frame);
	if (frame->file) {
		text_add(out, "  ");
		shown_frame_add_line(out, frame);
	}
	if (frame->module && (frame->function || frame->file)) {
		text_add(out, "  [");
		text_add_shown(out, frame->module, SIZE_MAX);
		text_add(out, "]");
	} else if (!frame->module && !frame->function) {
		text_add(out, "  [in no file]");
	} else if (!frame->module && frame->address && !frame->given) {
		text_add(out, "  [made at run time]");
	}
	text_add(out, frame->inlined ? "  (inlined)\n" : "\n");
}

void text_more(uint64_t count, const char *one, const char *many, struct text *out)
{
	if (!count)
		return;
	text_printf(out, "  … %s more %s\n", FMT_COUNT(count), count == 1 ? one : many);
}

/* Frames up to `shown`; a run that is folded is a line. */
static void add_frames(const struct folding *folding, size_t shown, bool counted, struct text *out)
{
	for (size_t i = 0; i < shown; i++) {
		size_t run = min(folding_run(folding, i), shown - i);
		if (!run) {
			text_frame(folding->frames[i], out);
			continue;
		}
		text_add(out, TEXT_FRAME_INDENT "… ");
		folding_add_words(folding, i, run, counted, out);
		text_add(out, "\n");
		i += run - 1;
	}
}

void text_stack(
	const struct shown_frame *const *frames, size_t depth, bool all_frames, struct text *out)
{
	struct folding folding;
	folding_init_whole(&folding, frames, depth, false);
	if (all_frames)
		folding.kept = 0;
	add_frames(&folding, depth, true, out);
}

/* Deeper stacks end in "… N more frames". */
#define FRAMES_SHOWN 40u

void text_row_stack(const struct row *row, bool all_frames, struct text *out)
{
	size_t shown = row->depth;
	if (!all_frames && shown > FRAMES_SHOWN)
		shown = FRAMES_SHOWN;
	struct folding folding;
	folding_of_row(&folding, row);
	if (all_frames)
		folding.kept = 0;
	add_frames(&folding, shown, !row->varies, out);
	if (shown < row->depth)
		text_printf(out, TEXT_FRAME_INDENT "… %zu more frames (--all-frames shows them)\n",
			row->depth - shown);
	if (row->depth == 0)
		text_add(out, TEXT_FRAME_INDENT "(no stack was recorded)\n");
	if (row->partial)
		text_printf(out, "%s%s stacks merged\n",
			TEXT_FRAME_INDENT "… called along different ways: ",
			FMT_COUNT(row->stacks));
}

void text_add_argument(const char *argument, struct text *out)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-+=/.,:@%^";
	bool quote = argument[0] == '\0' || argument[strspn(argument, plain)] != '\0';
	if (quote)
		text_add_char(out, '\'');
	for (const char *c = argument; *c; c++) {
		if (*c == '\'')
			text_add(out, "'\\''");
		else if ((unsigned char)*c < ' ' || *c == 0x7f)
			text_add_char(out, '?');
		else
			text_add_char(out, *c);
	}
	if (quote)
		text_add_char(out, '\'');
}

/* A command line of a compiler may have thousands of arguments. */
#define ARGUMENTS_SHOWN 12u

static void add_moment(const char *name, uint64_t ns, struct text *out)
{
	text_add_shown(out, name, 80);
	text_printf(out, " (after %s)", FMT_DURATION(ns));
}

static void text_parts_add_range(const struct range *range, struct text *out)
{
	text_add(out, range->from_step ? "  from " : "  as of ");
	if (range->from_step) {
		add_moment(range->from, range->from_ns, out);
		text_add(out, " to ");
	}
	add_moment(range->to, range->to_ns, out);
	text_add(out, "\n");
}

/* "  app.pb.gz, a file of pprof, of 12 s" */
static void add_foreign(const struct recording *recording, struct text *out)
{
	text_add_shown(out, recording->path, 400);
	text_printf(out, ": read as %s", recording->source);
	if (!(recording->unknown & UNKNOWN_TIMES))
		text_printf(out, ", of %s", FMT_DURATION(recording->duration_ns));
	text_add(out, recording->complete ? "\n" : ", incomplete\n");
	if (recording->range.part)
		text_parts_add_range(&recording->range, out);
	if (recording->blocks)
		text_printf(out, "  only blocks %s\n", recording->blocks);
}

void text_heading(const struct model *model, struct text *out)
{
	const struct target *target = model_target(model);
	const struct recording *recording = model_recording(model);
	for (size_t i = 0; i < target->command_len && i < ARGUMENTS_SHOWN; i++) {
		if (i > 0)
			text_add_char(out, ' ');
		text_add_argument(target->command[i], out);
	}
	if (target->command_len == 0)
		text_add(out, "(unknown program)");
	if (target->command_len > ARGUMENTS_SHOWN)
		text_add(out, " …");
	text_add(out, "\n  ");
	if (recording->merged) {
		text_printf(out, "%zu recordings added up: ", recording->merged);
		text_add_shown(out, recording->path, 400);
		text_add(out, recording->complete ? "\n" : ", incomplete\n");
		return;
	}
	if (strcmp(recording->source, "recording") != 0) {
		add_foreign(recording, out);
		return;
	}
	if (target->pid)
		text_printf(out, "process %" PRIu32 " ", target->pid);
	if (target->outer_pid && target->outer_pid != target->pid)
		text_printf(out, "(%" PRIu32 " outside its PID namespace) ", target->outer_pid);
	const struct leak_search *search = model_leak_search(model);
	bool running = target->exit_kind == EXIT_KIND_RUNNING && !recording->changed_at_end &&
		       !recording->detached;
	if (running && search && search->moment == LEAK_AT_EXIT)
		text_add(out, "is about to end");
	else if (recording->changed_at_end)
		text_add(out, "went on in another recording");
	else if (recording->detached)
		text_add(out, "went on, and was let go");
	else
		summary_add_ending(out, target);
	if (!running)
		text_printf(out, ", recorded for %s", FMT_DURATION(recording->duration_ns));
	text_add(out, recording->complete ? "\n" : ", incomplete\n");
	if (recording->range.part)
		text_parts_add_range(&recording->range, out);
	if (recording->blocks)
		text_printf(out, "  only blocks %s\n", recording->blocks);
}

/* Each line of a text, indented. */
static void add_lines(const struct text *lines, struct text *out)
{
	bool at_start = true;
	for (size_t i = 0; i < lines->len; i++) {
		if (at_start)
			text_add(out, "  ");
		text_add_char(out, lines->data[i]);
		at_start = lines->data[i] == '\n';
	}
}

void text_notes(const struct text *notes, struct text *out)
{
	if (notes->len == 0)
		return;
	text_add(out, "\nNotes\n");
	add_lines(notes, out);
}

void text_verdict(const struct text *verdict, struct text *out)
{
	text_add(out, "\n");
	add_lines(verdict, out);
}
