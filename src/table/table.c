/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "table/table.h"

#include <string.h>

void cell_init(struct cell *cell)
{
	*cell = (struct cell){.state = CELL_KNOWN};
	text_init(&cell->built);
}

void cell_deinit(struct cell *cell)
{
	text_deinit(&cell->built);
}

static uint64_t number_at(const void *at, size_t bytes)
{
	uint64_t number = 0;         /* the lowest bytes come first: x86-64 */
	if (bytes == sizeof(number)) /* most are, and a copy of known size is no call */
		memcpy(&number, at, sizeof(number));
	else
		memcpy(&number, at, bytes < sizeof(number) ? bytes : sizeof(number));
	return number;
}

void table_member(const struct column *column, const void *row, struct cell *ret)
{
	const char *at = (const char *)row + column->offset;
	switch (column->type) {
	case COLUMN_INTEGER:
	case COLUMN_ADDRESS:
		ret->number = number_at(at, column->bytes);
		if (column->zero_unknown && !ret->number)
			ret->state = CELL_UNKNOWN;
		break;
	case COLUMN_SIGNED:
		ret->signed_number = (int64_t)number_at(at, sizeof(int64_t));
		break;
	case COLUMN_REAL:
		memcpy(&ret->real, at, sizeof(ret->real));
		break;
	case COLUMN_BOOLEAN:
		ret->truth = *at != 0;
		break;
	default:
		memcpy(&ret->text, at, sizeof(ret->text));
	}
}

void table_cell(const struct table *table, size_t row, unsigned column, struct cell *ret)
{
	memset(ret, 0, offsetof(struct cell, nested)); /* CELL_KNOWN is 0 */
	if (ret->built.len || ret->built.failed)
		text_clear(&ret->built);
	if (table->type->cell)
		table->type->cell(table->context, row, column, ret);
	else
		table_member(&table->type->columns[column],
			(const char *)table->context + row * table->type->row_bytes, ret);
	bool is_text = table->type->columns[column].type == COLUMN_TEXT;
	if (is_text && ret->state == CELL_KNOWN && !ret->text)
		ret->state = CELL_UNKNOWN;
}

void cell_take_built(struct cell *cell)
{
	cell->text = cell->built.data ? cell->built.data : "";
}

void cell_take_any(struct cell *cell)
{
	cell->text = cell->built.len ? cell->built.data : NULL;
}
