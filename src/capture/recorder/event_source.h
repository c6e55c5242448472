/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a recorder's events come from. A source has lanes, and each lane has the records of one
 * thread at a time (format/shm.h says how they look), in order, in memory of a fixed size with a
 * free-running head and tail:
 *
 *     source ──▶ lane 0   ░░░░░▓▓▓▓▓▓▓▓░░░░    ▓ from tail to head: published, to be taken
 *                lane 1   ▓▓▓▓▓▓▓▓▓▓▓▓▓░░░░
 *                …
 *                shared   ░░▓▓▓▓▓░░░░░░░░░░    of threads without a lane; each record names its
 * thread
 *
 * The merge (merge.h) reads that memory itself: a source is called once for a lane in a pass and
 * once for thousands of words, never for an event. Everything that a source hands over may be
 * hostile, may change at any time, and is checked by the reader, unless it says otherwise here.
 *
 * Losses are reported in three ways: HW_R_LOST in a lane, where it happened; the totals of
 * `report`; and records that make no sense, which end their lane.
 *
 * Sampled events are as exact ones: the mode of the recording (mode.h) says what they stand for.
 */
#ifndef CAPTURE_EVENT_SOURCE_H
#define CAPTURE_EVENT_SOURCE_H

#include "capture/collector/clock_pair.h"
#include "format/hpw.h"
#include "format/shm.h"

#include <stdbool.h>
#include <stdint.h>

/* The shared lane counts, too. */
#define EVENT_LANES_MAX HW_RINGS
#define EVENT_THREAD_NAME_BYTES 16

/* The memory of a lane. Word number n is at index n modulo the size. */
struct event_lane {
	const uint64_t *words;
	uint32_t size; /* in words, a power of two */
	/* Where the producer's laps end, which a HW_R_PAD fills: a part of the size, and a power of
	 * two; 0: the size itself. */
	uint32_t lap;
};

/* A lane at a moment. */
struct event_look {
	uint64_t busy; /* not 0: a stamp may have been taken, the record of which is to come;
			  another value than before: it is another record */
	uint64_t head;
	uint32_t generation; /* changes with each new thread; all words of the old one are taken */
	uint32_t tid;        /* of the thread; 0: not known yet */
	uint64_t began;      /* the thread's first word, if words before are to be passed over */
	bool is_past;        /* it has only words of a recording before this one */
	bool is_over; /* what comes to it is of the recording after this one: `head` is the end of
			 this one's words, and `generation` not theirs */
};

/* A realloc that a lane's thread is in the middle of. */
struct event_realloc {
	uint64_t address; /* of the block */
	uint32_t stack;
};

struct event_module {
	uint64_t start, end, bias; /* end is not before start */
	uint32_t build_id_bytes;   /* at most 32 */
	uint32_t path_bytes;       /* memory that can be read */
	const char *path;          /* as long as the source */
	uint8_t build_id[32];
};

struct event_text {
	const char *data; /* as long as the source */
	uint32_t bytes;   /* that can be read; 0: it is not known */
};

struct event_line {
	uint32_t instruction, line;
};

/* Code in no loaded file; what each member is: FORMAT.md, CODE. */
struct event_code {
	enum hpw_frame_kind kind; /* not HPW_FRAME_NATIVE */
	uint32_t first_line;      /* 0: not known */
	struct event_text language, name, outer, signature, file, module;
	const struct event_line *lines; /* ascending by instruction; until the next call */
	uint32_t line_count;
};

/* What a source says of all that it has brought so far, besides the events. */
struct event_report {
	uint64_t lost[HW_LOST_REASONS]; /* events that were dropped, those of HW_R_LOST included */
	/* HPW_LOST_RING, HPW_LOST_TABLE and HPW_LOST_UNPROBED, likewise */
	uint64_t ring_full, tables_full, unprobed;
	uint64_t change_missed;                 /* events dropped at changes of the mode */
	uint64_t attached_later, attached_kept; /* struct hw_shm */
	uint64_t stacks_full;  /* events whose stack did not fit the table of nodes */
	uint64_t lost_notices; /* programs that were started and could not be reported */
	uint64_t longest_wait_ns, wait_ns; /* of threads for the recorder */
	uint64_t waits;                    /* how often they waited for room */
	uint64_t resident_bytes;           /* of the process at its end; 0: not known */
	uint64_t damaged;                  /* parts that can't be believed */
};

struct event_source;

