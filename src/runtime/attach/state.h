/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: hooks of an attached process. May touch: memory that the tool has mapped, raw system
 * calls, the process's _dl_find_object.
 *
 * What the image keeps. It has no thread-local storage: what belongs to a thread is found by its
 * thread pointer. A thread that ends says nothing; the next one with its thread pointer has another
 * id, and begins anew.
 */
#ifndef RUNTIME_ATTACH_STATE_H
#define RUNTIME_ATTACH_STATE_H

#include "format/attach.h"
#include "runtime/core/ring.h"
#include "runtime/core/sampler.h"
#include "runtime/core/unwind.h"

/* Threads that are known, at most; the events of others go to the shared ring. */
#define AT_THREADS 4096u
#define AT_THREADS_PROBES 32u

struct at_thread {
	uint64_t pointer; /* its thread pointer; 0: free */
	uint64_t busy;    /* in an event: the caller's stack pointer, else 0 */
	uint32_t tid;
	uint32_t generation;        /* of its ring, as it took it */
	struct rt_thread *recorder; /* NULL: it has no ring */
	uint64_t rings_freed;       /* of hw_shm + 1, when none was free; 0: none was looked for */
	/* Units before its next sample; smaller sizes are none. Of the thread before it that had
	 * this thread pointer, too: how far that had come says nothing about what follows. */
	uint64_t until;
	uint64_t random; /* of the distances; 0: none has been drawn */
	uint32_t loads;  /* it has begun to load a library, and has looked up nothing since */
	/* Where it has entered a function of the allocator that is changed itself: the stack
	 * pointer
	 * >> 4. 0: nowhere. */
	uint32_t inside;
};
_Static_assert(sizeof(struct at_thread) == 64, "a cache line");

enum at_readiness {
	AT_NOT_READY = 0,
	AT_PREPARES = 1,
	AT_READY = 2,
};

/* Whether a forked child gets the memory below; it never gets `head`, so it records nothing. */
enum at_keeping {
	AT_WIPED = 0,
	AT_KEEPS = 1, /* a thread is about to see to it */
	AT_KEPT = 2,
};

/* Begins with what the tool writes, in memory that fork() wipes. */
struct at_own {
	struct hw_attach_own head;
	_Alignas(4096) uint32_t kept; /* enum at_keeping; only ever raised */
	uint32_t ready;               /* enum at_readiness; release: what is below is complete */
	struct hw_shm *shm;
	struct rt_unwinder unwinder;
	struct rt_lock shared_lock; /* guards `shared` */
	struct rt_thread shared;    /* writes HW_RING_SHARED */
	struct rt_modules modules;
	struct rt_rules rules;
	struct rt_frame shared_frames[2 * RT_DEPTH_MAX];
	/* Of a sampled recording; its mode stays as it is. */
	uint64_t mean_bytes; /* 0: every event is recorded */
	uint64_t seed, seeds_given;
	uint64_t random_of_others; /* of threads that have no row */
	struct rt_sampler sampler;
	uint64_t filter[RT_FILTER_WORDS];
	_Alignas(64) struct at_thread threads[AT_THREADS + AT_THREADS_PROBES];
	_Alignas(64) uint64_t places[RT_SAMPLER_BYTES / sizeof(uint64_t)];
	struct hw_attach_objects objects;
};

_Static_assert(HW_ATTACH_RINGS == HW_RING_SHARED, "one for one");

/* What the tool has written into the image. */
extern struct hw_attach hw_attach;

/* Returns the state if events are recorded now, else NULL. */
struct at_own *at_recording(void);

/*
 * The row at which the search for a thread's begins, in as few instructions as can be (sampling.h).
 * The factor is for stacks that are a multiple of a page apart: at the usual distances 82 of 100
 * threads and more find their row there, and the others one or two further on.
 */
static inline struct at_thread *at_thread_first(struct at_own *own, uint64_t pointer)
{
	_Static_assert(sizeof(struct at_thread) == 1 << 6, "the factor's bits from 40 on");
	uint64_t bytes = pointer * 0x4f1bbcdd >> (40 - 6) & (uint64_t)(AT_THREADS - 1) << 6;
	return (struct at_thread *)((char *)own->threads + bytes);
}

/* Returns the calling thread's row, which is made at its first event; NULL: there is no room. */
struct at_thread *at_thread_here(struct at_own *own);

/* Control has left the code that held locks with the calling thread's pointer: gives them up. */
void at_locks_abandon(struct at_own *own);

/* Gives a thread a ring, if one is free and there is memory. */
void at_thread_begin(struct at_own *own, struct at_thread *thread);

/* The calling thread is about to load a library. */
void at_library_comes(void);

/* It is about to look up a function. If it has loaded a library, waits until the tool has changed
 * that one's references, for a tenth of a second at most. */
void at_library_wait(void);

/* Returns the state if the calling thread is in an event, below a signal handler; else NULL. */
struct at_own *at_in_event(void);

/*
 * A child that is forked in the middle of an event needs the memory of it until the event ends:
 * lets fork() copy it from now on. It stays so: another thread may be about to fork in the same
 * way.
 */
void at_keep_for_child(struct at_own *own);

/* In that child: the event goes nowhere. Nothing has been recorded since it was forked. */
void at_become_child(struct at_own *own);

#endif
