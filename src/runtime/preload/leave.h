/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program is loaded, and once more when it exits. May touch: libc's list of exit
 * handlers; the shared memory.
 *
 * With the first process of a PID namespace the kernel kills everything in it, a collector there
 * included. So a process that the collector would not outlive (hw_shm.awaited) says that it leaves,
 * and waits until its recording is complete, for a second at most. The same where the collector is
 * to look for leaks then, or when main has ended: as long as it says that it is at it.
 */
#ifndef RUNTIME_LEAVE_H
#define RUNTIME_LEAVE_H

#include "format/shm.h"

/* To be called by the library's constructor: before main, and before libc makes its own list. */
void rt_leave_prepare(void);

/* What the collector knows of the executable: when the recording begins. */
void rt_leave_learn(const struct hw_shm *shm);

#endif
