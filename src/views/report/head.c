/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/report/head.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "views/compare/change_view.h"
#include "views/report/json_parts.h"
#include "views/report/member_columns.h"
#include "views/report/recorded_columns.h"
#include "views/report/site_columns.h"
#include "views/report/text_parts.h"

static const struct column view_columns[] = {
	{"view", COLUMN_TEXT, .says = "as `--view` calls it"}, COLUMNS_END};

static void view_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)row, (void)column;
	ret->text = ((const struct page *)context)->view->name;
}

const struct table_type report_view_type = {.columns = view_columns, .cell = view_cell};

static const struct column word_columns[] = {{"", COLUMN_TEXT, .says = "a word"}, COLUMNS_END};

static void word_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)column;
	ret->text = ((const char *const *)context)[row];
}

const struct table_type report_word_type = {.columns = word_columns, .cell = word_cell};

enum { EXIT_CODE, EXIT_SIGNAL, EXIT_RUNNING, EXIT_EXEC };
static const struct column exit_columns[] = {
	[EXIT_CODE] = {"code", COLUMN_INTEGER, .optional = true,
		.says = "it ended with this status"},
	[EXIT_SIGNAL] = {"signal", COLUMN_INTEGER, .optional = true, .says = "that ended it"},
	[EXIT_RUNNING] = {"running", COLUMN_BOOLEAN, .optional = true,
		.says = "it ran on when it was looked at"},
	[EXIT_EXEC] = {"exec", COLUMN_BOOLEAN, .optional = true,
		.says = "it went on as another program"},
	COLUMNS_END};

static void exit_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	static const unsigned column_of[] = {[EXIT_KIND_STATUS] = EXIT_CODE,
		[EXIT_KIND_SIGNAL] = EXIT_SIGNAL,
		[EXIT_KIND_RUNNING] = EXIT_RUNNING};
	const struct target *target = context;
	bool is_listed = target->exit_kind == EXIT_KIND_STATUS ||
			 target->exit_kind == EXIT_KIND_SIGNAL ||
			 target->exit_kind == EXIT_KIND_RUNNING;
	(void)row;
	ret->number = (uint64_t)target->exit_value;
	ret->truth = true;
	if (column != (is_listed ? column_of[target->exit_kind] : EXIT_EXEC))
		ret->state = CELL_ABSENT;
}

const struct table_type report_exit_type = {
	.name = "exit", .columns = exit_columns, .cell = exit_cell};

enum { COMMAND, EXE, CWD, HOST, PID, PPID, OUTER_PID, OUTER_PPID, WALL_START, EXIT };
static const struct column target_columns[] = {
	[COMMAND] = {"command", COLUMN_LIST, .says = "the argument vector",
		.nested = &report_word_type},
	[EXE] = WORD_OF(target, exe, "path of the executable; empty: unknown"),
	[CWD] = WORD_OF(target, cwd, "working folder; empty: unknown"),
	[HOST] = WORD_OF(target, host, "name of the machine; empty: unknown"),
	[PID] = NUMBER_OF(target, pid,
		"as the process itself sees it; null, as of the next four: a file of "
		"another "
		"tool does not say it"),
	[PPID] = NUMBER_OF(target, ppid, "of its parent, likewise; 0: unknown"),
	[OUTER_PID] = NUMBER_OF(target, outer_pid,
		"as its recorder sees it: another one in a PID namespace; 0: unknown"),
	[OUTER_PPID] = NUMBER_OF(target, outer_ppid, "of its parent, likewise"),
	[WALL_START] =
		TIME_OF(target, wall_start_ns, "`CLOCK_REALTIME` when recording began; 0: unknown"),
	[EXIT] = {"exit", COLUMN_RECORD, .says = "how it ended; null: nobody could say",
		.nested = &report_exit_type},
	COLUMNS_END};

