/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see state.h. May touch: the same. */
#include "runtime/attach/state.h"

#include "runtime/attach/objects.h"
#include "runtime/attach/sampling.h"

#include <linux/mman.h>

/* mman.h of libc has these; linux/mman.h has not. */
#define PROT_READ_WRITE 3
#define MAP_PRIVATE_ANONYMOUS 0x22
#define MAP_NO_RESERVE 0x4000
#define ADVICE_NO_HUGE_PAGE 15
#define ADVICE_NO_DUMP 16
#define ADVICE_WIPE_ON_FORK 18
#define ADVICE_KEEP_ON_FORK 19
#define MAP_AT_PLACE 0x10

#define LOOK_MAX_NS 100000000u
#define LOOK_STEP_NS 500000

__attribute__((visibility("default"), used))
const struct hw_attach_layout hw_attach_layout = {.own_bytes = sizeof(struct at_own),
	.busy = offsetof(struct at_own, threads) + offsetof(struct at_thread, busy),
	.busy_step = sizeof(struct at_thread),
	.busy_count = AT_THREADS + AT_THREADS_PROBES,
	.busy_shared = offsetof(struct at_own, shared_lock),
	.busy_pointer = offsetof(struct at_own, threads) + offsetof(struct at_thread, pointer),
	.busy_tid = offsetof(struct at_own, threads) + offsetof(struct at_thread, tid),
	.objects = offsetof(struct at_own, objects)};

__attribute__((visibility("default"))) struct hw_attach hw_attach = {
	.magic = HW_ATTACH_MAGIC, .version = HW_ATTACH_VERSION};

/* A ring's private part, as in the preloaded runtime. */
struct ring_memory {
	struct rt_thread thread;
	struct rt_frame frames[2 * RT_DEPTH_MAX];
	struct rt_stack_cache cache;
};
#define RING_BYTES ((sizeof(struct ring_memory) + 4095) / 4096 * 4096)

/* struct dl_find_object of glibc 2.35 and later (dlfcn/dlfcn.h), and of struct link_map what
 * debuggers know (elf/link.h). */
struct found_object {
	uint64_t flags;
	uint64_t start, end;
	const struct loaded *map;
	const uint8_t *eh_frame_hdr;
	uint64_t reserved[7];
};
struct loaded {
	uint64_t bias;
	const char *name;
};
typedef int find_object_function(uint64_t address, struct found_object *ret);

static bool find_object(uint64_t address, struct rt_found *ret)
{
	struct found_object found;
	find_object_function *function = (find_object_function *)hw_attach.find_object;
	if (function(address, &found))
		return false;
	bool is_main = !*found.map->name;
	ret->start = found.start;
	ret->end = found.end;
	ret->bias = found.map->bias;
	ret->path = found.map->name;
	ret->eh_frame_hdr = found.eh_frame_hdr;
	ret->identity = found.map;
	ret->tables = 0;
	uint64_t table = (uint64_t)found.eh_frame_hdr;
	if (rt_unlikely(table && table - ret->start >= ret->end - ret->start && is_main))
		rt_found_whole(ret, (const void *)hw_attach.program_headers,
			hw_attach.program_header_count);
	return true;
}

/* A process that is let go meanwhile keeps this memory until its threads' events have ended. */
static bool find_in_table(uint64_t address, struct rt_found *ret)
{
	const struct at_own *own = (const struct at_own *)hw_attach.memory;
	return own && at_objects_find(&own->objects, address, ret);
}

static uint64_t *ring_words(const struct at_own *own, uint32_t ring)
{
	return (uint64_t *)((char *)own->shm + HW_SHM_DATA) + hw_ring_start(ring);
}

