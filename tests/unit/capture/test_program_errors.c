/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which reports of errors are one, how they are counted in the file, and how many are kept. */
#include "capture/errors/program_errors.h"

#include "lib/tap.h"

#include <string.h>

static struct program_error_row row_of(uint32_t stack, const char *text)
{
	struct program_error_row row = {.kind = HW_ERROR_WRITE,
		.report = {.stack = stack, .address = 4096 + stack, .flags = HW_ERROR_HAS_BLOCK}};
	memcpy(row.report.text, text, strlen(text));
	return row;
}

/* Adds a report; returns whether it is a new error, which is written then. */
static bool add_report(struct program_errors *errors, const struct program_error_row *row)
{
	const struct program_error_row *fresh;
	program_errors_add(errors, row, &fresh);
	if (!fresh)
		return false;
	struct buf payload;
	buf_init(&payload);
	CHECK(program_errors_put_new(errors, fresh, &payload) && payload.len);
	buf_deinit(&payload);
	return true;
}

static bool write_counts(struct program_errors *errors, bool end)
{
	struct buf payload;
	buf_init(&payload);
	bool written = program_errors_put_counts(errors, end, &payload);
	CHECK(written == (payload.len > 0));
	buf_deinit(&payload);
	return written;
}

CASE(reports_are_equal, "reports are one error by kind, stacks and function")
{
	struct program_errors errors;
	program_errors_init(&errors);
	struct program_error_row row = row_of(7, "memcpy");
	CHECK(add_report(&errors, &row) && !add_report(&errors, &row));
	row.report.address++; /* addresses, sizes, threads and flags make no difference */
	row.report.block_bytes = 9;
	row.tid = 5;
	CHECK(!add_report(&errors, &row));
	row.kind = HW_ERROR_READ;
	CHECK(add_report(&errors, &row));
	row.report.freed_at = 3;
	CHECK(add_report(&errors, &row));
	row.report.allocated_at = 3;
	CHECK(add_report(&errors, &row));
	row.report.stack = 8;
	CHECK(add_report(&errors, &row));
	row.report.text[0] = 'x';
	CHECK(add_report(&errors, &row));
	CHECK(errors.reports == 8 && errors.rows.len == 6 && !errors.left_out);
	program_errors_deinit(&errors);
}

CASE(counts_are_written, "counts are written once")
{
	struct program_errors errors;
	program_errors_init(&errors);
	struct program_error_row row = row_of(7, "");
	CHECK(add_report(&errors, &row) && !write_counts(&errors, false));
	add_report(&errors, &row);
	add_report(&errors, &row);
	CHECK(errors.rows.data[0].unwritten == 2);
	CHECK(write_counts(&errors, false) && errors.written == 2);
	CHECK(!errors.rows.data[0].unwritten && !write_counts(&errors, true));
	program_errors_deinit(&errors);
}

/* The file's rows never run out before the end, however often counts are written meanwhile. */
CASE(room_at_end, "a file has room for the counts at the end, however often they were written")
{
	struct program_errors errors;
	program_errors_init(&errors);
	for (uint32_t i = 0; i < PROGRAM_ERRORS_MAX + 3; i++) {
		struct program_error_row row = row_of(i, "");
		CHECK(add_report(&errors, &row) == (i < PROGRAM_ERRORS_MAX));
		if (i % 100)
			continue;
		row = row_of(0, "");
		add_report(&errors, &row);
		write_counts(&errors, false);
	}
	CHECK(errors.left_out == 3);
	for (unsigned round = 0; round < 20; round++) {
		for (uint32_t i = 0; i < PROGRAM_ERRORS_MAX; i++) {
			struct program_error_row row = row_of(i, "");
			add_report(&errors, &row);
		}
		write_counts(&errors, false);
	}
	CHECK(errors.counted && errors.written <= HPW_ERRORS_MAX - PROGRAM_ERRORS_MAX);
	CHECK(write_counts(&errors, true) && errors.written <= HPW_ERRORS_MAX);
	program_errors_deinit(&errors);
}

TAP_MAIN
