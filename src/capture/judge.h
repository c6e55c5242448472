/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a search that the program itself asked for comes to, after suppressions: names and views are
 * not the collector's, so a forked copy of it calls the tool's function, which shows the result to
 * the program's user and says what the program is told.
 */
#ifndef CAPTURE_JUDGE_H
#define CAPTURE_JUDGE_H

#include <stdint.h>
#include <sys/types.h>

#include "format/shm.h"

struct judge_verdict {
	enum hw_found found;
	uint32_t status; /* exit status for leaks; 0: the program is to go on */
};

/*
 * The recording `file`, not complete yet, has the search. Runs in a process of its own, whose
 * standard error is the program's (or leads nowhere).
 */
typedef struct judge_verdict judge_function(const void *context, const char *file);

struct judge {
	pid_t pid;
	int pidfd;                     /* readable when there is a verdict */
	struct judge_verdict *verdict; /* shared */
};

/* `target`: the program's pidfd. NULL: no memory, or no process. */
struct judge *judge_start(judge_function *function, const void *context, const char *file,
	int target, pid_t target_pid);

/* When pidfd is readable. */
struct judge_verdict judge_finish(struct judge *judge);

/* Nobody waits for it any more. NULL is fine. */
void judge_cancel(struct judge *judge);

#endif
