/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The runtime's rings and tree of stacks with several writers at once, and the collector's merge at
 * the other end, in one process, so that a thread sanitizer sees both sides. Writers live one after
 * the other in the same few rings, hand blocks over to each other, and now and then use the shared
 * ring. What arrives must be complete, in order for each writer and for each block, and its stacks
 * must read as the writer meant them.
 */
#include <pthread.h>
#include <sched.h>

#include "capture/recorder/merge.h"
#include "capture/recorder/ring_source.h"
#include "ring_image.h"
#include "runtime/core/ring.h"
#include "runtime/core/stacks.h"

#define WRITERS 3
#define LIVES 150
#define EVENTS 1000 /* of each life */
#define BLOCKS 32
#define LEVELS 6 /* of a stack; each frame is one of four */
#define PATHS (1u << (2 * LEVELS))
/* The merge's patience and margin grow with it: a writer may wait long for a processor here. */
#define HZ 300000000000u

static struct hw_shm *shm;
static struct ring_source rings;
static struct rt_stacks stacks;
static uint32_t ended[1 + WRITERS * LIVES]; /* by thread id, from 1 */
static uint32_t writers_left = WRITERS;
/* 0 free, 1 somebody is at it, 2 allocated. */
static uint32_t blocks[BLOCKS];
static struct rt_thread threads[HW_RINGS];
static struct rt_lock shared_lock;
static uint64_t lost_silently; /* at the end of a life, where no record can say so */

static uint64_t address_of(uint32_t block)
{
	return 0x1000 + 16 * (uint64_t)block;
}

static uint64_t frame_of(uint32_t path, unsigned level)
{
	return 1ull << HW_FRAME_ADDRESS_BITS | 0x1000 | level << 4 | (path >> (2 * level) & 3);
}

static uint32_t stack_of(struct rt_child *cache, uint32_t path)
{
	uint32_t stack = 0;
	for (unsigned level = 0; level < LEVELS; level++) {
		uint32_t number = 1 + (level << 2 | (path >> (2 * level) & 3));
		struct rt_child *c = cache ? rt_child_place(cache, stack, number) : NULL;
		uint64_t key = rt_child_key(stack, number);
		if (c && c->key == key) {
			stack = (uint32_t)c->child;
			continue;
		}
		stack = rt_stacks_child(&stacks, stack, frame_of(path, level));
		if (c)
			*c = (struct rt_child){key, stack};
	}
	return stack;
}

/* --- writers ---------------------------------------------------------------------------------- */

struct writer {
	pthread_t pthread;
	uint64_t random;
	uint64_t lost;
	uint32_t stack_ids[PATHS]; /* 0: path not walked yet */
	uint32_t first_tid;
};

static uint64_t random_below(struct writer *w, uint64_t limit)
{
	w->random ^= w->random >> 12;
	w->random ^= w->random << 25;
	w->random ^= w->random >> 27;
	return (w->random * 0x2545f4914f6cdd1dull >> 16) % limit;
}

