/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see events.h. May touch: the same.
 *
 * An event runs between rt_here.busy = stack pointer and rt_here.busy = 0. That word tells three
 * readers three things. A signal handler's event on this thread: the ring and the memo are in use,
 * so that it goes to the shared ring instead. A fork in a handler: the child has an event to end.
 * And the thread's next event, if control left the last one for good (siglongjmp tells us, see
 * control.c; a throw out of a handler does not): that it was abandoned; then the stack pointer is
 * higher than it was, what was half done is dropped and nothing but that event is lost. The copy of
 * the word in the ring tells the collector that a stamp may have been taken that it can't see yet.
 *
 * Stamps: alloc after the real call, free before it, so that for one address the order alloc < free
 * < next alloc holds across threads. While the program has one thread the order in the ring says
 * all, and a stamp now and then tells the time.
 */
#include "runtime/preload/events.h"

#include "runtime/preload/control.h"
#include "runtime/preload/process.h"
#include "runtime/preload/real.h"
#include "runtime/preload/sampling.h"
#include "runtime/preload/solo.h"

#include <sys/single_threaded.h>

/* Further away than this it is not the same stack. */
#define SAME_STACK (8u << 20)
/* A handler runs at least so far below what it interrupted: red zone and signal frame (AMD64 ABI
 * 1.0, section 3.2.2; arch/x86/include/asm/sigframe.h). */
#define HANDLER_BELOW 512

/* The thread is in an event already. True if that one will not go on. */
static __attribute__((noinline)) bool abandoned(uint64_t sp, uint64_t busy)
{
	if (sp + HANDLER_BELOW <= busy || sp - busy + HANDLER_BELOW > SAME_STACK ||
		rt_on_signal_stack())
		return false;
	rt_event_abandon();
	return true;
}

static void drop_half_done(struct rt_thread *t)
{
	rt_walk_forget(&t->walk);
	rt_ring_recover(t);
	t->solo = false; /* it may just have been trying */
	__atomic_store_n(&t->ring->busy, 0, __ATOMIC_RELEASE);
}

void rt_event_abandon(void)
{
	struct rt_process *p = rt_process;
	if (rt_here.thread->ring)
		drop_half_done(rt_here.thread);
	if (p) {
		rt_lock_abandon(&p->modules.lock);
		rt_lock_abandon(&p->solo_trial);
		rt_lock_abandon(&p->sampler.lock);
	}
	if (p && p->shared_lock.holder == sys_thread_pointer()) {
		drop_half_done(&p->shared);
		rt_lock_abandon(&p->shared_lock);
	}
	rt_here.busy = 0;
}

static inline void end(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	rt_here.busy = 0;
}

static inline void ring_begin(struct rt_thread *t, uint64_t sp)
{
	__atomic_store_n(&t->ring->busy, sp, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void ring_end(struct rt_thread *t)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&t->ring->busy, 0, __ATOMIC_RELEASE);
	end();
}

/* Ends an event that found no place. Among the reasons is that this is a child, forked by a handler
 * that interrupted the event (control.c): from here on it is like any other child. */
static __attribute__((noinline)) void *dropped(struct rt_thread *t, void *result)
{
	ring_end(t);
	if (__atomic_load_n(&rt_process->state, __ATOMIC_RELAXED) == RT_ADRIFT)
		rt_process_leave();
	return result;
}

