/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * As gdb has it: each line begins with a comment of offset and size, bit fields have the number of
 * their first bit beside the offset, holes are lines of their own. Base classes are members here,
 * with what they have.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "views/heap/heap_parts.h"
#include "views/heap_answers.h"
#include "views/heap_layout_view.h"
#include "views/report/member_columns.h"

#define INDENT 4u
#define NO_OFFSET "                           "
/* Behind so many rows structures are not opened any more, but each member still has its row; types
 * that contain themselves are damaged files'. */
#define ROWS_OPENED_MAX 20000u

/* A member; for people also what is between members and behind them. */
struct layout_row {
	enum { ROW_MEMBER, ROW_HOLE, ROW_END } kind;
	unsigned level;                   /* of a member that is not inside of another: 0 */
	const struct type_member *member; /* of ROW_END: whose members these were; NULL */
	uint64_t base;                    /* where what the member is in begins */
	uint64_t size;                    /* ROW_HOLE: in bits; ROW_END: of the whole */
	bool in_union, opens, is_padding;
};
DEFINE_VEC(layout_rows, struct layout_row)

struct layout {
	struct types *types;
	uint32_t number;
	struct layout_rows rows;
	uint32_t members; /* of the rows */
	bool is_brief, no_memory;
	unsigned closed; /* structures that would have been opened, if there were fewer rows */
};

static void heap_layout_add_row(struct layout *l, struct layout_row row)
{
	l->members += row.kind == ROW_MEMBER;
	l->no_memory |= !layout_rows_push(&l->rows, row);
}

static bool is_opened(struct layout *l, const struct type_member *member, unsigned level)
{
	const struct type *type = types_get(l->types, types_plain(l->types, member->type));
	if (!type_has_members(type) || !type->member_count || member->kind == MEMBER_VIRTUAL_BASE)
		return false;
	bool is_open = l->members < ROWS_OPENED_MAX && level < TYPES_DEPTH_MAX;
	l->closed += !is_open;
	return is_open;
}

static uint64_t bits_of(const struct types *types, const struct type_member *member)
{
	return member->bit_size ? member->bit_size : 8 * types_get(types, member->type)->size;
}

/* What lies behind all members so far begins at *end; an empty base class takes no room. */
static void heap_layout_pass(
	struct layout *l, const struct type_member *member, bool is_union, uint64_t *end)
{
	uint64_t bits = bits_of(l->types, member);
	const struct type *type = types_get(l->types, types_plain(l->types, member->type));
	if (member->kind == MEMBER_VIRTUAL_BASE ||
		(member->kind == MEMBER_BASE && !type->member_count))
		return;
	if (!is_union && member->bits > *end && l->is_brief)
		heap_layout_add_row(l, (struct layout_row){ROW_HOLE, .size = member->bits - *end});
	if (member->bits + bits > *end)
		*end = member->bits + bits;
}

static int by_offset(const void *a, const void *b)
{
	const struct type_member *x = *(const struct type_member *const *)a,
				 *y = *(const struct type_member *const *)b;
	return x->bits != y->bits ? (x->bits > y->bits) - (x->bits < y->bits) : (x > y) - (x < y);
}

/* A type's members by their offsets, as declared where these are equal; the caller frees them. Rust
 * declares them in another order. NULL: no memory. */
static const struct type_member **sorted_members(const struct type *type)
{
	const struct type_member **members = calloc(type->member_count + 1ul, sizeof(*members));
	for (uint32_t i = 0; members && i < type->member_count; i++)
		members[i] = &type->members[i];
	if (members)
		qsort(members, type->member_count, sizeof(*members), by_offset);
	return members;
}

