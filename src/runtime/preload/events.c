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
#include "runtime/preload/event_frame.h"
#include "runtime/preload/frees.h"
#include "runtime/preload/mappings.h"
#include "runtime/preload/process.h"
#include "runtime/preload/real.h"
#include "runtime/preload/sampling.h"
#include "runtime/preload/shared.h"
#include "runtime/preload/solo.h"
#include "runtime/python/python.h"

#include <sys/single_threaded.h>

/* Further away than this it is not the same stack. */
#define SAME_STACK (8u << 20)
/* A handler runs at least so far below what it interrupted: red zone and signal frame (AMD64 ABI
 * 1.0, section 3.2.2; arch/x86/include/asm/sigframe.h). */
#define HANDLER_BELOW 512

__attribute__((noinline)) bool rt_event_is_abandoned(uint64_t sp, uint64_t busy)
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
		rt_lock_abandon(&p->codes.lock);
		rt_lock_abandon(&p->solo_trial);
		rt_lock_abandon(&p->sampler.lock);
		rt_lock_abandon(&p->mapping_lock);
	}
	if (p)
		rt_shared_abandon(p);
	rt_here.busy = 0;
}

__attribute__((noinline)) bool rt_event_renew(
	struct rt_process *p, struct rt_thread *t, uint32_t changes)
{
	if (t->changes > changes) {
		__atomic_fetch_add(&p->shm->change_missed, 1, __ATOMIC_RELAXED);
		return false;
	}
	if (t->solo)
		rt_solo_end(p);
	rt_ring_renew(t, changes);
	rt_thread_follow_mode(t);
	/* The ring may be full of the mode before, whose events wait; samples don't. */
	if (t->impatient)
		rt_ring_wait_half(t);
	return true;
}

struct rt_thread *rt_event_start(uint32_t *changes)
{
	const struct rt_process *p = rt_process;
	bool begins = !p || __atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != RT_RECORDING;
	bool sampled = rt_mode == RT_MODE_SAMPLE;
	struct rt_thread *t = rt_thread_start();
	if (!begins)
		return t;
	*changes = rt_here.changes;
	return sampled == (rt_mode == RT_MODE_SAMPLE) ? t : NULL;
}

__attribute__((noinline)) void *rt_event_end_dropped(struct rt_thread *t, void *result)
{
	rt_event_ring_end(t);
	if (__atomic_load_n(&rt_process->state, __ATOMIC_RELAXED) == RT_FORKED_MID_EVENT)
		rt_process_leave();
	return result;
}

