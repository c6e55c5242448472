/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program first allocates, often before its constructors; it forks, ends, limits or
 * confines itself. May touch: all that is ours.
 */
#include "runtime/guard/choice.h"
#include "runtime/guard/leaves.h"
#include "runtime/guard/limit.h"
#include "runtime/guard/plain.h"
#include "runtime/guard/signals.h"
#include "runtime/guard/slots.h"
#include "runtime/guard/sums.h"
#include "runtime/guard/sweep.h"
#include "runtime/guard/table.h"
#include "runtime/preload/check_bridge.h"

#include <errno.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

uint32_t guard_readiness, guard_forks;
__thread struct guard_thread guard_here __attribute__((tls_model("initial-exec")));

int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso);

uint32_t guard_tid(void)
{
	struct guard_thread *t = &guard_here;
	uint32_t forks = __atomic_load_n(&guard_forks, __ATOMIC_RELAXED);
	if (rt_unlikely(!t->tid || t->fork != forks) && !sys_no_calls()) {
		t->tid = (uint32_t)sys_call(__NR_gettid, 0, 0, 0);
		t->fork = forks;
	}
	return t->tid;
}

/* Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014), mix64variant13. */
uint64_t guard_random(uint64_t what)
{
	uint64_t z = guard_settings.seed + what * 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

extern void *__libc_stack_end; /* of ld.so: where the kernel has put argc, argv, __environ */

/* The environment, also before libc knows it. */
static char **find_environment(void)
{
	if (__environ)
		return __environ;
	uint64_t count = guard_load64(__libc_stack_end);
	return (char **)__libc_stack_end + 1 + count + 1;
}

static void prepare_parts(void)
{
	guard_settings.seed = sys_tsc_fenced() ^ (uint64_t)sys_call(__NR_getpid, 0, 0, 0) << 32;
	guard_settings_read(find_environment());
	choice_init();
	plain_init();
	sums_init(slots_init());
	sweep_init();
	signals_init();
}

/* Some of the program's blocks and frees pass us by: those that don't are to be libc's, too. */
static bool is_passed_by(void)
{
	return heapwise_rt_check_is_passed_by && heapwise_rt_check_is_passed_by();
}

void guard_start(void)
{
	uint32_t asleep = GUARD_ASLEEP;
	if (!__atomic_compare_exchange_n(&guard_readiness, &asleep, GUARD_WAKING, false,
		    __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
		return;
	if (is_passed_by() || !table_init()) {
		__atomic_store_n(&guard_readiness, GUARD_OFF, __ATOMIC_RELEASE);
		return;
	}
	prepare_parts();
	__atomic_store_n(&guard_readiness, GUARD_READY, __ATOMIC_RELEASE);
}

/* --- forks --- */

static void prepare_fork(void)
{
	plain_fork_prepare();
	slots_fork_prepare();
}

static void end_fork_in_parent(void)
{
	slots_fork_done(false);
	plain_fork_done(false);
}

static void end_fork_in_child(void)
{
	__atomic_fetch_add(&guard_forks, 1, __ATOMIC_RELAXED);
	guard_settings.started = false;
	sums_fork_child();
	leaves_fork_child();
	choice_fork_child();
	slots_fork_done(true);
	plain_fork_done(true);
	sweep_fork_child();
}

static __attribute__((constructor)) void begin_program(void)
{
	if (guard_is_ready())
		__register_atfork(prepare_fork, end_fork_in_parent, end_fork_in_child, NULL);
}

static __attribute__((destructor)) void end_program(void)
{
	guard_sweep();
}

/* --- limits that the program sets itself --- */

static int result_of(long result)
{
	if (!sys_failed(result))
		return (int)result;
	errno = (int)-result;
	return -1;
}

/* The reservation would count as the program's memory. */
static void before_limit(int resource, const struct rlimit *limit)
{
	if (limit && resource == RLIMIT_AS && limit->rlim_cur != RLIM_INFINITY)
		slots_stop(HW_CHECK_LIMIT_SPACE);
}

static int set_limit(int process, int resource, const struct rlimit *limit, struct rlimit *old)
{
	if (!process || (!sys_no_calls() && process == sys_call(__NR_getpid, 0, 0, 0)))
		before_limit(resource, limit);
	return result_of(sys_call4(__NR_prlimit64, process, resource, limit, old));
}

/* Each under both of its names, which mean the same here: libc's headers map one to the other. */
#define DEFINE_SETRLIMIT(own, name)                                                                \
	int own(int resource, const struct rlimit *limit) __asm__(name);                           \
	GUARD_API int own(int resource, const struct rlimit *limit)                                \
	{                                                                                          \
		return set_limit(0, resource, limit, NULL);                                        \
	}
#define DEFINE_PRLIMIT(own, name)                                                                  \
	int own(int process, int resource, const struct rlimit *limit,                             \
		struct rlimit *old) __asm__(name);                                                 \
	GUARD_API int own(                                                                         \
		int process, int resource, const struct rlimit *limit, struct rlimit *old)         \
	{                                                                                          \
		return set_limit(process, resource, limit, old);                                   \
	}

DEFINE_SETRLIMIT(guard_setrlimit, "setrlimit")
DEFINE_SETRLIMIT(guard_setrlimit64, "setrlimit64")
DEFINE_PRLIMIT(guard_prlimit, "prlimit")
DEFINE_PRLIMIT(guard_prlimit64, "prlimit64")

GUARD_API int mlockall(int flags)
{
	slots_stop(HW_CHECK_LIMIT_LOCKED);
	int result = result_of(sys_call(__NR_mlockall, flags, 0, 0));
	/* Pages that are locked can't be made inaccessible. */
	if (!result && slots_end > slots_base)
		sys_call(__NR_munlock, slots_base, slots_end - slots_base, 0);
	return result;
}

/* With userfaultfd a page that is given back has to be filled again: a system call fails with
 * it, where natively there are zeros. Of MADV_FREE nobody would know when the page goes; so it does
 * at once, as it may. */
int madvise(void *at, size_t bytes, int advice);
GUARD_API int madvise(void *at, size_t bytes, int advice)
{
	bool ours = slots_have((uint64_t)at);
	if (ours && advice == MADV_FREE && slots_need_refill())
		advice = MADV_DONTNEED;
	int result = result_of(sys_call(__NR_madvise, at, bytes, advice));
	if (!result && ours && (advice == MADV_DONTNEED || advice == MADV_REMOVE))
		slots_refill((uint64_t)at, bytes);
	return result;
}

/* Where the program asks for a filter or the strict mode, a system call of ours may be deadly from
 * then on. A null filter is a question whether the kernel knows filters. */
static void before_seccomp(bool strict, long filter)
{
	if (!strict && !filter)
		return;
	sys_forbid(SYS_NO_CALLS);
	guard_limit_set(HW_CHECK_LIMIT_SANDBOX);
}

static void before_prctl(long option, long a, long b)
{
	if (option == PR_SET_SECCOMP)
		before_seccomp(a == SECCOMP_MODE_STRICT, b);
	else if (option == PR_SET_TSC && a != PR_TSC_ENABLE)
		sys_forbid(SYS_NO_TSC);
}

int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
GUARD_API int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	before_prctl(option, (long)a, (long)b);
	return result_of(sys_call6(__NR_prctl, option, (long)a, (long)b, (long)c, (long)d, 0));
}

/* Declared elsewhere with a variable number of arguments. */
long guard_syscall(long number, long a, long b, long c, long d, long e, long f) __asm__("syscall");
GUARD_API long guard_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (number == __NR_seccomp &&
		(a == SECCOMP_SET_MODE_FILTER || a == SECCOMP_SET_MODE_STRICT))
		before_seccomp(a == SECCOMP_SET_MODE_STRICT, c);
	else if (number == __NR_prctl)
		before_prctl((int)a, b, c);
	else if (number == __NR_exit_group)
		sweep_ending();
	long result = sys_call6(number, a, b, c, d, e, f);
	if (!sys_failed(result))
		return result;
	errno = (int)-result;
	return -1;
}