static void target_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct target *target = context;
	(void)row;
	switch (column) {
	case COMMAND:
		ret->nested = (struct table){&report_word_type, target->command,
			target->command_len, .limit = TABLE_NO_LIMIT};
		break;
	case EXIT:
		ret->nested = (struct table){&report_exit_type, target, 1, .limit = 1};
		if (target->exit_kind == EXIT_KIND_UNKNOWN)
			ret->state = CELL_UNKNOWN;
		break;
	default:
		table_member(&target_columns[column], target, ret);
		/* A process that has no number is one of which a file of another tool says nothing.
		 */
		if (column >= PID && !target->pid && !ret->number)
			ret->state = CELL_UNKNOWN;
	}
}

const struct table_type report_target_type = {
	.name = "target", .says = "the program", .columns = target_columns, .cell = target_cell};

static const struct column range_columns[] = {WORD_OF(range, from, "as it was asked for"),
	WORD_OF(range, to, "as it was asked for"), TIME_OF(range, from_ns, "when that was"),
	TIME_OF(range, to_ns, "when that was"), COLUMNS_END};
static const struct table_type range_type = {
	.name = "range", .columns = range_columns, .row_bytes = sizeof(struct range)};

#define LOST(name, why, what)                                                                      \
	{                                                                                          \
		name, COLUMN_INTEGER, UNIT_COUNT, .optional = true, .says = what,                  \
						  COLUMN_OF(recording, lost[why])                  \
	}
static const struct column lost_columns[] = {
	LOST("stalled", LOST_STALLED, "the recorder stood still for more than a second"),
	LOST("in_handler", LOST_IN_HANDLER, "in a signal handler, which must not wait"),
	LOST("sampled", LOST_SAMPLED, "a sample found no room and did not wait"),
	LOST("held", LOST_HELD, "another thread stopped in the middle of an event"),
	LOST("realloc_failed", LOST_REALLOC_FAILED, "a sampled block lives on unseen"),
	LOST("sampler", LOST_SAMPLER, "the table of sampled blocks was full or in use"),
	LOST("ownerless", LOST_OWNERLESS, "of a thread that could not be identified or numbered"),
	LOST("damaged", LOST_DAMAGED, "the program wrote over the recorder's memory"),
	LOST("no_memory", LOST_NO_MEMORY, "the recorder had none for more blocks or stacks"),
	LOST("ring", LOST_RING, "the ring of events from the kernel was full"),
	LOST("table", LOST_TABLE, "the kernel's table of blocks or threads was full"),
	LOST("unprobed", LOST_UNPROBED,
		"calls of operator new that probes left alone, since they might throw"),
	COLUMNS_END};
static_assert(ARRAY_SIZE(lost_columns) == LOST_REASONS + 1, "each reason has a column");

static void lost_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)row;
	table_member(&lost_columns[column], context, ret);
	if (!ret->number)
		ret->state = CELL_ABSENT;
}

static const struct table_type lost_type = {
	.name = "lost", .columns = lost_columns, .cell = lost_cell};

static const struct column process_columns[] = {NUMBER_OF(unrecorded_program, pid, "its number"),
	TIME_OF(unrecorded_program, start_ns, "when it began"), COLUMNS_END};
static const struct table_type process_type = {.name = "processes",
	.columns = process_columns,
	.row_bytes = sizeof(struct unrecorded_program)};

DEFINE_VEC(process_order, size_t)

static bool is_of_group(const struct model *model, const struct unrecorded_program *one,
	const struct unrecorded_group *group)
{
	return one->reason == group->reason && !strcmp(one->path, group->path) &&
	       (one->pid == model_target(model)->pid) == group->itself;
}

static void processes_cell(
	const struct recorded *rows, const struct unrecorded_group *group, struct cell *ret)
{
	size_t count;
	const struct unrecorded_program *programs = model_unrecorded(rows->model, &count);
	process_order_clear(rows->processes);
	for (size_t i = 0; i < count; i++)
		if (is_of_group(rows->model, &programs[i], group))
			ret->built.failed |= !process_order_push(rows->processes, i);
	ret->nested = (struct table){&process_type, programs, rows->processes->len,
		.order = rows->processes->data, .limit = TABLE_NO_LIMIT};
}

