/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * "heapwise.leaks/1": the tables of a search for leaks, from which text, JSON and CSV come.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "model/leak_rules.h"
#include "views/leaks/leaks_page.h"
#include "views/leaks/leaks_records.h"
#include "views/leaks/leaks_text.h"
#include "views/report/head.h"
#include "views/report/member_columns.h"

#define SUM_COLUMNS                                                                                \
	COUNT_OF(leak_sum, blocks, "how many"),                                                    \
	{                                                                                          \
		"bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "in these",                           \
						     COLUMN_OF(leak_sum, bytes)                    \
	}
static const struct column sum_columns[] = {SUM_COLUMNS,
	COUNT_AS("records", leak_sum, rows, "how many of these they are"), COLUMNS_END};
static const struct table_type sum_type = {
	.columns = sum_columns, .row_bytes = sizeof(struct leak_sum)};
static const struct column pair_columns[] = {SUM_COLUMNS, COLUMNS_END};
static const struct table_type pair_type = {
	.columns = pair_columns, .row_bytes = sizeof(struct leak_sum)};

#define CLASS_COLUMN(name, what)                                                                   \
	{                                                                                          \
		name, COLUMN_RECORD, .says = what, .nested = &sum_type                             \
	}
static const struct column summary_columns[] = {
	[LEAK_CLASS_DEFINITE] = CLASS_COLUMN("definite", "nothing points to them"),
	[LEAK_CLASS_INDIRECT] = CLASS_COLUMN("indirect", "only lost blocks point to them"),
	[LEAK_CLASS_POSSIBLE] = CLASS_COLUMN("possible", "pointers only lead into their middle"),
	[LEAK_CLASS_REACHABLE] = CLASS_COLUMN("reachable", "something points to them"),
	[LEAK_CLASS_SUPPRESSED] = CLASS_COLUMN("suppressed", "a suppression fits them"),
	[LEAK_CLASS_LIBRARY] = CLASS_COLUMN("library",
		"what libc and libstdc++ keep for themselves, unless `--run-libc-freeres=no` is "
		"given"),
	[LEAK_CLASS_NEVER_FREED] = CLASS_COLUMN("never_freed",
		"all together: what was live when it was searched; without a search what was never "
		"freed; null if that is unknown, too"),
	COLUMNS_END};

/* What was live when it was searched, which is what the classes are of; else at the end. */
static struct leak_sum sum_left(const struct leaks *leaks)
{
	const struct totals *totals = model_totals(leaks->model);
	struct leak_sum left = {leaks->rows.len, totals->live_blocks, totals->live_bytes};
	if (leaks->searched) {
		left.blocks = left.bytes = 0;
		for (unsigned i = 0; i < LEAK_CLASS_NEVER_FREED; i++) {
			left.blocks += leaks->sums[i].blocks;
			left.bytes += leaks->sums[i].bytes;
		}
	}
	return left;
}

static void summary_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct leaks_page *page = context;
	bool is_class = column < LEAK_CLASS_NEVER_FREED;
	(void)row;
	ret->nested = (struct table){
		&sum_type, is_class ? &page->leaks.sums[column] : &page->left, 1, .limit = 1};
	if (!page->leaks.searched &&
		(is_class || !metric_is_known(METRIC_LIVE_BLOCKS, model_recording(page->model))))
		ret->state = CELL_UNKNOWN;
}

static const struct table_type summary_type = {.name = "summary",
	.says = "each kind, null where nobody searched; no block is in two of them",
	.columns = summary_columns,
	.cell = summary_cell,
	.row_text = leaks_summary_text};

static const struct table_type not_judged_type = {.name = "not_judged",
	.says = "of a core or a process: what a garbage collector (Go's) owns, of which nobody "
		"judges whether it is lost; it is among what is reachable. Null: of a recording or "
		"a file of another tool",
	.columns = pair_columns,
	.row_bytes = sizeof(struct leak_sum)};

static const struct column heuristic_columns[] = {
	{"", COLUMN_TEXT, .says = "the name of one"}, COLUMNS_END};

static void heuristic_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)context, (void)column;
	ret->text = leaks_heuristic_name((unsigned)row);
}

