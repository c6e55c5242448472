/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of a source file, one after the other, as text shows them. Inside views/ only. */
#ifndef VIEWS_SOURCE_LINES_H
#define VIEWS_SOURCE_LINES_H

#include "analysis/listing.h"
#include "base/text.h"

/* A line's own text, without its end. */
struct source_line {
	const char *text; /* NULL: there is no such line */
	size_t len;
};

struct source_reader {
	const char *next, *end; /* next NULL: no more */
	uint32_t line;          /* of the last one read, from 1 */
};

/* Begins before the first line; the source is borrowed. One without a text has no lines. */
struct source_reader source_reader_of(const struct listing_source *source);
/* Returns a line; they have to be asked for in ascending order, each once. */
struct source_line source_reader_line(struct source_reader *reader, uint32_t line);

/* Adds the line as it is, tabs too, but for what would spoil a terminal. */
void source_line_add_raw(struct text *out, struct source_line line);
/* Adds the line with tabs as eight columns, and nothing that would spoil a terminal. */
void source_line_add(struct text *out, struct source_line line);

#endif
