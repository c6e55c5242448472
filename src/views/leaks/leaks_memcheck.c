/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leaks as Valgrind 3.19's memcheck prints them (memcheck/mc_leakcheck.c, mc_errors.c): what reads
 * its output reads this. Records are numbered by their size, hidden and suppressed ones too. Of the
 * allocation function only the name is known, no address: 0x0.
 */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/util.h"
#include "model/errors.h"
#include "views/leaks/leaks_page.h"
#include "views/report/figure_text.h"

DEFINE_VEC(record_list, const struct leak_row *)

/* A line of memcheck's, behind "==PID== ". */
static void leaks_memcheck_begin(const struct leaks_page *page, struct text *out)
{
	text_printf(out, "==%" PRIu32 "== ", model_target(page->model)->pid);
}

static void leaks_memcheck_add_line(
	const struct leaks_page *page, const char *line, struct text *out)
{
	leaks_memcheck_begin(page, out);
	text_printf(out, "%s\n", line);
}

/* "1,234 bytes in 5 blocks" */
static void add_amount(struct text *out, uint64_t bytes, uint64_t blocks)
{
	text_printf(out, "%s bytes in %s blocks", FMT_COUNT(bytes), FMT_COUNT(blocks));
}

/* What the program had called until the search: what is said to be in use was so then, and libc may
 * have freed some of it after that. */
static struct totals totals_until(const struct leaks_page *page)
{
	struct totals totals = *model_totals(page->model);
	const struct leak_search *search = page->leaks.searched ? page->leaks.search : NULL;
	if (search && search->allocations) {
		totals.allocations = search->allocations;
		totals.frees = search->frees;
		totals.allocated_bytes = search->allocated_bytes;
	}
	return totals;
}

/* memcheck only looks at exit, or when it is asked; it has no words for other moments. */
static void add_moment(const struct leaks_page *page, struct text *out)
{
	const struct leak_search *search = page->leaks.search;
	if (!page->leaks.searched || search->moment == LEAK_AT_EXIT)
		return;
	leaks_memcheck_begin(page, out);
	text_printf(out, "Searched %s: \"at exit\" stands for that moment.\n",
		leak_moment_words(search->moment));
}

static void add_heap_summary(const struct leaks_page *page, struct text *out)
{
	const struct totals all = totals_until(page), *totals = &all;
	/* memcheck asks the libraries to free what they keep, and counts that. */
	struct leak_sum freed = page->leaks.sums[LEAK_CLASS_LIBRARY], left = {0};
	for (unsigned i = 0; i < LEAK_CLASSES; i++) {
		left.blocks += page->leaks.sums[i].blocks;
		left.bytes += page->leaks.sums[i].bytes;
	}
	const struct recording *recording = model_recording(page->model);
	leaks_memcheck_add_line(page, "", out);
	add_moment(page, out);
	if (!metric_is_known(METRIC_LIVE_BLOCKS, recording) && !page->leaks.searched)
		return;
	leaks_memcheck_add_line(page, "HEAP SUMMARY:", out);
	leaks_memcheck_begin(page, out);
	text_add(out, "    in use at exit: ");
	add_amount(out, left.bytes - freed.bytes, left.blocks - freed.blocks);
	text_add(out, "\n");
	if (metric_is_known(METRIC_ALLOCATIONS, recording)) {
		leaks_memcheck_begin(page, out);
		text_printf(out, "  total heap usage: %s allocs, %s frees, %s bytes allocated\n",
			FMT_COUNT(totals->allocations), FMT_COUNT(totals->frees + freed.blocks),
			FMT_COUNT(totals->allocated_bytes));
	}
	leaks_memcheck_add_line(page, "", out);
}

static int compare_records(const void *left, const void *right)
{
	const struct leak_row *a = *(const struct leak_row *const *)left;
	const struct leak_row *b = *(const struct leak_row *const *)right;
	uint64_t x = leak_row_retained(a), y = leak_row_retained(b);
	if (x != y)
		return x < y ? -1 : 1;
	if (a->kind != b->kind) /* the reachable ones first */
		return a->kind > b->kind ? -1 : 1;
	if (a->blocks != b->blocks)
		return a->blocks < b->blocks ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

/* All but those of libraries, as memcheck numbers them. */
static struct error *list_records(const struct leaks_page *page, struct record_list *ret)
{
	for (size_t i = 0; i < page->leaks.rows.len; i++) {
		const struct leak_row *row = &page->leaks.rows.data[i];
		if (row->class <= LEAK_CLASS_SUPPRESSED && !record_list_push(ret, row))
			return error_no_memory();
	}
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), compare_records);
	return NULL;
}