/* Whether the event that begins carries a stamp. */
static inline bool stamped(struct rt_process *p, struct rt_thread *t)
{
	if (rt_unlikely(!__libc_single_threaded))
		t->stamped = true;
	if (rt_unlikely(rt_stamps(t) && t->head >= t->solo_due))
		rt_solo_try(p, t);
	return rt_stamps(t);
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
 * An event of the thread is under way while a handler's goes to another ring: from now on stamps
 * must tell which of the two rings' events came first.
 */
static void interrupted(struct rt_thread *own)
{
	if (rt_stamps(own))
		return;
	own->told_at = sys_tsc_fenced();
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	own->stamped = true;
	own->solo = false;
}

/*
 * Events without a ring of their own: from a signal handler that interrupted an event, or from a
 * thread that came when all rings were taken. They go to the shared ring, each behind a word that
 * names its thread, always stamped. Only the second kind may wait for room.
 */
static struct rt_thread *shared_begin(struct rt_process *p, uint64_t sp)
{
	if (!rt_lock_try(&p->shared_lock)) {
		__atomic_fetch_add(&p->shm->lost_without_ring, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	struct rt_thread *t = &p->shared;
	rt_walk_forget(&t->walk);
	t->walk.readable_low = t->walk.readable_high = 0;
	/* Never sleep in a handler, nor for a sample. */
	t->impatient = rt_here.busy != sp || rt_mode == RT_MODE_SAMPLE;
	if (t->impatient && rt_here.thread->ring)
		interrupted(rt_here.thread);
	ring_begin(t, sp);
	rt_solo_meet(p, NULL);
	return t;
}

static void shared_end(struct rt_process *p)
{
	__atomic_store_n(&p->shared.ring->busy, 0, __ATOMIC_RELEASE);
	rt_unlock(&p->shared_lock);
}

/* The end of an event that went elsewhere than to a ring of its own. */
static void end_elsewhere(uint64_t sp)
{
	if (rt_here.busy != sp)
		return; /* of a handler: the interrupted one is still to end */
	end();
	if (rt_process && __atomic_load_n(&rt_process->state, __ATOMIC_RELAXED) == RT_ADRIFT)
		rt_process_leave();
}

static uint64_t *shared_reserve(struct rt_thread *t, uint32_t words)
{
	uint64_t *w = rt_ring_reserve(t, words + 1);
	if (!w)
		return NULL;
	w[0] = HW_R_FOREIGN | (uint64_t)rt_thread_id() << 8;
	return w + 1;
}

static __attribute__((noinline)) void shared_alloc(struct rt_process *p, void *block, size_t size,
	enum hw_alloc_kind kind, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	struct rt_thread *t = shared_begin(p, sp);
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

/* stamp: 0: now. */
static __attribute__((noinline)) void shared_free(
	struct rt_process *p, void *block, enum hw_free_kind kind, uint64_t sp, uint64_t stamp)
{
	struct rt_thread *t = shared_begin(p, sp);
	if (!t)
		return;
	uint64_t *w = shared_reserve(t, 2);
	if (w) {
		w[0] = (HW_R_FREE + kind) | HW_R_STAMPED | (uint64_t)block << 8;
		w[1] = stamp ? stamp : sys_tsc_fenced();
		rt_ring_publish(t, 3);
	}
	shared_end(p);
}

/*
 * Begins an event. The thread to record with; NULL if the event has to go to the shared ring
 * (*ret_process set) or nowhere (*ret_process NULL), and is ended by end_elsewhere().
 */
static inline struct rt_thread *enter(uint64_t sp, struct rt_process **ret_process)
{
	uint64_t busy = rt_here.busy;
	if (rt_unlikely(busy) && !abandoned(sp, busy)) {
		*ret_process = rt_process;
		return NULL;
	}
	rt_here.busy = sp;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	struct rt_thread *t = rt_here.thread;
	if (rt_unlikely(!t->ring)) {
		t = rt_thread_start();
		*ret_process = t ? rt_process : NULL;
		if (!t || t == &rt_process->shared)
			return NULL;
	}
	*ret_process = rt_process;
	ring_begin(t, sp);
	rt_solo_meet(rt_process, t);
	return t;
}

/*
 * The usual event: the program has one thread, which has a ring with room and is in no other event.
 * It needs no stamp, and nobody but a signal handler of the same thread can come between: the word
 * in the ring that tells the collector of a stamp on its way is not needed either.
 *
 * Begins one; NULL: it is not usual. Everything is read after the beginning: before it, a handler
 * that forks would leave the child with what is the parent's.
 */
static inline struct rt_thread *usual_begin(struct rt_here *here, uint64_t sp, uint32_t words)
{
	if (rt_unlikely(here->busy))
		return NULL;
	here->busy = sp;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	struct rt_thread *t = here->thread;
	if (rt_likely(t->head + words <= t->limit && __libc_single_threaded && !t->stamped))
		return t;
	here->busy = 0;
	return NULL;
}

static inline void usual_end(struct rt_here *here, struct rt_thread *t, uint64_t head)
{
	t->head = head;
	__atomic_store_n(&t->ring->head, head, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	here->busy = 0;
}

static __attribute__((noinline)) void *tell_alloc(
	void *block, size_t size, enum hw_alloc_kind kind, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	if (!block)
		rt_here.failed = true;
	struct rt_process *p;
	struct rt_thread *t = enter(sp, &p);
	if (rt_unlikely(!t)) {
		if (p)
			shared_alloc(p, block, size, kind, pc, sp, rbp);
		end_elsewhere(sp);
		return block;
	}
	bool with_stamp = stamped(p, t);
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
	} else {
		return dropped(t, block);
	}
	ring_end(t);
	return block;
}

static __attribute__((noinline)) void *alloc_slowly(
	void *block, size_t size, enum hw_alloc_kind kind, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	if (rt_unlikely(rt_mode != RT_MODE_EXACT) && !rt_sampling_tells(block, size)) {
		if (!block)
			rt_here.failed = true; /* it had its chance */
		return block;
	}
	return tell_alloc(block, size, kind, pc, sp, rbp);
}

__attribute__((flatten)) void *rt_event_alloc(
	void *block, size_t size, enum hw_alloc_kind kind, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	struct rt_thread *t = NULL;
	if (rt_likely(block && size < HW_R_SIZE_BIG))
		t = usual_begin(&rt_here, sp, 2);
	if (rt_unlikely(!t))
		return alloc_slowly(block, size, kind, pc, sp, rbp);
	/* Nothing but t is to be kept over the walk, which can do with every register. */
	uint64_t *w = &t->words[t->head];
	w[0] = (HW_R_ALLOC + kind) | (uint64_t)block << 8;
	w[1] = (uint64_t)size << 32;
	t->last_address = (uint64_t)block;
	uint64_t stack = rt_unwind(t->unwinder, &t->walk, pc, sp, rbp);
	uint64_t head = t->head;
	t->words[head + 1] |= stack;
	usual_end(&rt_here, t, head + 2);
	return (void *)t->last_address;
}

bool rt_event_is_latest(const void *block)
{
	if (rt_mode == RT_MODE_SAMPLE)
		return rt_here.until != rt_here.until_before;
	return rt_here.thread->ring && rt_here.thread->last_address == (uint64_t)block;
}

static __attribute__((noinline)) void tell_free(
	void *block, enum hw_free_kind kind, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	struct rt_process *p;
	struct rt_thread *t = enter(sp, &p);
	if (rt_unlikely(!t)) {
		if (p)
			shared_free(p, block, kind, sp, 0);
		end_elsewhere(sp);
		return;
	}
	bool with_stamp = stamped(p, t);
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
	} else {
		dropped(t, NULL);
		return;
	}
	ring_end(t);
}

bool rt_event_has_failed(void)
{
	return rt_here.failed;
}

static __attribute__((noinline)) void free_slowly(
	void *block, enum hw_free_kind kind, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	if (rt_unlikely(rt_here.ending == (uint64_t)block)) {
		rt_event_ended();
		return;
	}
	if (rt_unlikely(rt_mode != RT_MODE_EXACT)) {
		if (!rt_sampling_tells_free(block))
			return;
		if (rt_mode == RT_MODE_SAMPLE) /* what came between is not known */
			rt_event_forget_latest();
	}
	tell_free(block, kind, pc, sp, rbp);
}

void rt_event_forget_latest(void)
{
	rt_here.failed = false;
	rt_here.until_before = rt_here.until;
	if (rt_here.thread->ring)
		rt_here.thread->last_address = 0;
}

void rt_event_ending(const void *block)
{
	rt_here.ending = (uint64_t)block;
	/* So that the usual road is not taken. */
	if (rt_here.thread->ring)
		rt_here.thread->last_address = (uint64_t)block;
}

void rt_event_ended(void)
{
	struct rt_thread *t = rt_here.thread;
	if (t->ring && t->last_address == rt_here.ending)
		t->last_address = 0;
	rt_here.ending = 0;
}

void rt_event_free(void *block, enum hw_free_kind kind, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	struct rt_here *here = &rt_here;
	struct rt_thread *t = usual_begin(here, sp, 1);
	if (rt_unlikely(t && t->last_address == (uint64_t)block)) {
		here->busy = 0;
		t = NULL;
	}
	if (rt_unlikely(!t)) {
		free_slowly(block, kind, pc, sp, rbp);
		return;
	}
	t->words[t->head] = (HW_R_FREE + kind) | (uint64_t)block << 8;
	usual_end(here, t, t->head + 1);
}

/* A realloc through the shared ring. The lock is not held across the real call. */
static __attribute__((noinline)) void *shared_realloc(
	struct rt_process *p, void *block, size_t size, struct rt_caller c)
{
	uint64_t before = p ? sys_tsc_fenced() : 0;
	void *moved = rt_real.realloc(block, size);
	if (!p)
		return moved;
	if (!moved && size) {
		shared_alloc(p, NULL, size, HW_REALLOC, c.pc, c.sp, c.rbp);
		return NULL;
	}
	struct rt_thread *t = shared_begin(p, c.sp);
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

/* A realloc of a sampled block: does it, and tells of its free half. */
static __attribute__((noinline)) void *half_realloc(void *block, size_t size, struct rt_caller c)
{
	enum hw_free_kind kind = size ? HW_FREE_REALLOC : HW_FREE_REALLOC_ZERO;
	struct rt_process *p;
	struct rt_thread *t = enter(c.sp, &p);
	if (rt_unlikely(!t)) {
		uint64_t before = p ? sys_tsc_fenced() : 0;
		void *moved = rt_real.realloc(block, size);
		if (p && (moved || !size))
			shared_free(p, block, kind, c.sp, before);
		end_elsewhere(c.sp);
		return moved;
	}
	bool with_stamp = stamped(p, t);
	uint64_t before = with_stamp ? sys_tsc_fenced() : 0;
	void *moved = rt_real.realloc(block, size);
	/* As in rt_event_realloc(). */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (rt_unlikely(!with_stamp && rt_stamps(t))) {
		with_stamp = true;
		before = t->told_at;
	}
	uint64_t *w = moved || !size ? rt_ring_reserve(t, 2) : NULL;
	if (rt_unlikely(!w))
		return dropped(t, moved);
	w[0] = (HW_R_FREE + kind) | (with_stamp ? HW_R_STAMPED : 0) | (uint64_t)block << 8;
	w[1] = before;
	rt_ring_publish(t, with_stamp ? 2 : 1);
	ring_end(t);
	return moved;
}

/* The two halves of a realloc are sampled one apart from the other; one in vain is no free. */
static __attribute__((noinline)) void *sample_realloc(void *block, size_t size, struct rt_caller c)
{
	bool sampled = rt_sampling_tells_free(block);
	if (sampled)
		rt_event_forget_latest();
	void *moved = sampled ? half_realloc(block, size, c) : rt_real.realloc(block, size);
	bool failed = !moved && size;
	if (rt_unlikely(failed && sampled))
		rt_sampling_goes_on(block);
	if ((!moved && !failed) || !rt_sampling_tells(moved, size))
		return moved;
	return tell_alloc(moved, size, HW_REALLOC, c.pc, c.sp, c.rbp);
}

void *rt_event_realloc(void *block, size_t size, struct rt_caller c)
{
	if (rt_unlikely(rt_mode != RT_MODE_EXACT) && rt_sampling())
		return sample_realloc(block, size, c);
	struct rt_process *p;
	struct rt_thread *t = enter(c.sp, &p);
	if (rt_unlikely(!t)) {
		void *moved = shared_realloc(p, block, size, c);
		end_elsewhere(c.sp);
		return moved;
	}
	bool with_stamp = stamped(p, t);
	uint64_t before = with_stamp ? sys_tsc_fenced() : 0;
	void *moved = rt_real.realloc(block, size);
	uint32_t stack = rt_unwind(&p->unwinder, &t->walk, c.pc, c.sp, c.rbp);
	uint64_t *w = rt_ring_reserve(t, HW_R_WORDS_MAX);
	/* A handler, or since we are not solo any more another thread, may have been given the old
	 * block's place, or have given back the new one's. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (rt_unlikely(!with_stamp && rt_stamps(t))) {
		with_stamp = true;
		before = t->told_at;
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
	} else {
		return dropped(t, moved);
	}
	ring_end(t);
	return moved;
}

uint64_t rt_event_fork(uint64_t sp)
{
	if (rt_mode != RT_MODE_EXACT || !rt_process || rt_here.busy || sys_no_calls() ||
		__atomic_load_n(&rt_process->state, __ATOMIC_ACQUIRE) != RT_RECORDING)
		return 0;
	struct rt_process *p;
	struct rt_thread *t = enter(sp, &p);
	if (!t) {
		end_elsewhere(sp);
		return 0;
	}
	stamped(p, t);
	uint64_t stamp = 0, *w = rt_ring_reserve(t, 2);
	if (!w) {
		dropped(t, NULL);
		return 0;
	}
	/* Stamped in any case: what follows without a stamp is later than this one. */
	stamp = sys_tsc_fenced();
	w[0] = HW_R_FORK | HW_R_STAMPED;
	w[1] = stamp;
	rt_ring_publish(t, 2);
	ring_end(t);
	return stamp;
}
