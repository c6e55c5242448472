/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/leak_verdict.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "capture/collector/target_stderr.h"

static struct leak_verdict_child *discard_verdict(struct leak_verdict_child *child)
{
	leak_verdict_cancel(child);
	return NULL;
}

struct leak_verdict_child *leak_verdict_start(
	leak_verdict_function *function, const void *context, const struct leak_question *question)
{
	struct leak_verdict_child *child = calloc(1, sizeof(*child));
	if (!child)
		return NULL;
	child->pid = child->pidfd = -1;
	child->verdict = mmap(NULL, sizeof(*child->verdict), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (child->verdict == MAP_FAILED) {
		child->verdict = NULL;
		return discard_verdict(child);
	}
	pid_t self = getpid();
	child->pid = fork();
	if (!child->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		target_stderr_take(question->target, question->pid);
		if (getppid() == self)
			*child->verdict = function(context, question);
		_exit(0);
	}
	if (child->pid > 0)
		child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	return child->pidfd >= 0 ? child : discard_verdict(child);
}

struct leak_verdict leak_verdict_finish(struct leak_verdict_child *child)
{
	int status = 0;
	struct leak_verdict verdict = {.found = HW_FOUND_UNKNOWN};
	if (child_wait(child->pid, &status, 0) == child->pid && !status)
		verdict = *child->verdict;
	child->pid = -1;
	leak_verdict_cancel(child);
	return verdict;
}

void leak_verdict_cancel(struct leak_verdict_child *child)
{
	if (!child)
		return;
	if (child->pid > 0) {
		kill(child->pid, SIGKILL);
		child_wait(child->pid, NULL, 0);
	}
	if (child->pidfd >= 0)
		close(child->pidfd);
	if (child->verdict)
		munmap(child->verdict, sizeof(*child->verdict));
	free(child);
}
