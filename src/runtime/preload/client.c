/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program calls a function of heapwise/client.h; any thread, any moment. May touch:
 * events, the process's state.
 */
#include "runtime/preload/hooks.h"
#include "runtime/preload/process.h"
#include "runtime/preload/real.h"

#include <string.h>

/* As heapwise/client.h declares them. */
void heapwise_rt_mark(const char *name);
int heapwise_rt_is_recording(void);

HOOK void heapwise_rt_mark(const char *name)
{
	/* Before the event: should the name be no string, it is not ours to be in its way. */
	uint64_t words[HW_MARK_NAME_WORDS];
	size_t bytes = name ? strnlen(name, HW_MARK_NAME_MAX) : 0;
	if (!bytes)
		return;
	for (size_t i = 0; i < bytes; i++) {
		uint64_t byte = (uint8_t)name[i];
		words[i / 8] = (i % 8 ? words[i / 8] : 0) | byte << (i % 8 * 8);
	}
	rt_event_mark((uint32_t)bytes, words, RT_CALLER().sp);
}

HOOK int heapwise_rt_is_recording(void)
{
	/* A forked child's recording begins with its first event: it is asked for now. */
	if (!rt_here.busy && !rt_here.thread->ring)
		rt_thread_start();
	const struct rt_process *p = rt_process;
	return p && !rt_real.front && __atomic_load_n(&p->state, __ATOMIC_ACQUIRE) == RT_RECORDING;
}
