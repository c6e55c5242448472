/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/python/line_table.h"

struct table {
	const uint8_t *at, *end;
	struct event_line_vec *rows;
	uint64_t instruction; /* in bytes */
	int64_t line;
	bool failed;
};

/* From the table's instruction on it is this line (0: none), up to what is put next. */
static void put_row(struct table *t, int64_t line)
{
	struct event_line_vec *rows = t->rows;
	uint32_t value = line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
	if (t->instruction > HW_FRAME_INSTRUCTION_MASK || rows->len >= LINE_TABLE_ROWS_MAX)
		return;
	if (rows->len && rows->data[rows->len - 1].instruction == t->instruction)
		rows->len--;
	if (rows->len && rows->data[rows->len - 1].line == value)
		return;
	struct event_line *row = event_line_vec_push_uninit(rows);
	if (!row)
		t->failed = true;
	else
		*row = (struct event_line){(uint32_t)t->instruction, value};
}

/* Pairs: bytes of code, then what is added to the line after them. */
static void decode_lnotab(struct table *t)
{
	put_row(t, t->line);
	for (; t->end - t->at >= 2; t->at += 2) {
		t->instruction += t->at[0];
		t->line += (int8_t)t->at[1];
		put_row(t, t->line);
	}
}

#define NO_LINE (-128)

/* Pairs: bytes of code, and what is added to the line for them. */
static void decode_linetable(struct table *t)
{
	for (; t->end - t->at >= 2; t->at += 2) {
		int8_t delta = (int8_t)t->at[1];
		if (delta != NO_LINE)
			t->line += delta;
		if (t->at[0])
			put_row(t, delta == NO_LINE ? 0 : t->line);
		t->instruction += t->at[0];
	}
}

/* Codes of location entries. */
enum location {
	LOCATION_ONE_LINE_0 = 10,
	LOCATION_ONE_LINE_2 = 12,
	LOCATION_NO_COLUMNS = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15
};
#define ENTRY 0x80 /* the first byte of an entry, and no other, has this bit */

/* Six bits a byte, the lowest first; the lowest of all is the sign. */
static int64_t read_signed(struct table *t)
{
	uint64_t value = 0;
	for (unsigned shift = 0; t->at < t->end && !(*t->at & ENTRY); shift += 6) {
		uint8_t byte = *t->at++;
		if (shift < 60)
			value |= (uint64_t)(byte & 0x3f) << shift;
		if (!(byte & 0x40))
			break;
	}
	int64_t magnitude = (int64_t)(value >> 1);
	return value & 1 ? -magnitude : magnitude;
}

/* More is no line, and sums of so much can't overflow. */
#define DELTA_MAX (1ll << 40)

static int64_t read_delta(struct table *t, unsigned code)
{
	if (code == LOCATION_NO_COLUMNS || code == LOCATION_LONG) {
		int64_t delta = read_signed(t);
		return delta > DELTA_MAX || delta < -DELTA_MAX ? 0 : delta;
	}
	return code >= LOCATION_ONE_LINE_0 && code <= LOCATION_ONE_LINE_2
		       ? (int64_t)code - LOCATION_ONE_LINE_0
		       : 0;
}

static void decode_locations(struct table *t)
{
	while (t->at < t->end) {
		uint8_t head = *t->at++;
		unsigned code = head >> 3 & 15, units = (head & 7u) + 1;
		t->line += read_delta(t, code);
		put_row(t, code == LOCATION_NONE ? 0 : t->line);
		t->instruction += 2 * (uint64_t)units;
		while (t->at < t->end && !(*t->at & ENTRY))
			t->at++; /* columns */
	}
}

bool line_table_decode(enum hw_line_table format, const uint8_t *bytes, size_t size,
	uint32_t first_line, struct event_line_vec *ret)
{
	struct table t = {.at = bytes, .end = bytes + size, .rows = ret, .line = first_line};
	ret->len = 0;
	if (format == HW_LINES_LNOTAB)
		decode_lnotab(&t);
	else if (format == HW_LINES_LINETABLE)
		decode_linetable(&t);
	else if (format == HW_LINES_LOCATIONS)
		decode_locations(&t);
	if (t.failed)
		ret->len = 0;
	return !t.failed;
}
