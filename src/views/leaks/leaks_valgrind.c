/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leaks and wrong frees as memcheck writes them with --xml=yes: protocol 4 of Valgrind
 * (docs/internals/xml-output-protocol4.txt), for IDEs and CI systems that read it. The allocation
 * function has no address: 0x0.
 */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/errors.h"
#include "views/export/export_out.h"
#include "views/leaks/leaks_page.h"
#include "views/report/figure_text.h"

/* "<name>text</name>" */
static void add_element(struct text *out, const char *name, const char *text)
{
	text_printf(out, "<%s>", name);
	text_add_xml(out, text);
	text_printf(out, "</%s>", name);
}

static void add_comment(struct text *out, const struct text *comment)
{
	if (!comment->len)
		return;
	add_element(out, "usercomment", comment->data);
	text_add_char(out, '\n');
}

/* "00:00:00:01.234 " */
static void add_time(struct text *out, uint64_t ns)
{
	uint64_t ms = ns / 1000000;
	text_printf(out, "%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64 ".%03" PRIu64 " ",
		ms / 86400000, ms / 3600000 % 24, ms / 60000 % 60, ms / 1000 % 60, ms % 1000);
}

static void add_status(struct text *out, const char *state, uint64_t ns)
{
	text_printf(out, "<status><state>%s</state><time>", state);
	add_time(out, ns);
	text_add(out, "</time></status>\n\n");
}

static void leaks_valgrind_add_head(const struct leaks_page *page, struct text *out)
{
	const struct target *target = model_target(page->model);
	text_add(out, "<?xml version=\"1.0\"?>\n\n<valgrindoutput>\n\n"
		      "<protocolversion>4</protocolversion>\n"
		      "<protocoltool>memcheck</protocoltool>\n\n"
		      "<preamble>\n");
	text_printf(out, "  <line>heapwise: %s in the form of memcheck</line>\n</preamble>\n\n",
		page->options->errors_only ? "errors" : "leaks");
	text_printf(out,
		"<pid>%" PRIu32 "</pid>\n<ppid>%" PRIu32 "</ppid>\n<tool>memcheck</tool>\n",
		target->pid, target->ppid);
	add_comment(out, &page->verdict);
	add_comment(out, &page->notes);
	text_add(out, "\n<args>\n  <vargv><exe>heapwise</exe></vargv>\n  <argv>\n    ");
	add_element(out, "exe", target->command_len ? target->command[0] : target->exe);
	for (size_t i = 1; i < target->command_len; i++) {
		text_add(out, "\n    ");
		add_element(out, "arg", target->command[i]);
	}
	text_add(out, "\n  </argv>\n</args>\n\n");
	add_status(out, "RUNNING", 0);
}

static void add_source(struct text *out, const struct shown_frame *frame)
{
	const char *slash = strrchr(frame->file, '/');
	if (slash && slash > frame->file) {
		_cleanup_(text_deinit) struct text folder;
		text_init(&folder);
		text_add_n(&folder, frame->file, (size_t)(slash - frame->file));
		add_element(out, "dir", folder.data ? folder.data : "");
	}
	add_element(out, "file", slash ? slash + 1 : frame->file);
	text_printf(out, "<line>%" PRIu32 "</line>", frame->line);
}

static void leaks_valgrind_add_frame(struct text *out, const struct shown_frame *frame)
{
	/* Inside the call instruction, as memcheck has it. */
	text_printf(
		out, "    <frame><ip>0x%" PRIX64 "</ip>", frame->address ? frame->address - 1 : 0);
	if (frame->module_path)
		add_element(out, "obj", frame->module_path);
	if (frame->function)
		add_element(out, "fn", frame->function);
	if (frame->file)
		add_source(out, frame);
	text_add(out, "</frame>\n");
}

static void leaks_valgrind_add_stack(struct text *out, const struct leak_stack *stack)
{
	text_add(out, "  <stack>\n");
	if (stack->kind != KIND_UNKNOWN) {
		text_add(out, "    <frame><ip>0x0</ip><obj>libheapwise-rt.so</obj>");
		add_element(out, "fn", alloc_kind_name(stack->kind));
		text_add(out, "</frame>\n");
	}
	for (size_t i = 0; i < stack->all_depth; i++)
		if (stack->all[i]->mark == MARK_NONE)
			leaks_valgrind_add_frame(out, stack->all[i]);
	text_add(out, "  </stack>\n");
}

static void leaks_valgrind_add_words(
	struct text *out, const struct leak_row *row, size_t number, size_t count)
{
	text_add_count(out, leak_row_retained(row));
	if (row->indirect_blocks)
		text_printf(out, " (%s direct, %s indirect)", FMT_COUNT(row->bytes),
			FMT_COUNT(row->indirect_bytes));
	text_printf(out, " bytes in %s blocks are %s in loss record %zu of %zu",
		FMT_COUNT(row->blocks), leaks_kind_words(row), number, count);
}

