/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verdict of a search that the program itself requested, after suppressions. The collector does
 * not depend on names and views. So a forked copy of it calls the tool's function, which shows the
 * result to the program's user and returns the verdict for the program.
 */
#ifndef CAPTURE_LEAK_VERDICT_H
#define CAPTURE_LEAK_VERDICT_H

#include <stdint.h>
#include <sys/types.h>

#include "format/shm.h"

struct leak_verdict {
	enum hw_found found;
	uint32_t status; /* exit status for leaks; 0: the program goes on */
	struct hw_found_sums sums;
};

/* The search that it is of. */
struct leak_question {
	const char *file; /* the recording, which is not complete yet; borrowed */
	enum hw_leak_asker asker;
	int target; /* the program's pidfd */
	pid_t pid;
};

/*
 * Returns the verdict of the last search in the question's recording. Runs in a process of its own,
 * whose standard error is the program's or /dev/null.
 */
typedef struct leak_verdict leak_verdict_function(
	const void *context, const struct leak_question *question);

struct leak_verdict_child {
	pid_t pid;
	int pidfd;                    /* readable when there is a verdict */
	struct leak_verdict *verdict; /* shared */
};

/* Starts the child. Returns NULL if there is no memory or no process. */
struct leak_verdict_child *leak_verdict_start(
	leak_verdict_function *function, const void *context, const struct leak_question *question);

/* Returns the verdict and frees `child`; called when its pidfd is readable. */
struct leak_verdict leak_verdict_finish(struct leak_verdict_child *child);

/* Kills the child, whose verdict is not needed any more, and frees it. NULL is allowed. */
void leak_verdict_cancel(struct leak_verdict_child *child);

#endif
