/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See listing.h. As text:
 *
 *	read_line in /src/input.c
 *	       allocated               live               peak          temporary
 *	     flat       cum      flat       cum      flat       cum    flat    cum
 *	        .         .         .         .         .         .       .      .    41  char *line
 *= NULL; 12.3 MiB  12.3 MiB         .         .  1.20 MiB  1.20 MiB     800    800    42  line =
 *malloc(n);
 */
#include "views/listing.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "views/report/json_parts.h"
#include "views/report/paint.h"
#include "views/report/text_parts.h"
#include "views/stacks/figures.h"

/* Lines shown before the first and behind the last one of a function, and around a line. */
#define FUNCTION_MARGIN 5u
#define LINE_MARGIN 10u
#define BYTES_WIDTH 10
#define COUNT_WIDTH 9

static const struct figure_column {
	enum metric metric;
	const char *title;
} columns[] = {
	{METRIC_ALLOCATED_BYTES, "allocated"},
	{METRIC_LIVE_BYTES, "live"},
	{METRIC_PEAK_BYTES, "peak"},
	{METRIC_TEMPORARY, "temporary"},
};

struct listing_writing {
	const struct profile *profile;
	const struct listing_options *options;
	struct text *out;
	struct json *json;
	const struct recording *recording; /* says what is known */
};

static bool listing_is_known(const struct listing_writing *at, const struct figure_column *column)
{
	return metric_is_known(column->metric, at->recording);
}

static int listing_width_of(const struct figure_column *column)
{
	return metric_is_bytes(column->metric) ? BYTES_WIDTH : COUNT_WIDTH;
}

/* Of a line without figures (NULL) and of zeros: dots, as in pprof. */
static void add_figure(
	struct listing_writing *at, const struct figure_column *column, const struct row *sums)
{
	int64_t value = sums ? row_value(sums, column->metric) : 0;
	if (value == 0)
		text_printf(at->out, "%*s", listing_width_of(column), ".");
	else
		text_add_figure_cell(at->out, column->metric, value, at->profile->base,
			listing_width_of(column));
}

static void listing_add_figures(
	struct listing_writing *at, const struct row *flat, const struct row *cum)
{
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		if (!listing_is_known(at, &columns[i]))
			continue;
		add_figure(at, &columns[i], flat);
		add_figure(at, &columns[i], cum);
	}
}

static void add_header(struct listing_writing *at)
{
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (listing_is_known(at, &columns[i]))
			text_printf(at->out, "%*s", 2 * listing_width_of(&columns[i]),
				columns[i].title);
	text_add_char(at->out, '\n');
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (listing_is_known(at, &columns[i]))
			text_printf(at->out, "%*s%*s", listing_width_of(&columns[i]), "flat",
				listing_width_of(&columns[i]), "cum");
	text_add(at->out, "\n");
}

/* A line's own text, without its end. */
struct source_line {
	const char *text; /* NULL: there is no such line */
	size_t len;
};

/* Lines of a source, one after the other. */
struct source_reader {
	const char *next, *end; /* next NULL: no more */
	uint32_t line;          /* of the last one read, from 1 */
};

static struct source_reader read_source(const struct listing_source *source)
{
	struct source_reader reader = {source->text, source->text + source->len, 0};
	if (!source->text || !source->len)
		reader.next = NULL;
	return reader;
}

/* Lines have to be asked for in ascending order. */
static struct source_line listing_read_line(struct source_reader *reader, uint32_t line)
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

/* Which lines are shown, both included. */
struct span {
	uint32_t first, last;
};

static struct span span_of(const struct listing_writing *at, const struct listing_part *part,
	const struct listing_source *source)
{
	uint32_t first = part->lines.data[0].line;
	uint32_t last = part->lines.data[part->lines.len - 1].line;
	uint32_t margin = part->function ? FUNCTION_MARGIN : UINT32_MAX;
	if (at->options->line) {
		first = last = at->options->line;
		margin = LINE_MARGIN;
	}
	/* Without the source there is nothing around the lines with figures. */
	if (!source->text && !at->options->line)
		return (struct span){first, last};
	return (struct span){first > margin ? first - margin : 1,
		last < UINT32_MAX - margin ? last + margin : UINT32_MAX};
}

/* Tabs as eight columns, and nothing that would spoil a terminal. */
static void add_source_line(struct text *out, struct source_line line)
{
	size_t column = 0;
	for (size_t i = 0; i < line.len; i++) {
		unsigned char c = (unsigned char)line.text[i];
		if (c == '\t') {
			text_printf(out, "%*s", (int)(8 - column % 8), "");
			column += 8 - column % 8;
			continue;
		}
		bool control = c < ' ' || c == 0x7f;
		text_add_n(out, control ? "?" : &line.text[i], 1);
		column += (c & 0xc0) != 0x80;
	}
}

static void put_line(struct listing_writing *at, const struct listing_line *figures, uint32_t line,
	struct source_line text)
{
	json_object_begin(at->json);
	json_put_u64(at->json, "line", line);
	json_key(at->json, "text");
	if (text.text)
		json_string_n(at->json, text.text, text.len);
	else
		json_null(at->json);
	json_put_sums(at->json, "flat", figures ? &figures->flat : NULL, at->recording);
	json_put_sums(at->json, "cum", figures ? &figures->cum : NULL, at->recording);
	json_object_end(at->json);
}

