/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/heap_answers.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/isolated.h"
#include "heap/limits.h"
#include "heap/unread.h"
#include "views/heap/heap_joined_view.h"
#include "views/heap/heap_parts.h"
#include "views/heap/heap_type_table.h"
#include "views/heap/heuristics.h"
#include "views/leaks_view.h"
#include "views/report/figure_text.h"
#include "views/report/member_columns.h"

#define SUMMARY_ROWS 15u
#define TABLE_ROWS 40u
#define DAMAGE_ROWS 10u

static void add_sum(struct text *out, uint64_t bytes, uint64_t blocks)
{
	text_printf(out, "%s in %s%s", FMT_BYTES(bytes), FMT_COUNT(blocks),
		blocks == 1 ? " block" : " blocks");
}

/* Memory of an allocator that was found. */
struct allocator_sum {
	const char *name;
	uint64_t bytes;
};

struct allocator_sums {
	struct allocator_sum data[HEAP_ALLOCATORS];
	size_t count;
};

static void sum_allocators(const struct heap_scan *s, struct allocator_sums *ret)
{
	uint64_t bytes[HEAP_ALLOCATORS] = {0};
	ret->count = 0;
	for (size_t i = 0; i < s->heap.areas.len; i++)
		bytes[s->heap.areas.data[i].allocator] +=
			s->heap.areas.data[i].end - s->heap.areas.data[i].start;
	for (unsigned i = 0; i < HEAP_ALLOCATORS; i++)
		if (bytes[i])
			ret->data[ret->count++] = (struct allocator_sum){
				heap_allocator_name((enum heap_allocator)i), bytes[i]};
}

static void text_allocators(const struct heap_scan *s, struct text *out)
{
	struct allocator_sums sums;
	sum_allocators(s, &sums);
	text_add(out, "allocators  ");
	for (size_t i = 0; i < sums.count; i++) {
		text_printf(out, "%s%s ", i ? ", " : "", sums.data[i].name);
		text_add_bytes(out, sums.data[i].bytes);
	}
	text_add(out, sums.count ? "\n" : "none was found\n");
}

/* Whether no block is another allocator's than Go's. */
static bool all_is_collected(const struct heap_scan *s)
{
	uint64_t blocks, bytes;
	go_types_sum(s, &blocks, &bytes);
	return blocks && blocks == s->totals.blocks[BLOCK_USED];
}

static void text_leaks(
	const struct heap_scan *s, const struct heap_isolated *isolated, struct text *out)
{
	static const char *const words[SEARCH_KINDS] = {
		"definitely lost", "indirectly lost", "possibly lost", "still reachable"};
	const struct search_totals *totals = search_totals(s->search);
	for (unsigned i = 0; i < SEARCH_KINDS && !all_is_collected(s); i++) {
		text_printf(out, "%-17s", words[i]);
		add_sum(out, totals->bytes[i], totals->blocks[i]);
		if (i == SEARCH_DEFINITE && isolated->blocks.len) {
			text_add(out, ", of these without any pointer ");
			add_sum(out, isolated->bytes, isolated->blocks.len);
		}
		if (i == SEARCH_REACHABLE)
			heuristics_add_sums(out, totals);
		text_add_char(out, '\n');
	}
	uint64_t blocks, bytes;
	go_types_sum(s, &blocks, &bytes);
	if (!blocks)
		return;
	text_add(out, "not judged       ");
	add_sum(out, bytes, blocks);
	text_add(out, ", which Go's collector owns\n");
}

static void text_damage(const struct heap_scan *s, struct text *out)
{
	const struct heap_damage_vec *damage = &s->heap.damage;
	for (size_t i = 0; i < damage->len && i < DAMAGE_ROWS; i++) {
		heap_damage_describe(&damage->data[i], out);
		text_add_char(out, '\n');
	}
	if (damage->len > DAMAGE_ROWS)
		text_printf(out, "… and %zu more places with damage\n", damage->len - DAMAGE_ROWS);
}

