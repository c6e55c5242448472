/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recorded process that is paused for a search: all its threads are stopped, none of them while
 * it records an event. Their registers, the mappings and the heads of the rings are known. A child
 * of the collector, the keeper, is the tracer: when it ends, for whatever reason, all threads run
 * on.
 */
#ifndef CAPTURE_PAUSED_TARGET_H
#define CAPTURE_PAUSED_TARGET_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/user.h>

#include "base/error.h"
#include "base/ranges.h"
#include "base/vec.h"
#include "format/shm.h"
#include "process/maps.h"

struct paused_thread {
	pid_t tid, target_tid; /* in the PID namespaces of the collector and of the process */
	bool stopped;          /* false: only the stack pointer is known, if it is not 0 */
	struct user_regs_struct regs;
};
DEFINE_VEC(paused_threads, struct paused_thread)

struct paused_target {
	pid_t keeper; /* the collector's child that traces the process */
	int channel;
	pid_t pid;
	pid_t process; /* whose memory is to be read: it, a thread of it, or its snapshot */
	pid_t owner;   /* it, or a thread of it that lives */
	bool is_snapshot, is_unstopped;
	bool is_waiting; /* it waits by itself: see pause_waiting_target() */
	uint32_t quiet;  /* then: which wait of the process it is */
	uint32_t
		uncopied; /* enum hpw_leak_uncopied: why there is no snapshot; 0: none was wanted */
	uint64_t pause_ns; /* how long the process was stopped; 0: it still is */
	struct paused_threads threads;
	struct process_maps maps;
	uint64_t heads[HW_RINGS];
};

enum pause_way {
	PAUSE_STOPPED,  /* until paused_target_resume(); only read if it may not be stopped */
	PAUSE_SNAPSHOT, /* a copy, the process goes on at once; stopped if it can't be copied */
	PAUSE_MUST,     /* as PAUSE_SNAPSHOT, but an error if it may not be stopped */
};

/* Pauses a process, within a second or so. Its rings must not be drained between this and
 * merge_pass_until(). */
struct error *pause_target(pid_t pid, const struct hw_shm *shm, enum pause_way way,
	struct paused_target *ret) must_check_;

/*
 * Uses a process as paused that waits for the collector's answer with its only thread, so that none
 * of the program's code can run. Returns false, and does nothing, if it is not such a process.
 * Afterwards paused_target_still_waits() returns whether it has waited all along.
 */
bool pause_waiting_target(pid_t pid, const struct hw_shm *shm, struct paused_target *ret);
bool paused_target_still_waits(const struct paused_target *target, const struct hw_shm *shm);

/* A child of the collector that traces a process for life, and pauses it when a signal is about to
 * end it. */
struct death_watch {
	pid_t keeper; /* -1: there is none */
	int channel;  /* readable: the process is paused, or is not watched any more */
};

#define NO_DEATH_WATCH ((struct death_watch){-1, -1})

/* Starts to watch a process, within a second or so. */
struct error *death_watch_start(pid_t pid, struct death_watch *ret) must_check_;

/* Ends the watch; the process goes on. NO_DEATH_WATCH is allowed. */
void death_watch_end(struct death_watch *watch);

/* Takes a dying process over as paused, when the channel of its watch is readable. Returns false if
 * the process or its watcher has ended otherwise. paused_target_resume() lets the process die. Ends
 * the watch in any case. */
bool pause_dying_target(
	pid_t pid, const struct hw_shm *shm, struct death_watch *watch, struct paused_target *ret);

/* Adds the memory that the runtime in the process keeps for itself, without the rings; nothing for
 * unused rings. Returns false if there is no memory. */
bool paused_target_own_memory(struct address_ranges *ret, const struct hw_shm *shm);

/* Lets the process go on and frees everything. */
void paused_target_resume(struct paused_target *target);

/* Returns whether a thread is recording an event, which it should complete before the process is
 * examined. */
bool target_is_busy(const struct hw_shm *shm);

#endif
