/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 *	24 bytes, pointers at 0 8: 3,000 blocks, 32 of them looked at
 *	  1  struct node, 24 bytes
 *	     for: pointers in next name; name points to what it says
 *	     against: …
 */
#include <inttypes.h>

#include "base/cleanup.h"
#include "views/heap/heap_extent.h"
#include "views/heap/heap_parts.h"
#include "views/heap_answers.h"
#include "views/heap_layout_view.h"
#include "views/report/member_columns.h"

#define ROWS 10u
#define MEMBERS_SHOWN 6u

struct reason {
	const char *text;
	uint64_t words;
};
#define REASONS_FOR 2u
#define REASONS 7u

static void list_reasons(const struct candidate *c, struct reason ret[REASONS])
{
	ret[0] = (struct reason){"pointers in", c->pointers};
	ret[1] = (struct reason){"what is pointed to is what is declared:", c->agreeing};
	ret[2] = (struct reason){"never a pointer in", c->nulls};
	ret[3] = (struct reason){"pointers where it has none:", c->strays};
	ret[4] = (struct reason){"no pointers in", c->numbers};
	ret[6] = (struct reason){"values that no other has:", c->broken};
	ret[5] = (struct reason){"what is pointed to is something else:", c->denied};
}

/* The member that a word of the block is. */
static void add_word(
	struct types *types, const struct candidate *c, unsigned word, struct text *text)
{
	struct types_place place;
	uint64_t at = 8ull * word;
	if (at < c->header) {
		text_add(text, "(number of elements)");
		return;
	}
	_cleanup_(text_deinit) struct text path;
	text_init(&path);
	at -= c->header;
	types_locate(types, c->type, at % c->size, &place, &path);
	if (c->is_array)
		text_printf(text, "[%" PRIu64 "]%s", at / c->size, path.len ? "." : "");
	text_add_shown(text, path.data ? path.data : "", 120);
}

static void heap_candidates_add_words(
	struct types *types, const struct candidate *c, uint64_t words, struct text *text)
{
	unsigned shown = 0;
	for (unsigned i = 0; i < SHAPE_WORDS; i++) {
		if (!(words >> i & 1))
			continue;
		if (shown++ == MEMBERS_SHOWN) {
			text_printf(text, " … (%d)", __builtin_popcountll(words));
			return;
		}
		text_add_char(text, ' ');
		add_word(types, c, i, text);
	}
}

static void heap_candidates_add_name(
	struct types *types, const struct candidate *c, struct text *text)
{
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	types_declare(types, c->type, "", &name);
	text_add_shown(text, name.data ? name.data : "", 300);
	if (c->is_array)
		text_printf(text, "[%" PRIu64 "]", c->count);
}

static void put_reasons(struct types *types, const struct candidate *c, const char *title,
	const struct reason *reasons, unsigned count, struct text *out)
{
	bool any = false;
	for (unsigned i = 0; i < count; i++) {
		if (!reasons[i].words)
			continue;
		text_add(out, any ? "; " : title);
		text_add(out, reasons[i].text);
		heap_candidates_add_words(types, c, reasons[i].words, out);
		any = true;
	}
	if (any)
		text_add_char(out, '\n');
}

static void heap_candidates_put_text(
	struct types *types, const struct candidate *c, size_t rank, struct text *out)
{
	struct reason reasons[REASONS];
	list_reasons(c, reasons);
	text_printf(out, "%3zu  ", rank);
	heap_candidates_add_name(types, c, out);
	text_printf(out, ", %" PRIu64 " bytes", c->header + c->size * c->count);
	if (c->header)
		text_printf(out, " with %" PRIu64 " before the first", c->header);
	text_add_char(out, '\n');
	put_reasons(types, c, "     for: ", reasons, REASONS_FOR, out);
	put_reasons(types, c, "     against: ", reasons + REASONS_FOR, REASONS - REASONS_FOR, out);
	if (c->declared_by)
		text_printf(out,
			"     for: %u pointer%s that point%s there %s declared to point to such, "
			"or "
			"to "
			"what it begins with\n",
			c->declared_by, c->declared_by == 1 ? "" : "s",
			c->declared_by == 1 ? "s" : "", c->declared_by == 1 ? "is" : "are");
	if (c->known)
		text_printf(out,
			"     for: %u block%s known to be that %s pointers at the same places\n",
			c->known, c->known == 1 ? "" : "s", c->known == 1 ? "has" : "have");
	if (!c->pointers && !c->known && !c->declared_by)
		text_add(out, "     only its size speaks for it\n");
}

