/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leaks as text for people:
 *
 *   definitely lost  12.3 KiB in 3 blocks, and 40 KiB in 12 blocks with them  from malloc at
 *       read_line  input.c:41  [app]
 *       main  app.c:12  [app]
 *     for example 0x55d0c0de: 4 KiB, by the main thread, 3.2 s before
 *     held by global g_cache (cache.c:12) → +0x18 → block of 4 KiB allocated at …
 */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "views/leaks/leaks_page.h"
#include "views/leaks/leaks_text.h"
#include "views/report/figure_text.h"
#include "views/report/paint.h"
#include "views/report/text_parts.h"

#define INDENT "    "
/* Holders of one row, unless all are asked for (-v). */
#define HOLDS_SHOWN 3u

void leaks_add_title(const struct leaks_page *page, const char *title, struct text *out)
{
	text_add_char(out, '\n');
	paint_begin(out, page->options->colour, PAINT_TITLE);
	text_add(out, title);
	paint_end(out, page->options->colour, PAINT_TITLE);
	text_add_char(out, '\n');
}

void leaks_summary_text(const void *context, size_t row, struct text *out)
{
	const struct leaks_page *page = context;
	(void)row;
	if (page->options->quiet || !page->leaks.searched)
		return;
	leaks_add_title(page, "Kinds", out);
	for (unsigned i = 0; i < LEAK_CLASS_NEVER_FREED; i++) {
		struct leak_row any = {.class = (enum leak_class)i};
		const struct leak_sum *sum = &page->leaks.sums[i];
		if (!sum->blocks && i >= LEAK_KINDS)
			continue;
		_cleanup_(text_deinit) struct text count;
		text_init(&count);
		text_add_count(&count, sum->blocks);
		text_printf(out, "  %-17s  %12s %-6s  %s\n", leaks_kind_words(&any),
			count.data ? count.data : "", sum->blocks == 1 ? "block" : "blocks",
			FMT_BYTES(sum->bytes));
	}
}

static void leaks_text_add_head(
	const struct leaks_page *page, const struct leak_row *row, struct text *out)
{
	const struct leak_stack *stack = leaks_stack(page, row);
	bool colour = page->options->colour && row->class == LEAK_CLASS_DEFINITE;
	text_add(out, "  ");
	paint_begin(out, colour, PAINT_LARGE);
	text_printf(out, "%s  ", leaks_kind_words(row));
	leaks_add_quantity(out, row->bytes, row->blocks);
	paint_end(out, colour, PAINT_LARGE);
	if (row->indirect_blocks) {
		text_add(out, ", and with them ");
		leaks_add_quantity(out, row->indirect_bytes, row->indirect_blocks);
	}
	if (stack->kind == KIND_UNKNOWN)
		text_add(out, "  from\n");
	else
		text_printf(out, "  from %s at\n", leaks_function(stack));
	text_stack(stack->frames, stack->depth, page->options->all_frames, out);
	if (!stack->depth)
		text_add(out, TEXT_FRAME_INDENT "(no stack was recorded)\n");
}

static void add_example(const struct leaks *leaks, const struct leak_row *row, struct text *out)
{
	const struct thread *thread = leaks_example_thread(leaks, row);
	uint64_t age_ns;
	if (!row->example.address)
		return;
	text_printf(out, INDENT "for example 0x%" PRIx64 ": ", row->example.address);
	text_add_bytes(out, row->example.size);
	if (thread && thread->tid) { /* else it was there before an attach */
		text_printf(out, ", by thread %" PRIu32, thread->tid);
		if (thread->name[0])
			text_printf(out, " (%s)", thread->name);
	}
	if (leaks_example_age(leaks, row, &age_ns)) {
		text_printf(out, ", allocated %s before", FMT_DURATION(age_ns));
	}
	text_add(out, "\n");
}

static void add_holds(const struct leaks_page *page, const struct leak_row *row, struct text *out)
{
	size_t shown = row->hold_count;
	if (!page->options->verbose)
		shown = min(shown, (size_t)HOLDS_SHOWN);
	for (size_t i = 0; i < shown; i++) {
		const struct leak_hold *hold = &page->leaks.holds.data[row->first_hold + i];
		text_add(out, INDENT);
		if (row->hold_count > 1) {
			leaks_add_quantity(out, hold->bytes, hold->blocks);
			text_add(out, " ");
		}
		text_add(out, "referenced by ");
		leaks_add_path(&page->leaks, hold->path, out);
		text_add(out, "\n");
	}
	if (shown < row->hold_count)
		text_printf(out, "%s%s others (-v shows them)\n", INDENT "… and by ",
			FMT_COUNT(row->hold_count - shown));
}

void leaks_record_text(const struct leaks_page *page, const struct leak_row *row, struct text *out)
{
	leaks_text_add_head(page, row, out);
	add_example(&page->leaks, row, out);
	add_holds(page, row, out);
	if (page->options->write_suppressions)
		leaks_put_suppression(page, row, out);
}

/* Kinds that have blocks and are not listed. */
void leaks_hidden_text(const struct leaks_page *page, struct text *out)
{
	unsigned hidden = 0;
	for (unsigned i = 0; i < LEAK_KINDS; i++)
		if (page->leaks.sums[i].rows && !(page->options->show_kinds >> i & 1))
			hidden |= 1u << i;
	if (!hidden || page->options->detail != LEAKS_FULL || !page->leaks.searched)
		return;
	text_add(out, model_recording(page->model)->types ? "\n  Types of what is "
							  : "\n  Allocation sites of what is ");
	const char *before = "";
	for (unsigned i = 0; i < LEAK_KINDS; i++) {
		struct leak_row any = {.class = (enum leak_class)i};
		if (!(hidden >> i & 1))
			continue;
		text_printf(out, "%s%s", before, leaks_kind_words(&any));
		before = ", ";
	}
	text_add(out, ": --show-leak-kinds=all\n");
}

void leaks_suppression_text(const void *context, size_t row, struct text *out)
{
	const struct suppression *one = suppressions_get(context, (uint32_t)row);
	text_printf(out, "  %s  (%s:%" PRIu32 ")", one->name, one->file, one->line);
	if (one->records) {
		text_add(out, "  ");
		leaks_add_quantity(out, one->bytes, one->blocks);
	}
	text_add(out, "\n");
}

void leaks_heading_text(const struct leaks_page *page, struct text *out)
{
	bool is_wanted = !page->options->errors_only || page->error_count;
	if (page->options->quiet || !is_wanted)
		return;
	text_heading(page->model, out);
	if (page->options->errors_only)
		return;
	text_verdict(&page->verdict, out);
	text_notes(&page->notes, out);
}
