/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of traced functions: what belongs to which line, and what happens at the bounds. */
#include "capture/python/traced_lines.h"

#include "format/traced.h"
#include "lib/tap.h"

enum { CODE = 7, OTHER = 8 };

static void add(struct traced_lines *lines, uint32_t thread, enum hw_traced what, uint32_t code,
	uint32_t line, uint64_t pages)
{
	CHECK(traced_lines_add(lines, thread, (uint64_t)code << 32 | line,
		pages << HW_TRACED_BITS | (uint64_t)what));
}

static const struct traced_figures *figures(
	const struct traced_lines *lines, uint32_t code, uint32_t line)
{
	static const struct traced_figures none;
	const struct traced_figures *found =
		traced_map_find(&lines->rows, (struct traced_place){code, line});
	return found ? found : &none;
}

CASE(lines, "a line ends where the next one begins, or its function")
{
	struct traced_lines lines = {0};
	add(&lines, 0, HW_TRACED_CALL, CODE, 1, 100);
	add(&lines, 0, HW_TRACED_LINE, CODE, 2, 100);
	add(&lines, 0, HW_TRACED_LINE, CODE, 3, 150);
	add(&lines, 0, HW_TRACED_LINE, CODE, 2, 140);
	add(&lines, 0, HW_TRACED_RETURN, CODE, 2, 141);
	CHECK_U64(figures(&lines, CODE, 1)->count, 1);
	CHECK_U64(figures(&lines, CODE, 2)->count, 2);
	CHECK_U64(figures(&lines, CODE, 2)->growth_pages, 51);
	CHECK_U64(figures(&lines, CODE, 2)->largest_pages, 150);
	CHECK(figures(&lines, CODE, 3)->growth_pages == -10);
	CHECK_U64(lines.open_count, 0);
	traced_lines_deinit(&lines);
}

/* Calls in calls, and in other threads: a line grows once by what grows meanwhile. */
CASE(overlapping, "calls in one line at a time grow once")
{
	struct traced_lines lines = {0};
	add(&lines, 0, HW_TRACED_CALL, CODE, 1, 10);
	add(&lines, 0, HW_TRACED_LINE, CODE, 2, 10);
	add(&lines, 0, HW_TRACED_CALL, CODE, 1, 20);
	add(&lines, 0, HW_TRACED_LINE, CODE, 2, 30);
	add(&lines, 1, HW_TRACED_CALL, CODE, 1, 40);
	add(&lines, 1, HW_TRACED_LINE, CODE, 2, 40);
	add(&lines, 0, HW_TRACED_RETURN, CODE, 2, 50);
	add(&lines, 0, HW_TRACED_RETURN, CODE, 2, 60);
	add(&lines, 1, HW_TRACED_RETURN, CODE, 2, 70);
	CHECK_U64(figures(&lines, CODE, 2)->growth_pages, 60);
	CHECK_U64(figures(&lines, CODE, 2)->count, 3);
	/* An end that was not seen: the call inside has ended, too. */
	add(&lines, 0, HW_TRACED_CALL, CODE, 1, 10);
	add(&lines, 0, HW_TRACED_CALL, OTHER, 5, 10);
	add(&lines, 0, HW_TRACED_RETURN, CODE, 1, 25);
	CHECK_U64(figures(&lines, OTHER, 5)->growth_pages, 15);
	CHECK_U64(lines.open_count, 0);
	traced_lines_deinit(&lines);
}

CASE(unknown_sizes, "a size that is not known is none of 0")
{
	struct traced_lines lines = {0};
	add(&lines, 0, HW_TRACED_LINE, CODE, 2, 0);
	add(&lines, 0, HW_TRACED_RETURN, CODE, 2, 7);
	CHECK_U64(figures(&lines, CODE, 2)->unsized, 1);
	CHECK_U64(figures(&lines, CODE, 2)->growth_pages, 0);
	/* Of a generator that goes on, the line does not begin again. */
	add(&lines, 0, HW_TRACED_RESUME, CODE, 2, 7);
	add(&lines, 0, HW_TRACED_RETURN, CODE, 2, 9);
	CHECK_U64(figures(&lines, CODE, 2)->count, 1);
	CHECK_U64(figures(&lines, CODE, 2)->growth_pages, 2);
	traced_lines_deinit(&lines);
}

CASE(between, "what ends after its begin was written keeps its size")
{
	struct traced_lines lines = {0};
	struct buf payload = {0};
	add(&lines, 0, HW_TRACED_LINE, CODE, 2, 7);
	CHECK(traced_lines_put(&lines, &payload));
	add(&lines, 0, HW_TRACED_RETURN, CODE, 2, 7);
	CHECK(traced_lines_put(&lines, &payload));
	CHECK_U64(lines.written, 2);
	buf_deinit(&payload);
	traced_lines_deinit(&lines);
}

/* Of the target, which may write anything. */
CASE(nonsense, "nonsense of the target is no line")
{
	struct traced_lines lines = {0};
	add(&lines, 0, HW_TRACED_LINE, 0, 2, 1);
	add(&lines, 0, HW_TRACED_LINE, HW_CODES_MAX, 2, 1);
	add(&lines, 3, HW_TRACED_RETURN, CODE, 2, 1);
	CHECK_U64(lines.rows.len, 0);
	CHECK(!traced_lines_due(&lines, true));
	traced_lines_deinit(&lines);
}

/* Further open calls are left out, and counted. */
CASE(open_calls, "open calls beyond the bound are counted")
{
	struct traced_lines lines = {0};
	for (uint32_t i = 0; i < TRACED_OPEN_MAX + 3; i++)
		add(&lines, 0, HW_TRACED_CALL, CODE, 1, 1);
	CHECK_U64(lines.open_count, TRACED_OPEN_MAX);
	CHECK_U64(lines.left_out, 3);
	traced_lines_deinit(&lines);
}

/* As are further lines; what is written adds up, however often. */
CASE(rows, "lines beyond the bound are counted")
{
	struct traced_lines lines = {0};
	struct buf payload = {0};
	const uint32_t most = HPW_TRACED_MAX / 2 - 1;
	uint32_t flushes = 0;
	for (uint32_t i = 0; i < most + 5; i++)
		add(&lines, 0, HW_TRACED_LINE, CODE, 1 + i, 1);
	CHECK_U64(lines.rows.len, most);
	CHECK_U64(lines.left_out, 5);
	while (traced_lines_due(&lines, false)) {
		CHECK(traced_lines_put(&lines, &payload));
		buf_clear(&payload);
		for (uint32_t i = 0; i < most; i++)
			add(&lines, 0, HW_TRACED_LINE, CODE, 1 + i, 1);
		flushes++;
	}
	CHECK_U64(flushes, 1);
	CHECK(traced_lines_due(&lines, true));
	CHECK(traced_lines_put(&lines, &payload));
	CHECK(lines.written <= HPW_TRACED_MAX);
	buf_deinit(&payload);
	traced_lines_deinit(&lines);
}

TAP_MAIN
