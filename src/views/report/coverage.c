/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/report/coverage.h"

#include <inttypes.h>

#include "base/util.h"
#include "views/errors_view.h"
#include "views/report/member_columns.h"
#include "views/report/report_answers.h"

static const struct coverage_limit {
	uint32_t bit;
	const char *name, *says;
} limits[] = {
	{CHECK_LIMIT_BUDGET, "budget", "the CPU budget (the choice of blocks can't be repeated)"},
	{CHECK_LIMIT_SPACE, "address-space", "address space (ulimit -v)"},
	{CHECK_LIMIT_MAPS, "mappings", "the number of mappings (vm.max_map_count)"},
	{CHECK_LIMIT_MEMORY, "memory", "memory for guarded blocks"},
	{CHECK_LIMIT_LOCKED, "locked", "locked memory (mlockall)"},
	{CHECK_LIMIT_FORK, "fork",
		"a fork, whose child could not renew its guards, or had too many blocks to look "
		"at"},
	{CHECK_LIMIT_SANDBOX, "sandbox", "system calls that the program forbade itself (seccomp)"},
	{CHECK_LIMIT_PASSED, "from-libc",
		"blocks from libc itself, which were not checked (__libc_malloc, dlsym)"},
	{CHECK_LIMIT_ERRORS, "errors", "the number of errors (pages of some stayed accessible)"},
};

static void add_limits(uint32_t bits, bool as_words, struct text *out)
{
	bool any = false;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		if (!(bits & limits[i].bit))
			continue;
		text_add(out, any ? ", " : "");
		text_add(out, as_words ? limits[i].says : limits[i].name);
		any = true;
	}
}

void errors_view_limits(uint32_t bits, struct text *out)
{
	add_limits(bits, true, out);
}

static void add_percent(uint64_t part, uint64_t all, struct text *out)
{
	uint64_t percent = (uint64_t)((double)part / (double)all * 100);
	text_printf(out, part && !percent ? " (under 1 %%)" : " (%" PRIu64 " %%)", percent);
}

/* Blocks are counted now and then: of a program that was killed early none may be. */
static bool counts_blocks(const struct check_coverage *coverage)
{
	return !coverage->blocks_unknown && (coverage->blocks || !coverage->stacks);
}

/* "Guarded 3 of 4 blocks (75 %), 2 of 2 call stacks" */
static void add_share(const struct check_coverage *coverage, struct text *out)
{
	if (!coverage->blocks_unknown && !coverage->blocks && !coverage->stacks) {
		text_add(out, "No block was allocated");
		return;
	}
	text_add(out, "Guarded ");
	if (counts_blocks(coverage)) {
		text_add_count(out, coverage->guarded_blocks);
		text_add(out, " of ");
		text_add_counted(out, coverage->blocks, "block", "blocks");
		add_percent(coverage->guarded_blocks, coverage->blocks, out);
		text_add(out, ", ");
	} else {
		text_add(out, "an unknown number of blocks, ");
	}
	text_add_count(out, coverage->guarded_stacks);
	text_add(out, " of ");
	text_add_counted(out, coverage->stacks, "call stack", "call stacks");
}

static void add_guarded(const struct check_coverage *coverage, struct text *out)
{
	add_share(coverage, out);
	text_printf(out, ", back-end %s", coverage->backend);
	if (coverage->seeds_differ)
		text_add(out, ", different seeds");
	else
		text_printf(out, ", seed 0x%" PRIx64, coverage->seed);
	if (coverage->limits) {
		text_add(out, "; limited by ");
		errors_view_limits(coverage->limits, out);
	}
	text_add(out, ".\n");
	if (coverage->guarded_blocks < coverage->blocks || coverage->blocks_unknown)
		text_add(out,
			"Of the others only frees, and writes next to them and after their free, "
			"were checked, and those late.\n");
	if (!coverage->stacks_uncounted)
		return;
	text_add_counted(out, coverage->stacks_uncounted, "block", "blocks");
	text_add(out, " of further call stacks found no place in the table of stacks.\n");
}

