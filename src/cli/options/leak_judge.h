/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a program is told that asks for a search for leaks by a function of LeakSanitizer's or
 * gperftools'. */
#ifndef CLI_LEAK_JUDGE_H
#define CLI_LEAK_JUDGE_H

#include <limits.h>
#include <stdbool.h>

#include "capture/leak_verdict.h"
#include "cli/options/leak_options.h"

struct leak_judge {
	struct leak_options options; /* borrowed strings; by LeakSanitizer's rules */
	struct leak_options checker; /* likewise; by those of gperftools' HeapLeakChecker */
	char folder[PATH_MAX];       /* where names of files start */
};

/* `options` as the user gave them, borrowed: how it is shown is the user's, the rest that of the
 * function's tool. */
void leak_judge_init(struct leak_judge *judge, const struct leak_options *options);

/* A leak_verdict_function; the context is a struct leak_judge. Shows leaks on standard error. */
struct leak_verdict leak_judge(const void *context, const struct leak_question *question);

#endif