static const struct table_type heuristic_type = {
	.columns = heuristic_columns, .cell = heuristic_cell};

#define BY_COLUMN(name)                                                                            \
	{                                                                                          \
		name, COLUMN_RECORD, .optional = true, .nested = &pair_type,                       \
				     .says = "by that one alone"                                   \
	}
static const struct column by_columns[] = {BY_COLUMN("stdstring"), BY_COLUMN("length64"),
	BY_COLUMN("newarray"), BY_COLUMN("multipleinheritance"), COLUMNS_END};

static void by_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct leaks_page *page = context;
	(void)row;
	ret->nested = (struct table){&pair_type, &page->by_heuristic[column], 1, .limit = 1};
	if (!(page->leaks.search->heuristics >> column & 1))
		ret->state = CELL_ABSENT;
}

static const struct table_type by_type = {.columns = by_columns, .cell = by_cell};

enum {
	MOMENT,
	WAY,
	TIME_NS,
	PAUSE_NS,
	SEARCH_NS,
	THREADS,
	THREADS_MISSED,
	ROOT_BYTES,
	UNREAD_BYTES,
	POINTERS,
	ALIGNMENT,
	HEURISTICS,
	REACHABLE_BY,
	ALLOCATIONS,
	FREES,
	ALLOCATED_BYTES,
	PARTIAL,
	PARTIAL_HOLDERS,
	UNCLEARED,
	SINCE_START,
	NO_GLOBALS,
	NO_THREADS,
	OFFSET_LIMIT,
	UNCOPIED,
	PROBLEM
};
#define SEARCH_COLUMN(name, type, unit, what)                                                      \
	{                                                                                          \
#name, type, unit, .says = what, COLUMN_OF(leak_search, name)                      \
	}
