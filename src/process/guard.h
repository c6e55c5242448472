/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guard: a process that outlives the caller, which has copied another process. When the caller is
 * killed, the kernel kills the copy, and the guard makes the copied process reap it; else that
 * would keep a zombie until its own end. The guard sleeps until then, in a session of its own, and
 * holds no files.
 */
#ifndef PROCESS_GUARD_H
#define PROCESS_GUARD_H

#include "process/snapshot.h"

struct guard {
	pid_t pid;   /* 0: none */
	int channel; /* a pipe that ends when the caller does */
};
#define GUARD_NONE ((struct guard){0, -1})

/* Starts a guard, before a copy is made. Returns GUARD_NONE if no process can be made. */
struct guard guard_start(void);
/* Tells the guard which copy of which process is to be reaped. */
void guard_set_snapshot(const struct guard *guard, pid_t pid, const struct snapshot *snapshot);
/* Ends the guard: the copy was reaped, or there was none. */
void guard_end(struct guard *guard);

#endif