static void prepare_own(struct at_own *own)
{
	char *base = (char *)own->head.shared;
	struct hw_shm *shm = (struct hw_shm *)base;
	own->shm = shm;
	own->unwinder.stacks.shm = shm;
	own->unwinder.stacks.nodes = (struct hw_node *)(base + HW_SHM_NODES);
	own->unwinder.stacks.nodes_max = HW_NODES_MAX;
	own->unwinder.stacks.lines = (struct hw_line *)(base + HW_SHM_LINES);
	own->unwinder.stacks.lines_more = (struct hw_line *)(base + HW_SHM_LINES_MORE);
	own->unwinder.modules = &own->modules;
	own->unwinder.rules = &own->rules;
	own->modules.shm = shm;
	own->modules.table = (struct hw_module *)(base + HW_SHM_MODULES);
	own->modules.strings = base + HW_SHM_STRINGS;
	own->modules.find = hw_attach.find_object ? find_object : find_in_table;
	own->rules.modules = &own->modules;
	shm->own[0].start = (uint64_t)own;
	shm->own[0].end = (uint64_t)own + sizeof(*own);
	own->head.ring_bytes = shm->own_ring_bytes = RING_BYTES;
	__atomic_fetch_or(&shm->notes, HW_NOTE_ATTACHED, __ATOMIC_RELAXED);
	rt_walk_init(&own->shared.walk, own->shared_frames, NULL);
	rt_ring_attach(&own->shared, shm, HW_RING_SHARED, ring_words(own, HW_RING_SHARED), 0);
	own->shared.stamped = true;
	at_sampling_prepare(own);
}

