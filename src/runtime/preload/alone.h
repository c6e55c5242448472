/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: start of a process without a session. May touch: raw system calls.
 */
#ifndef RUNTIME_ALONE_H
#define RUNTIME_ALONE_H

/*
 * Starts the command as this process's collector, with `environment` and nothing else, and gives
 * our end of the socket between us, -1: there will be no collector, and why has been said on
 * standard error, unless this is the command itself. All signals must be blocked.
 */
int rt_alone_start(char *const *environment);

/* Writes one line to standard error: what keeps this process from being recorded. */
void rt_alone_say(const char *what);

#endif
