/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/stacks/glob.h"

/*
 * On a mismatch only the last `*` needs to take one byte more: what an earlier one could take
 * instead, the last one can take as well.
 */
bool glob_match(
	const char *pattern, size_t pattern_len, const char *name, size_t name_len, bool question)
{
	size_t p = 0, n = 0, star = SIZE_MAX, star_n = 0;
	while (n < name_len) {
		if (p < pattern_len && pattern[p] == '*') {
			star = p++;
			star_n = n;
		} else if (p < pattern_len &&
			   (pattern[p] == name[n] || (question && pattern[p] == '?'))) {
			p++;
			n++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			n = ++star_n;
		} else {
			return false;
		}
	}
	while (p < pattern_len && pattern[p] == '*')
		p++;
	return p == pattern_len;
}

static void add_pair(struct glob_pairs *pairs, char first, char second)
{
	unsigned hash = ((unsigned)(uint8_t)first * 31 + (uint8_t)second) * 0x9e3779b1u >> 24;
	pairs->bits[hash / 64] |= (uint64_t)1 << hash % 64;
}

struct glob_pairs glob_pairs_of_name(const char *name, size_t len)
{
	struct glob_pairs pairs = {{0}};
	for (size_t i = 1; i < len; i++)
		add_pair(&pairs, name[i - 1], name[i]);
	return pairs;
}

static bool is_wild(char byte, bool question)
{
	return byte == '*' || (question && byte == '?');
}

struct glob_pairs glob_pairs_of_pattern(const char *pattern, size_t len, bool question)
{
	struct glob_pairs pairs = {{0}};
	for (size_t i = 1; i < len; i++)
		if (!is_wild(pattern[i - 1], question) && !is_wild(pattern[i], question))
			add_pair(&pairs, pattern[i - 1], pattern[i]);
	return pairs;
}
