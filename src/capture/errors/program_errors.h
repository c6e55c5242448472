/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors of the program that `heapwise check` finds in it, as the recorder keeps them: each that
 * differs from all before is a row, which is in the file before anything else happens, so that it
 * survives whatever the error leads to. Later equal ones only count; how many they are by now is
 * written now and then, as the same row with a count of its own.
 *
 * Errors are equal if they are of one kind, made (or found) at one stack, with a block that was
 * allocated and freed at the same stacks, in the same function of libc. Addresses, sizes and
 * threads are those of the first.
 */
#ifndef CAPTURE_PROGRAM_ERRORS_H
#define CAPTURE_PROGRAM_ERRORS_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "format/check.h"
#include "format/hpw.h"

#include <stdbool.h>
#include <stdint.h>

/* Different errors of a recording that are kept. Of further ones only the number is known. */
#define PROGRAM_ERRORS_MAX 10000u

struct program_error_row {
	uint64_t stamp; /* of the first */
	uint32_t thread, tid;
	enum hw_error_kind kind;
	struct hw_error_report report;
	uint64_t unwritten; /* reports that no row in the file counts yet */
};

static inline bool program_errors_equal_key(uint64_t a, uint64_t b)
{
	return a == b;
}
DEFINE_VEC(program_error_rows, struct program_error_row)
DEFINE_MAP(program_error_places, uint64_t, uint32_t, hash_u64, program_errors_equal_key)

struct program_errors {
	struct program_error_rows rows;
	struct program_error_places places; /* index in rows, by what equal ones have in common */
	uint64_t written;                   /* rows in the file, HPW_ERRORS_MAX at most */
	uint64_t reports;                   /* all that came */
	uint64_t left_out; /* of them, of errors beyond PROGRAM_ERRORS_MAX, or for lack of memory */
	bool counted;      /* some row has reports that are not written yet */
};

void program_errors_init(struct program_errors *errors);
void program_errors_deinit(struct program_errors *errors);

/*
 * Adds a report, whose stacks and text are checked. *ret_new becomes its row if it differs from all
 * before, else NULL: the row is to be written at once.
 */
void program_errors_add(struct program_errors *errors, const struct program_error_row *report,
	const struct program_error_row **ret_new);

/* Appends the payload of a chunk ERRORS to *ret: of one row that is new. */
bool program_errors_put_new(
	struct program_errors *errors, const struct program_error_row *row, struct buf *ret);

/*
 * Appends one with all counts that are not written. `end`: there will be no further one; else a
 * part of the rows that a file may have is kept for the end. Returns false if there is nothing to
 * write, or no memory (ret->failed).
 */
bool program_errors_put_counts(struct program_errors *errors, bool end, struct buf *ret);

#endif
