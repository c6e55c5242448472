/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers for programs: a document with a schema's name, tables as arrays of objects. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "table/answer.h"

/* Cells that are kept for records and tables in others, one a depth; deeper ones have their own. */
#define DEPTH_KEPT 8u

struct writer {
	struct json *json;
	bool no_memory;
	struct cell cells[DEPTH_KEPT];
};

struct json_form {
	struct answer answer;
	bool before;
	const char *within; /* the member that is open; NULL: none */
	unsigned open;      /* rows of a tree, of the table that is not nested */
	struct writer writer;
	struct json json;
};

static void json_form_put_row(
	struct writer *writer, const struct table *table, size_t row, unsigned depth);

static void put_address(struct json *json, uint64_t address)
{
	char text[2 + 16 + 1];
	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	json_string(json, text);
}

/* Ends the rows of a tree that are open until so many are left. */
static void close_rows(struct json *json, unsigned *open, unsigned left)
{
	for (; *open > left; --*open) {
		json_array_end(json);
		json_object_end(json);
	}
}

/* A row as an object; of lists its value alone. */
static void put_whole_row(struct writer *writer, const struct table *table, size_t row,
	unsigned depth, unsigned *open)
{
	const struct table_type *type = table->type;
	struct json *json = writer->json;
	bool opens = false;
	if (table_is_of_values(type)) {
		json_form_put_row(writer, table, row, depth);
		return;
	}
	if (type->level)
		close_rows(json, open, type->level(table->context, row, &opens));
	json_object_begin(json);
	json_form_put_row(writer, table, row, depth);
	if (!opens) {
		json_object_end(json);
		return;
	}
	json_key(json, type->below);
	json_array_begin(json);
	++*open;
}

static void put_rows(struct writer *writer, const struct table *table, unsigned depth)
{
	struct json *json = writer->json;
	unsigned open = 0;
	json_array_begin(json);
	for (size_t i = 0; i < table_shown(table); i++) {
		size_t row = table_row(table, i);
		uint64_t again = table->type->again ? table->type->again(table->context, row) : 0;
		if (again && json_again(json, again))
			continue;
		put_whole_row(writer, table, row, depth, &open);
		if (again)
			json_keep(json, again);
	}
	close_rows(json, &open, 0);
	json_array_end(json);
}

static void put_nested(
	struct writer *writer, enum column_type type, const struct cell *cell, unsigned depth)
{
	if (type != COLUMN_RECORD) {
		put_rows(writer, &cell->nested, depth);
		return;
	}
	json_object_begin(writer->json);
	json_form_put_row(writer, &cell->nested, cell->row, depth);
	json_object_end(writer->json);
}

static void put_value(
	struct writer *writer, const struct column *column, const struct cell *cell, unsigned depth)
{
	struct json *json = writer->json;
	if (cell->state != CELL_KNOWN) {
		json_null(json);
		return;
	}
	switch (column->type) {
	case COLUMN_INTEGER:
		json_u64(json, cell->number);
		break;
	case COLUMN_SIGNED:
		json_i64(json, cell->signed_number);
		break;
	case COLUMN_REAL:
		json_double(json, cell->real);
		break;
	case COLUMN_BOOLEAN:
		json_bool(json, cell->truth);
		break;
	case COLUMN_ADDRESS:
		put_address(json, cell->number);
		break;
	case COLUMN_TEXT:
		json_string(json, cell->text);
		break;
	default:
		put_nested(writer, column->type, cell, depth + 1);
	}
}

static void put_cells(struct writer *writer, const struct table *table, size_t row, unsigned depth,
	struct cell *cell)
{
	const struct column *columns = table->type->columns;
	for (unsigned i = 0; columns[i].name; i++) {
		if (!column_is_for_programs(&columns[i]))
			continue;
		table_cell(table, row, i, cell);
		writer->no_memory |= cell->built.failed;
		if (cell->state == CELL_ABSENT)
			continue;
		if (column_is_spliced(&columns[i])) {
			json_form_put_row(writer, &cell->nested, cell->row, depth + 1);
			continue;
		}
		if (*columns[i].name)
			json_key(writer->json, columns[i].name);
		put_value(writer, &columns[i], cell, depth);
	}
}

