/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes that the program had requested, over time, as an area of braille dots: two columns and four
 * rows of them in each character.
 *
 *	1.43 MiB ┤                      ⢀⣀⣸
 *	         │                      ⢸⣿⣿⡇
 *	 732 KiB ┤  ⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿    ⢸⣿⣿⡇
 *	       0 ┼─────────────────────────────────
 *	         0            54.1 ms        108 ms
 *	                    peak 1.43 MiB ▲
 *	            a                 b
 *	  a: loaded    b: queries
 *
 * Where the terminal has no UTF-8, a character with any dot is a #.
 */
#include "views/report/timeline_chart.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "views/report/figure_text.h"
#include "views/report/paint.h"
#include "views/stacks/frames.h"

#define DOTS_ACROSS 2u
#define DOTS_DOWN 4u
#define LABEL_WIDTH 9
#define MARKS_MOST 26u
#define MARK_NAME_MOST 40
#define MARK_LINE_LEAST 60u /* columns of the line that says what letters are */
#define TOP_MOST 5u
/* A caller of so much of all is a wrapper. */
#define WRAPPER_SHARE 0.9

struct chart {
	const struct page *page;
	const struct timeline *timeline;
	const struct timeline_options *options;
	uint64_t *levels; /* the highest in each column of dots */
	uint64_t highest;
	unsigned columns, rows; /* in characters */
};

/* Of dots. */
static unsigned dot_column(const struct chart *chart, uint64_t time)
{
	uint64_t end = chart->timeline->end_time;
	unsigned count = chart->columns * DOTS_ACROSS;
	unsigned at = end ? (unsigned)((double)time / (double)end * count) : 0;
	return at < count ? at : count - 1;
}

/* What is live stays so until the next snapshot. */
static void chart_fill_levels(struct chart *chart)
{
	const struct timeline_snapshots *snapshots = &chart->timeline->snapshots;
	for (size_t i = 0; i < snapshots->len; i++) {
		const struct timeline_snapshot *at = &snapshots->data[i];
		bool last = i + 1 == snapshots->len;
		unsigned from = dot_column(chart, at->time),
			 to = last ? from : dot_column(chart, at[1].time);
		for (unsigned x = from; x <= to; x++)
			chart->levels[x] = max(chart->levels[x], at->useful);
		chart->highest = max(chart->highest, at->useful);
	}
}

/* Dots of a column, from the axis up; something is never nothing. */
static unsigned chart_height(const struct chart *chart, unsigned column)
{
	uint64_t level = chart->levels[column];
	unsigned most = chart->rows * DOTS_DOWN;
	unsigned height = chart->highest
				  ? (unsigned)((double)level / (double)chart->highest * most + 0.5)
				  : 0;
	return level && !height ? 1 : height;
}

/* Bits of a braille character (Unicode 15, section 21.1) for the character at a place; rows are
 * counted from the axis. */
static unsigned chart_dots(const struct chart *chart, unsigned x, unsigned row)
{
	static const unsigned char bits[DOTS_DOWN][DOTS_ACROSS] = {
		{0x40, 0x80}, {0x04, 0x20}, {0x02, 0x10}, {0x01, 0x08}};
	unsigned dots = 0;
	for (unsigned i = 0; i < DOTS_ACROSS; i++) {
		unsigned height = chart_height(chart, x * DOTS_ACROSS + i);
		for (unsigned y = 0; y < DOTS_DOWN; y++)
			dots |= height > row * DOTS_DOWN + y ? bits[y][i] : 0;
	}
	return dots;
}

static void chart_add_cell(const struct chart *chart, unsigned dots, struct text *out)
{
	if (!dots || !chart->options->utf8) {
		text_add_char(out, dots ? '#' : ' ');
		return;
	}
	text_add_char(out, (char)0xe2);
	text_add_char(out, (char)(0xa0 | dots >> 6));
	text_add_char(out, (char)(0x80 | (dots & 0x3f)));
}

static void chart_add_row(const struct chart *chart, unsigned row, struct text *out)
{
	bool top = row + 1 == chart->rows,
	     middle = row + 1 == (chart->rows + 1) / 2 && chart->rows > 4;
	uint64_t level =
		top ? chart->highest : (uint64_t)((double)chart->highest / chart->rows * (row + 1));
	bool ticked = chart->highest && (top || middle);
	text_printf(out, "%*s %s", LABEL_WIDTH, ticked ? FMT_BYTES(level) : "",
		!chart->options->utf8 ? (ticked ? "+" : "|")
		: ticked              ? "┤"
				      : "│");
	unsigned width = chart->columns;
	while (width && !chart_dots(chart, width - 1, row))
		width--;
	for (unsigned x = 0; x < width; x++)
		chart_add_cell(chart, chart_dots(chart, x, row), out);
	text_add_char(out, '\n');
}

