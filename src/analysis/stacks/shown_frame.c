/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See shown_frame.h. */
#include "analysis/stacks/shown_frame.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/util.h"
#include "symbols/known.h"

static const struct mark_words {
	const char *cut; /* NULL: the stack is whole as far as it was taken */
	const char *text;
} marks[STACK_MARKS] = {
	[MARK_DEPTH_LIMIT] = {"depth-limit", "the stack was cut here: too deep"},
	[MARK_NO_UNWIND_INFO] = {"no-unwind-info", "no unwind information from here on"},
	[MARK_TABLE_FULL] = {"table-full", "the table of stacks was full"},
	[MARK_SIGNAL] = {NULL, SIGNAL_FRAME_NAME},
	[MARK_GUESSED] = {NULL, "from here on found only with frame pointers"},
	[MARK_IN_HANDLER] = {"in-signal-handler",
		"inside a signal handler: no stack could be taken"},
	[MARK_NO_PYTHON] = {"python-frames", "its Python frames could not be placed"},
};

const char *shown_frame_kind_name(const struct shown_frame *frame)
{
	static const char *const names[FRAME_KINDS] = {[FRAME_CODE_OBJECT] = "code-object",
		[FRAME_METHOD] = "method",
		[FRAME_NAME] = "name"};
	return names[frame->kind];
}

const char *stack_mark_cut(enum stack_mark mark)
{
	return marks[mark].cut;
}

const char *stack_mark_text(enum stack_mark mark)
{
	return marks[mark].text ? marks[mark].text : "unknown remark (of a newer version)";
}

bool shown_frame_is_remark(const struct shown_frame *frame)
{
	const char *name = frame->function;
	if (frame->mark != MARK_NONE)
		return true;
	for (size_t i = 0; name && name[0] == '(' && i < STACK_MARKS; i++) {
		size_t len = marks[i].text ? strlen(marks[i].text) : 0;
		if (len && strncmp(name + 1, marks[i].text, len) == 0 &&
			strcmp(name + 1 + len, ")") == 0)
			return true;
	}
	return false;
}

/* What files of other tools, and exports, have where no function is known. */
static const char *const unknown_names[] = {"[unknown]", "(unknown)", "<unknown>",
	"unknown program", "(unknown program)", "??", "???", "<unresolved function>",
	"(no stack was recorded)", "live at the end, of no tree", "live at the peak, of no tree"};

/* "in 7 places, all below massif's threshold (1.00%)" */
static bool is_below_threshold(const char *name)
{
	static const char start[] = "in ", middle[] = ", all below massif's threshold";
	return !strncmp(name, start, sizeof(start) - 1) && strstr(name, middle);
}

bool shown_frame_is_unknown(const struct shown_frame *frame)
{
	if (shown_frame_is_remark(frame))
		return true;
	if (frame->kind == FRAME_NAME && !frame->function && !frame->file && !frame->module &&
		!frame->address)
		return true;
	/* Code at an address of its own, or on a line, is one place whatever it is called. */
	if (!frame->function || frame->file || frame->module || !frame->given ||
		shown_frame_is_managed(frame))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(unknown_names); i++)
		if (!strcmp(frame->function, unknown_names[i]))
			return true;
	return is_below_threshold(frame->function);
}

bool shown_frame_is_program(const struct shown_frame *frame)
{
	if (shown_frame_is_managed(frame))
		return true;
	/* A function without a module is the allocation function that all_frames adds. */
	if (frame->mark != MARK_NONE || (!frame->module && frame->function && !frame->address))
		return false;
	if (frame->file && strstr(frame->file, KNOWN_RUNTIME_FOLDER))
		return false;
	if (frame->part == KNOWN_STD || frame->part == KNOWN_RUNTIME)
		return false;
	const char *name = shown_frame_plain(frame);
	return !(frame->module && known_runtime_module(frame->module)) &&
	       !(name && frame->part != KNOWN_PROGRAM && known_runtime_function(name));
}

void shown_frame_add_code(struct text *text, const struct shown_frame *frame)
{
	if (frame->function)
		text_add(text, frame->function);
	else if (frame->module && frame->unplaced && frame->address)
		text_printf(text, "0x%" PRIx64 " in %s", frame->address, frame->module);
	else if (frame->module && frame->unplaced)
		text_add(text, frame->module);
	else if (frame->module)
		text_printf(text, "%s+0x%" PRIx64, frame->module, frame->offset);
	else if (frame->kind != FRAME_NATIVE && !frame->address)
		text_add(text, "(unknown)");
	else
		text_printf(text, "0x%" PRIx64, frame->address);
}

void shown_frame_add_shown(struct text *text, const struct shown_frame *frame)
{
	if (frame->brief) {
		text_add_shown(text, frame->brief, SIZE_MAX);
		return;
	}
	_cleanup_(text_deinit) struct text code;
	text_init(&code);
	shown_frame_add_code(&code, frame);
	text_add_shown(text, code.data ? code.data : "", SIZE_MAX);
	text->failed |= code.failed;
}

void shown_frame_add_line(struct text *text, const struct shown_frame *frame)
{
	text_add_shown(text, path_last_part(frame->file), SIZE_MAX);
	if (frame->line)
		text_printf(text, ":%" PRIu32, frame->line);
}

/* Whether its file is named like one of these. */
static bool shown_frame_is_of(
	const struct shown_frame *frame, const char *const *names, size_t count)
{
	for (size_t i = 0; frame->module && i < count; i++)
		if (!strncmp(frame->module, names[i], strlen(names[i])))
			return true;
	return false;
}

static bool is_allocator(const struct shown_frame *frame, const char *name)
{
	return frame->of_malloc || (name && known_allocator(name));
}

/* What calls main, or the function of a thread; without libc's debug file only some of that has a
 * name. */
static bool is_outermost(const struct shown_frame *frame)
{
	static const char *const names[] = {"libc.so.", "libc-2.", "libpthread"};
	if (frame->mark != MARK_NONE || frame->part == KNOWN_RUNTIME)
		return frame->mark == MARK_NONE;
	return !frame->function && shown_frame_is_of(frame, names, ARRAY_SIZE(names));
}

void shown_frame_conclude(struct shown_frame *frame)
{
	static const char *const system[] = {"libc.so", "libc-2", "ld-linux", "ld-2",
		"libstdc++.so", "libpthread", "libdl.so", "libdl-2", "libresolv", "libnss_"};
	static const char *const recorder[] = {"libheapwise-rt.so"};
	bool managed = shown_frame_is_managed(frame);
	const char *name = managed ? NULL : shown_frame_plain(frame);
	frame->is_program = shown_frame_is_program(frame);
	frame->is_wrapper = name && known_wrapper(name);
	frame->of_malloc = frame->module && known_allocator_module(frame->module);
	frame->is_allocator = !managed && is_allocator(frame, name);
	frame->is_unknown = shown_frame_is_unknown(frame);
	frame->is_outermost = is_outermost(frame);
	frame->is_system = shown_frame_is_of(frame, system, ARRAY_SIZE(system));
	frame->is_python = frame->code && code_is_python(frame->code);
	frame->of_recorder = shown_frame_is_of(frame, recorder, ARRAY_SIZE(recorder));
}

size_t shown_frames_hidden(const struct shown_frame *const *frames, size_t count)
{
	size_t hidden = 0;
	while (hidden < count && frames[hidden]->is_allocator)
		hidden++;
	return hidden == count ? 0 : hidden;
}

bool shown_frames_have_python(const struct shown_frame *const *frames, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (frames[i]->is_python)
			return true;
	return false;
}
