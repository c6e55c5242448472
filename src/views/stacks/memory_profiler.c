/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines in the layout of Python's memory_profiler:
 *
 *	Filename: /srv/app.py
 *
 *	Line #    Mem usage    Increment  Occurrences   Line Contents
 *	=============================================================
 *	    12                                          def load(path):
 *	    13            -    152.6 MiB            -       rows = read(path)
 *
 * memory_profiler traces lines and reads the size of the process after each. So does a recording of
 * functions that were asked for (run --line-rss), and these are their figures then. Of others it
 *has blocks instead: what a line and its callees allocated is exact, and stands under Increment;
 *the size of the process after a line, and how often it ran, are not known, and never invented.
 */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "views/export/export_out.h"
#include "views/listing.h"
#include "views/stacks/source_lines.h"

#define MIB ((double)(1u << 20))
#define UNTRACED "-"

struct profiled_part {
	const struct listing_part *part;
	const struct listing_source *source;
	const struct listing_options *options;
};

static void memory_profiler_add_header(struct text *out, const char *file)
{
	text_add(out, "Filename: ");
	text_add_shown(out, file, SIZE_MAX);
	text_add(out, "\n\n");
	size_t begin = out->len;
	text_printf(out, "%6s %12s %12s  %10s   %s", "Line #", "Mem usage", "Increment",
		"Occurrences", "Line Contents");
	size_t width = out->len - begin;
	text_add_char(out, '\n');
	while (width--)
		text_add_char(out, '=');
	text_add_char(out, '\n');
}

/* What a line and its callees allocated; NULL: none of it was recorded. */
static void add_figures(
	const struct profiled_part *at, const struct listing_line *figures, struct text *out)
{
	if (!figures) {
		text_printf(out, " %12s %12s  %10s   ", "", "", "");
		return;
	}
	int precision = (int)at->options->precision;
	_cleanup_(text_deinit) struct text increment;
	text_init(&increment);
	text_printf(&increment, "%*.*f MiB", precision + 4, precision,
		(double)row_value(&figures->cum, at->options->increment) / MIB);
	out->failed |= increment.failed;
	text_printf(out, " %12s %12s  %10s   ", UNTRACED, increment.data ? increment.data : "",
		UNTRACED);
}

/* What was seen of a line while it was traced; NULL: it did not run. */
static void add_traced(
	const struct profiled_part *at, const struct traced_line *traced, struct text *out)
{
	int precision = (int)at->options->precision;
	if (!traced) {
		text_printf(out, " %12s %12s  %10s   ", "", "", "");
		return;
	}
	_cleanup_(text_deinit) struct text usage, increment;
	text_init(&usage);
	text_init(&increment);
	if (traced_line_has_sizes(traced)) {
		text_printf(&usage, "%*.*f MiB", precision + 4, precision,
			(double)traced->largest_bytes / MIB);
		text_printf(&increment, "%*.*f MiB", precision + 4, precision,
			(double)traced->growth_bytes / MIB);
	}
	out->failed |= usage.failed || increment.failed;
	text_printf(out, " %12s %12s  %10" PRIu64 "   ", usage.data ? usage.data : UNTRACED,
		increment.data ? increment.data : UNTRACED, traced->count);
}

static void memory_profiler_add_line(const struct profiled_part *at, uint32_t number,
	const struct listing_line *figures, struct source_line line, struct text *out)
{
	if (number)
		text_printf(out, "%6" PRIu32, number);
	else
		text_printf(out, "%6s", UNTRACED);
	if (at->options->as_traced && at->part->traces.len)
		add_traced(at, listing_trace(at->part, number), out);
	else
		add_figures(at, figures, out);
	source_line_add_raw(out, line);
	text_add_char(out, '\n');
}

/* Which lines are shown, both included: of functions all that their code has. */
struct extent {
	uint32_t first, last;
};

static struct extent extent_of(const struct profiled_part *at)
{
	const struct listing_part *part = at->part;
	const struct listing_line *lines = part->lines.data;
	size_t count = part->lines.len, numbered = count > 1 && !lines[0].line;
	struct extent extent = {lines[numbered].line, lines[count - 1].line};
	if (at->options->line)
		return (struct extent){at->options->line, at->options->line};
	if (!part->function)
		return (struct extent){1, at->source->text ? UINT32_MAX : extent.last};
	if (part->first_line && part->first_line < extent.first)
		extent.first = part->first_line;
	if (part->last_line > extent.last)
		extent.last = part->last_line;
	return extent;
}

static void add_part(const struct profiled_part *at, struct text *out)
{
	const struct listing_line *next = at->part->lines.data;
	const struct listing_line *end = next + at->part->lines.len;
	struct extent extent = extent_of(at);
	struct source_reader reader = source_reader_of(at->source);
	memory_profiler_add_header(out, at->part->file);
	if (!next->line)
		memory_profiler_add_line(at, 0, next++, (struct source_line){NULL, 0}, out);
	while (next < end && next->line < extent.first)
		next++;
	for (uint64_t i = extent.first ? extent.first : 1; i <= extent.last; i++) {
		bool has_figures = next < end && next->line == i;
		struct source_line line = source_reader_line(&reader, (uint32_t)i);
		/* After the end of the source there are only lines with figures. */
		if (!line.text && next == end)
			break;
		if (line.text || has_figures || listing_trace(at->part, (uint32_t)i))
			memory_profiler_add_line(
				at, (uint32_t)i, has_figures ? next : NULL, line, out);
		else
			i = (uint64_t)next->line - 1;
		next += has_figures;
	}
	text_add(out, "\n\n");
}

struct error *memory_profiler_write(const struct listing *listing,
	const struct listing_source *sources, const struct listing_options *options,
	const struct sink *sink)
{
	struct export_out out;
	export_out_init(&out, sink);
	struct error *error = NULL;
	for (size_t i = 0; i < listing->parts.len && !error && !out.stopped; i++) {
		const struct profiled_part part = {&listing->parts.data[i], &sources[i], options};
		add_part(&part, &out.text);
		error = export_out_flush(&out);
	}
	if (!error)
		error = export_out_end(&out);
	export_out_deinit(&out);
	return error;
}
