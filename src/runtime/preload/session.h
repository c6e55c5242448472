/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: start of a process and of a forked child; rt_session_path() at any moment. May touch:
 * raw system calls, the environment.
 *
 * The connection to the collector of this process: the one that HEAPWISE_SESSION names, or, in a
 * program that was started without the command, one that is started for it.
 */
#ifndef RUNTIME_SESSION_H
#define RUNTIME_SESSION_H

#include "format/request.h"
#include "format/shm.h"

#include <stdbool.h>

/*
 * Sends the hello and returns the descriptor of the memory to record into; -1 if the process is not
 * recorded. All signals must be blocked.
 */
int rt_session_join(enum hw_hello_reason reason);

/* Returns whether the collector could not be reached for the last hello, or has ended. */
bool rt_session_unreachable(void);

/*
 * Sets HEAPWISE_SESSION in a process that started its own collector, for the programs that it
 * starts. Called once, before main.
 */
void rt_session_publish(void);

/*
 * Reports a program that will not send a hello to the collector. The caller sets `pid`, `reason`
 * and `path`; the other fields are set here. Any thread, also a vfork child. Waits for a moment at
 * most, if the collector is very busy. Returns false if it was not reported.
 */
bool rt_session_send(struct hw_notice *notice);

/*
 * Asks the collector of this process for something, and waits for its answer, RT_ASK_MOST_S seconds
 * at most. The caller sets `what` and `text`; the other fields are set here. Not in an event.
 * Returns 0, or an errno: ESRCH if the process is not recorded, ENOSYS if it has forbidden itself
 * system calls, EHOSTDOWN if there is no collector any more, ETIMEDOUT, or the collector's own.
 */
int rt_session_ask(struct hw_request *request, struct hw_reply *ret);
#define RT_ASK_MOST_S 30

/* Returns the name of the session's socket; "" outside of a session. */
const char *rt_session_path(void);

#endif
