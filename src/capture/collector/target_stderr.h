/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said to the user of a recorded process, where that process itself would say it. */
#ifndef CAPTURE_TARGET_STDERR_H
#define CAPTURE_TARGET_STDERR_H

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * The process's standard error becomes ours: its own description where that may be had, so that
 * both write after each other; else what is there, opened anew; else it stays as it is. `target`:
 * the process's pidfd: once it has ended, its number may be another process's. For forked copies of
 * the collector alone.
 */
static inline void target_stderr_take(int target, pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_getfd, target, STDERR_FILENO, 0);
	if (fd < 0) {
		char path[64];
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, STDERR_FILENO);
		fd = open(path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
		struct pollfd ended = {.fd = target, .events = POLLIN};
		if (fd >= 0 && poll(&ended, 1, 0)) {
			close(fd);
			fd = -1;
		}
	}
	if (fd >= 0)
		dup2(fd, STDERR_FILENO);
}

#endif
