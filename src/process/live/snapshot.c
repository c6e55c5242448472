/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/snapshot.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/child.h"
#include "process/live/remote.h"

/* How often its process is stopped to reap the copy, until one of its threads can do it. */
#define REAP_TRIES 20

struct error *snapshot_take(struct stopped *stopped, struct snapshot *ret, int *ret_errno)
{
	*ret_errno = 0;
	struct stopped_thread *thread = remote_thread(stopped);
	if (!thread)
		return error_create(ERROR_ENVIRONMENT,
			"process %d can't be forked: it has restricted itself (seccomp), or is in "
			"the kernel",
			(int)stopped->pid);
	/* No signal at its end, so that the process's own waits don't see it (clone(2)). */
	struct remote_call call = {.number = SYS_clone,
		.options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK,
		.place = remote_free_place(stopped, thread),
		.entry = REMOTE_FORK};
	struct remote_answer answer = {0, 0};
	bool done = call.place && remote_do(thread, &call, &answer);
	if (done && answer.result < 0)
		*ret_errno = (int)-answer.result;
	if (!done || answer.result < 0 || !answer.event)
		return error_errno(ERROR_ENVIRONMENT, *ret_errno ? *ret_errno : ECHILD,
			"process %d can't be forked", (int)stopped->pid);
	*ret = (struct snapshot){(pid_t)answer.event, (pid_t)answer.result, call.place};
	int status;
	child_wait(ret->pid, &status, __WALL);
	ptrace(PTRACE_SETOPTIONS, ret->pid, NULL, (void *)PTRACE_O_EXITKILL);
	return NULL;
}

void snapshot_close_files(const struct snapshot *snapshot)
{
	struct remote_call call = {.number = SYS_close_range,
		.arguments = {0, UINT_MAX, 0},
		.options = PTRACE_O_EXITKILL,
		.options_after = PTRACE_O_EXITKILL,
		.place = snapshot->place,
		.entry = REMOTE_LAST};
	remote_do_last(snapshot->pid, &call);
}

void snapshot_reap(struct stopped *stopped, const struct snapshot *snapshot)
{
	struct remote_call call = {.number = SYS_wait4,
		.arguments = {(uint64_t)snapshot->inner, 0, __WALL | WNOHANG, 0}};
	for (int tries = 0; tries < REAP_TRIES; tries++) {
		struct error *error = stop_process_retry(stopped);
		if (error) {
			error_destroy(error);
			return;
		}
		struct remote_answer answer;
		struct stopped_thread *thread = remote_thread(stopped);
		/* Not where it was for the copy: the process may be another program by now. */
		call.place = remote_free_place(stopped, thread);
		bool done = call.place && remote_do(thread, &call, &answer);
		stop_end(stopped);
		if (done)
			return;
	}
}

void snapshot_end(struct stopped *stopped, const struct snapshot *snapshot)
{
	int status;
	kill(snapshot->pid, SIGKILL);
	while (child_wait(snapshot->pid, &status, __WALL) == snapshot->pid && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, snapshot->pid, NULL, NULL);
	snapshot_reap(stopped, snapshot);
}
