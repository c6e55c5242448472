/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see events.h and mappings.h. May touch: the same.
 *
 * Events other than those of blocks: forks, what the program says, stacks of frees, mappings.
 */
#include "runtime/preload/event_frame.h"
#include "runtime/preload/events.h"
#include "runtime/preload/mappings.h"
#include "runtime/preload/shared.h"

/* Whether the recording has single events. */
static bool has_forks(void)
{
	return rt_mode == RT_MODE_EXACT || rt_mode == RT_MODE_STOPPED;
}

uint64_t rt_event_fork(uint64_t sp)
{
	if (!rt_process || rt_here.busy || sys_no_calls())
		return 0;
	uint32_t changes = rt_mode_look(false);
	if (!has_forks())
		return 0;
	uint32_t state = __atomic_load_n(&rt_process->state, __ATOMIC_ACQUIRE);
	if (state != RT_RECORDING && state != RT_NONE)
		return 0;
	struct rt_process *p;
	struct rt_thread *t = rt_event_begin(sp, changes, &p);
	if (!t) {
		uint64_t child = p ? rt_shared_fork(p, changes, sp) : 0;
		rt_event_end_elsewhere(sp);
		return child;
	}
	if (!has_forks()) { /* it has just begun */
		rt_event_ring_end(t);
		return 0;
	}
	rt_event_needs_stamp(p, t);
	uint64_t stamp = 0, *w = rt_ring_reserve(t, 2);
	if (!w) {
		rt_event_end_dropped(t, NULL);
		return 0;
	}
	/* Stamped in any case: what follows without a stamp is later than this one. */
	stamp = sys_tsc_fenced();
	w[0] = HW_R_FORK | HW_R_STAMPED;
	w[1] = stamp;
	rt_ring_publish(t, 2);
	rt_event_ring_end(t);
	return stamp;
}

void rt_event_annotate(enum hw_annotation what, uint64_t address, uint64_t bytes, uint64_t sp)
{
	uint32_t changes = rt_mode_look(true);
	struct rt_process *p;
	struct rt_thread *t = rt_event_begin(sp, changes, &p);
	if (!t) {
		if (p)
			rt_shared_annotate(p, changes, what, address, bytes, sp);
		rt_event_end_elsewhere(sp);
		return;
	}
	bool with_stamp = rt_event_needs_stamp(p, t);
	uint64_t *w = rt_ring_reserve(t, 3);
	if (!w) {
		rt_event_end_dropped(t, NULL);
		return;
	}
	uint32_t n = rt_put_annotation(w, with_stamp, what, address, bytes);
	rt_ring_publish(t, n);
	rt_event_ring_end(t);
}

void rt_event_freed_from(void *block, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	uint32_t changes = rt_mode_look(true);
	struct rt_process *p;
	struct rt_thread *t = rt_event_begin(sp, changes, &p);
	if (!t) {
		rt_event_end_elsewhere(
			sp); /* without a ring of its own: the free is recorded, its stack is not */
		return;
	}
	bool with_stamp = rt_event_needs_stamp(p, t);
	uint32_t stack = rt_event_unwind(p, t, (struct rt_caller){pc, sp, rbp});
	t->last_address = 0; /* the memo is this call's now */
	uint64_t *w = rt_ring_reserve(t, 3);
	if (!w) {
		rt_event_end_dropped(t, NULL);
		return;
	}
	rt_ring_publish(t,
		rt_put_annotation(w, with_stamp, HW_ANNOTATE_FREED_FROM, (uint64_t)block, stack));
	rt_event_ring_end(t);
}

