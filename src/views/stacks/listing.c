/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See listing.h. As text:
 *
 *	read_line in /src/input.c
 *	       allocated               live               peak          temporary
 *	     flat       cum      flat       cum      flat       cum    flat    cum
 *	        .         .         .         .         .         .       .      .    41  char *p;
 *	 12.3 MiB  12.3 MiB         .         .  1.20 MiB  1.20 MiB     800    800    42  p = f();
 */
#include "views/listing.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "views/report/head.h"
#include "views/report/paint.h"
#include "views/report/recorded_columns.h"
#include "views/stacks/figures.h"
#include "views/stacks/source_lines.h"

/* Lines shown before the first and after the last one of a function, and around a line. */
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

/* A line of a part, as it is shown. */
struct shown_line {
	uint32_t line;
	struct source_line text;
	const struct listing_line *figures; /* NULL: it has none */
};
DEFINE_VEC(shown_lines, struct shown_line)

struct listing_page {
	const struct profile *profile;
	const struct listing_options *options;
	const struct listing *listing;
	const struct listing_source *sources; /* of its parts */
	const struct recording *recording;    /* says what is known */
	/* What is nested in the row that is laid out. */
	struct listing_inner {
		struct shown_lines lines; /* of `part` */
		size_t part;
		struct sums_rows flat, cum;
	} * inner;
};

static bool listing_is_known(const struct listing_page *at, const struct figure_column *column)
{
	return metric_is_known(column->metric, at->recording);
}

static int listing_width_of(const struct figure_column *column)
{
	return metric_is_bytes(column->metric) ? BYTES_WIDTH : COUNT_WIDTH;
}

/* Of a line without figures (NULL) and of zeros: dots, as in pprof. */
static void add_figure(const struct listing_page *at, const struct figure_column *column,
	const struct row *sums, struct text *out)
{
	int64_t value = sums ? row_value(sums, column->metric) : 0;
	if (value == 0)
		text_printf(out, "%*s", listing_width_of(column), ".");
	else
		text_add_figure_cell(
			out, column->metric, value, at->profile->base, listing_width_of(column));
}

static void listing_add_figures(const struct listing_page *at, const struct row *flat,
	const struct row *cum, struct text *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		if (!listing_is_known(at, &columns[i]))
			continue;
		add_figure(at, &columns[i], flat, out);
		add_figure(at, &columns[i], cum, out);
	}
}

static void add_header(const struct listing_page *at, struct text *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (listing_is_known(at, &columns[i]))
			text_printf(
				out, "%*s", 2 * listing_width_of(&columns[i]), columns[i].title);
	text_add_char(out, '\n');
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (listing_is_known(at, &columns[i]))
			text_printf(out, "%*s%*s", listing_width_of(&columns[i]), "flat",
				listing_width_of(&columns[i]), "cum");
	text_add(out, "\n");
}

/* Which lines are shown, both included. */
struct span {
	uint32_t first, last;
};

