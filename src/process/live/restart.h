/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls that end early because a tracer has stopped their thread, begun again.
 *
 * Most of them the kernel begins again itself, and keeps their deadlines (signal(7), "Interruption
 * of system calls and library functions by stop signals"). Some return EINTR: they are done again
 * here. Of those with a relative time what is left of it has to be found: when the thread went to
 * sleep stands in /proc/PID/task/TID/sched, by its processor's own clock.
 */
#ifndef PROCESS_RESTART_H
#define PROCESS_RESTART_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "base/vec.h"

/* A thread that waits for a relative time in a call that returns EINTR. */
struct restart_wait {
	pid_t tid;
	int processor;     /* where it went to sleep */
	uint64_t number;   /* of the system call */
	uint64_t since_ns; /* CLOCK_MONOTONIC: when it went to sleep; 0: unknown */
	uint64_t sleeps;   /* how often it has slept, this time too */
};

DEFINE_VEC(restart_waits, struct restart_wait)

/* Finds the threads of a process that wait so; before they are stopped. What it can't find is left
 * out. Moves the caller from processor to processor for a moment. */
void restart_survey(pid_t pid, struct restart_waits *ret);

/* Since when a thread that has just stopped with these registers waits in its call; 0: nobody
 * knows, or it does not. */
uint64_t restart_since(const struct restart_waits *waits, pid_t pid, pid_t tid,
	const struct user_regs_struct *regs);

/* Has a stopped thread, whose registers these are, begin its system call again, if it would return
 * EINTR; *regs is what it has then. Not for a thread that is about to be given a signal. since_ns:
 * as above; of 0, with its whole time. */
void restart_call(uint64_t since_ns, pid_t tid, struct user_regs_struct *regs);

/* The registers of a stopped thread as the kernel would make them when it goes on, no signal having
 * come: those of a system call that it begins again lead to that call. */
struct user_regs_struct restart_home(const struct user_regs_struct *regs);

#endif
