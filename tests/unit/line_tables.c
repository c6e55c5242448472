// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Decodes tables of lines of Python's code: for each {format, first line, bytes: three 32-bit
 * numbers} and that many bytes on standard input a line of "instruction:line" on standard output.
 */
#include "capture/python/line_table.h"

#include <stdio.h>
#include <stdlib.h>

struct head {
	uint32_t format, first_line, bytes;
};

static bool table_print(const struct head *head, const uint8_t *bytes, struct event_line_vec *rows)
{
	if (!line_table_decode(
		    (enum hw_line_table)head->format, bytes, head->bytes, head->first_line, rows))
		return false;
	for (size_t i = 0; i < rows->len; i++)
		printf("%s%u:%u", i ? " " : "", rows->data[i].instruction, rows->data[i].line);
	return putchar('\n') != EOF;
}

int main(void)
{
	struct event_line_vec rows;
	struct head head;
	bool done = true;
	event_line_vec_init(&rows);
	while (done && fread(&head, sizeof(head), 1, stdin) == 1) {
		uint8_t *bytes = malloc(head.bytes + 1);
		done = bytes && fread(bytes, 1, head.bytes, stdin) == head.bytes &&
		       table_print(&head, bytes, &rows);
		free(bytes);
	}
	event_line_vec_deinit(&rows);
	return done && !ferror(stdin) && fflush(stdout) == 0 ? 0 : 1;
}
