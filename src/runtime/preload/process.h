/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: first event of a process, of a forked child, of a thread. May touch: raw system calls,
 * the environment.
 *
 * Life cycle. One process is in one of these states; the word lives in memory that fork() wipes, so
 * a child starts over by itself:
 *
 *     NONE ──first event──▶ STARTING ──collector answered──▶ RECORDING
 *       ▲                      └─────no collector, declined──▶ PASSIVE
 *       └── fork (wiped); exec starts a new image with a new library
 *
 * A child that a signal handler forks in the middle of an event has to end that event first, on a
 * private copy of everything (control.c): it is FORKED_MID_EVENT until then, and NONE after.
 *
 * A vfork child shares its parent's memory and records into the parent's rings until it execs, as
 * the parent's thread.
 */
#ifndef RUNTIME_PROCESS_H
#define RUNTIME_PROCESS_H

#include "runtime/core/ring.h"
#include "runtime/core/sampler.h"
#include "runtime/core/unwind.h"
#include "runtime/python/mixed.h"

#include <stdbool.h>
#include <stdint.h>

enum rt_state {
	RT_NONE = 0,
	RT_STARTING = 1,
	RT_RECORDING = 2,
	RT_PASSIVE = 3,
	RT_FORKED_MID_EVENT = 4,
};

/* See shared.h. */
struct rt_shared_lock {
	uint64_t holder;   /* its thread pointer; 0: free. The low half is a futex */
	uint32_t tid;      /* the holder's; 0: not known yet */
	uint32_t sleepers; /* number of waiting threads, or more; too many only cost calls */
	uint32_t woken;    /* one of them is about to look */
	uint64_t turns;    /* how often it was released */
	uint64_t given_up; /* the turn for whose end a thread waited without success, + 1 */
};

struct rt_range {
	void *at; /* NULL: nothing */
	uint64_t bytes;
};
#define RT_SHARED_RANGES 3

/* Everything that must not survive into a forked child, in a MADV_WIPEONFORK mapping; the states of
 * threads are in others (memory.h). */
struct rt_process {
	uint32_t state; /* enum rt_state; release: what is below is complete */
	struct hw_shm *shm;
	struct rt_unwinder unwinder;
	struct rt_thread *solo;    /* see solo.h; its `solo` says whether it still is */
	struct rt_lock solo_trial; /* of the thread that just tries to go solo */
	bool solo_forbidden;
	uint32_t rings_used; /* one more than the largest number of a ring ever taken */
	uint32_t rings_full; /* shm->rings_freed when no ring was free, + 1: no use looking before
				it has grown */
	struct rt_shared_lock shared_lock; /* leaf; guards shared */
	struct rt_thread shared;           /* writes HW_RING_SHARED */
	struct rt_modules modules;
	struct rt_sampler sampler;
	/* hw_shm.mode_changes, as sampling.c has it; under sampler.lock. Release: rt_mode is that
	 * mode. */
	uint32_t mode_changes;
	/* Of mappings.c: a walk that leaves those of the threads as they are. */
	struct rt_lock mapping_lock;
	struct rt_walk mapping_walk;
	struct rt_range shared_ranges[RT_SHARED_RANGES]; /* where the shared memory is mapped */
	int32_t pid;           /* of the process that has mapped it, in its own PID namespace */
	uint32_t shrinking;    /* 1: a thread gives some of it back */
	uint64_t *ring_data;   /* the words of ring number first_ring, after which the others are */
	uint32_t first_ring;   /* those before it are not mapped */
	struct rt_codes codes; /* of Python: see runtime/python/codes.h */
	struct rt_python_walk python_walk; /* complete when `codes` is open */
	struct rt_rules rules;
	struct rt_python_chain shared_chain;
	struct rt_python_mixer shared_mixer;
	struct rt_python_chain mapping_chain; /* under mapping_lock, as the next */
	struct rt_python_mixer mapping_mixer;
	struct rt_frame shared_frames[2 * RT_DEPTH_MAX];
	struct rt_frame mapping_frames[2 * RT_DEPTH_MAX];
};

/* NULL before the first event of the first process. */
extern struct rt_process *rt_process;

