/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/events/hpw_columns.h"

#include <inttypes.h>
#include <string.h>

#include "model/model.h"

/* Columns first … first + limit - 1. */
static struct error *open_from(
	const struct hpw_payload *payload, uint64_t first, struct hpw_column *columns, size_t limit)
{
	for (size_t i = 0; i < limit; i++)
		columns[i] = (struct hpw_column){.present = false};
	struct cursor list = hpw_payload_cursor(payload);
	uint64_t count;
	struct error *error = cursor_varint(&list, &count);
	if (error)
		return error;
	if (count > cursor_left(&list) / 2)
		return error_create(ERROR_INPUT, "it claims %" PRIu64 " columns", count);
	/* The data starts after the list: find that place first. */
	struct cursor data = list;
	for (uint64_t i = 0, skipped; i < 2 * count; i++) {
		error = cursor_varint(&data, &skipped);
		if (error)
			return error;
	}
	for (uint64_t i = 0; i < count; i++) {
		uint64_t number, bytes;
		if (!cursor_try_varint(&list, &number) || !cursor_try_varint(&list, &bytes) ||
			bytes > cursor_left(&data))
			return error_create(ERROR_INPUT, "a column is longer than the chunk");
		const uint8_t *start;
		uint64_t offset = (uint64_t)(data.pos - data.start);
		error = cursor_bytes(&data, bytes, &start);
		if (error)
			return error;
		if (number < first || number - first >= limit)
			continue;
		struct hpw_column *column = &columns[number - first];
		if (column->present)
			return error_create(
				ERROR_INPUT, "column %" PRIu64 " is there twice", number);
		cursor_init(&column->cursor, "column", start, (size_t)bytes, offset);
		column->present = true;
	}
	return NULL;
}

struct error *hpw_columns_open(
	const struct hpw_payload *payload, struct hpw_column *columns, size_t limit)
{
	return open_from(payload, 0, columns, limit);
}

struct error *hpw_columns_find(
	const struct hpw_payload *payload, uint64_t number, struct hpw_column *ret)
{
	return open_from(payload, number, ret, 1);
}

/* Each varint has one byte without the continuation bit. */
static size_t count_varints(const struct cursor *cursor)
{
	size_t n = 0;
	for (const uint8_t *p = cursor->pos; p < cursor->end; p++)
		n += *p < 0x80;
	return n;
}

struct error *hpw_columns_rows(
	const struct hpw_column *columns, size_t limit, uint32_t mask, size_t *ret)
{
	size_t rows = 0;
	bool known = false;
	for (size_t i = 0; i < limit; i++) {
		if (!(mask >> i & 1) || !columns[i].present)
			continue;
		size_t mine = count_varints(&columns[i].cursor);
		if (known && mine != rows)
			return error_create(ERROR_INPUT, "its columns differ in length");
		rows = mine;
		known = true;
	}
	*ret = rows;
	return NULL;
}

uint32_t hpw_columns_unknown(size_t i)
{
#define UNKNOWN(name, how, column, part, unknown) unknown,
	static const uint32_t figures[SITE_COUNTERS_COUNT] = {SITE_COUNTERS(UNKNOWN)};
#undef UNKNOWN
	return figures[i];
}
