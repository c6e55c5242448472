/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stops all threads of a process for a moment, by ptrace(2), so that neither it nor its parent
 * notices. No signal is sent, a SIGSTOPped process stays stopped, and a system call that the stop
 * interrupted is restarted even where the kernel would not do that by itself (restart.h).
 *
 * The caller's thread is the tracer; if it dies, the threads run on. A process that has a tracer
 * already (gdb, strace), or that Yama, another user or a container protects, is refused.
 *
 * A thread that does not return from the kernel (it waits for its vfork child, or for a dead disk)
 * stays seized and stops when it does return; stop_release_late() then lets it go.
 */
#ifndef PROCESS_STOP_H
#define PROCESS_STOP_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "base/error.h"
#include "base/vec.h"
#include "process/live/reap.h"
#include "process/live/restart.h"

struct stopped_thread {
	pid_t tid;
	bool stopped;      /* false: it does not return from the kernel; regs are unknown */
	bool late;         /* it did not stop the last time either */
	int signal;        /* to be delivered when it goes on; 0: none */
	uint64_t since_ns; /* restart_since() */
	struct user_regs_struct regs;
	struct user_regs_struct again; /* with which it goes on: regs, but for a call that is begun
					  again where the kernel would not do that */
};

DEFINE_VEC(stopped_threads, struct stopped_thread)
DEFINE_VEC(stopped_tids, pid_t)

struct stopped {
	pid_t pid;
	struct stopped_threads threads; /* none: it goes on */
	struct stopped_tids late;       /* are still seized, although it goes on */
	struct restart_waits waits;
	uint64_t since_ns;  /* CLOCK_MONOTONIC: before the first was stopped */
	bool calls_allowed; /* the caller knows that seccomp filters let calls pass (remote_calls.h)
			     */
	struct reaper reaper;
	pid_t rival; /* tracer of the thread that could not be stopped; 0: none */
};

void stop_init(struct stopped *stopped, pid_t pid);
/* Lets all threads go on that have stopped; the others go on when the caller ends. */
void stop_deinit(struct stopped *stopped);

/*
 * Stops all threads, including those that are created meanwhile. Returns ERROR_ENVIRONMENT, with
 * the reason, if the process may not be traced, and ERROR_INPUT if it does not exist any more;
 * nothing is stopped then. May be called again after stop_end().
 */
struct error *stop_process(struct stopped *stopped) must_check_;

/* Does as stop_process(), but retries while the process has another tracer: for 3 seconds with each
 * tracer, and 33 seconds at most. */
struct error *stop_process_retry(struct stopped *stopped) must_check_;

/* Returns whether all threads that have stopped run 32-bit code. */
bool stop_is_32bit(const struct stopped *stopped);

/* Returns whether a thread has ended or does not exist. */
bool thread_is_dead(pid_t pid, pid_t tid);

/* Returns whether a process has ended, or is about to: it has no memory any more, which may be a
 * while before it is seen to have ended (exit_mm() and exit_notify() of the kernel's do_exit() are
 * far apart). */
bool process_is_ending(pid_t pid);

/*
 * Takes the status of threads of the process that have ended while a thread of the caller's process
 * traces them. An exec or an exit of the process waits for that in the kernel; so the tracer, if it
 * is in PTRACE_SEIZE of another of its threads then, or waits for the first one, never comes back
 * by itself (ptrace(2), "execve(2) under ptrace"). Any thread but the tracer, now and then;
 * stop_process() has one that does.
 */
void stop_reap_ended(pid_t pid);

/* Lets the threads go on. Returns how long they were stopped, in ns. */
uint64_t stop_end(struct stopped *stopped);

/* Lets threads go on that have stopped only after stop_end(). Returns false if no thread is seized
 * any more. */
bool stop_release_late(struct stopped *stopped);

/* The following are for a tracer that has its threads already (watch.h). */

/* Returns the thread with that number; NULL if it is not in the list. */
struct stopped_thread *stop_find(struct stopped *stopped, pid_t tid);
/* Returns whether the calling thread is the tracer of `tid`. */
bool stop_is_tracer(pid_t tid);
/* Makes the error that says why a thread may not be traced; `reason` is ptrace's errno. */
struct error *stop_refused(pid_t pid, pid_t tid, int reason) must_check_;
/* Waits for a bounded time for the threads that were asked to stop. */
void stop_wait_all(struct stopped *stopped);
/* Lets a stopped thread restart its system call when it goes on, if that returned EINTR because of
 * a stop or of a signal that the thread will never see. */
void stop_repair(pid_t tid, const struct user_regs_struct *regs);
/* Returns the time of CLOCK_MONOTONIC in ns. */
uint64_t stop_now_ns(void);

#endif
