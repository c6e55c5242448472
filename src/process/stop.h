/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holds all threads of a process for a moment, by ptrace(2), so that neither it nor its parent
 * notices: no signal is sent, a SIGSTOPped process stays so, and a system call that the stop has
 * interrupted is begun again even where the kernel would not do that by itself (restart.h).
 *
 * The caller's thread is the tracer; if it dies, the threads run on. A process that somebody else
 * traces already (gdb, strace), or that Yama, another user or a container protects, is refused.
 *
 * A thread that does not come out of the kernel (it waits for its vfork child, or for a dead disk)
 * stays seized, and stops later, whenever it comes out: stop_late() lets it go then.
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
#include "process/live/restart.h"

struct stopped_thread {
	pid_t tid;
	bool stopped;      /* else it is in the kernel for long; regs are unknown */
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
	uint64_t since_ns; /* CLOCK_MONOTONIC: before the first was stopped */
	pid_t rival;       /* who traces the thread that could not be stopped; 0: nobody */
};

void stop_init(struct stopped *stopped, pid_t pid);
/* Lets all go that have stopped; the others when the caller ends. */
void stop_deinit(struct stopped *stopped);

/*
 * Stops all threads, also those that are being made meanwhile. ERROR_ENVIRONMENT: it may not be
 * traced, and why; ERROR_INPUT: it has gone. Nothing is stopped then. May be done again after
 * stop_end().
 */
struct error *stop_process(struct stopped *stopped) must_check_;

/* The same; while others trace it, it is tried again: for 3 seconds of each of them, 33 at most. */
struct error *stop_process_in_turn(struct stopped *stopped) must_check_;

/* Whether all threads that have stopped run 32-bit code. */
bool stop_is_narrow(const struct stopped *stopped);

/* Whether a thread has ended, or is gone. */
bool thread_is_dead(pid_t pid, pid_t tid);

/* Lets them go on. Returns for how long they were held, in ns. */
uint64_t stop_end(struct stopped *stopped);

/* After stop_end(): lets those go that have stopped only since. False: there are none any more. */
bool stop_late(struct stopped *stopped);

/* The parts, for a tracer that knows its threads already (watch.h). */

/* NULL: it is not on the list. */
struct stopped_thread *stop_find(struct stopped *stopped, pid_t tid);
/* Whether the calling thread traces it. */
bool stop_is_tracer(pid_t tid);
/* Why the system does not let us trace it. */
struct error *stop_refused(pid_t pid, pid_t tid, int reason) must_check_;
/* Waits a while for those that have been told to stop. */
void stop_wait_all(struct stopped *stopped);
/* A system call that returned EINTR because of a stop, or of a signal that the thread will never
 * see, is done again when it goes on. */
void stop_repair(pid_t tid, const struct user_regs_struct *regs);
/* CLOCK_MONOTONIC. */
uint64_t stop_now_ns(void);

#endif
