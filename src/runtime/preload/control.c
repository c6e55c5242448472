/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program jumps, forks or confines itself, any thread, any moment. May touch:
 * events, the process, next definitions.
 *
 * An event that a signal interrupts normally goes on when the handler returns. Two things can come
 * between. The handler may leave by siglongjmp: then the event is over, and what it held is
 * released. Or it may fork and return in the child: then the event goes on in a process to which
 * nothing of the recording belongs. There it gets a private copy of our own state and, in place of
 * the shared memory, as many zero pages as it wants, and ends; after that the child is like any
 * other. (A child made by a raw clone system call in such a handler is not helped.)
 *
 * A program that confines itself by seccomp or prctl is about to make our system calls deadly: from
 * then on we do without (sys_forbidden).
 */
#include "runtime/preload/control.h"

#include "runtime/preload/events.h"
#include "runtime/preload/hooks.h"
#include "runtime/preload/memory.h"
#include "runtime/preload/process.h"
#include "runtime/preload/real.h"
#include "runtime/preload/shared.h"

#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>

bool rt_on_signal_stack(void)
{
	stack_t stack = {.ss_flags = SS_DISABLE};
	if (sys_no_calls() || sys_failed(sys_call(__NR_sigaltstack, NULL, &stack, 0)))
		return true;
	return stack.ss_flags & SS_ONSTACK;
}

/*
 * Where a jmp_buf leads: its seventh word is the stack pointer, rotated and masked with a secret of
 * the thread (glibc: sysdeps/unix/sysv/linux/x86_64/pointer_guard.h, jmpbuf-offsets.h).
 */
static uint64_t jump_target(const void *buffer)
{
	uint64_t mangled = ((const uint64_t *)buffer)[6], guard;
	__asm__("mov %%fs:0x30, %0" : "=r"(guard));
	return (mangled >> 17 | mangled << 47) ^ guard;
}

/* Called before a jump: an unfinished event of this thread that it leaves is over. */
static void before_jump(const void *buffer)
{
	uint64_t busy = rt_here.busy;
	if (rt_likely(!busy))
		return;
	uint64_t target = jump_target(buffer);
	if (target < busy)
		return; /* within the handler */
	stack_t stack = {.ss_flags = SS_DISABLE};
	if (!sys_no_calls())
		sys_call(__NR_sigaltstack, NULL, &stack, 0);
	if (!(stack.ss_flags & SS_ONSTACK) || target - (uint64_t)stack.ss_sp >= stack.ss_size)
		rt_event_abandon(); /* not within a handler that has its own stack */
}

#define DEFINE_JUMP(name)                                                                          \
	HOOK __attribute__((noreturn)) void name(void *buffer, int value);                         \
	HOOK __attribute__((noreturn)) void name(void *buffer, int value)                          \
	{                                                                                          \
		before_jump(buffer);                                                               \
		if (!rt_real.name)                                                                 \
			rt_real_resolve();                                                         \
		rt_real.name(buffer, value);                                                       \
		__builtin_unreachable();                                                           \
	}

DEFINE_JUMP(longjmp)
DEFINE_JUMP(_longjmp)
DEFINE_JUMP(siglongjmp)
DEFINE_JUMP(__longjmp_chk)

/*
 * Before a fork: whether a handler makes it in the middle of an event. Then the child is to have
 * what fork would have wiped.
 */
static bool before_fork(void)
{
	struct rt_process *p = rt_process;
	if (rt_likely(!rt_here.busy) || !p || sys_no_calls() ||
		__atomic_load_n(&p->state, __ATOMIC_RELAXED) != RT_RECORDING)
		return false;
	rt_memory_advise(MADV_KEEPONFORK);
	return true;
}

/* What the child is to say of where it comes from. Its first allocation may be on this thread while
 * the real fork still runs (pthread_atfork), or on any thread later. */
static void put_fork(uint64_t sp)
{
	rt_here.forking = rt_event_fork(sp);
	if (rt_here.forking)
		rt_origin.pid = (int32_t)sys_call(__NR_getpid, 0, 0, 0);
}

static void reset_after_fork(bool child)
{
	if (child)
		rt_origin.stamp = rt_here.forking;
	rt_here.forking = 0;
}

/* In the child: the rest of the event finds what it needs, and no place to be written to. */
static void cast_adrift(void)
{
	struct rt_process *p = rt_process;
	rt_memory_unshare_in_place(p);
	p->shm->progress = 1;
	p->shm->stalled_at = 2;
	rt_here.thread->limit = 0;
	/* Another holder is not in this process. */
	p->modules.lock.holder = 0;
	p->sampler.lock.holder = 0;
	p->mapping_lock.holder = 0;
	rt_shared_inherit(p);
	__atomic_store_n(&p->state, RT_FORKED_MID_EVENT, __ATOMIC_RELAXED);
}