void rt_event_end_elsewhere(uint64_t sp)
{
	if (rt_here.busy != sp)
		return; /* of a handler: the interrupted one is still to end */
	rt_event_end();
	if (rt_process &&
		__atomic_load_n(&rt_process->state, __ATOMIC_RELAXED) == RT_FORKED_MID_EVENT)
		rt_process_leave();
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
	if (rt_unlikely(here->busy | here->python))
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

static inline __attribute__((always_inline)) void *put_alloc(void *block, size_t size,
	enum hw_alloc_kind kind, uint64_t pc, uint64_t sp, uint64_t rbp, uint32_t changes)
{
	if (!block)
		rt_here.failed = true;
	struct rt_process *p;
	struct rt_thread *t = rt_event_begin(sp, changes, &p);
	if (rt_unlikely(!t)) {
		if (p)
			rt_shared_alloc(
				p, changes, block, size, kind, (struct rt_caller){pc, sp, rbp});
		rt_event_end_elsewhere(sp);
		return block;
	}
	rt_event_look_at_stack(t, sp);
	bool with_stamp = rt_event_needs_stamp(p, t);
	uint32_t stack = rt_event_stack(p, t, kind, (struct rt_caller){pc, sp, rbp});
	if (rt_unlikely(t->head + HW_R_WORDS_MAX > t->limit)) {
		rt_stop_look(p->shm);
		if (rt_unlikely(rt_python.unsettled))
			rt_python_look();
	}
	uint64_t *w = rt_ring_reserve(t, HW_R_WORDS_MAX);
	if (rt_likely(w)) {
		uint32_t n = 3;
		if (rt_unlikely(!block)) {
			rt_put_failed(w, kind, stack, size);
			t->last_address = 0; /* the memo is this call's now */
		} else {
			uint64_t op = HW_R_ALLOC + kind + (with_stamp ? HW_R_STAMPED : 0);
			n = rt_put_alloc(w, op, (uint64_t)block, stack, size);
			t->last_address = hw_alloc_is_python(kind) ? 0 : (uint64_t)block;
			if (with_stamp)
				w[n++] = sys_tsc_fenced();
		}
		rt_ring_publish(t, n);
	} else {
		return rt_event_end_dropped(t, block);
	}
	rt_event_ring_end(t);
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
	if (rt_unlikely(rt_here.python) && rt_event_within_python(sp))
		return block;
	uint32_t changes = rt_mode_look(true);
	if (rt_unlikely(rt_here.ignores ||
			(rt_mode != RT_MODE_EXACT && !rt_sampling_records(block, size)))) {
		if (!block)
			rt_here.failed = true; /* it had its chance */
		if (rt_mode != RT_MODE_SAMPLE)
			forget_address();
		return block;
	}
	return put_alloc(block, size, kind, pc, sp, rbp, changes);
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
	if (rt_unlikely(rt_python.has_frames))
		stack = rt_event_mixed(rt_process, t, (uint32_t)stack);
	uint64_t head = t->head;
	t->words[head + 1] |= stack;
	/* From the record, and before the event ends: a handler that comes then forgets
	 * last_address. */
	void *result = (void *)(t->words[head] >> 8);
	usual_end(&rt_here, t, head + 2);
	return result;
}

bool rt_event_within_python(uint64_t sp)
{
	uint64_t python = rt_here.python;
	if (sp <= python || sp - python > SAME_STACK || rt_on_signal_stack())
		return true;
	rt_here.python = 0;
	return false;
}

static __attribute__((noinline)) uint32_t unwind_apart(
	struct rt_thread *t, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	return rt_unwind(t->unwinder, &t->walk, pc, sp, rbp);
}

void *rt_event_object(
	void *block, size_t size, enum hw_alloc_kind kind, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	struct rt_thread *t = NULL;
	if (rt_likely(block && size < HW_R_SIZE_BIG))
		t = usual_begin(&rt_here, sp, 2, true);
	if (rt_unlikely(!t))
		return alloc_slowly(block, size, kind, pc, sp, rbp);
	t->last_address = 0;
	uint64_t stack = rt_python_event_stack(rt_process, t);
	if (rt_unlikely(!stack))
		stack = unwind_apart(t, pc, sp, rbp);
	uint64_t *w = &t->words[t->head];
	w[0] = (HW_R_ALLOC + kind) | (uint64_t)block << 8;
	w[1] = (uint64_t)size << 32 | stack;
	usual_end(&rt_here, t, t->head + 2);
	return block;
}

void rt_event_ignore(bool begins)
{
	struct rt_here *here = &rt_here;
	if (!begins) {
		here->ignores -= here->ignores > 0;
		return;
	}
	struct rt_process *p;
	struct rt_thread *t =
		rt_event_begin((uint64_t)__builtin_frame_address(0), rt_mode_look(true), &p);
	here->ignores++;
	if (p)
		__atomic_fetch_or(&p->shm->notes, (uint32_t)HW_NOTE_IGNORES, __ATOMIC_RELAXED);
	if (t)
		rt_event_ring_end(t);
	else
		rt_event_end_elsewhere((uint64_t)__builtin_frame_address(0));
}

bool rt_event_is_latest(const void *block)
{
	if (rt_mode == RT_MODE_SAMPLE)
		return rt_here.until != rt_here.until_before;
	return rt_here.thread->ring && rt_here.thread->last_address == (uint64_t)block;
}

static __attribute__((noinline)) void put_free(void *block, enum hw_free_kind kind, uint64_t pc,
	uint64_t sp, uint64_t rbp, uint32_t changes)
{
	struct rt_process *p;
	struct rt_thread *t = rt_event_begin(sp, changes, &p);
	if (rt_unlikely(!t)) {
		if (p)
			rt_shared_free(p, changes, block, kind, sp);
		rt_event_end_elsewhere(sp);
		return;
	}
	bool with_stamp = rt_event_needs_stamp(p, t);
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
		rt_event_end_dropped(t, NULL);
		return;
	}
	rt_event_ring_end(t);
}

