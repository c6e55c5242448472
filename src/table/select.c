/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "table/select.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pattern.h"
#include "base/text.h"

/* One end of a range; *end: behind it. */
static bool take_size(const char *text, const char **end, uint64_t *ret)
{
	static const char units[] = "kmgt";
	char *after;
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	unsigned long long value = strtoull(text, &after, 0);
	if (errno || after == text)
		return false;
	const char *unit = *after ? strchr(units, *after | 0x20) : NULL;
	if (unit) {
		unsigned bits = 10 * (unsigned)(unit - units + 1);
		if (value > UINT64_MAX >> bits)
			return false;
		value <<= bits;
		after++;
		after += after[0] == 'i' && after[1] == 'B' ? 2 : 0;
	}
	*end = after;
	*ret = value;
	return true;
}

bool table_select_range(const char *text, uint64_t *ret_least, uint64_t *ret_most)
{
	uint64_t least = 0, most = UINT64_MAX;
	const char *at = text;
	bool has_start = take_size(at, &at, &least);
	if (has_start && !*at) {
		*ret_least = *ret_most = least;
		return true;
	}
	if (strncmp(at, "..", 2) != 0)
		return false;
	at += 2;
	if (*at ? !take_size(at, &at, &most) || *at : !has_start)
		return false;
	*ret_least = least;
	*ret_most = most;
	return least <= most;
}

static const char *key_of(const struct column *column)
{
	return column->key ? column->key : column->name;
}

/* Numbers from 0 on and texts are sorted and compared; what else there is, is not. */
static bool is_selectable(const struct column *column)
{
	return !column->fixed && column_is_for_programs(column) &&
	       (column->type == COLUMN_INTEGER || column->type == COLUMN_ADDRESS ||
		       column->type == COLUMN_TEXT);
}

/* By the name of options, or by that which it has in JSON. */
static bool find_column(const struct column *columns, const char *name, size_t len, unsigned *ret)
{
	for (unsigned i = 0; columns[i].name; i++) {
		const char *names[] = {key_of(&columns[i]), columns[i].name};
		for (unsigned k = 0; k < 2 && is_selectable(&columns[i]); k++) {
			if (strlen(names[k]) == len && !strncmp(names[k], name, len)) {
				*ret = i;
				return true;
			}
		}
	}
	return false;
}

static struct error *no_column(const struct column *columns, const char *name, size_t len)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	for (unsigned i = 0; columns[i].name; i++) {
		if (!is_selectable(&columns[i]))
			continue;
		text_add(&text, text.len ? ", " : "");
		text_add(&text, key_of(&columns[i]));
	}
	return error_create(ERROR_USAGE, "this table has no column '%.*s'; it has %s", (int)len,
		name, text.data ? text.data : "");
}

/* A comparison with a number: "=" takes ranges, too. Where nothing fits the range is empty. */
static bool select_take_number(const char *operator, const char * value, struct table_test *test)
{
	uint64_t least, most;
	if (!table_select_range(value, &least, &most))
		return false;
	bool with = operator[1] == '=';
	if (*operator== '=' || * operator== '!') {
		test->least = least;
		test->most = most;
		test->is_not = *operator== '!';
		return true;
	}
	if (least != most || *operator== '~')
		return false;
	if (*operator== '<') {
		test->least = !with && !most;
		test->most = with || !most ? most : most - 1;
	} else {
		test->least = with || least == UINT64_MAX ? least : least + 1;
		test->most = !with && least == UINT64_MAX ? 0 : UINT64_MAX;
	}
	return true;
}

static struct error *wrong_test(const char *words)
{
	return error_create(ERROR_USAGE,
		"'%s' is no condition: COLUMN=VALUE is one, also with != < <= > >= and ~ (has it "
		"inside); numbers may be 1k, 2m, ranges A..B, texts may have *",
		words);
}

static struct error *take_test(struct table_select *select, const char *words)
{
	size_t len = strcspn(words, "=!<>~");
	size_t width = strspn(words + len, "=!<>~");
	char operator[3] = "";
	struct table_test test = {.most = UINT64_MAX};
	if (!len || !width || width > 2)
		return wrong_test(words);
	memcpy(operator, words + len, width);
	const char *value = words + len + width;
	static const char *const known[] = {"=", "!=", "<", "<=", ">", ">=", "~"};
	bool is_known = false;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		is_known |= !strcmp(operator, known[i]);
	if (!is_known)
		return wrong_test(words);
	if (!find_column(select->type->columns, words, len, &test.column))
		return no_column(select->type->columns, words, len);
	if (select->type->columns[test.column].type != COLUMN_TEXT) {
		if (!select_take_number(operator, value, &test))
			return wrong_test(words);
	} else if (*operator== '<' || * operator== '>') {
		return wrong_test(words);
	} else {
		test.pattern = value;
		test.is_not = *operator== '!';
		test.has_part = *operator== '~';
	}
	return table_tests_push(&select->tests, test) ? NULL : error_no_memory();
}

