/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The view timeline, laid out as ms_print does (Valgrind 3.19, massif/ms_print.in), so that eyes
 *and scripts that know one know the other: a graph, the snapshots' numbers, a table with a tree
 *under each detailed one.
 *
 *	    MB
 *	3.952^                                                                       #
 *	     |                                                                    :::#
 *	     |                                                                @:::: :#
 *	   0 +----------------------------------------------------------------------->ms
 *	     0                                                                   713.4
 *
 * With an older recording beside it, its outline (o) is in the graph and its total in a column of
 * the table, each moment where the same part of its run had passed.
 */
#include "analysis/timeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/util.h"
#include "views/report/json_parts.h"
#include "views/report/page.h"
#include "views/report/paint.h"
#include "views/report/text_parts.h"

#define RULER "--------------------------------------------------------------------------------\n"
#define PEAK '#'
#define DETAILED '@'
#define NORMAL ':'
#define OLDER 'o'

static bool is_detailed(const struct timeline_snapshot *snapshot)
{
	return snapshot->tree.len > 0;
}

static double percent_of(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Rows and columns from 1 on; row 0 and column 0 are the axes. */
struct graph {
	const struct timeline *timeline;
	uint64_t highest; /* of all that is drawn */
	unsigned width, height;
	char *cells;
};

static char *cell(const struct graph *graph, unsigned x, unsigned y)
{
	return &graph->cells[(size_t)y * (graph->width + 1) + x];
}

static void draw_axes(const struct graph *graph)
{
	memset(graph->cells, ' ', (size_t)(graph->width + 1) * (graph->height + 1));
	for (unsigned x = 1; x <= graph->width; x++)
		*cell(graph, x, 0) = x == graph->width ? '>' : '-';
	for (unsigned y = 1; y <= graph->height; y++)
		*cell(graph, 0, y) = y == graph->height ? '^' : '|';
	*cell(graph, 0, 0) = '+';
}

static unsigned column_of(const struct graph *graph, uint64_t time)
{
	uint64_t end = graph->timeline->end_time;
	unsigned x = end ? (unsigned)((double)time / (double)end * graph->width) + 1 : 1;
	return x > graph->width ? graph->width : x;
}

static unsigned height_of(const struct graph *graph, uint64_t bytes)
{
	return graph->highest
		       ? (unsigned)((double)bytes * graph->height / (double)graph->highest + 1e-9)
		       : 0;
}

static char letter_of(const struct timeline_snapshot *snapshot)
{
	if (snapshot->peak)
		return PEAK;
	if (is_detailed(snapshot))
		return DETAILED;
	return NORMAL;
}

/* What is detailed covers what is not, and the peak all. */
static bool covers(char letter, char other)
{
	return letter == PEAK || (letter == DETAILED && other != PEAK) ||
	       (other != PEAK && other != DETAILED);
}

static void draw_snapshots(const struct graph *graph)
{
	unsigned previous_x = 0, previous_y = 0;
	char previous = NORMAL;
	for (size_t i = 0; i < graph->timeline->snapshots.len; i++) {
		const struct timeline_snapshot *snapshot = &graph->timeline->snapshots.data[i];
		unsigned x = column_of(graph, snapshot->time);
		unsigned top = height_of(graph, snapshot->total);
		char letter = letter_of(snapshot);
		/* A gap is bridged: what is live stays so until the next snapshot. */
		for (unsigned gap = previous_x + 1; previous_y && gap < x; gap++)
			*cell(graph, gap, previous_y) = previous;
		for (unsigned y = 1; y <= top; y++)
			if (covers(letter, *cell(graph, x, y)))
				*cell(graph, x, y) = letter;
		previous_x = x;
		previous_y = top;
		previous = letter;
	}
}

/* The other one as a line, stretched or shrunk to the same width; of a column the highest. What is
 * less than one row is left out. */
static void draw_outline(const struct graph *graph, const struct timeline *older)
{
	const struct timeline *newer = graph->timeline;
	uint64_t first = newer->snapshots.len ? newer->snapshots.data[0].time : 0;
	uint64_t span = newer->end_time - first;
	unsigned previous_x = 0, level = 0, highest = 0;
	for (size_t i = 0; i <= older->snapshots.len; i++) {
		unsigned x = graph->width + 1;
		const struct timeline_snapshot *at =
			i < older->snapshots.len ? &older->snapshots.data[i] : NULL;
		if (at)
			x = column_of(graph,
				first + (uint64_t)(timeline_part(older, at->time) * (double)span));
		if (previous_x && x != previous_x) {
			if (highest)
				*cell(graph, previous_x, highest) = OLDER;
			for (unsigned gap = previous_x + 1; level && gap < x; gap++)
				*cell(graph, gap, level) = OLDER;
			highest = 0;
		}
		level = at ? height_of(graph, at->total) : 0;
		if (level > highest)
			highest = level;
		previous_x = x;
	}
}

/* Five characters and a unit, as ms_print has them. */
struct label {
	char number[24];
	const char *unit;
};

static struct label label_of(double value, const char *unit, bool whole)
{
	struct label ret = {.unit = unit};
	int digits = whole ? 0 : value < 10 ? 3 : value < 100 ? 2 : 1;
	snprintf(ret.number, sizeof(ret.number), "%5.*f", digits, value);
	return ret;
}

static struct label label_of_bytes(uint64_t bytes)
{
	static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
	double value = (double)bytes;
	size_t i = 0;
	for (; value >= 1000 && i + 1 < ARRAY_SIZE(units); i++)
		value /= 1024;
	return label_of(value, units[i], i == 0);
}

static struct label label_of_time(uint64_t ns)
{
	double ms = (double)ns / 1e6;
	if (ms < 1000)
		return label_of(ms, "ms", false);
	double seconds = ms / 1000;
	return seconds < 3600 ? label_of(seconds, "s", false)
			      : label_of(seconds / 3600, "h", false);
}

static struct label label_of_instructions(uint64_t count)
{
	static const char *const units[] = {"i", "ki", "Mi", "Gi", "Ti", "Pi"};
	double value = (double)count;
	size_t i = 0;
	for (; value >= 1000 && i + 1 < ARRAY_SIZE(units); i++)
		value /= 1000;
	return label_of(value, units[i], i == 0);
}

static struct label label_of_axis(uint64_t value, enum timeline_unit unit)
{
	switch (unit) {
	case TIMELINE_BYTES:
		return label_of_bytes(value);
	case TIMELINE_INSTRUCTIONS:
		return label_of_instructions(value);
	default:
		return label_of_time(value);
	}
}

static void add_cells(const struct graph *graph, unsigned y, bool colour, struct text *out)
{
	const char *cells = cell(graph, 0, y), *end = cells + graph->width + 1;
	while (cells < end) {
		bool peak = *cells == PEAK;
		const char *from = cells;
		while (cells < end && (*cells == PEAK) == peak)
			cells++;
		paint_begin(out, colour, peak ? PAINT_LARGE : PAINT_NONE);
		text_add_n(out, from, (size_t)(cells - from));
		paint_end(out, colour, peak ? PAINT_LARGE : PAINT_NONE);
	}
}

static void add_graph(const struct page *page, struct text *out)
{
	const struct timeline *timeline = &page->timeline;
	const struct timeline_options *options = &page->options->timeline;
	const struct timeline *older = page->options->base ? &page->older_timeline : NULL;
	uint64_t highest =
		older && older->highest > timeline->highest ? older->highest : timeline->highest;
	struct graph graph = {timeline, highest, options->width, options->height, NULL};
	_cleanup_free_ char *cells = malloc((size_t)(graph.width + 1) * (graph.height + 1));
	if (!cells) {
		out->failed = true;
		return;
	}
	graph.cells = cells;
	draw_axes(&graph);
	draw_snapshots(&graph);
	if (older)
		draw_outline(&graph, older);
	struct label y_label = label_of_bytes(highest ? highest : 1);
	struct label x_label = label_of_axis(timeline->end_time, options->unit);
	text_printf(out, "    %2s\n", y_label.unit);
	for (unsigned y = graph.height + 1; y-- > 0;) {
		text_add(out, y == graph.height ? y_label.number : y ? "     " : "   0 ");
		add_cells(&graph, y, page->options->colour, out);
		text_printf(out, "%s\n", y ? "" : x_label.unit);
	}
	text_printf(out, "     0%*s%5s\n\n", (int)graph.width - 5, "", x_label.number);
	if (older) {
		text_printf(out, "%c: ", OLDER);
		text_add_shown(out, page->options->base->label, 400);
		text_add(out, "\n\n");
	}
}

static void add_numbers(const struct page *page, struct text *out)
{
	const struct timeline_snapshots *snapshots = &page->timeline.snapshots;
	const char *joint = "";
	text_printf(out, "Number of snapshots: %zu\n Detailed snapshots: [", snapshots->len);
	for (size_t i = 0; i < snapshots->len; i++) {
		if (!is_detailed(&snapshots->data[i]))
			continue;
		text_printf(out, "%s%zu%s", joint, i, snapshots->data[i].peak ? " (peak)" : "");
		joint = ", ";
	}
	text_add(out, "]\n\n");
}

#define COLUMNS "%3s %14s %16s %16s %13s %12s"

static void add_table_head(const struct page *page, struct text *out)
{
	char time[16];
	snprintf(time, sizeof(time), "time(%s)", timeline_unit_name(page->options->timeline.unit));
	text_add(out, RULER);
	text_printf(out, COLUMNS, "n", time, "total(B)", "useful-heap(B)", "extra-heap(B)",
		"stacks(B)");
	if (page->options->base)
		text_printf(out, " %16s", "older(B)");
	text_add(out, "\n" RULER);
}

static void add_count_cell(uint64_t count, int width, struct text *out)
{
	_cleanup_(text_deinit) struct text cell;
	text_init(&cell);
	text_add_count(&cell, count);
	text_printf(out, " %*s", width, cell.data ? cell.data : "");
}

/* What the older one had then. */
static uint64_t older_total(const struct page *page, const struct timeline_snapshot *snapshot)
{
	double part = timeline_part(&page->timeline, snapshot->time);
	const struct timeline_snapshot *older = timeline_at(&page->older_timeline, part);
	return older ? older->total : 0;
}

static void add_snapshot(const struct page *page, size_t i, struct text *out)
{
	const struct timeline_snapshot *snapshot = &page->timeline.snapshots.data[i];
	bool ms = page->options->timeline.unit == TIMELINE_MS;
	text_printf(out, "%3zu", i);
	add_count_cell(ms ? snapshot->time / 1000000 : snapshot->time, 14, out);
	add_count_cell(snapshot->total, 16, out);
	add_count_cell(snapshot->useful, 16, out);
	add_count_cell(snapshot->extra, 13, out);
	add_count_cell(snapshot->stacks, 12, out);
	if (page->options->base)
		add_count_cell(older_total(page, snapshot), 16, out);
	text_add_char(out, '\n');
}

static void add_code(const struct shown_frame *frame, struct text *out)
{
	/* Of the call, as Massif has it. */
	if (frame->address || !frame->given)
		text_printf(out, "0x%" PRIX64 ": ", frame->address ? frame->address - 1 : 0);
	if (frame->function)
		shown_frame_add_shown(out, frame);
	else
		text_add(out, "???");
	const char *slash = frame->file ? strrchr(frame->file, '/') : NULL;
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

/* A tree that is being written. */
struct lines {
	const struct timeline_node *next;
	uint64_t whole;
	double threshold;
	struct text prefix, *out;
};

static void add_figures(const struct lines *lines, const struct timeline_node *node)
{
	text_add_n(lines->out, lines->prefix.data ? lines->prefix.data : "", lines->prefix.len);
	text_printf(lines->out, "%s%05.2f%% (", node->depth ? "->" : "",
		percent_of(node->bytes, lines->whole));
	text_add_count(lines->out, node->bytes);
	text_add(lines->out, "B) ");
}

static void add_words(const struct lines *lines, const struct timeline_node *node)
{
	if (!node->depth)
		text_add(lines->out,
			"(heap allocation functions) malloc/new/new[], --alloc-fns, etc.");
	else if (node->places)
		text_printf(lines->out, "in %" PRIu32 " place%s, %s below the threshold (%.2f%%)",
			node->places, node->places == 1 ? "" : "s",
			node->places == 1 ? "which is" : "all", lines->threshold);
	else if (node->frame)
		add_code(node->frame, lines->out);
	else
		text_add(lines->out, "(no stack was recorded)");
	text_add_char(lines->out, '\n');
}

/* The next node with all below it; recursion is as deep as TIMELINE_DEPTH_MOST. */
static void add_node(struct lines *lines, bool last)
{
	const struct timeline_node *node = lines->next++;
	size_t len = lines->prefix.len;
	add_figures(lines, node);
	add_words(lines, node);
	if (node->depth)
		text_add(&lines->prefix, last ? "  " : "| ");
	for (uint32_t i = 0; i < node->children; i++)
		add_node(lines, i + 1 == node->children);
	if (!node->children) {
		text_add_n(lines->out, lines->prefix.data ? lines->prefix.data : "",
			lines->prefix.len);
		text_add_char(lines->out, '\n');
	}
	if (lines->prefix.data && !lines->prefix.failed) {
		lines->prefix.len = len;
		lines->prefix.data[len] = '\0';
	}
}

static void add_tree(
	const struct page *page, const struct timeline_snapshot *snapshot, struct text *out)
{
	struct lines lines = {.next = snapshot->tree.data,
		.whole = snapshot->total,
		.threshold = page->options->timeline.threshold,
		.out = out};
	text_init(&lines.prefix);
	add_node(&lines, true);
	out->failed |= lines.prefix.failed;
	text_deinit(&lines.prefix);
}

static void add_heading(const struct page *page, struct text *out)
{
	text_add(out, RULER);
	text_heading(page->model, out);
	text_notes(&page->notes, out);
	text_add(out, RULER "\n\n");
}

void text_timeline(const struct page *page, struct text *out)
{
	const struct timeline_snapshots *snapshots = &page->timeline.snapshots;
	add_heading(page, out);
	add_graph(page, out);
	add_numbers(page, out);
	add_table_head(page, out);
	for (size_t i = 0; i < snapshots->len; i++) {
		add_snapshot(page, i, out);
		if (!is_detailed(&snapshots->data[i]))
			continue;
		add_tree(page, &snapshots->data[i], out);
		if (i + 1 < snapshots->len)
			add_table_head(page, out);
	}
}

static void put_node(struct json *json, const struct timeline_node **next)
{
	const struct timeline_node *node = (*next)++;
	json_object_begin(json);
	json_put_u64(json, "bytes", node->bytes);
	if (node->places) {
		json_put_u64(json, "places", node->places);
	} else {
		json_key(json, "frame");
		if (node->frame)
			json_put_frame(json, node->frame);
		else
			json_null(json);
		json_key(json, "children");
		json_array_begin(json);
		for (uint32_t i = 0; i < node->children; i++)
			put_node(json, next);
		json_array_end(json);
	}
	json_object_end(json);
}

/* page: whose base the snapshot is matched with; NULL: it is itself the base's. */
static void put_snapshot(
	const struct page *page, struct json *json, const struct timeline_snapshot *snapshot)
{
	json_object_begin(json);
	json_put_u64(json, "step", snapshot->row->step);
	json_put_u64(json, "time_ns", snapshot->row->time_ns);
	json_put_u64(json, "allocated_bytes", snapshot->row->allocated_bytes);
	json_put_u64(json, "freed_bytes", snapshot->row->freed_bytes);
	json_put_u64(json, "live_blocks", snapshot->row->live_blocks);
	json_put_u64(json, "total_bytes", snapshot->total);
	json_put_u64(json, "useful_bytes", snapshot->useful);
	json_put_u64(json, "extra_bytes", snapshot->extra);
	json_put_u64(json, "stacks_bytes", snapshot->stacks);
	if (page && page->options->base)
		json_put_u64(json, "older_total_bytes", older_total(page, snapshot));
	json_put_bool(json, "peak", snapshot->peak);
	json_key(json, "tree");
	const struct timeline_node *next = snapshot->tree.data;
	if (next)
		put_node(json, &next);
	else
		json_null(json);
	json_object_end(json);
}

static void put_snapshots(
	const struct page *page, struct json *json, const struct timeline *timeline)
{
	json_key(json, "snapshots");
	json_array_begin(json);
	for (size_t i = 0; i < timeline->snapshots.len; i++)
		put_snapshot(page, json, &timeline->snapshots.data[i]);
	json_array_end(json);
}

void json_timeline(const struct page *page, struct json *json)
{
	const struct timeline_options *options = &page->options->timeline;
	json_put_string(json, "time_unit", timeline_unit_name(options->unit));
	json_put_u64(json, "heap_admin", options->heap_admin);
	json_put_u64(json, "alignment", options->alignment);
	json_key(json, "threshold");
	json_double(json, options->threshold);
	put_snapshots(page, json, &page->timeline);
	if (!page->options->base)
		return;
	json_key(json, "older");
	json_object_begin(json);
	json_put_older(page, json);
	put_snapshots(NULL, json, &page->older_timeline);
	json_object_end(json);
}
