/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 *	ADDRESS         next            name            number
 *	0x55d4c8a012a0  0x55d4c8a01260  "n000001"       1
 *
 * Of a class from which others derive their objects are rows, too, with a column that says what
 * each is; how that is known is one where some only look like it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "heap/inferred.h"
#include "views/heap/heap_contents_view.h"
#include "views/heap/heap_show_parts.h"

#define CELL_ELEMENTS 8u
#define CELL_BYTES 40u
#define ROWS_SHOWN 40u
#define NAME_SHOWN 48u
#define TEXT_SHOWN 100u
#define NAME_MOST 200u
#define COUNT_WIDTH 8
#define BASIS_WIDTH ((int)sizeof("look-alike") - 1)

/* The members of a row of the table: where each begins, and what it is called. */
struct shown_column {
	char *name;
	uint32_t type;
	uint64_t bits;
	uint32_t bit_size;
};
DEFINE_VEC(columns, struct shown_column)
#define COLUMNS_MOST 12u
#define LEVELS_MOST 8u

static void columns_free(struct columns *columns)
{
	for (size_t i = 0; i < columns->len; i++)
		free(columns->data[i].name);
	columns_deinit(columns);
}

static bool find_columns(const struct show *s, uint32_t plain, uint64_t bits, const char *prefix,
	unsigned level, struct columns *ret)
{
	struct type type = *types_get(s->values.types, plain);
	for (uint32_t i = 0; i < type.member_count && ret->len < COLUMNS_MOST; i++) {
		const struct type_member *member = &type.members[i];
		uint32_t inner = types_plain(s->values.types, member->type);
		if (!heap_show_has(s->values.types, member))
			continue;
		_cleanup_(text_deinit) struct text name;
		text_init(&name);
		text_add(&name, prefix);
		if (member->name && member->kind != MEMBER_BASE) {
			text_add(&name, *prefix ? "." : "");
			text_add_shown(&name, member->name, NAME_MOST);
		}
		if (name.failed)
			return false;
		uint32_t content = types_content(s->values.types, inner);
		inner = content == TYPE_VOID ? inner : content;
		if (type_has_members(types_get(s->values.types, inner)) &&
			!heap_values_is_text(&s->values, inner) &&
			(s->values.raw || !contents_knows(s->values.types, inner)) &&
			level < LEVELS_MOST) {
			if (!find_columns(s, inner, bits + member->bits, name.data ? name.data : "",
				    level + 1, ret))
				return false;
			continue;
		}
		struct shown_column column = {
			text_steal(&name), inner, bits + member->bits, member->bit_size};
		if (!column.name || !columns_push(ret, column)) {
			free(column.name);
			return false;
		}
	}
	return true;
}

#define FIXED_MOST 3u
enum shown_kind { SHOWN_ADDRESS, SHOWN_TYPE, SHOWN_BASIS, SHOWN_TEXT, SHOWN_COUNT, SHOWN_MEMBER };

/* The rows are blocks by their numbers; the columns depend on what they are. */
struct shown_table {
	struct show *show;
	const struct subtype_set *types;
	const struct heap_layout *layout;
	struct columns members;
	/* Those of a row's own type, where that has virtual bases elsewhere than others. */
	struct columns own;
	uint32_t own_type;
	size_t type_width; /* 0: all are of one type */
	bool has_basis;    /* some only look like it */
	struct column columns[FIXED_MOST + COLUMNS_MOST + 1];
	enum shown_kind kinds[FIXED_MOST + COLUMNS_MOST];
	unsigned fixed, count; /* columns before members; all */
	struct table_type type;
	const struct subtypes *subtypes; /* of the row */
};

/* Behind the last `::` that is not inside of brackets. */
static const char *without_scope(const char *name)
{
	const char *last = name;
	unsigned depth = 0;
	for (const char *at = name; *at; at++) {
		depth += strchr("<({[", *at) != NULL;
		depth -= depth && strchr(">)}]", *at);
		if (!depth && at[0] == ':' && at[1] == ':')
			last = at + 2;
	}
	return last;
}

/* What is too long loses its namespaces, then its end. */
static void add_type_name(struct text *text, const char *name)
{
	const char *own = strlen(name) > NAME_SHOWN ? without_scope(name) : name;
	text_add(text, own != name ? "…" : "");
	text_add_shown(text, own, NAME_SHOWN);
}

