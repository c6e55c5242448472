/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names as people type them: which of many is meant, and which are near if none is. */
#ifndef ANALYSIS_NAMES_H
#define ANALYSIS_NAMES_H

#include "analysis/grain.h"

/* Sets ret[i] for spots with that name, or if there is none, for those whose name ends with it
 * after
 * "::" or "/". Returns how many. */
size_t names_find_plain(const struct spots *spots, const char *wanted, bool *ret);

/*
 * Sets ret[i] for spots with that name. As above, or else the text as a regular expression for a
 * part of it. ret has room for all spots. No spot is no error: *ret_count is 0 then. ERROR_USAGE:
 * none has the name, and it is no regular expression either.
 */
struct error *names_find(
	const struct spots *spots, const char *wanted, bool *ret, size_t *ret_count) must_check_;

/* Adds up to five names that are like it, the nearest first: "'parse', 'parse_all'". */
struct error *names_add_near(
	const struct spots *spots, const char *wanted, struct text *text) must_check_;

#endif