/* Who calls main() is not shown, but by this name where main() itself is not known. */
static bool is_below_main(const struct suppress_frame *frame)
{
	static const char *const names[] = {
		"(below main)", "__libc_start_main", "__libc_start_call_main"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (frame->function && strcmp(frame->function, names[i]) == 0)
			return true;
	return false;
}

static bool is_main(const struct suppress_frame *frame)
{
	return frame->function && !frame->managed && strcmp(frame->function, "main") == 0;
}

static void leaks_memcheck_add_frame(const struct leaks_page *page,
	const struct suppress_frame *frame, uint64_t address, bool first, struct text *out)
{
	leaks_memcheck_begin(page, out);
	text_printf(out, "   %s 0x%" PRIX64 ": ", first ? "at" : "by", address);
	if (is_below_main(frame))
		text_add(out, "(below main)");
	else
		suppress_frame_add_name(out, frame);
	if (frame->file && frame->line) {
		text_printf(out, " (%s:%" PRIu32 ")", path_last_part(frame->file), frame->line);
	} else if (frame->object) {
		text_printf(out, " (in %s)", frame->object);
	}
	text_add(out, "\n");
}

static struct error *leaks_memcheck_add_stack(
	const struct leaks_page *page, const struct leak_row *row, struct text *out)
{
	const struct leak_stack *stack = leaks_stack(page, row);
	_cleanup_(suppress_frame_vec_deinit) struct suppress_frame_vec frames;
	suppress_frame_vec_init(&frames);
	struct error *error = leaks_suppress_frames(&page->leaks, row, &frames);
	if (error)
		return error;
	struct suppress_frame unused[SUPPRESS_ALLOCATION_FRAMES_MAX];
	size_t i = 0, before = suppress_allocation_frames(stack->kind, unused);
	for (; i < before && i < frames.len; i++) {
		frames.data[i].object = "libheapwise-rt.so";
		leaks_memcheck_add_frame(page, &frames.data[i], 0, i == 0, out);
	}
	for (size_t k = 0; k < stack->all_depth && i < frames.len; k++) {
		if (stack->all[k]->mark != MARK_NONE)
			continue;
		/* Inside the call instruction, as memcheck has it. */
		const struct suppress_frame *frame = &frames.data[i++];
		leaks_memcheck_add_frame(page, frame, stack->all[k]->address - 1, false, out);
		if (is_main(frame) || is_below_main(frame))
			break;
	}
	return NULL;
}

static struct error *leaks_memcheck_add_record(const struct leaks_page *page,
	const struct leak_row *row, size_t number, size_t count, struct text *out)
{
	leaks_memcheck_begin(page, out);
	if (row->indirect_blocks) {
		text_printf(out, "%s (%s direct, %s indirect) bytes in %s blocks",
			FMT_COUNT(leak_row_retained(row)), FMT_COUNT(row->bytes),
			FMT_COUNT(row->indirect_bytes), FMT_COUNT(row->blocks));
	} else {
		add_amount(out, row->bytes, row->blocks);
	}
	text_printf(out, " are %s in loss record %s of %s\n", leaks_kind_words(row),
		FMT_COUNT(number), FMT_COUNT(count));
	struct error *error = leaks_memcheck_add_stack(page, row, out);
	leaks_memcheck_add_line(page, "", out);
	if (!error && page->options->write_suppressions)
		error = leaks_add_suppression(page, row, out);
	return error;
}

static struct error *add_records(
	const struct leaks_page *page, const struct record_list *records, struct text *out)
{
	struct error *error = NULL;
	size_t shown = 0;
	for (size_t i = 0; i < records->len && shown < page->limit && !error; i++) {
		if (!leaks_shows(page, records->data[i]))
			continue;
		error = leaks_memcheck_add_record(page, records->data[i], i + 1, records->len, out);
		shown++;
	}
	return error;
}

static void add_heuristics(const struct leaks_page *page, struct text *out)
{
	const struct leak_search *search = page->leaks.search;
	bool any = false;
	for (unsigned i = 0; i < LEAK_HEURISTICS; i++) {
		if (!search->heuristic_blocks[i])
			continue;
		if (!any)
			leaks_memcheck_add_line(page,
				"                      of which reachable via heuristic:", out);
		any = true;
		leaks_memcheck_begin(page, out);
		text_printf(out, "                        %-19s: ", leaks_heuristic_name(i));
		add_amount(out, search->heuristic_bytes[i], search->heuristic_blocks[i]);
		text_add(out, "\n");
	}
}

static void add_leak_summary(const struct leaks_page *page, struct text *out)
{
	static const char *const lines[] = {
		[LEAK_CLASS_DEFINITE] = "   definitely lost: ",
		[LEAK_CLASS_INDIRECT] = "   indirectly lost: ",
		[LEAK_CLASS_POSSIBLE] = "     possibly lost: ",
		[LEAK_CLASS_REACHABLE] = "   still reachable: ",
		[LEAK_CLASS_SUPPRESSED] = "        suppressed: ",
	};
	const struct leak_sum *sums = page->leaks.sums;
	bool full = page->options->detail == LEAKS_FULL, any = false;
	leaks_memcheck_add_line(page, "LEAK SUMMARY:", out);
	for (unsigned i = 0; i <= LEAK_CLASS_SUPPRESSED; i++) {
		leaks_memcheck_begin(page, out);
		text_add(out, lines[i]);
		add_amount(out, sums[i].bytes, sums[i].blocks);
		text_add(out, "\n");
		if (i == LEAK_CLASS_REACHABLE)
			add_heuristics(page, out);
		any = any || (i < LEAK_KINDS && sums[i].blocks);
	}
	if (!full && any)
		leaks_memcheck_add_line(
			page, "Rerun with --leak-check=full to see details of leaked memory", out);
	if (full && sums[LEAK_CLASS_REACHABLE].blocks &&
		!(page->options->show_kinds >> LEAK_REACHABLE & 1)) {
		leaks_memcheck_add_line(page,
			"Reachable blocks (those to which a pointer was found) are not shown.",
			out);
		leaks_memcheck_add_line(page,
			"To see them, rerun with: --leak-check=full --show-leak-kinds=all", out);
	}
	leaks_memcheck_add_line(page, "", out);
}

static void add_error_summary(const struct leaks_page *page, struct text *out)
{
	uint64_t leaks = leaks_errors(page), contexts = leaks + page->error_count;
	uint64_t hidden = page->leaks.sums[LEAK_CLASS_SUPPRESSED].rows, errors = leaks;
	size_t count;
	const struct program_error *others = model_errors(page->model, &count);
	for (size_t i = 0; i < page->error_count; i++)
		errors += others[i].count;
	leaks_memcheck_begin(page, out);
	text_printf(out,
		"ERROR SUMMARY: %" PRIu64 " errors from %" PRIu64 " contexts (suppressed: %" PRIu64
		" from %" PRIu64 ")\n",
		errors, contexts, hidden, hidden);
}

/* -s: what suppressions were good for, most used first, as memcheck lists them. */
static void add_used_suppressions(const struct leaks_page *page, struct text *out)
{
	const struct suppressions *set = page->options->suppressions;
	uint32_t pid = model_target(page->model)->pid;
	bool any = false;
	for (uint32_t i = 0; set && i < suppressions_count(set); i++) {
		const struct suppression *one = suppressions_get(set, i);
		if (!one->records)
			continue;
		if (!any)
			text_printf(out, "--%" PRIu32 "-- \n", pid);
		any = true;
		text_printf(out, "--%" PRIu32 "-- ", pid);
		suppress_write_used(out, one);
	}
	if (!any)
		return;
	leaks_memcheck_add_line(page, "", out);
	add_error_summary(page, out);
}

/* Without a search memcheck's words would say too much: what is known stands in its summary. */
static void add_unsearched(const struct leaks_page *page, struct text *out)
{
	const char *at = page->verdict.data ? page->verdict.data : "";
	while (*at) {
		size_t len = strcspn(at, "\n");
		leaks_memcheck_begin(page, out);
		text_add_n(out, at, len);
		text_add(out, "\n");
		at += len + (at[len] == '\n');
	}
	leaks_memcheck_add_line(page, "", out);
}

static struct error *add_kinds(const struct leaks_page *page, struct text *out)
{
	_cleanup_(record_list_deinit) struct record_list records;
	record_list_init(&records);
	struct error *error = list_records(page, &records);
	if (!error && page->options->detail == LEAKS_FULL)
		error = add_records(page, &records, out);
	if (!error && records.len == 0 && !page->options->quiet && !page->doubt) {
		leaks_memcheck_add_line(
			page, "All heap blocks were freed -- no leaks are possible", out);
		leaks_memcheck_add_line(page, "", out);
	} else if (!error && !page->options->quiet) {
		add_leak_summary(page, out);
	}
	return error;
}

struct error *leaks_memcheck(const struct leaks_page *page, struct text *out)
{
	const struct leaks_view_options *options = page->options;
	struct error *error = NULL;
	leaks_errors_memcheck(page, out);
	if (!options->quiet)
		add_heap_summary(page, out);
	if (!page->leaks.searched)
		add_unsearched(page, out);
	else if (options->detail != LEAKS_NOTHING)
		error = add_kinds(page, out);
	else if (!options->quiet) {
		leaks_memcheck_add_line(
			page, "For a detailed leak analysis, rerun with: --leak-check=full", out);
		leaks_memcheck_add_line(page, "", out);
	}
	if (error || options->quiet)
		return error;
	if (!options->list_suppressed)
		leaks_memcheck_add_line(
			page, "For lists of detected and suppressed errors, rerun with: -s", out);
	add_error_summary(page, out);
	if (options->list_suppressed)
		add_used_suppressions(page, out);
	return NULL;
}
