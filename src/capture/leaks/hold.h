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
#include "base/ranges.h"
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
	pid_t process; /* whose memory is to be read: it, a thread of it, or its snapshot */
	pid_t owner;   /* it, or a thread of it that lives */
	bool is_snapshot, is_unstopped;
	bool is_waiting; /* nobody holds it: see hold_begin_waiting() */
	uint32_t quiet;  /* then: which wait of the process it is */
	uint32_t
		uncopied; /* enum hpw_leak_uncopied: why there is no snapshot; 0: none was wanted */
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

/*
 * A process that waits for our answer with its only thread, in which none of the program's code can
 * run: it stands still without being stopped. False: this is none, nothing has happened. Afterwards
 * hold_still_waits() says whether it has stood still all along.
 */
bool hold_begin_waiting(pid_t pid, const struct hw_shm *shm, struct hold *ret);
bool hold_still_waits(const struct hold *hold, const struct hw_shm *shm);

/* A child of ours that traces the process for life, and holds it when a signal ends it. */
struct hold_watch {
	pid_t keeper; /* -1: there is none */
	int channel;  /* readable: the process is being held, or nobody watches it any more */
};

#define HOLD_NO_WATCH ((struct hold_watch){-1, -1})

/* Within a second or so; as soon as it returns the process is watched. */
struct error *hold_watch_start(pid_t pid, struct hold_watch *ret) must_check_;

/* The process goes on unwatched. HOLD_NO_WATCH is fine. */
void hold_watch_end(struct hold_watch *watch);

/* When the channel is readable: false: the process has ended otherwise, or its watcher has. Else as
 * hold_begin(), for the moment when it dies; hold_end() lets it. Ends the watch in any case. */
bool hold_begin_dying(
	pid_t pid, const struct hw_shm *shm, struct hold_watch *watch, struct hold *ret);

/* Adds what the runtime keeps for itself, but for the rings: nothing for rings that nobody uses.
 * False: no memory. */
bool hold_own_memory(struct address_ranges *ret, const struct hw_shm *shm);

/* Lets it go, and gives back everything. */
void hold_end(struct hold *hold);

/* Whether a thread is in the middle of telling something: it may go on with that before a process
 * is looked at. */
bool hold_is_busy(const struct hw_shm *shm);

#endif
