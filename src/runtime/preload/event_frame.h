/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see events.h. May touch: the same.
 *
 * How an event begins and ends: for events.c, whose opening tells the idea, and events_rare.c.
 */
#ifndef RUNTIME_EVENT_FRAME_H
#define RUNTIME_EVENT_FRAME_H

#include "runtime/core/extent.h"
#include "runtime/preload/events.h"
#include "runtime/preload/process.h"
#include "runtime/preload/real.h"
#include "runtime/preload/sampling.h"
#include "runtime/preload/solo.h"
#include "runtime/python/python.h"

#include <sys/single_threaded.h>

extern void *__libc_stack_end; /* of ld.so */

/* The thread is in an event already. Returns whether that one will not go on; it is dropped then.
 */
bool rt_event_is_abandoned(uint64_t sp, uint64_t busy);

/*
 * Ends an event that found no place; returns `result`. Among the reasons is that this is a child,
 * forked by a handler that interrupted the event (control.c): from here on it is like any other
 * child.
 */
void *rt_event_end_dropped(struct rt_thread *t, void *result);

/* Ends an event that went elsewhere than to a ring of its own. */
void rt_event_end_elsewhere(uint64_t sp);

/* Walks a stack with a walk that no thread owns. Returns false if another one uses it. */
bool rt_event_walk_apart(struct rt_process *p, struct rt_caller caller, uint32_t *ret);

/* A native stack, with the Python frames in it if there are any. */
static inline uint32_t rt_event_mixed(struct rt_process *p, struct rt_thread *t, uint32_t stack)
{
	return rt_unlikely(rt_python.has_frames)
		       ? rt_python_event_mixed(p, t->chain, t->mixer, stack)
		       : stack;
}

/* The stack of a call. */
static inline uint32_t rt_event_unwind(
	struct rt_process *p, struct rt_thread *t, struct rt_caller caller)
{
	return rt_event_mixed(
		p, t, rt_unwind(&p->unwinder, &t->walk, caller.pc, caller.sp, caller.rbp));
}

/* The stack of an allocation: of a block of Python's allocator the Python stack, if there is one.
 */
static inline uint32_t rt_event_stack(
	struct rt_process *p, struct rt_thread *t, enum hw_alloc_kind kind, struct rt_caller caller)
{
	uint32_t stack = hw_alloc_is_python(kind) ? rt_python_event_stack(p, t) : 0;
	return stack ? stack : rt_event_unwind(p, t, caller);
}

static inline void rt_event_end(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	rt_here.busy = 0;
}

static inline void rt_event_ring_begin(struct rt_thread *t, uint64_t sp)
{
	__atomic_store_n(&t->ring->busy, sp, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* In a stopped recording, or where the program has allocations left out, the usual event is not
 * usual, and each looks whether it goes on. */
static inline void rt_event_rest_if_stopped(struct rt_thread *t)
{
	if (rt_unlikely(rt_mode == RT_MODE_STOPPED || rt_here.ignores))
		t->limit = t->head;
}

static inline void rt_event_ring_end(struct rt_thread *t)
{
	rt_event_rest_if_stopped(t);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&t->ring->busy, 0, __ATOMIC_RELEASE);
	rt_event_end();
}

/* Whether the event that begins carries a stamp. */
static inline bool rt_event_needs_stamp(struct rt_process *p, struct rt_thread *t)
{
	if (rt_unlikely(!__libc_single_threaded))
		t->stamped = true;
	if (rt_unlikely(rt_stamps(t) && t->head >= t->solo_due))
		rt_solo_try(p, t);
	return rt_stamps(t);
}

/* The thread's ring has seen another number of changes of the mode than the event that begins was
 * decided by. Returns whether the event goes on, in a new generation: the mode of one decided
 * before is over. */
bool rt_event_renew(struct rt_process *p, struct rt_thread *t, uint32_t changes);

/* Does what rt_thread_start() does. If that begins the recording, *changes becomes its number; if
 * its mode is another one than that which the event was decided by, the event is in none: NULL. */
struct rt_thread *rt_event_start(uint32_t *changes);

/*
 * Begins an event that was decided by that many changes of the mode, as rt_mode_look() returned it.
 * The thread to record with; NULL if the event has to go to the shared ring (*ret_process set) or
 * nowhere (*ret_process NULL), and is ended by rt_event_end_elsewhere().
 */
static inline struct rt_thread *rt_event_begin(
	uint64_t sp, uint32_t changes, struct rt_process **ret_process)
{
	uint64_t busy = rt_here.busy;
	if (rt_unlikely(busy) && !rt_event_is_abandoned(sp, busy)) {
		*ret_process = rt_real.front ? NULL : rt_process;
		return NULL;
	}
	rt_here.busy = sp;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	struct rt_thread *t = rt_here.thread;
	if (rt_unlikely(!t->ring)) {
		t = rt_event_start(&changes);
		*ret_process = t ? rt_process : NULL;
		if (!t || t == &rt_process->shared)
			return NULL;
	}
	*ret_process = rt_process;
	if (rt_unlikely(t->changes != changes) && !rt_event_renew(rt_process, t, changes)) {
		*ret_process = NULL;
		return NULL;
	}
	rt_event_ring_begin(t, sp);
	rt_solo_meet(rt_process, t);
	return t;
}

/* How large the stack is, allocations say: frees need not. */
static inline void rt_event_look_at_stack(struct rt_thread *t, uint64_t sp)
{
	if (rt_unlikely(rt_extent_wanted(t, sp)))
		rt_extent_note(t, sp, (uint64_t)__libc_stack_end, sys_thread_pointer());
}

#endif
