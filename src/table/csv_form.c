/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The main table of an answer as comma-separated values (RFC 4180, with newlines alone): a heading
 * with the columns' names, a line a row. A record in a row has columns of its own, "outer.inner";
 * one in another record has one cell if a text stands for it, as for frames. Of a table or a list
 * in a row there are the first values, from the first row on, with ';' between them: of each row
 * the first text that is known, of rows without texts their first column. In texts '\' stands
 * before ';' and '\'.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "table/answer.h"

#define PIECE_BYTES ((size_t)64 << 10)

struct csv_form {
	struct answer answer;
	const struct sink *sink;
	struct csv_part part;
	struct text out;
	bool no_memory;
};

static void csv_form_flush(struct csv_form *form)
{
	form->no_memory |= form->out.failed;
	if (form->out.len && !form->answer.stopped &&
		!form->sink->write(form->sink->ctx, form->out.data, form->out.len))
		form->answer.stopped = true;
	text_clear(&form->out);
}

/* Whether a record has columns of its own: in another record only if no text stands for it. */
static bool csv_form_is_open(const struct column *column, const char *before)
{
	bool is_record = column->type == COLUMN_RECORD;
	return is_record && (!*before || !*column->name || !column->nested->gist);
}

static void csv_form_add_names(struct csv_form *form, const struct table_type *type,
	const char *before, const char **comma)
{
	for (const struct column *column = type->columns; column->name; column++) {
		struct text name;
		if (!column_is_for_programs(column))
			continue;
		text_init(&name);
		text_printf(
			&name, "%s%s%s", before, *before && *column->name ? "." : "", column->name);
		if (column == type->columns && table_is_of_values(type))
			text_add(&name, type->name);
		if (csv_form_is_open(column, before)) {
			csv_form_add_names(form, column->nested, name.data ? name.data : "", comma);
		} else {
			text_printf(&form->out, "%s%s", *comma, name.data ? name.data : "");
			*comma = ",";
		}
		form->no_memory |= name.failed;
		text_deinit(&name);
	}
}

static void csv_form_add_plain(
	struct text *out, const struct column *column, const struct cell *cell)
{
	switch (column->type) {
	case COLUMN_INTEGER:
		text_printf(out, "%" PRIu64, cell->number);
		break;
	case COLUMN_SIGNED:
		text_printf(out, "%" PRId64, cell->signed_number);
		break;
	case COLUMN_REAL:
		text_printf(out, "%.17g", cell->real);
		break;
	case COLUMN_BOOLEAN:
		text_add(out, cell->truth ? "true" : "false");
		break;
	case COLUMN_ADDRESS:
		text_printf(out, "0x%" PRIx64, cell->number);
		break;
	case COLUMN_TEXT:
		text_add(out, cell->text);
		break;
	default: /* what is nested in a list has no place */
		break;
	}
}

/* In a cell of several ';' is between them. */
static void csv_form_add_part(struct text *out, const char *text)
{
	for (; *text; text++) {
		if (*text == ';' || *text == '\\')
			text_add_char(out, '\\');
		text_add_char(out, *text);
	}
}

/* Of a row of what is nested. */
static void add_first(struct text *out, const struct table *nested, size_t row, struct cell *cell)
{
	const struct column *columns = nested->type->columns;
	bool has_texts = false;
	if (nested->type->gist) {
		struct text gist;
		text_init(&gist);
		nested->type->gist(nested->context, row, &gist);
		csv_form_add_part(out, gist.data ? gist.data : "");
		out->failed |= gist.failed;
		text_deinit(&gist);
		return;
	}
	for (unsigned i = 0; columns[i].name; i++) {
		if (columns[i].type != COLUMN_TEXT)
			continue;
		has_texts = true;
		table_cell(nested, row, i, cell);
		if (cell->state != CELL_KNOWN)
			continue;
		csv_form_add_part(out, cell->text);
		return;
	}
	if (has_texts)
		return;
	table_cell(nested, row, 0, cell);
	if (cell->state == CELL_KNOWN)
		csv_form_add_plain(out, &columns[0], cell);
}

static bool list_of_numbers(const struct table_type *type)
{
	enum column_type kind = type->columns[0].type;
	return !type->columns[1].name &&
	       (kind == COLUMN_INTEGER || kind == COLUMN_SIGNED || kind == COLUMN_REAL);
}

/* Of all rows; of a record, of the one that it is. */
static void add_firsts(
	struct csv_form *form, const struct column *column, const struct cell *nesting)
{
	const struct table *nested = &nesting->nested;
	bool is_record = column->type == COLUMN_RECORD;
	struct text texts;
	struct cell cell;
	text_init(&texts);
	cell_init(&cell);
	for (size_t i = 0; i < (is_record ? 1 : table_shown(nested)); i++) {
		text_add(&texts, i ? ";" : "");
		add_first(&texts, nested, is_record ? nesting->row : table_row(nested, i), &cell);
	}
	/* Numbers are no formulas. */
	if (list_of_numbers(nested->type))
		text_add(&form->out, texts.data ? texts.data : "");
	else
		text_add_csv(&form->out, texts.data ? texts.data : "");
	form->no_memory |= texts.failed || cell.built.failed;
	text_deinit(&texts);
	cell_deinit(&cell);
}