static void text_in_use(const struct heap_scan *s, struct text *out)
{
	const struct search_totals *leaks = search_totals(s->search);
	uint64_t lost = leaks->bytes[SEARCH_DEFINITE] + leaks->bytes[SEARCH_INDIRECT];
	add_sum(out, s->totals.bytes[BLOCK_USED], s->totals.blocks[BLOCK_USED]);
	text_add(out, " in use; ");
	if (lost) {
		add_sum(out, lost, leaks->blocks[SEARCH_DEFINITE] + leaks->blocks[SEARCH_INDIRECT]);
		text_add(out, " of that lost: nothing points there any more");
	} else if (leaks->bytes[SEARCH_POSSIBLE]) {
		text_add(out, "nothing of that is definitely lost, ");
		add_sum(out, leaks->bytes[SEARCH_POSSIBLE], leaks->blocks[SEARCH_POSSIBLE]);
		text_add(out, " possibly: only pointers into the middle are left");
	} else if (!all_is_collected(s)) {
		text_add(out, "nothing of that is lost");
	}
	uint64_t blocks, bytes;
	go_types_sum(s, &blocks, &bytes);
	if (all_is_collected(s)) {
		text_add(out, "leaks are not judged: Go's collector owns all of it");
	} else if (blocks) {
		text_add(out, "; leaks are not judged of ");
		add_sum(out, bytes, blocks);
		text_add(out, ", which Go's collector owns");
	}
	text_add(out, ".\n");
}

static void text_owner(const struct core_owner *owner, struct text *out)
{
	const char *words = *owner->command ? owner->command : owner->name;
	if (!*words)
		return;
	text_add(out, "It ran as: ");
	text_add_shown(out, words, 100);
	if (owner->pid > 0)
		text_printf(out, " (process %d)", (int)owner->pid);
	text_add_char(out, '\n');
}

static bool text_is_cut(const struct heap_scan *s)
{
	const struct address_space *space = s->heap.space;
	return !space->is_live && (space->core.missing_bytes || space->core.unpacked_cut);
}

static void text_verdict(const struct heap_page *page, struct text *out)
{
	const struct heap_scan *s = page->scan;
	text_add_shown(out, page->name, 500);
	text_add(out, ": ");
	struct heap_unread unread = heap_unread_find(s);
	if (s->heap.areas.len && heap_is_cut_away(s)) {
		text_add(out, "no block is in what there is of the core: nothing is known of the "
			      "heap.\n");
	} else if (s->heap.areas.len) {
		text_add(out, text_is_cut(s) ? "as far as the core goes: " : "");
		text_in_use(s, out);
	} else if (unread.largest) {
		heap_unread_describe(s, &unread, out);
		text_add(out, ".\n");
	} else {
		text_printf(out, "%s.\n", heap_absence(&s->heap));
	}
	text_owner(&s->heap.space->owner, out);
	int signal = s->heap.space->threads.len ? s->heap.space->threads.data[0].signal : 0;
	if (signal && !page->pause_ns)
		text_printf(out, "The program died of SIG%s in thread %d.\n",
			sigabbrev_np(signal) ? sigabbrev_np(signal) : "?",
			(int)s->heap.space->threads.data[0].tid);
	if (s->heap.areas.len && text_is_cut(s) && !heap_is_cut_away(s))
		text_add(out, "The core is cut off: blocks in missing memory are not counted, free "
			      "ones whose state was there count as in use, and what only missing "
			      "memory points to counts as lost.\n");
	if (page->pause_ns)
		text_printf(out, "The process stood still for %s.\n", FMT_DURATION(page->pause_ns));
}

static void text_sums(const struct heap_scan *s, struct text *out)
{
	const struct heap_scan_totals *t = &s->totals;
	text_add(out, "\nin use           ");
	add_sum(out, t->bytes[BLOCK_USED], t->blocks[BLOCK_USED]);
	text_add(out, "\nfree             ");
	add_sum(out, t->bytes[BLOCK_FREE] + t->bytes[BLOCK_CACHED],
		t->blocks[BLOCK_FREE] + t->blocks[BLOCK_CACHED]);
	if (t->blocks[BLOCK_CACHED]) {
		text_add(out, ", of these kept at hand ");
		add_sum(out, t->bytes[BLOCK_CACHED], t->blocks[BLOCK_CACHED]);
	}
	text_add_char(out, '\n');
}