bool rt_event_has_failed(void)
{
	return rt_here.failed;
}

static __attribute__((noinline)) void free_slowly(
	void *block, enum hw_free_kind kind, uint64_t pc, uint64_t sp, uint64_t rbp)
{
	if (rt_unlikely(rt_here.python) && rt_event_within_python(sp)) {
		/* Of another block: one that was got before the allocator was wrapped, perhaps. */
		if (rt_here.python_block == (uint64_t)block || rt_here.busy)
			return;
		kind = HW_FREE_PYTHON;
	}
	if (rt_unlikely(rt_here.ending == (uint64_t)block)) {
		rt_event_ended();
		return;
	}
	uint32_t changes = rt_mode_look(false);
	if (rt_unlikely(rt_mode != RT_MODE_EXACT)) {
		if (!rt_sampling_records_free(block))
			return;
		if (rt_mode == RT_MODE_SAMPLE) /* what came between is not known */
			rt_event_forget_latest();
	}
	put_free(block, kind, pc, sp, rbp, changes);
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
	void *block, size_t size, struct rt_caller c, uint32_t changes, bool *ret_early)
{
	enum hw_free_kind kind = size ? HW_FREE_REALLOC : HW_FREE_REALLOC_ZERO;
	struct rt_process *p;
	struct rt_thread *t = rt_event_begin(c.sp, changes, &p);
	if (rt_unlikely(!t)) {
		if (p)
			rt_shared_free(p, changes, block, kind, c.sp);
		*ret_early = p;
		void *moved = rt_real.realloc(block, size);
		rt_event_end_elsewhere(c.sp);
		return moved;
	}
	bool with_stamp = rt_event_needs_stamp(p, t);
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
		return rt_event_end_dropped(t, moved);
	w[0] = (HW_R_FREE + kind) | (with_stamp ? HW_R_STAMPED : 0) | (uint64_t)block << 8;
	w[1] = before;
	rt_ring_publish(t, with_stamp ? 2 : 1);
	rt_event_ring_end(t);
	return moved;
}

static __attribute__((noinline)) void *put_realloc(
	void *block, size_t size, struct rt_caller c, uint32_t changes)
{
	return put_alloc(block, size, HW_REALLOC, c.pc, c.sp, c.rbp, changes);
}

static void count_unseen(void)
{
	bool ours = rt_as_event_begin((uint64_t)__builtin_frame_address(0));
	if (rt_process_is_recording(rt_process))
		rt_ring_count_lost(rt_process->shm, HW_LOST_REALLOC_FAILED);
	rt_as_event_end(ours);
}

/* The two halves of a realloc are sampled one apart from the other; one without success is no free.
 */
static __attribute__((noinline)) void *sample_realloc(
	void *block, size_t size, struct rt_caller c, uint32_t changes)
{
	bool sampled = rt_sampling_records_free(block);
	if (sampled)
		rt_event_forget_latest();
	bool early = false, failed;
	void *moved = sampled ? half_realloc(block, size, c, changes, &early)
			      : rt_real.realloc(block, size);
	failed = !moved && size;
	if (rt_unlikely(failed && early)) /* it lives on, unseen */
		count_unseen();
	else if (rt_unlikely(failed && sampled))
		rt_sampling_goes_on(block);
	if ((!moved && !failed) || rt_here.ignores || !rt_sampling_records(moved, size))
		return moved;
	return put_realloc(moved, size, c, changes);
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
	if (rt_unlikely(rt_here.python) && rt_event_within_python(c.sp)) {
		if (rt_here.python_block != (uint64_t)block && !rt_here.busy)
			rt_event_free(block, HW_FREE_PYTHON, c.pc, c.sp, c.rbp);
		return rt_real.realloc(block, size);
	}
	uint32_t changes = rt_mode_look(true);
	if (rt_unlikely(rt_here.ignores) ||
		(rt_unlikely(rt_mode != RT_MODE_EXACT) && (rt_stopped() || rt_sampling())))
		return sample_realloc(block, size, c, changes);
	struct rt_process *p;
	struct rt_thread *t = rt_event_begin(c.sp, changes, &p);
	if (rt_unlikely(!t)) {
		void *moved = rt_shared_realloc(p, changes, block, size, c);
		rt_event_end_elsewhere(c.sp);
		return moved;
	}
	rt_event_look_at_stack(t, c.sp);
	bool with_stamp = rt_event_needs_stamp(p, t);
	uint64_t before = with_stamp ? sys_tsc_fenced() : 0;
	uint32_t stack = rt_event_unwind(p, t, c);
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
		return rt_event_end_dropped(t, moved);
	}
	rt_event_ring_end(t);
	return moved;
}