static void listing_add_line(struct listing_writing *at, const struct listing_line *figures,
	uint32_t line, struct source_line text)
{
	enum paint paint = figures ? PAINT_NONE : PAINT_SMALL;
	paint_begin(at->out, at->options->colour, paint);
	listing_add_figures(at, figures ? &figures->flat : NULL, figures ? &figures->cum : NULL);
	paint_end(at->out, at->options->colour, paint);
	text_printf(at->out, "%7" PRIu32 "  ", line);
	add_source_line(at->out, text);
	while (at->out->len && !at->out->failed && at->out->data[at->out->len - 1] == ' ')
		at->out->data[--at->out->len] = '\0';
	text_add_char(at->out, '\n');
}

/* What the source has from one line with figures to the next, and these. */
static void add_lines(struct listing_writing *at, const struct listing_part *part,
	const struct listing_source *source)
{
	struct span span = span_of(at, part, source);
	struct source_reader reader = read_source(source);
	size_t next = 0;
	for (uint64_t number = span.first; number <= span.last; number++) {
		uint32_t line = (uint32_t)number;
		while (next < part->lines.len && part->lines.data[next].line < line)
			next++;
		bool has_figures = next < part->lines.len && part->lines.data[next].line == line;
		const struct listing_line *figures = has_figures ? &part->lines.data[next] : NULL;
		struct source_line text = listing_read_line(&reader, line);
		if (text.text || figures) {
			(at->json ? put_line : listing_add_line)(at, figures, line, text);
			continue;
		}
		/* Behind the end of the source there are lines with figures alone. */
		if (next >= part->lines.len || part->lines.data[next].line > span.last)
			return;
		number = (uint64_t)part->lines.data[next].line - 1;
	}
}

static void add_path(struct text *out, const char *before, const char *path)
{
	text_add(out, before);
	text_add_shown(out, path, SIZE_MAX);
	text_add_char(out, '\n');
}

static void add_source_notes(struct listing_writing *at, const struct listing_source *source)
{
	if (!source->found) {
		text_add(at->out, "  its source was not found; tried\n");
		for (size_t i = 0; i < source->tried_count; i++)
			add_path(at->out, "    ", source->tried[i]);
		if (source->refused)
			add_path(at->out,
				"  not shown, because its name is not that of a source file: ",
				source->refused);
		text_add(at->out, "  use --source-path DIR to name the source directory\n");
		return;
	}
	add_path(at->out, "  source: ", source->found);
	if (source->newer)
		text_add(at->out,
			"  it has changed since the recording began: lines may have moved\n");
}

static void listing_add_part(struct listing_writing *at, const struct listing_part *part,
	const struct listing_source *source)
{
	text_add_char(at->out, '\n');
	paint_begin(at->out, at->options->colour, PAINT_TITLE);
	if (part->function) {
		text_add_shown(at->out, part->function, SIZE_MAX);
		text_add(at->out, " in ");
	}
	text_add_shown(at->out, part->file, SIZE_MAX);
	paint_end(at->out, at->options->colour, PAINT_TITLE);
	text_add_char(at->out, '\n');
	add_source_notes(at, source);
	add_header(at);
	listing_add_figures(at, &part->flat, &part->cum);
	text_add(at->out, "  in all\n");
	add_lines(at, part, source);
}

static void put_source(struct json *json, const struct listing_source *source)
{
	json_key(json, "source");
	json_object_begin(json);
	json_put_string(json, "found", source->found);
	json_put_bool(json, "newer", source->newer);
	json_key(json, "tried");
	json_array_begin(json);
	for (size_t i = 0; i < source->tried_count; i++)
		json_string(json, source->tried[i]);
	json_array_end(json);
	json_put_string(json, "refused", source->refused);
	json_object_end(json);
}

static void put_part(struct listing_writing *at, const struct listing_part *part,
	const struct listing_source *source)
{
	json_object_begin(at->json);
	json_put_string(at->json, "function", part->function);
	json_put_string(at->json, "file", part->file);
	json_put_string(at->json, "module", part->module_path);
	put_source(at->json, source);
	json_put_sums(at->json, "flat", &part->flat, at->recording);
	json_put_sums(at->json, "cum", &part->cum, at->recording);
	json_key(at->json, "lines");
	json_array_begin(at->json);
	add_lines(at, part, source);
	json_array_end(at->json);
	json_object_end(at->json);
}

static struct error *listing_write_text(struct listing_writing *at, const struct listing *listing,
	const struct listing_source *sources, const struct sink *sink)
{
	text_heading(at->profile->model, at->out);
	text_notes(&at->profile->notes, at->out);
	for (size_t i = 0; i < listing->parts.len; i++)
		listing_add_part(at, &listing->parts.data[i], &sources[i]);
	if (at->out->failed)
		return error_no_memory();
	sink->write(sink->ctx, at->out->data, at->out->len);
	return NULL;
}

static void listing_write_json(struct listing_writing *at, const struct listing *listing,
	const struct listing_source *sources, const struct sink *sink)
{
	struct json json;
	at->json = &json;
	json_init(&json, sink->write, sink->ctx);
	json_object_begin(&json);
	json_put_string(&json, "schema", "heapwise.list/1");
	json_put_profile(&json, at->profile, METRIC_ALLOCATED_BYTES);
	json_put_string(&json, "of", at->options->wanted);
	json_key(&json, "parts");
	json_array_begin(&json);
	for (size_t i = 0; i < listing->parts.len; i++)
		put_part(at, &listing->parts.data[i], &sources[i]);
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
}

struct error *listing_write(const struct profile *profile, const struct listing *listing,
	const struct listing_source *sources, const struct listing_options *options,
	const struct sink *sink)
{
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	struct listing_writing at = {
		.profile = profile,
		.options = options,
		.out = &out,
		.recording = model_recording(profile->model),
	};
	if (!options->json)
		return listing_write_text(&at, listing, sources, sink);
	listing_write_json(&at, listing, sources, sink);
	return NULL;
}
