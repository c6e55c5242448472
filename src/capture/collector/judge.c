/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/judge.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"

/* The process's standard error becomes ours: its own description where that may be had, so that
 * both write behind each other; else what stands there, opened anew. */
static void take_stream(int target, pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_getfd, target, STDERR_FILENO, 0);
	if (fd < 0) {
		char path[64];
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, STDERR_FILENO);
		fd = open(path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	}
	if (fd >= 0)
		dup2(fd, STDERR_FILENO);
}

static struct judge *give_up(struct judge *judge)
{
	judge_cancel(judge);
	return NULL;
}

struct judge *judge_start(judge_function *function, const void *context, const char *file,
	int target, pid_t target_pid)
{
	struct judge *judge = calloc(1, sizeof(*judge));
	if (!judge)
		return NULL;
	judge->pid = judge->pidfd = -1;
	judge->verdict = mmap(NULL, sizeof(*judge->verdict), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (judge->verdict == MAP_FAILED) {
		judge->verdict = NULL;
		return give_up(judge);
	}
	pid_t self = getpid();
	judge->pid = fork();
	if (!judge->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		take_stream(target, target_pid);
		if (getppid() == self)
			*judge->verdict = function(context, file);
		_exit(0);
	}
	if (judge->pid > 0)
		judge->pidfd = (int)syscall(SYS_pidfd_open, judge->pid, 0);
	return judge->pidfd >= 0 ? judge : give_up(judge);
}

struct judge_verdict judge_finish(struct judge *judge)
{
	int status = 0;
	struct judge_verdict verdict = {HW_FOUND_UNKNOWN, 0};
	if (child_wait(judge->pid, &status, 0) == judge->pid && !status)
		verdict = *judge->verdict;
	judge->pid = -1;
	judge_cancel(judge);
	return verdict;
}

void judge_cancel(struct judge *judge)
{
	if (!judge)
		return;
	if (judge->pid > 0) {
		kill(judge->pid, SIGKILL);
		child_wait(judge->pid, NULL, 0);
	}
	if (judge->pidfd >= 0)
		close(judge->pidfd);
	if (judge->verdict)
		munmap(judge->verdict, sizeof(*judge->verdict));
	free(judge);
}
