/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Column sets as bytes: FORMAT.md, "Columns". */
#include "capture/writer/columns.h"
#include "lib/tap.h"

CASE(layout, "count, then number and length of each column, then their data")
{
	struct columns c;
	struct buf out;
	buf_init(&out);
	buf_varint(&out, 9); /* what is there stays */
	columns_init(&c, 3);
	columns_add(&c, 0, 5);
	columns_add(&c, 0, 300);
	columns_add(&c, 2, 127);
	buf_bytes(&c.column[2], "xy", 2);
	CHECK(columns_finish(&c, &out));
	static const uint8_t expected[] = {9, 3, 0, 3, 1, 0, 2, 3, 5, 0xac, 0x02, 127, 'x', 'y'};
	CHECK_U64(out.len, sizeof(expected));
	CHECK_MEM(out.data, expected, sizeof(expected));
	buf_deinit(&out);
}

CASE(extremes, "no column at all, all of them, and the largest numbers")
{
	struct columns c;
	struct buf out;
	buf_init(&out);
	columns_init(&c, 0);
	CHECK(columns_finish(&c, &out));
	CHECK(out.len == 1 && out.data[0] == 0);
	columns_init(&c, COLUMNS_MAX);
	columns_add(&c, COLUMNS_MAX - 1, UINT64_MAX);
	CHECK(columns_finish(&c, &out));
	CHECK_U64(out.len, 1 + 1 + 2 * COLUMNS_MAX + 10);
	CHECK(out.data[out.len - 1] == 1 && out.data[out.len - 2] == 0xff);
	buf_deinit(&out);
}

CASE(failed, "a column that lacks memory makes the set fail, and nothing is kept")
{
	struct columns c;
	struct buf out;
	buf_init(&out);
	columns_init(&c, 2);
	columns_add(&c, 0, 1);
	c.column[1].failed = true;
	CHECK(!columns_finish(&c, &out));
	buf_deinit(&out);
}

TAP_MAIN
