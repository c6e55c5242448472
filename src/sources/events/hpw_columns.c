/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/events/hpw_columns.h"

#include <endian.h>
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

#define HIGH_BITS UINT64_C(0x8080808080808080)

/* Each varint has one byte without the continuation bit. */
static size_t count_varints(const struct cursor *cursor)
{
	const uint8_t *p = cursor->pos;
	size_t n = 0;
	for (uint64_t eight; cursor->end - p >= (ptrdiff_t)sizeof(eight); p += sizeof(eight)) {
		memcpy(&eight, p, sizeof(eight));
		uint64_t lasts = (~eight & HIGH_BITS) >> 7;
		n += lasts * UINT64_C(0x0101010101010101) >> 56;
	}
	for (; p < cursor->end; p++)
		n += *p < 0x80;
	return n;
}

/* Takes bits 7, 15, 23… out of a number. */
static inline uint64_t without_high_bits(uint64_t bytes)
{
	bytes &= ~HIGH_BITS;
	bytes = (bytes & UINT64_C(0x007f007f007f007f)) |
		(bytes & UINT64_C(0x7f007f007f007f00)) >> 1;
	bytes = (bytes & UINT64_C(0x00003fff00003fff)) |
		(bytes & UINT64_C(0x3fff00003fff0000)) >> 2;
	return (bytes & UINT64_C(0x0fffffff)) | (bytes & UINT64_C(0x0fffffff00000000)) >> 4;
}

/* Reads a number whose eight bytes from here on are known, if it is no longer; without branches, as
 * lengths follow no rule. Returns its length, or 0: it is longer, or has one form too many. */
static inline unsigned read_short(uint64_t eight, uint64_t *ret)
{
	uint64_t lasts = ~eight & HIGH_BITS;
	if (!lasts)
		return 0;
	unsigned bits = (unsigned)__builtin_ctzll(lasts) + 1;
	eight &= UINT64_MAX >> (64 - bits);
	*ret = without_high_bits(eight);
	return bits > 8 && !(eight >> (bits - 8)) ? 0 : bits / 8;
}

/* Reads some numbers one by one, where there are eight bytes for each while that lasts. */
static struct error *read_some(struct cursor *cursor, uint64_t *ret, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t eight;
		unsigned len = 0;
		if (cursor_left(cursor) >= sizeof(eight)) {
			memcpy(&eight, cursor->pos, sizeof(eight));
			len = read_short(le64toh(eight), &ret[i]);
			cursor->pos += len;
		}
		if (!len && !cursor_try_varint(cursor, &ret[i]))
			return cursor_varint(cursor, &ret[i]);
	}
	return NULL;
}

struct error *hpw_column_read(struct hpw_column *column, uint64_t *ret, size_t count)
{
	struct cursor cursor = column->cursor;
	struct error *error = NULL;
	if (!column->present) {
		memset(ret, 0, count * sizeof(*ret));
		return NULL;
	}
	for (size_t i = 0, some; !error && i < count; i += some) {
		uint64_t eight = HIGH_BITS;
		some = count - i < sizeof(eight) ? count - i : sizeof(eight);
		if (some == sizeof(eight) && cursor_left(&cursor) >= sizeof(eight))
			memcpy(&eight, cursor.pos, sizeof(eight));
		if (eight & HIGH_BITS) {
			error = read_some(&cursor, &ret[i], some);
			continue;
		}
		for (size_t k = 0; k < sizeof(eight); k++)
			ret[i + k] = cursor.pos[k];
		cursor.pos += sizeof(eight);
	}
	column->cursor = cursor;
	return error;
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
