/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/heap/heap_parts.h"

#include <inttypes.h>

#include "heap/limits.h"
#include "views/heap_answers.h"
#include "views/report/figure_text.h"
#include "views/report/member_columns.h"

const char *const heap_root_names[HEAP_ROOT_KINDS] = {[HEAP_ROOT_DATA] = "global",
	[HEAP_ROOT_STACK] = "stack",
	[HEAP_ROOT_TLS] = "thread-local storage",
	[HEAP_ROOT_REGISTERS] = "registers",
	[HEAP_ROOT_MAPPING] = "mapping",
	[HEAP_ROOT_COLLECTOR] = "collector"};

static const char *const damage_ways[] = {[HEAP_PASSED_OVER] = "passed-over",
	[HEAP_MISSING] = "missing",
	[HEAP_TOO_MANY] = "too-many"};

static const struct column partial_columns[] = {
	{"", COLUMN_TEXT, .says = "the name of a bound or of what is missing (docs/limits.md)"},
	COLUMNS_END};

struct partial {
	const char *names[HEAP_LIMITS + 3];
	size_t count;
};

const struct table_type heap_partial_type = {.name = "partial",
	.says = "why figures may be too small: what the core is missing, bounds that were reached",
	.columns = partial_columns,
	.row_bytes = sizeof(const char *)};

/* What a core itself lacks. */
static void add_core(struct partial *partial, const struct address_space *space)
{
	const struct core_file *core = &space->core;
	if (space->is_live)
		return;
	if (core->missing_bytes || core->unpacked_cut)
		partial->names[partial->count++] = "core-cut";
	if (core->notes_damaged || core->overlapping)
		partial->names[partial->count++] = "core-damaged";
	if (address_space_lacks_private(space))
		partial->names[partial->count++] = "no-private-memory";
}

static void put_partial(struct answer *answer, const struct partial *partial)
{
	const struct table table = {
		&heap_partial_type, partial->names, partial->count, .limit = TABLE_NO_LIMIT};
	answer_table(answer, &table);
}

static const struct column damage_columns[] = {{"address", COLUMN_ADDRESS, .says = "where"},
	{"bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "how many are affected; 0: not known"},
	{"how", COLUMN_TEXT, .says = "`passed-over`, `missing` or `too-many`"},
	{"what", COLUMN_TEXT, .says = "what is wrong, as a sentence without its end"},
	{"amid_change", COLUMN_BOOLEAN,
		.says = "true: a thread stood in the middle of changing these books, so that they "
			"may be sound"},
	{"maybe_free_blocks", COLUMN_INTEGER, UNIT_COUNT,
		.says = "blocks that count as used and may be free"},
	{"block_before", COLUMN_ADDRESS,
		.says = "the block before it, which may have been written beyond its end; or null"},
	COLUMNS_END};

enum {
	DAMAGE_ADDRESS,
	DAMAGE_BYTES,
	DAMAGE_HOW,
	DAMAGE_WHAT,
	DAMAGE_AMID,
	DAMAGE_FREE,
	DAMAGE_BEFORE
};

static void damage_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct heap_damage *one = &((const struct heap_damage *)context)[row];
	const uint64_t numbers[] = {[DAMAGE_ADDRESS] = one->address,
		[DAMAGE_BYTES] = one->bytes,
		[DAMAGE_FREE] = one->blocks,
		[DAMAGE_BEFORE] = one->before};
	ret->number = numbers[column];
	ret->text = column == DAMAGE_HOW ? damage_ways[one->how] : one->what;
	ret->truth = one->amid;
	if (column == DAMAGE_BEFORE && (!one->before || one->amid))
		ret->state = CELL_UNKNOWN;
}

void heap_damage_describe(const struct heap_damage *damage, struct text *out)
{
	text_printf(out, "%s at 0x%" PRIx64 ": %s",
		damage->amid ? "a thread is in the middle of a change, or damage" : "damage",
		damage->address, damage->what);
	static const char *const hows[] = {[HEAP_PASSED_OVER] = "were passed over",
		[HEAP_MISSING] = "are missing",
		[HEAP_TOO_MANY] = "are too many"};
	if (damage->bytes)
		text_printf(out, ", %" PRIu64 " bytes %s", damage->bytes, hows[damage->how]);
	if (damage->blocks)
		text_printf(out, ": up to %" PRIu64 " blocks that count as used may be free",
			damage->blocks);
	if (damage->before && !damage->amid)
		text_printf(out,
			"; the block before it, at 0x%" PRIx64 " of %" PRIu64
			" bytes, may have been written beyond its end",
			damage->before, damage->before_size);
}

const struct table_type heap_damage_type = {.name = "damage",
	.says = "where the allocator's data is damaged or missing",
	.columns = damage_columns,
	.cell = damage_cell};

void heap_head_answer(struct answer *answer, const struct heap_scan *scan)
{
	const struct heap_damage_vec *damage = &scan->heap.damage;
	struct partial partial = {.count = 0};
	add_core(&partial, scan->heap.space);
	for (enum heap_limit limit = 0; limit < HEAP_LIMITS; limit++) {
		if (heap_limit_has_reached(scan, limit))
			partial.names[partial.count++] = heap_limit_name(limit);
	}
	put_partial(answer, &partial);
	const struct table table = {
		&heap_damage_type, damage->data, damage->len, .limit = TABLE_NO_LIMIT};
	answer_table(answer, &table);
}

void heap_memory_head_answer(
	struct answer *answer, const struct address_space *space, const char *reached)
{
	struct partial partial = {.count = 0};
	add_core(&partial, space);
	if (reached)
		partial.names[partial.count++] = reached;
	put_partial(answer, &partial);
}

static void rows_text(const void *context, size_t row, struct text *out)
{
	(void)row;
	text_add_counted(out, *(const uint64_t *)context, "row matches\n", "rows match\n");
}

static const struct column rows_columns[] = {
	{"rows", COLUMN_INTEGER, UNIT_COUNT, .says = "how many match, also beyond a limit",
		.bytes = sizeof(uint64_t)},
	COLUMNS_END};

const struct table_type heap_matched_rows_type = {.name = "matched",
	.says = "where rows were chosen: how many match",
	.columns = rows_columns,
	.row_text = rows_text};

void heap_matched_rows_answer(struct answer *answer, uint64_t rows)
{
	answer_record_of(answer, &heap_matched_rows_type, &rows);
}

static void matched_text(const void *context, size_t row, struct text *out)
{
	const struct heap_matched *matched = context;
	(void)row;
	text_add_counted(out, matched->blocks, "block", "blocks");
	text_printf(out, ", %s%s", FMT_BYTES(matched->bytes),
		matched->blocks == 1 ? " matches\n" : " match\n");
}

const struct column heap_matched_columns[] = {
	COUNT_OF(heap_matched, blocks, "how many, also beyond a limit"),
	BYTES_OF(heap_matched, bytes, "in these"), COLUMNS_END};

const struct table_type heap_matched_type = {.name = "matched",
	.says = "where blocks were chosen: how many match",
	.columns = heap_matched_columns,
	.row_text = matched_text};

void heap_matched_answer(struct answer *answer, uint64_t blocks, uint64_t bytes)
{
	const struct heap_matched matched = {blocks, bytes};
	answer_record_of(answer, &heap_matched_type, &matched);
}
