/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see events.h. May touch: the same. */
#include "runtime/attach/events.h"

#include "runtime/attach/objects.h"

/* Further away than this it is not the same stack; a handler runs at least so far below what it
 * interrupted: see preload/events.c. */
#define SAME_STACK (8u << 20)
#define HANDLER_BELOW 512

/* An event that has begun. */
struct event {
	struct at_own *own;
	struct at_thread *row; /* NULL: of the shared ring */
	struct rt_thread *t;
	uint32_t tid;
};

/* Control has left the event for good: the stack pointer is higher than it was. */
static bool is_abandoned(uint64_t sp, uint64_t busy)
{
	return sp + HANDLER_BELOW > busy && sp - busy + HANDLER_BELOW <= SAME_STACK;
}

static void event_abandon(struct at_own *own, struct at_thread *row)
{
	if (row->recorder) {
		__atomic_store_n(&row->recorder->ring->moving, 0, __ATOMIC_RELAXED);
		rt_ring_abandon(row->recorder);
	}
	at_locks_abandon(own);
	row->busy = 0;
}

/* The collector gives a ring to others only when its thread has ended; this one may have the thread
 * pointer and the id of such a thread. */
static bool has_ring(const struct at_thread *row)
{
	const struct rt_thread *t = row->recorder;
	return t && __atomic_load_n(&t->ring->tid, __ATOMIC_RELAXED) == row->tid &&
	       __atomic_load_n(&t->ring->generation, __ATOMIC_RELAXED) == row->generation;
}

