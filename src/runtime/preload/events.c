/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see events.h. May touch: the same.
 *
 * An event runs between busy = stack pointer and busy = 0 in the thread's ring. That word tells
 * three readers three things: the collector, that a stamp may have been taken that it can't see
 * yet; a signal handler's event on this thread, that the ring and the memo are in use, so that it
 * goes to the shared ring instead; and the thread's next event, if control left the last one by
 * siglongjmp or a throw, that it was abandoned: then the stack pointer is higher than it was, the
 * half-made memo is dropped and nothing but that event is lost.
 *
 * Stamps: alloc after the real call, free before it, so that for one address the order alloc < free
 * < next alloc holds across threads. While the program has one thread the order in the ring says
 * all, and a stamp now and then tells the time.
 */
#include "runtime/preload/events.h"

#include "runtime/preload/process.h"
#include "runtime/preload/real.h"

#include <sys/single_threaded.h>

/* A handler on an alternate stack may run above the interrupted frame; further up than this it is
 * not the same stack. */
#define SAME_STACK (8u << 20)

static inline bool begin(struct rt_thread *t, uint64_t sp)
{
	struct hw_ring *ring = t->ring;
	uint64_t busy = ring->busy;
	if (rt_unlikely(busy)) {
		if (sp <= busy || sp - busy > SAME_STACK)
			return false;
		t->walk.memo_frames = 0;
		t->last_address = 0;
	}
	__atomic_store_n(&ring->busy, sp, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return true;
}

static inline void end(struct rt_thread *t)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&t->ring->busy, 0, __ATOMIC_RELEASE);
}

/* Whether events of this thread carry a stamp; once true, always. */
static inline bool stamped(struct rt_thread *t)
{
	if (rt_unlikely(!__libc_single_threaded))
		t->stamped = true;
	return t->stamped;
}

/* Words of [op | address] [stack | size] [big size]; returns how many. */
static inline uint32_t put_alloc(
	uint64_t *w, uint64_t op, uint64_t address, uint32_t stack, size_t size)
{
	w[0] = op | address << 8;
	if (rt_likely(size < HW_R_SIZE_BIG)) {
		w[1] = stack | (uint64_t)size << 32;
		return 2;
	}
	w[1] = stack | (uint64_t)HW_R_SIZE_BIG << 32;
	w[2] = size;
	return 3;
}

static inline void put_failed(uint64_t *w, enum hw_alloc_kind kind, uint32_t stack, size_t size)
{
	w[0] = HW_R_FAILED | (uint64_t)kind << 8;
	w[1] = stack;
	w[2] = size;
}

/*
 * Events without a ring of their own: from a signal handler that interrupted an event, or from a
 * thread that came when all rings were taken. They go to the shared ring, each behind a word that
 * names its thread, always stamped. Only the second kind may wait for room.
 */
/*
 * An event of the thread is under way while a handler's goes to another ring: from now on stamps
 * must tell which of the two rings' events came first.
 */
static void interrupted(struct rt_thread *own)
{
	if (own->stamped)
		return;
	own->interrupted_at = sys_tsc_fenced();
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	own->stamped = true;
}