static size_t width_of_name(const char *name)
{
	_cleanup_(text_deinit) struct text shown;
	size_t places = 0;
	text_init(&shown);
	add_type_name(&shown, name);
	for (size_t i = 0; i < shown.len; i++)
		places += ((unsigned char)shown.data[i] & 0xc0) != 0x80;
	return places;
}

static void show_type(const void *context, size_t row, const struct cell *cell, struct text *out)
{
	(void)context, (void)row;
	add_type_name(out, cell->text);
}

/* Values are fit to be shown. */
static void show_value(const void *context, size_t row, const struct cell *cell, struct text *out)
{
	(void)context, (void)row;
	text_add(out, cell->text);
}

/* Of a string's block. */
static void heap_show_table_add_text(
	struct show *s, const struct heap_layout *layout, struct text *out)
{
	size_t at = layout->header < s->values.len ? (size_t)layout->header : s->values.len;
	const char *bytes = (const char *)s->values.bytes + at;
	size_t len = strnlen(bytes, s->values.len - at);
	if (layout->unit > 1) {
		heap_show_add_wide(&s->values, layout, out);
		return;
	}
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_add_n(&text, bytes, len < TEXT_SHOWN ? len : TEXT_SHOWN);
	text_add_char(out, '"');
	text_add_shown(out, text.data ? text.data : "", TEXT_SHOWN);
	text_add(out, len > TEXT_SHOWN ? "…\"" : "\"");
	out->failed |= text.failed;
}

/* The member that rows of a kind have in a column. */
static const struct shown_column *own_column(
	const struct shown_table *table, const struct shown_column *column)
{
	for (size_t i = 0; i < table->own.len; i++) {
		if (!strcmp(table->own.data[i].name, column->name))
			return &table->own.data[i];
	}
	return column;
}

static bool find_own(
	const struct show *s, const struct subtypes *subtypes, struct shown_table *table)
{
	struct heap_layout own = heap_show_layout(s, subtypes, table->layout);
	if (own.type == table->own_type)
		return true;
	columns_free(&table->own);
	table->own_type = own.type;
	return heap_show_is_string(&own) || own.type == table->layout->type ||
	       find_columns(s, types_plain(s->values.types, own.type), 8 * own.header, "", 0,
		       &table->own);
}

static void heap_show_table_cell_of(
	const void *context, size_t block, unsigned column, struct cell *ret)
{
	const struct shown_table *table = context;
	struct show *s = table->show;
	const struct heap_scan *scan = s->page->scan;
	struct heap_layout layout;
	switch (table->kinds[column]) {
	case SHOWN_ADDRESS:
		ret->number = search_block_address(scan->search, (uint32_t)block);
		break;
	case SHOWN_TYPE:
		ret->text = scan->types.types.data[table->subtypes->type].name;
		break;
	case SHOWN_BASIS:
		ret->text = inferred_basis_name(scan, (uint32_t)block);
		ret->state = ret->text ? CELL_KNOWN : CELL_ABSENT;
		break;
	case SHOWN_TEXT:
		heap_show_table_add_text(s, table->layout, &ret->built);
		cell_take_built(ret);
		break;
	case SHOWN_COUNT: /* elements, of which the first one is shown */
		ret->number = heap_layout_of(scan, (uint32_t)block, &layout) ? layout.count : 0;
		break;
	default: {
		const struct shown_column *own =
			own_column(table, &table->members.data[column - table->fixed]);
		heap_values_add(&s->values, own->type, own->bits, own->bit_size, &ret->built);
		cell_take_built(ret);
	}
	}
}

static struct error *heap_show_table_put_row(
	struct show *s, uint32_t block, struct shown_table *shown, const struct table *table)
{
	if (!find_own(s, shown->subtypes, shown))
		return error_no_memory();
	_cleanup_free_ uint8_t *bytes =
		heap_show_read(s, block, shown->layout, shown->subtypes->offset);
	if (!bytes)
		return error_no_memory();
	answer_row(s->answer, table, block);
	return s->values.error;
}

static size_t heap_show_table_width_of(const struct show *s, const struct shown_column *column)
{
	const struct type *type =
		types_get(s->values.types, types_plain(s->values.types, column->type));
	size_t least = type->kind == TYPE_POINTER ? 14 : type->size >= 8 ? 12 : 6;
	size_t name = strlen(column->name);
	return name > least ? name : least;
}

