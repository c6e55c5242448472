/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/check/uninit_words.h"

#include <inttypes.h>

#include "views/errors_view.h"

static const char *const verdict_names[] = {[UNINIT_NONE] = "none",
	[UNINIT_FOUND] = "found",
	[UNINIT_NOT_REPEATABLE] = "not-repeatable",
	[UNINIT_NOT_SERVED] = "not-checked",
	[UNINIT_UNNAMED] = "unnamed"};

static void add_masked(const struct uninit_result *result, struct text *text)
{
	if (!result->masked)
		return;
	text_add(text, "; ");
	text_add_counted(text, result->masked, "line of output that differs by itself was",
		"lines of output that differ by themselves were");
	text_add(text, " left out");
}

static void add_bytes(const struct uninit_finding *finding, struct text *text)
{
	uint64_t count = finding->last - finding->first + 1;
	if (!finding->has_bytes) {
		text_add(text, "bytes that were never written (which ones is not known)");
		return;
	}
	if (count == 1)
		text_printf(text, "the byte at offset %" PRIu64, finding->first);
	else
		text_printf(
			text, "the %" PRIu64 " bytes at offset %" PRIu64, count, finding->first);
}

static void add_finding(const struct uninit_finding *finding, struct text *text)
{
	bool is_one = finding->has_bytes && finding->first == finding->last;
	add_bytes(finding, text);
	text_add(text, " of a block");
	if (finding->block_bytes) {
		text_add(text, " of ");
		text_add_counted(text, finding->block_bytes, "byte", "bytes");
	}
	text_add(text, " (block number ");
	text_add_count(text, finding->number);
	text_printf(text, ")%s %s %s\n", finding->alone ? "" : ", together with earlier blocks,",
		is_one ? "changes" : "change", finding->difference);
}

/* "  there may be more: the search ended at its bound of 400 runs…" */
static void add_more(const struct uninit_result *result, struct text *text)
{
	if (!result->more)
		return;
	text_add(text, "  there may be more: ");
	if (result->spent) {
		text_add(text, "the search ended at its bound of ");
		text_add_counted(text, result->runs_most, "run", "runs");
		text_add(text, ", before the results were the same with every fill "
			       "(--uninit-runs=N allows more)\n");
	} else if (result->full) {
		text_add(text, "the search ended at its bound of ");
		text_add_counted(text, result->count, "block", "blocks");
		text_add(text, ", before the results were the same with every fill "
			       "(--uninit=N searches for more blocks)\n");
	} else if (!result->others) {
		text_add(text, "a fill of all other blocks still changes the results, but no "
			       "further block was found that does\n");
	}
	if (result->others)
		text_printf(text, "%sresults differ in %s; its blocks are not searched\n",
			result->spent || result->full ? "  also, " : "", result->why);
}

static void add_unnamed(const struct uninit_result *result, struct text *text)
{
	if (result->others) {
		text_printf(text,
			"results depend on heap memory that was never written: %s; blocks are "
			"searched only in the process that was started ('heapwise check --uninit' "
			"on the other program names them)\n",
			result->why);
		return;
	}
	text_printf(text, "results depend on heap memory that was never written (%s), but ",
		result->why);
	if (result->spent) {
		text_add(text, "which block's is not known: the search ended at its bound of ");
		text_add_counted(text, result->runs_most, "run", "runs");
		text_add(text, " (--uninit-runs=N allows more)\n");
		return;
	}
	text_add(text, "no block was found that changes them by itself in ");
	text_add_counted(text, result->runs, "run", "runs");
	text_add(text, "\n");
}

static void add_found(const struct uninit_result *result, struct text *text)
{
	text_add(text, "results depend on heap memory that was never written, by ");
	text_add_counted(text, result->runs, "run", "runs");
	add_masked(result, text);
	text_add(text, ":\n");
	for (size_t i = 0; i < result->count; i++) {
		text_add(text, "  ");
		add_finding(&result->findings[i], text);
	}
	add_more(result, text);
}

