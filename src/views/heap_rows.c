/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/heap_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "heap/chosen.h"

/* One end of a range; *end: behind it. */
static bool take_size(const char *text, const char **end, uint64_t *ret)
{
	static const char units[] = "kmgt";
	char *behind;
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	unsigned long long value = strtoull(text, &behind, 0);
	if (errno || behind == text)
		return false;
	const char *unit = *behind ? strchr(units, *behind | 0x20) : NULL;
	if (unit) {
		unsigned bits = 10 * (unsigned)(unit - units + 1);
		if (value > UINT64_MAX >> bits)
			return false;
		value <<= bits;
		behind++;
		behind += behind[0] == 'i' && behind[1] == 'B' ? 2 : 0;
	}
	*end = behind;
	*ret = value;
	return true;
}

bool heap_rows_range(const char *text, uint64_t *ret_least, uint64_t *ret_most)
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

static bool find_column(
	const struct rows_column *columns, const char *name, size_t len, unsigned *ret)
{
	for (unsigned i = 0; columns[i].name; i++) {
		if (strlen(columns[i].name) == len && !strncmp(columns[i].name, name, len)) {
			*ret = i;
			return true;
		}
	}
	return false;
}

static struct error *no_column(const struct rows_column *columns, const char *name, size_t len)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	for (unsigned i = 0; columns[i].name; i++) {
		text_add(&text, i ? ", " : "");
		text_add(&text, columns[i].name);
	}
	return error_create(ERROR_USAGE, "this table has no column '%.*s'; it has %s", (int)len,
		name, text.data ? text.data : "");
}

/* A comparison with a number: "=" takes ranges, too. Where nothing fits the range is empty. */
static bool take_number(const char *operator, const char * value, struct rows_test *test)
{
	uint64_t least, most;
	if (!heap_rows_range(value, &least, &most))
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

static struct error *take_test(struct heap_rows *rows, const char *words)
{
	size_t len = strcspn(words, "=!<>~");
	size_t width = strspn(words + len, "=!<>~");
	char operator[3] = "";
	struct rows_test test = {.most = UINT64_MAX};
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
	if (!find_column(rows->columns, words, len, &test.column))
		return no_column(rows->columns, words, len);
	if (rows->columns[test.column].kind != ROWS_TEXT) {
		if (!take_number(operator, value, &test))
			return wrong_test(words);
	} else if (*operator== '<' || * operator== '>') {
		return wrong_test(words);
	} else {
		test.pattern = value;
		test.is_not = *operator== '!';
		test.has_part = *operator== '~';
	}
	return rows_tests_push(&rows->tests, test) ? NULL : error_no_memory();
}

struct error *heap_rows_open(const struct rows_column *columns,
	void (*cell)(const void *context, size_t row, unsigned column, struct rows_cell *ret),
	const struct rows_asked *asked, struct heap_rows *ret)
{
	*ret = (struct heap_rows){.columns = columns, .cell = cell};
	struct error *error = NULL;
	if (!asked)
		return NULL;
	for (size_t i = 0; i < asked->where.len && !error; i++)
		error = take_test(ret, asked->where.data[i]);
	if (!error && asked->sort) {
		ret->is_turned = *asked->sort == '-';
		const char *name = asked->sort + ret->is_turned;
		ret->is_sorted = find_column(columns, name, strlen(name), &ret->sort);
		if (!ret->is_sorted)
			error = no_column(columns, name, strlen(name));
	}
	if (error)
		heap_rows_close(ret);
	return error;
}

void heap_rows_close(struct heap_rows *rows)
{
	rows_tests_deinit(&rows->tests);
}

static bool passes(
	const struct heap_rows *rows, const struct rows_test *test, const void *context, size_t row)
{
	struct rows_cell cell = {.number = 0};
	rows->cell(context, row, test->column, &cell);
	if (cell.is_unknown)
		return false;
	if (rows->columns[test->column].kind != ROWS_TEXT)
		return (cell.number >= test->least && cell.number <= test->most) != test->is_not;
	const char *text = cell.text ? cell.text : "";
	bool fits = test->has_part ? strstr(text, test->pattern) != NULL
				   : heap_chosen_fits(test->pattern, text);
	return fits != test->is_not;
}

bool heap_rows_take(const struct heap_rows *rows, const void *context, size_t row)
{
	for (size_t i = 0; i < rows->tests.len; i++) {
		if (!passes(rows, &rows->tests.data[i], context, row))
			return false;
	}
	return true;
}

struct order {
	const struct heap_rows *rows;
	const void *context;
};

/* Names come first, whichever way they are sorted. */
static unsigned lateness(const struct rows_cell *cell)
{
	bool is_empty = !cell->text || !*cell->text;
	return is_empty ? 2 : cell->is_makeshift;
}

static int compare(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	const struct heap_rows *rows = order->rows;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	struct rows_cell of_x = {.number = 0}, of_y = {.number = 0};
	rows->cell(order->context, x, rows->sort, &of_x);
	rows->cell(order->context, y, rows->sort, &of_y);
	int result = 0;
	if (of_x.is_unknown != of_y.is_unknown)
		return of_x.is_unknown ? 1 : -1;
	bool is_text = rows->columns[rows->sort].kind == ROWS_TEXT;
	unsigned late_x = is_text ? lateness(&of_x) : 0, late_y = is_text ? lateness(&of_y) : 0;
	if (late_x != late_y)
		return late_x < late_y ? -1 : 1;
	if (is_text)
		result = strcmp(of_x.text ? of_x.text : "", of_y.text ? of_y.text : "");
	else
		result = (of_x.number > of_y.number) - (of_x.number < of_y.number);
	if ((rows->columns[rows->sort].kind == ROWS_AMOUNT) != rows->is_turned)
		result = -result;
	return result ? result : (x > y) - (x < y);
}

struct error *heap_rows_choose(const struct heap_rows *rows, const void *context, size_t count,
	size_t **ret_order, size_t *ret_count)
{
	size_t *order = calloc(count + 1, sizeof(*order)), kept = 0;
	if (!order)
		return error_no_memory();
	for (size_t i = 0; i < count; i++) {
		if (heap_rows_take(rows, context, i))
			order[kept++] = i;
	}
	struct order how = {rows, context};
	if (rows->is_sorted)
		qsort_r(order, kept, sizeof(*order), compare, &how);
	*ret_order = order;
	*ret_count = kept;
	return NULL;
}
