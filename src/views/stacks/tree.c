/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/tree.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "views/report/head.h"
#include "views/report/page.h"
#include "views/report/recorded_columns.h"

#define DEPTH_MAX 16
#define COMMAND_SHOWN 60
#define PROCESS_WIDTH 22
#define FIGURE_WIDTH 13

struct tree_sums {
	struct totals totals;
	bool sampled; /* temporary allocations are not known */
};

struct tree_page {
	const struct tree_row *rows;
	size_t count;
	/* What is nested in the row that is laid out. */
	struct tree_sums *row_sums;
	struct recorded *unrecorded;
};

/* Images of one process, one after the other in `rows`. */
struct process {
	uint32_t first, count; /* of the rows by process */
	uint32_t parent;       /* NOBODY: none of those that are here */
	uint32_t next;         /* that the same one started, or NOBODY; by beginning */
	uint32_t child;        /* the first that it started, or NOBODY */
	bool placed;
};

#define NOBODY UINT32_MAX

struct arrangement {
	const struct tree_row *rows; /* by process */
	struct process *processes;   /* by number of the process, then by beginning */
	uint32_t count;
	struct tree_row *ret; /* in their final order */
	size_t used;
};

static int compare_beginnings(const void *left, const void *right)
{
	const struct tree_row *a = left, *b = right;
	if (a->target.wall_start_ns != b->target.wall_start_ns)
		return a->target.wall_start_ns < b->target.wall_start_ns ? -1 : 1;
	return strcmp(a->file, b->file);
}

static int compare_processes(const void *left, const void *right)
{
	const struct tree_row *a = left, *b = right;
	if (a->target.outer_pid != b->target.outer_pid)
		return a->target.outer_pid < b->target.outer_pid ? -1 : 1;
	return compare_beginnings(left, right);
}

/* Whether the later one is what the earlier one went on as, or a copy of it: if it ended, its
 * number was given out again. */
static bool goes_on_as(const struct tree_row *earlier, const struct tree_row *later)
{
	return earlier->target.outer_pid == later->target.outer_pid &&
	       (earlier->target.wall_start_ns == later->target.wall_start_ns ||
		       earlier->target.exit_kind == EXIT_KIND_EXEC ||
		       earlier->target.exit_kind == EXIT_KIND_RUNNING);
}

static void find_processes(struct arrangement *a, const struct tree_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!i || !goes_on_as(&rows[i - 1], &rows[i]))
			a->processes[a->count++] = (struct process){.first = (uint32_t)i,
				.parent = NOBODY,
				.next = NOBODY,
				.child = NOBODY};
		a->processes[a->count - 1].count++;
	}
}

static const struct tree_row *first_row(const struct arrangement *a, uint32_t process)
{
	return &a->rows[a->processes[process].first];
}

/* The process with that number that was there when the row began, or else the first one; NOBODY. */
static uint32_t find_process(const struct arrangement *a, uint32_t pid, uint64_t began_ns)
{
	uint32_t low = 0, high = a->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct target *target = &first_row(a, middle)->target;
		if (target->outer_pid < pid ||
			(target->outer_pid == pid && target->wall_start_ns <= began_ns))
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0 && first_row(a, low - 1)->target.outer_pid == pid)
		return low - 1;
	return low < a->count && first_row(a, low)->target.outer_pid == pid ? low : NOBODY;
}

/* Who started whom. `order` has the processes by their beginnings. */
static void find_parents(struct arrangement *a, const uint32_t *order)
{
	for (uint32_t i = a->count; i-- > 0;) {
		struct process *one = &a->processes[order[i]];
		const struct target *target = &first_row(a, order[i])->target;
		one->parent = find_process(a, target->outer_ppid, target->wall_start_ns);
		if (one->parent == order[i])
			one->parent = NOBODY;
		if (one->parent == NOBODY)
			continue;
		one->next = a->processes[one->parent].child;
		a->processes[one->parent].child = order[i];
	}
}

/* A process with all its images, then those that it started. What is placed is not placed again, so
 * this ends however the numbers refer to each other. */
