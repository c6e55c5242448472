/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of suppression files, as suppress_parse.c takes them one by one, and what is wrong in them.
 */
#ifndef ANALYSIS_SUPPRESS_LINES_H
#define ANALYSIS_SUPPRESS_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "analysis/suppress.h"
#include "base/error.h"

#define SUPPRESS_ERRORS_NAMED 5u /* the first in words, the others by their lines */
#define SUPPRESS_QUOTED_BYTES_MAX ((size_t)60)

struct slice {
	const char *data;
	size_t len;
};

struct parser {
	struct suppressions *set;
	const char *file; /* in the set's arena */
	const char *pos, *end;
	uint32_t line_number; /* of `line`; of the last one at the end */
	struct slice line;    /* without blanks at its ends */
	bool has_line;
	bool line_bad;  /* too long, or holds a NUL */
	uint32_t begun; /* number of the line with the entry's `{` */
	struct error *first_error;
	uint32_t error_lines[SUPPRESS_ERRORS_NAMED];
	size_t error_count;
};

static inline bool is_text(struct slice slice, const char *text)
{
	return slice.len == strlen(text) && memcmp(slice.data, text, slice.len) == 0;
}

/* Returns what follows a beginning; data is NULL if it begins otherwise. */
static inline struct slice after(struct slice slice, const char *beginning)
{
	size_t len = strlen(beginning);
	if (slice.len < len || memcmp(slice.data, beginning, len) != 0)
		return (struct slice){0};
	return (struct slice){slice.data + len, slice.len - len};
}

/* Returns the text without blanks at its ends. */
struct slice suppress_trim(const char *start, const char *end);

/* A line as a message can show it. */
struct quoted {
	char text[SUPPRESS_QUOTED_BYTES_MAX * 4 + sizeof("…")];
};

struct quoted suppress_quote(struct slice slice);

/* An error of the input: its file and line are put in front. */
#define malformed_at(parser, number, ...)                                                          \
	error_prefix(error_create(ERROR_INPUT, __VA_ARGS__), "%s:%u", (parser)->file, (number))
#define malformed(parser, ...) malformed_at(parser, (parser)->line_number, __VA_ARGS__)

/* Goes to the next line that is neither blank nor a comment. */
void suppress_next_line(struct parser *parser);

/* Returns an error for a line that can't be in such a file. */
struct error *suppress_check_line(const struct parser *parser) must_check_;

#endif
