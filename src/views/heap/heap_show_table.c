/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 *	ADDRESS         next            name            number
 *	0x55d4c8a012a0  0x55d4c8a01260  "n000001"       1
 *
 * Of a class from which others derive their objects are rows, too, with a column that says what
 * each is; how that is known is one where some only look like it.
 */
#include <inttypes.h>
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
#define BASIS_WIDTH strlen("look-alike")

/* The members of a row of the table: where each begins, and what it is called. */
struct shown_column {
	char *name;
	uint32_t type;
	uint64_t bits;
	uint32_t bit_size;
	size_t width;
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
			text_steal(&name), inner, bits + member->bits, member->bit_size, 0};
		if (!column.name || !columns_push(ret, column)) {
			free(column.name);
			return false;
		}
	}
	return true;
}

/* What rows have before the members' values. */
struct shown_table {
	const struct kin_set *types;
	const struct heap_layout *layout;
	struct columns columns;
	/* Those of a row's own type, where that has virtual bases elsewhere than others. */
	struct columns own;
	uint32_t own_type;
	size_t type_width; /* 0: all are of one type */
	bool has_basis;    /* some only look like it */
};

/* Places on the terminal that text takes there: bytes of UTF-8 that go on have none. */
static size_t places_of(const struct text *text)
{
	size_t places = 0;
	for (size_t i = 0; i < text->len; i++)
		places += ((unsigned char)text->data[i] & 0xc0) != 0x80;
	return places;
}

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
	text_init(&shown);
	add_type_name(&shown, name);
	return places_of(&shown);
}

static void put_cell(struct text *out, const char *cell, size_t width)
{
	_cleanup_(text_deinit) struct text shown;
	text_init(&shown);
	add_type_name(&shown, cell);
	size_t places = places_of(&shown);
	text_printf(out, "  %s%*s", shown.data ? shown.data : "",
		places < width ? (int)(width - places) : 0, "");
	out->failed |= shown.failed;
}

static void end_row(struct text *out)
{
	while (out->len && out->data[out->len - 1] == ' ')
		out->data[--out->len] = '\0';
	text_add_char(out, '\n');
}

/* Of a string's block. */
static void put_text(struct show *s, const struct heap_layout *layout)
{
	size_t at = layout->header < s->values.len ? (size_t)layout->header : s->values.len;
	const char *bytes = (const char *)s->values.bytes + at;
	size_t len = strnlen(bytes, s->values.len - at);
	if (layout->unit > 1) {
		text_add(s->out, "  ");
		heap_show_add_wide(&s->values, layout, s->out);
		return;
	}
	_cleanup_(text_deinit) struct text cell;
	text_init(&cell);
	text_add_n(&cell, bytes, len < TEXT_SHOWN ? len : TEXT_SHOWN);
	text_add(s->out, "  \"");
	text_add_shown(s->out, cell.data ? cell.data : "", TEXT_SHOWN);
	text_add(s->out, len > TEXT_SHOWN ? "…\"" : "\"");
	s->out->failed |= cell.failed;
}