enum { PROGRAM, REASON, ITSELF, GROUP_COUNT, PROCESSES };
static const struct column group_columns[] = {
	[PROGRAM] = WORD_AS("program", unrecorded_group, path,
		"a path as it was asked for, or where it was found; empty: unknown"),
	[REASON] = {"reason", COLUMN_TEXT,
		.says = "`static`, `setuid` (it starts with other rights), `32-bit`, `machine` "
			"(for "
			"another one), `sanitizer`, `musl`, `unwanted` (left out by `--children`), "
			"`many` (too many processes at a time), `failed` (recording could not be "
			"started), `late` (the process did not wait as long as the collector "
			"needed to answer) or `unknown`"},
	[ITSELF] = FLAG_OF(unrecorded_group, itself,
		"the process went on as that program; else it started it"),
	[GROUP_COUNT] = COUNT_OF(unrecorded_group, count, "of processes"),
	[PROCESSES] = {"processes", COLUMN_TABLE, .optional = true, .says = "each of them",
		.nested = &process_type},
	COLUMNS_END};

static void group_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct recorded *rows = context;
	const struct unrecorded_group *group = &rows->unrecorded->data[row];
	if (column == PROCESSES && rows->processes)
		processes_cell(rows, group, ret);
	else if (column == PROCESSES)
		ret->state = CELL_ABSENT;
	else if (column == REASON)
		ret->text = unrecorded_reason_key(group->reason);
	else
		table_member(&group_columns[column], group, ret);
}

const struct table_type report_unrecorded_type = {
	.name = "unrecorded", .columns = group_columns, .cell = group_cell};

#define MEMBER(name, type, unit, ...)                                                              \
	{                                                                                          \
#name, type, unit, COLUMN_OF(recording, name), .says = __VA_ARGS__                 \
	}
#define COUNT(name, ...) MEMBER(name, COLUMN_INTEGER, UNIT_COUNT, __VA_ARGS__)
#define TIME(name, ...) MEMBER(name, COLUMN_INTEGER, UNIT_NS, __VA_ARGS__)
#define FLAG(name, ...) MEMBER(name, COLUMN_BOOLEAN, UNIT_NONE, __VA_ARGS__)
#define WORD(name, ...) MEMBER(name, COLUMN_TEXT, UNIT_NONE, __VA_ARGS__)

/* What most recordings do not have. */
#define RARE(name, type, unit, ...)                                                                \
	{                                                                                          \
#name, type, unit, COLUMN_OF(recording, name), .optional = true,                   \
							       .says = __VA_ARGS__                 \
	}
#define RARE_COUNT(name, ...) RARE(name, COLUMN_INTEGER, UNIT_COUNT, __VA_ARGS__)
#define RARE_TIME(name, ...) RARE(name, COLUMN_INTEGER, UNIT_NS, __VA_ARGS__)
#define RARE_BYTES(name, ...) RARE(name, COLUMN_INTEGER, UNIT_BYTES, __VA_ARGS__)
#define RARE_FLAG(name, ...) RARE(name, COLUMN_BOOLEAN, UNIT_NONE, __VA_ARGS__)
#define RARE_WORD(name, ...) RARE(name, COLUMN_TEXT, UNIT_NONE, __VA_ARGS__)

enum {
	RESIDENT_PEAK = 3,
	READ = 9,
	FIRST_COUNT,
	STRAY_FREES = 14,
	MISMATCHED = 16,
	WAITS = 22,
	LAST_COUNT = 36,
	RANGE,
	LOST = 39,
	UNRECORDED = 50,
	DAMAGE,
	CLASS,
	MAPPED
};
#define MAPPED_SUM(name, unit, what)                                                               \
	{                                                                                          \
#name, COLUMN_INTEGER, unit, COLUMN_OF(mapped_sums, name), .says = what            \
	}
static const struct column mapped_columns[] = {
	MAPPED_SUM(bytes, UNIT_BYTES, "mapped at the end, or at that of the range"),
	MAPPED_SUM(mappings, UNIT_COUNT, "calls of which something is still mapped then"),
	MAPPED_SUM(peak_bytes, UNIT_BYTES, "mapped at most, up to then"),
	MAPPED_SUM(calls, UNIT_COUNT, "that mapped something, up to then"),
	MAPPED_SUM(allocator_bytes, UNIT_BYTES,
		"of `bytes`: mapped by the library that has malloc; blocks lie there"),
	COLUMNS_END};