static struct rt_thread *ring_take(uint32_t tid)
{
	for (;; sched_yield()) {
		for (uint32_t i = 0; i < WRITERS + 1; i++) {
			uint32_t state = HW_RING_FREE;
			if (!__atomic_compare_exchange_n(&image_ring(shm, i)->state, &state,
				    HW_RING_ACTIVE, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
				continue;
			rt_ring_attach(&threads[i], shm, i, image_word(shm, i, 0), tid);
			return &threads[i];
		}
	}
}

static void set_busy(struct rt_thread *t, uint64_t busy)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&t->ring->busy, busy, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* [op | address], and for an allocation [stack | path]; both with the writer's serial number as a
 * big size or not at all. */
static bool event(
	struct rt_thread *t, uint32_t foreign_tid, uint64_t first, uint32_t stack, uint64_t size)
{
	set_busy(t, 1);
	t->stamped = true;
	uint64_t *w = rt_ring_reserve(t, HW_R_WORDS_MAX + (foreign_tid != 0));
	if (w) {
		uint32_t n = 0;
		if (foreign_tid)
			w[n++] = HW_R_FOREIGN | (uint64_t)foreign_tid << 8;
		w[n++] = first | HW_R_STAMPED;
		if ((first & 0xff) >= HW_R_ALLOC) {
			w[n++] = stack | (uint64_t)HW_R_SIZE_BIG << 32;
			w[n++] = size;
		}
		w[n++] = sys_tsc_fenced();
		rt_ring_publish(t, n);
	}
	set_busy(t, 0);
	return w;
}

/* Through the writer's own ring, or at times the shared one. */
static void tell(struct writer *w, struct rt_thread *own, uint32_t tid, uint64_t first,
	uint32_t stack, uint64_t size)
{
	struct rt_thread *shared = &threads[HW_RING_SHARED];
	if (random_below(w, 50) || !rt_lock_try(&shared_lock)) {
		w->lost += !event(own, 0, first, stack, size);
		return;
	}
	w->lost += !event(shared, tid, first, stack, size);
	rt_unlock(&shared_lock);
}

/* One step of one block: 0 to 1 is to allocate it, 2 to 1 to free it. */
static void step(struct writer *w, struct rt_thread *t, uint32_t tid, uint32_t serial)
{
	for (;;) {
		uint32_t block = (uint32_t)random_below(w, BLOCKS);
		uint32_t state = random_below(w, 2) ? 0 : 2, next = 2 - state;
		if (!__atomic_compare_exchange_n(
			    &blocks[block], &state, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		uint64_t address = address_of(block) << 8;
		if (next) {
			uint32_t path = (uint32_t)random_below(w, PATHS);
			uint32_t stack = stack_of(path % 2 ? t->walk.children : NULL, path);
			CHECK(!w->stack_ids[path] || w->stack_ids[path] == stack);
			w->stack_ids[path] = stack;
			tell(w, t, tid, HW_R_ALLOC | address, stack, (uint64_t)serial << 32 | path);
		} else {
			tell(w, t, tid, HW_R_FREE | address, 0, 0);
		}
		__atomic_store_n(&blocks[block], next, __ATOMIC_RELEASE);
		return;
	}
}

static void *write_all(void *context)
{
	struct writer *w = context;
	for (uint32_t tid = w->first_tid; tid < w->first_tid + LIVES; tid++) {
		struct rt_thread *t = ring_take(tid);
		for (uint32_t serial = 0; serial < EVENTS; serial++)
			step(w, t, tid, serial);
		w->lost -= t->lost; /* nobody is told of these any more */
		__atomic_fetch_add(&lost_silently, t->lost, __ATOMIC_RELAXED);
		__atomic_store_n(&ended[tid], 1, __ATOMIC_RELEASE);
	}
	__atomic_fetch_sub(&writers_left, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* --- the collector ------------------------------------------------------------------------------
 */

struct reader {
	uint32_t threads;
	uint32_t tids[WRITERS * LIVES];
	uint32_t serials[WRITERS * LIVES]; /* of the latest allocation, + 1 */
	uint64_t counts[WRITERS * LIVES];
	bool thread_ended[WRITERS * LIVES];
	bool live[BLOCKS];
	uint64_t lost, stamp, out_of_order;
};

static uint32_t on_thread(void *context, uint32_t tid, uint64_t stamp)
{
	struct reader *r = context;
	(void)stamp;
	CHECK(tid >= 1 && tid <= WRITERS * LIVES);
	for (uint32_t i = 0; i < r->threads; i++)
		CHECK(r->tids[i] != tid);
	r->tids[r->threads] = tid;
	return r->threads++;
}

static void on_thread_end(void *context, uint32_t thread, uint64_t stamp)
{
	struct reader *r = context;
	(void)stamp;
	CHECK(thread < r->threads && !r->thread_ended[thread]);
	CHECK(__atomic_load_n(&ended[r->tids[thread]], __ATOMIC_ACQUIRE));
	r->thread_ended[thread] = true;
}

static void on_step(struct reader *r, uint32_t thread, uint64_t stamp)
{
	CHECK(thread < r->threads && !r->thread_ended[thread]);
	r->counts[thread]++;
	r->out_of_order += stamp < r->stamp;
	r->stamp = stamp;
}

/* Reads the stack as the recorder does. */
static void check_stack(uint32_t stack, uint32_t path)
{
	const struct hw_node *nodes = image_nodes(shm);
	for (unsigned level = LEVELS; level-- > 0;) {
		CHECK(stack && stack < HW_NODES_MAX);
		CHECK_U64(__atomic_load_n(&nodes[stack].frame, __ATOMIC_RELAXED),
			frame_of(path, level));
		uint32_t parent = __atomic_load_n(&nodes[stack].parent, __ATOMIC_RELAXED);
		CHECK(parent < stack);
		stack = parent;
	}
	CHECK_U64(stack, 0);
}

static void on_alloc(void *context, uint32_t thread, enum hw_alloc_kind kind, uint64_t address,
	uint32_t stack, uint64_t size, uint64_t stamp)
{
	struct reader *r = context;
	uint32_t serial = (uint32_t)(size >> 32), block = (uint32_t)((address - 0x1000) / 16);
	on_step(r, thread, stamp);
	CHECK_U64(kind, HW_MALLOC);
	CHECK(serial >= r->serials[thread] && serial < EVENTS);
	r->serials[thread] = serial + 1;
	check_stack(stack, (uint32_t)size);
	CHECK(block < BLOCKS && (!r->live[block] || r->lost));
	r->live[block] = true;
}

static void on_free(void *context, uint32_t thread, enum hw_free_kind kind, bool same_frame,
	uint64_t address, uint64_t stamp)
{
	struct reader *r = context;
	uint32_t block = (uint32_t)((address - 0x1000) / 16);
	on_step(r, thread, stamp);
	CHECK(kind == HW_FREE && !same_frame);
	CHECK(block < BLOCKS && (r->live[block] || r->lost));
	r->live[block] = false;
}

static void on_failed(void *context, uint32_t thread, enum hw_alloc_kind kind, uint32_t stack,
	uint64_t size, uint64_t stamp)
{
	(void)context;
	tap_fail("a failure at %p nobody had: thread %u kind %d stack %u size %" PRIu64
		 " stamp %" PRIu64,
		context, thread, (int)kind, stack, size, stamp);
}

static void on_lost(void *context, uint32_t thread, uint64_t count, uint64_t stamp)
{
	(void)thread;
	(void)stamp;
	((struct reader *)context)->lost += count;
}

static bool alive(void *context, uint32_t tid)
{
	(void)context;
	return !__atomic_load_n(&ended[tid], __ATOMIC_ACQUIRE);
}

static void read_all(struct merge *merge)
{
	while (__atomic_load_n(&writers_left, __ATOMIC_ACQUIRE)) {
		if (!merge_pass(merge, false))
			sched_yield();
		merge_reclaim(merge, alive, NULL);
	}
	merge_pass(merge, true);
	merge_reclaim(merge, alive, NULL);
}

/* --- both
 * ----------------------------------------------------------------------------------------- */

static void start(struct writer *writers)
{
	shm = image_create();
	stacks = (struct rt_stacks){.shm = shm,
		.nodes = image_nodes(shm),
		.nodes_max = HW_NODES_MAX,
		.lines = (struct hw_line *)((char *)shm + HW_SHM_LINES),
		.lines_more = (struct hw_line *)((char *)shm + HW_SHM_LINES_MORE)};
	rt_ring_attach(&threads[HW_RING_SHARED], shm, HW_RING_SHARED,
		image_word(shm, HW_RING_SHARED, 0), 0);
	for (uint32_t i = 0; i < WRITERS; i++) {
		writers[i].random = 0x9e3779b97f4a7c15ull * (i + 1);
		writers[i].first_tid = 1 + i * LIVES;
		CHECK(!pthread_create(&writers[i].pthread, NULL, write_all, &writers[i]));
	}
}

/* Equal stacks got equal numbers, in whichever thread. */
static void check_ids(const struct writer *writers)
{
	for (uint32_t path = 0; path < PATHS; path++) {
		uint32_t id = stack_of(NULL, path);
		for (uint32_t i = 0; i < WRITERS; i++)
			CHECK(!writers[i].stack_ids[path] || writers[i].stack_ids[path] == id);
	}
}

CASE(stress, "writers that come and go, one reader: all arrives, in order, with its stacks")
{
	static struct writer writers[WRITERS];
	static struct merge merge;
	static struct reader reader;
	const struct merge_sink sink = {.context = &reader,
		.on_thread = on_thread,
		.on_thread_end = on_thread_end,
		.on_alloc = on_alloc,
		.on_free = on_free,
		.on_failed = on_failed,
		.on_lost = on_lost};
	start(writers);
	ring_source_init(&rings, shm, HZ);
	merge_init(&merge, &rings.source, &sink);
	read_all(&merge);
	uint64_t lost = 0, told = 0;
	for (uint32_t i = 0; i < WRITERS; i++) {
		CHECK(!pthread_join(writers[i].pthread, NULL));
		lost += writers[i].lost;
	}
	lost -= threads[HW_RING_SHARED].lost;
	CHECK_U64(reader.lost, lost);
	CHECK_U64(merge.damaged, 0);
	CHECK_U64(merge.dropped, 0);
	CHECK_U64(reader.out_of_order, 0);
	CHECK_U64(reader.threads, WRITERS * LIVES);
	for (uint32_t i = 0; i < reader.threads; i++) {
		CHECK(reader.thread_ended[i]);
		CHECK(lost || lost_silently || reader.counts[i] == EVENTS);
		told += reader.counts[i];
	}
	CHECK_U64(told + lost + lost_silently + threads[HW_RING_SHARED].lost,
		WRITERS * LIVES * EVENTS);
	CHECK_U64(merge.events, told);
	check_ids(writers);
	merge_deinit(&merge);
	image_destroy(shm);
}

static void ignore_step(void *context, uint32_t thread, enum hw_free_kind kind, bool same_frame,
	uint64_t address, uint64_t stamp)
{
	(void)thread;
	(void)kind;
	(void)same_frame;
	(void)address;
	(void)stamp;
	++*(uint64_t *)context;
}

static uint32_t any_thread(void *context, uint32_t tid, uint64_t stamp)
{
	(void)context;
	(void)stamp;
	return tid;
}

CASE(doorbell, "a collector that looks seldom is called in time: before a ring is half full")
{
	static const uint32_t numbers[] = {0, HW_RINGS_LARGE + HW_RINGS_MEDIUM, HW_RING_SHARED};
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		static struct merge merge;
		uint64_t told = 0;
		const struct merge_sink sink = {
			.context = &told, .on_thread = any_thread, .on_free = ignore_step};
		shm = image_create();
		ring_source_init(&rings, shm, HZ);
		merge_init(&merge, &rings.source, &sink);
		struct rt_thread *t = &threads[numbers[i]];
		for (uint32_t before = 0; before <= numbers[i]; before++)
			image_claim(shm, before, 8); /* they are handed out in order */
		rt_ring_attach(t, shm, numbers[i], image_word(shm, numbers[i], 0), 7);
		for (unsigned round = 0; round < 9; round++) {
			uint64_t events = 0;
			while (!event_source_is_called(&rings.source)) {
				CHECK(event(t, 7, HW_R_FREE | 0x1000 << 8, 0, 0));
				events++;
			}
			CHECK(events * 3 >= t->size / 8); /* not for every trifle */
			CHECK(events * 3 <= t->size / 2 + HW_R_WORDS_MAX);
			merge_pass(&merge, true);
			CHECK(!event_source_is_called(&rings.source));
		}
		CHECK(told > t->size / 8);
		merge_deinit(&merge);
		image_destroy(shm);
	}
}

TAP_MAIN