static void tree_place(struct arrangement *a, uint32_t process, uint32_t depth)
{
	struct process *one = &a->processes[process];
	if (one->placed)
		return;
	one->placed = true;
	for (uint32_t i = 0; i < one->count; i++) {
		struct tree_row *row = &a->ret[a->used++];
		*row = a->rows[one->first + i];
		row->depth = depth;
		row->process = process;
	}
	for (uint32_t child = one->child; depth < DEPTH_MAX && child != NOBODY;
		child = a->processes[child].next)
		tree_place(a, child, depth + 1);
}

/* Numbers of the processes by their beginnings; `rows` are by them. */
static void order_processes(
	struct arrangement *a, const struct tree_row *rows, size_t count, uint32_t *order)
{
	uint32_t used = 0;
	for (size_t i = 0; i < count; i++) {
		uint32_t process =
			find_process(a, rows[i].target.outer_pid, rows[i].target.wall_start_ns);
		if (process != NOBODY && !a->processes[process].placed && used < a->count) {
			a->processes[process].placed = true;
			order[used++] = process;
		}
	}
	for (uint32_t i = 0; i < a->count; i++) {
		if (!a->processes[i].placed)
			order[used++] = i;
		a->processes[i].placed = false;
	}
}

struct error *tree_arrange(struct tree_row *rows, size_t count)
{
	_cleanup_free_ struct tree_row *sorted = calloc(count + 1, sizeof(*rows));
	_cleanup_free_ struct process *processes = calloc(count + 1, sizeof(*processes));
	_cleanup_free_ uint32_t *order = calloc(count + 1, sizeof(*order));
	if (!sorted || !processes || !order)
		return error_no_memory();
	memcpy(sorted, rows, count * sizeof(*rows));
	qsort(sorted, count, sizeof(*rows), compare_processes);
	qsort(rows, count, sizeof(*rows), compare_beginnings);
	struct arrangement a = {sorted, processes, 0, rows, 0};
	find_processes(&a, sorted, count);
	order_processes(&a, rows, count, order);
	find_parents(&a, order);
	for (int orphans = 0; orphans < 2; orphans++) {
		for (uint32_t i = 0; i < a.count; i++) {
			if (orphans || processes[order[i]].parent == NOBODY)
				tree_place(&a, order[i], 0);
		}
	}
	return NULL;
}

static size_t count_processes(const struct tree_row *rows, size_t count)
{
	size_t processes = 0;
	for (size_t i = 0; i < count; i++)
		processes += !i || rows[i].process != rows[i - 1].process;
	return processes;
}

static size_t count_small(const struct tree_row *rows, size_t count)
{
	size_t small = 0;
	for (size_t i = 0; i < count; i++)
		small += rows[i].small;
	return small;
}

static uint64_t count_unrecorded(const struct tree_row *rows, size_t count)
{
	uint64_t unrecorded = 0;
	for (size_t i = 0; i < count; i++)
		unrecorded += rows[i].children_unrecorded;
	return unrecorded;
}

/* Counts and bytes add up; a peak is a moment of one process and does not. */
static struct totals tree_sum(const struct tree_row *rows, size_t count)
{
	struct totals sums = {.allocations = 0};
	for (size_t i = 0; i < count; i++) {
		sums.allocations += rows[i].totals.allocations;
		sums.allocated_bytes += rows[i].totals.allocated_bytes;
		sums.frees += rows[i].totals.frees;
		sums.failed += rows[i].totals.failed;
		sums.temporary += rows[i].totals.temporary;
		sums.live_blocks += rows[i].totals.live_blocks;
		sums.live_bytes += rows[i].totals.live_bytes;
	}
	return sums;
}

/* Moves `cell` to `out`, at least `width` wide. Cells are ASCII. */
static void tree_add_cell(struct text *out, struct text *cell, size_t width, bool left)
{
	const char *shown = cell->data ? cell->data : "";
	int pad = cell->len < width ? (int)(width - cell->len) : 0;
	text_printf(out, left ? "%2$s%1$*3$s" : "%1$*3$s%2$s", "", shown, pad);
	text_clear(cell);
}