/* Where the terminal has no UTF-8, µs is us. */
static void add_duration(const struct chart *chart, uint64_t time, struct text *out)
{
	static const char micro[] = "µ";
	size_t begin = out->len;
	text_add_duration_ns(out, time);
	char *found = out->data && !chart->options->utf8 ? strstr(out->data + begin, micro) : NULL;
	if (!found)
		return;
	*found = 'u';
	memmove(found + 1, found + sizeof(micro) - 1, strlen(found + sizeof(micro) - 1) + 1);
	out->len -= sizeof(micro) - 2;
}

static void add_time(const struct chart *chart, uint64_t time, struct text *out)
{
	if (chart->options->unit == TIMELINE_MS)
		add_duration(chart, time, out);
	else if (chart->options->unit == TIMELINE_BYTES)
		text_add_bytes(out, time);
	else
		text_printf(out, "%s instructions", FMT_COUNT(time));
}

static void text_pad(struct text *out, unsigned width)
{
	text_printf(out, "%*s", (int)width, "");
}

static void chart_add_axis(const struct chart *chart, struct text *out)
{
	_cleanup_(text_deinit) struct text half, end;
	text_init(&half);
	text_init(&end);
	add_time(chart, chart->timeline->end_time / 2, &half);
	add_time(chart, chart->timeline->end_time, &end);
	text_printf(out, "%*s %s", LABEL_WIDTH, "0", chart->options->utf8 ? "┼" : "+");
	for (unsigned x = 0; x < chart->columns; x++)
		text_add(out, chart->options->utf8 ? "─" : "-");
	text_printf(out, "\n%*s0", LABEL_WIDTH + 2, "");
	/* Each label ends or stands at its place; a chart too narrow for the one in the middle has
	 * none. */
	unsigned at = 1, middle = chart->columns / 2;
	if (half.data && end.data && at + half.len + 2 < middle + half.len / 2 + 1 &&
		middle + half.len / 2 + 2 + end.len < chart->columns) {
		unsigned from = middle - (unsigned)half.len / 2;
		text_pad(out, from - at);
		text_add(out, half.data);
		at = from + (unsigned)half.len;
	}
	if (end.data && at + end.len < chart->columns)
		text_pad(out, chart->columns - at - (unsigned)end.len);
	else
		text_pad(out, 1);
	text_printf(out, "%s\n", end.data ? end.data : "");
	out->failed |= half.failed || end.failed;
}

static const struct timeline_snapshot *chart_peak(const struct chart *chart)
{
	const struct timeline_snapshots *snapshots = &chart->timeline->snapshots;
	for (size_t i = 0; i < snapshots->len; i++)
		if (snapshots->data[i].peak)
			return &snapshots->data[i];
	return NULL;
}

/* An arrow under the peak, and beside it, where there is room, what it was. */
static void chart_add_peak(const struct chart *chart, struct text *out)
{
	const struct timeline_snapshot *peak = chart_peak(chart);
	_cleanup_(text_deinit) struct text words;
	text_init(&words);
	if (!peak)
		return;
	text_printf(&words, "peak %s after ", FMT_BYTES(peak->useful));
	add_time(chart, peak->time, &words);
	unsigned x = dot_column(chart, peak->time) / DOTS_ACROSS, length = (unsigned)words.len + 1;
	bool before = x >= length && x + length > chart->columns;
	const char *arrow = chart->options->utf8 ? "▲" : "^";
	text_pad(out, LABEL_WIDTH + 2 + (before ? x - length : x));
	paint_begin(out, chart->page->options->colour, PAINT_LARGE);
	if (before)
		text_printf(out, "%s %s", words.data ? words.data : "", arrow);
	else
		text_printf(out, "%s %s", arrow, words.data ? words.data : "");
	paint_end(out, chart->page->options->colour, PAINT_LARGE);
	text_add_char(out, '\n');
	out->failed |= words.failed;
}

/* Marks of one column share a letter. Returns how many from the first on do, of `count`. */
static unsigned marks_of_column(
	const struct chart *chart, const struct mark *marks, size_t count, unsigned *ret_x)
{
	unsigned together = 1;
	*ret_x = dot_column(chart, marks[0].time_ns) / DOTS_ACROSS;
	while (together < count &&
		dot_column(chart, marks[together].time_ns) / DOTS_ACROSS == *ret_x)
		together++;
	return together;
}

/* "a: loaded", "b: request … request (12 marks)". */
static void chart_add_mark_words(
	char letter, const struct mark *marks, unsigned together, struct text *out)
{
	text_printf(out, "%c: ", letter);
	text_add_shown(out, marks[0].name, MARK_NAME_MOST);
	if (together == 1)
		return;
	text_add(out, together == 2 ? ", " : " … ");
	text_add_shown(out, marks[together - 1].name, MARK_NAME_MOST);
	if (together > 2)
		text_printf(out, " (%s marks)", FMT_COUNT(together));
}