/* The members that a reason names. */
struct reason_words {
	struct types *types;
	const struct candidate *candidate;
	uint64_t words;
};

/* What the rows are made of; of one row at a time the members of its reasons. */
struct candidate_rows {
	struct types *types;
	const struct candidate_vec *found;
	struct reason_words *words; /* REASONS of them */
};

static const struct column member_columns[] = {
	{"", COLUMN_TEXT, .says = "a member of the candidate"}, COLUMNS_END};

static void member_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct reason_words *of = context;
	uint64_t left = of->words;
	(void)column;
	while (row--)
		left &= left - 1;
	add_word(of->types, of->candidate, (unsigned)__builtin_ctzll(left), &ret->built);
	cell_take_built(ret);
}

static const struct table_type member_type = {.columns = member_columns, .cell = member_cell};

#define REASON_COLUMN(member, words)                                                               \
	{                                                                                          \
		member, COLUMN_LIST, .says = words, .nested = &member_type                         \
	}
enum { TYPE, SIZE, IS_ARRAY, COUNT, HEADER, SCORE, DECLARED_BY, KNOWN, REASON_FIRST };
static const struct column candidate_columns[] = {
	{"type", COLUMN_TEXT, .says = "that the blocks may be"},
	{"size", COLUMN_INTEGER, UNIT_BYTES, .says = "of one"},
	{"is_array", COLUMN_BOOLEAN, .says = "they may be arrays of it"},
	{"count", COLUMN_INTEGER, UNIT_COUNT, .says = "elements"},
	{"header", COLUMN_INTEGER, UNIT_BYTES, .says = "before the first element"},
	{"score", COLUMN_SIGNED, .says = "what speaks for it, less what speaks against it"},
	{"declared_by", COLUMN_INTEGER, UNIT_COUNT,
		.says = "words that point to these blocks and are declared to point to such, or to "
			"what it begins with"},
	{"known", COLUMN_INTEGER, UNIT_COUNT,
		.says = "blocks that are known to be that, as large and with pointers at the same "
			"places, of the first 256"},
	/* As list_reasons() has them. */
	REASON_COLUMN("pointers", "where there are pointers"),
	REASON_COLUMN("agreeing", "pointers to what is declared"),
	REASON_COLUMN("nulls", "where there is never a pointer, and one is declared"),
	REASON_COLUMN("strays", "pointers where the type has something else"),
	REASON_COLUMN("numbers", "no pointers where the type has some"),
	REASON_COLUMN("denied", "pointers to another type than is declared"),
	REASON_COLUMN(
		"broken", "values that the known ones never have, and the type does not allow"),
	COLUMNS_END};

static void candidate_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct candidate_rows *rows = context;
	const struct candidate *c = &rows->found->data[row];
	const uint64_t numbers[] = {[SIZE] = c->size,
		[COUNT] = c->count,
		[HEADER] = c->header,
		[DECLARED_BY] = c->declared_by,
		[KNOWN] = c->known};
	if (column >= REASON_FIRST) {
		struct reason reasons[REASONS];
		struct reason_words *words = &rows->words[column - REASON_FIRST];
		list_reasons(c, reasons);
		*words =
			(struct reason_words){rows->types, c, reasons[column - REASON_FIRST].words};
		ret->nested = (struct table){&member_type, words,
			(size_t)__builtin_popcountll(words->words), .limit = TABLE_NO_LIMIT};
	} else if (column == TYPE) {
		types_declare(rows->types, c->type, "", &ret->built);
		cell_take_any(ret);
	} else if (column == SCORE) {
		ret->signed_number = c->score;
	} else if (column == IS_ARRAY) {
		ret->truth = c->is_array;
	} else {
		ret->number = numbers[column];
	}
}

