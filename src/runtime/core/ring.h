/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: any thread, any moment. May touch: the calling thread's ring and its private state.
 *
 * Writing records: reserve, fill, publish. The thread keeps head and the point up to which it may
 * write without looking (limit), so the common case is one comparison.
 */
#ifndef RUNTIME_RING_H
#define RUNTIME_RING_H

#include "format/kinds.h"
#include "format/shm.h"
#include "runtime/core/sys.h"
#include "runtime/core/unwind.h"

#include <stdint.h>

struct rt_python_chain;
struct rt_python_mixer;

/*
 * The state of a thread. It is in memory that fork() wipes in the child: all zero means that the
 * thread is not recorded (any more). `ring` is the one field that every hook reads.
 */
struct rt_thread {
	struct hw_ring *ring;  /* NULL: no ring */
	uint64_t *words;       /* word number n is at words[n]: moved back by a lap at each wrap */
	uint64_t *data;        /* where the ring's words begin */
	uint64_t head;         /* next word to write */
	uint64_t limit;        /* first word that may not be written without a look at tail */
	uint64_t lap_end;      /* first word that is no longer at words[] */
	uint64_t last_address; /* of this thread's latest block while it can be a temporary, else 0
				*/
	struct hw_shm *shm;
	uint64_t lost;     /* events dropped since the last HW_R_LOST */
	uint32_t size;     /* of the ring in words */
	uint32_t changes;  /* of the mode, that the ring's generation has seen */
	bool has_changed;  /* the thread has seen another one: its next event is to look */
	uint64_t time_due; /* while events carry no stamps: word from which on an HW_R_TIME goes
			      first */
	bool stamped; /* other threads exist or existed, or a handler's event went to another ring
		       */
	bool solo;    /* but no other thread records now; others set it back (preload/solo.h) */
	uint8_t impatient; /* enum hw_lost: why it must not wait now; HW_LOST_STALLED: it may */
	uint64_t untimed_since; /* the last time that was recorded while events had no stamps */
	uint64_t solo_due;      /* word from which on it is worth looking whether to go solo */
	uint64_t others_seen;   /* sum of what the other rings had seen at the last such look */
	uint64_t solo_began;    /* word at which the latest solo did */
	uint32_t solo_words;    /* between two such looks */
	/* The thread's stack, see extent.h: where it begins, 0: not known; what it can't go below;
	 * from where on it has been looked at; and what is below all stack pointers so far. */
	uint64_t stack_top, stack_end, stack_known, stack_below;
	uint64_t stack_room;    /* from the last to the end; 0: nothing would be news */
	uint64_t stack_pending; /* the lowest address that an HW_R_STACK has yet to record, or 0 */
	uint64_t stack_due,
		stack_asked; /* word from which on it is recorded anew; the ring's, seen */
	const struct rt_unwinder *unwinder;
	struct rt_python_chain *chain; /* its last Python stack: runtime/python/frames.h */
	struct rt_python_mixer *mixer; /* of native stacks with Python frames: mixed.h beside it */
	struct rt_walk walk;
};

/* How long a thread waits for a collector that makes no progress, in steps as rt_wait_step() has
 * them. */
#define RT_WAIT_MAX_NS 1000000000ull

/* Returns what of a sleep that was to take `step_ns`, and took `took_ns`, counts as waiting: what
 * is longer was spent waiting for a processor, and others wait for one, too. */
static inline uint64_t rt_wait_step(uint64_t took_ns, uint64_t step_ns)
{
	return took_ns < 2 * step_ns ? took_ns : step_ns;
}

/* When this part of a ring has filled since the collector looked, it is called. */
#define RT_CALL_PART 4
/* Words between two stamps while events carry none. */
#define RT_TIME_EVERY 128

/* Returns whether an event that begins now has a stamp. */
static inline bool rt_stamps(const struct rt_thread *t)
{
	return t->stamped && !__atomic_load_n(&t->solo, __ATOMIC_RELAXED);
}

/*
 * Makes room for `count` words (at most HW_R_WORDS_LONGEST + 1), and waits for the collector if
 * necessary. Returns false if the event is dropped, which is counted. Precondition: t->ring->busy
 * is set.
 */
bool rt_ring_wait(struct rt_thread *t, uint32_t count);

/* Returns where to write the next `count` words; NULL if the event has to be dropped. */
static inline uint64_t *rt_ring_reserve(struct rt_thread *t, uint32_t count)
{
	if (rt_unlikely(t->head + count > t->limit) && !rt_ring_wait(t, count))
		return NULL;
	return &t->words[t->head];
}

/* How far ahead of its head a thread asks for the ring's memory: 4 cache lines. */
#define RT_CLAIM_AHEAD 32

/*
 * Claims the line that will be written soon: the collector has read it, one lap ago, so that a
 * store would wait until the other core has given it up (Intel SDM, volume 2, PREFETCHW; a
 * processor without it does nothing). Beyond the ring's end nothing happens: a prefetch never
 * faults.
 */
static inline void rt_ring_claim(const struct rt_thread *t, uint64_t head)
{
	const uint64_t *ahead =
		(const uint64_t *)((uintptr_t)t->words + (head + RT_CLAIM_AHEAD) * 8);
	__asm__ volatile("prefetchw %0" : : "m"(*ahead));
}

/* Publishes `count` words to the collector (pairs with its acquire load of head) and ends the
 * event. */