/* What was reached that makes this partial. */
static void text_limits(const struct heap_scan *s, struct text *out)
{
	for (enum heap_limit limit = 0; limit < HEAP_LIMITS; limit++) {
		if (heap_limit_has_reached(s, limit))
			text_printf(out, "Partial: %s.\n", heap_limit_words(limit));
	}
}

static const struct column source_columns[] = {{"kind", COLUMN_TEXT, .says = "`core` or `process`"},
	{"name", COLUMN_TEXT, .says = "the core's path, or the process's number"},
	{"pid", COLUMN_INTEGER, .says = "0: not known"},
	{"command", COLUMN_TEXT,
		.says = "its arguments, the first 79 characters; or the program's name"},
	{"threads", COLUMN_INTEGER, UNIT_COUNT, .says = "how many"},
	{"pause_ns", COLUMN_INTEGER, UNIT_NS, .says = "for which the process stood still"},
	COLUMNS_END};

static void source_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct heap_page *page = context;
	const struct address_space *space = page->scan->heap.space;
	const struct core_owner *owner = &space->owner;
	const char *texts[] = {space->is_live ? "process" : "core", page->name, NULL,
		*owner->command ? owner->command : owner->name, NULL, NULL};
	const uint64_t numbers[] = {0, 0, owner->pid > 0 ? (uint64_t)owner->pid : 0, 0,
		space->threads.len, page->pause_ns};
	(void)row;
	ret->text = texts[column];
	ret->number = numbers[column];
}

static const struct table_type source_type = {.name = "source",
	.says = "what was looked at",
	.columns = source_columns,
	.cell = source_cell};