/* The members of a type, which itself is the member `whole`, or (NULL) what was asked for. */
static void add_type(struct layout *l, uint32_t number, uint64_t base, unsigned level,
	const struct type_member *whole)
{
	struct type type = *types_get(l->types, number);
	bool is_union = type.kind == TYPE_UNION;
	uint64_t end = 0;
	_cleanup_free_ const struct type_member **members = sorted_members(&type);
	l->no_memory |= !members;
	for (uint32_t i = 0; i < type.member_count && !l->no_memory; i++) {
		const struct type_member *member = members[i];
		bool opens = is_opened(l, member, level);
		heap_layout_pass(l, member, is_union, &end);
		heap_layout_add_row(l, (struct layout_row){ROW_MEMBER, level, member, base,
					       .in_union = is_union, .opens = opens});
		if (opens)
			add_type(l, types_plain(l->types, member->type), base + member->bits / 8,
				level + 1, member);
	}
	if (!is_union && type.size * 8 > end && type.member_count && l->is_brief)
		heap_layout_add_row(l, (struct layout_row){ROW_HOLE, .size = type.size * 8 - end,
					       .is_padding = true});
	if (l->is_brief)
		heap_layout_add_row(
			l, (struct layout_row){ROW_END, level, whole, .size = type.size});
}

static void put_indent(struct text *out, unsigned level)
{
	text_printf(out, "%*s", (int)(INDENT * level), "");
}

static void put_place(
	const struct layout *l, const struct layout_row *row, unsigned level, struct text *out)
{
	const struct type_member *member = row->member;
	uint64_t size = types_get(l->types, member->type)->size;
	uint64_t offset = row->base + member->bits / 8;
	/* All of a union's are where it is. */
	if (row->in_union)
		text_printf(out, "/*               %9" PRIu64 " */", size);
	else if (member->kind == MEMBER_VIRTUAL_BASE)
		text_printf(out, "/*      ?      | %7" PRIu64 " */", size);
	else if (member->bit_size)
		text_printf(out, "/* %6" PRIu64 ":%2u   | %7" PRIu64 " */", offset,
			(unsigned)(member->bits % 8), size);
	else
		text_printf(out, "/* %6" PRIu64 "      | %7" PRIu64 " */", offset, size);
	put_indent(out, level);
}

static void put_hole(const struct layout_row *row, struct text *out)
{
	const char *what = row->is_padding ? "padding" : "hole";
	if (row->size % 8)
		text_printf(out, "/* XXX %2u-bit %-9s    */\n", (unsigned)(row->size % 8), what);
	if (row->size >= 8)
		text_printf(out, "/* XXX %2" PRIu64 "-byte %-9s   */\n", row->size / 8, what);
}

static const char *class_word(const struct type *type)
{
	return type->kind == TYPE_CLASS ? "class" : type->kind == TYPE_UNION ? "union" : "struct";
}

static void put_name(const struct layout *l, const struct type_member *member, struct text *out)
{
	_cleanup_(text_deinit) struct text declaration;
	text_init(&declaration);
	types_declare(l->types, member->type, member->name ? member->name : "", &declaration);
	if (member->kind == MEMBER_VIRTUAL_BASE)
		text_add(out, "virtual base ");
	text_add_shown(out, declaration.data ? declaration.data : "", 1000);
	if (member->bit_size)
		text_printf(out, " : %u", member->bit_size);
	text_add(out, ";\n");
}

/* What a structure's members are behind. */
static void put_opening(const struct layout *l, uint32_t number, struct text *out)
{
	const struct type *type = types_get(l->types, types_plain(l->types, number));
	text_add(out, class_word(type));
	if (type->name) {
		text_add_char(out, ' ');
		text_add_shown(out, type->name, 1000);
	}
	text_add(out, " {\n");
}

static void put_end(const struct layout_row *row, struct text *out)
{
	text_add(out, "\n" NO_OFFSET);
	put_indent(out, row->level + 1);
	text_printf(out, "/* total size: %4" PRIu64 " bytes */\n" NO_OFFSET, row->size);
	put_indent(out, row->level);
	text_add_char(out, '}');
	if (row->member && row->member->name && row->member->kind != MEMBER_BASE) {
		text_add_char(out, ' ');
		text_add_shown(out, row->member->name, 200);
	}
	text_add(out, row->member ? ";\n" : "\n");
}

