/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names against patterns with wildcards. Pure functions of their arguments; bytes, not characters.
 */
#ifndef ANALYSIS_GLOB_H
#define ANALYSIS_GLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns whether the whole name fits: `*` stands for any bytes or none, nothing escapes it, and
 * `?` for exactly one if `question`, else for itself. As VG_(string_match) of Valgrind's
 * m_seqmatch.c, but without recursion: at most pattern × name steps, and few in practice.
 */
bool glob_match(
	const char *pattern, size_t pattern_len, const char *name, size_t name_len, bool question);

/*
 * Which pairs of neighbouring bytes a text holds, folded to 256 bits. A pattern can only fit a name
 * whose pairs include its own, which refuses nearly all names in four operations.
 */
struct glob_pairs {
	uint64_t bits[4];
};

struct glob_pairs glob_pairs_of_name(const char *name, size_t len);
/* Returns the pairs of the literal parts of a pattern. */
struct glob_pairs glob_pairs_of_pattern(const char *pattern, size_t len, bool question);

static inline bool glob_pairs_within(const struct glob_pairs *part, const struct glob_pairs *whole)
{
	return !((part->bits[0] & ~whole->bits[0]) | (part->bits[1] & ~whole->bits[1]) |
		 (part->bits[2] & ~whole->bits[2]) | (part->bits[3] & ~whole->bits[3]));
}

#endif
