/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A row a stack, as RFC 4180 wants it, with all figures that are known; the rest is empty. The
 * stack is one field, outermost function first, with ';' between them; '\' stands before what is
 * ';' or '\' in a name.
 */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "views/export.h"
#include "views/export/export_frames.h"
#include "views/export/export_out.h"

#define LINE_END "\r\n"

struct csv {
	const struct exported *from;
	struct export_out out;
	struct text field, name;
};

static void csv_deinit(struct csv *at)
{
	export_out_deinit(&at->out);
	text_deinit(&at->field);
	text_deinit(&at->name);
}

/* In quotes, which are doubled inside. Spreadsheets run a cell that begins as a formula, quoted or
 * not: an apostrophe before it makes it text to them (OWASP, "CSV Injection"). */
static void add_field(struct text *out, const char *field)
{
	text_add_char(out, '"');
	if (field && *field && strchr("=+-@\t\r", *field))
		text_add_char(out, '\'');
	for (const char *from = field ? field : ""; *from;) {
		size_t plain = strcspn(from, "\"\n\t");
		text_add_plain_n(out, from, plain);
		from += plain;
		if (*from == '"')
			text_add_char(out, '"');
		if (*from)
			text_add_char(out, *from++);
	}
	text_add_char(out, '"');
}

static void export_csv_add_head(struct csv *at)
{
	for (int metric = 0; metric < METRICS; metric++)
		text_printf(&at->out.text, "%s,", metric_name((enum metric)metric));
	text_add(&at->out.text, "min_size,max_size,kind,function,file,line,module,stack" LINE_END);
}

static bool export_csv_is_known(const struct recording *recording, enum metric metric)
{
	return metric_is_known(metric, recording) &&
	       !(metric == METRIC_TEMPORARY && recording->sample_bytes);
}

static void export_csv_add_figures(struct csv *at, const struct site *sums)
{
	const struct recording *recording = model_recording(at->from->profile->model);
	struct text *out = &at->out.text;
	for (int metric = 0; metric < METRICS; metric++) {
		if (export_csv_is_known(recording, (enum metric)metric))
			text_printf(out, "%" PRIu64, metric_of_site((enum metric)metric, sums));
		text_add_char(out, ',');
	}
	if (recording->unknown & UNKNOWN_EXTREMES)
		text_add(out, ",,");
	else
		text_printf(out, "%" PRIu64 ",%" PRIu64 ",", sums->min_size, sums->max_size);
	add_field(out, sums->kind == KIND_UNKNOWN ? "" : alloc_kind_name(sums->kind));
	text_add_char(out, ',');
}

/* The frame to blame. */
static void export_csv_add_place(struct csv *at, const struct shown_frame *place)
{
	struct text *out = &at->out.text;
	add_field(out, place ? place->function : NULL);
	text_add_char(out, ',');
	add_field(out, place ? place->file : NULL);
	text_add_char(out, ',');
	if (place && place->file)
		text_printf(out, "%" PRIu32, place->line);
	text_add_char(out, ',');
	add_field(out, place ? place->module_path : NULL);
	text_add_char(out, ',');
}

static void export_csv_add_stack(struct csv *at, const struct row *row)
{
	text_clear(&at->field);
	for (size_t i = row->depth; i > 0; i--) {
		text_clear(&at->name);
		export_add_name(&at->name, row->frames[i - 1]);
		for (const char *c = at->name.data ? at->name.data : ""; *c; c++) {
			if (*c == ';' || *c == '\\')
				text_add_char(&at->field, '\\');
			text_add_char(&at->field, *c);
		}
		if (i > 1)
			text_add_char(&at->field, ';');
	}
	at->out.text.failed |= at->field.failed || at->name.failed;
	add_field(&at->out.text, at->field.data);
	text_add(&at->out.text, LINE_END);
}

struct error *export_csv(const struct exported *from, const struct sink *sink)
{
	_cleanup_(csv_deinit) struct csv at = {.from = from};
	const struct row_vec *rows = &profile_rows(from->profile)->rows;
	struct error *error = NULL;
	export_out_init(&at.out, sink);
	text_init(&at.field);
	text_init(&at.name);
	export_csv_add_head(&at);
	for (size_t i = 0; !error && !at.out.stopped && i < rows->len; i++) {
		export_csv_add_figures(&at, rows->data[i].sums);
		export_csv_add_place(&at, rows->data[i].place);
		export_csv_add_stack(&at, &rows->data[i]);
		error = export_out_flush(&at.out);
	}
	if (!error)
		error = export_out_end(&at.out);
	if (!error)
		text_add(from->lost, "The table contains no threads and no times, and lines only "
				     "of the allocation site.\n");
	return error;
}