static void candidate_text(const void *context, size_t row, struct text *out)
{
	const struct candidate_rows *rows = context;
	heap_candidates_put_text(rows->types, &rows->found->data[row], row + 1, out);
}

static const struct table_type candidate_type = {.name = "candidates",
	.says = "the best first",
	.columns = candidate_columns,
	.cell = candidate_cell,
	.row_text = candidate_text};

/* What was asked for. */
struct asked_type {
	const char *what, *type;
	uint32_t sampled;
};

static const struct column sampled_columns[] = {
	WORD_AS("of", asked_type, what, "what was asked for"),
	COUNT_OF(asked_type, sampled, "blocks that were looked at"), COLUMNS_END};
static const struct table_type sampled_type = {.columns = sampled_columns};

const struct answer_type heap_candidates_type = {
	HEAP_ANSWER("candidates", " type TYPE", "what unknown blocks may be"),
	.tables = (const struct table_type *const[]){HEAP_HEAD_TYPES, &sampled_type,
		&candidate_type, NULL},
	.main = &candidate_type};

static void add_heading(const struct asked_type *asked, bool has_blocks, struct text *out)
{
	text_add_shown(out, asked->what, 300);
	if (asked->sampled)
		text_printf(out, " may be (by %u block%s):\n", asked->sampled,
			asked->sampled == 1 ? "" : "s");
	else
		text_printf(out, ": %s, so nothing says what it may be\n",
			has_blocks ? "its memory can't be read" : "no block is one");
}

static void heap_candidates_add_rest(size_t more, struct text *out)
{
	if (more)
		text_printf(out, "… and %zu more (--limit)\n", more);
}

struct error *heap_candidates_write(const struct heap_page *page, const char *what,
	const struct candidate_vec *found, uint32_t sampled, bool has_blocks,
	const struct sink *sink)
{
	struct reason_words words[REASONS];
	const struct asked_type asked = {.what = what, .sampled = sampled};
	const struct candidate_rows rows = {page->scan->layouts.types, found, words};
	const struct table candidates = {&candidate_type, &rows, found->len,
		.limit = page->limit == VIEW_DEFAULT_LIMIT ? ROWS : page->limit};
	struct answer *answer = heap_answer_create(page, sink);
	if (!answer)
		return error_no_memory();
	struct text *prose = answer_prose(answer);
	answer_begin(answer, &heap_candidates_type);
	heap_head_answer(answer, page->scan);
	answer_record_of(answer, &sampled_type, &asked);
	if (prose)
		add_heading(&asked, has_blocks, prose);
	answer_table(answer, &candidates);
	if (prose && sampled && !found->len)
		text_add(prose, "  no type of the debug information: none has that size, and "
				"pointers where these blocks have them\n");
	if (prose)
		heap_candidates_add_rest(found->len - table_shown(&candidates), prose);
	struct error *error = answer_end(answer);
	answer_destroy(answer);
	return error;
}

struct holder_rows {
	struct types *types;
	const struct holding_members *found;
};

static const struct column holder_columns[] = {
	{"", COLUMN_TEXT, .says = "a member, as TYPE.MEMBER"}, COLUMNS_END};

static void holder_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct holder_rows *rows = context;
	_cleanup_(text_deinit) struct text path;
	struct types_place place;
	(void)column;
	text_init(&path);
	types_declare(rows->types, rows->found->data[row].owner, "", &ret->built);
	text_add(&ret->built, ".");
	types_locate(rows->types, rows->found->data[row].owner, rows->found->data[row].offset,
		&place, &path);
	text_add(&ret->built, path.data ? path.data : "");
	cell_take_built(ret);
}

