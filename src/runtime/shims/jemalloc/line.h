/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A line of text of bounded length that is put together without libc's stdio, which allocates. What
 * does not fit is cut off, as jemalloc does. */
#ifndef RUNTIME_SHIMS_JEMALLOC_LINE_H
#define RUNTIME_SHIMS_JEMALLOC_LINE_H

#include <stddef.h>
#include <stdint.h>

#define JE_LINE_BYTES 8192

struct je_line {
	size_t length;
	char data[JE_LINE_BYTES]; /* ends with a NUL */
};

static inline void je_line_init(struct je_line *line)
{
	line->length = 0;
	line->data[0] = 0;
}

static inline void je_line_add_n(struct je_line *line, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes && line->length < JE_LINE_BYTES - 1; i++)
		line->data[line->length++] = text[i];
	line->data[line->length] = 0;
}

static inline void je_line_add(struct je_line *line, const char *text)
{
	size_t bytes = 0;
	while (text[bytes])
		bytes++;
	je_line_add_n(line, text, bytes);
}

static inline void je_line_add_number(struct je_line *line, uint64_t number)
{
	char digits[20];
	size_t n = sizeof(digits);
	do
		digits[--n] = (char)('0' + number % 10);
	while (number /= 10);
	je_line_add_n(line, digits + n, sizeof(digits) - n);
}

#endif
