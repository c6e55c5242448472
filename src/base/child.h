/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <errno.h>
#include <sys/types.h>
#include <sys/wait.h>

/* Calls waitpid(2), again if a signal handler interrupts it. */
static inline pid_t child_wait(pid_t pid, int *ret_status, int options)
{
	pid_t got;
	do
		got = waitpid(pid, ret_status, options);
	while (got < 0 && errno == EINTR);
	return got;
}

#endif
