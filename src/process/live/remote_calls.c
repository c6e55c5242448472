/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/remote_calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "process/live/remote.h"

struct error *remote_calls_begin(struct stopped *stopped, struct remote_calls *ret)
{
	*ret = (struct remote_calls){.run = calloc(1, sizeof(struct remote_run))};
	if (!ret->run)
		return error_no_memory();
	struct stopped_thread *thread = remote_thread(stopped);
	uint64_t place = thread ? remote_free_place(stopped, thread) : 0;
	if (place && remote_begin(ret->run, thread, place, 0))
		return NULL;
	free(steal_ptr(ret->run));
	return error_create(ERROR_ENVIRONMENT, "process %d can't be made to do system calls: %s",
		(int)stopped->pid,
		thread ? "there is no room for the code that does them"
		       : "it has restricted itself (seccomp), or all its threads are in the "
			 "kernel; try again");
}

uint64_t remote_calls_at(const struct remote_calls *calls)
{
	return calls->run ? remote_code_entry(calls->run->place, REMOTE_CALL) : 0;
}

bool remote_calls_do(
	struct remote_calls *calls, uint64_t number, const uint64_t arguments[static 6], long *ret)
{
	struct remote_call call = {.number = number, .entry = REMOTE_CALL};
	struct remote_answer answer = {0, 0};
	memcpy(call.arguments, arguments, sizeof(call.arguments));
	calls->failed = !calls->run || calls->failed || !remote_next(calls->run, &call, &answer);
	*ret = answer.result;
	return !calls->failed;
}

void remote_calls_end(struct remote_calls *calls)
{
	if (calls->run)
		remote_end(calls->run, 0);
	free(steal_ptr(calls->run));
}
