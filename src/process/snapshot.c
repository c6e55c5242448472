/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/snapshot.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"

/* 0: free, 1: strict, 2: filtered; -1: nobody says. */
static int seccomp_mode(pid_t pid)
{
	char path[64], line[256];
	int mode = -1;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	while (file && mode < 0 && fgets(line, sizeof(line), file))
		(void)!sscanf(line, "Seccomp: %d", &mode);
	return mode;
}

struct error *snapshot_take(struct stopped *stopped, pid_t *ret)
{
	if (seccomp_mode(stopped->pid) != 0)
		return error_create(ERROR_ENVIRONMENT,
			"process %d has confined itself (seccomp): it can't be made to fork",
			(int)stopped->pid);
	/* No signal at its end, so that the process's own waits don't see it (clone(2)). */
	const uint64_t call[7] = {SYS_clone, 0};
	unsigned long event;
	long answer =
		stop_remote_call(stopped, PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK, call, &event);
	if (answer < 0 || !event)
		return error_errno(ERROR_ENVIRONMENT, answer < 0 ? (int)-answer : ECHILD,
			"process %d can't be made to fork", (int)stopped->pid);
	*ret = (pid_t)event;
	int status;
	waitpid(*ret, &status, __WALL);
	ptrace(PTRACE_SETOPTIONS, *ret, NULL, (void *)PTRACE_O_EXITKILL);
	return NULL;
}

void snapshot_end(pid_t process, pid_t snapshot)
{
	int status;
	kill(snapshot, SIGKILL);
	while (waitpid(snapshot, &status, __WALL) == snapshot && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, snapshot, NULL, NULL);
	struct stopped stopped;
	struct error *error = stop_process(process, &stopped);
	if (error) {
		error_destroy(error);
		return;
	}
	const uint64_t call[7] = {SYS_wait4, (uint64_t)snapshot, 0, __WALL | WNOHANG, 0};
	unsigned long event;
	stop_remote_call(&stopped, 0, call, &event);
	stop_end(&stopped);
}