static struct span span_of(const struct listing_page *at, const struct listing_part *part,
	const struct listing_source *source)
{
	const struct listing_line *lines = part->lines.data;
	/* The one without a number stands before all others. */
	uint32_t first = lines[part->lines.len > 1 && !lines[0].line].line;
	uint32_t last = lines[part->lines.len - 1].line;
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

static void listing_add_line(
	const struct listing_page *at, const struct shown_line *line, struct text *out)
{
	const struct listing_line *figures = line->figures;
	enum paint paint = figures ? PAINT_NONE : PAINT_SMALL;
	paint_begin(out, at->options->view.colour, paint);
	listing_add_figures(
		at, figures ? &figures->flat : NULL, figures ? &figures->cum : NULL, out);
	paint_end(out, at->options->view.colour, paint);
	if (line->line)
		text_printf(out, "%7" PRIu32 "  ", line->line);
	else
		text_add(out, "      ?  (the line is not known)");
	source_line_add(out, line->text);
	while (out->len && !out->failed && out->data[out->len - 1] == ' ')
		out->data[--out->len] = '\0';
	text_add_char(out, '\n');
}

/* Lines of the source around those with figures, and these. False: no memory. */
static bool find_lines(const struct listing_page *at, size_t number)
{
	const struct listing_part *part = &at->listing->parts.data[number];
	const struct listing_source *source = &at->sources[number];
	struct shown_lines *lines = &at->inner->lines;
	struct span span = span_of(at, part, source);
	struct source_reader reader = source_reader_of(source);
	size_t next = 0;
	at->inner->part = number;
	shown_lines_clear(lines);
	const struct listing_line *first = part->lines.data;
	if (first->line == 0 && !at->options->line) {
		if (!shown_lines_push(lines, (struct shown_line){.figures = first}))
			return false;
		next++;
	}
	for (uint64_t i = span.first; i <= span.last; i++) {
		struct shown_line line = {.line = (uint32_t)i};
		while (next < part->lines.len && part->lines.data[next].line < line.line)
			next++;
		if (next < part->lines.len && part->lines.data[next].line == line.line)
			line.figures = &part->lines.data[next];
		line.text = source_reader_line(&reader, line.line);
		if (line.text.text || line.figures) {
			if (!shown_lines_push(lines, line))
				return false;
			continue;
		}
		/* After the end of the source there are only lines with figures. */
		if (next >= part->lines.len || part->lines.data[next].line > span.last)
			break;
		i = (uint64_t)part->lines.data[next].line - 1;
	}
	return true;
}

static void add_path(struct text *out, const char *before, const char *path)
{
	text_add(out, before);
	text_add_shown(out, path, SIZE_MAX);
	text_add_char(out, '\n');
}

static void add_source_notes(const struct listing_source *source, struct text *out)
{
	if (!source->found) {
		text_add(out, "  its source was not found; tried\n");
		for (size_t i = 0; i < source->tried_count; i++)
			add_path(out, "    ", source->tried[i]);
		if (source->refused)
			add_path(out,
				"  not shown, because its name is not that of a source file: ",
				source->refused);
		text_add(out, "  use --source-path DIR to name the source directory\n");
		return;
	}
	add_path(out, "  source: ", source->found);
	if (source->newer)
		text_add(out, "  it has changed since the recording began: lines may have moved\n");
}

static void listing_part_text(const void *context, size_t row, struct text *out)
{
	const struct listing_page *at = context;
	const struct listing_part *part = &at->listing->parts.data[row];
	text_add_char(out, '\n');
	paint_begin(out, at->options->view.colour, PAINT_TITLE);
	if (part->function) {
		text_add_shown(out, part->function, SIZE_MAX);
		text_add(out, " in ");
	}
	text_add_shown(out, part->file, SIZE_MAX);
	paint_end(out, at->options->view.colour, PAINT_TITLE);
	text_add_char(out, '\n');
	add_source_notes(&at->sources[row], out);
	add_header(at, out);
	listing_add_figures(at, &part->flat, &part->cum, out);
	text_add(out, "  in all\n");
	out->failed |= !find_lines(at, row);
	for (size_t i = 0; i < at->inner->lines.len; i++)
		listing_add_line(at, &at->inner->lines.data[i], out);
}

enum { FOUND, NEWER, TRIED, REFUSED };
static const struct column source_columns[] = {
	[FOUND] = {"found", COLUMN_TEXT, .says = "the path where it was found; null: it was not",
		COLUMN_OF(listing_source, found)},
	[NEWER] = {"newer", COLUMN_BOOLEAN,
		.says = "it was changed after the recording began, so lines may have moved",
		COLUMN_OF(listing_source, newer)},
	[TRIED] = {"tried", COLUMN_LIST, .says = "all paths that were tried",
		.nested = &report_word_type},
	[REFUSED] = {"refused", COLUMN_TEXT,
		.says = "one of them that exists, but is not shown because its name (or that of "
			"its "
			"link target) is not one of source code; null: there is none",
		COLUMN_OF(listing_source, refused)},
	COLUMNS_END};

static void source_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct listing_source *source = context;
	(void)row;
	if (column == TRIED)
		ret->nested = (struct table){&report_word_type, source->tried, source->tried_count,
			.limit = TABLE_NO_LIMIT};
	else
		table_member(&source_columns[column], source, ret);
}

static const struct table_type source_type = {.columns = source_columns, .cell = source_cell};

static const struct column name_columns[] = {
	{"function", COLUMN_TEXT, .says = "null if files are asked for",
		COLUMN_OF(listing_part, function)},
	{"file", COLUMN_TEXT, .says = "the source file as debug information names it",
		COLUMN_OF(listing_part, file)},
	{"module", COLUMN_TEXT, .says = "the module in which its code was first found",
		COLUMN_OF(listing_part, module_path)},
	COLUMNS_END};