void rt_event_mark(uint32_t bytes, const uint64_t *name, uint64_t sp)
{
	uint32_t changes = rt_mode_look(true);
	struct rt_process *p;
	struct rt_thread *t = rt_event_begin(sp, changes, &p);
	if (!t) {
		if (p)
			rt_shared_mark(p, changes, bytes, name, sp);
		rt_event_end_elsewhere(sp);
		return;
	}
	rt_event_needs_stamp(p, t);
	uint64_t *w = rt_ring_reserve(t, HW_R_WORDS_LONGEST);
	if (!w) {
		rt_event_end_dropped(t, NULL);
		return;
	}
	rt_ring_publish(t, rt_put_mark(w, bytes, name));
	rt_event_ring_end(t);
}

void rt_event_pool(const struct rt_pool_words *pool, struct rt_caller c)
{
	uint32_t changes = rt_mode_look(true);
	struct rt_process *p;
	struct rt_thread *t = rt_event_begin(c.sp, changes, &p);
	if (!t) {
		if (p)
			rt_shared_pool(p, changes, pool, c);
		rt_event_end_elsewhere(c.sp);
		return;
	}
	uint32_t stack = 0;
	rt_event_needs_stamp(p, t);
	if (pool->what == HW_POOL_ALLOC) {
		rt_event_look_at_stack(t, c.sp);
		stack = rt_event_unwind(p, t, c);
		t->last_address = 0; /* the memo is this call's now */
	}
	uint64_t *w = rt_ring_reserve(t, rt_pool_words_most(pool));
	if (!w) {
		rt_event_end_dropped(t, NULL);
		return;
	}
	rt_ring_publish(t, rt_put_pool(w, pool, stack));
	rt_event_ring_end(t);
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
	*event = (struct rt_mapping_event){.nested = rt_here.busy, .changes = rt_mode_look(true)};
	if (event->nested)
		event->p = process_of_nested();
	else
		event->t = rt_event_begin(sp, event->changes, &event->p);
	if (event->t) {
		event->with_stamp = rt_event_needs_stamp(event->p, event->t);
		event->before = event->with_stamp ? sys_tsc_fenced() : 0;
	} else if (event->p && mapping->gone_bytes) {
		rt_shared_unmap(
			event->p, event->changes, mapping->gone_at, mapping->gone_bytes, sp);
		event->gone_recorded = true;
	}
}

bool rt_event_walk_apart(struct rt_process *p, struct rt_caller c, uint32_t *ret)
{
	if (!rt_lock_try(&p->mapping_lock))
		return false;
	rt_walk_forget(&p->mapping_walk);
	p->mapping_walk.readable_low = p->mapping_walk.readable_high = 0;
	if (sys_no_calls())
		rt_walk_trust(&p->mapping_walk, c.sp, sys_thread_pointer());
	*ret = rt_unwind(&p->unwinder, &p->mapping_walk, c.pc, c.sp, c.rbp);
	if (rt_unlikely(rt_python.has_frames))
		*ret = rt_python_event_mixed(p, &p->mapping_chain, &p->mapping_mixer, *ret);
	rt_unlock(&p->mapping_lock);
	return true;
}

/* The thread's own walk keeps what its latest event has found. */
static uint32_t stack_of_mapping(struct rt_process *p, struct rt_thread *t, struct rt_caller c)
{
	uint32_t stack;
	if (rt_event_walk_apart(p, c, &stack))
		return stack;
	t->last_address = 0;
	return rt_event_unwind(p, t, c);
}

void rt_event_mapping_end(
	struct rt_mapping_event *event, const struct rt_mapping *mapping, struct rt_caller caller)
{
	struct rt_process *p = event->p;
	struct rt_thread *t = event->t;
	if (!t) {
		if (p && mapping)
			rt_shared_map(p, event->changes, mapping, event->gone_recorded, caller);
		if (!event->nested)
			rt_event_end_elsewhere(caller.sp);
		return;
	}
	uint32_t stack = mapping && mapping->bytes ? stack_of_mapping(p, t, caller) : 0;
	uint64_t *w = mapping ? rt_ring_reserve(t, HW_R_WORDS_MAPPED) : NULL;
	if (!w) {
		rt_event_end_dropped(t, NULL);
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
	rt_event_ring_end(t);
}
