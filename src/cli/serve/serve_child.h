/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process that computes an answer, and the two pipes that it writes to. */
#ifndef CLI_SERVE_CHILD_H
#define CLI_SERVE_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

struct serve_child {
	pid_t pid;         /* 0: none was started */
	int pipes[2];      /* its stdout and stderr, not blocking; -1: at its end */
	struct buf out[2]; /* what has come through them */
	size_t most[2];    /* bytes of each; more of stderr are dropped */
	bool is_large;     /* it wrote more, and was ended */
};

/* Starts the command line of this program, or `run` in a copy of this process: with `ctx` if there
 * is no command line (NULL), else with that (a char *const *, until NULL). serve_child_deinit() in
 * either case. */
struct error *serve_child_start(struct serve_child *child, char *const *words,
	int (*run)(void *ctx), void *ctx) must_check_;
/* Reads what is there. Returns whether it has ended: all was read. */
bool serve_child_read(struct serve_child *child);
/* Waits for its end, which has come. Returns what waitpid(2) says. */
int serve_child_wait(struct serve_child *child);
/* Asks it to end, or ends it. */
void serve_child_kill(struct serve_child *child, bool at_once);
/* All 0 but `most` before serve_child_start(). */
void serve_child_deinit(struct serve_child *child);

#endif
