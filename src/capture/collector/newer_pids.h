/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes may be younger than this one, by their numbers alone: the kernel hands numbers
 * out in a circle. Reading a file of each process of a machine takes longer than many a recording.
 */
#ifndef CAPTURE_NEWER_PIDS_H
#define CAPTURE_NEWER_PIDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Processes and threads that a machine starts in a second, at the very most. */
#define PIDS_A_SECOND_MAX 500000u

/* The numbers after `first` up to `last`, past the highest one if `last` is less. */
struct newer_pids {
	pid_t first, last;
	bool known; /* false: it may be any */
};

/*
 * Returns the numbers that were handed out since this process was given its own, `age_ns` ago. They
 * are not known if the kernel does not say, if /proc is of another PID namespace, or if there was
 * time to go round the whole circle. A process with the right to choose numbers (clone3(2),
 * set_tid) may start one that is not among them.
 */
struct newer_pids newer_pids_of_self(uint64_t age_ns);

/* Returns whether a process of that number may be younger. */
bool newer_pids_has(const struct newer_pids *newer, pid_t pid);

/* Returns whether there are none. */
bool newer_pids_is_empty(const struct newer_pids *newer);

#endif
