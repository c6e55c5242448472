/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `watch --verify`: which of the outstanding blocks are leaked, since nothing references them, and
 * which are still referenced. References are searched in a copy of the process's memory:
 *
 *	list of blocks ── copy of the process ── list of blocks, which is shown
 *	                      (stopped for it)
 *
 * A block is judged if it is the same one in both lists: so it lived when the copy was made. Others
 * came or went meanwhile, and are not judged.
 */
#ifndef CLI_WATCH_VERIFY_H
#define CLI_WATCH_VERIFY_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/vec.h"
#include "capture/watch.h"

struct watch_judged {
	double blocks, bytes; /* estimates, if sampled */
};

/* Of a stack. */
struct watch_verdict {
	struct watch_judged leaked;     /* no reference leads to them */
	struct watch_judged referenced; /* by a root, or a block that is */
	struct watch_judged unjudged;   /* all others that are outstanding */
};
DEFINE_VEC(watch_verdicts, struct watch_verdict)

struct watch_verify {
	struct watch_verdicts by_stack; /* by number; of the last look */
	struct watch_verdict total;
	struct watch_lives before; /* the first list, by address */
	char *problem;             /* why nothing was judged; NULL: it was */
	bool is_copy;          /* of a copy; else the process stood still until its heap was read */
	uint64_t pause_ns;     /* that it stood still */
	uint64_t unread_bytes; /* of its memory, that could not be read */
};

/* Before anything is looked at. */
void watch_verify_init(struct watch_verify *verify, struct watch *watch);
void watch_verify_deinit(struct watch_verify *verify);

/* In place of watch_look(), which it does twice, and judges what the second one found. That nothing
 * could be judged is no error, but a problem. Blocks of mappings are not judged. */
struct error *watch_verify_look(
	struct watch_verify *verify, struct watch *watch, pid_t pid, uint64_t older_ns) must_check_;

#endif
