/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: start of a process and of a forked child; rt_session_path() at any moment. May touch:
 * raw system calls, the environment.
 *
 * The collector that this process belongs to: the one that HEAPWISE_SESSION names, or, in a program
 * that was started without the command, one that is started for it.
 */
#ifndef RUNTIME_SESSION_H
#define RUNTIME_SESSION_H

#include "format/shm.h"

#include <stdbool.h>

/*
 * Says hello and gives the descriptor of the memory to record into, -1: the process is not
 * recorded. All signals must be blocked.
 */
int rt_session_join(enum hw_hello_reason reason);

/* Whether nobody was there to hear the last hello: the collector has gone, or can't be reached. */
bool rt_session_unreachable(void);

/*
 * A process that started its own collector gets HEAPWISE_SESSION in its environment, for what it
 * starts by itself. Once, before main.
 */
void rt_session_publish(void);

/*
 * Tells the collector of a program that will say no hello; what is needed besides `pid`, `reason`
 * and `path` is filled in. Any thread, a vfork child too. Waits for a moment at most, if the
 * collector has very much to do. False: it could not be told.
 */
bool rt_session_tell(struct hw_notice *notice);

/* Name of the session's socket; "" outside of one. */
const char *rt_session_path(void);

#endif
