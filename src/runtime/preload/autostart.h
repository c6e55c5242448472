/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: start of a process without a session. May touch: raw system calls.
 */
#ifndef RUNTIME_AUTOSTART_H
#define RUNTIME_AUTOSTART_H

/*
 * Starts the command as this process's collector, with no environment but `environment`. Returns
 * this process's end of the socket to it. Returns -1 if there will be no collector; the reason was
 * written to standard error, unless this process is the command itself. All signals must be
 * blocked.
 */
int rt_autostart(char *const *environment);

/* Writes one line to standard error: why this process is not recorded. */
void rt_autostart_complain(const char *what);

#endif