static void add_ending(struct text *cell, const struct tree_row *row)
{
	switch (row->target.exit_kind) {
	case EXIT_KIND_STATUS:
		text_printf(cell, "status %d", row->target.exit_value);
		return;
	case EXIT_KIND_SIGNAL: {
		const char *name = sigabbrev_np(row->target.exit_value);
		text_printf(cell, "SIG%s", name ? name : "?");
		return;
	}
	case EXIT_KIND_EXEC:
		text_add(cell, "exec");
		return;
	case EXIT_KIND_RUNNING:
		text_add(cell, row->changed ? "mode" : "runs");
		return;
	case EXIT_KIND_UNKNOWN:
		text_add(cell, row->complete ? "?" : "incomplete");
		return;
	}
}

static void tree_add_figures(struct text *out, struct text *cell, const struct totals *t, bool peak)
{
	text_add_count(cell, t->allocations);
	tree_add_cell(out, cell, FIGURE_WIDTH, false);
	text_add_bytes(cell, t->allocated_bytes);
	tree_add_cell(out, cell, FIGURE_WIDTH, false);
	if (peak)
		text_add_bytes(cell, t->peak_bytes);
	tree_add_cell(out, cell, FIGURE_WIDTH, false);
	text_add_bytes(cell, t->live_bytes);
	tree_add_cell(out, cell, FIGURE_WIDTH, false);
}

/* What has no recording, below the process that started it or went on as it. */
static void add_unrecorded(struct text *out, const struct tree_row *row)
{
	uint64_t itself = unrecorded_itself(&row->unrecorded);
	int indent = (int)(2 * row->depth) + 4;
	if (itself) {
		text_printf(out, "%*s= unrecorded: ", indent, "");
		unrecorded_add_groups(out, &row->unrecorded, true, itself);
		text_add_char(out, '\n');
	}
	if (row->children_unrecorded > itself) {
		text_printf(out, "%*s+ unrecorded: ", indent, "");
		unrecorded_add_groups(
			out, &row->unrecorded, false, row->children_unrecorded - itself);
		text_add_char(out, '\n');
	}
}

static void tree_row_text(const void *context, size_t number, struct text *out)
{
	const struct tree_row *row = &((const struct tree_page *)context)->rows[number];
	_cleanup_(text_deinit) struct text cell;
	text_init(&cell);
	text_printf(&cell, "  %*s%" PRIu32, (int)(2 * row->depth), "", row->target.outer_pid);
	tree_add_cell(out, &cell, PROCESS_WIDTH, true);
	tree_add_figures(out, &cell, &row->totals, true);
	text_add(out, "  ");
	add_ending(&cell, row);
	tree_add_cell(out, &cell, FIGURE_WIDTH, true);
	text_add(out, row->small ? "in " : "");
	text_add_shown(out, path_last_part(row->file), SIZE_MAX);
	text_add(out, ": ");
	text_add_shown(out, row->command, COMMAND_SHOWN);
	if (row->lost_events)
		text_add(out, " (events LOST)");
	if (row->unseen)
		text_add(out, " (allocations NOT seen: its report says why)");
	text_add_char(out, '\n');
	add_unrecorded(out, row);
	out->failed |= cell.failed;
}

#define TOTAL(name, member, unit, what)                                                            \
	{                                                                                          \
		name, COLUMN_INTEGER, unit, .says = what, COLUMN_OF(totals, member)                \
	}
enum { TEMPORARY = 4 };
/* Of a row, or of all. */
static const struct column totals_columns[] = {
	TOTAL("allocations", allocations, UNIT_COUNT, "successful calls"),
	TOTAL("allocated_bytes", allocated_bytes, UNIT_BYTES, "that they asked for"),
	TOTAL("frees", frees, UNIT_COUNT, "of recorded and unknown blocks"),
	TOTAL("failed", failed, UNIT_COUNT, "calls that failed"),
	[TEMPORARY] = TOTAL("temporary", temporary, UNIT_COUNT,
		"calls whose block was freed at once; null: of samples, not known"),
	TOTAL("live_blocks_at_end", live_blocks, UNIT_COUNT, "never freed"),
	TOTAL("live_bytes_at_end", live_bytes, UNIT_BYTES, "of these"), COLUMNS_END};

