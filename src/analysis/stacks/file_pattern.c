/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/stacks/file_pattern.h"

#include <stdint.h>

/* A byte that is no UTF-8 is a character of its own, beyond all others. */
#define ODD_BYTE 0x110000u

struct characters {
	const char *data;
	size_t len;
};

static size_t count_following(unsigned char first)
{
	return first >= 0xf0 && first < 0xf8   ? 3
	       : first >= 0xe0 && first < 0xf0 ? 2
	       : first >= 0xc2 && first < 0xe0 ? 1
					       : 0;
}

/* The character at *at, which moves on after it. */
static uint32_t take_character(struct characters text, size_t *at)
{
	unsigned char first = (unsigned char)text.data[(*at)++];
	size_t more = count_following(first);
	if (first < 0x80)
		return first;
	if (!more || text.len - *at < more)
		return ODD_BYTE + first;
	uint32_t value = first & (0x3fu >> more);
	for (size_t i = 0; i < more; i++) {
		unsigned char next = (unsigned char)text.data[*at + i];
		if ((next & 0xc0) != 0x80)
			return ODD_BYTE + first;
		value = value << 6 | (next & 0x3f);
	}
	*at += more;
	return value;
}

/* Where the set that begins after a '[' ends: the position of its ']'; SIZE_MAX: nowhere, and the
 * '[' stands for itself. A ']' that comes first is one of the set. */
static size_t find_set_end(struct characters pattern, size_t at)
{
	if (at < pattern.len && pattern.data[at] == '!')
		at++;
	if (at < pattern.len && pattern.data[at] == ']')
		at++;
	while (at < pattern.len && pattern.data[at] != ']')
		at++;
	return at < pattern.len ? at : SIZE_MAX;
}

/* `set`: what is between the brackets. */
static bool set_has(struct characters set, uint32_t wanted)
{
	bool inverted = set.len && set.data[0] == '!', found = false;
	size_t at = inverted;
	while (at < set.len) {
		uint32_t low = take_character(set, &at), high = low;
		if (at + 1 < set.len && set.data[at] == '-') {
			at++;
			high = take_character(set, &at);
		}
		found |= low <= wanted && wanted <= high;
	}
	return found != inverted;
}

/* Whether the element of the pattern at *at, no '*', fits a character; *at moves on after it. */
static bool element_fits(struct characters pattern, size_t *at, uint32_t character)
{
	if (pattern.data[*at] == '?') {
		++*at;
		return true;
	}
	size_t end = pattern.data[*at] == '[' ? find_set_end(pattern, *at + 1) : SIZE_MAX;
	if (end == SIZE_MAX)
		return take_character(pattern, at) == character;
	struct characters set = {pattern.data + *at + 1, end - *at - 1};
	*at = end + 1;
	return set_has(set, character);
}

/* On a mismatch only the last '*' takes one character more, as in glob_match(). */
bool file_pattern_match(
	const char *pattern_data, size_t pattern_len, const char *name_data, size_t name_len)
{
	struct characters pattern = {pattern_data, pattern_len}, name = {name_data, name_len};
	size_t p = 0, n = 0, star = SIZE_MAX, star_n = 0;
	while (n < name.len) {
		if (p < pattern.len && pattern.data[p] == '*') {
			star = ++p;
			star_n = n;
			continue;
		}
		if (p < pattern.len && element_fits(pattern, &p, take_character(name, &n)))
			continue;
		if (star == SIZE_MAX)
			return false;
		take_character(name, &star_n);
		p = star;
		n = star_n;
	}
	while (p < pattern.len && pattern.data[p] == '*')
		p++;
	return p == pattern.len;
}
