/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many instructions a process has executed, by a counter of the processor's: all of its threads
 * from the opening on, in the program and its libraries, not in the kernel, nor in children.
 */
#ifndef CAPTURE_INSTRUCTIONS_H
#define CAPTURE_INSTRUCTIONS_H

#include <stdint.h>
#include <sys/types.h>

/* Before the process has a second thread. -1 if it can't be had: *ret_why is the name of the error
 * that the kernel gives ("ENOENT": the machine has no such counter). */
int instructions_open(pid_t pid, const char **ret_why);

/* So far; also once the process has ended. fd -1, or no answer: 0. */
uint64_t instructions_read(int fd);

#endif