static const struct table_type mapped_type = {
	.columns = mapped_columns, .row_bytes = sizeof(struct mapped_sums)};

static const struct column recording_columns[] = {
	WORD_AS("file", recording, path, "as given on the command line"),
	WORD(source, "what the file was read as: `recording`, or a format of others (`pprof`…)"),
	FLAG(snapshot, "a state of a program that went on: what is live was not necessarily left"),
	[RESIDENT_PEAK] = MEMBER(resident_peak_bytes, COLUMN_INTEGER, UNIT_BYTES,
		"the largest resident size of the process, without shared memory, as the kernel "
		"says when it ends; of one that was killed, a second or more before; null: not "
		"known"),
	MEMBER(merged, COLUMN_INTEGER, UNIT_COUNT,
		"recordings that were added up (`--merge`), which `file` names: `target` is the "
		"first one's, `peak_*` are sums of peaks at moments of their own; 0: it is one"),
	WORD(mode, "`exact`: every event; `aggregate`: the sums of every event; `sample`: some "
		   "blocks, by chance, and figures are estimates; empty: a file of others does "
		   "not say"),
	MEMBER(sample_bytes, COLUMN_INTEGER, UNIT_BYTES,
		"of `sample`: about one block in so many bytes; else 0"),
	WORD(writer, "program and version that wrote it"),
	FLAG(complete, "closed properly, and all of it could be read"),
	[READ] = {"read", COLUMN_TEXT,
		.says = "`footer`: figures as the recorder summed them up; `replay`: summed up "
			"again "
			"from the events; `sums`: of a range, from what the recorder summed up now "
			"and then and the events at both ends"},
	[FIRST_COUNT] = COUNT(events, "recorded calls; null, as of the others: a file of another "
				      "tool does not say it"),
	COUNT(lost_events, "that are not in it"), TIME(duration_ns, "how long it was recorded"),
	COUNT(repairs, "how often allocations and frees of an address did not alternate"),
	[STRAY_FREES] = COUNT(unknown_frees,
		"of blocks whose allocation was not recorded; those of `--view errors` are not "
		"counted again here"),
	COUNT(inherited_frees,
		"of blocks that a forked process had from its parent; they are in `frees` too"),
	[MISMATCHED] = COUNT(
		mismatched_frees, "by a function that does not match; in `--view errors` too"),
	COUNT(stacks_full, "events whose stack did not fit the table of stacks"),
	COUNT(children_unrecorded,
		"programs that it started, or went on as, and that have no recording"),
	COUNT(marks, "set by the program or from outside; `--view marks` lists them"),
	TIME(longest_wait_ns, "the longest time that one thread waited for the recorder: for room, "
			      "for others that wait for room, or for its answer at the start"),
	TIME(wait_ns, "that all threads together waited for room"),
	[WAITS] = COUNT(waits, "how often they did; null: the file does not say it"),
	RARE_COUNT(stops, "times in which allocations were not recorded, since that was stopped"),
	RARE_TIME(stopped_ns, "how long these were together"),
	RARE_COUNT(stopped_frees, "frees of blocks that are not known, after the first of these, "
				  "or after a change of the mode"),
	RARE_COUNT(mode_changes,
		"how often the mode of the process had been changed before: the recording "
		"goes on after another one, whose blocks are not known"),
	RARE_COUNT(change_missed,
		"events that threads were about to record when the mode was changed: neither "
		"recording has them"),
	RARE_TIME(attached_ns, "how long the process had run when it was attached: what it had "
			       "allocated before is not known without `older_blocks`"),
	RARE_COUNT(older_blocks,
		"of an attached process: blocks that it had before; they are live from the "
		"beginning, and no calls"),
	RARE_BYTES(older_bytes, "and their usable bytes"),
	RARE_COUNT(older_threads,
		"threads that may have been inside the allocator then: as many blocks may be "
		"missing or too many"),
	RARE_TIME(reset_ns, "of a dump: its counts of calls begin then, not with the recording"),
	COUNT(dropped_steps, "allocations and frees that the file does not contain one by one; "
			     "figures are of all"),
	COUNT(kept_steps, "and those that it contains"),
	TIME(kept_from_ns, "the first moment of those"),
	[LAST_COUNT] = TIME(kept_until_ns, "and the last"),
	[RANGE] = {"range", COLUMN_RECORD,
		.says = "the part of the recording that figures are of: \"at the end\" is at the "
			"end "
			"of the part then, the peak is the highest moment inside it, counts are of "
			"the calls inside it; null: all of it",
		.nested = &range_type},
	WORD(blocks, "which blocks figures are of (\"of at least 1.00 KiB\"), where the command "
		     "line asked for some only; null: all"),
	[LOST] = {"lost", COLUMN_RECORD, .says = "`lost_events` by cause, without those that are 0",
		.nested = &lost_type},
	FLAG(own_malloc, "the executable, or a library that is loaded before the recorder's, "
			 "defines malloc: its calls were not seen"),
	FLAG(sandboxed, "the program forbade itself system calls or the time stamp counter"),
	FLAG(loaded_apart, "the program loaded libraries with `RTLD_DEEPBIND` or `dlmopen`: what "
			   "these allocate and free was not seen"),
	RARE_FLAG(ignores, "the program had some of its allocations left out"),
	FLAG(not_attached, "the recorder got no memory inside the program: nothing was seen"),
	RARE_WORD(earlier_file, "with `mode_changes`: the recording before, without its folder"),
	RARE_FLAG(changed_at_end,
		"the mode was changed then: the process went on in another recording"),
	RARE_FLAG(watched, "nothing in the process was changed: calls were seen by probes in the "
			   "kernel, those of the allocator's functions alone"),
	RARE_FLAG(detached, "it was let go: the process went on, unrecorded"),
	RARE_WORD(dump, "of a dump: why it was written, a clause"),
	[UNRECORDED] = {"unrecorded", COLUMN_TABLE, .optional = true,
		.says = "the first 1,000 of `children_unrecorded` by program and reason, most "
			"frequent first",
		.nested = &report_unrecorded_type},
	[DAMAGE] = {"damage", COLUMN_LIST, .says = "what is missing from the file, as sentences",
		.nested = &report_word_type},
	[CLASS] = {"class", COLUMN_TEXT, .optional = true,
		.says = "`mapping`: figures are of what the program mapped, and its calls of mmap "
			"and the like are the allocations; `all`: of its heap and of that, without "
			"what its allocator mapped"},
	[MAPPED] = {"mapped", COLUMN_RECORD, .optional = true,
		.says = "what the program mapped beside its heap, where `run --mmap` recorded it; "
			"in no other figure, unless `class` is `all`",
		.nested = &mapped_type},
	COLUMNS_END};