struct at_own *at_recording(void)
{
	struct at_own *own = (struct at_own *)__atomic_load_n(&hw_attach.own, __ATOMIC_ACQUIRE);
	if (!own || !__atomic_load_n(&own->head.records, __ATOMIC_ACQUIRE))
		return NULL;
	if (rt_likely(__atomic_load_n(&own->ready, __ATOMIC_ACQUIRE) == AT_READY))
		return own;
	uint32_t state = AT_NOT_READY;
	if (__atomic_compare_exchange_n(
		    &own->ready, &state, AT_PREPARES, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
		/* A child that was forked just before has zeros there; later ones keep the memory.
		 */
		if (!__atomic_load_n(&own->head.records, __ATOMIC_ACQUIRE)) {
			__atomic_store_n(&own->ready, AT_NOT_READY, __ATOMIC_RELEASE);
			return NULL;
		}
		prepare_own(own);
		__atomic_store_n(&own->ready, AT_READY, __ATOMIC_RELEASE);
		return own;
	}
	/* A handler may have interrupted the thread that prepares: then this has an end, too. */
	for (int tries = 0; state == AT_PREPARES && tries < 1000; tries++) {
		sys_call(__NR_sched_yield, 0, 0, 0);
		state = __atomic_load_n(&own->ready, __ATOMIC_ACQUIRE);
	}
	return state == AT_READY ? own : NULL;
}

void at_locks_abandon(struct at_own *own)
{
	rt_lock_abandon(&own->modules.lock);
	rt_lock_abandon(&own->sampler.lock);
	if (rt_lock_abandon(&own->shared_lock))
		rt_ring_abandon(&own->shared);
}

static uint32_t thread_id(uint64_t pointer)
{
	if (rt_likely(hw_attach.tid_offset))
		return *(const uint32_t *)(pointer + hw_attach.tid_offset);
	return (uint32_t)sys_call(__NR_gettid, 0, 0, 0);
}

/* The thread before it that had this thread pointer has ended, maybe in the middle of an event: a
 * handler may end a thread, and so may a cancellation. */
static void begin_row(struct at_own *own, struct at_thread *row, uint32_t tid)
{
	if (rt_unlikely(row->busy))
		at_locks_abandon(own);
	row->recorder = NULL;
	row->rings_freed = 0;
	row->busy = 0;
	row->loads = 0;
	row->inside = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	row->tid = tid;
}

/* The calling thread's row as it is; NULL: it has none. */
static struct at_thread *find_row(struct at_own *own)
{
	uint64_t pointer = sys_thread_pointer();
	struct at_thread *row = at_thread_first(own, pointer);
	for (struct at_thread *end = row + AT_THREADS_PROBES; row < end; row++) {
		if (__atomic_load_n(&row->pointer, __ATOMIC_RELAXED) == pointer)
			return row;
	}
	return NULL;
}

struct at_thread *at_thread_here(struct at_own *own)
{
	uint64_t pointer = sys_thread_pointer();
	uint32_t tid = thread_id(pointer);
	struct at_thread *row = at_thread_first(own, pointer);
	for (struct at_thread *end = row + AT_THREADS_PROBES; row < end; row++) {
		uint64_t known = __atomic_load_n(&row->pointer, __ATOMIC_RELAXED);
		if (!known && __atomic_compare_exchange_n(&row->pointer, &known, pointer, false,
				      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			known = pointer;
		if (known != pointer)
			continue;
		if (rt_unlikely(row->tid != tid))
			begin_row(own, row, tid);
		return row;
	}
	return NULL;
}

static void *map_wiped(uint64_t bytes)
{
	long at = sys_call6(__NR_mmap, 0, (long)bytes, PROT_READ_WRITE,
		MAP_PRIVATE_ANONYMOUS | MAP_NO_RESERVE, -1, 0);
	if (sys_failed(at))
		return NULL;
	sys_call(__NR_madvise, at, bytes, ADVICE_NO_HUGE_PAGE);
	sys_call(__NR_madvise, at, bytes, ADVICE_NO_DUMP);
	if (!sys_failed(sys_call(__NR_madvise, at, bytes, ADVICE_WIPE_ON_FORK)))
		return (void *)at;
	sys_call(__NR_munmap, at, bytes, 0);
	return NULL;
}

static void keep_on_fork(uint64_t at, uint64_t bytes)
{
	sys_call(__NR_madvise, at, bytes, ADVICE_KEEP_ON_FORK);
}

static bool claim_ring(struct hw_ring *ring)
{
	uint32_t state = HW_RING_FREE;
	return __atomic_load_n(&ring->state, __ATOMIC_RELAXED) == HW_RING_FREE &&
	       __atomic_compare_exchange_n(&ring->state, &state, HW_RING_ACTIVE, false,
		       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static struct rt_thread *take_ring(struct at_own *own, uint32_t tid)
{
	struct hw_ring *rings = (struct hw_ring *)((char *)own->shm + HW_SHM_RINGS);
	for (uint32_t i = 0; i < HW_RING_SHARED; i++) {
		if (!claim_ring(&rings[i]))
			continue;
		struct ring_memory *memory = (struct ring_memory *)own->head.ring_memory[i];
		if (!memory) {
			memory = map_wiped(RING_BYTES);
			__atomic_store_n(
				&own->head.ring_memory[i], (uint64_t)memory, __ATOMIC_SEQ_CST);
			if (memory && __atomic_load_n(&own->kept, __ATOMIC_SEQ_CST) != AT_WIPED)
				keep_on_fork((uint64_t)memory, RING_BYTES);
		}
		if (!memory) {
			__atomic_store_n(&rings[i].state, HW_RING_FREE, __ATOMIC_RELEASE);
			return NULL;
		}
		struct rt_thread *t = &memory->thread;
		rt_walk_init(&t->walk, memory->frames, &memory->cache);
		t->unwinder = &own->unwinder;
		t->changes = 0;
		rings[i].own = (uint64_t)t;
		rt_ring_attach(t, own->shm, i, ring_words(own, i), tid);
		t->stamped = true;
		if (own->mean_bytes)
			t->impatient = HW_LOST_SAMPLED; /* few events: wait for nothing */
		return t;
	}
	return NULL;
}

void at_thread_begin(struct at_own *own, struct at_thread *thread)
{
	uint32_t freed = __atomic_load_n(&own->shm->rings_freed, __ATOMIC_ACQUIRE);
	if (thread->rings_freed == (uint64_t)freed + 1)
		return; /* no use looking before the collector has freed some */
	uint64_t signals = sys_signals_block();
	struct rt_thread *t = take_ring(own, thread->tid);
	if (t) {
		thread->generation = t->ring->generation;
		thread->recorder = t;
	} else {
		thread->rings_freed = (uint64_t)freed + 1;
		__atomic_store_n(&own->shm->ring_wanted, 1, __ATOMIC_RELAXED);
	}
	sys_signals_restore(signals);
}

void at_library_comes(void)
{
	struct at_own *own = at_recording();
	struct at_thread *row = own ? at_thread_here(own) : NULL;
	if (row)
		row->loads = 1;
}

/* The tool writes to this memory from outside, which wakes nobody. */
static bool is_looked_at(struct at_own *own, uint64_t asked)
{
	struct sys_timespec step = {0, LOOK_STEP_NS};
	uint64_t looked = __atomic_load_n(&own->head.looked, __ATOMIC_ACQUIRE);
	if (looked >= asked)
		return true;
	sys_call4(__NR_futex, &own->head.looked, 0 /* FUTEX_WAIT */, (uint32_t)looked, &step);
	return false;
}

void at_library_wait(void)
{
	struct at_own *own = at_recording();
	struct at_thread *row = own ? at_thread_here(own) : NULL;
	if (rt_likely(!row || !row->loads) || row->busy)
		return;
	row->loads = 0;
	if (__atomic_load_n(&own->head.unanswered, __ATOMIC_RELAXED))
		return;
	uint64_t asked = __atomic_add_fetch(&own->head.asked, 1, __ATOMIC_SEQ_CST);
	uint64_t until = sys_now_ns() + LOOK_MAX_NS;
	while (!is_looked_at(own, asked)) {
		if (!__atomic_load_n(&own->head.records, __ATOMIC_RELAXED))
			return;
		if (sys_now_ns() > until) {
			__atomic_store_n(&own->head.unanswered, 1, __ATOMIC_RELAXED);
			return;
		}
	}
}

struct at_own *at_in_event(void)
{
	/* Also when hooks record no more: an event that has begun is still to end. */
	struct at_own *own = (struct at_own *)__atomic_load_n(&hw_attach.memory, __ATOMIC_ACQUIRE);
	uint32_t ready = own ? __atomic_load_n(&own->ready, __ATOMIC_ACQUIRE) : AT_NOT_READY;
	if (ready != AT_READY)
		return ready == AT_PREPARES ? own : NULL; /* this thread may be the one */
	struct at_thread *row = find_row(own);
	bool is_in = (row && row->busy) || own->shared_lock.holder == sys_thread_pointer();
	return is_in ? own : NULL;
}

void at_keep_for_child(struct at_own *own)
{
	if (__atomic_load_n(&own->kept, __ATOMIC_ACQUIRE) == AT_KEPT)
		return;
	__atomic_store_n(&own->kept, AT_KEEPS, __ATOMIC_SEQ_CST);
	uint64_t rest = (uint64_t)&own->kept;
	keep_on_fork(rest, (uint64_t)own + hw_attach.own_bytes - rest);
	for (uint32_t i = 0; i < HW_RING_SHARED; i++) {
		uint64_t memory = __atomic_load_n(&own->head.ring_memory[i], __ATOMIC_SEQ_CST);
		if (memory)
			keep_on_fork(memory, RING_BYTES);
	}
	__atomic_store_n(&own->kept, AT_KEPT, __ATOMIC_RELEASE);
}

/* The ring is zeros: it is the thread's still, and empty. Nobody would make room in it. */
static void leave_ring(struct rt_thread *t, uint32_t tid, uint32_t generation)
{
	struct hw_ring *ring = t->ring;
	if (!ring)
		return;
	t->impatient = HW_LOST_IN_HANDLER;
	ring->tid = tid;
	ring->generation = generation;
	ring->head = t->head;
	__atomic_store_n(&ring->tail, t->head, __ATOMIC_RELEASE);
	__atomic_store_n(&ring->state, HW_RING_ACTIVE, __ATOMIC_RELEASE);
}

void at_become_child(struct at_own *own)
{
	struct at_thread *row = find_row(own);
	sys_call6(__NR_mmap, (long)hw_attach.shared, HW_SHM_BYTES, PROT_READ_WRITE,
		MAP_PRIVATE_ANONYMOUS | MAP_NO_RESERVE | MAP_AT_PLACE, -1, 0);
	own->head.shared = hw_attach.shared;
	leave_ring(&own->shared, 0, 0);
	if (row && row->recorder)
		leave_ring(row->recorder, row->tid, row->generation);
}
