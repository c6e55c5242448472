/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/stacks/source_lines.h"

#include <string.h>

struct source_reader source_reader_of(const struct listing_source *source)
{
	struct source_reader reader = {source->text, source->text + source->len, 0};
	if (!source->text || !source->len)
		reader.next = NULL;
	return reader;
}

struct source_line source_reader_line(struct source_reader *reader, uint32_t line)
{
	struct source_line found = {NULL, 0};
	while (reader->next && reader->line < line) {
		const char *start = reader->next;
		const char *end = memchr(start, '\n', (size_t)(reader->end - start));
		reader->next = end && end + 1 < reader->end ? end + 1 : NULL;
		reader->line++;
		if (reader->line == line)
			found = (struct source_line){
				start, (size_t)((end ? end : reader->end) - start)};
	}
	if (found.len && found.text[found.len - 1] == '\r')
		found.len--;
	return found;
}

static bool is_control(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f;
}

void source_line_add_raw(struct text *out, struct source_line line)
{
	for (size_t i = 0; i < line.len; i++) {
		bool spoils = is_control(line.text[i]) && line.text[i] != '\t';
		text_add_n(out, spoils ? "?" : &line.text[i], 1);
	}
}

void source_line_add(struct text *out, struct source_line line)
{
	size_t column = 0;
	for (size_t i = 0; i < line.len; i++) {
		unsigned char c = (unsigned char)line.text[i];
		if (c == '\t') {
			text_printf(out, "%*s", (int)(8 - column % 8), "");
			column += 8 - column % 8;
			continue;
		}
		text_add_n(out, is_control(line.text[i]) ? "?" : &line.text[i], 1);
		column += (c & 0xc0) != 0x80;
	}
}