static struct rt_thread *shared_begin(struct rt_process *p)
{
	if (!rt_lock_try(&p->shared_lock)) {
		__atomic_fetch_add(&p->shm->lost_without_ring, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	struct rt_thread *t = &p->shared;
	t->walk.memo_frames = 0;
	t->walk.readable_low = t->walk.readable_high = 0;
	/* Never sleep in a handler: as if the collector had been waited for in vain. */
	if (rt_self->ring) {
		t->stalled_at = __atomic_load_n(&p->shm->progress, __ATOMIC_RELAXED) + 1;
		interrupted(rt_self);
	}
	__atomic_store_n(&t->ring->busy, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return t;
}

static void shared_end(struct rt_process *p)
{
	end(&p->shared);
	rt_unlock(&p->shared_lock);
}

static uint64_t *shared_reserve(struct rt_thread *t, uint32_t words)
{
	uint64_t *w = rt_ring_reserve(t, words + 1);
	if (!w)
		return NULL;
	w[0] = HW_R_FOREIGN | (uint64_t)sys_call(__NR_gettid, 0, 0, 0) << 8;
	return w + 1;
}

static __attribute__((noinline)) void shared_alloc(struct rt_process *p, void *block, size_t size,
	enum hw_alloc_kind kind, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	struct rt_thread *t = shared_begin(p);
	if (!t)
		return;
	uint32_t stack = rt_unwind(&p->unwinder, &t->walk, pc, sp, rbp);
	uint64_t *w = shared_reserve(t, HW_R_WORDS_MAX);
	if (w) {
		uint32_t n = 3;
		if (block)
			n = put_alloc(w, (HW_R_ALLOC + kind) | HW_R_STAMPED, (uint64_t)block, stack,
				size);
		else
			put_failed(w, kind, stack, size);
		if (block)
			w[n++] = sys_tsc_fenced();
		rt_ring_publish(t, n + 1);
	}
	shared_end(p);
}

static __attribute__((noinline)) void shared_free(
	struct rt_process *p, void *block, enum hw_free_kind kind)
{
	struct rt_thread *t = shared_begin(p);
	if (!t)
		return;
	uint64_t *w = shared_reserve(t, 2);
	if (w) {
		w[0] = (HW_R_FREE + kind) | HW_R_STAMPED | (uint64_t)block << 8;
		w[1] = sys_tsc_fenced();
		rt_ring_publish(t, 3);
	}
	shared_end(p);
}

/*
 * The thread to record with, its event begun; NULL if the event has to go to the shared ring
 * (*ret_process set) or nowhere
 * (*ret_process NULL).
 */
static inline struct rt_thread *enter(uint64_t sp, struct rt_process **ret_process)
{
	struct rt_thread *t = rt_self;
	if (rt_unlikely(!t->ring)) {
		t = rt_thread_start();
		*ret_process = t ? rt_process : NULL;
		if (!t || t == &rt_process->shared)
			return NULL;
	}
	*ret_process = rt_process;
	return rt_likely(begin(t, sp)) ? t : NULL;
}

void *rt_event_alloc(
	void *block, size_t size, enum hw_alloc_kind kind, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	struct rt_process *p;
	struct rt_thread *t = enter(sp, &p);
	if (rt_unlikely(!t)) {
		if (p)
			shared_alloc(p, block, size, kind, pc, sp, rbp);
		return block;
	}
	bool with_stamp = stamped(t);
	uint32_t stack = rt_unwind(&p->unwinder, &t->walk, pc, sp, rbp);
	uint64_t *w = rt_ring_reserve(t, HW_R_WORDS_MAX);
	if (rt_likely(w)) {
		uint32_t n = 3;
		if (rt_unlikely(!block)) {
			put_failed(w, kind, stack, size);
			t->last_address = 0; /* the memo is this call's now */
		} else {
			uint64_t op = HW_R_ALLOC + kind + (with_stamp ? HW_R_STAMPED : 0);
			n = put_alloc(w, op, (uint64_t)block, stack, size);
			t->last_address = (uint64_t)block;
			if (with_stamp)
				w[n++] = sys_tsc_fenced();
		}
		rt_ring_publish(t, n);
	}
	end(t);
	return block;
}

void rt_event_free(void *block, enum hw_free_kind kind, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	struct rt_process *p;
	struct rt_thread *t = enter(sp, &p);
	if (rt_unlikely(!t)) {
		if (p)
			shared_free(p, block, kind);
		return;
	}
	bool with_stamp = stamped(t);
	uint64_t op = HW_R_FREE + kind;
	if (t->last_address == (uint64_t)block) {
		t->last_address = 0;
		if (rt_same_frame(&p->unwinder, &t->walk, pc, sp, rbp))
			op += HW_R_FREE_SAME_FRAME - HW_R_FREE;
	}
	uint64_t *w = rt_ring_reserve(t, 2);
	if (rt_likely(w)) {
		uint32_t n = 1;
		if (with_stamp) {
			w[n++] = sys_tsc_fenced();
			op |= HW_R_STAMPED;
		}
		w[0] = op | (uint64_t)block << 8;
		rt_ring_publish(t, n);
	}
	end(t);
}

/* A realloc through the shared ring. The lock is not held across the real call. */
static __attribute__((noinline)) void *shared_realloc(
	struct rt_process *p, void *block, size_t size, struct rt_caller c)
{
	uint64_t before = sys_tsc_fenced();
	void *moved = rt_real.realloc(block, size);
	if (!p)
		return moved;
	if (!moved && size) {
		shared_alloc(p, NULL, size, HW_REALLOC, c.pc, c.sp, c.rbp);
		return NULL;
	}
	struct rt_thread *t = shared_begin(p);
	if (!t)
		return moved;
	uint32_t stack = rt_unwind(&p->unwinder, &t->walk, c.pc, c.sp, c.rbp);
	uint64_t *w = shared_reserve(t, HW_R_WORDS_MAX);
	if (w) {
		uint32_t n = 1;
		if (moved) {
			n = put_alloc(w, HW_R_REALLOC | HW_R_STAMPED, (uint64_t)moved, stack, size);
			w[n++] = (uint64_t)block;
			w[n++] = before;
			w[n++] = sys_tsc_fenced();
		} else {
			w[0] = (HW_R_FREE + HW_FREE_REALLOC_ZERO) | HW_R_STAMPED |
			       (uint64_t)block << 8;
			w[n++] = before;
		}
		rt_ring_publish(t, n + 1);
	}
	shared_end(p);
	return moved;
}

void *rt_event_realloc(void *block, size_t size, struct rt_caller c)
{
	struct rt_process *p;
	struct rt_thread *t = enter(c.sp, &p);
	if (rt_unlikely(!t))
		return shared_realloc(p, block, size, c);
	bool with_stamp = stamped(t);
	uint64_t before = with_stamp ? sys_tsc_fenced() : 0;
	void *moved = rt_real.realloc(block, size);
	uint32_t stack = rt_unwind(&p->unwinder, &t->walk, c.pc, c.sp, c.rbp);
	uint64_t *w = rt_ring_reserve(t, HW_R_WORDS_MAX);
	/* A handler may have been given the old block's place, or have given back the new one's. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (rt_unlikely(t->stamped && !with_stamp)) {
		with_stamp = true;
		before = t->interrupted_at;
	}
	if (rt_likely(w)) {
		uint64_t flag = with_stamp ? HW_R_STAMPED : 0;
		uint32_t n = 1;
		if (moved) {
			n = put_alloc(w, HW_R_REALLOC | flag, (uint64_t)moved, stack, size);
			w[n++] = (uint64_t)block;
			if (with_stamp)
				w[n++] = before;
		} else if (size) {
			put_failed(w, HW_REALLOC, stack, size);
			n = 3;
			flag = 0;
		} else {
			w[0] = (HW_R_FREE + HW_FREE_REALLOC_ZERO) | flag | (uint64_t)block << 8;
		}
		if (flag)
			w[n++] = moved ? sys_tsc_fenced() : before;
		t->last_address = (uint64_t)moved;
		rt_ring_publish(t, n);
	}
	end(t);
	return moved;
}