static void damage_cell(const struct recorded *rows, struct cell *ret)
{
	size_t count;
	const char *const *damage = model_damage(rows->model, &count);
	ret->nested = (struct table){&report_word_type, damage, count, .limit = TABLE_NO_LIMIT};
}

/* Of the columns with a member, which most recordings leave out. */
static bool is_rare(const struct column *column)
{
	return column->optional;
}

/* What other tools' files do not count is not 0 by that; frees of unknown blocks are counted of
 * their events. */
static void count_cell(const struct recording *recording, unsigned column, struct cell *ret)
{
	bool own = !strcmp(recording->source, "recording");
	bool counted = column == STRAY_FREES && recording->read_way == READ_REPLAY;
	bool is_count = column >= FIRST_COUNT && column <= LAST_COUNT;
	table_member(&recording_columns[column], recording, ret);
	if (is_rare(&recording_columns[column])) {
		bool is_there = ret->number || ret->truth || ret->text;
		ret->state = is_there ? CELL_KNOWN : CELL_ABSENT;
		return;
	}
	if (!ret->number && (column == RESIDENT_PEAK || (is_count && !own && !counted)))
		ret->state = CELL_UNKNOWN;
	if (column == WAITS && recording->waits_unknown)
		ret->state = CELL_UNKNOWN;
	/* Probes do not see either. */
	if (recording->watched && (column == STRAY_FREES || column == MISMATCHED))
		ret->state = CELL_UNKNOWN;
}

