/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regular expressions, as PCRE2 has them: of what people write, the same as Go's and so as pprof's.
 * What would take too long to match is no match, and pattern_check() says so.
 */
#ifndef ANALYSIS_PATTERN_H
#define ANALYSIS_PATTERN_H

#include <stdbool.h>

#include "base/error.h"

struct pattern;

/* Compiles a pattern. Returns ERROR_USAGE, with the position, if `text` is not a regular
 * expression. */
struct error *pattern_create(const char *text, struct pattern **ret) must_check_;
void pattern_destroy(struct pattern *pattern);

/* As it was given. */
const char *pattern_text(const struct pattern *pattern);

/* Returns whether any part of the string fits; NULL never does. */
bool pattern_match(const struct pattern *pattern, const char *string);
/* Returns ERROR_USAGE if a string so far would have taken too long to match: results of the pattern
 * are then unknown. */
struct error *pattern_check(const struct pattern *pattern) must_check_;

#endif
