/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/tree.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/util.h"

#define DEPTH_MAX 16
#define COMMAND_SHOWN 60
#define PROCESS_WIDTH 22
#define FIGURE_WIDTH 13

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
		text_add(cell, "runs");
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

static void tree_add_row(struct text *out, struct text *cell, const struct tree_row *row)
{
	text_printf(cell, "  %*s%" PRIu32, (int)(2 * row->depth), "", row->target.outer_pid);
	tree_add_cell(out, cell, PROCESS_WIDTH, true);
	tree_add_figures(out, cell, &row->totals, true);
	text_add(out, "  ");
	add_ending(cell, row);
	tree_add_cell(out, cell, FIGURE_WIDTH, true);
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
}

static struct error *tree_write_text(
	const struct tree_row *rows, size_t count, const struct sink *sink)
{
	_cleanup_(text_deinit) struct text out, cell;
	text_init(&out);
	text_init(&cell);
	size_t processes = count_processes(rows, count), small = count_small(rows, count);
	text_printf(&out, "%zu recording%s of %zu process%s", count - small,
		count - small == 1 ? "" : "s", processes, processes == 1 ? "" : "es");
	if (small)
		text_printf(&out, "; %zu small one%s no file, %s totals are in others'", small,
			small == 1 ? " has" : "s have", small == 1 ? "its" : "their");
	uint64_t unrecorded = count_unrecorded(rows, count);
	if (unrecorded) {
		text_add(&out, "; ");
		text_add_count(&out, unrecorded);
		text_add(&out, unrecorded == 1 ? " program" : " programs");
		text_add(&out, " ran unrecorded");
	}
	text_add(&out, "\n\n");
	text_printf(&out, "%-*s%*s%*s%*s%*s  %-*s%s\n", PROCESS_WIDTH, "  process", FIGURE_WIDTH,
		"allocations", FIGURE_WIDTH, "allocated", FIGURE_WIDTH, "peak", FIGURE_WIDTH,
		"never freed", FIGURE_WIDTH, "ended", "recording: program");
	for (size_t i = 0; i < count; i++)
		tree_add_row(&out, &cell, &rows[i]);
	struct totals sums = tree_sum(rows, count);
	text_add(&cell, "  all");
	tree_add_cell(&out, &cell, PROCESS_WIDTH, true);
	tree_add_figures(&out, &cell, &sums, false);
	text_add_char(&out, '\n');
	if (out.failed || cell.failed)
		return error_no_memory();
	sink->write(sink->ctx, out.data, out.len);
	return NULL;
}

static void put_totals(struct json *json, const struct totals *t, bool sampled)
{
	const struct {
		const char *name;
		uint64_t value;
	} members[] = {{"allocations", t->allocations}, {"allocated_bytes", t->allocated_bytes},
		{"frees", t->frees}, {"failed", t->failed}, {"temporary", t->temporary},
		{"live_blocks_at_end", t->live_blocks}, {"live_bytes_at_end", t->live_bytes}};
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		json_key(json, members[i].name);
		if (sampled && strcmp(members[i].name, "temporary") == 0)
			json_null(json);
		else
			json_u64(json, members[i].value);
	}
}

static void put_ending(struct json *json, const struct target *target)
{
	static const char *const names[] = {[EXIT_KIND_STATUS] = "code",
		[EXIT_KIND_SIGNAL] = "signal",
		[EXIT_KIND_EXEC] = "exec",
		[EXIT_KIND_RUNNING] = "running"};
	json_key(json, "exit");
	if (target->exit_kind == EXIT_KIND_UNKNOWN) {
		json_null(json);
		return;
	}
	json_object_begin(json);
	json_key(json, names[target->exit_kind]);
	if (target->exit_kind == EXIT_KIND_EXEC || target->exit_kind == EXIT_KIND_RUNNING)
		json_bool(json, true);
	else
		json_i64(json, target->exit_value);
	json_object_end(json);
}

static void put_unrecorded(struct json *json, const struct unrecorded_groups *groups)
{
	json_key(json, "unrecorded");
	json_array_begin(json);
	for (size_t i = 0; i < groups->len; i++) {
		const struct unrecorded_group *group = &groups->data[i];
		json_object_begin(json);
		json_key(json, "program");
		json_string(json, group->path);
		json_key(json, "reason");
		json_string(json, unrecorded_reason_key(group->reason));
		json_key(json, "itself");
		json_bool(json, group->itself);
		json_key(json, "count");
		json_u64(json, group->count);
		json_object_end(json);
	}
	json_array_end(json);
}

static void tree_put_row(struct json *json, const struct tree_row *row)
{
	json_object_begin(json);
	json_key(json, "file");
	json_string(json, row->file);
	json_key(json, "program");
	json_string(json, row->command);
	const struct {
		const char *name;
		uint64_t value;
	} members[] = {{"pid", row->target.pid}, {"ppid", row->target.ppid},
		{"outer_pid", row->target.outer_pid}, {"outer_ppid", row->target.outer_ppid},
		{"depth", row->depth}, {"lost_events", row->lost_events},
		{"duration_ns", row->duration_ns}, {"peak_bytes", row->totals.peak_bytes},
		{"children_unrecorded", row->children_unrecorded}};
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		json_key(json, members[i].name);
		json_u64(json, members[i].value);
	}
	json_key(json, "forked");
	json_bool(json, row->target.forked);
	json_key(json, "unseen");
	json_bool(json, row->unseen);
	json_key(json, "complete");
	json_bool(json, row->complete);
	json_key(json, "own_file");
	json_bool(json, !row->small);
	put_totals(json, &row->totals, row->sampled);
	put_unrecorded(json, &row->unrecorded);
	put_ending(json, &row->target);
	json_object_end(json);
}

static bool any_sampled(const struct tree_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].sampled)
			return true;
	return false;
}

static struct error *tree_write_json(
	const struct tree_row *rows, size_t count, const struct sink *sink)
{
	_cleanup_free_ struct json *json = malloc(sizeof(*json));
	if (!json)
		return error_no_memory();
	json_init(json, sink->write, sink->ctx);
	json_object_begin(json);
	json_key(json, "schema");
	json_string(json, "heapwise.tree/1");
	json_key(json, "processes");
	json_u64(json, count_processes(rows, count));
	json_key(json, "children_unrecorded");
	json_u64(json, count_unrecorded(rows, count));
	json_key(json, "recordings");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++)
		tree_put_row(json, &rows[i]);
	json_array_end(json);
	struct totals sums = tree_sum(rows, count);
	json_key(json, "totals");
	json_object_begin(json);
	put_totals(json, &sums, any_sampled(rows, count));
	json_object_end(json);
	json_object_end(json);
	json_finish(json);
	return NULL;
}

struct error *tree_write(
	const struct tree_row *rows, size_t count, bool json, const struct sink *sink)
{
	return json ? tree_write_json(rows, count, sink) : tree_write_text(rows, count, sink);
}