static const struct table_type name_type = {
	.columns = name_columns, .row_bytes = sizeof(struct listing_part)};

static void listing_sums_cell(const struct listing_page *at, const struct row *flat,
	const struct row *cum, bool is_cum, struct cell *ret)
{
	sums_cell(is_cum ? &at->inner->cum : &at->inner->flat, is_cum ? cum : flat, ret);
}

#define SUMS_COLUMNS(at, what)                                                                     \
	[at] = {"flat", COLUMN_RECORD,                                                             \
		.says = "what it allocated itself, with native code that a line of Python or the " \
			"like calls" what,                                                         \
		.nested = &sums_type},                                                             \
	[(at) + 1] = {"cum", COLUMN_RECORD,                                                        \
		.says = "including everything that was allocated below it, each stack once" what,  \
		.nested = &sums_type}

enum { TRACED_COUNT, TRACED_GROWTH, TRACED_LARGEST };
static const struct column traced_columns[] = {
	[TRACED_COUNT] = {"occurrences", COLUMN_INTEGER, UNIT_COUNT, .says = "how often it began"},
	[TRACED_GROWTH] = {"resident_growth_bytes", COLUMN_SIGNED, UNIT_BYTES,
		.says = "by how much the process's resident memory grew while it ran, callees "
			"included, all times together; null: not known"},
	[TRACED_LARGEST] = {"resident_bytes", COLUMN_INTEGER, UNIT_BYTES,
		.says = "the process's resident memory after it, at most; null: not known"},
	COLUMNS_END};

static void traced_cell(
	const void *context, __attribute__((unused)) size_t row, unsigned column, struct cell *ret)
{
	const struct traced_line *traced = context;
	if (column == TRACED_COUNT)
		ret->number = traced->count;
	else if (column == TRACED_GROWTH)
		ret->signed_number = traced->growth_bytes;
	else
		ret->number = traced->largest_bytes;
	if (column != TRACED_COUNT && !traced_line_has_sizes(traced))
		ret->state = CELL_UNKNOWN;
}

static const struct table_type traced_type = {.columns = traced_columns, .cell = traced_cell};

enum { LINE, TEXT, LINE_FLAT, LINE_CUM, LINE_TRACED };
static const struct column listed_columns[] = {
	[LINE] = {"line", COLUMN_INTEGER,
		.says = "its number; null: figures of code whose line is not known"},
	[TEXT] = {"text", COLUMN_TEXT, .says = "null if the source was not found"},
	SUMS_COLUMNS(LINE_FLAT, "; null if that is nothing"),
	[LINE_TRACED] = {"traced", COLUMN_RECORD, .optional = true,
		.says = "of a function that was traced (`run --line-rss`): what was seen when the "
			"line ran; null: it did not run",
		.nested = &traced_type},
	COLUMNS_END};

/* A text of C ends at a NUL, which a line may contain. */
static void add_whole_line(struct text *out, struct source_line line)
{
	for (size_t i = 0; i < line.len; i++) {
		char c = line.text[i];
		if (!c)
			c = '?';
		text_add_char(out, c);
	}
}

static void listing_line_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct listing_page *at = context;
	const struct shown_line *line = &at->inner->lines.data[row];
	const struct listing_line *figures = line->figures;
	if (column == LINE) {
		ret->number = line->line;
		ret->state = line->line ? CELL_KNOWN : CELL_UNKNOWN;
	} else if (column == TEXT && line->text.text) {
		add_whole_line(&ret->built, line->text);
		cell_take_built(ret);
	} else if (column == LINE_TRACED) {
		const struct listing_part *part = &at->listing->parts.data[at->inner->part];
		const struct traced_line *traced = listing_trace(part, line->line);
		if (traced)
			cell_take_record(ret, &traced_type, traced);
		else
			ret->state = part->traces.len ? CELL_UNKNOWN : CELL_ABSENT;
	} else if (column != TEXT) {
		listing_sums_cell(at, figures ? &figures->flat : NULL,
			figures ? &figures->cum : NULL, column == LINE_CUM, ret);
	}
}

static const struct table_type line_type = {.columns = listed_columns, .cell = listing_line_cell};