static const struct column total_columns[] = {
	{"used_blocks", COLUMN_INTEGER, UNIT_COUNT, .says = "in use"},
	{"used_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "in these"},
	{"free_blocks", COLUMN_INTEGER, UNIT_COUNT, .says = "in bins and kept at hand"},
	{"free_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "in these"},
	{"cached_blocks", COLUMN_INTEGER, UNIT_COUNT, .says = "of the free ones kept at hand"},
	{"cached_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "in these"}, COLUMNS_END};

static void total_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct heap_scan_totals *t = context;
	const uint64_t numbers[] = {t->blocks[BLOCK_USED], t->bytes[BLOCK_USED],
		t->blocks[BLOCK_FREE] + t->blocks[BLOCK_CACHED],
		t->bytes[BLOCK_FREE] + t->bytes[BLOCK_CACHED], t->blocks[BLOCK_CACHED],
		t->bytes[BLOCK_CACHED]};
	(void)row;
	ret->number = numbers[column];
}

static const struct table_type total_type = {.name = "totals",
	.says = "blocks of the heap; null where no heap was found though memory is there, and "
		"of a core without private memory",
	.columns = total_columns,
	.cell = total_cell};

static const struct column seen_columns[] = {
	{"allocator", COLUMN_TEXT, .says = "that was looked for"},
	{"found", COLUMN_TEXT, .says = "what was found of it"}, COLUMNS_END};

static void seen_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	ret->text = heap_allocator_name((enum heap_allocator)row);
	if (column == 0)
		return;
	heap_unread_seen(context, (enum heap_allocator)row, &ret->built);
	cell_take_built(ret);
}

static const struct table_type seen_type = {.columns = seen_columns, .cell = seen_cell};

/* What of the memory could not be read. */
struct unread_row {
	const struct heap_scan *scan;
	struct heap_unread unread;
	size_t seen[HEAP_ALLOCATORS]; /* allocators of which something was seen */
	size_t seen_count;
};

static const struct column unread_columns[] = {
	{"bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "of no file that were written to"},
	{"mappings", COLUMN_INTEGER, UNIT_COUNT, .says = "in how many mappings"},
	{"largest", COLUMN_ADDRESS, .says = "where the largest begins"},
	{"largest_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "of that"},
	{"seen", COLUMN_TABLE, .says = "of each allocator that was looked for",
		.nested = &seen_type},
	COLUMNS_END};

static void unread_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct unread_row *of = context;
	const struct heap_unread *unread = &of->unread;
	const uint64_t numbers[] = {
		unread->bytes, unread->mappings, unread->largest->start, unread->largest_bytes, 0};
	(void)row;
	ret->number = numbers[column];
	ret->nested = (struct table){
		&seen_type, of->scan, of->seen_count, .order = of->seen, .limit = TABLE_NO_LIMIT};
}

static const struct table_type unread_type = {.name = "unread",
	.says = "only where no heap was found though memory is there (the exit status is 3 then)",
	.columns = unread_columns,
	.cell = unread_cell};

static void put_unread(
	struct answer *answer, const struct heap_scan *s, const struct heap_unread *unread)
{
	struct unread_row row = {.scan = s, .unread = *unread};
	for (enum heap_allocator allocator = 0; allocator < HEAP_ALLOCATORS; allocator++) {
		_cleanup_(text_deinit) struct text seen;
		text_init(&seen);
		if (heap_unread_seen(s, allocator, &seen))
			row.seen[row.seen_count++] = allocator;
	}
	answer_record_of(answer, &unread_type, &row);
}

struct group_rows {
	const struct heap_scan *scan;
	const struct heap_type **types;
};

static const struct column offset_columns[] = {
	{"", COLUMN_INTEGER, UNIT_BYTES, .says = "from the beginning"}, COLUMNS_END};

static void offset_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	uint64_t left = *(const uint64_t *)context;
	(void)column;
	while (row--)
		left &= left - 1;
	ret->number = 8u * (uint64_t)__builtin_ctzll(left);
}

static const struct table_type offset_type = {.columns = offset_columns, .cell = offset_cell};

enum {
	GROUP_NAME,
	GROUP_SIZE,
	GROUP_POINTERS,
	GROUP_EVERY,
	GROUP_EXAMPLE,
	GROUP_BLOCKS,
	GROUP_BYTES
};
static const struct column group_columns[] = {
	[GROUP_NAME] = {"name", COLUMN_TEXT, .says = "as of `types`"},
	[GROUP_SIZE] = {"size", COLUMN_INTEGER, UNIT_BYTES, .says = "of each block"},
	[GROUP_POINTERS] = {"pointers", COLUMN_LIST, .says = "offsets at which there are pointers",
		.nested = &offset_type},
	[GROUP_EVERY] = {"every", COLUMN_INTEGER, UNIT_BYTES,
		.says = "of arrays: an element, in which these offsets are; else 0"},
	[GROUP_EXAMPLE] = {"example", COLUMN_ADDRESS, .says = "one of the blocks"},
	[GROUP_BLOCKS] = {"blocks", COLUMN_INTEGER, UNIT_COUNT, .says = "how many"},
	[GROUP_BYTES] = {"bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "in these"},
	COLUMNS_END};

static const uint64_t *pointers_of(const struct heap_scan *s, const struct heap_type *type)
{
	return type->repeat.words ? &type->repeat.pointers
				  : &s->classes.classes.data[type->class].key.pointers;
}

static void group_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct group_rows *rows = context;
	const struct heap_type *type = rows->types[row];
	const struct heap_shape *class = &rows->scan->classes.classes.data[type->class];
	const uint64_t *pointers = pointers_of(rows->scan, type);
	const uint64_t numbers[] = {[GROUP_SIZE] = class->key.size,
		[GROUP_EVERY] = 8ull * type->repeat.words,
		[GROUP_EXAMPLE] = class->example,
		[GROUP_BLOCKS] = type->blocks,
		[GROUP_BYTES] = type->bytes};
	ret->text = type->name;
	ret->number = numbers[column];
	ret->nested = (struct table){&offset_type, pointers,
		(size_t)__builtin_popcountll(*pointers), .limit = TABLE_NO_LIMIT};
}

static const struct table_type group_type = {.name = "groups",
	.says = "of the unknown types: what their blocks have in common",
	.columns = group_columns,
	.cell = group_cell};

static struct error *put_groups(struct answer *answer, const struct heap_scan *s,
	const struct type_table *table, size_t limit)
{
	_cleanup_free_ size_t *order = calloc(table->count + 1, sizeof(*order));
	const struct group_rows rows = {s, table->types};
	struct table groups = {&group_type, &rows, 0, .order = order, .limit = limit};
	if (!order)
		return error_no_memory();
	for (size_t i = 0; i < table->count; i++) {
		if (table->types[i]->kind == HEAP_TYPE_GROUP)
			order[groups.count++] = i;
	}
	answer_table(answer, &groups);
	return NULL;
}

static const struct column allocator_columns[] = {
	WORD_AS("allocator", allocator_sum, name, "whose blocks were found"),
	BYTES_OF(allocator_sum, bytes, "of its memory that blocks lie in"), COLUMNS_END};

static const struct table_type allocator_type = {.name = "allocators",
	.says = "what manages the memory that was read",
	.columns = allocator_columns,
	.row_bytes = sizeof(struct allocator_sum)};

static const struct column verdict_columns[] = {
	{"", COLUMN_TEXT, .says = "what is in use and lost, of what; a sentence each"},
	COLUMNS_END};

static const struct table_type heap_verdict_type = {.name = "verdict",
	.says = "the sentences that the text begins with",
	.columns = verdict_columns,
	.row_bytes = sizeof(const char *)};

/* Sentences of what is in use, and of what may lack. */
#define SENTENCES_MAX 32u

static struct error *put_verdict(const struct heap_page *page, struct answer *answer)
{
	_cleanup_(text_deinit) struct text text;
	const char *sentences[SENTENCES_MAX];
	size_t count = 0;
	char *rest = NULL;
	text_init(&text);
	text_verdict(page, &text);
	heap_joined_text(page, &text);
	text_limits(page->scan, &text);
	if (text.failed)
		return error_no_memory();
	for (char *at = strtok_r(text.data, "\n", &rest); at && count < SENTENCES_MAX;
		at = strtok_r(NULL, "\n", &rest))
		sentences[count++] = at;
	const struct table table = {&heap_verdict_type, sentences, count, .limit = TABLE_NO_LIMIT};
	answer_table(answer, &table);
	return NULL;
}

static void put_allocators(const struct heap_scan *s, struct answer *answer)
{
	struct allocator_sums sums;
	sum_allocators(s, &sums);
	const struct table table = {
		&allocator_type, sums.data, sums.count, .limit = TABLE_NO_LIMIT};
	answer_table(answer, &table);
}

static const struct table_type sum_isolated_type = {.name = "alone",
	.says = "of what is definitely lost: blocks without a pointer to a block",
	.columns = heap_matched_columns};
static const struct table_type not_judged_type = {.name = "not_judged",
	.says = "only where a garbage collector (Go's) owns blocks: those of which nobody judges "
		"whether they are lost; they are among the reachable ones",
	.columns = heap_matched_columns};

static void put_sum(
	struct answer *answer, const struct table_type *type, uint64_t blocks, uint64_t bytes)
{
	const struct heap_matched sum = {blocks, bytes};
	const struct table record = {type, &sum, 1, .limit = 1};
	answer_record(answer, &record);
}

#define HEAD_TYPES &source_type, &heap_joined_type, &total_type, &unread_type

const struct answer_type heap_summary_type = {
	HEAP_ANSWER("summary", "",
		"what is in use, free and leaked, and the largest types. `leaks` and what belongs "
		"to it are as in [heapwise.leaks/1](leaks-1.md)"),
	.tables = (const struct table_type *const[]){HEAD_TYPES, HEAP_HEAD_TYPES, &allocator_type,
		&heap_verdict_type, &heap_types_table, &group_type, &sum_isolated_type,
		&not_judged_type, NULL},
	.main = &heap_types_table};

struct type_count {
	uint64_t count;
};
static const struct column type_count_columns[] = {
	COUNT_AS("matched_types", type_count, count,
		"where blocks or rows were chosen: types that match"),
	COLUMNS_END};

static void type_count_text(const void *context, size_t row, struct text *out)
{
	(void)row;
	text_add_counted(out, ((const struct type_count *)context)->count, "type: ", "types: ");
}

static const struct table_type type_count_type = {
	.columns = type_count_columns, .row_text = type_count_text};

const struct answer_type heap_types_type = {
	HEAP_ANSWER("types", " types", "what there is, by type"),
	.tables = (const struct table_type *const[]){HEAD_TYPES, HEAP_HEAD_TYPES, &heap_types_table,
		&type_count_type, &heap_matched_type, &group_type, NULL},
	.main = &heap_types_table};

/* What both begin with; for programs alone. */
static void heap_summary_put_head(const struct heap_page *page, struct answer *answer)
{
	const struct heap_scan *s = page->scan;
	const struct heap_unread unread = heap_unread_find(s);
	const struct table totals = {
		&total_type, &s->totals, heap_is_unknown(s) ? 0 : 1, .limit = 1};
	answer_record_of(answer, &source_type, page);
	heap_joined_answer(page, answer);
	answer_record(answer, &totals);
	if (unread.largest)
		put_unread(answer, s, &unread);
	heap_head_answer(answer, s);
}

/* The types and, for programs, what the unknown ones have in common. */
static struct error *put_types(const struct heap_page *page, const struct type_table *table,
	size_t brief, struct answer *answer)
{
	const struct table types = {&heap_types_table, table->types, table->count,
		.limit = heap_page_limit(page, answer, brief)};
	struct text *prose = answer_prose(answer);
	if (prose && types.limit)
		text_add_char(prose, '\n');
	answer_table(answer, &types);
	return answer_is_brief(answer) ? NULL : put_groups(answer, page->scan, table, types.limit);
}

static void add_sentences(
	const struct heap_page *page, const struct heap_isolated *isolated, struct text *out)
{
	text_verdict(page, out);
	heap_joined_text(page, out);
	if (!heap_is_unknown(page->scan)) {
		text_sums(page->scan, out);
		text_leaks(page->scan, isolated, out);
	}
	text_allocators(page->scan, out);
	text_damage(page->scan, out);
}

/* What of leaks is for programs. */
static struct error *put_leaks(
	const struct heap_page *page, const struct heap_isolated *isolated, struct answer *answer)
{
	uint64_t blocks, bytes;
	put_sum(answer, &sum_isolated_type, isolated->blocks.len, isolated->bytes);
	go_types_sum(page->scan, &blocks, &bytes);
	if (blocks)
		put_sum(answer, &not_judged_type, blocks, bytes);
	return page->json ? leaks_view_put(page->model, answer) : NULL;
}

struct error *heap_summary_answer(const struct heap_page *page, struct answer *answer)
{
	_cleanup_(type_table_deinit) struct type_table table;
	_cleanup_(heap_isolated_deinit) struct heap_isolated isolated = {.bytes = 0};
	struct text *prose = answer_prose(answer);
	struct error *error = type_table_make(page, &table);
	if (!error)
		error = heap_isolated_find(page->scan, &isolated);
	if (error)
		return error;
	answer_begin(answer, &heap_summary_type);
	if (prose)
		add_sentences(page, &isolated, prose);
	heap_summary_put_head(page, answer);
	if (page->json) {
		put_allocators(page->scan, answer);
		error = put_verdict(page, answer);
	}
	if (!error)
		error = put_types(page, &table, SUMMARY_ROWS, answer);
	if (!error)
		error = put_leaks(page, &isolated, answer);
	if (prose)
		text_limits(page->scan, prose);
	return error ? error : answer_end(answer);
}

struct error *heap_types_answer(const struct heap_page *page, struct answer *answer)
{
	_cleanup_(type_table_deinit) struct type_table table;
	struct text *prose = answer_prose(answer);
	struct error *error = type_table_make(page, &table);
	if (error)
		return error;
	answer_begin(answer, &heap_types_type);
	heap_summary_put_head(page, answer);
	error = put_types(page, &table, TABLE_ROWS, answer);
	if (heap_page_is_choosy(page)) {
		const struct type_count count = {table.count};
		const struct table record = {&type_count_type, &count, 1, .limit = 1};
		answer_record(answer, &record);
		heap_matched_answer(answer, table.blocks, table.bytes);
	}
	if (prose)
		text_limits(page->scan, prose);
	return error ? error : answer_end(answer);
}
