/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers for people: columns side by side under a heading, sentences between them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "table/answer.h"

#define PIECE_BYTES ((size_t)64 << 10)
#define TEXT_SHOWN 200u

struct text_form {
	struct answer answer;
	const struct sink *sink;
	struct text out;
	struct text one; /* a cell, before its spaces */
	struct cell cell;
	bool has_written, no_memory;
};

static void text_form_flush(struct text_form *form)
{
	if (form->out.len && !form->answer.stopped &&
		!form->sink->write(form->sink->ctx, form->out.data, form->out.len))
		form->answer.stopped = true;
	form->has_written |= form->out.len != 0;
	form->no_memory |= form->out.failed;
	text_clear(&form->out);
}

static bool text_form_is_shown(const struct table *table, unsigned column)
{
	return table->type->columns[column].title && !(table->hidden >> column & 1);
}

static bool has_columns(const struct table_type *type)
{
	for (unsigned i = 0; type->columns[i].name; i++) {
		if (type->columns[i].title)
			return !type->row_text;
	}
	return false;
}

/* How many places of a terminal a text takes: characters, of UTF-8. */
static int text_form_width_of(const struct text *text)
{
	int width = 0;
	for (size_t i = 0; i < text->len; i++)
		width += ((unsigned char)text->data[i] & 0xc0) != 0x80;
	return width;
}

static void add_padded(struct text *out, const struct column *column, const struct text *one)
{
	int room = abs(column->width) - text_form_width_of(one);
	text_printf(out, "%*s", (int)column->gap, "");
	if (column->width > 0 && room > 0)
		text_printf(out, "%*s", room, "");
	text_add(out, one->data ? one->data : "");
	if (column->width < 0 && room > 0)
		text_printf(out, "%*s", room, "");
}

static void end_line(struct text *out)
{
	while (out->len && out->data[out->len - 1] == ' ')
		out->len--;
	text_add_char(out, '\n');
}

static void add_number(struct text *out, const struct column *column, uint64_t number)
{
	if (column->type == COLUMN_ADDRESS)
		text_printf(out, column->plain ? "0x%" PRIx64 : "0x%012" PRIx64, number);
	else if (column->plain)
		text_printf(out, "%" PRIu64, number);
	else if (column->unit == UNIT_BYTES)
		text_add_bytes(out, number);
	else if (column->unit == UNIT_NS)
		text_add_duration_ns(out, number);
	else
		text_add_count(out, number);
}

static void text_form_add_value(
	struct text *out, const struct column *column, const struct cell *cell)
{
	int64_t change = cell->signed_number;
	switch (column->type) {
	case COLUMN_INTEGER:
	case COLUMN_ADDRESS:
		add_number(out, column, cell->number);
		break;
	case COLUMN_SIGNED:
		text_add(out, change > 0 ? "+" : change < 0 ? "-" : "±");
		add_number(out, column, change < 0 ? -(uint64_t)change : (uint64_t)change);
		break;
	case COLUMN_REAL:
		text_printf(out, column->unit == UNIT_PERCENT ? "%.1f%%" : "%g", cell->real);
		break;
	case COLUMN_BOOLEAN:
		text_add(out, cell->truth ? "yes" : "no");
		break;
	case COLUMN_TEXT:
		text_add_shown(out, cell->text, column->most ? column->most : TEXT_SHOWN);
		break;
	default: /* what is nested has a `show` */
		break;
	}
}

static void text_form_add_cell(
	struct text_form *form, const struct table *table, size_t row, unsigned number)
{
	const struct column *column = &table->type->columns[number];
	table_cell(table, row, number, &form->cell);
	text_clear(&form->one);
	if (form->cell.state == CELL_UNKNOWN)
		text_add(&form->one, column->unknown ? column->unknown : "?");
	else if (form->cell.state == CELL_KNOWN && column->show)
		column->show(table->context, row, &form->cell, &form->one);
	else if (form->cell.state == CELL_KNOWN)
		text_form_add_value(&form->one, column, &form->cell);
	form->no_memory |= form->one.failed || form->cell.built.failed;
	add_padded(&form->out, column, &form->one);
}

static void text_begin(struct answer *answer, const struct answer_type *type)
{
	(void)answer, (void)type;
}

static void text_table_begin(struct answer *answer, const struct table *table)
{
	struct text_form *form = (struct text_form *)answer;
	const struct table_type *type = table->type;
	if (!table->limit || (!table->count && type->title))
		return;
	if (type->title && (form->out.len || form->has_written))
		text_add_char(&form->out, '\n');
	if (type->title) {
		text_add(&form->out, type->title);
		text_add_char(&form->out, '\n');
	}
	if (!has_columns(type))
		return;
	for (unsigned i = 0; type->columns[i].name; i++) {
		if (!text_form_is_shown(table, i))
			continue;
		text_clear(&form->one);
		text_add(&form->one, type->columns[i].title);
		add_padded(&form->out, &type->columns[i], &form->one);
	}
	end_line(&form->out);
}

static void text_row(struct answer *answer, const struct table *table, size_t row)
{
	struct text_form *form = (struct text_form *)answer;
	if (table->type->row_text) {
		table->type->row_text(table->context, row, &form->out);
	} else if (has_columns(table->type)) {
		for (unsigned i = 0; table->type->columns[i].name; i++) {
			if (text_form_is_shown(table, i))
				text_form_add_cell(form, table, row, i);
		}
		end_line(&form->out);
	}
	if (form->out.len >= PIECE_BYTES)
		text_form_flush(form);
}

static void text_table_end(struct answer *answer, const struct table *table)
{
	struct text_form *form = (struct text_form *)answer;
	size_t more = table->count - table_shown(table);
	if (!more || !table->limit || !table->type->many)
		return;
	text_add(&form->out, "… and ");
	text_add_count(&form->out, more);
	text_printf(&form->out, " more %s (--limit)\n",
		more == 1 ? table->type->one : table->type->many);
}

static void text_record(struct answer *answer, const struct table *record)
{
	struct text_form *form = (struct text_form *)answer;
	if (record->type->row_text)
		record->type->row_text(record->context, 0, &form->out);
}

static struct text *text_prose(struct answer *answer)
{
	return &((struct text_form *)answer)->out;
}

static struct error *text_end(struct answer *answer)
{
	struct text_form *form = (struct text_form *)answer;
	if (form->no_memory || form->out.failed || form->one.failed)
		return error_no_memory();
	text_form_flush(form);
	return NULL;
}

static void text_destroy(struct answer *answer)
{
	struct text_form *form = (struct text_form *)answer;
	text_deinit(&form->out);
	text_deinit(&form->one);
	cell_deinit(&form->cell);
	free(form);
}

static const struct answer_form text_form = {.is_brief = true,
	.begin = text_begin,
	.table_begin = text_table_begin,
	.row = text_row,
	.table_end = text_table_end,
	.record = text_record,
	.prose = text_prose,
	.end = text_end,
	.destroy = text_destroy};

struct answer *answer_text_create(const struct sink *sink)
{
	struct text_form *form = malloc(sizeof(*form));
	if (!form)
		return NULL;
	*form = (struct text_form){.answer = {.form = &text_form}, .sink = sink};
	text_init(&form->out);
	text_init(&form->one);
	cell_init(&form->cell);
	return &form->answer;
}
