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
#include "base/util.h"
#include "views/report/figure_text.h"
#include "views/report/member_columns.h"
#include "views/report/page.h"
#include "views/report/paint.h"
#include "views/report/recorded_columns.h"
#include "views/report/report_answers.h"
#include "views/report/text_parts.h"
#include "views/report/timeline_chart.h"
#include "views/stacks/frames.h"

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

static char *timeline_cell(const struct graph *graph, unsigned x, unsigned y)
{
	return &graph->cells[(size_t)y * (graph->width + 1) + x];
}

static void draw_axes(const struct graph *graph)
{
	memset(graph->cells, ' ', (size_t)(graph->width + 1) * (graph->height + 1));
	for (unsigned x = 1; x <= graph->width; x++)
		*timeline_cell(graph, x, 0) = x == graph->width ? '>' : '-';
	for (unsigned y = 1; y <= graph->height; y++)
		*timeline_cell(graph, 0, y) = y == graph->height ? '^' : '|';
	*timeline_cell(graph, 0, 0) = '+';
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
static bool timeline_covers(char letter, char other)
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
			*timeline_cell(graph, gap, previous_y) = previous;
		for (unsigned y = 1; y <= top; y++)
			if (timeline_covers(letter, *timeline_cell(graph, x, y)))
				*timeline_cell(graph, x, y) = letter;
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
				*timeline_cell(graph, previous_x, highest) = OLDER;
			for (unsigned gap = previous_x + 1; level && gap < x; gap++)
				*timeline_cell(graph, gap, level) = OLDER;
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

static void timeline_add_cells(const struct graph *graph, unsigned y, bool colour, struct text *out)
{
	const char *cells = timeline_cell(graph, 0, y), *end = cells + graph->width + 1;
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
		timeline_add_cells(&graph, y, page->options->colour, out);
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
	text_add(out, TEXT_RULER);
	text_printf(out, COLUMNS, "n", time, "total(B)", "useful-heap(B)", "extra-heap(B)",
		"stacks(B)");
	if (page->options->base)
		text_printf(out, " %16s", "older(B)");
	text_add(out, "\n" TEXT_RULER);
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
	timeline_add_frame(frame, out);
}

/* A tree that is being written. */
struct lines {
	const struct timeline_node *next;
	uint64_t whole;
	double threshold;
	const char *root; /* its name */
	struct text prefix, *out;
};

static void timeline_add_figures(const struct lines *lines, const struct timeline_node *node)
{
	text_add_n(lines->out, lines->prefix.data ? lines->prefix.data : "", lines->prefix.len);
	text_printf(lines->out, "%s%05.2f%% (%sB) ", node->depth ? "->" : "",
		percent_of(node->bytes, lines->whole), FMT_COUNT(node->bytes));
}

static void timeline_add_words(const struct lines *lines, const struct timeline_node *node)
{
	if (!node->depth)
		text_add(lines->out, lines->root);
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
static void timeline_add_node(struct lines *lines, bool last)
{
	const struct timeline_node *node = lines->next++;
	size_t len = lines->prefix.len;
	timeline_add_figures(lines, node);
	timeline_add_words(lines, node);
	if (node->depth)
		text_add(&lines->prefix, last ? "  " : "| ");
	for (uint32_t i = 0; i < node->children; i++)
		timeline_add_node(lines, i + 1 == node->children);
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
		.root = timeline_root_name(page->model),
		.out = out};
	text_init(&lines.prefix);
	timeline_add_node(&lines, true);
	out->failed |= lines.prefix.failed;
	text_deinit(&lines.prefix);
}

/* The nodes of a tree, in the order in which people read them, and the children of each. */
struct tree_rows {
	const struct timeline_node *nodes;
	size_t *first; /* of its children in `children`, by node */
	size_t *children;
};

static void tree_deinit(struct tree_rows *tree)
{
	free(tree->first);
	free(tree->children);
	tree->first = tree->children = NULL;
}

/* Takes another tree. False: no memory. */
static bool tree_fill(struct tree_rows *tree, const struct timeline_snapshot *snapshot)
{
	size_t count = snapshot->tree.len, sum = 0;
	size_t path[TIMELINE_DEPTH_MOST + 3]; /* at each depth, the place for the next child */
	tree_deinit(tree);
	tree->nodes = snapshot->tree.data;
	tree->first = malloc(count * sizeof(*tree->first));
	tree->children = malloc(count * sizeof(*tree->children));
	if (!tree->first || !tree->children)
		return false;
	for (size_t i = 0; i < count; i++) {
		uint32_t depth = tree->nodes[i].depth;
		if (depth)
			tree->children[path[depth - 1]++] = i;
		tree->first[i] = path[depth] = sum;
		sum += tree->nodes[i].children;
	}
	return true;
}

enum { NODE_BYTES, NODE_PLACES, NODE_FRAME, NODE_CHILDREN };
static const struct column node_columns[] = {
	[NODE_BYTES] = BYTES_OF(timeline_node, bytes, "live then"),
	[NODE_PLACES] = {"places", COLUMN_INTEGER, UNIT_COUNT, .optional = true,
		.says = "it stands for so many below the threshold, and comes last",
		COLUMN_OF(timeline_node, places)},
	[NODE_FRAME] = {"frame", COLUMN_RECORD, .optional = true,
		.says = "of all others; null: the root, and below it blocks without a stack",
		.nested = &plain_frame_type},
	[NODE_CHILDREN] = {"children", COLUMN_TABLE, .optional = true,
		.says = "of all others: who called it, the heaviest first",
		.nested = &report_node_type},
	COLUMNS_END};

static void node_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct tree_rows *tree = context;
	const struct timeline_node *node = &tree->nodes[row];
	if (column <= NODE_PLACES)
		table_member(&node_columns[column], node, ret);
	if (column != NODE_BYTES && (column == NODE_PLACES) != (node->places != 0)) {
		ret->state = CELL_ABSENT;
	} else if (column == NODE_FRAME) {
		ret->nested = (struct table){&plain_frame_type, &node->frame, 1, .limit = 1};
		ret->state = node->frame ? CELL_KNOWN : CELL_UNKNOWN;
	} else if (column == NODE_CHILDREN) {
		ret->nested = (struct table){&report_node_type, tree, node->children,
			.order = tree->children + tree->first[row], .limit = TABLE_NO_LIMIT};
	}
}