static void after_fork(bool in_event, bool child)
{
	struct rt_process *p = rt_process;
	if (in_event) {
		rt_memory_advise(MADV_WIPEONFORK);
		if (child)
			cast_adrift();
	} else if (child && p && !sys_no_calls() &&
		   __atomic_load_n(&p->state, __ATOMIC_RELAXED) != RT_NONE) {
		/* Another thread's handler was just forking too: nothing was wiped. */
		rt_memory_advise(MADV_DONTNEED);
	}
	/* Its recording is another one, which has not heard of it. */
	if (child && rt_unlikely(rt_here.disabled))
		rt_event_annotate(
			HW_ANNOTATE_DISABLE, 0, 0, (uint64_t)__builtin_frame_address(0) + 16);
}

HOOK int fork(void);
HOOK int fork(void)
{
	bool in_event = before_fork();
	put_fork((uint64_t)__builtin_frame_address(0) + 16);
	int pid = rt_real.fork();
	reset_after_fork(pid == 0);
	after_fork(in_event, pid == 0);
	return pid;
}

HOOK int _Fork(void);
HOOK int _Fork(void)
{
	bool in_event = before_fork();
	if (!rt_real._Fork)
		rt_real_resolve();
	put_fork((uint64_t)__builtin_frame_address(0) + 16);
	int pid = rt_real._Fork ? rt_real._Fork() : rt_real.fork();
	reset_after_fork(pid == 0);
	after_fork(in_event, pid == 0);
	return pid;
}

/* It forks within libc, and the parent has ended before its child says anything. */
HOOK int daemon(int nochdir, int noclose);
HOOK int daemon(int nochdir, int noclose)
{
	bool in_event = before_fork();
	if (!rt_real.daemon)
		rt_real_resolve();
	int parent = sys_no_calls() ? 0 : (int)sys_call(__NR_getpid, 0, 0, 0);
	put_fork((uint64_t)__builtin_frame_address(0) + 16);
	int result = rt_real.daemon(nochdir, noclose);
	/* The process id shows it: -1 may be the result in either process. */
	bool child = !sys_no_calls() && (int)sys_call(__NR_getpid, 0, 0, 0) != parent;
	reset_after_fork(child);
	after_fork(in_event, child);
	return result;
}

static void watch_seccomp(bool seccomp, unsigned long mode)
{
	if (!seccomp)
		rt_process_confine(SYS_NO_TSC);
	else
		rt_process_confine(SYS_NO_CALLS | (mode == SECCOMP_MODE_STRICT ? SYS_NO_TSC : 0u));
}

HOOK int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
HOOK int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	/* A null filter is a question whether the kernel knows filters. */
	if (option == PR_SET_SECCOMP && (a == SECCOMP_MODE_STRICT || b))
		watch_seccomp(true, a);
	else if (option == PR_SET_TSC && a == PR_TSC_SIGSEGV)
		watch_seccomp(false, 0);
	return rt_real.prctl(option, a, b, c, d);
}

/* From the assembly below: a call of syscall() for seccomp or prctl. */
void rt_watched_syscall(long number, unsigned long a, unsigned long b, unsigned long c);
__attribute__((used)) void rt_watched_syscall(
	long number, unsigned long a, unsigned long b, unsigned long c)
{
	if (number == __NR_seccomp) {
		if (a == SECCOMP_SET_MODE_STRICT || (a == SECCOMP_SET_MODE_FILTER && c))
			watch_seccomp(true, a == SECCOMP_SET_MODE_STRICT ? SECCOMP_MODE_STRICT
									 : SECCOMP_MODE_FILTER);
	} else if (a == PR_SET_SECCOMP && (b == SECCOMP_MODE_STRICT || c)) {
		watch_seccomp(true, b);
	} else if (a == PR_SET_TSC && b == PR_TSC_SIGSEGV) {
		watch_seccomp(false, 0);
	}
}

/*
 * syscall(): seven integer arguments, one of them on the stack. In assembly so that the real one
 * finds stack and registers as they were, whatever the call does to them. What has a function in
 * libc that is hooked goes there: another program, the end of this one.
 */
HOOK __attribute__((naked)) long syscall(__attribute__((unused)) long number, ...)
{
	__asm__("cmp %0, %%rdi\n"
		"je 1f\n"
		"cmp %1, %%rdi\n"
		"je 1f\n"
		"cmp %3, %%rdi\n"
		"je rt_exec_by_number\n"
		"cmp %4, %%rdi\n"
		"je rt_exec_by_number\n"
		"cmp %5, %%rdi\n"
		"je 2f\n"
		"0: jmp *rt_real+%c2(%%rip)\n"
		"1: push %%rdi\n push %%rsi\n push %%rdx\n push %%rcx\n push %%r8\n push %%r9\n"
		"push %%rbp\n"
		"call rt_watched_syscall\n"
		"pop %%rbp\n"
		"pop %%r9\n pop %%r8\n pop %%rcx\n pop %%rdx\n pop %%rsi\n pop %%rdi\n"
		"jmp 0b\n"
		"2: mov %%rsi, %%rdi\n"
		"jmp _exit@PLT\n" ::"i"(__NR_seccomp),
		"i"(__NR_prctl), "i"(offsetof(struct rt_real, syscall)), "i"(__NR_execve),
		"i"(__NR_execveat), "i"(__NR_exit_group));
}