enum { NAMES, SOURCE, FLAT, CUM, LINES };
static const struct column part_columns[] = {[NAMES] = {"", COLUMN_RECORD, .nested = &name_type},
	[SOURCE] = {"source", COLUMN_RECORD, .says = "where it was looked for",
		.nested = &source_type},
	SUMS_COLUMNS(FLAT, ""),
	[LINES] = {"lines", COLUMN_TABLE,
		.says = "ascending: the same lines as in text (five lines around a function, ten "
			"around a line)",
		.nested = &line_type},
	COLUMNS_END};

static void part_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct listing_page *at = context;
	const struct listing_part *part = &at->listing->parts.data[row];
	if (column == NAMES) {
		cell_take_record(ret, &name_type, part);
	} else if (column == SOURCE) {
		cell_take_record(ret, &source_type, &at->sources[row]);
	} else if (column == LINES) {
		ret->built.failed |= !find_lines(at, row);
		ret->nested = (struct table){
			&line_type, at, at->inner->lines.len, .limit = TABLE_NO_LIMIT};
	} else {
		listing_sums_cell(at, &part->flat, &part->cum, column == CUM, ret);
	}
}

static const struct table_type part_type = {.name = "parts",
	.says = "one for each function and file that contains its lines, or one for each file; the "
		"largest `cum` first",
	.columns = part_columns,
	.cell = part_cell,
	.row_text = listing_part_text};

/* A line with the names of its part before it, which CSV has in place of parts. */
enum { CSV_LINE = NAMES + 1 };
static const struct column csv_columns[] = {[NAMES] = {"", COLUMN_RECORD, .nested = &name_type},
	[CSV_LINE] = {"", COLUMN_RECORD, .nested = &line_type},
	COLUMNS_END};

static void csv_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct listing_page *at = context;
	if (column == NAMES) {
		cell_take_record(ret, &name_type, &at->listing->parts.data[at->inner->part]);
	} else {
		cell_take_record(ret, &line_type, at);
		ret->row = row;
	}
}

static const struct table_type csv_type = {
	.name = "parts[].lines", .columns = csv_columns, .cell = csv_cell};

static const struct column of_columns[] = {
	{"of", COLUMN_TEXT, .says = "the function or file, as given",
		COLUMN_OF(listing_options, wanted)},
	COLUMNS_END};
static const struct table_type of_type = {
	.columns = of_columns, .row_bytes = sizeof(struct listing_options)};

const struct answer_type listing_answer_type = {.schema = "heapwise.list/1",
	.from = "heapwise list --json",
	.says = "source lines with the memory that they allocate. `metric` is `allocated_bytes`. "
		"Lines of CSV have the function, file and module of their part "
		"first. " STACKS_HEAD_SAYS,
	.tables =
		(const struct table_type *const[]){&stacks_metric_type, &of_type, &part_type, NULL},
	.main = &csv_type,
	.parts = (const struct table_type *const[]){&sums_type, NULL}};

static struct error *put_lines(const struct listing_page *at, struct answer *answer)
{
	const struct table table = {&csv_type, at, 0, .limit = TABLE_NO_LIMIT};
	answer_table_begin(answer, &table);
	for (size_t i = 0; i < at->listing->parts.len; i++) {
		if (!find_lines(at, i))
			return error_no_memory();
		for (size_t k = 0; k < at->inner->lines.len; k++)
			answer_row(answer, &table, k);
	}
	answer_table_end(answer, &table);
	return NULL;
}

static struct error *listing_put(void *context, struct answer *answer)
{
	const struct listing_page *at = context;
	const struct table parts = {
		&part_type, at, at->listing->parts.len, .limit = TABLE_NO_LIMIT};
	answer_record_of(answer, &of_type, at->options);
	if (at->options->view.csv)
		return put_lines(at, answer);
	answer_table(answer, &parts);
	return NULL;
}

struct error *listing_write(const struct profile *profile, const struct listing *listing,
	const struct listing_source *sources, const struct listing_options *options,
	const struct sink *sink)
{
	const struct sums_rows sums = {.recording = model_recording(profile->model)};
	struct listing_inner inner = {.flat = sums, .cum = sums};
	struct listing_page at = {profile, options, listing, sources, sums.recording, &inner};
	struct view_options view = options->view;
	view.sort = METRIC_ALLOCATED_BYTES; /* what `whole` is of; all are shown */
	shown_lines_init(&inner.lines);
	struct error *error =
		stacks_answer(profile, &view, &listing_answer_type, listing_put, &at, sink);
	shown_lines_deinit(&inner.lines);
	return error;
}
