/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers for programs: a document with a schema's name, tables as arrays of objects. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "table/answer.h"

/* Records and tables that are nested in others: a cell is needed at each depth. */
#define DEPTH_MOST 8u

struct json_form {
	struct answer answer;
	bool before;
	bool no_memory;
	struct cell cells[DEPTH_MOST];
	struct json json;
};

static void put_row(struct json_form *form, const struct table *table, size_t row, unsigned depth);

static void put_address(struct json *json, uint64_t address)
{
	char text[2 + 16 + 1];
	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	json_string(json, text);
}

/* What is nested and too deep is null: no type of table is. */
static void put_nested(
	struct json_form *form, enum column_type type, const struct cell *cell, unsigned depth)
{
	struct json *json = &form->json;
	const struct table *nested = &cell->nested;
	if (depth == DEPTH_MOST) {
		json_null(json);
		return;
	}
	if (type == COLUMN_RECORD) {
		json_object_begin(json);
		put_row(form, nested, cell->row, depth);
		json_object_end(json);
		return;
	}
	json_array_begin(json);
	for (size_t i = 0; i < table_shown(nested); i++) {
		size_t row = table_row(nested, i);
		uint64_t again =
			nested->type->again ? nested->type->again(nested->context, row) : 0;
		if (again && json_again(json, again))
			continue;
		if (type != COLUMN_LIST)
			json_object_begin(json);
		put_row(form, nested, row, depth);
		if (type != COLUMN_LIST)
			json_object_end(json);
		if (again)
			json_keep(json, again);
	}
	json_array_end(json);
}

static void put_value(struct json_form *form, const struct column *column, const struct cell *cell,
	unsigned depth)
{
	struct json *json = &form->json;
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
		put_nested(form, column->type, cell, depth + 1);
	}
}

/* The members of a row; of a list's its value alone. */
static void put_row(struct json_form *form, const struct table *table, size_t row, unsigned depth)
{
	const struct column *columns = table->type->columns;
	struct cell *cell = &form->cells[depth];
	for (unsigned i = 0; columns[i].name; i++) {
		if (columns[i].for_people)
			continue;
		table_cell(table, row, i, cell);
		form->no_memory |= cell->built.failed;
		if (cell->state == CELL_ABSENT)
			continue;
		if (*columns[i].name)
			json_key(&form->json, columns[i].name);
		put_value(form, &columns[i], cell, depth);
	}
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
	json_key(&form->json, table->type->name);
	json_array_begin(&form->json);
}

static void json_row(struct answer *answer, const struct table *table, size_t row)
{
	struct json_form *form = (struct json_form *)answer;
	bool is_value = !*table->type->columns[0].name;
	if (!is_value)
		json_object_begin(&form->json);
	put_row(form, table, row, 0);
	if (!is_value)
		json_object_end(&form->json);
	answer->stopped = form->json.failed;
}

static void json_table_end(struct answer *answer, const struct table *table)
{
	(void)table;
	json_array_end(&((struct json_form *)answer)->json);
}

static void json_record(struct answer *answer, const struct table *record)
{
	struct json_form *form = (struct json_form *)answer;
	if (!record->type->name) {
		put_row(form, record, 0, 0);
		return;
	}
	json_key(&form->json, record->type->name);
	if (!record->count) {
		json_null(&form->json);
		return;
	}
	json_object_begin(&form->json);
	put_row(form, record, 0, 0);
	json_object_end(&form->json);
}

static struct json *json_of(struct answer *answer)
{
	return &((struct json_form *)answer)->json;
}

static struct error *json_end(struct answer *answer)
{
	struct json_form *form = (struct json_form *)answer;
	if (form->no_memory)
		return error_no_memory();
	json_object_end(&form->json);
	json_finish(&form->json);
	return NULL;
}

static void json_destroy(struct answer *answer)
{
	struct json_form *form = (struct json_form *)answer;
	for (unsigned i = 0; i < DEPTH_MOST; i++)
		cell_deinit(&form->cells[i]);
	json_repeats_end(&form->json);
	free(form);
}

static const struct answer_form json_form = {.begin = json_begin,
	.table_begin = json_table_begin,
	.row = json_row,
	.table_end = json_table_end,
	.record = json_record,
	.json = json_of,
	.end = json_end,
	.destroy = json_destroy};

struct answer *answer_json_create(const struct sink *sink, bool before)
{
	struct json_form *form = malloc(sizeof(*form));
	if (!form)
		return NULL;
	form->answer = (struct answer){.form = &json_form};
	form->before = before;
	form->no_memory = false;
	for (unsigned i = 0; i < DEPTH_MOST; i++)
		cell_init(&form->cells[i]);
	json_init(&form->json, sink->write, sink->ctx);
	json_repeats_begin(&form->json);
	return &form->answer;
}
