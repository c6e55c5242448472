/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merges the lanes of a source of events into one sequence of steps in the order in which they
 * happened. The text below speaks of the main source, the rings of one process.
 *
 * Each ring is in order by itself. Between rings stamps decide, so the question is how far the
 * merge may go: a thread can have taken a stamp and not have published its event yet. Its ring says
 * so: `busy` is set before the stamp is taken and cleared after the event is published. So with W =
 * a stamp taken before `busy` and then `head` are read:
 *   - not busy: whatever this ring brings later has a stamp after W (less a margin for stores on
 * their way);
 *   - busy: it may bring one since it was last seen idle, or since its last event.
 * The merge goes up to the smallest of these bounds. A thread that stays busy without moving
 * (stopped inside a hook, or gone from it by siglongjmp) holds the others up for a short while
 * only; if it does come back, the counters repair the order and count that.
 *
 * Everything read from shared memory is fetched once and checked; nonsense ends that ring, not the
 * collector.
 */
#ifndef CAPTURE_MERGE_H
#define CAPTURE_MERGE_H

#include "base/map.h"
#include "capture/recorder/event_source.h"
#include "format/kinds.h"
#include "format/shm.h"

#include <stdbool.h>
#include <stdint.h>

/* Records of one thread that follow one another. Memory that the target can write to: each word is
 * to be fetched once, and checked. */
struct merge_run {
	const uint64_t *words;
	uint64_t count;  /* of words */
	uint64_t until;  /* stamp */
	uint64_t stamp;  /* of what came before; then of the last record taken */
	uint64_t events; /* how many were taken */
	uint64_t later;  /* stamp of the record after them if that is later than `until`; else 0 */
	bool look_ahead; /* what is looked up is far away: fetch it in good time */
	uint64_t looked; /* this many words have been looked at for that, before and now */
};

/* Return the kind of a record by the operation in its first word. */
static inline bool merge_is_alloc(uint32_t op)
{
	return op >= HW_R_ALLOC && op < HW_R_ALLOC + HW_ALLOC_KINDS;
}

static inline bool merge_is_free(uint32_t op)
{
	return op >= HW_R_FREE && op < HW_R_FREE_SAME_FRAME + HW_FREE_KINDS &&
	       (op & 7) < HW_FREE_KINDS;
}

/* What a thread has mapped, or unmapped; as it says. */
struct merge_mapping {
	bool maps;
	uint32_t kind, flags; /* enum hw_map_kind, enum hw_map_flag; or nonsense */
	uint32_t stack;
	uint64_t address, bytes, stamp;
};

/* What a thread says of a pool; as it says. */
struct merge_pool {
	uint32_t what; /* enum hw_pool_what, or nonsense */
	uint32_t stack;
	uint64_t pool, address, size, stamp;
	const char *name; /* without a NUL in it */
	size_t name_bytes;
};

/* What receives the steps, in order. `thread` is what on_thread() returned. */
struct merge_sink {
	void *context;
	/* A thread's first event is about to come. Returns its number. */
	uint32_t (*on_thread)(void *context, uint32_t tid, uint64_t stamp);
	void (*on_thread_end)(void *context, uint32_t thread, uint64_t stamp);
	void (*on_alloc)(void *context, uint32_t thread, enum hw_alloc_kind kind, uint64_t address,
		uint32_t stack, uint64_t size, uint64_t stamp);
	void (*on_free)(void *context, uint32_t thread, enum hw_free_kind kind, bool same_frame,
		uint64_t address, uint64_t stamp);
	void (*on_failed)(void *context, uint32_t thread, enum hw_alloc_kind kind, uint32_t stack,
		uint64_t size, uint64_t stamp);
	/* Or NULL. A realloc of the block begins: its place is free for others. What follows of
	 * that thread first, its end by a realloc or a failed realloc, is of this block. */
	void (*on_moving)(void *context, uint32_t thread, uint64_t address);
	/* Or NULL. The thread says something about its memory: enum hw_annotation, or nonsense. */
	void (*on_annotation)(
		void *context, uint32_t thread, uint32_t what, uint64_t address, uint64_t bytes);
	void (*on_lost)(void *context, uint32_t thread, uint64_t count, uint64_t stamp);
	/* Or NULL. The thread marks this moment; the name has no NUL in it, and 1 to
	 * HW_MARK_NAME_MAX bytes. */
	void (*on_mark)(
		void *context, uint32_t thread, const char *name, size_t bytes, uint64_t stamp);
	/* Or NULL. */
	void (*on_mapping)(void *context, uint32_t thread, const struct merge_mapping *mapping);
	/* Or NULL. */
	void (*on_pool)(void *context, uint32_t thread, const struct merge_pool *pool);
	/* Or NULL. An error of the program was found: enum hw_error_kind, or nonsense, as what it
	 * says of it. */
	void (*on_error)(void *context, uint32_t thread, uint64_t kind,
		const struct hw_error_report *report, uint64_t stamp);
	/* Or NULL. The thread forks; the stamp is the fork's number. */
	void (*on_fork)(void *context, uint32_t thread, uint64_t stamp);
	/*
	 * Or NULL. Takes as many whole records as it likes off the front of a thread's records,
	 * none later than run->until, and answers how many words that were; with 0 the next record
	 * is delivered in the usual way. It may say in run->later why it stopped.
	 */
	uint64_t (*on_run)(void *context, uint32_t thread, struct merge_run *run);
};

#define MERGE_NO_THREAD UINT32_MAX
#define MERGE_NO_TID UINT32_MAX

