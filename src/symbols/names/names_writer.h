/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts a file of names_file.h together. */
#ifndef SYMBOLS_NAMES_WRITER_H
#define SYMBOLS_NAMES_WRITER_H

#include "base/buf.h"
#include "base/vec.h"
#include "symbols/names/names_file.h"
#include "symbols/symbols.h"

struct names_answer {
	uint64_t address;
	const struct symbol *symbols; /* innermost first */
	size_t count;
};

DEFINE_VEC(names_answer_vec, struct names_answer)

/* By address, for qsort() and bsearch(). */
int names_answer_compare(const void *a, const void *b);
void names_answers_sort(struct names_answer_vec *answers);

/*
 * Adds the file to a buffer that is empty. Answers are sorted, each of an address of its own. Equal
 * strings have equal addresses. The header's `state` and `separate` are those of `as`. false: it
 * would be longer than NAMES_FILE_MAX, or no memory.
 */
bool names_write(struct buf *buf, const struct names_header *as, const char *key, size_t key_len,
	const struct names_answer_vec *answers);

#endif
