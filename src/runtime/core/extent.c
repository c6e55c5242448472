/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see extent.h. May touch: the same. */
#include "runtime/core/extent.h"

/* Between the first thread's stack and what the kernel maps below lies this much at least
 * (arch/x86/mm/mmap.c, mmap_base()). */
#define FIRST_MAX (128ull << 20)
#define OTHERS_MAX (64ull << 20)
#define PAGE 4096ull

static bool is_below(uint64_t sp, uint64_t top, uint64_t most)
{
	return sp < top && top - sp < most;
}

/* The first event on the thread's own stack: which one that is. */
static bool begin_extent(struct rt_thread *t, uint64_t sp, uint64_t first, uint64_t pointer)
{
	bool is_first = is_below(sp, first, FIRST_MAX);
	if (!is_first && !is_below(sp, pointer, OTHERS_MAX))
		return false;
	t->stack_top = is_first ? first : pointer;
	t->stack_end = t->stack_top - (is_first ? FIRST_MAX : OTHERS_MAX);
	/* The first one grows by itself, and there is nothing near it. */
	t->stack_known = is_first ? t->stack_end : t->stack_top & ~(PAGE - 1);
	__atomic_store_n(&t->ring->stack_top, t->stack_top, __ATOMIC_RELAXED);
	return true;
}

/* Whether all from there on is one stack. If not, the end of it is known from now on. */
static bool is_own_stack(struct rt_thread *t, uint64_t sp)
{
	uint64_t page = t->stack_known;
	if (sp >= page)
		return true;
	if (sys_no_calls())
		return false;
	while (sp < page && sys_readable(page - PAGE))
		page -= PAGE;
	if (sp < page) {
		t->stack_end = page;
		t->stack_room = t->stack_below >= page ? t->stack_below + 1 - page : 0;
		return false;
	}
	t->stack_known = page;
	return true;
}

void rt_extent_note(struct rt_thread *t, uint64_t sp, uint64_t first, uint64_t pointer)
{
	if (!t->stack_top && !begin_extent(t, sp, first, pointer))
		return;
	if (sp >= t->stack_top || sp < t->stack_end || !is_own_stack(t, sp))
		return;
	t->stack_asked = __atomic_load_n(&t->ring->stack_asked, __ATOMIC_RELAXED);
	if (!t->stack_pending || sp < t->stack_pending)
		t->stack_pending = sp;
	t->limit = t->head; /* the record passes rt_ring_wait() */
	t->stack_below = sp - 1;
	t->stack_room = sp - t->stack_end;
}
