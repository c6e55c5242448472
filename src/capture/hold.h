/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recorded process, held for a search: all its threads stopped, none of them in the middle of an
 * event, with what they had in their registers, the mappings, and how far each ring had been
 * written. A child of ours is the tracer: when it ends, whatever the reason, all threads run on.
 */
#ifndef CAPTURE_HOLD_H
#define CAPTURE_HOLD_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/user.h>

#include "base/error.h"
#include "base/vec.h"
#include "format/shm.h"
#include "process/maps.h"

struct hold_thread {
	pid_t tid, target_tid; /* as this side and the process itself see it */
	bool stopped;          /* else only the stack pointer is known, if it is not 0 */
	struct user_regs_struct regs;
};
DEFINE_VEC(hold_threads, struct hold_thread)

struct hold {
	pid_t keeper; /* our child */
	int channel;
	pid_t pid;
	pid_t process; /* whose memory is to be read: it (one of its threads), or its snapshot */
	bool is_snapshot, is_unstopped;
	uint64_t pause_ns; /* how long the process stood still; 0: it still does */
	struct hold_threads threads;
	struct process_maps maps;
	uint64_t heads[HW_RINGS];
};

enum hold_way {
	HOLD_STOPPED,  /* until hold_end(); only read if it may not be stopped */
	HOLD_SNAPSHOT, /* a copy, the process goes on at once; stopped if it can't be copied */
	HOLD_MUST,     /* as HOLD_SNAPSHOT, but an error if it may not be stopped */
};

/* Within a second or so. The process must not be drained between this and merge_pass_until(). */
struct error *hold_begin(
	pid_t pid, const struct hw_shm *shm, enum hold_way way, struct hold *ret) must_check_;

/* Lets it go, and gives back everything. */
void hold_end(struct hold *hold);

#endif
