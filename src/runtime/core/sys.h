/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: any thread, any moment. May touch: nothing but registers and what it is given.
 *
 * The machine below libc: raw x86-64 Linux system calls (errno is never touched), the time stamp
 * counter, a bounded spin lock. Calling convention: AMD64 ABI 1.0, appendix A.2.1; a result of
 * -4095..-1 is an error number.
 */
#ifndef RUNTIME_SYS_H
#define RUNTIME_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <asm/unistd.h>

#define rt_likely(x) __builtin_expect(!!(x), 1)
#define rt_unlikely(x) __builtin_expect(!!(x), 0)

static inline long sys_call6(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;
	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#define sys_call(n, a, b, c) sys_call6((n), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define sys_call4(n, a, b, c, d) sys_call6((n), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

static inline bool sys_failed(long ret)
{
	return (unsigned long)ret >= -4095ul;
}

/*
 * What the program has forbidden itself (seccomp, PR_SET_TSC), and so us: bits of enum
 * sys_forbidden, only ever added. Code that makes a system call or reads the TSC after the start of
 * a process checks this first; an offence would kill the program.
 */
enum sys_forbidden {
	SYS_NO_CALLS = 1,
	SYS_NO_TSC = 2,
};
extern uint32_t sys_forbidden;

/* Adds to sys_forbidden; any thread, async-signal-safe. */
void sys_forbid(uint32_t what);

static inline bool sys_no_calls(void)
{
	return rt_unlikely(
		__atomic_load_n(&sys_forbidden, __ATOMIC_RELAXED) & (uint32_t)SYS_NO_CALLS);
}

/* A clock for callers that must not read the TSC: it goes on from the last TSC value by one for
 * each look, which keeps the order of events but not their times. */
uint64_t sys_tsc_instead(void);

/* TSC, not before every earlier load (Intel SDM 4.3, RDTSC; LFENCE is dispatch serialising on AMD
 * as Linux sets it up). */
static inline uint64_t sys_tsc_fenced(void)
{
	if (rt_unlikely(__atomic_load_n(&sys_forbidden, __ATOMIC_RELAXED) & (uint32_t)SYS_NO_TSC))
		return sys_tsc_instead();
	__builtin_ia32_lfence();
	return __builtin_ia32_rdtsc();
}

/* The thread control block: another for each living thread (System V ABI TLS, variant II). */
static inline uint64_t sys_thread_pointer(void)
{
	uint64_t pointer;
	__asm__("mov %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

struct sys_timespec {
	int64_t seconds;
	int64_t nanoseconds;
};

static inline uint64_t sys_now_ns(void)
{
	struct sys_timespec ts = {0, 0};
	sys_call(__NR_clock_gettime, 1 /* CLOCK_MONOTONIC */, &ts, 0);
	return (uint64_t)ts.seconds * 1000000000u + (uint64_t)ts.nanoseconds;
}

/* True if the 8 bytes at address can be read; false too when the kernel may not be asked. The
 * kernel reads the set before it looks at `how`, and refuses this one. */
static inline bool sys_readable(uint64_t address)
{
	return !sys_no_calls() &&
	       sys_call4(__NR_rt_sigprocmask, ~0l, address, 0, 8) != -14 /* EFAULT */;
}

/* Blocks all signals, gives the old mask; sys_signals_restore() puts it back. */
static inline uint64_t sys_signals_block(void)
{
	uint64_t all = ~0ull, old = 0;
	sys_call4(__NR_rt_sigprocmask, 0 /* SIG_BLOCK */, &all, &old, 8);
	return old;
}

static inline void sys_signals_restore(uint64_t old)
{
	sys_call4(__NR_rt_sigprocmask, 2 /* SIG_SETMASK */, &old, 0, 8);
}

/*
 * Leaf lock (nothing else is taken under it), never held across a call out of the runtime. The word
 * is the holder's thread pointer, because a signal handler may have interrupted the holder on this
 * very thread: then waiting would have no end, and taking it fails at once. From another thread it
 * fails only after RT_LOCK_TRIES.
 */
struct rt_lock {
	uint64_t holder;
};

#define RT_LOCK_TRIES 1000000

static inline bool rt_lock_try(struct rt_lock *lock)
{
	uint64_t self = sys_thread_pointer();
	for (unsigned tries = 0; tries < RT_LOCK_TRIES; tries++) {
		uint64_t holder = 0;
		if (__atomic_compare_exchange_n(&lock->holder, &holder, self, false,
			    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return true;
		if (holder == self)
			return false;
		if (tries % 64 == 63 && !sys_no_calls())
			sys_call(__NR_sched_yield, 0, 0, 0);
		__builtin_ia32_pause();
	}
	return false;
}

static inline void rt_unlock(struct rt_lock *lock)
{
	__atomic_store_n(&lock->holder, 0, __ATOMIC_RELEASE);
}

/* Control has left the code of this thread that may have held the lock. True if it did. */
static inline bool rt_lock_abandon(struct rt_lock *lock)
{
	uint64_t self = sys_thread_pointer();
	if (__atomic_load_n(&lock->holder, __ATOMIC_RELAXED) != self)
		return false;
	rt_unlock(lock);
	return true;
}

#endif