/* Those marked so may be NULL: then there is nothing of that kind. `lane` is below the number of
 * lanes, the shared one included. */
struct event_source_ops {
	/* The lane's memory, which must not be moved. */
	void (*lane)(struct event_source *source, uint32_t lane, struct event_lane *ret);
	/* Now, as a stamp, and paired with CLOCK_MONOTONIC. */
	uint64_t (*stamp)(struct event_source *source);
	struct clock_pair (*clock)(struct event_source *source);

	/* Or NULL. A pass over the lanes begins, whose stamp() was taken just before: what
	 * is_called() says from now on is new. Here a source may fill its lanes. */
	void (*pass_begin)(struct event_source *source);
	/*
	 * What is in the lane; false: it has no thread, and nothing. Fetches `busy` first, then
	 * `head`, then the others: with the stamp of a moment before, whatever comes later to a
	 * lane that is not busy has a later stamp, less a margin (merge.h).
	 */
	bool (*look)(struct event_source *source, uint32_t lane, struct event_look *ret);
	/* Words before `tail` have been taken: their room is free. Called at least once a pass. */
	void (*taken)(struct event_source *source, uint32_t lane, uint64_t tail);
	/* Or NULL. A pass has taken nothing, because a thread is in the middle of an event: threads
	 * that wait for room are to go on waiting. */
	void (*waits)(struct event_source *source);

	/* Or NULL. Whether a pass is wanted before the next one is due. */
	bool (*is_called)(struct event_source *source);
	/* Or NULL. Whether a thread has found no lane since the last reclaim_begin(). */
	bool (*lanes_wanted)(struct event_source *source);
	/* Or NULL. Lanes whose threads have ended are looked for; each one found is released;
	 * `released` of them were. */
	void (*reclaim_begin)(struct event_source *source);
	void (*release)(struct event_source *source, uint32_t lane);
	void (*reclaim_end)(struct event_source *source, uint32_t released);

	/* Or NULL. Where the stack of the lane's thread begins, 0: not known; asks the thread to
	 * say by HW_R_STACK how deep it is from now on. */
	uint64_t (*stack_top)(struct event_source *source, uint32_t lane);
	/* Or NULL. The realloc that the lane's thread is in; false: none. */
	bool (*open_realloc)(struct event_source *source, uint32_t lane, struct event_realloc *ret);
	/* Or NULL. What the thread said that it is called; false: it has said nothing. */
	bool (*thread_name)(
		struct event_source *source, uint32_t tid, char ret[EVENT_THREAD_NAME_BYTES]);

	/* How many modules there are, number 0, "unknown", included; never fewer than before. And
	 * one of them, from number 1 on. */
	uint32_t (*module_count)(struct event_source *source);
	void (*module)(struct event_source *source, uint32_t number, struct event_module *ret);
	/* Or NULL, both: all frames are native. How many rows of code there are, number 0, "none",
	 * included; never fewer than before, and those of a node before the node. And one of them,
	 * from number 1 on. */
	uint32_t (*code_count)(struct event_source *source);
	void (*code)(struct event_source *source, uint32_t number, struct event_code *ret);
	/* Or NULL: what HW_R_LOST says is all that was lost. Adds to *ret, which begins as zeros,
	 * what there is to say so far. No single thread has waited longer than `duration_ns`. */
	void (*report)(struct event_source *source, uint64_t duration_ns, struct event_report *ret);
};

struct event_source {
	const struct event_source_ops *ops;
	uint64_t hz;          /* of stamps */
	uint32_t lanes;       /* of one thread each; below EVENT_LANES_MAX */
	bool has_shared;      /* lane number `lanes` is shared */
	uint32_t unused_most; /* after this many lanes without a thread in a row there is none with
				 one, unless it had one before */
	/* The stacks: each node has a parent with a smaller number; node 0 is the root. A record's
	 * stack is in the table before the record is published. */
	const struct hw_node *nodes;
	uint32_t nodes_max;    /* at most HW_NODES_MAX */
	const uint32_t *notes; /* enum hw_note, or'ed: a word that may change; never NULL */
};

static inline uint32_t event_source_notes(const struct event_source *source)
{
	return __atomic_load_n(source->notes, __ATOMIC_RELAXED);
}

static inline bool event_source_is_called(struct event_source *source)
{
	return source->ops->is_called && source->ops->is_called(source);
}

static inline bool event_source_lanes_wanted(struct event_source *source)
{
	return source->ops->lanes_wanted && source->ops->lanes_wanted(source);
}

#endif
