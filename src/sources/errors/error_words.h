/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sentences about errors that `heapwise check` has found: in content those of Valgrind's memcheck.
 */
#ifndef SOURCES_ERROR_WORDS_H
#define SOURCES_ERROR_WORDS_H

#include "base/text.h"
#include "format/check.h"
#include "model/errors.h"

/* A row of ERRORS: what it says, checked. */
struct error_row {
	uint64_t stamp, thread, tid, kind, flags, count;
	struct hw_error_report report; /* text has its NUL */
};

/* Adds what is wrong: "Invalid write of size 4". */
void error_words_what(const struct error_row *row, struct text *out);

/* Adds where the address is: "address 0x… is 0 bytes after a block of size 10". Nothing if there is
 * nothing to say. */
void error_words_where(const struct error_row *row, struct text *out);

/* Fills what is known of the access and of the block, but for the block's stacks. */
void error_words_facts(const struct error_row *row, struct program_error *ret);

#endif