static void member_text(const void *context, size_t number, struct text *out)
{
	const struct layout *l = context;
	const struct layout_row *row = &l->rows.data[number];
	if (row->kind == ROW_HOLE) {
		put_hole(row, out);
		return;
	}
	if (row->kind == ROW_END) {
		put_end(row, out);
		return;
	}
	put_place(l, row, row->level + 1, out);
	if (row->member->kind == MEMBER_BASE)
		text_add(out, "base ");
	if (row->opens)
		put_opening(l, row->member->type, out);
	else
		put_name(l, row->member, out);
}

enum { NAME, KIND, TYPE, OFFSET, SIZE, BIT, BITS };
static const struct column member_columns[] = {
	[NAME] = {"name", COLUMN_TEXT, .says = "of the member, or null"},
	[KIND] = {"kind", COLUMN_TEXT, .says = "`member`, `base`, `virtual base` or `vtable`"},
	[TYPE] = {"type", COLUMN_TEXT, .says = "as it is declared"},
	[OFFSET] = {"offset", COLUMN_INTEGER, UNIT_BYTES,
		.says = "in what was asked for; null of virtual bases, which lie elsewhere in each "
			"class"},
	[SIZE] = {"size", COLUMN_INTEGER, UNIT_BYTES, .says = "of its type"},
	[BIT] = {"bit", COLUMN_INTEGER, .optional = true,
		.says = "of bit fields: the first one, in the byte at `offset`"},
	[BITS] = {"bits", COLUMN_INTEGER, UNIT_COUNT, .optional = true,
		.says = "of bit fields: how many"},
	COLUMNS_END};

static void member_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	static const char *const kinds[] = {[MEMBER_PLAIN] = "member",
		[MEMBER_BASE] = "base",
		[MEMBER_VIRTUAL_BASE] = "virtual base",
		[MEMBER_VTABLE] = "vtable"};
	const struct layout *l = context;
	const struct type_member *member = l->rows.data[row].member;
	const uint64_t numbers[] = {[OFFSET] = l->rows.data[row].base + member->bits / 8,
		[SIZE] = types_get(l->types, member->type)->size,
		[BIT] = member->bits % 8,
		[BITS] = member->bit_size};
	if (column == TYPE) {
		types_declare(l->types, member->type, "", &ret->built);
		cell_take_any(ret);
	} else if (column < TYPE) {
		ret->text = column == NAME ? member->name : kinds[member->kind];
	} else {
		ret->number = numbers[column];
	}
	if (column >= BIT && !member->bit_size)
		ret->state = CELL_ABSENT;
	else if (column == OFFSET && member->kind == MEMBER_VIRTUAL_BASE)
		ret->state = CELL_UNKNOWN;
}

static unsigned member_level(const void *context, size_t row, bool *ret_opens)
{
	const struct layout *l = context;
	*ret_opens = l->rows.data[row].opens;
	return l->rows.data[row].level;
}

static const struct table_type member_type = {.name = "members",
	.says = "in their order; of an enumeration there are `values`",
	.columns = member_columns,
	.cell = member_cell,
	.row_text = member_text,
	.level = member_level,
	.below = "members"};

static const struct column value_columns[] = {WORD_OF(type_member, name, "of the value"),
	{"value", COLUMN_SIGNED, .says = "as a number, signed if the type is",
		COLUMN_OF(type_member, bits)},
	COLUMNS_END};
static const struct column unsigned_columns[] = {WORD_OF(type_member, name, "of the value"),
	NUMBER_AS("value", type_member, bits, "as a number"), COLUMNS_END};

