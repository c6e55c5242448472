/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns of file names by the rules of Python's module fnmatch. */
#ifndef ANALYSIS_FILE_PATTERN_H
#define ANALYSIS_FILE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns whether all of a name fits: '*' any number of characters ('/' is one as well), '?' one,
 * "[abc-f]" one of these and "[!abc]" none of them. Case matters; there is no escape: "[*]". A
 * character is one of UTF-8, or a byte that is none. Takes at most pattern_len * name_len steps.
 */
bool file_pattern_match(const char *pattern, size_t pattern_len, const char *name, size_t name_len);

#endif