const struct table_type report_node_type = {
	.name = "tree", .says = "a node", .columns = node_columns, .cell = node_cell};

/* The context of snapshots. */
struct snapshot_rows {
	const struct page *page; /* NULL: they are the base's, in JSON */
	const struct timeline_snapshot *snapshots;
	size_t count;
	struct tree_rows *tree; /* of the snapshot that is laid out */
};

static void timeline_row_text(const void *context, size_t row, struct text *out)
{
	const struct snapshot_rows *rows = context;
	add_snapshot(rows->page, row, out);
	if (!is_detailed(&rows->snapshots[row]))
		return;
	add_tree(rows->page, &rows->snapshots[row], out);
	if (row + 1 < rows->count)
		add_table_head(rows->page, out);
}

#define OF_ROW(name, unit, what)                                                                   \
	{                                                                                          \
#name, COLUMN_INTEGER, unit, .says = what, COLUMN_OF(series_row, name)             \
	}
#define OF_SNAPSHOT(name, member, what)                                                            \
	{                                                                                          \
		name, COLUMN_INTEGER, UNIT_BYTES, .says = what,                                    \
						  COLUMN_OF(timeline_snapshot, member)             \
	}
enum { LAST_OF_ROW = 4, OLDER_TOTAL = 9, IS_PEAK, TREE };
static const struct column snapshot_columns[] = {
	OF_ROW(step, UNIT_NONE, "so many steps of the recording come before it"),
	OF_ROW(time_ns, UNIT_NS, "since the recording began"),
	OF_ROW(allocated_bytes, UNIT_BYTES, "since then, requested"),
	OF_ROW(freed_bytes, UNIT_BYTES, "since then, requested"),
	[LAST_OF_ROW] = OF_ROW(live_blocks, UNIT_COUNT, "at the moment"),
	OF_SNAPSHOT("total_bytes", total, "the sum of the next three"),
	OF_SNAPSHOT("useful_bytes", useful, "see [quantities](../quantities.md#timelines)"),
	OF_SNAPSHOT("extra_bytes", extra, "likewise"),
	OF_SNAPSHOT("stacks_bytes", stacks, "likewise"),
	[OLDER_TOTAL] = {"older_total_bytes", COLUMN_INTEGER, UNIT_BYTES, .optional = true,
		.says = "with `--base`: `total_bytes` of the latest of the older snapshots up to "
			"where the same part of that run had passed, by `time_unit`"},
	[IS_PEAK] = FLAG_OF(timeline_snapshot, peak, "it is the moment of most `useful_bytes`"),
	[TREE] = {"tree", COLUMN_RECORD,
		.says = "who had allocated what was live; null: it is not one of the detailed ones",
		.nested = &report_node_type},
	COLUMNS_END};