void errors_view_coverage(const struct check_coverage *coverage, struct text *out)
{
	if (coverage->is_there)
		add_guarded(coverage, out);
	else
		text_add(out,
			"Errors were NOT looked for: the library of 'heapwise check' did not serve "
			"the program.\n");
	if (coverage->is_there && coverage->unserved) {
		text_add(out, "In ");
		text_add_counted(out, coverage->unserved, "recording", "recordings");
		text_add(out, " more, errors were NOT looked for, or not up to the process's "
			      "end.\n");
	}
	if (coverage->dropped) {
		text_add_counted(out, coverage->dropped, "report", "reports");
		text_add(out, " did NOT reach the recording: errors are missing.\n");
	}
	if (coverage->left_out) {
		text_add_counted(out, coverage->left_out, "report", "reports");
		text_add(out, " of further, different errors are counted here only: a recording "
			      "keeps the first 10,000.\n");
	}
}

enum { IS_THERE, BACKEND, SEED, LIMITS, BLOCKS, UNSERVED = BLOCKS + 9 };
static const struct column coverage_columns[] = {
	[IS_THERE] = FLAG_OF(check_coverage, is_there,
		"whether errors were looked for at all: false if the library of `heapwise check` "
		"did not serve the program; the figures are null then"),
	[BACKEND] = WORD_OF(check_coverage, backend,
		"how memory next to blocks was made inaccessible: `madvise`, `userfaultfd`, "
		"`mprotect`, or `none`; `of several kinds` where recordings were added up"),
	[SEED] = {"seed", COLUMN_TEXT,
		.says = "of the choice of blocks, for `--seed`; null: recordings that were added "
			"up (`--merge`) have different ones"},
	[LIMITS] = {"limited_by", COLUMN_TEXT,
		.says = "why less was guarded than asked for: a list of `budget`, `address-space`, "
			"`mappings`, `memory`, `locked`, `fork`, `sandbox`, `errors`; empty: it "
			"was not"},
	[BLOCKS] = COUNT_OF(check_coverage, blocks, "that the program allocated"),
	BYTES_OF(check_coverage, bytes, "in them"),
	COUNT_OF(check_coverage, guarded_blocks,
		"of them, next to inaccessible memory: their errors are found at once"),
	BYTES_OF(check_coverage, guarded_bytes, "in those"),
	COUNT_OF(check_coverage, stacks, "different call stacks that allocated"),
	COUNT_OF(check_coverage, guarded_stacks, "of them, with a guarded block"),
	COUNT_OF(check_coverage, stacks_uncounted,
		"blocks at stacks that are in neither, since the table of stacks was full"),
	COUNT_OF(check_coverage, dropped, "reports that did not reach the recording"),
	COUNT_OF(check_coverage, left_out,
		"reports of more different errors than a recording keeps"),
	[UNSERVED] = COUNT_OF(check_coverage, unserved,
		"of recordings that were added up (`--merge`), those in which errors were not "
		"looked for, or not up to the process's end: the other figures are without them"),
	COLUMNS_END};

static void coverage_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct check_coverage *coverage = context;
	(void)row;
	if (column == SEED)
		text_printf(&ret->built, "0x%" PRIx64, coverage->seed);
	else if (column == LIMITS)
		add_limits(coverage->limits, false, &ret->built);
	else
		table_member(&coverage_columns[column], coverage, ret);
	if (column == SEED || column == LIMITS)
		cell_take_built(ret);
	bool of_blocks = column >= BLOCKS && column < BLOCKS + 4;
	if (column != IS_THERE && (!coverage->is_there || (of_blocks && !counts_blocks(coverage))))
		ret->state = CELL_UNKNOWN;
	if (column == SEED && coverage->seeds_differ)
		ret->state = CELL_UNKNOWN;
}

const struct table_type report_coverage_type = {.within = "coverage",
	.says = "view `errors` of a recording of `heapwise check`: what was looked at",
	.columns = coverage_columns,
	.cell = coverage_cell};

void coverage_put(const struct check_coverage *coverage, struct answer *answer)
{
	struct text *prose = answer_prose(answer);
	answer_record_of(answer, &report_coverage_type, coverage);
	if (!prose)
		return;
	text_add(prose, "\n");
	errors_view_coverage(coverage, prose);
}
