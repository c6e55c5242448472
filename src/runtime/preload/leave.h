/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program is loaded, and once more when it exits. May touch: libc's list of exit
 * handlers; the shared memory.
 *
 * When the first process of a PID namespace ends, the kernel kills everything in it, including a
 * collector there. So a process that the collector would not outlive (hw_shm.awaited) announces its
 * end and waits until its recording is complete, for a second at most. It also waits if the
 * collector is to search for leaks at its end, or at the end of main, as long as the collector says
 * that it works.
 */
#ifndef RUNTIME_LEAVE_H
#define RUNTIME_LEAVE_H

#include "format/shm.h"

/* Called by the library's constructor, before main and before libc makes its own list. */
void rt_leave_prepare(void);

/* Takes over what the collector knows of the executable, when the recording begins. */
void rt_leave_learn(const struct hw_shm *shm);

#endif
