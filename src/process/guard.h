/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that outlives who has copied another one: when that is killed the kernel kills the
 * copy, and the guard has the copied process reap it, or it would keep a dead child until its own
 * end. It sleeps until then, in a session of its own, and holds no files.
 */
#ifndef PROCESS_GUARD_H
#define PROCESS_GUARD_H

#include "process/snapshot.h"

struct guard {
	pid_t pid;   /* 0: none */
	int channel; /* at whose end it knows that its charge has gone */
};
#define GUARD_NONE ((struct guard){0, -1})

/* Before a copy is made. Where no process can be made there is none. */
struct guard guard_start(void);
/* What there is to be given back. */
void guard_tell(const struct guard *guard, pid_t pid, const struct snapshot *snapshot);
/* It is given back, or there was nothing. */
void guard_end(struct guard *guard);

#endif