static const struct column search_columns[] = {
	[MOMENT] = {"moment", COLUMN_TEXT,
		.says = "`exit`: after all exit handlers and destructors; `main-end`: before them; "
			"`demand`: while the program ran; `death`: at a fatal signal; `program`: "
			"when the program asked for it"},
	[WAY] = {"way", COLUMN_TEXT,
		.says = "`held`: the process was stopped meanwhile; `snapshot`: a copy of its "
			"memory "
			"was searched; `unstopped`: other threads could not be stopped; `none`: "
			"there was no search, `problem` says why"},
	[TIME_NS] = SEARCH_COLUMN(
		time_ns, COLUMN_INTEGER, UNIT_NS, "of the moment, since the recording began"),
	[PAUSE_NS] = SEARCH_COLUMN(
		pause_ns, COLUMN_INTEGER, UNIT_NS, "how long the process was stopped"),
	[SEARCH_NS] = SEARCH_COLUMN(
		search_ns, COLUMN_INTEGER, UNIT_NS, "how long the search took, with that"),
	[THREADS] = SEARCH_COLUMN(threads, COLUMN_INTEGER, UNIT_COUNT, "how many there were"),
	[THREADS_MISSED] = SEARCH_COLUMN(threads_missed, COLUMN_INTEGER, UNIT_COUNT,
		"those of them that could not be stopped"),
	[ROOT_BYTES] = SEARCH_COLUMN(
		root_bytes, COLUMN_INTEGER, UNIT_BYTES, "memory of roots that was searched"),
	[UNREAD_BYTES] = SEARCH_COLUMN(
		unread_bytes, COLUMN_INTEGER, UNIT_BYTES, "memory that could not be read"),
	[POINTERS] = SEARCH_COLUMN(pointers, COLUMN_INTEGER, UNIT_COUNT, "found in blocks"),
	[ALIGNMENT] =
		SEARCH_COLUMN(alignment, COLUMN_INTEGER, UNIT_BYTES, "as `--leak-check-alignment`"),
	[HEURISTICS] = {"heuristics", COLUMN_LIST, .says = "as `--leak-check-heuristics`",
		.nested = &heuristic_type},
	[REACHABLE_BY] = {"reachable_by", COLUMN_RECORD,
		.says = "for each of `heuristics`: what is reachable by it alone: an interior "
			"pointer that it explains leads there, and none to the start",
		.nested = &by_type},
	[ALLOCATIONS] = SEARCH_COLUMN(
		allocations, COLUMN_INTEGER, UNIT_COUNT, "until that moment, or null"),
	[FREES] = SEARCH_COLUMN(frees, COLUMN_INTEGER, UNIT_COUNT, "likewise"),
	[ALLOCATED_BYTES] = SEARCH_COLUMN(allocated_bytes, COLUMN_INTEGER, UNIT_BYTES, "likewise"),
	[PARTIAL] = SEARCH_COLUMN(partial, COLUMN_BOOLEAN, UNIT_NONE,
		"not all blocks are known: leaks may be missed"),
	[PARTIAL_HOLDERS] = {"partial_holders", COLUMN_BOOLEAN,
		.says = "more than 32,768 ways lead to blocks: further words of one page (4 KiB) "
			"are one way, so a few blocks \"referenced by\" one variable may be "
			"referenced by its neighbour ([limits](../limits.md))"},
	[UNCLEARED] = SEARCH_COLUMN(uncleared, COLUMN_BOOLEAN, UNIT_NONE,
		"memory was not cleared as it was given out (no `--leak-check`, or "
		"`--leak-check-clear=no`): words of earlier uses may reference blocks, leaks may "
		"be "
		"missed"),
	[SINCE_START] = {"since_start", COLUMN_BOOLEAN, UNIT_NONE,
		.says = "only what was allocated since the program's check began can be lost "
			"([gperftools](../drop-in.md#gperftools)); older blocks that nothing "
			"references "
			"are in no figure"},
	[NO_GLOBALS] = {"no_globals", COLUMN_BOOLEAN, UNIT_NONE,
		.says = "global data and the first thread's stack were not searched for "
			"references, as HEAPCHECK wanted it"},
	[NO_THREADS] = {"no_threads", COLUMN_BOOLEAN, UNIT_NONE,
		.says = "likewise registers and other threads' stacks"},
	[OFFSET_LIMIT] = {"offset_limit", COLUMN_INTEGER, UNIT_BYTES,
		.says = "pointers so far into a block, or further, did not count; or null"},
	[UNCOPIED] = {"uncopied", COLUMN_TEXT,
		.says = "why no copy of the process was searched, as is usual while a program "
			"runs; it was stopped instead; or null"},
	[PROBLEM] = SEARCH_COLUMN(problem, COLUMN_TEXT, UNIT_NONE,
		"why there was no search, or what it is missing; or null"),
	COLUMNS_END};

static void search_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	static const char *const moments[] = {[LEAK_AT_EXIT] = "exit",
		[LEAK_AT_MAIN_END] = "main-end",
		[LEAK_ON_DEMAND] = "demand",
		[LEAK_ON_DEATH] = "death",
		[LEAK_BY_PROGRAM] = "program"};
	static const char *const ways[] = {[LEAK_WAY_NONE] = "none",
		[LEAK_WAY_HELD] = "held",
		[LEAK_WAY_SNAPSHOT] = "snapshot",
		[LEAK_WAY_UNSTOPPED] = "unstopped"};
	const struct leaks_page *page = context;
	const struct leak_search *search = page->leaks.search;
	const struct leak_search_rules *rules = model_leak_rules(page->model);
	/* Other tools don't say how they went about it: 0 is not known then. */
	bool own = search->search_ns || search->pause_ns || search->root_bytes;
	bool is_known = true;
	(void)row;
	if (search_columns[column].bytes)
		table_member(&search_columns[column], search, ret);
	if (column >= TIME_NS && column <= POINTERS)
		is_known = own || ret->number;
	else if (column >= ALLOCATIONS && column <= ALLOCATED_BYTES)
		is_known = search->allocations > 0;
	else if (column == SINCE_START)
		ret->truth = rules->since_start;
	else if (column == NO_GLOBALS)
		ret->truth = rules->no_globals;
	else if (column == NO_THREADS)
		ret->truth = rules->no_threads;
	else if (column == OFFSET_LIMIT)
		is_known = (ret->number = rules->offset_limit) > 0;
	else if (column == MOMENT)
		ret->text = moments[search->moment];
	else if (column == WAY)
		ret->text = ways[search->way];
	else if (column == UNCOPIED)
		ret->text = leak_uncopied_words(search);
	else if (column == PARTIAL_HOLDERS)
		ret->truth = leak_ways_are_partial(page->model);
	else if (column == HEURISTICS)
		ret->nested = (struct table){&heuristic_type, NULL, page->heuristic_count,
			.order = page->heuristics, .limit = TABLE_NO_LIMIT};
	else if (column == REACHABLE_BY)
		ret->nested = (struct table){&by_type, page, 1, .limit = 1};
	if (!is_known)
		ret->state = CELL_UNKNOWN;
}