static void tree_totals_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct tree_sums *sums = context;
	(void)row;
	table_member(&totals_columns[column], &sums->totals, ret);
	if (column == TEMPORARY && sums->sampled)
		ret->state = CELL_UNKNOWN;
}

static const struct table_type totals_type = {.name = "totals",
	.says = "sums; peaks do not add up",
	.columns = totals_columns,
	.cell = tree_totals_cell};

#define MEMBER(name, type, unit, member, what)                                                     \
	{                                                                                          \
		name, type, unit, .says = what, COLUMN_OF(tree_row, member)                        \
	}
#define NUMBER(name, member, what) MEMBER(name, COLUMN_INTEGER, UNIT_NONE, member, what)
#define FLAG(name, member, what) MEMBER(name, COLUMN_BOOLEAN, UNIT_NONE, member, what)
enum { OWN_FILE = 15, ROW_TOTALS, UNRECORDED, EXIT };
static const struct column row_columns[] = {
	MEMBER("file", COLUMN_TEXT, UNIT_NONE, file, "the recording"),
	MEMBER("program", COLUMN_TEXT, UNIT_NONE, command, "arguments with spaces between"),
	NUMBER("pid", target.pid, "as the process itself sees it"),
	NUMBER("ppid", target.ppid, "of its parent, likewise"),
	NUMBER("outer_pid", target.outer_pid, "as its recorder sees it"),
	NUMBER("outer_ppid", target.outer_ppid,
		"of its parent, likewise: these two tell which process started which"),
	NUMBER("depth", depth, "below a process that none of the others has started"),
	MEMBER("lost_events", COLUMN_INTEGER, UNIT_COUNT, lost_events, "as in a report"),
	MEMBER("duration_ns", COLUMN_INTEGER, UNIT_NS, duration_ns, "as in a report"),
	MEMBER("peak_bytes", COLUMN_INTEGER, UNIT_BYTES, totals.peak_bytes, "live at the peak"),
	MEMBER("children_unrecorded", COLUMN_INTEGER, UNIT_COUNT, children_unrecorded,
		"programs that it started, or went on as, and that have no recording"),
	FLAG("forked", target.forked, "it began as a copy of its parent"),
	FLAG("unseen", unseen,
		"it defines malloc itself, or there was no room for the recorder: its figures are "
		"meaningless"),
	FLAG("complete", complete, "closed properly, and all of it could be read"),
	FLAG("changed_at_end", changed,
		"the mode was changed then: the process went on in another recording"),
	[OWN_FILE] = FLAG("own_file", small,
		"false: it is a row in the recording `file`, which is of another process: see "
		"[processes](../processes.md)"),
	[ROW_TOTALS] = {"", COLUMN_RECORD, .nested = &totals_type},
	[UNRECORDED] = {"unrecorded", COLUMN_TABLE,
		.says = "`children_unrecorded` by program and reason",
		.nested = &report_unrecorded_type},
	[EXIT] = {"exit", COLUMN_RECORD, .says = "how it ended; null: unknown",
		.nested = &report_exit_type},
	COLUMNS_END};

static void tree_row_cell(const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct tree_page *page = context;
	const struct tree_row *row = &page->rows[number];
	switch (column) {
	case ROW_TOTALS:
		*page->row_sums = (struct tree_sums){row->totals, row->sampled};
		cell_take_record(ret, &totals_type, page->row_sums);
		break;
	case UNRECORDED:
		*page->unrecorded = (struct recorded){.unrecorded = &row->unrecorded};
		ret->nested = (struct table){&report_unrecorded_type, page->unrecorded,
			row->unrecorded.len, .limit = TABLE_NO_LIMIT};
		break;
	case EXIT:
		cell_take_record(ret, &report_exit_type, &row->target);
		if (row->target.exit_kind == EXIT_KIND_UNKNOWN)
			ret->state = CELL_UNKNOWN;
		break;
	default:
		table_member(&row_columns[column], row, ret);
		if (column == OWN_FILE)
			ret->truth = !row->small;
	}
}

