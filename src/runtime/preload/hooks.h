/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program calls a function that has a hook. May touch: events.
 *
 * How hooks record events. Hooks are built with frame pointers, so that the caller's registers
 * can be read without assembly; see RT_CALLER().
 */
#ifndef RUNTIME_HOOKS_H
#define RUNTIME_HOOKS_H

#include "runtime/core/sys.h"
#include "runtime/preload/events.h"
#include "runtime/preload/frees.h"

#define HOOK __attribute__((visibility("default"), noinline))

/* Records the result of an allocation function, and returns it. */
#define RECORDED(block, size, kind)                                                                \
	({                                                                                         \
		void *rt_block = block;                                                            \
		rt_frees_given(rt_block, size);                                                    \
		struct rt_caller rt_c = RT_CALLER();                                               \
		rt_event_alloc(rt_block, size, kind, rt_c.pc, rt_c.sp, rt_c.rbp);                  \
	})

#define RECORDED_FREE(block, kind)                                                                 \
	do {                                                                                       \
		struct rt_caller rt_c = RT_CALLER();                                               \
		rt_event_free(block, kind, rt_c.pc, rt_c.sp, rt_c.rbp);                            \
		if (rt_frees_wants_stack(block, rt_c.sp))                                          \
			rt_event_freed_from(block, rt_c.pc, rt_c.sp, rt_c.rbp);                    \
	} while (0)

#endif
