/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/recorder/ring_source.h"

#include "base/util.h"
#include "capture/shared_memory.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Rings are handed out from the first on, in a process with little address space from the first
 * small one on: after this many unused ones there is none. */
#define UNUSED_MOST (HW_RINGS_LARGE + HW_RINGS_MEDIUM + 16)

static struct hw_shm *shm_of(struct event_source *source)
{
	return ((struct ring_source *)source)->shm;
}

static struct hw_ring *ring_of(struct event_source *source, uint32_t lane)
{
	return (struct hw_ring *)((char *)shm_of(source) + HW_SHM_RINGS) + lane;
}

/* How many changes of the mode a generation has seen more than this source is of: of none its
 * words are this recording's, of more a later one's, of fewer an earlier one's. */
static int changes_ahead(struct event_source *source, uint32_t generation)
{
	return (int)(generation >> HW_GENERATION_SHIFT) -
	       (int)((struct ring_source *)source)->changes;
}

static void ring_lane(struct event_source *source, uint32_t lane, struct event_lane *ret)
{
	ret->words = (const uint64_t *)((char *)shm_of(source) + HW_SHM_DATA) + hw_ring_start(lane);
	ret->size = hw_ring_words(lane);
}

static uint64_t ring_stamp(struct event_source *source)
{
	(void)source;
	__builtin_ia32_lfence();
	return __builtin_ia32_rdtsc();
}

static struct clock_pair ring_clock(struct event_source *source)
{
	(void)source;
	return clock_pair_now();
}

static void ring_pass_begin(struct event_source *source)
{
	struct hw_shm *shm = shm_of(source);
	if (__atomic_load_n(&shm->doorbell, __ATOMIC_RELAXED))
		__atomic_store_n(&shm->doorbell, 0, __ATOMIC_SEQ_CST);
}

static bool ring_look(struct event_source *source, uint32_t lane, struct event_look *ret)
{
	const struct hw_ring *ring = ring_of(source, lane);
	if (__atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) != HW_RING_ACTIVE &&
		lane != HW_RING_SHARED)
		return false;
	ret->busy = __atomic_load_n(&ring->busy, __ATOMIC_ACQUIRE);
	ret->head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	/* After head: what a new producer has published must not pass for the old one's. */
	ret->generation = __atomic_load_n(&ring->generation, __ATOMIC_ACQUIRE);
	ret->tid = __atomic_load_n(&ring->tid, __ATOMIC_RELAXED);
	ret->began = __atomic_load_n(&ring->began, __ATOMIC_RELAXED);
	int ahead = changes_ahead(source, ret->generation);
	ret->is_past = ahead < 0;
	ret->is_over = ahead > 0;
	if (ret->is_over) {
		ret->head = ret->began;
		ret->busy = 0;
	}
	return true;
}