/* Calls realloc of an allocator of Python's, so that what it calls records nothing. */
static void *inner_realloc(
	const struct rt_python_allocator *real, void *block, size_t size, uint64_t sp)
{
	struct rt_here *here = &rt_here;
	uint64_t until = here->until;
	here->python_block = (uint64_t)block;
	here->python = sp;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	void *moved = real->realloc(real->ctx, block, size);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	here->until = until;
	here->python = 0;
	return moved;
}

/* Its free and its allocation are sampled one apart from the other. What was freed is only recorded
 * when it is known that it was; threads that hold the interpreter's lock see that in order. */
static __attribute__((noinline)) void *sample_object_realloc(const struct rt_python_allocator *real,
	void *block, size_t size, enum hw_alloc_kind kind, struct rt_caller c)
{
	bool recorded = !rt_passes_free(block), early = recorded && kind == HW_PYTHON_RAW;
	if (early) /* without that lock */
		rt_event_free(block, HW_FREE_PYTHON_REALLOC, c.pc, c.sp, c.rbp);
	void *moved = inner_realloc(real, block, size, c.sp);
	if (!moved && early)
		count_unseen();
	if (!moved)
		return NULL;
	if (recorded && !early)
		rt_event_free(block, HW_FREE_PYTHON_REALLOC, c.pc, c.sp, c.rbp);
	return rt_passes(size) ? moved : rt_event_object(moved, size, kind, c.pc, c.sp, c.rbp);
}

/* Writes what a realloc has come to: the free of the old block at a time before it, and the new
 * block. Returns the number of words. */
static uint32_t put_moved_object(uint64_t *w, struct rt_thread *t, const void *block,
	uint64_t before, const void *moved, size_t size, uint64_t op, uint32_t stack)
{
	uint64_t flag = rt_stamps(t) ? HW_R_STAMPED : 0;
	uint32_t n = 1;
	w[0] = (HW_R_FREE + HW_FREE_PYTHON_REALLOC) | flag | (uint64_t)block << 8;
	if (flag)
		w[n++] = before;
	n += rt_put_alloc(w + n, op | flag, (uint64_t)moved, stack, size);
	if (flag)
		w[n++] = sys_tsc_fenced();
	return n;
}

void *rt_event_object_realloc(const struct rt_python_allocator *real, void *block, size_t size,
	enum hw_alloc_kind kind, struct rt_caller c)
{
	uint32_t changes = rt_mode_look(true);
	struct rt_process *p;
	struct rt_thread *t = NULL;
	if (rt_likely(!rt_here.ignores && rt_mode == RT_MODE_EXACT))
		t = rt_event_begin(c.sp, changes, &p);
	if (rt_unlikely(!t)) {
		if (rt_here.busy == c.sp)
			rt_event_end_elsewhere(c.sp);
		return sample_object_realloc(real, block, size, kind, c);
	}
	rt_event_look_at_stack(t, c.sp);
	bool with_stamp = rt_event_needs_stamp(p, t);
	uint64_t before = with_stamp ? sys_tsc_fenced() : 0;
	uint32_t stack = rt_event_stack(p, t, kind, c);
	void *moved = inner_realloc(real, block, size, c.sp);
	/* As in rt_event_realloc(). */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (rt_unlikely(!with_stamp && rt_stamps(t)))
		before = t->untimed_since;
	t->last_address = 0;
	uint64_t *w = moved ? rt_ring_reserve(t, 2 * HW_R_WORDS_MAX) : NULL;
	if (rt_unlikely(!w && moved))
		return rt_event_end_dropped(t, moved);
	if (w)
		rt_ring_publish(t, put_moved_object(w, t, block, before, moved, size,
					   HW_R_ALLOC + kind, stack));
	rt_event_ring_end(t);
	return moved;
}
