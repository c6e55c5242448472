/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/writer/footer.h"

#include "base/util.h"

#include "base/cleanup.h"
#include "capture/writer/code_rows.h"
#include "capture/writer/columns.h"
#include "format/code_list.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef HW_VERSION
#define HW_VERSION "0"
#endif

/* A chunk of modules is closed after this many. */
#define MODULES_BYTES (1u << 20)
/* A chunk of stacks is closed after this many, or before this many rows that say nothing. */
#define STACKS_RUN (1u << 20)
#define STACKS_GAP 64

static void put_key(struct buf *ret, enum hpw_target_key key, const void *data, size_t bytes)
{
	buf_varint(ret, key);
	buf_varint(ret, bytes);
	buf_bytes(ret, data, bytes);
}

static void put_number(struct buf *ret, enum hpw_target_key key, uint64_t value)
{
	buf_varint(ret, key);
	buf_varint(ret, 8);
	buf_u64(ret, value);
}

static void footer_put_text(struct buf *ret, enum hpw_target_key key, const char *text)
{
	put_key(ret, key, text, strlen(text));
}

static void put_link(struct buf *ret, enum hpw_target_key key, pid_t pid, const char *what)
{
	char path[64], to[4096];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	ssize_t n = readlink(path, to, sizeof(to));
	if (n > 0)
		put_key(ret, key, to, (size_t)n);
}

/* The bytes of the arguments without what follows a title that the program shows in their place
 * (setproctitle, "nginx: worker process"): the rest of their memory, NULs, which look like
 * arguments of no characters. */
static size_t without_rest_of_title(const char *text, size_t bytes)
{
	size_t title = strnlen(text, bytes);
	if (title == bytes || !memchr(text, ' ', title))
		return bytes;
	for (size_t i = title; i < bytes; i++) {
		if (text[i])
			return bytes;
	}
	return title + 1;
}

/* The arguments as the kernel keeps them: NUL after each. At most 1 MiB of them. */
static void put_arguments(struct buf *ret, pid_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 1 << 20, got = 0;
	_cleanup_free_ char *text = malloc(size);
	for (ssize_t n;
		text && fd >= 0 && got < size && (n = read(fd, text + got, size - got)) > 0;)
		got += (size_t)n;
	got = text ? without_rest_of_title(text, got) : 0;
	for (size_t at = 0; at < got;) {
		size_t length = strnlen(text + at, got - at);
		put_key(ret, HPW_TARGET_ARG, text + at, length);
		at += length + 1;
	}
}

bool footer_target(struct buf *ret, const struct recorder_start *start)
{
	char host[256] = "";
	struct timespec wall;
	gethostname(host, sizeof(host) - 1);
	clock_gettime(CLOCK_REALTIME, &wall);
	uint64_t wall_ns = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec;
	uint64_t since = clock_pair_now().ns - start->began.ns;
	put_number(ret, HPW_TARGET_PID, (uint64_t)start->target_pid);
	put_number(ret, HPW_TARGET_PPID, (uint64_t)start->ppid);
	if (start->pid != start->target_pid) {
		put_number(ret, HPW_TARGET_OUTER_PID, (uint64_t)start->pid);
		put_number(ret, HPW_TARGET_OUTER_PPID, (uint64_t)start->outer_ppid);
	}
	put_arguments(ret, start->pid);
	put_link(ret, HPW_TARGET_EXE, start->pid, "exe");
	put_link(ret, HPW_TARGET_CWD, start->pid, "cwd");
	footer_put_text(ret, HPW_TARGET_HOST, host);
	put_number(ret, HPW_TARGET_WALL_START_NS, wall_ns - since);
	put_number(ret, HPW_TARGET_TSC_START, start->began.tsc);
	put_number(ret, HPW_TARGET_TSC_HZ, start->tsc_hz);
	if (start->forked)
		put_number(ret, HPW_TARGET_FORKED, 1);
	if (start->forked_at && start->parent_file) {
		put_number(ret, HPW_TARGET_FORKED_AT, start->forked_at);
		footer_put_text(ret, HPW_TARGET_PARENT_FILE, start->parent_file);
	}
	static const char *const modes[] = {
		[MODE_EXACT] = "exact", [MODE_AGGREGATE] = "aggregate", [MODE_SAMPLE] = "sample"};
	bool only_errors = start->mode.check == MODE_CHECK_ONLY;
	footer_put_text(ret, HPW_TARGET_MODE, only_errors ? "errors" : modes[start->mode.kind]);
	if (start->mode.sample_bytes)
		put_number(ret, HPW_TARGET_SAMPLE_BYTES, start->mode.sample_bytes);
	if (start->mode.mappings)
		put_number(ret, HPW_TARGET_MAPPINGS, 1);
	if (start->before) {
		put_number(ret, HPW_TARGET_MODE_CHANGES, start->before->rings.changes + 1);
		footer_put_text(ret, HPW_TARGET_EARLIER_FILE, start->before_file);
	}
	if (start->attached_ns)
		put_number(ret, HPW_TARGET_ATTACHED_NS, start->attached_ns);
	if (start->watched)
		put_number(ret, HPW_TARGET_WATCHED, 1);
	footer_put_text(ret, HPW_TARGET_WRITER, "heapwise " HW_VERSION);
	return !ret->failed;
}

