/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words at the head of an entry for Valgrind: which tools and errors, and which kinds of leaks.
 */
#ifndef ANALYSIS_SUPPRESS_WORDS_H
#define ANALYSIS_SUPPRESS_WORDS_H

#include "analysis/leaks/suppress_lines.h"

#define MEMCHECK_LEAK "Leak"

/* A kind of Memcheck's errors. */
struct memcheck_kind {
	const char *name;
	unsigned kind;  /* enum suppress_error_kind; of leaks nothing */
	bool has_extra; /* a line of its own follows */
};

/* Parses the kind of a line tools:kind; kinds of other tools give NULL. */
struct error *suppress_parse_tools(
	const struct parser *parser, const struct memcheck_kind **ret_kind) must_check_;

/* Finds what is after match-leak-kinds:, as bits of enum suppress_kind. */
struct error *suppress_parse_kinds(
	const struct parser *parser, struct slice list, uint64_t *ret) must_check_;

#endif