static const struct table_type search_type = {.name = "search",
	.says = "when and how it was searched; null: there was none",
	.columns = search_columns,
	.cell = search_cell};

enum { ERRORS, DECIDED, DOUBT };
static const struct column judged_columns[] = {
	[ERRORS] = {"errors", COLUMN_INTEGER, UNIT_COUNT,
		.says = "records of the kinds of `--errors-for-leak-kinds` (default: definite and "
			"possible)"},
	[DECIDED] = {"decided", COLUMN_BOOLEAN,
		.says = "whether it is certain that there are such, or none. Not of a recording "
			"that was searched while the program ran, nor of allocators that weren't "
			"seen. Null: nobody asked for leaks (`run --error-exitcode` without "
			"`--leak-check`)"},
	[DOUBT] = {"doubt", COLUMN_TEXT, .says = "why it is not, or null"},
	COLUMNS_END};

static void judged_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct leaks_page *page = context;
	bool is_asked = !page->options->errors_only;
	(void)row;
	ret->number = leaks_errors(page);
	ret->truth = !page->doubt;
	ret->text = is_asked ? page->doubt : "leaks were not searched for";
	if (column == DECIDED && !is_asked)
		ret->state = CELL_UNKNOWN;
}

static const struct table_type judged_type = {.columns = judged_columns, .cell = judged_cell};

static const struct column suppression_columns[] = {WORD_OF(suppression, name, "of the entry"),
	WORD_OF(suppression, file, "where it stands"), NUMBER_OF(suppression, line, "in it"),
	COUNT_OF(suppression, records, "that it fits"), COUNT_OF(suppression, blocks, "of these"),
	BYTES_OF(suppression, bytes, "in these"), COLUMNS_END};

static void suppression_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	table_member(&suppression_columns[column], suppressions_get(context, (uint32_t)row), ret);
}

static const struct table_type used_type = {.name = "used",
	.says = "entries that fit something",
	.title = "Suppressions that were used",
	.columns = suppression_columns,
	.cell = suppression_cell,
	.row_text = leaks_suppression_text};
static const struct table_type unused_type = {.name = "unused",
	.says = "entries of files that fit nothing",
	.title = "Suppressions that fit nothing",
	.columns = suppression_columns,
	.cell = suppression_cell,
	.row_text = leaks_suppression_text};

static const struct column passed_columns[] = {
	{"passed_over", COLUMN_INTEGER, UNIT_COUNT, .bytes = sizeof(uint64_t),
		.says = "entries of other tools, or of errors that heapwise has not"},
	COLUMNS_END};
static const struct table_type passed_type = {.columns = passed_columns};

static const struct table_type suppressions_group = {.name = "suppressions",
	.says = "entries of suppression files; built-in ones are only in `used`",
	.parts = (const struct table_type *const[]){&used_type, &unused_type, &passed_type, NULL}};

