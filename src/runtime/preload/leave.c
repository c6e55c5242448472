/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see leave.h. May touch: the same.
 *
 * Exit handlers run in the opposite order of their registration, and the libraries' destructors are
 * one that libc registers after the constructors of preloaded libraries: ours is the very last, and
 * all the frees of the others are in the recording.
 */
#include "runtime/preload/leave.h"

#include "runtime/preload/hooks.h"
#include "runtime/preload/process.h"
#include "runtime/preload/real.h"

#include <linux/futex.h>
#include <stdlib.h>

#define PATIENCE_NS 1000000000u
/* The same without a clock: 10 to 140 cycles each. */
#define PATIENCE_SPINS 20000000u

static int quick_status = (int)HW_LEAVING_UNKNOWN;

/* How long to sleep still, false: long enough. */
static bool time_left(uint64_t began_ns, struct sys_timespec *ret)
{
	uint64_t waited = sys_now_ns() - began_ns;
	if (waited >= PATIENCE_NS)
		return false;
	*ret = (struct sys_timespec){0, (int64_t)(PATIENCE_NS - waited)};
	if (ret->nanoseconds == PATIENCE_NS)
		*ret = (struct sys_timespec){1, 0};
	return true;
}

/*
 * A vfork child has its parent's memory, and is not meant. Where the kernel may not be asked who
 * this is, it is whoever exits by the rules: such a child calls no exit handlers.
 */
static bool is_awaited(const struct rt_process *p, bool by_handler)
{
	return p && __atomic_load_n(&p->state, __ATOMIC_ACQUIRE) == RT_RECORDING &&
	       p->shm->awaited &&
	       (sys_no_calls() ? by_handler : p->shm->awaited == sys_call(__NR_getpid, 0, 0, 0));
}

static bool is_answered(const struct hw_shm *shm)
{
	return __atomic_load_n(&shm->leaving, __ATOMIC_ACQUIRE) != HW_LEAVING_ASKS;
}

static void leave(int status, bool by_handler)
{
	if (!is_awaited(rt_process, by_handler))
		return;
	struct hw_shm *shm = rt_process->shm;
	uint32_t stays = HW_LEAVING_NOT;
	shm->leaving_status = (uint32_t)status;
	if (!__atomic_compare_exchange_n(&shm->leaving, &stays, HW_LEAVING_ASKS, false,
		    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return;
	if (sys_no_calls()) {
		for (uint32_t spins = 0; spins < PATIENCE_SPINS && !is_answered(shm); spins++)
			__builtin_ia32_pause();
		return;
	}
	uint64_t began = sys_now_ns();
	struct sys_timespec rest;
	while (!is_answered(shm) && time_left(began, &rest))
		sys_call4(__NR_futex, &shm->leaving, FUTEX_WAIT, HW_LEAVING_ASKS, &rest);
}

static void at_exit(int status, __attribute__((unused)) void *context)
{
	leave(status & 0xff, true);
}

static void at_quick_exit_last(__attribute__((unused)) void *context)
{
	leave(quick_status, true);
}

/* What at_quick_exit(3) is made of; without an object, so that no object's end removes it. */
int __cxa_at_quick_exit(void (*handler)(void *), void *object);

void rt_leave_prepare(void)
{
	on_exit(at_exit, NULL);
	__cxa_at_quick_exit(at_quick_exit_last, NULL);
}

#define DEFINE_EXIT(name, before)                                                                  \
	HOOK __attribute__((noreturn)) void name(int status);                                      \
	HOOK __attribute__((noreturn)) void name(int status)                                       \
	{                                                                                          \
		before;                                                                            \
		if (!rt_real.name)                                                                 \
			rt_real_resolve();                                                         \
		rt_real.name(status);                                                              \
		__builtin_unreachable();                                                           \
	}

DEFINE_EXIT(_exit, leave(status & 0xff, false))
DEFINE_EXIT(_Exit, leave(status & 0xff, false))
DEFINE_EXIT(quick_exit, quick_status = status & 0xff)