static inline void rt_ring_publish(struct rt_thread *t, uint32_t count)
{
	t->head += count;
	rt_ring_claim(t, t->head);
	__atomic_store_n(&t->ring->head, t->head, __ATOMIC_RELEASE);
}

/* Writes the words [op | address] [stack | size] [big size] of an allocation; returns how many. */
static inline uint32_t rt_put_alloc(
	uint64_t *w, uint64_t op, uint64_t address, uint32_t stack, size_t size)
{
	w[0] = op | address << 8;
	if (rt_likely(size < HW_R_SIZE_BIG)) {
		w[1] = stack | (uint64_t)size << 32;
		return 2;
	}
	w[1] = stack | (uint64_t)HW_R_SIZE_BIG << 32;
	w[2] = size;
	return 3;
}

/* Writes the three words of a failed allocation. */
static inline void rt_put_failed(uint64_t *w, enum hw_alloc_kind kind, uint32_t stack, size_t size)
{
	w[0] = HW_R_FAILED | (uint64_t)kind << 8;
	w[1] = stack;
	w[2] = size;
}

/* Writes the two or three words of an annotation; returns how many. */
static inline uint32_t rt_put_annotation(
	uint64_t *w, bool with_stamp, enum hw_annotation what, uint64_t address, uint64_t bytes)
{
	w[0] = HW_R_ANNOTATION | (with_stamp ? HW_R_STAMPED : 0) | address << 8;
	w[1] = what | bytes << 8;
	w[2] = with_stamp ? sys_tsc_fenced() : 0;
	return with_stamp ? 3 : 2;
}

/* Writes the three words of an unmapping; returns how many. */
static inline uint32_t rt_put_unmap(uint64_t *w, uint64_t address, uint64_t bytes, uint64_t stamp)
{
	w[0] = HW_R_UNMAP | HW_R_STAMPED | address << 8;
	w[1] = bytes;
	w[2] = stamp;
	return 3;
}

/* Writes a mark, whose name has `bytes` bytes in the words `name`. Returns the number of words, at
 * most HW_R_WORDS_LONGEST. A mark always has a stamp: events after it without one are later. */
static inline uint32_t rt_put_mark(uint64_t *w, uint32_t bytes, const uint64_t *name)
{
	uint32_t n = 1;
	w[0] = HW_R_MARK | HW_R_STAMPED | (uint64_t)bytes << 8;
	for (uint32_t i = 0; i < bytes; i += 8)
		w[n++] = name[i / 8];
	w[n++] = sys_tsc_fenced();
	return n;
}

/* Writes the HW_R_WORDS_ERROR words of an error; returns how many. */
static inline uint32_t rt_put_error(
	uint64_t *w, enum hw_error_kind kind, const struct hw_error_report *report)
{
	const uint64_t *words = (const uint64_t *)(const void *)report;
	w[0] = HW_R_ERROR | HW_R_STAMPED | (uint64_t)kind << 8;
	for (uint32_t i = 0; i < HW_ERROR_WORDS; i++)
		w[1 + i] = words[i];
	w[1 + HW_ERROR_WORDS] = sys_tsc_fenced();
	return HW_R_WORDS_ERROR;
}

/* What an HW_R_POOL says. */
struct rt_pool_words {
	enum hw_pool_what what;
	uint32_t name_bytes;
	uint64_t pool, address, size;
	const uint64_t *name; /* HW_MARK_NAME_WORDS, if name_bytes is not 0 */
};

static inline uint32_t rt_pool_words_most(const struct rt_pool_words *pool)
{
	return pool->name_bytes ? HW_R_WORDS_LONGEST : HW_R_WORDS_POOL;
}

/* Writes what is said of a pool, in rt_pool_words_most() words at most; returns how many. */
static inline uint32_t rt_put_pool(uint64_t *w, const struct rt_pool_words *pool, uint32_t stack)
{
	uint32_t n = 4;
	w[0] = HW_R_POOL | HW_R_STAMPED | pool->address << 8;
	w[1] = (pool->pool & ((1ull << 56) - 1)) | (uint64_t)pool->what << 56;
	w[2] = pool->size;
	w[3] = stack | (uint64_t)pool->name_bytes << 32;
	for (uint32_t i = 0; i < pool->name_bytes; i += 8)
		w[n++] = pool->name[i / 8];
	w[n++] = sys_tsc_fenced();
	return n;
}

/* Counts one more dropped event. */
static inline void rt_ring_count_lost(struct hw_shm *shm, enum hw_lost why)
{
	__atomic_fetch_add(&shm->lost[why], 1, __ATOMIC_RELAXED);
}

/* Undoes what an unfinished event did to its ring. */
void rt_ring_recover(struct rt_thread *t);

/* Undoes what an unfinished event did to its ring, and ends the event. */
void rt_ring_abandon(struct rt_thread *t);

/* Waits until half of the ring is free, as a thread waits for room: for one that will not wait
 * for each event any more, in a ring that others may have filled, or it itself before. Returns
 * false if it gave up. */
bool rt_ring_wait_half(struct rt_thread *t);

/* Goes on as a new producer, which has seen so many changes of the mode, in the ring that the
 * thread has already. Not in an event of that ring. */
void rt_ring_renew(struct rt_thread *t, uint32_t changes);

/* Takes over ring number `index` of `shm`, with its words at `data`, for thread `tid`, which has
 * seen t->changes. The caller has changed its state from HW_RING_FREE. */
void rt_ring_attach(
	struct rt_thread *t, struct hw_shm *shm, uint32_t index, uint64_t *data, uint32_t tid);

#endif
