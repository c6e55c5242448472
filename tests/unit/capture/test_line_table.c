/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of lines of CPython's code objects: the corners. Lines of real programs are compared with
 * what tracemalloc says of them (tests/e2e/python).
 */
#include "capture/python/line_table.h"
#include "lib/tap.h"

static struct event_line_vec rows;

static void need_rows(const uint32_t (*expected)[2], size_t count)
{
	CHECK_U64(rows.len, count);
	for (size_t i = 0; i < count && i < rows.len; i++) {
		CHECK_U64(rows.data[i].instruction, expected[i][0]);
		CHECK_U64(rows.data[i].line, expected[i][1]);
	}
}

CASE(lnotab, "pairs up to 3.9: the line changes after the bytes")
{
	static const uint8_t table[] = {0, 1, 8, 1, 4, 255, 0, 255, 2, 127, 0, 3};
	static const uint32_t expected[][2] = {{0, 11}, {8, 12}, {12, 10}, {14, 140}};
	CHECK(line_table_decode(HW_LINES_LNOTAB, table, sizeof(table), 10, &rows));
	need_rows(expected, 4);
	CHECK(line_table_decode(HW_LINES_LNOTAB, table, 1, 10, &rows));
	static const uint32_t first[][2] = {{0, 10}};
	need_rows(first, 1);
	event_line_vec_deinit(&rows);
}

CASE(linetable, "pairs of 3.10: the line holds for the bytes, or there is none")
{
	static const uint8_t table[] = {4, 1, 2, 128, 6, 0, 0, 127, 2, 1};
	static const uint32_t expected[][2] = {{0, 11}, {4, 0}, {6, 11}, {12, 139}};
	CHECK(line_table_decode(HW_LINES_LINETABLE, table, sizeof(table), 10, &rows));
	need_rows(expected, 4);
	event_line_vec_deinit(&rows);
}

CASE(locations, "entries from 3.11 on, of each form")
{
	/* short; one line + 2; no columns, -3; none; long, + 70 */
	static const uint8_t table[] = {0x80 | 0 << 3 | 0, 0x11, 0x80 | 12 << 3 | 1, 1, 2,
		0x80 | 13 << 3 | 0, 7, 0x80 | 15 << 3 | 2, 0x80 | 14 << 3 | 7, 0x40 | 12, 2, 0, 1,
		1};
	static const uint32_t expected[][2] = {{0, 10}, {2, 12}, {6, 9}, {8, 0}, {14, 79}};
	CHECK(line_table_decode(HW_LINES_LOCATIONS, table, sizeof(table), 10, &rows));
	need_rows(expected, 5);
	event_line_vec_deinit(&rows);
}

CASE(nonsense, "lines that are none become 0, endless numbers end")
{
	static uint8_t table[4096];
	memset(table, 0x7f, sizeof(table));
	table[0] = 0x80 | 13 << 3;
	CHECK(line_table_decode(HW_LINES_LOCATIONS, table, sizeof(table), 10, &rows));
	CHECK_U64(rows.len, 1);
	static const uint8_t below[] = {2, 0x81, 2, 0x81};
	CHECK(line_table_decode(HW_LINES_LNOTAB, below, sizeof(below), 10, &rows));
	CHECK_U64(rows.len, 2);
	CHECK_U64(rows.data[1].line, 0);
	CHECK(line_table_decode(HW_LINES_NONE, below, sizeof(below), 10, &rows));
	CHECK_U64(rows.len, 0);
	event_line_vec_deinit(&rows);
}

TAP_MAIN
