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
#include "views/report/paint.h"
#include "views/report/text_parts.h"

#define INDENT "    "
/* Holders of one row, unless all are asked for (-v). */
#define HOLDS_SHOWN 3u

static void add_title(const struct leaks_page *page, const char *title, struct text *out)
{
	text_add_char(out, '\n');
	paint_begin(out, page->options->colour, PAINT_TITLE);
	text_add(out, title);
	paint_end(out, page->options->colour, PAINT_TITLE);
	text_add_char(out, '\n');
}

static void add_totals(const struct leaks_page *page, struct text *out)
{
	const struct leaks *leaks = &page->leaks;
	add_title(page, "Kinds", out);
	for (unsigned i = 0; i < LEAK_CLASS_NEVER_FREED; i++) {
		struct leak_row any = {.class = (enum leak_class)i};
		const struct leak_sum *sum = &leaks->sums[i];
		if (!sum->blocks && i >= LEAK_KINDS)
			continue;
		_cleanup_(text_deinit) struct text count;
		text_init(&count);
		text_add_count(&count, sum->blocks);
		text_printf(out, "  %-17s  %12s %-6s  ", leaks_kind_words(&any),
			count.data ? count.data : "", sum->blocks == 1 ? "block" : "blocks");
		text_add_bytes(out, sum->bytes);
		text_add(out, "\n");
	}
}

static void add_head(const struct leaks_page *page, const struct leak_row *row, struct text *out)
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
	if (!row->example.address)
		return;
	size_t count;
	const struct thread *threads = model_threads(leaks->model, &count);
	text_printf(out, INDENT "for example 0x%" PRIx64 ": ", row->example.address);
	text_add_bytes(out, row->example.size);
	if (row->example.thread.value < count) {
		const struct thread *thread = &threads[row->example.thread.value];
		text_printf(out, ", by thread %" PRIu32, thread->tid);
		if (thread->name[0])
			text_printf(out, " (%s)", thread->name);
	}
	if (row->example_ns != LEAK_NO_TIME && row->example_ns <= leaks->search->time_ns) {
		text_add(out, ", allocated ");
		text_add_duration_ns(out, leaks->search->time_ns - row->example_ns);
		text_add(out, " before");
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
		text_add(out, "held by ");
		leaks_add_path(&page->leaks, hold->path, out);
		text_add(out, "\n");
	}
	if (shown < row->hold_count) {
		text_add(out, INDENT "… and by ");
		text_add_count(out, row->hold_count - shown);
		text_add(out, " others (-v shows them)\n");
	}
}

static struct error *add_row(
	const struct leaks_page *page, const struct leak_row *row, struct text *out)
{
	add_head(page, row, out);
	add_example(&page->leaks, row, out);
	add_holds(page, row, out);
	return page->options->write_suppressions ? leaks_add_suppression(page, row, out) : NULL;
}

static struct error *add_rows(const struct leaks_page *page, struct text *out)
{
	size_t shown = 0, total = 0;
	struct error *error = NULL;
	for (size_t i = 0; i < page->leaks.rows.len && !error; i++) {
		const struct leak_row *row = &page->leaks.rows.data[i];
		if (!leaks_shows(page, row) || total++ >= page->limit)
			continue;
		if (shown++)
			text_add(out, "\n");
		else if (!page->options->quiet)
			add_title(page, "Places", out);
		error = add_row(page, row, out);
	}
	text_more(total - shown, "place (--limit)", "places (--limit)", out);
	return error;
}

/* Kinds that have blocks and are not listed. */
static void add_hidden(const struct leaks_page *page, struct text *out)
{
	unsigned hidden = 0;
	for (unsigned i = 0; i < LEAK_KINDS; i++)
		if (page->leaks.sums[i].rows && !(page->options->show_kinds >> i & 1))
			hidden |= 1u << i;
	if (!hidden || page->options->detail != LEAKS_FULL)
		return;
	text_add(out, "\n  Places of what is ");
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

static void add_suppression(const struct suppression *one, struct text *out)
{
	text_printf(out, "  %s  (%s:%" PRIu32 ")", one->name, one->file, one->line);
	if (one->records) {
		text_add(out, "  ");
		leaks_add_quantity(out, one->bytes, one->blocks);
	}
	text_add(out, "\n");
}

/* Entries that were of use (-s), and those that were not. */
static void add_suppressions(const struct leaks_page *page, struct text *out)
{
	const struct suppressions *set = page->options->suppressions;
	const char *title = "\nSuppressions that were used\n";
	for (uint32_t i = 0; set && i < suppressions_count(set); i++) {
		const struct suppression *one = suppressions_get(set, i);
		if (!one->records || !page->options->list_suppressed)
			continue;
		text_add(out, title);
		title = "";
		add_suppression(one, out);
	}
	title = "\nSuppressions that fit nothing\n";
	for (uint32_t i = 0; set && page->leaks.searched && i < suppressions_count(set); i++) {
		const struct suppression *one = suppressions_get(set, i);
		if (one->records || one->origin != SUPPRESS_FROM_FILE)
			continue;
		text_add(out, title);
		title = "";
		add_suppression(one, out);
	}
}

struct error *leaks_text(const struct leaks_page *page, struct text *out)
{
	const struct leaks_view_options *options = page->options;
	if (options->errors_only) {
		if (page->error_count && !options->quiet)
			text_heading(page->model, out);
		leaks_errors_text(page, out);
		return NULL;
	}
	if (!options->quiet) {
		text_heading(page->model, out);
		text_verdict(&page->verdict, out);
		text_notes(&page->notes, out);
		if (page->leaks.searched)
			add_totals(page, out);
	}
	leaks_errors_text(page, out);
	struct error *error = options->detail == LEAKS_FULL ? add_rows(page, out) : NULL;
	if (error || options->quiet)
		return error;
	if (page->leaks.searched)
		add_hidden(page, out);
	add_suppressions(page, out);
	return NULL;
}