/* A letter under each mark, and what the letters are, in lines as wide as the chart or so. */
static void chart_add_marks(const struct chart *chart, struct text *out)
{
	size_t count, next = 0;
	const struct mark *marks = model_marks(chart->page->model, &count);
	_cleanup_(text_deinit) struct text words, one;
	text_init(&words);
	text_init(&one);
	if (!count || chart->options->unit != TIMELINE_MS)
		return;
	const size_t most = max(chart->columns + LABEL_WIDTH, MARK_LINE_LEAST);
	size_t line = 0;
	text_pad(out, LABEL_WIDTH + 2);
	for (unsigned at = 0, i = 0, x; next < count && i < MARKS_MOST; i++, at = x + 1) {
		unsigned together = marks_of_column(chart, marks + next, count - next, &x);
		text_pad(out, x > at ? x - at : 0);
		text_add_char(out, (char)('a' + i));
		text_clear(&one);
		chart_add_mark_words((char)('a' + i), marks + next, together, &one);
		bool wraps = line && line + one.len + 3 > most;
		text_add(&words, wraps ? "\n  " : line ? "   " : "  ");
		line = (wraps ? 0 : line) + one.len + 3;
		text_add(&words, one.data ? one.data : "");
		next += together;
	}
	text_printf(out, "\n%s", words.data ? words.data : "");
	if (next < count) {
		text_clear(&one);
		text_printf(&one, "and %s more: report --view marks", FMT_COUNT(count - next));
		text_add(out, line + one.len + 3 > most ? "\n  " : "   ");
		text_add(out, one.data ? one.data : "");
	}
	text_add_char(out, '\n');
	out->failed |= words.failed || one.failed;
}

/* The node whose callers say most: not a wrapper that nearly all of it came through. */
static size_t chart_first_branch(const struct timeline_nodes *tree)
{
	size_t at = 0;
	while (at + 1 < tree->len) {
		const struct timeline_node *first = &tree->data[at + 1];
		bool is_wrapper =
			first->depth == tree->data[at].depth + 1 && first->frame &&
			first->children &&
			(double)first->bytes >= WRAPPER_SHARE * (double)tree->data[0].bytes;
		if (!is_wrapper)
			break;
		at++;
	}
	return at;
}

/* Who had allocated most of what was live at the peak. */
static void chart_add_top(const struct chart *chart, struct text *out)
{
	const struct timeline_snapshot *peak = chart_peak(chart);
	if (!peak || !peak->tree.len)
		return;
	size_t branch = chart_first_branch(&peak->tree);
	uint32_t depth = peak->tree.data[branch].depth + 1;
	unsigned shown = 0;
	for (size_t i = branch + 1; i < peak->tree.len && shown < TOP_MOST; i++) {
		const struct timeline_node *node = &peak->tree.data[i];
		if (node->depth < depth)
			break;
		if (node->depth != depth || !node->frame || node->places)
			continue;
		if (!shown++)
			text_add(out, "\nLive at the peak\n");
		text_printf(out, "  %10s  %3.0f%%  ", FMT_BYTES(node->bytes),
			100.0 * (double)node->bytes / (double)max(peak->useful, (uint64_t)1));
		timeline_add_frame(node->frame, out);
		text_add_char(out, '\n');
	}
}

void timeline_add_frame(const struct shown_frame *frame, struct text *out)
{
	const char *slash = frame->file ? strrchr(frame->file, '/') : NULL;
	if (frame->function)
		shown_frame_add_shown(out, frame);
	else
		text_add(out, "???");
	if (frame->file) {
		text_add(out, " (");
		text_add_shown(out, slash ? slash + 1 : frame->file, SIZE_MAX);
		text_printf(out, ":%" PRIu32 ")", frame->line);
	} else if (frame->module_path) {
		text_add(out, " (in ");
		text_add_shown(out, frame->module_path, SIZE_MAX);
		text_add_char(out, ')');
	}
}

void timeline_chart_add(const struct page *page, struct text *out)
{
	const struct timeline_options *options = &page->options->timeline;
	struct chart chart = {.page = page,
		.timeline = &page->timeline,
		.options = options,
		.columns = options->width,
		.rows = options->height};
	_cleanup_free_ uint64_t *levels =
		calloc((size_t)chart.columns * DOTS_ACROSS, sizeof(*levels));
	if (!levels) {
		out->failed = true;
		return;
	}
	chart.levels = levels;
	chart_fill_levels(&chart);
	for (unsigned row = chart.rows; row-- > 0;)
		chart_add_row(&chart, row, out);
	chart_add_axis(&chart, out);
	chart_add_peak(&chart, out);
	chart_add_marks(&chart, out);
	chart_add_top(&chart, out);
	text_add(out, "\nSnapshots and their trees: --format=ms_print\n");
}