static void add_column(struct shown_table *table, enum shown_kind kind, struct column column)
{
	column.gap = table->count ? 2 : 0;
	table->columns[table->count] = column;
	table->kinds[table->count++] = kind;
}

static void add_columns(struct show *s, struct shown_table *table)
{
	add_column(table, SHOWN_ADDRESS,
		(struct column){"address", COLUMN_ADDRESS, .title = "ADDRESS", .width = -14});
	if (table->type_width)
		add_column(table, SHOWN_TYPE,
			(struct column){"type", COLUMN_TEXT, .title = "TYPE",
				.width = -(int)table->type_width, .show = show_type});
	if (table->has_basis)
		add_column(table, SHOWN_BASIS,
			(struct column){"by", COLUMN_TEXT, .title = "BY", .width = -BASIS_WIDTH});
	if (heap_show_is_string(table->layout))
		add_column(table, SHOWN_TEXT,
			(struct column){"text", COLUMN_TEXT, .title = "TEXT", .show = show_value});
	else if (table->layout->is_array)
		add_column(table, SHOWN_COUNT,
			(struct column){"count", COLUMN_INTEGER, .title = "COUNT",
				.width = COUNT_WIDTH, .plain = true});
	table->fixed = table->count;
	for (size_t i = 0; i < table->members.len; i++) {
		struct shown_column *member = &table->members.data[i];
		add_column(table, SHOWN_MEMBER,
			(struct column){member->name, COLUMN_TEXT, .title = member->name,
				.width = -(int)heap_show_table_width_of(s, member),
				.show = show_value});
	}
	table->type = (struct table_type){.name = "blocks",
		.columns = table->columns,
		.cell = heap_show_table_cell_of,
		.one = "block",
		.many = "blocks"};
}

/* Which of these types there are, if there are several. */
static void learn_types(struct show *s, struct shown_table *table)
{
	const struct heap_types *all = &s->page->scan->types;
	for (size_t i = 0; i < table->types->subtypes.len; i++) {
		const struct heap_type *type =
			&all->types.data[table->types->subtypes.data[i].type];
		size_t width = max(width_of_name(type->name), strlen("TYPE"));
		table->has_basis |= type->alike > 0;
		if (heap_subtypes_has_derived(table->types) && table->type_width < width)
			table->type_width = width;
	}
}

static struct error *put_table(struct show *s, struct shown_table *shown)
{
	const struct heap_scan *scan = s->page->scan;
	struct text *prose = answer_prose(s->answer);
	uint64_t all = heap_subtypes_blocks(scan, shown->types);
	const struct table table = {&shown->type, shown, all,
		.limit = answer_limit(s->answer, s->page->limit, ROWS_SHOWN)};
	if (prose && shown->type_width) {
		text_add_counted(prose, all, "block: ", "blocks: ");
		heap_subtypes_describe(scan, shown->types, prose);
		text_add_char(prose, '\n');
	}
	s->values.is_short = true;
	s->values.elements = CELL_ELEMENTS;
	s->values.most = CELL_BYTES;
	uint32_t count = search_block_count(scan->search);
	size_t left = table_shown(&table);
	struct error *error = NULL;
	answer_table_begin(s->answer, &table);
	for (uint32_t block = 0; block < count && left && !error && !s->answer->stopped; block++) {
		shown->subtypes = heap_subtypes_of(scan, shown->types, block);
		if (!shown->subtypes)
			continue;
		error = heap_show_table_put_row(s, block, shown, &table);
		left--;
	}
	answer_table_end(s->answer, &table);
	return error;
}

struct error *heap_show_table(struct show *show, const struct answer_type *type,
	const struct subtype_set *types, const struct heap_layout *layout)
{
	struct shown_table table = {
		.show = show, .types = types, .layout = layout, .own_type = layout->type};
	struct answer_type document = *type;
	uint32_t plain = types_plain(show->values.types, layout->type);
	struct error *error = NULL;
	if (!heap_show_is_string(layout) &&
		!find_columns(show, plain, 8 * layout->header, "", 0, &table.members))
		error = error_no_memory();
	if (!error) {
		learn_types(show, &table);
		add_columns(show, &table);
		document.main = &table.type;
		answer_begin(show->answer, &document);
		error = put_table(show, &table);
	}
	if (!error && types_failed(show->values.types))
		error = error_no_memory();
	if (!error)
		error = answer_end(show->answer);
	columns_free(&table.members);
	columns_free(&table.own);
	return error;
}