static void recording_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	static const char *const ways[] = {
		[READ_FOOTER] = "footer", [READ_REPLAY] = "replay", [READ_SUMS] = "sums"};
	const struct recorded *rows = context;
	const struct recording *recording = model_recording(rows->model);
	(void)row;
	switch (column) {
	case READ:
		ret->text = ways[recording->read_way];
		break;
	case RANGE:
		ret->nested = (struct table){&range_type, &recording->range, 1, .limit = 1};
		ret->state = recording->range.part ? CELL_KNOWN : CELL_UNKNOWN;
		break;
	case LOST:
		ret->nested = (struct table){&lost_type, recording, 1, .limit = 1};
		break;
	case UNRECORDED:
		if (rows->unrecorded)
			ret->nested = (struct table){&report_unrecorded_type, rows,
				rows->unrecorded->len, .limit = TABLE_NO_LIMIT};
		else
			ret->state = CELL_ABSENT;
		break;
	case DAMAGE:
		damage_cell(rows, ret);
		break;
	case CLASS:
		ret->text = recording->what == RECORDED_BOTH ? "all" : "mapping";
		ret->state = recording->what == RECORDED_HEAP ? CELL_ABSENT : CELL_KNOWN;
		break;
	case MAPPED:
		ret->nested = (struct table){&mapped_type, &recording->mapped, 1, .limit = 1};
		ret->state = recording->mappings && recording->what != RECORDED_MAPPINGS
				     ? CELL_KNOWN
				     : CELL_ABSENT;
		break;
	default:
		count_cell(recording, column, ret);
	}
}

const struct table_type report_recording_type = {.name = "recording",
	.says = "how it was recorded and read",
	.columns = recording_columns,
	.cell = recording_cell};

#define TOTAL(name, member, unit, what)                                                            \
	{                                                                                          \
		name, COLUMN_INTEGER, unit, .says = what, COLUMN_OF(totals, member)                \
	}
enum { RANGES = 13, BY_MEAN_SIZES };
static const struct column totals_columns[] = {
	TOTAL("allocations", allocations, UNIT_COUNT, "successful calls"),
	TOTAL("allocated_bytes", allocated_bytes, UNIT_BYTES, "that they asked for"),
	TOTAL("frees", frees, UNIT_COUNT, "of recorded and unknown blocks"),
	TOTAL("failed", failed, UNIT_COUNT, "calls that failed"),
	TOTAL("live_blocks_at_end", live_blocks, UNIT_COUNT, "never freed"),
	TOTAL("live_bytes_at_end", live_bytes, UNIT_BYTES, "of these"),
	TOTAL("kept_blocks", kept_blocks, UNIT_COUNT, "of these, allocated in the range"),
	TOTAL("kept_bytes", kept_bytes, UNIT_BYTES, "of these"),
	TOTAL("temporary", temporary, UNIT_COUNT, "calls whose block was freed at once"),
	TOTAL("peak_bytes", peak_bytes, UNIT_BYTES, "live at the peak"),
	TOTAL("peak_blocks", peak_blocks, UNIT_COUNT, "live at the peak"),
	TOTAL("peak_time_ns", peak_time_ns, UNIT_NS, "when that was"),
	TOTAL("threads", threads, UNIT_COUNT, "that allocated or freed"),
	[RANGES] = {"ranges", COLUMN_RECORD,
		.says = "what estimates may be; null: the figures are none",
		.nested = &total_ranges_type},
	[BY_MEAN_SIZES] = {"by_mean_sizes", COLUMN_BOOLEAN, .optional = true,
		.says = "as of a site"},
	COLUMNS_END};

static void totals_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct range_rows *rows = context;
	(void)row;
	if (column == RANGES) {
		ranges_cell(rows, 0, &total_ranges_type, ret);
	} else if (column == BY_MEAN_SIZES) {
		by_mean_sizes_cell(rows, 0, ret);
	} else {
		table_member(&totals_columns[column], rows->totals, ret);
		if (!figure_is_known(rows->recording, totals_columns[column].name))
			ret->state = CELL_UNKNOWN;
	}
}

