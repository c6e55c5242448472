/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/snapshot.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "process/remote.h"

/*
 * While a thread of the process runs what is not its own code, whoever traces it must not die: it
 * would go on there. Only SIGKILL can't be held off.
 */
static void hold_signals(sigset_t *ret_old)
{
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, ret_old);
}

static void release_signals(const sigset_t *old)
{
	pthread_sigmask(SIG_SETMASK, old, NULL);
}

/* How often its process is stopped to reap the copy, until one of its threads can do it. */
#define REAP_TRIES 20

static struct error *take(struct stopped *stopped, struct snapshot *ret, int *ret_errno)
{
	*ret_errno = 0;
	struct stopped_thread *thread = remote_thread(stopped);
	if (!thread)
		return error_create(ERROR_ENVIRONMENT,
			"process %d has confined itself (seccomp), or stands in the kernel: it "
			"can't be made to fork",
			(int)stopped->pid);
	/* No signal at its end, so that the process's own waits don't see it (clone(2)). */
	struct remote_call call = {.number = SYS_clone,
		.options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK,
		.instruction = remote_instruction(thread->tid)};
	struct remote_answer answer;
	bool done = remote_do(thread, &call, &answer);
	if (done && answer.result < 0)
		*ret_errno = (int)-answer.result;
	if (!done || answer.result < 0 || !answer.event)
		return error_errno(ERROR_ENVIRONMENT, *ret_errno ? *ret_errno : ECHILD,
			"process %d can't be made to fork", (int)stopped->pid);
	*ret = (struct snapshot){(pid_t)answer.event, (pid_t)answer.result, call.instruction};
	int status;
	waitpid(ret->pid, &status, __WALL);
	ptrace(PTRACE_SETOPTIONS, ret->pid, NULL, (void *)PTRACE_O_EXITKILL);
	return NULL;
}

struct error *snapshot_take(struct stopped *stopped, struct snapshot *ret, int *ret_errno)
{
	sigset_t old;
	hold_signals(&old);
	struct error *error = take(stopped, ret, ret_errno);
	release_signals(&old);
	return error;
}

void snapshot_close_files(const struct snapshot *snapshot)
{
	struct stopped_thread copy = {.tid = snapshot->pid, .stopped = true};
	struct remote_call call = {.number = SYS_close_range,
		.arguments = {0, UINT_MAX, 0},
		.options = PTRACE_O_EXITKILL,
		.options_after = PTRACE_O_EXITKILL,
		.instruction = snapshot->instruction};
	struct remote_answer answer;
	if (!ptrace(PTRACE_GETREGS, copy.tid, NULL, &copy.regs))
		(void)!remote_do(&copy, &call, &answer);
}

static void end(struct stopped *stopped, const struct snapshot *snapshot)
{
	int status;
	kill(snapshot->pid, SIGKILL);
	while (waitpid(snapshot->pid, &status, __WALL) == snapshot->pid && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, snapshot->pid, NULL, NULL);
	struct remote_call call = {.number = SYS_wait4,
		.arguments = {(uint64_t)snapshot->inner, 0, __WALL | WNOHANG, 0}};
	for (int tries = 0; tries < REAP_TRIES; tries++) {
		struct error *error = stop_process(stopped);
		if (error) {
			error_destroy(error);
			return;
		}
		struct remote_answer answer;
		struct stopped_thread *thread = remote_thread(stopped);
		/* Not where it was for the copy: the process may be another program by now. */
		call.instruction = thread ? remote_instruction(thread->tid) : 0;
		bool done = thread && remote_do(thread, &call, &answer);
		stop_end(stopped);
		if (done)
			return;
	}
}

void snapshot_end(struct stopped *stopped, const struct snapshot *snapshot)
{
	sigset_t old;
	hold_signals(&old);
	end(stopped, snapshot);
	release_signals(&old);
}