static void add_error(const struct leaks_page *page, size_t number, size_t count, struct text *out)
{
	static const char *const kinds[LEAK_KINDS] = {
		[LEAK_DEFINITE] = "Leak_DefinitelyLost",
		[LEAK_INDIRECT] = "Leak_IndirectlyLost",
		[LEAK_POSSIBLE] = "Leak_PossiblyLost",
		[LEAK_REACHABLE] = "Leak_StillReachable",
	};
	const struct leak_row *row = &page->leaks.rows.data[number];
	text_printf(out, "<error>\n  <unique>0x%zx</unique>\n  <tid>1</tid>\n  <kind>%s</kind>\n",
		number, kinds[row->kind]);
	text_add(out, "  <xwhat>\n    <text>");
	leaks_valgrind_add_words(out, row, number + 1, count);
	text_printf(out,
		"</text>\n    <leakedbytes>%" PRIu64 "</leakedbytes>\n    <leakedblocks>%" PRIu64
		"</leakedblocks>\n  </xwhat>\n",
		leak_row_retained(row), row->blocks);
	leaks_valgrind_add_stack(out, leaks_stack(page, row));
	text_add(out, "</error>\n\n");
}

/* Above the numbers of loss records. */
static uint64_t unique_of_error(size_t number)
{
	return (1ull << 32) + number;
}

/* A stack has at least one frame. */
static void add_error_stack(struct text *out, const struct frame_vec *frames)
{
	text_add(out, "  <stack>\n");
	for (size_t i = 0; i < frames->len; i++)
		if (frames->data[i]->mark == MARK_NONE)
			leaks_valgrind_add_frame(out, frames->data[i]);
	if (!frames->len)
		text_add(out, "    <frame><ip>0x0</ip></frame>\n");
	text_add(out, "  </stack>\n");
}

static void add_auxwhat(struct text *out, const char *what)
{
	if (!*what)
		return;
	text_add(out, "  ");
	add_element(out, "auxwhat", what);
	text_add_char(out, '\n');
}

/* As memcheck tells them, of the program while it ran: the stack of the free, and what is known of
 * the block. */
static void add_wrong_free(const struct leaks_page *page, size_t number, struct text *out)
{
	const struct program_error *error = leaks_error_at(page, number);
	_cleanup_(frame_vec_deinit) struct frame_vec frames;
	frame_vec_init(&frames);
	text_printf(out, "<error>\n  <unique>0x%" PRIx64 "</unique>\n  <tid>%" PRIu32 "</tid>\n  ",
		unique_of_error(number), error->tid ? error->tid : 1);
	add_element(out, "kind", leaks_error_kind(error));
	text_add(out, "\n  ");
	add_element(out, "what", *error->what ? error->what : error->kind);
	text_add(out, "\n");
	for (size_t i = 0; i < error->stack_count; i++) {
		const char *what;
		if (!leaks_error_stack(page, number, i, &frames, &what))
			out->failed = true;
		if (i)
			add_auxwhat(out, what);
		if (frames.len || !i)
			add_error_stack(out, &frames);
		if (!i)
			add_auxwhat(out, what);
	}
	text_add(out, "</error>\n\n");
}

static void add_counts(const struct leaks_page *page, struct text *out)
{
	text_add(out, "<errorcounts>\n");
	for (size_t i = 0; i < leaks_errors_shown(page); i++)
		text_printf(out,
			"  <pair><count>%" PRIu64 "</count><unique>0x%" PRIx64 "</unique></pair>\n",
			leaks_error_at(page, i)->count, unique_of_error(i));
	for (size_t i = 0; i < page->leaks.rows.len; i++)
		if (leaks_may_be_error(page, &page->leaks.rows.data[i]))
			text_printf(
				out, "  <pair><count>1</count><unique>0x%zx</unique></pair>\n", i);
	text_add(out, "</errorcounts>\n\n<suppcounts>\n</suppcounts>\n\n</valgrindoutput>\n");
}

struct error *leaks_valgrind(const struct leaks_page *page, const struct sink *sink)
{
	struct export_out out;
	struct error *error = NULL;
	size_t shown = 0, count = page->leaks.rows.len;
	bool full = page->leaks.searched && page->options->detail == LEAKS_FULL;
	export_out_init(&out, sink);
	leaks_valgrind_add_head(page, &out.text);
	for (size_t i = 0; i < leaks_errors_shown(page); i++)
		add_wrong_free(page, i, &out.text);
	add_status(&out.text, "FINISHED", model_recording(page->model)->duration_ns);
	for (size_t i = 0; full && !error && i < count && shown < page->limit; i++) {
		if (!leaks_shows(page, &page->leaks.rows.data[i]))
			continue;
		add_error(page, i, count, &out.text);
		error = export_out_flush(&out);
		shown++;
	}
	add_counts(page, &out.text);
	if (!error)
		error = export_out_end(&out);
	export_out_deinit(&out);
	return error;
}