/* The members of a row; of a list's its value alone. */
static void json_form_put_row(
	struct writer *writer, const struct table *table, size_t row, unsigned depth)
{
	struct cell own;
	if (depth < DEPTH_KEPT) {
		put_cells(writer, table, row, depth, &writer->cells[depth]);
		return;
	}
	cell_init(&own);
	put_cells(writer, table, row, depth, &own);
	cell_deinit(&own);
}

static void begin_table(struct json *json, const struct table *table)
{
	if (table->type->total) {
		json_key(json, table->type->total);
		json_u64(json, table->count);
	}
	json_key(json, table->type->name);
}

static void put_record(struct writer *writer, const struct table *record)
{
	if (!record->type->name) {
		json_form_put_row(writer, record, 0, 0);
		return;
	}
	json_key(writer->json, record->type->name);
	if (!record->count) {
		json_null(writer->json);
		return;
	}
	json_object_begin(writer->json);
	json_form_put_row(writer, record, 0, 0);
	json_object_end(writer->json);
}

/* Ends the member that is open, if that is another one, and begins this. */
static void go_within(struct json_form *form, const char *within)
{
	bool same = form->within && within && !strcmp(form->within, within);
	if (form->within && !same)
		json_object_end(&form->json);
	if (within && !same) {
		json_key(&form->json, within);
		json_object_begin(&form->json);
	}
	form->within = within;
}

static void json_begin(struct answer *answer, const struct answer_type *type)
{
	struct json_form *form = (struct json_form *)answer;
	json_object_begin(&form->json);
	json_key(&form->json, "schema");
	json_string(&form->json, form->before && type->before ? type->before : type->schema);
}

static void json_table_begin(struct answer *answer, const struct table *table)
{
	struct json_form *form = (struct json_form *)answer;
	go_within(form, table->type->within);
	begin_table(&form->json, table);
	if (!table->type->is_rooted)
		json_array_begin(&form->json);
}

static void json_row(struct answer *answer, const struct table *table, size_t row)
{
	struct json_form *form = (struct json_form *)answer;
	put_whole_row(&form->writer, table, row, 0, &form->open);
	answer->stopped = form->json.failed;
}

static void json_table_end(struct answer *answer, const struct table *table)
{
	struct json_form *form = (struct json_form *)answer;
	close_rows(&form->json, &form->open, 0);
	if (!table->type->is_rooted)
		json_array_end(&form->json);
}

static void json_record(struct answer *answer, const struct table *record)
{
	struct json_form *form = (struct json_form *)answer;
	go_within(form, record->type->within);
	put_record(&form->writer, record);
}

static void json_group(struct answer *answer, const struct table_type *group)
{
	struct json_form *form = (struct json_form *)answer;
	go_within(form, NULL);
	if (!group) {
		json_object_end(&form->json);
		return;
	}
	json_key(&form->json, group->name);
	json_object_begin(&form->json);
}

static struct error *json_end(struct answer *answer)
{
	struct json_form *form = (struct json_form *)answer;
	if (form->writer.no_memory)
		return error_no_memory();
	go_within(form, NULL);
	json_object_end(&form->json);
	json_finish(&form->json);
	return NULL;
}

static void json_destroy(struct answer *answer)
{
	struct json_form *form = (struct json_form *)answer;
	for (unsigned i = 0; i < DEPTH_KEPT; i++)
		cell_deinit(&form->writer.cells[i]);
	json_repeats_end(&form->json);
	free(form);
}

static const struct answer_form json_form = {.begin = json_begin,
	.table_begin = json_table_begin,
	.row = json_row,
	.table_end = json_table_end,
	.record = json_record,
	.group = json_group,
	.end = json_end,
	.destroy = json_destroy};

struct answer *answer_json_create(const struct sink *sink, bool before)
{
	struct json_form *form = malloc(sizeof(*form));
	if (!form)
		return NULL;
	form->answer = (struct answer){.form = &json_form};
	form->before = before;
	form->within = NULL;
	form->open = 0;
	form->writer = (struct writer){.json = &form->json};
	for (unsigned i = 0; i < DEPTH_KEPT; i++)
		cell_init(&form->writer.cells[i]);
	json_init(&form->json, sink->write, sink->ctx);
	json_repeats_begin(&form->json);
	return &form->answer;
}
