/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program sets a limit of its own, any thread, any moment. May touch: the process's
 * memory, next definitions.
 *
 * Most of the address space that the runtime has reserved is never used. A program that allows
 * itself little from some moment on is to have it for itself, as if it had been started with that
 * limit.
 */
#include "runtime/preload/hooks.h"
#include "runtime/preload/memory.h"
#include "runtime/preload/process.h"
#include "runtime/preload/real.h"

#define setrlimit setrlimit_declared
#define setrlimit64 setrlimit64_declared
#define prlimit prlimit_declared
#define prlimit64 prlimit64_declared
#include <sys/resource.h>
#undef setrlimit
#undef setrlimit64
#undef prlimit
#undef prlimit64
#include <sys/types.h>

/* Before a limit of this process is set. */
static void before_limit(int resource, const void *limit)
{
	struct rt_process *p = rt_process;
	if (resource != RLIMIT_AS || !limit || !p || sys_no_calls() ||
		__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != RT_RECORDING ||
		p->pid != (int32_t)sys_call(__NR_getpid, 0, 0, 0))
		return; /* a child by vfork has our memory, but its own limits */
	rt_memory_shrink(p, (uint64_t)((const struct rlimit *)limit)->rlim_cur);
}

/* The names with 64 are the same functions on this machine. */
#define DEFINE_SETRLIMIT(name)                                                                     \
	HOOK int name(int resource, const void *limit);                                            \
	HOOK int name(int resource, const void *limit)                                             \
	{                                                                                          \
		before_limit(resource, limit);                                                     \
		if (!rt_real.setrlimit)                                                            \
			rt_real_resolve();                                                         \
		return rt_real.setrlimit(resource, limit);                                         \
	}

#define DEFINE_PRLIMIT(name)                                                                       \
	HOOK int name(pid_t pid, int resource, const void *limit, void *ret_old);                  \
	HOOK int name(pid_t pid, int resource, const void *limit, void *ret_old)                   \
	{                                                                                          \
		if (!pid || (rt_process && pid == rt_process->pid))                                \
			before_limit(resource, limit);                                             \
		if (!rt_real.prlimit)                                                              \
			rt_real_resolve();                                                         \
		return rt_real.prlimit(pid, resource, limit, ret_old);                             \
	}

DEFINE_SETRLIMIT(setrlimit)
DEFINE_SETRLIMIT(setrlimit64)
DEFINE_PRLIMIT(prlimit)
DEFINE_PRLIMIT(prlimit64)