/* Built-in entries that fit nothing are nobody's to delete. */
static struct error *put_suppressions(const struct leaks_page *page, struct answer *answer)
{
	struct suppressions *set = page->options->suppressions;
	uint32_t count = set ? suppressions_count(set) : 0;
	_cleanup_free_ size_t *order = calloc(count + 1, sizeof(*order));
	if (!order)
		return error_no_memory();
	answer_group_begin(answer, &suppressions_group);
	for (unsigned is_used = 2; is_used-- > 0;) {
		struct table table = {is_used ? &used_type : &unused_type, set, 0, .order = order,
			.limit = TABLE_NO_LIMIT};
		bool is_hidden = answer_is_brief(answer) &&
				 !(is_used ? page->options->list_suppressed : page->leaks.searched);
		for (uint32_t i = 0; i < count && !is_hidden; i++) {
			const struct suppression *one = suppressions_get(set, i);
			if (is_used ? one->records > 0
				    : !one->records && one->origin == SUPPRESS_FROM_FILE)
				order[table.count++] = i;
		}
		answer_table(answer, &table);
	}
	const uint64_t passed_over = set ? suppressions_passed_over(set) : 0;
	answer_record_of(answer, &passed_type, &passed_over);
	answer_group_end(answer);
	return NULL;
}

static const struct table_type leaks_group = {.name = "leaks",
	.says = "what was never freed",
	.parts = (const struct table_type *const[]){&summary_type, &not_judged_type, &search_type,
		&judged_type, &leaks_record_types[0], &leaks_record_types[1],
		&leaks_record_types[2], &suppressions_group, NULL}};

const struct answer_type leaks_answer_type = {.schema = "heapwise.leaks/1",
	.from = "heapwise leaks FILE",
	.says = "blocks that were never freed, by whether anything points to them; of several "
		"recordings one document after the other; `--csv` is `--format csv` there. What "
		"the kinds mean: "
		"[leaks](../leaks.md)",
	.tables = (const struct table_type *const[]){&report_target_type, &report_recording_type,
		&report_verdict_type, &report_notes_type, &leaks_group, &leaks_errors_group, NULL},
	.main = &leaks_record_types[0]};

/* What is told before errors beside leaks are. */
static void leaks_answer_put_head(const struct leaks_page *page, struct answer *answer)
{
	const struct recording *recording = model_recording(page->model);
	const struct leak_sum collected = {
		.blocks = recording->collected_blocks, .bytes = recording->collected_bytes};
	const struct table not_judged = {
		&not_judged_type, &collected, recording->is_heap, .limit = 1};
	const struct table search = {&search_type, page, page->leaks.search != NULL, .limit = 1};
	answer_record_of(answer, &summary_type, page);
	answer_record(answer, &not_judged);
	answer_record(answer, &search);
	answer_record_of(answer, &judged_type, page);
}

static void fill_sums(struct leaks_page *page)
{
	const struct leak_search *search = page->leaks.search;
	page->left = sum_left(&page->leaks);
	page->heuristic_count = 0;
	for (unsigned i = 0; search && i < LEAK_HEURISTICS; i++) {
		page->by_heuristic[i] = (struct leak_sum){
			.blocks = search->heuristic_blocks[i], .bytes = search->heuristic_bytes[i]};
		if (search->heuristics >> i & 1)
			page->heuristics[page->heuristic_count++] = i;
	}
}

struct error *leaks_put(struct leaks_page *page, struct answer *answer)
{
	struct text *prose = answer_prose(answer);
	struct error *error = NULL;
	fill_sums(page);
	answer_group_begin(answer, &leaks_group);
	leaks_answer_put_head(page, answer);
	if (prose)
		leaks_errors_text(page, prose);
	if (page->options->detail == LEAKS_FULL)
		error = leaks_put_records(page, answer);
	bool is_all = !prose || !page->options->quiet;
	if (prose && is_all)
		leaks_hidden_text(page, prose);
	if (!error && is_all)
		error = put_suppressions(page, answer);
	answer_group_end(answer);
	return error;
}

struct error *leaks_answer(struct leaks_page *page, struct answer *answer)
{
	struct text *prose = answer_prose(answer);
	struct error *error = NULL;
	answer_begin(answer, &leaks_answer_type);
	report_source(page->model, &page->verdict, &page->notes, answer);
	if (prose)
		leaks_heading_text(page, prose);
	if (prose && page->options->errors_only)
		leaks_errors_text(page, prose);
	else
		error = leaks_put(page, answer);
	if (!prose)
		leaks_errors_put(page, answer);
	return error ? error : answer_end(answer);
}
