/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: events of a program that has, or had, several threads. May touch: rings, the process,
 * membarrier().
 *
 * A stamp costs more than the rest of an event, and while only one of the threads allocates, its
 * order says all that stamps would. So a thread that has seen no event of another one for a while
 * goes solo: its events carry no stamps but for one now and then (HW_R_TIME), until another
 * thread's next event ends that.
 *
 * Why the order holds. The soloist's ring says `busy` from before it looks whether it still is solo
 * until its event is published; another thread's ring says `busy` before that thread looks
 * whether a thread is solo. A thread that changes `solo` calls membarrier() before it relies on it,
 * which makes those two looks as good as fenced at no cost to them (membarrier(2),
 * PRIVATE_EXPEDITED; the asymmetric form of Dekker's algorithm).
 *  - Going solo needs all other rings not busy after the barrier: every event of theirs is stamped
 *    and published, and the soloist's next word is a stamp later than all of those.
 *  - An event of another thread comes after the barrier that ends it: an event that depends on one
 *    of the soloist's has a later stamp than that has; and of the soloist's events only one that
 *    was under way, on which nothing can depend yet and which depends on nothing new, still goes
 *    without one.
 */
#ifndef RUNTIME_SOLO_H
#define RUNTIME_SOLO_H

#include "runtime/preload/process.h"

/* Registers for membarrier(); called before other threads exist. */
void rt_solo_prepare(struct rt_process *p);

/*
 * Tries to make `t` the soloist. It is in an event, and all its events have been stamped for a
 * while. Async-signal-safe; keeps errno.
 */
void rt_solo_try(struct rt_process *p, struct rt_thread *t);

/* Ends the solo of another thread. Called within an event of this thread. */
void rt_solo_end(struct rt_process *p);

/* Forbids going solo from now on, since the process is about to lose its system calls. */
void rt_solo_forbid(struct rt_process *p);

/* Ends the solo of a thread other than `t`, which is the caller's or NULL. Called within each
 * event, before its stamp. */
static inline void rt_solo_meet(struct rt_process *p, const struct rt_thread *t)
{
	const struct rt_thread *solo = __atomic_load_n(&p->solo, __ATOMIC_ACQUIRE);
	if (rt_unlikely(solo != t && solo))
		rt_solo_end(p);
}

#endif
