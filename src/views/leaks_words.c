/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the forms for CI systems share: one sentence, one place and one fingerprint a row. */
#include <inttypes.h>
#include <string.h>

#include "analysis/summary.h"
#include "base/checksum.h"
#include "base/cleanup.h"
#include "views/leaks_page.h"

const char *leaks_kind_words(const struct leak_row *row)
{
	static const char *const words[LEAK_CLASSES] = {
		[LEAK_CLASS_DEFINITE] = "definitely lost",
		[LEAK_CLASS_INDIRECT] = "indirectly lost",
		[LEAK_CLASS_POSSIBLE] = "possibly lost",
		[LEAK_CLASS_REACHABLE] = "still reachable",
		[LEAK_CLASS_SUPPRESSED] = "suppressed",
		[LEAK_CLASS_LIBRARY] = "kept by libraries",
		[LEAK_CLASS_NEVER_FREED] = "never freed",
	};
	return words[row->class];
}

const char *leaks_heuristic_name(unsigned number)
{
	static const char *const names[LEAK_HEURISTICS] = {
		"stdstring", "length64", "newarray", "multipleinheritance"};
	return names[number];
}

void leaks_add_quantity(struct text *out, uint64_t bytes, uint64_t blocks)
{
	text_add_bytes(out, bytes);
	text_add(out, " in ");
	text_add_count(out, blocks);
	text_add(out, blocks == 1 ? " block" : " blocks");
}

void leaks_add_message(const struct leaks_page *page, const struct leak_row *row, struct text *out)
{
	const struct leak_stack *stack = leaks_stack(page, row);
	leaks_add_quantity(out, row->bytes, row->blocks);
	text_printf(out, " %s", leaks_kind_words(row));
	if (row->indirect_blocks) {
		text_add(out, ", and with ");
		text_add(out, row->blocks == 1 ? "it " : "them ");
		leaks_add_quantity(out, row->indirect_bytes, row->indirect_blocks);
	}
	if (stack->kind != KIND_UNKNOWN)
		text_printf(out, ", from %s", leaks_function(stack));
	if (stack->place) {
		text_add(out, " in ");
		summary_add_place(out, stack->place);
	}
}

bool leaks_is_error(const struct leaks_page *page, const struct leak_row *row)
{
	return page->options->detail == LEAKS_FULL && row->class < LEAK_CLASS_SUPPRESSED &&
	       (page->options->error_kinds >> row->kind & 1) != 0;
}

const char *leaks_file(const struct leaks_page *page, const struct shown_frame *frame)
{
	const char *cwd = model_target(page->model)->cwd;
	size_t len = strlen(cwd);
	if (!frame || !frame->file)
		return NULL;
	if (len > 1 && strncmp(frame->file, cwd, len) == 0 && frame->file[len] == '/')
		return frame->file + len + 1;
	return frame->file;
}

bool leaks_fingerprint(const struct leaks_page *page, const struct leak_row *row, uint64_t *ret)
{
	const struct leak_stack *stack = leaks_stack(page, row);
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_printf(&text, "%s\n%s\n", leak_class_name((enum leak_class)row->kind),
		alloc_kind_name(stack->kind));
	for (size_t i = 0; i < stack->depth; i++) {
		const struct shown_frame *frame = stack->frames[i];
		if (frame->mark == MARK_NONE)
			text_printf(&text, "%s\t%s\n", frame->function ? frame->function : "",
				frame->module ? frame->module : "");
	}
	*ret = text.data ? checksum64(text.data, text.len) : 0;
	return !text.failed;
}