#define VALUE_TYPE(of)                                                                             \
	{                                                                                          \
		.name = "values", .says = "of an enumeration", .columns = of,                      \
		.row_bytes = sizeof(struct type_member)                                            \
	}
static const struct table_type value_type = VALUE_TYPE(value_columns);
static const struct table_type unsigned_type = VALUE_TYPE(unsigned_columns);

/* Of an enumeration, a typedef of a number… */
static void put_small(const struct layout *l, const struct type *type, struct text *out)
{
	types_declare(l->types, l->number, "", out);
	if (type->kind == TYPE_ENUM) {
		text_add(out, " {");
		for (uint32_t i = 0; i < type->member_count; i++) {
			text_printf(out, "%s%s = ", i ? ", " : "",
				type->members[i].name ? type->members[i].name : "?");
			text_printf(out, type->encoding == TYPE_SIGNED ? "%" PRId64 : "%" PRIu64,
				type->members[i].bits);
		}
		text_add_char(out, '}');
	}
	text_printf(
		out, "  /* %" PRIu64 " %s */\n", type->size, type->size == 1 ? "byte" : "bytes");
}

static void type_text(const void *context, size_t row, struct text *out)
{
	const struct layout *l = context;
	const struct type *type = types_get(l->types, l->number);
	(void)row;
	if (!type_has_members(type)) {
		put_small(l, type, out);
		return;
	}
	text_printf(out, "/* offset      |    size */  %s ", class_word(type));
	text_add_shown(out, type->name ? type->name : "{…}", 1000);
	text_add(out, " {\n");
}

static const struct column type_columns[] = {{"type", COLUMN_TEXT, .says = "its name, or null"},
	{"declared", COLUMN_TEXT, .says = "as it is declared"},
	{"size", COLUMN_INTEGER, UNIT_BYTES, .says = "of it"}, COLUMNS_END};

static void type_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct layout *l = context;
	const struct type *type = types_get(l->types, l->number);
	(void)row;
	ret->number = type->size;
	ret->text = type->name;
	if (column == 1) {
		types_declare(l->types, l->number, "", &ret->built);
		cell_take_any(ret);
	}
}

static const struct table_type type_type = {
	.columns = type_columns, .cell = type_cell, .row_text = type_text};

const struct answer_type heap_layout_type = {
	HEAP_ANSWER("layout", " layout TYPE", "the members of a type, with offsets and sizes"),
	.tables = (const struct table_type *const[]){&type_type, &member_type, &value_type,
		&heap_partial_type, NULL},
	.main = &member_type};

struct error *heap_layout_answer(struct types *types, uint32_t type,
	const struct address_space *space, struct answer *answer)
{
	struct text *prose = answer_prose(answer);
	struct layout l = {
		.types = types, .number = types_plain(types, type), .is_brief = prose != NULL};
	const struct type *of = types_get(types, l.number);
	bool is_enum = of->kind == TYPE_ENUM;
	const struct table values = {of->encoding == TYPE_SIGNED ? &value_type : &unsigned_type,
		of->members, of->member_count, .limit = TABLE_NO_LIMIT};
	struct answer_type document = heap_layout_type;
	document.main = is_enum ? values.type : &member_type;
	if (type_has_members(of))
		add_type(&l, l.number, 0, 0, NULL);
	const struct table members = {&member_type, &l, l.rows.len, .limit = TABLE_NO_LIMIT};
	answer_begin(answer, &document);
	answer_record_of(answer, &type_type, &l);
	answer_table(answer, is_enum ? &values : &members);
	heap_memory_head_answer(answer, space, l.closed ? "layout-rows" : NULL);
	if (prose && l.closed)
		text_printf(prose,
			"Partial: after 20,000 rows a structure is one row without its members, "
			"as %u here are (layout of their types shows these).\n",
			l.closed);
	layout_rows_deinit(&l.rows);
	return l.no_memory || types_failed(types) ? error_no_memory() : answer_end(answer);
}