static void csv_form_add_value(
	struct csv_form *form, const struct column *column, const struct cell *cell)
{
	if (cell->state != CELL_KNOWN)
		return;
	if (column->type == COLUMN_TEXT)
		text_add_csv(&form->out, cell->text);
	else if (column->nested)
		add_firsts(form, column, cell);
	else
		csv_form_add_plain(&form->out, column, cell);
}

/* row SIZE_MAX: the record that they are of is not known, all are empty. */
static void csv_form_add_cells(struct csv_form *form, const struct table *table, size_t row,
	const char *before, const char **comma)
{
	struct cell cell;
	cell_init(&cell);
	for (unsigned i = 0; table->type->columns[i].name; i++) {
		const struct column *column = &table->type->columns[i];
		if (!column_is_for_programs(column))
			continue;
		if (row == SIZE_MAX)
			cell.state = CELL_UNKNOWN;
		else
			table_cell(table, row, i, &cell);
		if (csv_form_is_open(column, before)) {
			struct table nested = cell.nested;
			nested.type = column->nested;
			csv_form_add_cells(form, &nested,
				cell.state == CELL_KNOWN ? cell.row : SIZE_MAX,
				*column->name ? column->name : before, comma);
			continue;
		}
		text_add(&form->out, *comma);
		*comma = ",";
		csv_form_add_value(form, column, &cell);
		form->no_memory |= cell.built.failed;
	}
	cell_deinit(&cell);
}

static void csv_begin(struct answer *answer, const struct answer_type *type)
{
	(void)answer, (void)type;
}

static void csv_table_begin(struct answer *answer, const struct table *table)
{
	struct csv_form *form = (struct csv_form *)answer;
	const struct csv_part *part = &form->part;
	const char *comma = "";
	if (table->type != answer->type->main || (part->has_heading && *part->has_heading))
		return;
	if (part->column) {
		text_add(&form->out, part->column);
		comma = ",";
	}
	if (table->type->depth) {
		text_printf(&form->out, "%s%s", comma, table->type->depth);
		comma = ",";
	}
	csv_form_add_names(form, table->type, "", &comma);
	text_add_char(&form->out, '\n');
	if (part->has_heading)
		*part->has_heading = true;
}

static void csv_row(struct answer *answer, const struct table *table, size_t row)
{
	struct csv_form *form = (struct csv_form *)answer;
	const char *comma = "";
	if (table->type != answer->type->main)
		return;
	if (form->part.column) {
		text_add_csv(&form->out, form->part.value);
		comma = ",";
	}
	if (table->type->depth) {
		bool opens;
		unsigned depth = table->type->level(table->context, row, &opens);
		text_printf(&form->out, "%s%u", comma, depth);
		comma = ",";
	}
	csv_form_add_cells(form, table, row, "", &comma);
	text_add_char(&form->out, '\n');
	if (form->out.len >= PIECE_BYTES)
		csv_form_flush(form);
}

/* An answer may be a record, of one row. */
static void csv_record(struct answer *answer, const struct table *record)
{
	csv_table_begin(answer, record);
	if (record->count)
		csv_row(answer, record, 0);
}

static void csv_nothing(struct answer *answer, const struct table *table)
{
	(void)answer, (void)table;
}

static struct error *csv_end(struct answer *answer)
{
	struct csv_form *form = (struct csv_form *)answer;
	if (form->out.failed || form->no_memory)
		return error_no_memory();
	csv_form_flush(form);
	return NULL;
}

static void csv_destroy(struct answer *answer)
{
	struct csv_form *form = (struct csv_form *)answer;
	text_deinit(&form->out);
	free(form);
}

static const struct answer_form csv_form = {.begin = csv_begin,
	.table_begin = csv_table_begin,
	.row = csv_row,
	.table_end = csv_nothing,
	.record = csv_record,
	.end = csv_end,
	.destroy = csv_destroy};

struct answer *answer_csv_create(const struct sink *sink)
{
	return answer_csv_part_create(sink, &(struct csv_part){.column = NULL});
}

struct answer *answer_csv_part_create(const struct sink *sink, const struct csv_part *part)
{
	struct csv_form *form = malloc(sizeof(*form));
	if (!form)
		return NULL;
	*form = (struct csv_form){.answer = {.form = &csv_form}, .sink = sink, .part = *part};
	text_init(&form->out);
	return &form->answer;
}
