/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns of names, as --type and --where take them. */
#ifndef BASE_PATTERN_H
#define BASE_PATTERN_H

#include <stdbool.h>

/* Returns whether all of `text` matches: '*' matches any number of characters, other characters
 * themselves. Takes at most strlen(pattern) * strlen(text) steps. */
bool pattern_fits(const char *pattern, const char *text);

#endif
