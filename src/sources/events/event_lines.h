/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of a log of events, and numbers in them. A last line without its end was cut: it may say
 * half of what it should, and is left out.
 */
#ifndef SOURCES_EVENT_LINES_H
#define SOURCES_EVENT_LINES_H

#include "sources/recording/stream.h"

struct event_lines {
	struct stream stream;
	unsigned empty; /* lines in a row */
	bool cut;       /* the last line was */
};

/* Opens the lines of an input, which must outlive them. */
struct error *event_lines_open(struct event_lines *lines, const struct input *input) must_check_;
void event_lines_close(struct event_lines *lines);

/* Returns how many bytes of it can be names, stacks and callers: nothing of that is there twice, so
 * it does not shrink as events do. */
uint64_t event_lines_defined_limit(const struct input *input);

/* Reads the next line; *ret NULL: there are no more. */
struct error *event_lines_next(struct event_lines *lines, char **ret, size_t *ret_len) must_check_;

/* Takes hexadecimal digits, and one space after them if there is one. False: there are none, or
 * too many. */
static inline bool event_lines_hex(const char **at, const char *end, uint64_t *ret)
{
	const char *pos = *at;
	uint64_t value = 0;
	for (; pos < end; pos++) {
		unsigned digit = (unsigned char)*pos - '0';
		if (digit > 9) {
			digit = ((unsigned char)*pos | 0x20u) - 'a';
			if (digit > 5)
				break;
			digit += 10;
		}
		if (value >> 60)
			return false;
		value = value << 4 | digit;
	}
	if (pos == *at || (pos < end && *pos != ' '))
		return false;
	*at = pos + (pos < end);
	*ret = value;
	return true;
}

/* Returns the most live blocks that are accepted from a file of that size, packed or not: each
 * takes some 64 bytes here, and next to none in a repetitive file. */
uint64_t event_lines_blocks_max(uint64_t file_bytes);

#endif