static void snapshot_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct snapshot_rows *rows = context;
	const struct timeline_snapshot *snapshot = &rows->snapshots[row];
	if (column == TREE) {
		ret->state = is_detailed(snapshot) ? CELL_KNOWN : CELL_UNKNOWN;
		if (is_detailed(snapshot))
			ret->built.failed |= !tree_fill(rows->tree, snapshot);
		ret->nested = (struct table){&report_node_type, rows->tree, 1, .limit = 1};
	} else if (column == OLDER_TOTAL && rows->page && rows->page->options->base) {
		ret->number = older_total(rows->page, snapshot);
	} else if (column == OLDER_TOTAL) {
		ret->state = CELL_ABSENT;
	} else {
		table_member(&snapshot_columns[column],
			column <= LAST_OF_ROW ? (const void *)snapshot->row : snapshot, ret);
	}
}

const struct table_type report_snapshots_type = {.name = "snapshots",
	.says = "in their order: at most `--max-snapshots`, the beginning, the peak and the end "
		"among "
		"them",
	.columns = snapshot_columns,
	.cell = snapshot_cell,
	.row_text = timeline_row_text};
const struct table_type change_snapshots_type = {.name = "snapshots",
	.within = "older",
	.says = "view `timeline`: as of the newer one; `tree` is null",
	.columns = snapshot_columns,
	.cell = snapshot_cell};

enum { TIME_UNIT };
static const struct column option_columns[] = {
	[TIME_UNIT] = {"time_unit", COLUMN_TEXT,
		.says = "`ms`, `B` or `i`: along which snapshots are about as far from each other"},
	BYTES_OF(timeline_options, heap_admin, "that `extra_bytes` has for each block"),
	BYTES_OF(timeline_options, alignment,
		"16: `extra_bytes` has what rounds sizes up to multiples of 16; 1: it has not"),
	{"threshold", COLUMN_REAL, UNIT_PERCENT,
		.says = "of a snapshot's `total_bytes`: what has less is summed up in its tree",
		COLUMN_OF(timeline_options, threshold)},
	COLUMNS_END};

static void option_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct timeline_options *options = context;
	(void)row;
	if (column == TIME_UNIT)
		ret->text = timeline_unit_name(options->unit);
	else
		table_member(&option_columns[column], options, ret);
}

const struct table_type report_timeline_type = {.columns = option_columns, .cell = option_cell};

static void put_older(const struct page *page, struct answer *answer)
{
	const struct timeline_snapshots *older = &page->older_timeline.snapshots;
	const struct recorded base = {
		.model = page->options->base->model, .label = page->options->base->label};
	struct tree_rows tree = {.nodes = NULL};
	const struct snapshot_rows rows = {NULL, older->data, older->len, &tree};
	const struct table snapshots = {
		&change_snapshots_type, &rows, older->len, .limit = TABLE_NO_LIMIT};
	answer_record_of(answer, &change_older_type, &base);
	answer_table(answer, &snapshots);
	tree_deinit(&tree);
}

void report_timeline(const struct page *page, struct answer *answer)
{
	const struct timeline_snapshots *own = &page->timeline.snapshots;
	struct tree_rows tree = {.nodes = NULL};
	const struct snapshot_rows rows = {page, own->data, own->len, &tree};
	const struct table snapshots = {
		&report_snapshots_type, &rows, own->len, .limit = TABLE_NO_LIMIT};
	struct text *prose = answer_prose(answer);
	if (prose && page->options->timeline.chart) {
		timeline_chart_add(page, prose);
		return;
	}
	struct timeline_options options = page->options->timeline;
	options.heap_admin = timeline_admin(&options, page->model);
	answer_record_of(answer, &report_timeline_type, &options);
	if (prose) {
		add_graph(page, prose);
		add_numbers(page, prose);
		add_table_head(page, prose);
	}
	answer_table(answer, &snapshots);
	if (page->options->base && !prose)
		put_older(page, answer);
	tree_deinit(&tree);
}