static void ring_taken(struct event_source *source, uint32_t lane, uint64_t tail)
{
	struct hw_ring *ring = ring_of(source, lane);
	if (tail == __atomic_load_n(&ring->tail, __ATOMIC_RELAXED))
		return;
	/* Gives the words back to the producer (its acquire load of tail). */
	__atomic_store_n(&ring->tail, tail, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&shm_of(source)->progress, 1, __ATOMIC_RELAXED);
	if (__atomic_load_n(&ring->waiting, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &ring->tail, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Where waiting was given up, it is not begun again: a collector that lets go says so that way. */
static void ring_waits(struct event_source *source)
{
	struct hw_shm *shm = shm_of(source);
	if (__atomic_load_n(&shm->stalled_at, __ATOMIC_RELAXED) != shm->progress + 1)
		__atomic_fetch_add(&shm->progress, 1, __ATOMIC_RELAXED);
}

static bool ring_lanes_wanted(struct event_source *source)
{
	return __atomic_load_n(&shm_of(source)->ring_wanted, __ATOMIC_RELAXED) != 0;
}

static bool ring_is_called(struct event_source *source)
{
	return __atomic_load_n(&shm_of(source)->doorbell, __ATOMIC_RELAXED) ||
	       ring_lanes_wanted(source);
}

static void ring_reclaim_begin(struct event_source *source)
{
	__atomic_store_n(&shm_of(source)->ring_wanted, 0, __ATOMIC_SEQ_CST);
}

static void ring_release(struct event_source *source, uint32_t lane)
{
	__atomic_store_n(&ring_of(source, lane)->state, HW_RING_FREE, __ATOMIC_RELEASE);
}

static void ring_reclaim_end(struct event_source *source, uint32_t released)
{
	if (released) /* after the states: a thread that reads this reads them again */
		__atomic_fetch_add(&shm_of(source)->rings_freed, 1, __ATOMIC_RELEASE);
}

static uint64_t ring_stack_top(struct event_source *source, uint32_t lane)
{
	struct hw_ring *ring = ring_of(source, lane);
	__atomic_fetch_add(&ring->stack_asked, 1, __ATOMIC_RELAXED);
	return __atomic_load_n(&ring->stack_top, __ATOMIC_RELAXED);
}

static bool ring_open_realloc(struct event_source *source, uint32_t lane, struct event_realloc *ret)
{
	const struct hw_ring *ring = ring_of(source, lane);
	ret->address = __atomic_load_n(&ring->moving, __ATOMIC_ACQUIRE);
	ret->stack = __atomic_load_n(&ring->moving_from, __ATOMIC_RELAXED);
	return ret->address && __atomic_load_n(&ring->busy, __ATOMIC_RELAXED);
}

static bool ring_thread_name(
	struct event_source *source, uint32_t tid, char ret[EVENT_THREAD_NAME_BYTES])
{
	for (uint32_t i = 0; tid && i < HW_RING_SHARED; i++) {
		const struct hw_ring *ring = ring_of(source, i);
		if (__atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) != HW_RING_ACTIVE ||
			__atomic_load_n(&ring->tid, __ATOMIC_RELAXED) != tid)
			continue;
		_Static_assert(sizeof(ring->name) == EVENT_THREAD_NAME_BYTES, "it fits");
		memcpy(ret, ring->name, sizeof(ring->name));
		return true;
	}
	return false;
}

static uint32_t ring_module_count(struct event_source *source)
{
	return __atomic_load_n(&shm_of(source)->modules, __ATOMIC_ACQUIRE);
}

static void ring_module(struct event_source *source, uint32_t number, struct event_module *ret)
{
	const char *shm = (const char *)shm_of(source);
	struct hw_module m = ((const struct hw_module *)(shm + HW_SHM_MODULES))[number];
	__asm__ volatile("" : : : "memory"); /* read once: the target may change it at any time */
	if (m.end < m.start)
		m.end = m.start;
	if (m.build_id_bytes > sizeof(m.build_id))
		m.build_id_bytes = 0;
	if (m.path_bytes > 8192 || m.path_offset > HW_STRINGS_BYTES - m.path_bytes)
		m.path_bytes = m.path_offset = 0;
	*ret = (struct event_module){.start = m.start,
		.end = m.end,
		.bias = m.bias,
		.build_id_bytes = m.build_id_bytes,
		.path_bytes = m.path_bytes,
		.path = shm + HW_SHM_STRINGS + m.path_offset};
	_Static_assert(sizeof(ret->build_id) == sizeof(m.build_id), "it fits");
	memcpy(ret->build_id, m.build_id, sizeof(m.build_id));
}

static uint32_t ring_code_count(struct event_source *source)
{
	const struct ring_code *code = ((struct ring_source *)source)->code;
	if (code)
		return code->count + 1;
	/* Acquire: the rows before it are complete. */
	uint32_t count = __atomic_load_n(&shm_of(source)->codes, __ATOMIC_ACQUIRE);
	return count < 1 ? 1 : min(count, HW_CODES_MAX);
}

/* A part of the texts and tables, which is at most `most` bytes; none if it is nowhere there. */
static struct event_text code_part(
	struct event_source *source, const struct hw_code_part *given, uint32_t most)
{
	uint32_t offset = __atomic_load_n(&given->offset, __ATOMIC_RELAXED);
	uint32_t bytes = __atomic_load_n(&given->bytes, __ATOMIC_RELAXED);
	if (bytes > most || offset > HW_CODE_BYTES - bytes)
		return (struct event_text){NULL, 0};
	return (struct event_text){
		(const char *)shm_of(source) + HW_SHM_CODE_BYTES + offset, bytes};
}

/* The process may change its table at any time: what is decoded is a copy. Without memory the code
 * has no lines. */
static void decode_lines(
	struct ring_source *rings, const struct hw_code *row, struct event_code *ret)
{
	struct event_text table = code_part(&rings->source, &row->lines, HW_CODE_TABLE_MAX);
	uint32_t format = __atomic_load_n(&row->table, __ATOMIC_RELAXED);
	rings->table.len = 0;
	if (!table.bytes || format >= HW_LINE_TABLES || !buf_reserve(&rings->table, table.bytes))
		return;
	buf_bytes(&rings->table, table.data, table.bytes);
	if (!line_table_decode((enum hw_line_table)format, rings->table.data, rings->table.len,
		    ret->first_line, &rings->lines))
		return;
	ret->lines = rings->lines.data;
	ret->line_count = (uint32_t)rings->lines.len;
}

#define LITERAL(text) ((struct event_text){(text), sizeof(text) - 1})

/* Row 1 stands for code objects that found no room: runtime/python/codes.h. */
static void python_code(struct event_source *source, uint32_t number, struct event_code *ret)
{
	const struct hw_code *row =
		(const struct hw_code *)((char *)shm_of(source) + HW_SHM_CODES) + number;
	if (number == 1) {
		*ret = (struct event_code){.kind = HPW_FRAME_NAME,
			.language = LITERAL("python"),
			.name = LITERAL("[Python code that found no room]")};
		return;
	}
	*ret = (struct event_code){.kind = HPW_FRAME_CODE_OBJECT,
		.first_line = __atomic_load_n(&row->first_line, __ATOMIC_RELAXED),
		.language = LITERAL("python"),
		.name = code_part(source, &row->name, HW_CODE_TEXT_MAX),
		.file = code_part(source, &row->file, HW_CODE_TEXT_MAX)};
	decode_lines((struct ring_source *)source, row, ret);
}

static void ring_code(struct event_source *source, uint32_t number, struct event_code *ret)
{
	const struct ring_code *code = ((struct ring_source *)source)->code;
	if (!code) {
		python_code(source, number, ret);
		return;
	}
	const char *name = code->names[number - 1];
	*ret = (struct event_code){.kind = HPW_FRAME_NAME, .name = {name, (uint32_t)strlen(name)}};
}

static void ring_report(struct event_source *source, uint64_t duration_ns, struct event_report *ret)
{
	const struct hw_shm *shm = shm_of(source);
	for (unsigned why = 0; why < HW_LOST_REASONS; why++)
		ret->lost[why] += __atomic_load_n(&shm->lost[why], __ATOMIC_RELAXED);
	ret->change_missed += __atomic_load_n(&shm->change_missed, __ATOMIC_RELAXED);
	ret->attached_later += __atomic_load_n(&shm->attached_later, __ATOMIC_RELAXED);
	ret->attached_kept += __atomic_load_n(&shm->attached_kept, __ATOMIC_RELAXED);
	ret->stacks_full += __atomic_load_n(&shm->stacks_full, __ATOMIC_RELAXED);
	ret->lost_notices += __atomic_load_n(&shm->unsent_notices, __ATOMIC_RELAXED);
	ret->resident_bytes = __atomic_load_n(&shm->resident_bytes, __ATOMIC_RELAXED);
	ret->damaged += shared_memory_is_torn(shm);
	uint64_t longest = __atomic_load_n(&shm->longest_wait_ns, __ATOMIC_RELAXED);
	uint32_t unused = 0; /* rings in a row that have never had a thread */
	for (uint32_t i = 0; i < HW_RINGS; i++) {
		if (unused > UNUSED_MOST)
			i = HW_RING_SHARED;
		const struct hw_ring *ring = ring_of(source, i);
		uint32_t generation = __atomic_load_n(&ring->generation, __ATOMIC_RELAXED);
		unused = generation ? 0 : unused + 1;
		if (changes_ahead(source, generation))
			continue; /* its waits are of another recording */
		uint64_t waited = __atomic_load_n(&ring->wait_ns, __ATOMIC_RELAXED);
		uint64_t one = __atomic_load_n(&ring->longest_wait_ns, __ATOMIC_RELAXED);
		ret->wait_ns += min(waited, duration_ns);
		/* Each is at least one system call. */
		uint64_t waits = __atomic_load_n(&ring->waits, __ATOMIC_RELAXED);
		ret->waits += min(waits, duration_ns / 100);
		longest = max(longest, one);
	}
	ret->longest_wait_ns = max(ret->longest_wait_ns, longest);
}

static const struct event_source_ops ring_ops = {.lane = ring_lane,
	.stamp = ring_stamp,
	.clock = ring_clock,
	.pass_begin = ring_pass_begin,
	.look = ring_look,
	.taken = ring_taken,
	.waits = ring_waits,
	.is_called = ring_is_called,
	.lanes_wanted = ring_lanes_wanted,
	.reclaim_begin = ring_reclaim_begin,
	.release = ring_release,
	.reclaim_end = ring_reclaim_end,
	.stack_top = ring_stack_top,
	.open_realloc = ring_open_realloc,
	.thread_name = ring_thread_name,
	.module_count = ring_module_count,
	.module = ring_module,
	.code_count = ring_code_count,
	.code = ring_code,
	.report = ring_report};

void ring_source_init(struct ring_source *rings, struct hw_shm *shm, uint64_t tsc_hz)
{
	*rings = (struct ring_source){
		.source = {.ops = &ring_ops,
			.hz = tsc_hz,
			.lanes = HW_RING_SHARED,
			.has_shared = true,
			.unused_most = UNUSED_MOST,
			.nodes = (const struct hw_node *)((char *)shm + HW_SHM_NODES),
			.nodes_max = HW_NODES_MAX,
			.notes = &shm->notes},
		.shm = shm};
	buf_init(&rings->table);
	event_line_vec_init(&rings->lines);
}

void ring_source_deinit(struct ring_source *rings)
{
	buf_deinit(&rings->table);
	event_line_vec_deinit(&rings->lines);
}