const struct table_type report_totals_type = {.name = "totals",
	.says = "of the whole process; null, here and elsewhere: the source does not say it; of "
		"samples the figures are estimates, and what is temporary is not known",
	.columns = totals_columns,
	.cell = totals_cell};

const struct table_type report_notes_type = {.name = "notes",
	.says = "what limits the figures; empty when nothing does",
	.columns = line_columns,
	.cell = line_cell};

enum { FILTER, SORTED_BY };
static const struct column order_columns[] = {
	[FILTER] = {"filter", COLUMN_TEXT,
		.says = "what chooses stacks and frames, as options: `--focus 'read_'`; figures of "
			"`totals` are of all of them. null: nothing"},
	[SORTED_BY] = {"sorted_by", COLUMN_TEXT,
		.says = "the metric that rows are sorted by, largest first; `time_ns` of marks, "
			"which ascend; null of errors and `rss`, which come as they are"},
	COLUMNS_END};

static void order_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct page *page = context;
	(void)row;
	if (column == FILTER)
		cell_take_filter(ret, view_can_filter(page->view) ? page->options->filter : NULL);
	else if (page->sort < METRICS)
		ret->text = metric_name(page->sort);
	else /* errors come as the checker has them, marks as time goes, memory by what it is */
		ret->text = page->view->needs_marks ? "time_ns" : NULL;
}

const struct table_type report_order_type = {.columns = order_columns, .cell = order_cell};

const struct table_type report_verdict_type = {.name = "verdict",
	.says = "views `summary`, `growth` and `realloc`: the answer, the weightiest first",
	.columns = line_columns,
	.cell = line_cell};

static void put_lines(const struct table_type *type, const struct text *text, struct answer *answer)
{
	const struct table table = lines_table(type, text);
	answer_table(answer, &table);
}

/* In the order in which programs have it. */
static void head_put_head(const struct page *page, struct answer *answer)
{
	struct process_order processes;
	process_order_init(&processes);
	const struct recorded recording = {page->model, NULL, &page->unrecorded, &processes};
	const struct range_rows totals = {
		model_recording(page->model), model_totals(page->model), NULL};
	answer_record_of(answer, &report_view_type, page);
	answer_record_of(answer, &report_target_type, model_target(page->model));
	answer_record_of(answer, &report_recording_type, &recording);
	answer_record_of(answer, &report_totals_type, &totals);
	if (page->options->base && !page->view->own_change)
		change_head(page, answer);
	put_lines(&report_notes_type, &page->notes, answer);
	answer_record_of(answer, &report_order_type, page);
	process_order_deinit(&processes);
}

void report_head(const struct page *page, const struct text *verdict, struct answer *answer)
{
	struct text *prose = answer_prose(answer);
	head_put_head(page, answer);
	if (verdict)
		put_lines(&report_verdict_type, verdict, answer);
	if (!prose)
		return;
	if (page->options->base && page->view->answer_change) {
		if (!page->view->own_change)
			text_change_heading(page, prose);
		return;
	}
	text_add(prose, page->view->ruled ? TEXT_RULER : "");
	text_heading(page->model, prose);
	if (verdict)
		text_verdict(verdict, prose);
	text_notes(&page->notes, prose);
	text_add(prose, page->view->ruled ? TEXT_RULER "\n\n" : "");
}

void report_source(const struct model *model, const struct text *verdict, const struct text *notes,
	struct answer *answer)
{
	struct process_order processes;
	process_order_init(&processes);
	const struct recorded recording = {model, NULL, NULL, &processes};
	answer_record_of(answer, &report_target_type, model_target(model));
	answer_record_of(answer, &report_recording_type, &recording);
	if (verdict)
		put_lines(&report_verdict_type, verdict, answer);
	if (notes)
		put_lines(&report_notes_type, notes, answer);
	process_order_deinit(&processes);
}

void report_totals(const struct model *model, const struct text *notes, struct answer *answer)
{
	const struct range_rows totals = {model_recording(model), model_totals(model), NULL};
	answer_record_of(answer, &report_totals_type, &totals);
	put_lines(&report_notes_type, notes, answer);
}
