/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See suppress_lines.h. */
#include "analysis/leaks/suppress_lines.h"

#include "analysis/leaks/suppress_impl.h"

static bool is_blank(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

struct slice suppress_trim(const char *start, const char *end)
{
	while (start < end && is_blank(*start))
		start++;
	while (start < end && is_blank(end[-1]))
		end--;
	return (struct slice){start, (size_t)(end - start)};
}

struct quoted suppress_quote(struct slice slice)
{
	static const char digits[] = "0123456789abcdef";
	struct quoted quoted;
	char *to = quoted.text;
	for (size_t i = 0; i < slice.len && i < SUPPRESS_QUOTED_BYTES_MAX; i++) {
		uint8_t byte = (uint8_t)slice.data[i];
		if (byte >= ' ' && byte < 0x7f) {
			*to++ = (char)byte;
			continue;
		}
		*to++ = '\\';
		*to++ = 'x';
		*to++ = digits[byte >> 4];
		*to++ = digits[byte & 15];
	}
	strcpy(to, slice.len > SUPPRESS_QUOTED_BYTES_MAX ? "…" : "");
	return quoted;
}

void suppress_next_line(struct parser *parser)
{
	parser->has_line = false;
	parser->line_bad = false;
	while (parser->pos < parser->end) {
		size_t left = (size_t)(parser->end - parser->pos);
		const char *newline = memchr(parser->pos, '\n', left);
		const char *line_end = newline ? newline : parser->end;
		parser->line = suppress_trim(parser->pos, line_end);
		parser->set->effort.bytes_scanned += (uint64_t)(line_end - parser->pos);
		parser->pos = newline ? newline + 1 : parser->end;
		parser->line_number++;
		if (parser->line.len == 0 || parser->line.data[0] == '#')
			continue;
		parser->has_line = true;
		parser->line_bad = parser->line.len > SUPPRESS_LINE_BYTES_MAX ||
				   memchr(parser->line.data, '\0', parser->line.len);
		return;
	}
}

struct error *suppress_check_line(const struct parser *parser)
{
	if (!parser->line_bad)
		return NULL;
	if (parser->line.len > SUPPRESS_LINE_BYTES_MAX)
		return malformed(parser,
			"the line has %zu bytes, more than %u; if this is a suppression file, use "
			"wildcards",
			parser->line.len, SUPPRESS_LINE_BYTES_MAX);
	return malformed(parser, "the line contains a NUL byte; expected a text file in UTF-8");
}
