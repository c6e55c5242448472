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

#include "runtime/core/extent.h"
#include "runtime/preload/control.h"
#include "runtime/preload/frees.h"
#include "runtime/preload/mappings.h"
#include "runtime/preload/process.h"
#include "runtime/preload/real.h"
#include "runtime/preload/sampling.h"
#include "runtime/preload/shared.h"
#include "runtime/preload/solo.h"

#include <sys/single_threaded.h>

extern void *__libc_stack_end; /* of ld.so */

/* Further away than this it is not the same stack. */
#define SAME_STACK (8u << 20)
/* A handler runs at least so far below what it interrupted: red zone and signal frame (AMD64 ABI
 * 1.0, section 3.2.2; arch/x86/include/asm/sigframe.h). */
#define HANDLER_BELOW 512

/* The thread is in an event already. True if that one will not go on. */
static __attribute__((noinline)) bool is_event_abandoned(uint64_t sp, uint64_t busy)
{
	if (sp + HANDLER_BELOW <= busy || sp - busy + HANDLER_BELOW > SAME_STACK ||
		rt_on_signal_stack())
		return false;
	rt_event_abandon();
	return true;
}

void rt_event_abandon(void)
{
	struct rt_process *p = rt_process;
	if (rt_here.thread->ring) {
		__atomic_store_n(&rt_here.thread->ring->moving, 0, __ATOMIC_RELAXED);
		rt_ring_abandon(rt_here.thread);
	}
	if (p) {
		rt_lock_abandon(&p->modules.lock);
		rt_lock_abandon(&p->solo_trial);
		rt_lock_abandon(&p->sampler.lock);
		rt_lock_abandon(&p->mapping_lock);
	}
	if (p)
		rt_shared_abandon(p);
	rt_here.busy = 0;
}

static inline void end_event(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	rt_here.busy = 0;
}

