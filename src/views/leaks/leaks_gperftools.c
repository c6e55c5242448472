/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leaks as gperftools' heap checker writes them (src/heap-checker.cc): a heap profile of the blocks
 * of the kinds that are shown, and of nothing else. google-pprof reads it, and so does heapwise.
 */
#include <inttypes.h>

#include "analysis/mapped_code.h"
#include "base/cleanup.h"
#include "views/export/export_out.h"
#include "views/leaks/leaks_page.h"

static void add_profile_figures(struct text *out, uint64_t blocks, uint64_t bytes)
{
	text_printf(out, "%6" PRIu64 ": %8" PRIu64 " [%6" PRIu64 ": %8" PRIu64 "] @", blocks, bytes,
		blocks, bytes);
}

/* Addresses as a profile has them: the first one of the call, the others of where it returns to.
 * Of inlined functions it is that of the call that they are part of, once. */
static void add_profile_stack(struct text *out, const struct leak_stack *stack)
{
	bool first = true;
	for (size_t i = 0; i < stack->all_depth; i++) {
		const struct shown_frame *frame = stack->all[i];
		if (frame->mark != MARK_NONE || frame->inlined || !frame->address)
			continue;
		text_printf(out, " 0x%" PRIx64, frame->address - first);
		first = false;
	}
	text_add(out, first ? " 0x0\n" : "\n");
}

static void add_profile_head(const struct leaks_page *page, struct text *out)
{
	uint64_t blocks = 0, bytes = 0;
	for (size_t i = 0; i < page->leaks.rows.len; i++) {
		const struct leak_row *row = &page->leaks.rows.data[i];
		if (!leaks_shows(page, row))
			continue;
		blocks += row->blocks;
		bytes += row->bytes;
	}
	text_add(out, "heap profile: ");
	add_profile_figures(out, blocks, bytes);
	text_add(out, " heapprofile\n");
}

static struct error *add_profile_mappings(const struct leaks_page *page, struct text *out)
{
	_cleanup_(mapped_code_vec_deinit) struct mapped_code_vec mapped;
	mapped_code_vec_init(&mapped);
	struct error *error = mapped_code_add(page->model, &mapped);
	text_add(out, "\nMAPPED_LIBRARIES:\n");
	for (size_t i = 0; i < mapped.len; i++) {
		const struct mapped_code *code = &mapped.data[i];
		text_printf(out, "%08" PRIx64 "-%08" PRIx64 " r-xp %08" PRIx64 " 00:00 0 ",
			code->start, code->end, code->offset);
		text_add_plain(out, code->module->path);
		text_add_char(out, '\n');
	}
	return error;
}

struct error *leaks_gperftools(const struct leaks_page *page, const struct sink *sink)
{
	struct export_out out;
	struct error *error = NULL;
	export_out_init(&out, sink);
	add_profile_head(page, &out.text);
	for (size_t i = 0; !error && i < page->leaks.rows.len; i++) {
		const struct leak_row *row = &page->leaks.rows.data[i];
		if (!leaks_shows(page, row))
			continue;
		add_profile_figures(&out.text, row->blocks, row->bytes);
		add_profile_stack(&out.text, leaks_stack(page, row));
		error = export_out_flush(&out);
	}
	if (!error)
		error = add_profile_mappings(page, &out.text);
	if (!error)
		error = export_out_end(&out);
	export_out_deinit(&out);
	return error;
}
