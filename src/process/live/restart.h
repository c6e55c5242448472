/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Restarts system calls that end early because a tracer has stopped their thread.
 *
 * Most of them the kernel restarts itself, with their deadlines (signal(7), "Interruption of system
 * calls and library functions by stop signals"). Some return EINTR; those are restarted here. If
 * such a call has a relative timeout, the remaining time is needed: /proc/PID/task/TID/sched says
 * when the thread went to sleep, by its processor's own clock.
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

/* Finds the threads of a process that wait in such calls, before they are stopped. Threads about
 * which nothing is found are left out. Moves the caller between processors for a moment. */
void restart_find_waits(pid_t pid, struct restart_waits *ret);

/* Returns since when (CLOCK_MONOTONIC, ns) a thread that has just stopped with these registers
 * waits in its call; 0 if it does not wait, or that is unknown. */
uint64_t restart_since(const struct restart_waits *waits, pid_t pid, pid_t tid,
	const struct user_regs_struct *regs);

/* Lets a stopped thread with these registers restart its system call, if that would return EINTR;
 * *regs becomes its new registers. Not for a thread that a signal will be delivered to. since_ns:
 * the result of restart_since(); if it is 0, the call gets its whole timeout again. */
void restart_call(uint64_t since_ns, pid_t tid, struct user_regs_struct *regs);

/* Returns the registers that a stopped thread would have in user space when it goes on without a
 * signal: those of a call that the kernel restarts lead to that call. */
struct user_regs_struct restart_user_registers(const struct user_regs_struct *regs);

#endif
