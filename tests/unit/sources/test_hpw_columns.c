/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Columns of numbers, read many at a time. */
#include "sources/events/hpw_columns.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/util.h"
#include "lib/tap.h"

#define ROWS 2000u

static struct hpw_column column_of(const struct buf *buf)
{
	struct hpw_column column = {.present = true};
	cursor_init(&column.cursor, "column", buf->data, buf->len, 0);
	return column;
}

/* Of each length, and runs of small ones among them. */
static uint64_t number(uint32_t row)
{
	uint64_t bits = hash_u64(row) | 1;
	return row / 50 % 3 ? row % 128 : bits >> (bits >> 8 & 63);
}

CASE(batches, "numbers of all lengths are read as one by one, however many at a time")
{
	struct buf buf;
	uint64_t got[ROWS];
	buf_init(&buf);
	for (uint32_t i = 0; i < ROWS; i++)
		CHECK(buf_varint(&buf, number(i)));
	for (size_t batch = 1; batch <= ROWS; batch = batch * 3 - 1 + (batch == 1)) {
		struct hpw_column column = column_of(&buf);
		for (size_t done = 0; done < ROWS; done += batch)
			CHECK_OK(hpw_column_read(
				&column, got + done, min(batch, (size_t)ROWS - done)));
		CHECK_U64(cursor_left(&column.cursor), 0);
		for (uint32_t i = 0; i < ROWS; i++)
			CHECK_U64(got[i], number(i));
	}
	buf_deinit(&buf);
}

CASE(rows, "as many rows are counted as there are numbers")
{
	struct buf buf;
	size_t rows;
	buf_init(&buf);
	for (uint32_t i = 0; i < ROWS; i++) {
		struct hpw_column column = column_of(&buf);
		CHECK_OK(hpw_columns_rows(&column, 1, 1, &rows));
		CHECK_U64(rows, i);
		CHECK(buf_varint(&buf, number(i)));
	}
	buf_deinit(&buf);
}

/* Zero bytes behind it, so that there are eight to be looked at, or not. */
static void check_refused(const uint8_t *bytes, size_t len, size_t behind)
{
	uint8_t data[32] = {0};
	uint64_t got[2];
	memcpy(data, bytes, len);
	struct hpw_column column = {.present = true};
	cursor_init(&column.cursor, "column", data, len + behind, 0);
	struct error *error = hpw_column_read(&column, got, 1 + (behind > 0));
	CHECK(error && error->code == ERROR_INPUT);
	error_destroy(error);
}

CASE(malformed, "what is too long, ends early or has a needless zero is refused")
{
	const uint8_t zero[] = {0x80, 0x00}, longer[] = {0xff, 0xff, 0x80, 0x00};
	const uint8_t open[] = {0xff, 0xff};
	const uint8_t eleven[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
	for (size_t behind = 0; behind < 16; behind += 15) {
		check_refused(zero, sizeof(zero), behind);
		check_refused(longer, sizeof(longer), behind);
		check_refused(eleven, sizeof(eleven), behind);
	}
	check_refused(open, sizeof(open), 0);
}

CASE(missing, "a column that is missing is all zeros")
{
	struct hpw_column column = {.present = false};
	uint64_t got[3] = {1, 2, 3};
	CHECK_OK(hpw_column_read(&column, got, ARRAY_SIZE(got)));
	CHECK_U64(got[0] | got[1] | got[2], 0);
}

TAP_MAIN