/* Of an array: elements, of which the first one is shown. */
static void put_count(struct show *s, uint32_t block)
{
	struct heap_layout layout;
	bool known = heap_layout_of(s->page->survey, block, &layout);
	text_printf(s->out, "  %*" PRIu64, COUNT_WIDTH, known ? layout.count : 0);
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

static bool find_own(const struct show *s, const struct kin *kin, struct shown_table *table)
{
	struct heap_layout own = heap_show_layout(s, kin, table->layout);
	if (own.type == table->own_type)
		return true;
	columns_free(&table->own);
	table->own_type = own.type;
	return heap_show_is_string(&own) || own.type == table->layout->type ||
	       find_columns(s, types_plain(s->values.types, own.type), 8 * own.header, "", 0,
		       &table->own);
}

static struct error *put_row(
	struct show *s, uint32_t block, const struct kin *kin, struct shown_table *table)
{
	if (!find_own(s, kin, table))
		return error_no_memory();
	const struct survey *survey = s->page->survey;
	_cleanup_free_ uint8_t *bytes = heap_show_read(s, block, table->layout, kin->offset);
	if (!bytes)
		return error_no_memory();
	text_printf(s->out, "0x%012" PRIx64, search_block_address(survey->search, block));
	if (table->type_width)
		put_cell(s->out, survey->types.types.data[kin->type].name, table->type_width);
	const char *basis = inferred_basis_name(survey, block);
	if (table->has_basis)
		put_cell(s->out, basis ? basis : "", BASIS_WIDTH);
	if (heap_show_is_string(table->layout))
		put_text(s, table->layout);
	else if (table->layout->is_array)
		put_count(s, block);
	for (size_t i = 0; i < table->columns.len; i++) {
		const struct shown_column *column = &table->columns.data[i];
		const struct shown_column *own = own_column(table, column);
		_cleanup_(text_deinit) struct text cell;
		text_init(&cell);
		heap_values_add(&s->values, own->type, own->bits, own->bit_size, &cell);
		text_printf(s->out, "  %-*s", (int)column->width, cell.data ? cell.data : "");
	}
	end_row(s->out);
	return s->values.error;
}

static size_t width_of(const struct show *s, const struct shown_column *column)
{
	const struct type *type =
		types_get(s->values.types, types_plain(s->values.types, column->type));
	size_t least = type->kind == TYPE_POINTER ? 14 : type->size >= 8 ? 12 : 6;
	size_t name = strlen(column->name);
	return name > least ? name : least;
}

static void put_head(struct show *s, struct shown_table *table)
{
	text_printf(s->out, "%-14s", "ADDRESS");
	if (table->type_width)
		put_cell(s->out, "TYPE", table->type_width);
	if (table->has_basis)
		put_cell(s->out, "BY", BASIS_WIDTH);
	if (heap_show_is_string(table->layout))
		text_add(s->out, "  TEXT");
	else if (table->layout->is_array)
		text_printf(s->out, "  %*s", COUNT_WIDTH, "COUNT");
	for (size_t i = 0; i < table->columns.len; i++) {
		struct shown_column *column = &table->columns.data[i];
		column->width = width_of(s, column);
		text_printf(s->out, "  %-*s", (int)column->width, column->name);
	}
	text_add_char(s->out, '\n');
}

/* Which of these types there are, if there are several. */
static void learn_types(struct show *s, struct shown_table *table)
{
	const struct heap_types *all = &s->page->survey->types;
	for (size_t i = 0; i < table->types->kin.len; i++) {
		const struct heap_type *type = &all->types.data[table->types->kin.data[i].type];
		size_t width = max(width_of_name(type->name), strlen("TYPE"));
		table->has_basis |= type->alike > 0;
		if (heap_kin_has_derived(table->types) && table->type_width < width)
			table->type_width = width;
	}
	if (!table->type_width)
		return;
	uint64_t blocks = heap_kin_blocks(s->page->survey, table->types);
	text_printf(s->out, "%" PRIu64 " block%s: ", blocks, blocks == 1 ? "" : "s");
	heap_kin_describe(s->page->survey, table->types, s->out);
	text_add_char(s->out, '\n');
}

static struct error *put_table(struct show *s, struct shown_table *table)
{
	const struct survey *survey = s->page->survey;
	learn_types(s, table);
	put_head(s, table);
	s->values.is_short = true;
	s->values.elements = CELL_ELEMENTS;
	s->values.most = CELL_BYTES;
	size_t most = s->page->limit == VIEW_DEFAULT_LIMIT ? ROWS_SHOWN : s->page->limit, shown = 0;
	uint32_t count = search_block_count(survey->search);
	uint64_t all = heap_kin_blocks(survey, table->types);
	struct error *error = NULL;
	for (uint32_t block = 0; block < count && shown < most && !error; block++) {
		const struct kin *kin = heap_kin_of(survey, table->types, block);
		if (!kin)
			continue;
		error = put_row(s, block, kin, table);
		shown++;
	}
	if (all > shown)
		text_printf(s->out, "… and %" PRIu64 " more blocks (--limit)\n", all - shown);
	return error;
}

struct error *heap_show_table(
	struct show *show, const struct kin_set *types, const struct heap_layout *layout)
{
	struct shown_table table = {.types = types, .layout = layout, .own_type = layout->type};
	uint32_t plain = types_plain(show->values.types, layout->type);
	bool ok = heap_show_is_string(layout) ||
		  find_columns(show, plain, 8 * layout->header, "", 0, &table.columns);
	struct error *error = ok ? put_table(show, &table) : error_no_memory();
	columns_free(&table.columns);
	columns_free(&table.own);
	return error;
}