static const struct table_type row_type = {.name = "recordings",
	.says = "a process comes after the one that started it; the programs that it executed "
		"follow "
		"each other",
	.columns = row_columns,
	.cell = tree_row_cell,
	.row_text = tree_row_text};

static const struct column head_columns[] = {
	{"processes", COLUMN_INTEGER, UNIT_COUNT, .says = "that were recorded"},
	{"children_unrecorded", COLUMN_INTEGER, UNIT_COUNT,
		.says = "programs that these processes started or executed without a recording"},
	COLUMNS_END};

static void head_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct tree_page *page = context;
	(void)row;
	ret->number = column ? count_unrecorded(page->rows, page->count)
			     : count_processes(page->rows, page->count);
}

static const struct table_type head_type = {.columns = head_columns, .cell = head_cell};

const struct answer_type tree_answer_type = {.schema = "heapwise.tree/1",
	.from = "heapwise report --json FOLDER",
	.says = "the processes of several recordings, or of a directory, and their sum. "
		"Files that don't say what was allocated (cores, heap profiles) are left out",
	.tables = (const struct table_type *const[]){&head_type, &row_type, &totals_type, NULL},
	.main = &row_type};

static void tree_add_title(const struct tree_row *rows, size_t count, struct text *out)
{
	size_t processes = count_processes(rows, count), small = count_small(rows, count);
	text_printf(out, "%zu recording%s of %zu process%s", count - small,
		count - small == 1 ? "" : "s", processes, processes == 1 ? "" : "es");
	if (small)
		text_printf(out, "; %zu small one%s no file, %s totals are in others'", small,
			small == 1 ? " has" : "s have", small == 1 ? "its" : "their");
	uint64_t unrecorded = count_unrecorded(rows, count);
	if (unrecorded) {
		text_add(out, "; ");
		text_add_count(out, unrecorded);
		text_add(out, unrecorded == 1 ? " program" : " programs");
		text_add(out, " ran unrecorded");
	}
	text_add(out, "\n\n");
	text_printf(out, "%-*s%*s%*s%*s%*s  %-*s%s\n", PROCESS_WIDTH, "  process", FIGURE_WIDTH,
		"allocations", FIGURE_WIDTH, "allocated", FIGURE_WIDTH, "peak", FIGURE_WIDTH,
		"never freed", FIGURE_WIDTH, "ended", "recording: program");
}

/* The sum of all, as the last row. */
static void tree_add_sums(const struct totals *totals, struct text *out)
{
	_cleanup_(text_deinit) struct text cell;
	text_init(&cell);
	text_add(&cell, "  all");
	tree_add_cell(out, &cell, PROCESS_WIDTH, true);
	tree_add_figures(out, &cell, totals, false);
	text_add_char(out, '\n');
	out->failed |= cell.failed;
}

static bool any_sampled(const struct tree_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].sampled)
			return true;
	return false;
}

static struct error *tree_lay_out(const struct tree_page *page, struct answer *answer)
{
	const struct tree_row *rows = page->rows;
	const struct tree_sums sums = {tree_sum(rows, page->count), any_sampled(rows, page->count)};
	const struct table table = {&row_type, page, page->count, .limit = TABLE_NO_LIMIT};
	struct text *prose = answer_prose(answer);
	answer_begin(answer, &tree_answer_type);
	answer_record_of(answer, &head_type, page);
	if (prose)
		tree_add_title(rows, page->count, prose);
	answer_table(answer, &table);
	answer_record_of(answer, &totals_type, &sums);
	if (prose)
		tree_add_sums(&sums.totals, prose);
	return answer_end(answer);
}

struct error *tree_write(const struct tree_row *rows, size_t count,
	const struct view_options *options, const struct sink *sink)
{
	struct tree_sums row_sums;
	struct recorded unrecorded;
	const struct tree_page page = {rows, count, &row_sums, &unrecorded};
	struct answer *answer = view_answer_create(options, sink);
	struct error *error = answer ? tree_lay_out(&page, answer) : error_no_memory();
	answer_destroy(answer);
	return error;
}