static bool event_begin_shared(struct event *e, struct at_thread *row, uint64_t sp)
{
	struct at_own *own = e->own;
	bool nested = row && row->busy;
	e->tid = row ? row->tid : (uint32_t)sys_call(__NR_gettid, 0, 0, 0);
	if (!rt_lock_try(&own->shared_lock)) {
		if (__atomic_load_n(&own->head.records, __ATOMIC_RELAXED))
			rt_ring_count_lost(own->shm, nested ? HW_LOST_IN_HANDLER : HW_LOST_HELD);
		return false;
	}
	/* From here on it is let go only after the event, and a child keeps the memory. */
	if (rt_unlikely(!__atomic_load_n(&own->head.records, __ATOMIC_RELAXED))) {
		rt_unlock(&own->shared_lock);
		return false;
	}
	e->row = NULL;
	e->t = &own->shared;
	__atomic_store_n(&e->t->ring->tid, e->tid, __ATOMIC_RELAXED);
	rt_walk_forget(&e->t->walk);
	e->t->walk.readable_low = e->t->walk.readable_high = 0;
	e->t->impatient = own->mean_bytes ? HW_LOST_SAMPLED
			  : nested        ? HW_LOST_IN_HANDLER
					  : HW_LOST_STALLED;
	__atomic_store_n(&e->t->ring->busy, sp, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return true;
}

static inline bool event_begin_any(struct event *e, uint64_t sp)
{
	struct at_own *own = at_recording();
	if (!own)
		return false;
	struct at_thread *row = at_thread_here(own);
	e->own = own;
	if (rt_likely(row)) {
		if (rt_unlikely(row->busy) && is_abandoned(sp, row->busy))
			event_abandon(own, row);
		if (rt_unlikely(row->busy))
			return event_begin_shared(e, row, sp);
		row->busy = sp;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		/* From here on it is let go only after the event. */
		if (rt_unlikely(!__atomic_load_n(&own->head.records, __ATOMIC_RELAXED))) {
			row->busy = 0;
			return false;
		}
		if (rt_unlikely(!has_ring(row))) {
			row->recorder = NULL;
			at_thread_begin(own, row);
		}
		if (rt_likely(row->recorder)) {
			e->row = row;
			e->t = row->recorder;
			__atomic_store_n(&e->t->ring->busy, sp, __ATOMIC_RELAXED);
			__atomic_signal_fence(__ATOMIC_SEQ_CST);
			return true;
		}
		row->busy = 0;
	}
	return event_begin_shared(e, row, sp);
}

static void withdraw_rules(void *context, uint64_t start, uint64_t end)
{
	rt_rules_withdraw(context, start, end);
}

static __attribute__((noinline)) void review_modules(struct at_own *own)
{
	__atomic_store_n(&own->head.unloaded_seen,
		__atomic_load_n(&own->head.unloaded, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
	rt_modules_review(&own->modules, withdraw_rules, &own->rules);
}

/* Returns false if nothing is recorded, or the event is lost. */
static inline bool event_begin(struct event *e, uint64_t sp)
{
	if (!event_begin_any(e, sp))
		return false;
	if (rt_unlikely(__atomic_load_n(&e->own->head.unloaded, __ATOMIC_RELAXED) !=
			e->own->head.unloaded_seen))
		review_modules(e->own);
	return true;
}

static inline void event_end(struct event *e)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&e->t->ring->busy, 0, __ATOMIC_RELEASE);
	if (rt_likely(e->row)) {
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		e->row->busy = 0;
	} else {
		rt_unlock(&e->own->shared_lock);
	}
}

/* Room for a record; in the shared ring after a word that names the thread. NULL: it is lost, which
 * is counted. */
static inline uint64_t *event_reserve(struct event *e, uint32_t words)
{
	uint64_t *w = rt_ring_reserve(e->t, words + 1);
	if (!w || rt_likely(e->row))
		return w;
	w[0] = HW_R_FOREIGN | (uint64_t)e->tid << 8;
	return w + 1;
}

static inline void event_publish(struct event *e, uint32_t words)
{
	rt_ring_publish(e->t, words + (e->row ? 0 : 1));
}

static inline bool is_stopped(const struct event *e)
{
	return rt_unlikely(__atomic_load_n(&e->own->shm->stopped, __ATOMIC_RELAXED));
}

static inline __attribute__((always_inline)) void put_alloc(
	struct event *e, void *block, size_t size, enum hw_alloc_kind kind, struct at_caller c)
{
	uint32_t stack = rt_unwind(&e->own->unwinder, &e->t->walk, c.pc, c.sp, c.rbp);
	uint64_t *w = event_reserve(e, HW_R_WORDS_MAX);
	if (rt_likely(w)) {
		uint32_t n = 3;
		if (rt_likely(block)) {
			n = rt_put_alloc(w, (HW_R_ALLOC + kind) | HW_R_STAMPED, (uint64_t)block,
				stack, size);
			w[n++] = sys_tsc_fenced();
		} else {
			rt_put_failed(w, kind, stack, size);
		}
		e->t->last_address = e->row ? (uint64_t)block : 0;
		event_publish(e, n);
	}
}

static __attribute__((noinline)) void *alloc_sampled(
	void *block, size_t size, enum hw_alloc_kind kind, struct at_caller c)
{
	struct event e;
	if (!at_is_sampled(size) || !event_begin(&e, c.sp))
		return block;
	if (is_stopped(&e) || (block && !at_sample_add(e.own, block)))
		e.t->last_address = 0;
	else
		put_alloc(&e, block, size, kind, c);
	event_end(&e);
	return block;
}

/* Whether the process, to whose thread an earlier attachment had left a hook's address, was
 * attached after the hook had looked whether samples are taken: the call is not among them. */
static inline bool attached_meanwhile(void)
{
	return rt_unlikely(at_sampling_slowly());
}

void *at_record_alloc(void *block, size_t size, enum hw_alloc_kind kind, struct at_caller c)
{
	struct event e;
	if (rt_unlikely(at_sampling_slowly()))
		return alloc_sampled(block, size, kind, c);
	if (!event_begin(&e, c.sp))
		return block;
	if (is_stopped(&e) || attached_meanwhile())
		e.t->last_address = 0;
	else
		put_alloc(&e, block, size, kind, c);
	event_end(&e);
	return block;
}

static void put_free(struct event *e, uint64_t op, const void *block, uint64_t stamp)
{
	uint64_t *w = event_reserve(e, 2);
	if (rt_likely(w)) {
		w[0] = op | HW_R_STAMPED | (uint64_t)block << 8;
		w[1] = stamp;
		event_publish(e, 2);
	}
}

/* Of a block that may be sampled. What came between is not known. */
static __attribute__((noinline)) void free_sampled(
	const void *block, enum hw_free_kind kind, struct at_caller c)
{
	struct event e;
	if (at_passes_free_slowly(block) || !event_begin(&e, c.sp))
		return;
	e.t->last_address = 0;
	if (at_sample_take(e.own, block))
		put_free(&e, HW_R_FREE + (uint64_t)kind, block, sys_tsc_fenced());
	event_end(&e);
}

void at_record_free(void *block, enum hw_free_kind kind, struct at_caller c)
{
	struct event e;
	if (rt_unlikely(at_sampling_slowly())) {
		free_sampled(block, kind, c);
		return;
	}
	if (!event_begin(&e, c.sp))
		return;
	if (attached_meanwhile()) {
		event_end(&e);
		return;
	}
	uint64_t op = (HW_R_FREE + kind) | HW_R_STAMPED;
	if (e.row && e.t->last_address == (uint64_t)block) {
		e.t->last_address = 0;
		if (rt_same_frame(&e.own->unwinder, &e.t->walk, c.pc, c.sp, c.rbp))
			op += HW_R_FREE_SAME_FRAME - HW_R_FREE;
	}
	uint64_t *w = event_reserve(&e, 2);
	if (rt_likely(w)) {
		w[0] = op | (uint64_t)block << 8;
		w[1] = sys_tsc_fenced();
		event_publish(&e, 2);
	}
	event_end(&e);
}

/* In the shared ring: its beginning, since other threads' events come between that and its outcome.
 * Returns false if that had no room. */
static bool put_moving(const void *block, uint64_t sp)
{
	struct event e;
	if (!event_begin(&e, sp))
		return false;
	uint64_t *w = event_reserve(&e, 2);
	if (w) {
		w[0] = HW_R_MOVING | HW_R_STAMPED | (uint64_t)block << 8;
		w[1] = sys_tsc_fenced();
		event_publish(&e, 2);
	}
	event_end(&e);
	return w;
}

static void put_realloc(
	struct event *e, void *block, void *moved, size_t size, uint32_t stack, uint64_t before)
{
	uint64_t *w = event_reserve(e, HW_R_WORDS_MAX);
	uint32_t n = 3;
	if (!w)
		return;
	if (moved) {
		n = rt_put_alloc(w, HW_R_REALLOC | HW_R_STAMPED, (uint64_t)moved, stack, size);
		w[n++] = (uint64_t)block;
		w[n++] = before;
		w[n++] = sys_tsc_fenced();
	} else if (size) {
		rt_put_failed(w, HW_REALLOC, stack, size);
	} else {
		w[0] = (HW_R_FREE + HW_FREE_REALLOC_ZERO) | HW_R_STAMPED | (uint64_t)block << 8;
		w[1] = before;
		n = 2;
	}
	e->t->last_address = e->row ? (uint64_t)moved : 0;
	event_publish(e, n);
}

/* The lock of the shared ring is not held across the real call. */
static void *realloc_shared(
	const struct at_resize *how, void *block, size_t size, struct at_caller c)
{
	struct event e;
	bool begun = put_moving(block, c.sp);
	void *moved = how->real(block, size, how->flags);
	if (!begun || !event_begin(&e, c.sp))
		return moved;
	uint32_t stack = rt_unwind(&e.own->unwinder, &e.t->walk, c.pc, c.sp, c.rbp);
	put_realloc(&e, block, moved, size, stack, sys_tsc_fenced());
	event_end(&e);
	return moved;
}

/* The free of a sampled block by realloc, which is one only if that comes true: recorded after it
 * as of before. In the shared ring, whose lock is not held across the real call, it comes first.
 * Ends the event. */
static void *realloc_taken(struct event *e, const struct at_resize *how, void *block, size_t size)
{
	uint64_t op = HW_R_FREE + (uint64_t)(size ? HW_FREE_REALLOC : HW_FREE_REALLOC_ZERO);
	uint64_t before = sys_tsc_fenced();
	struct at_own *own = e->own;
	bool early = !e->row;
	if (early) {
		put_free(e, op, block, before);
		event_end(e);
	}
	void *moved = how->real(block, size, how->flags);
	bool failed = !moved && size;
	if (early) {
		/* It lives on, unseen, if the process was not let go meanwhile. */
		if (failed && at_recording() == own)
			rt_ring_count_lost(own->shm, HW_LOST_REALLOC_FAILED);
		return moved;
	}
	if (failed)
		at_sample_add(own, block);
	else
		put_free(e, op, block, before);
	event_end(e);
	return moved;
}

/* The two halves of a realloc are sampled one apart from the other. The event has begun. */
static void *realloc_sampled(
	struct event *e, const struct at_resize *how, void *block, size_t size, struct at_caller c)
{
	void *moved;
	e->t->last_address = 0;
	if (at_sample_take(e->own, block)) {
		moved = realloc_taken(e, how, block, size);
	} else {
		event_end(e);
		moved = how->real(block, size, how->flags);
	}
	return moved || size ? at_record_alloc(moved, size, HW_REALLOC, c) : NULL;
}

/* A process that is let go while the real function runs keeps the memory of the event. */
void *at_record_realloc(const struct at_resize *how, void *block, size_t size, struct at_caller c)
{
	struct event e;
	if (!event_begin(&e, c.sp))
		return how->real(block, size, how->flags);
	if (rt_unlikely(e.own->mean_bytes))
		return realloc_sampled(&e, how, block, size, c);
	if (!e.row || is_stopped(&e)) {
		bool stopped = is_stopped(&e);
		event_end(&e);
		if (!stopped)
			return realloc_shared(how, block, size, c);
		at_record_free(block, size ? HW_FREE_REALLOC : HW_FREE_REALLOC_ZERO, c);
		return how->real(block, size, how->flags);
	}
	uint32_t stack = rt_unwind(&e.own->unwinder, &e.t->walk, c.pc, c.sp, c.rbp);
	uint64_t before = sys_tsc_fenced();
	e.t->ring->moving_from = stack;
	__atomic_store_n(&e.t->ring->moving, (uint64_t)block, __ATOMIC_RELEASE);
	void *moved = how->real(block, size, how->flags);
	__atomic_store_n(&e.t->ring->moving, 0, __ATOMIC_RELAXED);
	put_realloc(&e, block, moved, size, stack, before);
	event_end(&e);
	return moved;
}

void at_review_modules(uint64_t sp)
{
	struct event e;
	if (!event_begin(&e, sp))
		return;
	e.own->head.closed++;
	if (!hw_attach.find_object)
		at_objects_review(&e.own->objects);
	review_modules(e.own);
	event_end(&e);
}
