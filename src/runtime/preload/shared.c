/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see shared.h. May touch: the same. */
#include "runtime/preload/shared.h"

#include "runtime/preload/event_frame.h"
#include "runtime/preload/mappings.h"
#include "runtime/preload/real.h"
#include "runtime/preload/sampling.h"
#include "runtime/preload/solo.h"

#include <linux/futex.h>

/* Looks at the lock before the thread sleeps, or asks whether to give up. */
#define LOCK_SPINS 64
#define LOCK_STEP_NS 50000000
/* Without system calls: about a second, as in core/ring.c. */
#define QUIET_SPINS 20000000
#define ESRCH_RAW (-3l)

static bool lock_try(struct rt_shared_lock *take_shared_lock, uint64_t self)
{
	uint64_t nobody = 0;
	return __atomic_compare_exchange_n(&take_shared_lock->holder, &nobody, self, false,
		__ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

static void lock_release(struct rt_shared_lock *take_shared_lock)
{
	/* Tid first: a holder that has one set is the one that set it. */
	__atomic_store_n(&take_shared_lock->tid, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&take_shared_lock->turns, take_shared_lock->turns + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&take_shared_lock->holder, 0, __ATOMIC_SEQ_CST);
	/* One at a time: a running thread is faster than one that has to be woken first. */
	if (__atomic_load_n(&take_shared_lock->sleepers, __ATOMIC_SEQ_CST) && !sys_no_calls() &&
		!__atomic_exchange_n(&take_shared_lock->woken, 1, __ATOMIC_SEQ_CST))
		sys_call(__NR_futex, &take_shared_lock->holder, FUTEX_WAKE_PRIVATE, 1);
}

/* Takes the lock over from a thread that ended with it; true if this one did. */
static bool lock_inherit(struct rt_process *p, uint64_t self)
{
	struct rt_shared_lock *take_shared_lock = &p->shared_lock;
	uint32_t tid = __atomic_load_n(&take_shared_lock->tid, __ATOMIC_ACQUIRE);
	/* Whatever process it is of: it can be a child by vfork. */
	if (!tid || sys_call(__NR_tkill, tid, 0, 0) != ESRCH_RAW)
		return false;
	/* Many may have seen that; one of them takes the name away, and with it the lock. */
	if (!__atomic_compare_exchange_n(
		    &take_shared_lock->tid, &tid, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&take_shared_lock->holder, self, __ATOMIC_RELEASE);
	rt_ring_abandon(&p->shared);
	return true;
}

/* As far as things had come at the last look. */
struct seen {
	uint64_t turns, progress;
};

static struct seen observe_progress(const struct rt_process *p)
{
	return (struct seen){__atomic_load_n(&p->shared_lock.turns, __ATOMIC_ACQUIRE),
		__atomic_load_n(&p->shm->progress, __ATOMIC_RELAXED)};
}

/* Whether a wait is worth it still; looks again. */
static bool goes_on(const struct rt_process *p, struct seen *seen)
{
	bool for_room = __atomic_load_n(&p->shared.ring->waiting, __ATOMIC_RELAXED);
	struct seen now = observe_progress(p), before = *seen;
	*seen = now;
	return now.turns != before.turns || (for_room && now.progress != before.progress);
}

static bool given_up(const struct rt_process *p, const struct seen *seen)
{
	return __atomic_load_n(&p->shared_lock.given_up, __ATOMIC_RELAXED) == seen->turns + 1;
}

static void give_up(struct rt_process *p, const struct seen *seen)
{
	__atomic_store_n(&p->shared_lock.given_up, seen->turns + 1, __ATOMIC_RELAXED);
}

static void lock_sleep(struct rt_shared_lock *take_shared_lock)
{
	/* The word is the low half of the holder: thread pointers differ there. */
	uint32_t seen = (uint32_t)__atomic_load_n(&take_shared_lock->holder, __ATOMIC_RELAXED);
	__atomic_fetch_add(&take_shared_lock->sleepers, 1, __ATOMIC_SEQ_CST);
	if (seen &&
		(uint32_t)__atomic_load_n(&take_shared_lock->holder, __ATOMIC_SEQ_CST) == seen) {
		struct sys_timespec step = {0, LOCK_STEP_NS};
		sys_call4(__NR_futex, &take_shared_lock->holder, FUTEX_WAIT_PRIVATE, seen, &step);
		__atomic_store_n(&take_shared_lock->woken, 0, __ATOMIC_SEQ_CST);
	}
	__atomic_fetch_sub(&take_shared_lock->sleepers, 1, __ATOMIC_SEQ_CST);
}

static bool lock_wait(struct rt_process *p, uint64_t self)
{
	struct seen seen = observe_progress(p);
	uint64_t began = sys_now_ns(), now = began, idle = 0;
	bool taken = false;
	while (!taken && !given_up(p, &seen)) {
		uint64_t before = now;
		lock_sleep(&p->shared_lock);
		taken = lock_try(&p->shared_lock, self) || lock_inherit(p, self);
		now = sys_now_ns();
		idle += rt_wait_step(now - before, LOCK_STEP_NS);
		if (goes_on(p, &seen))
			idle = 0;
		else if (idle > RT_WAIT_MAX_NS)
			give_up(p, &seen);
	}
	rt_process_note_wait(p->shm, now - began);
	return taken;
}

/* As lock_wait() without system calls and without a clock. */
static bool lock_spin(struct rt_process *p, uint64_t self)
{
	struct seen seen = observe_progress(p);
	bool taken = false;
	for (unsigned tries = 0; !taken && !given_up(p, &seen); tries++) {
		__builtin_ia32_pause();
		taken = lock_try(&p->shared_lock, self);
		if (goes_on(p, &seen))
			tries = 0;
		else if (tries >= QUIET_SPINS)
			give_up(p, &seen);
	}
	return taken;
}

/*
 * The lock is in the name of this thread's control block: either a handler runs that interrupted
 * the event that holds it, or it is left over from an ended thread that had this block before.
 */
static bool lock_is_own(struct rt_process *p, bool in_handler, uint32_t tid)
{
	uint32_t holder = __atomic_load_n(&p->shared_lock.tid, __ATOMIC_RELAXED);
	if (in_handler && (!holder || holder == tid))
		return true;
	rt_ring_abandon(&p->shared);
	return false;
}

/* False: it can't be had, and the event is lost. */
static bool take_shared_lock(struct rt_process *p, bool in_handler, uint32_t tid)
{
	uint64_t self = sys_thread_pointer();
	for (unsigned tries = 0; tries < LOCK_SPINS; tries++) {
		if (lock_try(&p->shared_lock, self))
			return true;
		if (__atomic_load_n(&p->shared_lock.holder, __ATOMIC_RELAXED) == self) {
			if (!lock_is_own(p, in_handler, tid))
				return true;
			rt_ring_count_lost(p->shm, HW_LOST_IN_HANDLER);
			return false;
		}
		__builtin_ia32_pause();
	}
	bool taken = sys_no_calls() ? lock_spin(p, self) : lock_wait(p, self);
	bool for_room = __atomic_load_n(&p->shared.ring->waiting, __ATOMIC_RELAXED);
	if (!taken)
		rt_ring_count_lost(p->shm, for_room ? HW_LOST_STALLED : HW_LOST_HELD);
	return taken;
}

/*
 * An event of the thread is under way while a handler's goes to another ring: from now on stamps
 * must tell which of the two rings' events came first.
 */
static void stamp_interrupted_event(struct rt_thread *own)
{
	if (rt_stamps(own))
		return;
	own->untimed_since = sys_tsc_fenced();
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	own->stamped = true;
	own->solo = false;
}

static void shared_end(struct rt_process *p)
{
	__atomic_store_n(&p->shared.ring->busy, 0, __ATOMIC_RELEASE);
	lock_release(&p->shared_lock);
}

/* The lock is held. False: the event is of a mode that is over. */
static bool follow_mode(struct rt_process *p, struct rt_thread *t, uint32_t changes)
{
	if (t->changes < changes)
		rt_ring_renew(t, changes);
	if (rt_likely(t->changes == changes))
		return true;
	__atomic_fetch_add(&p->shm->change_missed, 1, __ATOMIC_RELAXED);
	return false;
}

/* NULL: the event is lost, or of a mode that is over. */
static struct rt_thread *shared_begin(
	struct rt_process *p, uint32_t changes, uint64_t sp, uint32_t *ret_tid)
{
	bool sample = rt_mode == RT_MODE_SAMPLE, in_handler = rt_here.busy != sp;
	*ret_tid = rt_thread_id();
	if (!take_shared_lock(p, in_handler, *ret_tid))
		return NULL;
	struct rt_thread *t = &p->shared;
	__atomic_store_n(&p->shared_lock.tid, *ret_tid, __ATOMIC_RELAXED);
	__atomic_store_n(&t->ring->tid, *ret_tid, __ATOMIC_RELAXED);
	if (rt_unlikely(!follow_mode(p, t, changes))) {
		shared_end(p);
		return NULL;
	}
	rt_walk_forget(&t->walk);
	t->walk.readable_low = t->walk.readable_high = 0;
	if (sys_no_calls())
		rt_walk_trust(&t->walk, sp, sys_thread_pointer());
	/* Never sleep for room in a handler, nor for a sample. */
	t->impatient = sample ? HW_LOST_SAMPLED : in_handler ? HW_LOST_IN_HANDLER : HW_LOST_STALLED;
	if (in_handler && rt_here.thread->ring)
		stamp_interrupted_event(rt_here.thread);
	__atomic_store_n(&t->ring->busy, sp, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	rt_solo_meet(p, NULL);
	return t;
}

static uint64_t *shared_reserve(struct rt_thread *t, uint32_t words, uint32_t tid)
{
	uint64_t *w = rt_ring_reserve(t, words + 1);
	if (!w)
		return NULL;
	w[0] = HW_R_FOREIGN | (uint64_t)tid << 8;
	return w + 1;
}

void rt_shared_alloc(struct rt_process *p, uint32_t changes, void *block, size_t size,
	enum hw_alloc_kind kind, struct rt_caller c)
{
	uint32_t tid;
	struct rt_thread *t = shared_begin(p, changes, c.sp, &tid);
	if (!t)
		return;
	uint32_t stack = rt_event_stack(p, t, kind, c);
	uint64_t *w = shared_reserve(t, HW_R_WORDS_MAX, tid);
	if (w) {
		uint32_t n = 3;
		if (block)
			n = rt_put_alloc(w, (HW_R_ALLOC + kind) | HW_R_STAMPED, (uint64_t)block,
				stack, size);
		else
			rt_put_failed(w, kind, stack, size);
		if (block)
			w[n++] = sys_tsc_fenced();
		rt_ring_publish(t, n + 1);
	}
	shared_end(p);
}

/* One word about a block, and its stamp: that, or 0 if there was no room. */
static uint64_t shared_word(
	struct rt_process *p, uint32_t changes, uint64_t op, const void *block, uint64_t sp)
{
	uint32_t tid;
	struct rt_thread *t = shared_begin(p, changes, sp, &tid);
	if (!t)
		return 0;
	uint64_t stamp = 0, *w = shared_reserve(t, 2, tid);
	if (w) {
		stamp = sys_tsc_fenced();
		w[0] = op | HW_R_STAMPED | (uint64_t)block << 8;
		w[1] = stamp;
		rt_ring_publish(t, 3);
	}
	shared_end(p);
	return stamp;
}

void rt_shared_free(
	struct rt_process *p, uint32_t changes, void *block, enum hw_free_kind kind, uint64_t sp)
{
	shared_word(p, changes, HW_R_FREE + (uint64_t)kind, block, sp);
}

uint64_t rt_shared_fork(struct rt_process *p, uint32_t changes, uint64_t sp)
{
	return shared_word(p, changes, HW_R_FORK, NULL, sp);
}

void rt_shared_annotate(struct rt_process *p, uint32_t changes, enum hw_annotation what,
	uint64_t address, uint64_t bytes, uint64_t sp)
{
	uint32_t tid;
	struct rt_thread *t = shared_begin(p, changes, sp, &tid);
	if (!t)
		return;
	uint64_t *w = shared_reserve(t, 3, tid);
	if (w)
		rt_ring_publish(t, 1 + rt_put_annotation(w, true, what, address, bytes));
	shared_end(p);
}

void rt_shared_mark(
	struct rt_process *p, uint32_t changes, uint32_t bytes, const uint64_t *name, uint64_t sp)
{
	uint32_t tid;
	struct rt_thread *t = shared_begin(p, changes, sp, &tid);
	if (!t)
		return;
	uint64_t *w = shared_reserve(t, HW_R_WORDS_LONGEST, tid);
	if (w)
		rt_ring_publish(t, 1 + rt_put_mark(w, bytes, name));
	shared_end(p);
}

bool rt_shared_error(struct rt_process *p, uint32_t changes, enum hw_error_kind kind,
	const struct hw_error_report *report, uint64_t sp)
{
	uint32_t tid;
	struct rt_thread *t = shared_begin(p, changes, sp, &tid);
	if (!t)
		return false;
	t->impatient = HW_LOST_STALLED;
	uint64_t *w = shared_reserve(t, HW_R_WORDS_ERROR, tid);
	if (w)
		rt_ring_publish(t, 1 + rt_put_error(w, kind, report));
	shared_end(p);
	return w;
}

void rt_shared_pool(struct rt_process *p, uint32_t changes, const struct rt_pool_words *pool,
	struct rt_caller c)
{
	uint32_t tid, stack = 0;
	struct rt_thread *t = shared_begin(p, changes, c.sp, &tid);
	if (!t)
		return;
	if (pool->what == HW_POOL_ALLOC)
		stack = rt_event_unwind(p, t, c);
	uint64_t *w = shared_reserve(t, rt_pool_words_most(pool), tid);
	if (w)
		rt_ring_publish(t, 1 + rt_put_pool(w, pool, stack));
	shared_end(p);
}

void rt_shared_map(struct rt_process *p, uint32_t changes, const struct rt_mapping *mapping,
	bool gone_recorded, struct rt_caller c)
{
	uint64_t gone = gone_recorded ? 0 : mapping->gone_bytes;
	uint32_t tid;
	if (!gone && !mapping->bytes)
		return;
	struct rt_thread *t = shared_begin(p, changes, c.sp, &tid);
	if (!t)
		return;
	uint32_t stack = rt_event_unwind(p, t, c);
	uint64_t *w = gone ? shared_reserve(t, 3, tid) : NULL;
	if (w)
		rt_ring_publish(t, 1 + rt_put_unmap(w, mapping->gone_at, gone, sys_tsc_fenced()));
	w = mapping->bytes ? shared_reserve(t, 4, tid) : NULL;
	if (w)
		rt_ring_publish(t, 1 + rt_put_map(w, mapping, stack));
	shared_end(p);
}

void rt_shared_unmap(
	struct rt_process *p, uint32_t changes, uint64_t at, uint64_t bytes, uint64_t sp)
{
	uint32_t tid;
	struct rt_thread *t = shared_begin(p, changes, sp, &tid);
	if (!t)
		return;
	uint64_t *w = shared_reserve(t, 3, tid);
	if (w)
		rt_ring_publish(t, 1 + rt_put_unmap(w, at, bytes, sys_tsc_fenced()));
	shared_end(p);
}

static void shared_moved(struct rt_process *p, uint32_t changes, void *old, void *moved,
	size_t size, struct rt_caller c)
{
	uint32_t tid;
	struct rt_thread *t = shared_begin(p, changes, c.sp, &tid);
	if (!t)
		return;
	uint32_t stack = rt_event_unwind(p, t, c);
	uint64_t *w = shared_reserve(t, HW_R_WORDS_MAX, tid);
	if (w) {
		uint64_t now = sys_tsc_fenced();
		uint32_t n =
			rt_put_alloc(w, HW_R_REALLOC | HW_R_STAMPED, (uint64_t)moved, stack, size);
		w[n++] = (uint64_t)old;
		w[n++] = now;
		w[n++] = now;
		rt_ring_publish(t, n + 1);
	}
	shared_end(p);
}

/* The lock is not held across the real call. An event without a beginning is lost as a whole. */
void *rt_shared_realloc(
	struct rt_process *p, uint32_t changes, void *block, size_t size, struct rt_caller c)
{
	if (!p)
		return rt_real.realloc(block, size);
	bool begun = shared_word(p, changes, HW_R_MOVING, block, c.sp);
	void *moved = rt_real.realloc(block, size);
	if (!begun)
		return moved;
	if (moved)
		shared_moved(p, changes, block, moved, size, c);
	else if (size)
		rt_shared_alloc(p, changes, NULL, size, HW_REALLOC, c);
	else
		rt_shared_free(p, changes, block, HW_FREE_REALLOC_ZERO, c.sp);
	return moved;
}

void rt_shared_abandon(struct rt_process *p)
{
	if (__atomic_load_n(&p->shared_lock.holder, __ATOMIC_RELAXED) != sys_thread_pointer())
		return;
	rt_ring_abandon(&p->shared);
	lock_release(&p->shared_lock);
}

void rt_shared_inherit(struct rt_process *p)
{
	p->shared_lock.sleepers = p->shared_lock.woken = 0;
	if (p->shared_lock.holder != sys_thread_pointer())
		p->shared_lock.holder = p->shared_lock.tid = 0;
	p->shared.limit = 0;
}