struct rt_here {
	/* The calling thread's state. Never NULL: a thread without a ring has one whose `ring` is
	 * NULL. */
	struct rt_thread *thread;
	/* While an event is between its start and its end: the caller's stack pointer, else 0. */
	uint64_t busy;
	/* While a wrapped allocator of Python runs: its caller's stack pointer, else 0; and the
	 * block that it frees, or 0. See runtime/python/hooks.c. */
	uint64_t python, python_block;
	/* A block whose free was recorded while the function that frees it still runs, else 0. */
	uint64_t ending;
	/* Bytes (and one for each block) that this thread may allocate before it has to examine
	 * whether the next block is sampled; always 0 in an exact recording: see sampling.h. */
	uint64_t until;
	uint64_t random;       /* state of the generator of distances; 0: not begun */
	uint32_t changes;      /* of the mode, that this thread has seen: see sampling.h */
	uint64_t until_before; /* see rt_event_forget_latest() */
	/* A failed allocation was recorded: see rt_event_has_failed(). */
	bool failed;
	uint32_t ignores; /* heapwise_ignore_begin() so many times more than _end() */
	bool disabled;    /* the program wants its allocations ignored: see enum hw_annotation */
	bool asks;        /* an allocator is asked for the size of a block: see clear.c */
	uint64_t forking; /* stamp of the fork that this thread is in, else 0 */
};
extern __thread struct rt_here rt_here __attribute__((tls_model("initial-exec")));

/* Ends the recording in this process, as fork does in a child: the next event begins a new one. */
void rt_process_leave(void);

/* Returns whether this process is recorded; what p has is valid then, as long as no handler forks.
 */
static inline bool rt_process_is_recording(const struct rt_process *p)
{
	return p && __atomic_load_n(&p->state, __ATOMIC_ACQUIRE) == RT_RECORDING;
}

/*
 * What touches the process's recording and is no event is done as in one, from the look at its
 * state on: a handler that forks meanwhile leaves the child with a copy (control.c), where without
 * that the child would go on with what was wiped. sp: a stack pointer of the caller. Returns
 * whether it is ours to end: not within an event.
 */
static inline bool rt_as_event_begin(uint64_t sp)
{
	if (rt_here.busy)
		return false;
	rt_here.busy = sp;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return true;
}

/* Returns false if this is such a child, to which nothing of the recording belongs. */
static inline bool rt_as_event_end(bool ours)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!ours)
		return true;
	rt_here.busy = 0;
	const struct rt_process *p = rt_process;
	if (__builtin_expect(
		    !p || __atomic_load_n(&p->state, __ATOMIC_RELAXED) != RT_FORKED_MID_EVENT, 1))
		return true;
	rt_process_leave();
	return false;
}

/* Sets a bit of hw_shm.notes, if this process is recorded. Async-signal-safe. */
void rt_process_note(enum hw_note note);

/* Counts a notice that did not get through (hw_shm.unsent_notices), likewise. */
void rt_process_count_unsent(void);

/*
 * The slow path of every event of a thread without a ring: begins the process's recording and takes
 * a ring for the thread, as needed. Returns NULL if this process is not recorded, and
 * &rt_process->shared if no ring was free.
 */
struct rt_thread *rt_thread_start(void);

/* Sets how the events of a thread that has just got its ring, or a new generation there, are
 * ordered, and whether they wait, as the mode is. */
void rt_thread_follow_mode(struct rt_thread *t);

/* What a forked child's hello says of the fork. It is in ordinary memory, which fork copies. */
struct rt_origin {
	uint64_t stamp; /* 0: not known */
	int32_t pid;    /* of the parent */
};
extern struct rt_origin rt_origin;

/* Adds the time that a thread waited for the collector, or for another thread that did, in ns. */
void rt_process_note_wait(struct hw_shm *shm, uint64_t waited_ns);

/* Returns the calling thread's id, by a system call unless those are forbidden; 0 if it is unknown.
 */
uint32_t rt_thread_id(void);

/*
 * Does what will not be possible later, since the program is about to forbid itself the system
 * calls `what` (sys_forbidden). Any thread.
 */
void rt_process_confine(uint32_t what);

/* Looks for unloaded modules, after a dlclose. */
void rt_process_review_modules(void);

#endif