static void holder_text(const void *context, size_t row, struct text *out)
{
	struct cell cell;
	cell_init(&cell);
	holder_cell(context, row, 0, &cell);
	text_add(out, "  ");
	text_add_shown(out, cell.text, 300);
	text_add_char(out, '\n');
	cell_deinit(&cell);
}

static const struct table_type holder_type = {.name = "members",
	.says = "members that are declared to point to such blocks",
	.columns = holder_columns,
	.cell = holder_cell,
	.row_text = holder_text};

static const struct column asked_columns[] = {WORD_AS("of", asked_type, what, "what was asked for"),
	WORD_OF(asked_type, type, "what it is"), COLUMNS_END};
static const struct table_type asked_type_type = {.columns = asked_columns};

const struct answer_type heap_holders_type = {
	HEAP_ANSWER("holders", " type TYPE",
		"what may point to blocks of a known type, by its declaration"),
	.tables = (const struct table_type *const[]){HEAP_HEAD_TYPES, &asked_type_type,
		&holder_type, NULL},
	.main = &holder_type};

static struct error *lay_out_holders(const struct heap_page *page, const struct asked_type *asked,
	const struct table *members, struct answer *answer)
{
	struct text *prose = answer_prose(answer);
	answer_begin(answer, &heap_holders_type);
	heap_head_answer(answer, page->scan);
	answer_record_of(answer, &asked_type_type, asked);
	if (prose) {
		text_add_shown(prose, asked->what, 300);
		text_add(prose, " is ");
		text_add_shown(prose, asked->type ? asked->type : "", 300);
		text_add(prose, members->count
					? "; what may point to it, by its declaration:\n"
					: "; no member of any type is declared to point to it\n");
	}
	answer_table(answer, members);
	if (prose)
		heap_candidates_add_rest(members->count - table_shown(members), prose);
	return answer_end(answer);
}

struct error *heap_holders_write(const struct heap_page *page, const char *what, uint32_t layout,
	const struct holding_members *found, const struct sink *sink)
{
	const struct holder_rows rows = {page->scan->layouts.types, found};
	const struct table members = {&holder_type, &rows, found->len,
		.limit = page->limit == VIEW_DEFAULT_LIMIT ? (size_t)4 * ROWS : page->limit};
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	types_declare(rows.types, layout, "", &name);
	const struct asked_type asked = {.what = what, .type = name.data};
	struct answer *answer = heap_answer_create(page, sink);
	struct error *error = answer && !name.failed
				      ? lay_out_holders(page, &asked, &members, answer)
				      : error_no_memory();
	answer_destroy(answer);
	return error;
}

const struct answer_type heap_pool_type = {HEAP_ANSWER("pool", " type ADDR", "what lies in a pool"),
	.tables = (const struct table_type *const[]){HEAP_HEAD_TYPES, &asked_type_type,
		&heap_pool_kind_type, NULL},
	.main = &heap_pool_kind_type};

struct error *heap_pool_write(
	const struct heap_page *page, const char *what, uint32_t block, const struct sink *sink)
{
	const struct heap_scan *scan = page->scan;
	const struct asked_type asked = {
		.what = what, .type = scan->types.types.data[heap_scan_type_of(scan, block)].name};
	struct answer *answer = heap_answer_create(page, sink);
	if (!answer)
		return error_no_memory();
	struct text *prose = answer_prose(answer);
	answer_begin(answer, &heap_pool_type);
	heap_head_answer(answer, scan);
	answer_record_of(answer, &asked_type_type, &asked);
	heap_extent_answer(answer, scan, block, NULL);
	if (prose) {
		text_printf(
			prose, "0x%" PRIx64 " is a ", search_block_address(scan->search, block));
		text_add_shown(prose, asked.type, 300);
		pools_add_evidence(scan, block, prose);
		text_add_char(prose, '\n');
	}
	struct error *error = answer_end(answer);
	answer_destroy(answer);
	return error;
}
