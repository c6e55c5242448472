/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see check_bridge.h. May touch: the same.
 *
 * Both kinds of calls come in the middle of nearly anything: of the allocator that the thread's own
 * event has called (a realloc), of a fault inside the unwinder's own reads. Where the thread is in
 * an event already its ring and its walk are in use: a stack is walked apart then, and a report
 * goes to the shared ring, as events of signal handlers do.
 */
#include "runtime/preload/check_bridge.h"

#include "runtime/preload/event_frame.h"
#include "runtime/preload/hooks.h"
#include "runtime/preload/shared.h"

/* Of this library, from the linker: where it begins, and where its code ends. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

static bool is_own_code(uint64_t address)
{
	return address - (uint64_t)__ehdr_start < (uint64_t)(etext - __ehdr_start);
}

/* Whether the thread is in the middle of an event that goes on. A caller that is further out on the
 * same stack than that event shows that it does not. */
static bool is_nested(uint64_t sp)
{
	uint64_t busy = rt_here.busy;
	return busy && !(sp > busy && rt_event_is_abandoned(sp, busy));
}

static struct rt_process *process_recorded(void)
{
	struct rt_process *p = rt_process;
	bool records =
		p && !rt_real.front && __atomic_load_n(&p->state, __ATOMIC_ACQUIRE) == RT_RECORDING;
	return records ? p : NULL;
}

/* Takes hooks of this library off the inner end of a stack. */
static uint32_t strip_own(const struct rt_process *p, uint32_t stack)
{
	const struct hw_node *nodes = p->unwinder.stacks.nodes;
	while (stack && is_own_code(nodes[stack].frame & HW_FRAME_ADDRESS_MASK))
		stack = nodes[stack].parent;
	return stack;
}

static uint32_t stack_apart(struct rt_process *p, struct rt_caller c)
{
	uint32_t stack;
	return p && rt_event_walk_apart(p, c, &stack) ? stack : 0;
}

static uint32_t stack_of(struct rt_caller c, uint64_t sp, struct rt_process **ret_process)
{
	if (is_nested(sp)) {
		*ret_process = process_recorded();
		return stack_apart(*ret_process, c);
	}
	struct rt_process *p;
	struct rt_thread *t = rt_event_begin(sp, rt_mode_look(true), &p);
	uint32_t stack = 0;
	*ret_process = p;
	if (t) {
		stack = rt_unwind(&p->unwinder, &t->walk, c.pc, c.sp, c.rbp);
		t->last_address = 0; /* the memo is this call's now */
		rt_event_ring_end(t);
	} else {
		stack = stack_apart(p, c);
		rt_event_end_elsewhere(sp);
	}
	return stack;
}

HOOK uint32_t heapwise_rt_check_stack(uint64_t pc, uint64_t sp, uint64_t rbp, bool exact)
{
	/* The unwinder and readers look up the byte before a return address. */
	const struct rt_caller c = {exact ? pc + 1 : pc, sp, rbp};
	struct rt_process *p;
	uint32_t stack = stack_of(c, RT_CALLER().sp, &p);
	return is_own_code(pc) && p ? strip_own(p, stack) : stack;
}

/* In the thread's own ring. */
static bool report_own(
	struct rt_thread *t, enum hw_error_kind kind, const struct hw_error_report *report)
{
	uint8_t impatient = t->impatient;
	t->impatient = HW_LOST_STALLED;
	uint64_t *w = rt_ring_reserve(t, HW_R_WORDS_ERROR);
	t->impatient = impatient;
	if (!w) {
		rt_event_end_dropped(t, NULL);
		return false;
	}
	rt_ring_publish(t, rt_put_error(w, kind, report));
	rt_event_ring_end(t);
	return true;
}

static bool report_begin(enum hw_error_kind kind, const struct hw_error_report *report, uint64_t sp,
	struct rt_process **ret_process)
{
	uint32_t changes = rt_mode_look(true);
	if (is_nested(sp)) {
		*ret_process = process_recorded();
		return *ret_process && rt_shared_error(*ret_process, changes, kind, report, sp);
	}
	struct rt_thread *t = rt_event_begin(sp, changes, ret_process);
	if (t) {
		rt_event_needs_stamp(*ret_process, t);
		return report_own(t, kind, report);
	}
	bool there = *ret_process && rt_shared_error(*ret_process, changes, kind, report, sp);
	rt_event_end_elsewhere(sp);
	return there;
}

HOOK bool heapwise_rt_check_report(enum hw_error_kind kind, const struct hw_error_report *report)
{
	struct rt_process *p;
	return report_begin(kind, report, RT_CALLER().sp, &p);
}

HOOK struct hw_check_sums *heapwise_rt_check_sums(void)
{
	const struct rt_process *p = rt_process;
	return p && __atomic_load_n(&p->state, __ATOMIC_ACQUIRE) == RT_RECORDING ? &p->shm->check
										 : NULL;
}

HOOK bool heapwise_rt_check_is_passed_by(void)
{
	return rt_real_has_front();
}