static inline void ring_begin(struct rt_thread *t, uint64_t sp)
{
	__atomic_store_n(&t->ring->busy, sp, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* In a stopped recording, or where the program has allocations left out, the usual event is not
 * usual, and each looks whether it goes on. */
static inline void rest_if_stopped(struct rt_thread *t)
{
	if (rt_unlikely(rt_mode == RT_MODE_STOPPED || rt_here.ignores))
		t->limit = t->head;
}

static inline void ring_end(struct rt_thread *t)
{
	rest_if_stopped(t);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&t->ring->busy, 0, __ATOMIC_RELEASE);
	end_event();
}

/* Ends an event that found no place. Among the reasons is that this is a child, forked by a handler
 * that interrupted the event (control.c): from here on it is like any other child. */
static __attribute__((noinline)) void *end_dropped_event(struct rt_thread *t, void *result)
{
	ring_end(t);
	if (__atomic_load_n(&rt_process->state, __ATOMIC_RELAXED) == RT_FORKED_MID_EVENT)
		rt_process_leave();
	return result;
}

/* Whether the event that begins carries a stamp. */
static inline bool needs_stamp(struct rt_process *p, struct rt_thread *t)
{
	if (rt_unlikely(!__libc_single_threaded))
		t->stamped = true;
	if (rt_unlikely(rt_stamps(t) && t->head >= t->solo_due))
		rt_solo_try(p, t);
	return rt_stamps(t);
}

/* The end of an event that went elsewhere than to a ring of its own. */
static void end_elsewhere(uint64_t sp)
{
	if (rt_here.busy != sp)
		return; /* of a handler: the interrupted one is still to end */
	end_event();
	if (rt_process &&
		__atomic_load_n(&rt_process->state, __ATOMIC_RELAXED) == RT_FORKED_MID_EVENT)
		rt_process_leave();
}

/*
 * Begins an event. The thread to record with; NULL if the event has to go to the shared ring
 * (*ret_process set) or nowhere (*ret_process NULL), and is ended by end_elsewhere().
 */
static inline struct rt_thread *begin_event(uint64_t sp, struct rt_process **ret_process)
{
	uint64_t busy = rt_here.busy;
	if (rt_unlikely(busy) && !is_event_abandoned(sp, busy)) {
		*ret_process = rt_real.front ? NULL : rt_process;
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

/* How large the stack is, allocations say: frees need not. */
static inline void look_at_stack(struct rt_thread *t, uint64_t sp)
{
	if (rt_unlikely(rt_extent_wanted(t, sp)))
		rt_extent_note(t, sp, (uint64_t)__libc_stack_end, sys_thread_pointer());
}

/*
 * The usual event: the program has one thread, which has a ring with room and is in no other event.
 * It needs no stamp, and only a signal handler of the same thread can come between: the word in the
 * ring that tells the collector of a stamp on its way is not needed either.
 *
 * Begins one; NULL: it is not usual. Everything is read after the beginning: before it, a handler
 * that forks would leave the child with what is the parent's.
 */
static inline __attribute__((always_inline)) struct rt_thread *usual_begin(
	struct rt_here *here, uint64_t sp, uint32_t words, bool looks_at_stack)
{
	if (rt_unlikely(here->busy))
		return NULL;
	here->busy = sp;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	struct rt_thread *t = here->thread;
	if (rt_likely(t->head + words <= t->limit && __libc_single_threaded && !t->stamped &&
		      !(looks_at_stack && rt_extent_grows(t, sp))))
		return t;
	here->busy = 0;
	return NULL;
}

static inline void usual_end(struct rt_here *here, struct rt_thread *t, uint64_t head)
{
	t->head = head;
	rt_ring_claim(t, head);
	__atomic_store_n(&t->ring->head, head, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	here->busy = 0;
}

static __attribute__((noinline)) void *put_alloc(
	void *block, size_t size, enum hw_alloc_kind kind, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	if (!block)
		rt_here.failed = true;
	struct rt_process *p;
	struct rt_thread *t = begin_event(sp, &p);
	if (rt_unlikely(!t)) {
		if (p)
			rt_shared_alloc(p, block, size, kind, (struct rt_caller){pc, sp, rbp});
		end_elsewhere(sp);
		return block;
	}
	look_at_stack(t, sp);
	bool with_stamp = needs_stamp(p, t);
	uint32_t stack = rt_unwind(&p->unwinder, &t->walk, pc, sp, rbp);
	if (rt_unlikely(t->head + HW_R_WORDS_MAX > t->limit))
		rt_stop_look(p->shm);
	uint64_t *w = rt_ring_reserve(t, HW_R_WORDS_MAX);
	if (rt_likely(w)) {
		uint32_t n = 3;
		if (rt_unlikely(!block)) {
			rt_put_failed(w, kind, stack, size);
			t->last_address = 0; /* the memo is this call's now */
		} else {
			uint64_t op = HW_R_ALLOC + kind + (with_stamp ? HW_R_STAMPED : 0);
			n = rt_put_alloc(w, op, (uint64_t)block, stack, size);
			t->last_address = (uint64_t)block;
			if (with_stamp)
				w[n++] = sys_tsc_fenced();
		}
		rt_ring_publish(t, n);
	} else {
		return end_dropped_event(t, block);
	}
	ring_end(t);
	return block;
}

/* The latest block is another one, which is not known. */
static void forget_address(void)
{
	if (rt_here.thread->ring)
		rt_here.thread->last_address = 0;
}

static __attribute__((noinline)) void *alloc_slowly(
	void *block, size_t size, enum hw_alloc_kind kind, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	if (rt_unlikely(rt_here.ignores ||
			(rt_mode != RT_MODE_EXACT && !rt_sampling_records(block, size)))) {
		if (!block)
			rt_here.failed = true; /* it had its chance */
		if (rt_mode != RT_MODE_SAMPLE)
			forget_address();
		return block;
	}
	return put_alloc(block, size, kind, pc, sp, rbp);
}

__attribute__((flatten)) void *rt_event_alloc(
	void *block, size_t size, enum hw_alloc_kind kind, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	struct rt_thread *t = NULL;
	if (rt_likely(block && size < HW_R_SIZE_BIG))
		t = usual_begin(&rt_here, sp, 2, true);
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
	/* From the record, and before the event ends: a handler that comes then forgets
	 * last_address. */
	void *result = (void *)(t->words[head] >> 8);
	usual_end(&rt_here, t, head + 2);
	return result;
}

void rt_event_ignore(bool begins)
{
	struct rt_here *here = &rt_here;
	if (!begins) {
		here->ignores -= here->ignores > 0;
		return;
	}
	struct rt_process *p;
	struct rt_thread *t = begin_event((uint64_t)__builtin_frame_address(0), &p);
	here->ignores++;
	if (p)
		__atomic_fetch_or(&p->shm->notes, (uint32_t)HW_NOTE_IGNORES, __ATOMIC_RELAXED);
	if (t)
		ring_end(t);
	else
		end_elsewhere((uint64_t)__builtin_frame_address(0));
}

bool rt_event_is_latest(const void *block)
{
	if (rt_mode == RT_MODE_SAMPLE)
		return rt_here.until != rt_here.until_before;
	return rt_here.thread->ring && rt_here.thread->last_address == (uint64_t)block;
}

static __attribute__((noinline)) void put_free(
	void *block, enum hw_free_kind kind, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	struct rt_process *p;
	struct rt_thread *t = begin_event(sp, &p);
	if (rt_unlikely(!t)) {
		if (p)
			rt_shared_free(p, block, kind, sp);
		end_elsewhere(sp);
		return;
	}
	bool with_stamp = needs_stamp(p, t);
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
		end_dropped_event(t, NULL);
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
		if (!rt_sampling_records_free(block))
			return;
		if (rt_mode == RT_MODE_SAMPLE) /* what came between is not known */
			rt_event_forget_latest();
	}
	put_free(block, kind, pc, sp, rbp);
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
	struct rt_thread *t = usual_begin(here, sp, 1, false);
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

/* A realloc of a sampled block: does it, and records the free of its old block; *ret_early: before
 * it was known to come true. */
static __attribute__((noinline)) void *half_realloc(
	void *block, size_t size, struct rt_caller c, bool *ret_early)
{
	enum hw_free_kind kind = size ? HW_FREE_REALLOC : HW_FREE_REALLOC_ZERO;
	struct rt_process *p;
	struct rt_thread *t = begin_event(c.sp, &p);
	if (rt_unlikely(!t)) {
		if (p)
			rt_shared_free(p, block, kind, c.sp);
		*ret_early = p;
		void *moved = rt_real.realloc(block, size);
		end_elsewhere(c.sp);
		return moved;
	}
	bool with_stamp = needs_stamp(p, t);
	uint64_t before = with_stamp ? sys_tsc_fenced() : 0;
	void *moved = rt_real.realloc(block, size);
	/* As in rt_event_realloc(). */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (rt_unlikely(!with_stamp && rt_stamps(t))) {
		with_stamp = true;
		before = t->untimed_since;
	}
	uint64_t *w = moved || !size ? rt_ring_reserve(t, 2) : NULL;
	if (rt_unlikely(!w))
		return end_dropped_event(t, moved);
	w[0] = (HW_R_FREE + kind) | (with_stamp ? HW_R_STAMPED : 0) | (uint64_t)block << 8;
	w[1] = before;
	rt_ring_publish(t, with_stamp ? 2 : 1);
	ring_end(t);
	return moved;
}

/* The two halves of a realloc are sampled one apart from the other; one without success is no free.
 */
static __attribute__((noinline)) void *sample_realloc(void *block, size_t size, struct rt_caller c)
{
	bool sampled = rt_sampling_records_free(block);
	if (sampled)
		rt_event_forget_latest();
	bool early = false, failed;
	void *moved = sampled ? half_realloc(block, size, c, &early) : rt_real.realloc(block, size);
	failed = !moved && size;
	if (rt_unlikely(failed && early)) /* it lives on, unseen */
		rt_ring_count_lost(rt_process->shm, HW_LOST_REALLOC_FAILED);
	else if (rt_unlikely(failed && sampled))
		rt_sampling_goes_on(block);
	if ((!moved && !failed) || rt_here.ignores || !rt_sampling_records(moved, size))
		return moved;
	return put_alloc(moved, size, HW_REALLOC, c.pc, c.sp, c.rbp);
}

/* The real function, which may end the process if `block` is none: that it was called is seen from
 * outside. */
static inline void *seen_realloc(struct hw_ring *ring, void *block, size_t size, uint32_t stack)
{
	ring->moving_from = stack;
	__atomic_store_n(&ring->moving, (uint64_t)block, __ATOMIC_RELEASE);
	void *moved = rt_real.realloc(block, size);
	__atomic_store_n(&ring->moving, 0, __ATOMIC_RELAXED);
	return moved;
}

/* What a realloc of a block to nothing is: its free, and with --free-stacks where that was. */
static uint32_t put_free_by_realloc(
	uint64_t *w, bool with_stamp, void *block, uint64_t before, uint32_t stack)
{
	uint32_t n = 1;
	w[0] = (HW_R_FREE + HW_FREE_REALLOC_ZERO) | (with_stamp ? HW_R_STAMPED : 0) |
	       (uint64_t)block << 8;
	if (with_stamp)
		w[n++] = before;
	if (rt_frees.watch == RT_FREES_ALL)
		n += rt_put_annotation(
			w + n, with_stamp, HW_ANNOTATE_FREED_FROM, (uint64_t)block, stack);
	return n;
}

void *rt_event_realloc(void *block, size_t size, struct rt_caller c)
{
	if (rt_unlikely(rt_here.ignores) ||
		(rt_unlikely(rt_mode != RT_MODE_EXACT) && (rt_stopped() || rt_sampling())))
		return sample_realloc(block, size, c);
	struct rt_process *p;
	struct rt_thread *t = begin_event(c.sp, &p);
	if (rt_unlikely(!t)) {
		void *moved = rt_shared_realloc(p, block, size, c);
		end_elsewhere(c.sp);
		return moved;
	}
	look_at_stack(t, c.sp);
	bool with_stamp = needs_stamp(p, t);
	uint64_t before = with_stamp ? sys_tsc_fenced() : 0;
	uint32_t stack = rt_unwind(&p->unwinder, &t->walk, c.pc, c.sp, c.rbp);
	void *moved = seen_realloc(t->ring, block, size, stack);
	uint64_t *w = rt_ring_reserve(t, HW_R_WORDS_MAX);
	/* A handler, or since we are not solo any more another thread, may have been given the old
	 * block's place, or have given back the new one's. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (rt_unlikely(!with_stamp && rt_stamps(t))) {
		with_stamp = true;
		before = t->untimed_since;
	}
	if (rt_likely(w)) {
		uint64_t flag = with_stamp ? HW_R_STAMPED : 0;
		uint32_t n = 1;
		if (moved) {
			n = rt_put_alloc(w, HW_R_REALLOC | flag, (uint64_t)moved, stack, size);
			w[n++] = (uint64_t)block;
			if (with_stamp) {
				w[n++] = before;
				w[n++] = sys_tsc_fenced();
			}
		} else if (size) {
			rt_put_failed(w, HW_REALLOC, stack, size);
			n = 3;
		} else {
			n = put_free_by_realloc(w, with_stamp, block, before, stack);
		}
		t->last_address = (uint64_t)moved;
		rt_ring_publish(t, n);
	} else {
		return end_dropped_event(t, moved);
	}
	ring_end(t);
	return moved;
}

/* Whether the recording has single events. */
static bool has_forks(void)
{
	return rt_mode == RT_MODE_EXACT || rt_mode == RT_MODE_STOPPED;
}

uint64_t rt_event_fork(uint64_t sp)
{
	if (!has_forks() || !rt_process || rt_here.busy || sys_no_calls())
		return 0;
	uint32_t state = __atomic_load_n(&rt_process->state, __ATOMIC_ACQUIRE);
	if (state != RT_RECORDING && state != RT_NONE)
		return 0;
	struct rt_process *p;
	struct rt_thread *t = begin_event(sp, &p);
	if (!t) {
		uint64_t child = p ? rt_shared_fork(p, sp) : 0;
		end_elsewhere(sp);
		return child;
	}
	if (!has_forks()) { /* it has just begun */
		ring_end(t);
		return 0;
	}
	needs_stamp(p, t);
	uint64_t stamp = 0, *w = rt_ring_reserve(t, 2);
	if (!w) {
		end_dropped_event(t, NULL);
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

void rt_event_annotate(enum hw_annotation what, uint64_t address, uint64_t bytes, uint64_t sp)
{
	struct rt_process *p;
	struct rt_thread *t = begin_event(sp, &p);
	if (!t) {
		if (p)
			rt_shared_annotate(p, what, address, bytes, sp);
		end_elsewhere(sp);
		return;
	}
	bool with_stamp = needs_stamp(p, t);
	uint64_t *w = rt_ring_reserve(t, 3);
	if (!w) {
		end_dropped_event(t, NULL);
		return;
	}
	uint32_t n = rt_put_annotation(w, with_stamp, what, address, bytes);
	rt_ring_publish(t, n);
	ring_end(t);
}

void rt_event_freed_from(void *block, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	struct rt_process *p;
	struct rt_thread *t = begin_event(sp, &p);
	if (!t) {
		end_elsewhere(
			sp); /* without a ring of its own: the free is recorded, its stack is not */
		return;
	}
	bool with_stamp = needs_stamp(p, t);
	uint32_t stack = rt_unwind(&p->unwinder, &t->walk, pc, sp, rbp);
	t->last_address = 0; /* the memo is this call's now */
	uint64_t *w = rt_ring_reserve(t, 3);
	if (!w) {
		end_dropped_event(t, NULL);
		return;
	}
	rt_ring_publish(t,
		rt_put_annotation(w, with_stamp, HW_ANNOTATE_FREED_FROM, (uint64_t)block, stack));
	ring_end(t);
}

void rt_event_mark(uint32_t bytes, const uint64_t *name, uint64_t sp)
{
	struct rt_process *p;
	struct rt_thread *t = begin_event(sp, &p);
	if (!t) {
		if (p)
			rt_shared_mark(p, bytes, name, sp);
		end_elsewhere(sp);
		return;
	}
	needs_stamp(p, t);
	uint64_t *w = rt_ring_reserve(t, HW_R_WORDS_LONGEST);
	if (!w) {
		end_dropped_event(t, NULL);
		return;
	}
	rt_ring_publish(t, rt_put_mark(w, bytes, name));
	ring_end(t);
}

/* In the middle of an event (a realloc whose allocator maps memory, a signal handler's): the shared
 * ring has a walk of its own. */
static struct rt_process *process_of_nested(void)
{
	struct rt_process *p = rt_process;
	bool records =
		p && !rt_real.front && __atomic_load_n(&p->state, __ATOMIC_ACQUIRE) == RT_RECORDING;
	return records ? p : NULL;
}

void rt_event_mapping_begin(
	struct rt_mapping_event *event, const struct rt_mapping *mapping, uint64_t sp)
{
	*event = (struct rt_mapping_event){.nested = rt_here.busy};
	if (event->nested)
		event->p = process_of_nested();
	else
		event->t = begin_event(sp, &event->p);
	if (event->t) {
		event->with_stamp = needs_stamp(event->p, event->t);
		event->before = event->with_stamp ? sys_tsc_fenced() : 0;
	} else if (event->p && mapping->gone_bytes) {
		rt_shared_unmap(event->p, mapping->gone_at, mapping->gone_bytes, sp);
		event->gone_recorded = true;
	}
}

/* The thread's own walk keeps what its latest event has found. */
static uint32_t stack_of_mapping(struct rt_process *p, struct rt_thread *t, struct rt_caller c)
{
	if (!rt_lock_try(&p->mapping_lock)) {
		t->last_address = 0;
		return rt_unwind(&p->unwinder, &t->walk, c.pc, c.sp, c.rbp);
	}
	rt_walk_forget(&p->mapping_walk);
	p->mapping_walk.readable_low = p->mapping_walk.readable_high = 0;
	if (sys_no_calls())
		rt_walk_trust(&p->mapping_walk, c.sp, sys_thread_pointer());
	uint32_t stack = rt_unwind(&p->unwinder, &p->mapping_walk, c.pc, c.sp, c.rbp);
	rt_unlock(&p->mapping_lock);
	return stack;
}

void rt_event_mapping_end(
	struct rt_mapping_event *event, const struct rt_mapping *mapping, struct rt_caller caller)
{
	struct rt_process *p = event->p;
	struct rt_thread *t = event->t;
	if (!t) {
		if (p && mapping)
			rt_shared_map(p, mapping, event->gone_recorded, caller);
		if (!event->nested)
			end_elsewhere(caller.sp);
		return;
	}
	uint32_t stack = mapping && mapping->bytes ? stack_of_mapping(p, t, caller) : 0;
	uint64_t *w = mapping ? rt_ring_reserve(t, HW_R_WORDS_MAPPED) : NULL;
	if (!w) {
		end_dropped_event(t, NULL);
		return;
	}
	/* As in rt_event_realloc(). */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (rt_unlikely(!event->with_stamp && rt_stamps(t))) {
		event->with_stamp = true;
		event->before = t->untimed_since;
	}
	uint32_t n = 0;
	if (mapping->gone_bytes)
		n = rt_put_unmap(w, mapping->gone_at, mapping->gone_bytes,
			event->with_stamp ? event->before : sys_tsc_fenced());
	if (mapping->bytes)
		n += rt_put_map(w + n, mapping, stack);
	rt_ring_publish(t, n);
	ring_end(t);
}
