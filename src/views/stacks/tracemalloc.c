/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/tracemalloc.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "views/export/export_out.h"
#include "views/stacks/source_lines.h"

void tracemalloc_add_size(struct text *text, double bytes, bool with_sign)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		double absolute = bytes < 0 ? -bytes : bytes;
		int decimals = i > 0 && absolute < 100 ? 1 : 0;
		if (!decimals && absolute >= 10 * 1024 && i + 1 < ARRAY_SIZE(units)) {
			bytes /= 1024;
			continue;
		}
		text_printf(text, with_sign ? "%+.*f %s" : "%.*f %s", decimals, bytes, units[i]);
		return;
	}
}

/* The oldest of its frames: all of them but in tracebacks, where it is what str() gives. */
static void add_first_frame(struct text *text, const struct python_place *frame)
{
	text_add_shown(text, frame->file, SIZE_MAX);
	text_printf(text, ":%" PRIu32 ": size=", frame->line);
}

static void tracemalloc_add_average(struct text *text, uint64_t size, uint64_t count)
{
	if (count) {
		text_add(text, ", average=");
		tracemalloc_add_size(text, (double)size / (double)count, false);
	}
	text_add_char(text, '\n');
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
}

/* A line of source without blanks around it, if it is known and more than these. */
static struct error *add_source(
	struct text *text, const struct tracemalloc_form *form, const struct python_place *frame)
{
	const char *line = NULL;
	size_t len = 0;
	struct error *error = form->line && frame->line
				      ? form->line(form->ctx, frame->file, frame->line, &line, &len)
				      : NULL;
	if (error || !line)
		return error;
	while (len && is_blank(line[len - 1]))
		len--;
	while (len && is_blank(*line)) {
		line++;
		len--;
	}
	if (!len)
		return NULL;
	text_add(text, "    ");
	source_line_add_raw(text, (struct source_line){line, len});
	text_add_char(text, '\n');
	return NULL;
}

static struct error *add_traceback(struct text *text, const struct tracemalloc_form *form,
	const struct python_place *frames, size_t depth)
{
	struct error *error = NULL;
	for (size_t i = 0; i < depth && form->tracebacks && !error; i++) {
		const struct python_place *frame =
			&frames[form->most_recent_first ? depth - 1 - i : i];
		text_add(text, "  File \"");
		text_add_shown(text, frame->file, SIZE_MAX);
		text_printf(text, "\", line %" PRIu32 "\n", frame->line);
		error = add_source(text, form, frame);
	}
	return error;
}

/* Adds the lines of the i-th of what is written. */
typedef struct error *add_item(
	struct text *text, const struct tracemalloc_form *form, const void *items, size_t i);

static struct error *add_statistic(
	struct text *text, const struct tracemalloc_form *form, const void *items, size_t i)
{
	const struct python_statistic *at = (const struct python_statistic *)items + i;
	add_first_frame(text, &at->frames[0]);
	tracemalloc_add_size(text, (double)at->size, false);
	text_printf(text, ", count=%" PRIu64, at->count);
	tracemalloc_add_average(text, at->size, at->count);
	return add_traceback(text, form, at->frames, at->depth);
}

static struct error *add_change(
	struct text *text, const struct tracemalloc_form *form, const void *items, size_t i)
{
	const struct python_change *at = (const struct python_change *)items + i;
	add_first_frame(text, &at->frames[0]);
	tracemalloc_add_size(text, (double)at->size, false);
	text_add(text, " (");
	tracemalloc_add_size(text, (double)at->size_change, true);
	text_printf(text, "), count=%" PRIu64 " (%+" PRId64 ")", at->count, at->count_change);
	tracemalloc_add_average(text, at->size, at->count);
	return add_traceback(text, form, at->frames, at->depth);
}

static struct error *write_items(const struct tracemalloc_form *form, const void *items,
	size_t count, add_item *add, const struct sink *sink)
{
	struct export_out out;
	export_out_init(&out, sink);
	struct error *error = NULL;
	for (size_t i = 0; i < count && i < form->limit && !error && !out.stopped; i++) {
		error = add(&out.text, form, items, i);
		if (!error)
			error = export_out_flush(&out);
	}
	if (!error)
		error = export_out_end(&out);
	export_out_deinit(&out);
	return error;
}

struct error *tracemalloc_write(const struct python_statistics *statistics,
	const struct tracemalloc_form *form, const struct sink *sink)
{
	return write_items(form, statistics->list.data, statistics->list.len, add_statistic, sink);
}

struct error *tracemalloc_write_changes(const struct python_changes *changes,
	const struct tracemalloc_form *form, const struct sink *sink)
{
	return write_items(form, changes->data, changes->len, add_change, sink);
}
