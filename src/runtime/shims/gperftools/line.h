/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A text of bounded length that is put together without libc's stdio, which allocates. What does
 * not fit is cut off, and that is noted. */
#ifndef RUNTIME_SHIMS_GPERFTOOLS_LINE_H
#define RUNTIME_SHIMS_GPERFTOOLS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GP_LINE_BYTES 4096

struct gp_line {
	size_t length;
	bool is_cut;
	char data[GP_LINE_BYTES]; /* ends with a NUL */
};

static inline void gp_line_init(struct gp_line *line)
{
	line->length = 0;
	line->is_cut = false;
	line->data[0] = 0;
}

static inline void gp_line_add(struct gp_line *line, const char *text)
{
	for (; *text && line->length < GP_LINE_BYTES - 1; text++)
		line->data[line->length++] = *text;
	line->is_cut |= *text != 0;
	line->data[line->length] = 0;
}

static inline void gp_line_add_number(struct gp_line *line, uint64_t number)
{
	char digits[21];
	size_t n = sizeof(digits) - 1;
	digits[n] = 0;
	do
		digits[--n] = (char)('0' + number % 10);
	while (number /= 10);
	gp_line_add(line, digits + n);
}

#endif
