/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 *	ADDRESS         next            name            number
 *	0x55d4c8a012a0  0x55d4c8a01260  "n000001"       1
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "views/heap_show_parts.h"

#define CELL_ELEMENTS 8u
#define ROWS_SHOWN 40u

/* The members of a row of the table: where each begins, and what it is called. */
struct column {
	char *name;
	uint32_t type;
	uint64_t bits;
	uint32_t bit_size;
	size_t width;
};
DEFINE_VEC(columns, struct column)
#define COLUMNS_MOST 12u

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
		if (member->kind == MEMBER_VIRTUAL_BASE)
			continue;
		_cleanup_(text_deinit) struct text name;
		text_init(&name);
		text_add(&name, prefix);
		if (member->name && member->kind != MEMBER_BASE)
			text_printf(&name, "%s%s", *prefix ? "." : "", member->name);
		if (name.failed)
			return false;
		uint32_t content = types_content(s->values.types, inner);
		inner = content == TYPE_VOID ? inner : content;
		if (type_has_members(types_get(s->values.types, inner)) &&
			!heap_values_is_text(&s->values, inner) && level < 4) {
			if (!find_columns(s, inner, bits + member->bits, name.data ? name.data : "",
				    level + 1, ret))
				return false;
			continue;
		}
		struct column column = {
			text_steal(&name), inner, bits + member->bits, member->bit_size, 0};
		if (!column.name || !columns_push(ret, column)) {
			free(column.name);
			return false;
		}
	}
	return true;
}

static struct error *put_row(struct show *s, uint32_t block, const struct heap_layout *layout,
	const struct columns *columns)
{
	_cleanup_free_ uint8_t *bytes = heap_show_read(s, block, layout);
	if (!bytes)
		return error_no_memory();
	text_printf(s->out, "0x%012" PRIx64, search_block_address(s->page->survey->search, block));
	for (size_t i = 0; i < columns->len; i++) {
		const struct column *column = &columns->data[i];
		_cleanup_(text_deinit) struct text cell;
		text_init(&cell);
		heap_values_add(&s->values, column->type, column->bits, column->bit_size, &cell);
		text_printf(s->out, "  %-*s", (int)column->width, cell.data ? cell.data : "");
	}
	while (s->out->len && s->out->data[s->out->len - 1] == ' ')
		s->out->data[--s->out->len] = '\0';
	text_add_char(s->out, '\n');
	return s->values.error;
}

static size_t width_of(const struct show *s, const struct column *column)
{
	const struct type *type =
		types_get(s->values.types, types_plain(s->values.types, column->type));
	size_t least = type->kind == TYPE_POINTER ? 14 : type->size >= 8 ? 12 : 6;
	size_t name = strlen(column->name);
	return name > least ? name : least;
}

struct error *heap_show_table(struct show *show, uint32_t type, const struct heap_layout *layout)
{
	struct show *s = show;
	const struct survey *survey = s->page->survey;
	_cleanup_(columns_free) struct columns columns;
	columns_init(&columns);
	if (!find_columns(s, types_plain(s->values.types, layout->type), 0, "", 0, &columns))
		return error_no_memory();
	text_printf(s->out, "%-14s", "ADDRESS");
	for (size_t i = 0; i < columns.len; i++) {
		columns.data[i].width = width_of(s, &columns.data[i]);
		text_printf(s->out, "  %-*s", (int)columns.data[i].width, columns.data[i].name);
	}
	text_add_char(s->out, '\n');
	s->values.is_short = true;
	s->values.elements = CELL_ELEMENTS;
	size_t most = s->page->limit == VIEW_DEFAULT_LIMIT ? ROWS_SHOWN : s->page->limit, shown = 0;
	uint32_t count = search_block_count(survey->search);
	uint64_t all = survey->types.types.data[type].blocks;
	for (uint32_t block = 0; block < count && shown < most; block++) {
		if (survey_type_of(survey, block) != type)
			continue;
		struct error *error = put_row(s, block, layout, &columns);
		if (error)
			return error;
		shown++;
	}
	if (all > shown)
		text_printf(s->out, "… and %" PRIu64 " more blocks (--limit)\n", all - shown);
	return NULL;
}