/* One lane as the collector sees it. */
struct merge_lane {
	const uint64_t *data;
	uint32_t words;  /* size of the memory */
	uint32_t lap;    /* of the producer, which a pad ends */
	uint32_t number; /* in the source */
	uint32_t generation;
	uint32_t tid;
	uint32_t thread;     /* MERGE_NO_THREAD: none yet */
	uint64_t tail, head; /* ours, checked */
	uint64_t published;  /* tail as the producer knows it */
	uint64_t looked;     /* words up to here have been looked at ahead */
	uint64_t stamp;      /* of the record at tail, or of the last one */
	uint64_t bound;      /* nothing before this can still come, once tail == head */
	uint64_t idle_at;    /* last W at which the ring was not busy */
	uint64_t busy_seen, busy_head, busy_since; /* how long it has been busy without moving */
	uint32_t foreign; /* shared lane: id of the thread that the record at tail is of, or
			     MERGE_NO_TID */
	/* Lowest stack pointers, or 0: of the record at tail, if it says so, and of those delivered
	 * since the last merge_each_stack(). */
	uint64_t stack_next, stack_low;
	bool shared;
	bool active;
	bool half; /* the free half of the realloc at tail is done */
	bool broken;
	bool usual; /* the record at tail is one for on_run(), and has the lane's stamp */
};

/* A thread of which something was delivered, and of which something may still come. */
struct merge_thread {
	uint32_t thread; /* what on_thread returned */
	uint32_t lane;   /* or MERGE_NO_LANE */
	uint64_t gone;   /* it has ended, and is not in the shared lane from this word on; else 0 */
};

#define MERGE_NO_LANE UINT32_MAX

static inline uint64_t merge_hash_tid(uint32_t tid)
{
	return hash_u64(tid);
}

static inline bool merge_same_tid(uint32_t a, uint32_t b)
{
	return a == b;
}
DEFINE_MAP(merge_threads, uint32_t, struct merge_thread, merge_hash_tid, merge_same_tid)

struct merge {
	struct event_source *source;
	struct merge_sink sink;
	struct merge_lane lanes[EVENT_LANES_MAX]; /* the shared one after the others */
	uint32_t heap[EVENT_LANES_MAX];           /* lanes with data, smallest stamp first */
	uint32_t heap_count;
	uint32_t lane_count;          /* lanes that were ever in use */
	uint64_t damaged;             /* lanes given up */
	uint64_t events;              /* records taken; a realloc is one */
	uint64_t dropped;             /* of these, dropped because their thread is unknown */
	uint64_t missed;              /* events passed over, of a mode that was over: not taken */
	struct merge_threads threads; /* by thread id */
	const uint64_t *limits;       /* of each lane's head, for merge_pass_until(); else NULL */
	uint64_t idle_since;          /* see merge_idle_since() */
	uint64_t delivered_until; /* all with a stamp up to this one has been, as of the latest pass
				   */
	uint64_t moved;           /* words taken in the current pass */
	bool look_ahead;          /* for merge_run */
	bool waits;               /* this pass does, for a busy lane without progress */
};

/* Prepares a merge. `source` is borrowed for as long as the merge is used. */
void merge_init(struct merge *merge, struct event_source *source, const struct merge_sink *sink);
void merge_deinit(struct merge *merge);

/* A lane that is empty has its words elsewhere from now on. */
void merge_move_lane(struct merge *merge, uint32_t lane, const struct event_lane *memory);

/* Goes on over the rings that another merge has taken words of so far, which takes no more. */
void merge_go_on(struct merge *merge, const struct merge *before);

/* Returns whether no more is to come, and nothing is left, from threads that have seen that the
 * mode was changed, and from those that rest: after a pass. One that is between its look at the
 * mode and its event seems to rest. */
bool merge_has_settled(const struct merge *merge);

/*
 * One pass over the lanes. last: the process is gone, take everything. Returns the words taken.
 * Wakes threads that wait for room.
 */
uint64_t merge_pass(struct merge *merge, bool last);

/* Reads the present heads of all lanes. */
void merge_read_heads(const struct merge *merge, uint64_t ret[EVENT_LANES_MAX]);

/*
 * Drains all lanes up to the given heads, which were read while the process was stopped and no lane
 * was busy.
 */
void merge_pass_until(struct merge *merge, const uint64_t heads[EVENT_LANES_MAX]);

/*
 * After a pass that took nothing: if all visible records were handled, returns a stamp that no
 * later record is before, and which is given to a later record that has none; else 0.
 */
uint64_t merge_idle_since(struct merge *merge);

/* Calls found() with the largest stack size of each thread at its events since the last call of
 * this function; threads without such events are left out. */
void merge_each_stack(struct merge *merge,
	void (*found)(void *context, uint32_t thread, uint64_t bytes), void *context);

/* Returns how many threads are in the middle of an event, or were when the process ended. */
uint32_t merge_in_flight(const struct merge *merge);

/* A realloc that a thread has begun and not completed. */
struct merge_realloc {
	uint64_t address;
	uint32_t thread; /* the sink's number */
	uint32_t stack;
};

/* Finds the unfinished realloc of the thread of a lane that is not shared; after the last
 * merge_pass(). Returns false if there is none or the thread is unknown. `stamp` is the present
 * one, for a new thread. */
bool merge_open_realloc(
	struct merge *merge, uint32_t lane, uint64_t stamp, struct merge_realloc *ret);

/*
 * Frees lanes whose thread has ended, for new threads. alive(context, tid) returns whether a thread
 * lives.
 */
void merge_reclaim(struct merge *merge, bool (*alive)(void *context, uint32_t tid), void *context);

#endif
