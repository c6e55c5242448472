/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many instructions a process has executed, by a counter of the processor's: all of its threads
 * from the opening on, in the program and its libraries, not in the kernel, nor in children.
 */
#ifndef CAPTURE_INSTRUCTIONS_H
#define CAPTURE_INSTRUCTIONS_H

#include <stdint.h>
#include <sys/types.h>

/* Opens the counter, before the process has a second thread. Returns its descriptor; -1 if there is
 * none, and in *ret_why the name of the kernel's error ("ENOENT": the machine has no such counter).
 */
int instructions_open(pid_t pid, const char **ret_why);

/* Returns the instructions so far; works also after the process has ended. Returns 0 if `fd` is -1
 * or can't be read. */
uint64_t instructions_read(int fd);

#endif