bool footer_target_instructions(struct buf *ret, const char *counted_or_why)
{
	footer_put_text(ret, HPW_TARGET_INSTRUCTIONS, counted_or_why);
	return !ret->failed;
}

bool footer_modules(struct buf *ret, struct event_source *source, uint32_t *next)
{
	uint32_t count = source->ops->module_count(source);
	if (count > HW_MODULES_MAX)
		count = HW_MODULES_MAX;
	if (*next >= count)
		return false;
	for (; *next < count && ret->len < MODULES_BYTES; ++*next) {
		struct event_module m;
		source->ops->module(source, *next, &m);
		const uint64_t fields[] = {*next, m.start, m.end, m.bias, m.build_id_bytes};
		for (unsigned i = 0; i < 5; i++)
			buf_varint(ret, fields[i]);
		buf_bytes(ret, m.build_id, m.build_id_bytes);
		buf_varint(ret, m.path_bytes);
		buf_bytes(ret, m.path, m.path_bytes);
	}
	return !ret->failed;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

void footer_stacks_sort(uint32_t *numbers, size_t count)
{
	if (count)
		qsort(numbers, count, sizeof(*numbers), by_number);
}

/* How many of the numbers go into one chunk: until a wide gap in what earlier chunks cover. */
static size_t stacks_run(const uint32_t *numbers, size_t count, uint32_t end)
{
	size_t n = 1;
	while (n < count && n < STACKS_RUN &&
		(numbers[n] - numbers[n - 1] <= STACKS_GAP || numbers[n] > end))
		n++;
	return n;
}

/* A frame as columns: module, address as a difference or an instruction, row of CODE. */
static void put_frame(
	struct columns *c, uint64_t frame, uint32_t modules, uint32_t rows, uint64_t *before)
{
	uint64_t address = frame & HW_FRAME_ADDRESS_MASK, module = frame >> HW_FRAME_ADDRESS_BITS;
	uint64_t instruction;
	uint32_t row;
	bool is_code = code_rows_frame(frame, rows, &row, &instruction);
	columns_add(c, 2, module < modules ? module : 0);
	columns_add(c, 3, is_code ? instruction : zigzag_encode((int64_t)(address - *before)));
	columns_add(c, 4, is_code ? row : 0);
	if (!is_code)
		*before = address;
}

bool footer_stacks(struct buf *ret, struct event_source *source, const uint32_t *numbers,
	size_t count, uint32_t *end, size_t *ret_taken)
{
	const struct hw_node *nodes = source->nodes;
	uint32_t modules = source->ops->module_count(source), rows = code_rows_count(source);
	size_t taken = stacks_run(numbers, count, *end);
	uint32_t row = numbers[0] < *end ? numbers[0] : *end;
	struct columns c;
	columns_init(&c, 5);
	columns_add(&c, 0, row);
	uint64_t before = 0;
	for (size_t i = 0; i < taken; i++) {
		uint32_t number = numbers[i];
		uint64_t frame = __atomic_load_n(&nodes[number].frame, __ATOMIC_RELAXED);
		uint32_t parent = __atomic_load_n(&nodes[number].parent, __ATOMIC_RELAXED);
		for (; row < number; row++) {
			for (unsigned column = 1; column < 5; column++)
				columns_add(&c, column, 0);
		}
		columns_add(&c, 1, parent < number ? number - parent : number);
		put_frame(&c, frame, modules, rows, &before);
		row++;
	}
	if (rows <= 1) {
		buf_clear(&c.column[4]);
		columns_leave(&c, 4);
	}
	if (row > *end)
		*end = row;
	*ret_taken = taken;
	return columns_finish(&c, ret);
}

bool footer_sites(struct buf *ret, const struct tally *tally, uint32_t first)
{
	struct columns c;
	columns_init(&c, 3);
	columns_add(&c, 0, first);
	for (uint32_t i = first; i < tally->site_count; i++) {
		columns_add(&c, 1, tally->sites[i].stack);
		columns_add(&c, 2, tally->sites[i].kind);
	}
	return columns_finish(&c, ret);
}

static bool footer_put_threads(struct buf *ret, const struct tally *tally)
{
	struct columns c;
	columns_init(&c, HPW_THREAD_STACK_USED + 1);
	bool stacks = false;
	for (uint32_t i = 0; i < tally->thread_count; i++) {
		const struct tally_thread *t = &tally->threads[i];
		size_t length = strnlen(t->name, sizeof(t->name));
		const uint64_t row[] = {t->tid, t->first_stamp, t->last_stamp, t->allocations,
			t->allocated_bytes, t->frees, t->temporary, length};
		for (unsigned column = 0; column < 8; column++)
			columns_add(&c, column, row[column]);
		buf_bytes(&c.column[8], t->name, length);
		columns_add(&c, 9, t->ended);
		columns_add(&c, 10, t->threads - 1);
		columns_add(&c, HPW_THREAD_STACK_USED, t->stack_used);
		stacks |= t->stack_used;
	}
	if (!stacks) {
		buf_clear(&c.column[HPW_THREAD_STACK_USED]);
		columns_leave(&c, HPW_THREAD_STACK_USED);
	}
	return columns_finish(&c, ret);
}

static int by_size(const void *a, const void *b)
{
	const struct tally_size *x = a, *y = b;
	return (x->size > y->size) - (x->size < y->size);
}

bool footer_sizes(struct columns *c, unsigned first, const struct tally_sizes *from)
{
	size_t n = 0;
	_cleanup_free_ struct tally_size *sizes = malloc((from->count + 1) * sizeof(*sizes));
	if (!sizes)
		return false;
	for (size_t i = 0; i < from->capacity && n < from->count; i++) {
		if (from->places[i].allocations)
			sizes[n++] = from->places[i];
	}
	if (n)
		qsort(sizes, n, sizeof(*sizes), by_size);
	uint64_t before = 0;
	for (size_t i = 0; i < n; i++) {
		columns_add(c, first, sizes[i].size - before);
		columns_add(c, first + 1, sizes[i].allocations);
		before = sizes[i].size;
	}
	return true;
}

static bool put_sizes(struct buf *ret, const struct tally *tally)
{
	struct columns c;
	columns_init(&c, 2);
	bool ok = footer_sizes(&c, 0, &tally->sizes);
	return columns_finish(&c, ret) && ok;
}

uint64_t footer_lost(const struct footer_summary *summary)
{
	uint64_t sum = 0;
	for (unsigned why = 0; why < HPW_LOST_REASONS; why++)
		sum += summary->lost[why];
	return sum;
}

static bool put_summary(struct buf *ret, const struct tally *t, const struct footer_summary *s)
{
	const uint64_t pairs[][2] = {{HPW_SUM_EVENTS, s->events}, {HPW_SUM_STEPS, t->steps},
		{HPW_SUM_LOST, footer_lost(s)}, {HPW_SUM_REPAIRS, t->repairs},
		{HPW_SUM_UNKNOWN_FREES, t->unknown_frees},
		{HPW_SUM_ALLOCATIONS, t->calls.allocations},
		{HPW_SUM_ALLOCATED_BYTES, t->calls.allocated_bytes},
		{HPW_SUM_FREES, t->calls.frees}, {HPW_SUM_FAILED, t->heap.failed},
		{HPW_SUM_LIVE_BLOCKS, t->heap.live_blocks},
		{HPW_SUM_LIVE_BYTES, t->heap.live_bytes}, {HPW_SUM_TEMPORARY, t->calls.temporary},
		{HPW_SUM_PEAK_BLOCKS, t->heap.peak_blocks},
		{HPW_SUM_PEAK_BYTES, t->heap.peak_bytes}, {HPW_SUM_PEAK_TSC, t->peak_stamp},
		{HPW_SUM_THREADS, t->threads_seen}, {HPW_SUM_TSC_END, s->end_tsc},
		{HPW_SUM_NS_DURATION, s->duration_ns}, {HPW_SUM_EXIT_KIND, s->end.kind},
		{HPW_SUM_EXIT_VALUE, s->end.value}, {HPW_SUM_LONGEST_WAIT_NS, s->longest_wait_ns},
		{HPW_SUM_WAIT_NS, s->wait_ns}, {HPW_SUM_MISMATCHED, t->mismatched},
		{HPW_SUM_STACKS_FULL, s->stacks_full}, {HPW_SUM_CHILDREN, s->unrecorded},
		{HPW_SUM_NOTES, s->notes}, {HPW_SUM_KEPT_FIRST, s->kept.first_step},
		{HPW_SUM_KEPT_STEPS, s->kept.steps}, {HPW_SUM_KEPT_FROM_TSC, s->kept.from_tsc},
		{HPW_SUM_KEPT_UNTIL_TSC, s->kept.until_tsc},
		{HPW_SUM_DROPPED_STEPS, t->steps - s->kept.steps}, {HPW_SUM_MARKS, s->marks},
		{HPW_SUM_INSTRUCTIONS, s->instructions}, {HPW_SUM_RESIDENT, s->resident_bytes},
		{HPW_SUM_WAITS, s->waits}, {HPW_SUM_MAPPINGS_LOST, s->mappings_lost},
		{HPW_SUM_STOPS, s->stops}, {HPW_SUM_STOPPED_NS, s->stopped_ns},
		{HPW_SUM_STOPPED_FREES, s->stopped_frees}, {HPW_SUM_STOPPED_AT_END, s->stopped},
		{HPW_SUM_CHANGE_MISSED, s->change_missed}, {HPW_SUM_OLDER, s->older.why},
		{HPW_SUM_OLDER_BLOCKS, s->older.blocks}, {HPW_SUM_OLDER_BYTES, s->older.bytes},
		{HPW_SUM_OLDER_THREADS, s->older.threads},
		{HPW_SUM_OLDER_DAMAGED, s->older.damaged},

		{HPW_SUM_ATTACHED_LATER, s->attached_later},
		{HPW_SUM_ATTACHED_KEPT, s->attached_kept}};
	for (unsigned i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		buf_varint(ret, pairs[i][0]);
		buf_varint(ret, pairs[i][1]);
	}
	for (unsigned why = 0; why < HPW_LOST_REASONS; why++) {
		buf_varint(ret, HPW_SUM_LOST_FIRST + why);
		buf_varint(ret, s->lost[why]);
	}
	return !ret->failed;
}

bool footer_table(struct buf *ret, enum hpw_chunk_type type, const struct tally *tally,
	const struct footer_summary *summary)
{
	switch (type) {
	case HPW_THREADS:
		return footer_put_threads(ret, tally);
	case HPW_SIZES:
		return put_sizes(ret, tally);
	default:
		return put_summary(ret, tally, summary);
	}
}

bool footer_live(struct buf *ret, const struct live_entry *blocks, size_t count)
{
	struct columns c;
	columns_init(&c, 5);
	uint64_t before = 0;
	for (size_t i = 0; i < count; i++) {
		columns_add(&c, 0, blocks[i].address - before);
		columns_add(&c, 1, blocks[i].size);
		columns_add(&c, 2, blocks[i].site);
		columns_add(&c, 3, blocks[i].thread);
		columns_add(&c, 4, blocks[i].number);
		before = blocks[i].address;
	}
	return columns_finish(&c, ret);
}

_Static_assert((int)PERF_MAP_CUT == HPW_CODE_LIST_CUT && (int)PERF_MAP_ODD == HPW_CODE_LIST_ODD &&
		       (int)PERF_MAP_STATES == HPW_CODE_LIST_KINDS,
	"enum hpw_code_list has the states of process/perf_map.h");

bool footer_code_names(struct buf *ret, const struct code_names *names)
{
	struct columns c;
	columns_init(&c, HPW_CODE_NAMES_COLUMNS);
	uint64_t before = 0;
	for (size_t i = 0; i < names->rows.len; i++) {
		const struct code_name *row = &names->rows.data[i];
		columns_add(&c, HPW_CODE_NAMES_ADDRESS, row->address - before);
		columns_add(&c, HPW_CODE_NAMES_LENGTH, row->name_len);
		buf_bytes(&c.column[HPW_CODE_NAMES_BYTES], row->name, row->name_len);
		before = row->address;
	}
	columns_add(&c, HPW_CODE_NAMES_LIST, names->state);
	return columns_finish(&c, ret);
}

bool footer_unrecorded(struct buf *ret, struct unrecorded_list *list, size_t end)
{
	struct columns c;
	columns_init(&c, 5);
	for (; list->written < end; list->written++) {
		const struct unrecorded *row = &list->rows.data[list->written];
		size_t length = strlen(row->path);
		columns_add(&c, 0, row->stamp);
		columns_add(&c, 1, (uint32_t)row->pid);
		columns_add(&c, 2, row->reason);
		columns_add(&c, 3, length);
		buf_bytes(&c.column[4], row->path, length);
	}
	return columns_finish(&c, ret);
}

bool footer_bad_frees(struct buf *ret, const struct bad_free_vec *rows)
{
	struct columns c;
	columns_init(&c, HPW_BAD_FREES_COLUMNS);
	for (size_t i = 0; i < rows->len; i++) {
		const struct bad_free *row = &rows->data[i];
		const uint64_t values[HPW_BAD_FREES_COLUMNS] = {row->stamp, row->thread,
			row->address, row->count, row->what, row->kind, row->stack, row->site + 1u,
			row->first_thread + 1u, row->first_stack};
		for (unsigned k = 0; k < HPW_BAD_FREES_COLUMNS; k++)
			columns_add(&c, k, values[k]);
	}
	return columns_finish(&c, ret);
}

bool footer_mappings(struct buf *ret, const struct mapping_row_vec *rows)
{
	struct columns c;
	columns_init(&c, HPW_MAPPING_COLUMNS);
	uint64_t stamp = 0, page = 0;
	for (size_t i = 0; i < rows->len; i++) {
		const struct mapping_row *row = &rows->data[i];
		columns_add(&c, HPW_MAPPING_STAMP, zigzag_encode((int64_t)(row->stamp - stamp)));
		columns_add(&c, HPW_MAPPING_THREAD, row->thread);
		columns_add(&c, HPW_MAPPING_WHAT, row->what);
		columns_add(&c, HPW_MAPPING_FLAGS, row->flags);
		columns_add(&c, HPW_MAPPING_PAGE, zigzag_encode((int64_t)(row->page - page)));
		columns_add(&c, HPW_MAPPING_PAGES, row->pages);
		columns_add(&c, HPW_MAPPING_STACK, row->stack);
		stamp = row->stamp;
		page = row->page;
	}
	return columns_finish(&c, ret);
}

/* The target's own causes come first. */
_Static_assert((int)HW_LOST_STALLED == HPW_LOST_STALLED &&
		       (int)HW_LOST_IN_HANDLER == HPW_LOST_IN_HANDLER &&
		       (int)HW_LOST_SAMPLED == HPW_LOST_SAMPLED &&
		       (int)HW_LOST_HELD == HPW_LOST_HELD &&
		       (int)HW_LOST_REALLOC_FAILED == HPW_LOST_REALLOC_FAILED &&
		       (int)HW_LOST_SAMPLER == HPW_LOST_SAMPLER &&
		       (int)HW_LOST_REASONS == HPW_LOST_OWNERLESS,
	"as in hpw.h");

/* More events than one a nanosecond and processor there can't have been: then the process has
 * written over its count, which is not believed. */
static uint64_t footer_believed(uint64_t count, uint64_t most, struct footer_summary *summary)
{
	if (count <= most)
		return count;
	summary->lost[HPW_LOST_DAMAGED]++;
	return 0;
}

void footer_report(const struct event_report *report, struct footer_summary *summary)
{
	struct footer_summary *s = summary;
	uint64_t any = report->stacks_full;
	for (unsigned why = 0; why < HW_LOST_REASONS; why++)
		any |= report->lost[why];
	/* The number comes from a file of the kernel. */
	long processors = any ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
	uint64_t most = s->duration_ns * (processors > 1 ? (uint64_t)processors : 1);
	/* A process takes longer than that to start. */
	s->unrecorded += footer_believed(report->lost_notices, s->duration_ns / 1000, s);
	for (unsigned why = 0; why < HW_LOST_REASONS; why++)
		s->lost[why] += footer_believed(report->lost[why], most, s);
	s->stacks_full += footer_believed(report->stacks_full, most, s);
	s->wait_ns += report->wait_ns;
	s->waits += report->waits;
	s->longest_wait_ns = min(report->longest_wait_ns, s->duration_ns);
}