struct error *table_select_open(
	const struct table_type *type, const struct table_asked *asked, struct table_select *ret)
{
	*ret = (struct table_select){.type = type};
	struct error *error = NULL;
	if (!asked)
		return NULL;
	for (size_t i = 0; i < asked->where.len && !error; i++)
		error = take_test(ret, asked->where.data[i]);
	if (!error && asked->sort) {
		ret->is_turned = *asked->sort == '-';
		const char *name = asked->sort + ret->is_turned;
		ret->is_sorted = find_column(type->columns, name, strlen(name), &ret->sort);
		if (!ret->is_sorted)
			error = no_column(type->columns, name, strlen(name));
	}
	if (error)
		table_select_close(ret);
	return error;
}

void table_select_close(struct table_select *select)
{
	table_tests_deinit(&select->tests);
}

static bool select_passes(const struct table_select *select, const struct table_test *test,
	const struct table *table, size_t row, struct cell *cell)
{
	table_cell(table, row, test->column, cell);
	if (select->type->columns[test->column].type != COLUMN_TEXT)
		return cell->state == CELL_KNOWN &&
		       (cell->number >= test->least && cell->number <= test->most) != test->is_not;
	const char *text = cell->text ? cell->text : "";
	bool fits = test->has_part ? strstr(text, test->pattern) != NULL
				   : pattern_fits(test->pattern, text);
	return fits != test->is_not;
}

bool table_select_takes(
	const struct table_select *select, const struct table *table, size_t row, struct cell *cell)
{
	for (size_t i = 0; i < select->tests.len; i++) {
		if (!select_passes(select, &select->tests.data[i], table, row, cell))
			return false;
	}
	return true;
}

struct order {
	const struct table_select *select;
	const struct table *table;
	struct cell a, b;
};

/* Names come first, whichever way they are sorted; then what only stands for one. */
static unsigned select_lateness(const struct cell *cell)
{
	bool is_empty = !cell->text || !*cell->text;
	return is_empty ? 2 : cell->is_makeshift;
}

static int compare_texts(const struct cell *a, const struct cell *b)
{
	return strcmp(a->text ? a->text : "", b->text ? b->text : "");
}

static int select_compare(const void *a, const void *b, void *context)
{
	struct order *order = context;
	const struct table_select *select = order->select;
	const struct column *column = &select->type->columns[select->sort];
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	table_cell(order->table, x, select->sort, &order->a);
	table_cell(order->table, y, select->sort, &order->b);
	bool is_text = column->type == COLUMN_TEXT;
	unsigned late_x = is_text ? select_lateness(&order->a) : order->a.state != CELL_KNOWN;
	unsigned late_y = is_text ? select_lateness(&order->b) : order->b.state != CELL_KNOWN;
	if (late_x != late_y)
		return late_x < late_y ? -1 : 1;
	int result =
		is_text ? compare_texts(&order->a, &order->b)
			: (order->a.number > order->b.number) - (order->a.number < order->b.number);
	bool rises = is_text || column->type == COLUMN_ADDRESS || column->ascending;
	if (rises == select->is_turned)
		result = -result;
	return result ? result : (x > y) - (x < y);
}

struct error *table_select_order(
	const struct table_select *select, struct table *table, size_t **ret_order)
{
	size_t *order = calloc(table->count + 1, sizeof(*order)), kept = 0;
	if (!order)
		return error_no_memory();
	struct order how = {.select = select, .table = table};
	cell_init(&how.a);
	cell_init(&how.b);
	for (size_t i = 0; i < table->count; i++) {
		if (table_select_takes(select, table, i, &how.a))
			order[kept++] = i;
	}
	if (select->is_sorted)
		qsort_r(order, kept, sizeof(*order), select_compare, &how);
	cell_deinit(&how.a);
	cell_deinit(&how.b);
	*ret_order = order;
	table->order = order;
	table->count = kept;
	return NULL;
}