/* Of buffers for the kernel, what is not known. */
static void add_leaving_doubts(const struct leaving *leaving, struct text *text)
{
	if (leaving->changed) {
		text_add(text, "  ");
		text_add_counted(text, leaving->changed, "call that may have had such bytes was",
			"calls that may have had such bytes were");
		text_add(text, " not made again in each run: nothing is known of it\n");
	}
	if (leaving->left_out) {
		text_add(text, "  of ");
		text_add_counted(text, leaving->left_out, "call", "calls");
		text_add(text, " not all such bytes were looked for: a bound was reached\n");
	}
}

/* Buffers that were handed to the kernel. */
static void add_leaving(const struct uninit_result *result, struct text *text)
{
	const struct leaving *leaving = &result->leaving;
	if (result->verdict == UNINIT_NOT_REPEATABLE || result->verdict == UNINIT_NOT_SERVED)
		return;
	if (leaving->count && leaving->fills < UNINIT_FILLS) {
		text_add(text,
			"can't tell whether buffers that were handed to the kernel have bytes "
			"that were never written: the search ended at its bound of ");
		text_add_counted(text, result->runs_most, "run", "runs");
		text_add(text, " (--uninit-runs=N allows more)\n");
		return;
	}
	if (leaving->calls) {
		text_add_counted(text, leaving->calls, "call", "calls");
		text_add(text, " handed bytes to the kernel that were never written, padding "
			       "perhaps: they had the value of the fill with each fill");
		if (leaving->calls > LEAVING_REPORTED_MOST)
			text_printf(text, "; %u of them are reported", LEAVING_REPORTED_MOST);
		text_add(text, "\n");
	} else if (leaving->changed || leaving->left_out) {
		text_add(text, "no bytes that were never written were found in buffers that were "
			       "handed to the kernel, but:\n");
	}
	add_leaving_doubts(leaving, text);
}

static void add_verdict(const struct uninit_result *result, struct text *text)
{
	switch (result->verdict) {
	case UNINIT_FOUND:
		add_found(result, text);
		return;
	case UNINIT_NONE:
		text_add(text, "no result depends on heap memory that was never written: exit "
			       "status, standard output and standard error were the same in ");
		text_add_counted(text, result->runs, "run", "runs");
		text_add(text, " with different fills of new blocks");
		add_masked(result, text);
		text_add(text, "\n");
		return;
	case UNINIT_NOT_REPEATABLE:
		text_printf(text,
			"can't tell whether results depend on memory that was never written: runs "
			"with the same memory differ (%s); --uninit needs a program that does the "
			"same each time, --engine=valgrind does not\n",
			result->why);
		return;
	case UNINIT_NOT_SERVED:
		text_add(text,
			"can't tell whether results depend on memory that was never "
			"written: the program got no block from libheapwise-guard.so (it has an "
			"allocator of its own, is set-user-ID, or allocates nothing but cleared "
			"memory)\n");
		return;
	case UNINIT_UNNAMED:
		add_unnamed(result, text);
	}
}

void uninit_add_words(const struct uninit_result *result, struct text *text)
{
	add_verdict(result, text);
	add_leaving(result, text);
}

struct error *uninit_write_json(const struct uninit_result *result, const struct sink *sink)
{
	struct errors_view_unwritten found[UNINIT_FINDINGS_MOST];
	for (size_t i = 0; i < result->count; i++) {
		const struct uninit_finding *one = &result->findings[i];
		found[i] = (struct errors_view_unwritten){.number = one->number,
			.block_bytes = one->block_bytes,
			.offset = one->first,
			.bytes = one->last - one->first + 1,
			.has_bytes = one->has_bytes,
			.alone = one->alone,
			.difference = one->difference};
	}
	const struct errors_view_search search = {.verdict = verdict_names[result->verdict],
		.why = result->why,
		.runs = result->runs,
		.blocks = result->blocks,
		.lines_left_out = result->masked,
		.more = result->more,
		.runs_most = result->runs_most,
		.spent = result->spent,
		.leaving_known = result->leaving.fills == UNINIT_FILLS,
		.leaving_looked_at = result->leaving.looked_at,
		.leaving_calls = result->leaving.calls,
		.leaving_changed = result->leaving.changed,
		.leaving_left_out = result->leaving.left_out,
		.found = found,
		.found_count = result->count};
	return errors_view_json_search(&search, sink);
}
