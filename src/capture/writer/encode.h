/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns steps, in their global order, into the columns of an EVENTS chunk (format/FORMAT.md).
 * Streams of one thread stay together, since a thread repeats itself and a mixture of threads does
 * not; the order between threads is a column of its own.
 */
#ifndef CAPTURE_ENCODE_H
#define CAPTURE_ENCODE_H

#include "base/buf.h"
#include "capture/recorder/chunk_of_block.h"
#include "capture/writer/gaps.h"
#include "format/hpw.h"

#include <stdbool.h>
#include <stdint.h>

/* A chunk is closed at the latest after this many steps. */
#define ENCODE_STEPS_MAX (128u << 10)

/* Entries a thread: powers of two. It grows with what the thread does in a chunk, since most of
 * thousands of threads do little. */
#define ENCODE_MEMORY_FEW 16u
#define ENCODE_MEMORY_MORE 256u
#define ENCODE_MEMORY_MOST 2048u

/* What is remembered of a site. */
struct encode_memory {
	uint64_t key;      /* site + 1 | chunk << 32; another chunk: the entry is stale */
	uint32_t follower; /* site + 1; 0: unknown */
	uint32_t size;     /* UINT32_MAX: unknown */
};

struct encode_block {
	uint32_t owner, site; /* owner: thread that allocated it */
	uint64_t number, size;
};

/* Blocks of earlier chunks that a thread frees in this one: FORMAT.md, DEATHS. */
struct encode_deaths {
	struct buf rows;
	uint32_t site, birth; /* of the row before */
	uint64_t size;
};

struct encode_thread {
	bool ended;     /* goes when the chunk is closed */
	uint32_t chunk; /* the fields below are of this chunk, or stale */
	uint32_t slot;
	uint64_t first_allocation; /* allocations of the thread before the chunk */
	uint64_t tokens;
	uint32_t frees;               /* plain frees since the last token */
	uint32_t last_site;           /* + 1; 0: none yet */
	uint32_t first_follower;      /* of "none yet" */
	uint32_t memory_mask;         /* entries - 1 */
	uint32_t memory_grows;        /* at this many tokens */
	struct encode_memory *memory; /* `few`, or allocated */
	struct buf runs, token, sizes, refs, specials;
	struct encode_deaths deaths;
	struct encode_memory few[ENCODE_MEMORY_FEW];
};

struct encoder {
	struct encode_thread **threads;         /* by thread index; NULL: not seen yet */
	uint32_t thread_capacity, thread_count; /* count: of those that are not NULL */
	uint32_t *slots;                        /* thread index of each slot of this chunk */
	uint32_t slot_count, slot_capacity;
	uint32_t chunk; /* number of this chunk, from 1 */
	uint64_t first_step, steps;
	uint64_t first_stamp, last_stamp; /* of TIME */
	uint64_t not_before;              /* stamp of the next step, at least */
	struct buf order, time;
	struct gaps gaps;
	struct buf gap_rows;
	/* For what goes with the chunk into its sums. */
	bool with_deaths; /* from the first chunk on */
	struct block_chunks block_chunks;
	struct buf marks, mark_stamps, mark_blocks, mark_bytes; /* rows */
	uint32_t run_slot, run_length;
	bool failed; /* out of memory at some point */
};

void encoder_init(struct encoder *encoder);
void encoder_deinit(struct encoder *encoder);

/* allocations: how many this thread had before, which is the block's number. */
void encode_alloc(struct encoder *encoder, uint32_t thread, uint64_t allocations, uint32_t site,
	uint64_t size, uint64_t stamp);

struct encode_free {
	uint32_t thread;      /* that frees */
	uint64_t allocations; /* of that thread so far */
	bool known;
	uint32_t owner;  /* thread that allocated */
	uint64_t number; /* of the block there */
	uint32_t site;   /* of the block */
	uint64_t size;
	bool same_frame;
	int special_kind; /* enum hw_free_kind; -1: the one that matches the allocation */
	uint64_t stamp;
};
void encode_free(struct encoder *encoder, const struct encode_free *freed);

void encode_failed(struct encoder *encoder, uint32_t thread, uint64_t allocations, uint32_t site,
	uint64_t size, uint64_t stamp);
void encode_lost(struct encoder *encoder, uint32_t thread, uint64_t allocations, uint64_t count,
	uint64_t stamp);
struct encode_mark {
	const char *name;
	size_t name_bytes;
	uint64_t live_blocks, live_bytes; /* at that moment */
};
void encode_mark(struct encoder *encoder, uint32_t thread, uint64_t allocations,
	const struct encode_mark *mark, uint64_t stamp);
void encode_thread(struct encoder *encoder, uint32_t thread, uint64_t allocations,
	enum hpw_special start_or_end, uint64_t stamp);

/* All events before this stamp have been delivered. */
void encoder_idle(struct encoder *encoder, uint64_t stamp);

/* Never before was more live than from this step of the chunk on, which took place at `stamp`.
 * Returns the stamp under which the file knows it: a repaired order may make it a later one. */
static inline uint64_t encoder_peak(struct encoder *encoder, uint64_t step, uint64_t stamp)
{
	if (stamp < encoder->not_before)
		stamp = encoder->not_before;
	encoder->not_before = stamp;
	gaps_peak(&encoder->gaps, step, stamp);
	return stamp;
}

/* Returns whether a block of the thread was allocated in an earlier chunk. */
static inline bool encode_is_death(const struct encoder *encoder, uint32_t owner, uint64_t number)
{
	const struct encode_thread *t =
		owner < encoder->thread_capacity ? encoder->threads[owner] : NULL;
	return !t || t->chunk != encoder->chunk || number < t->first_allocation;
}

/* Notes that thread t freed such a block. */
void encode_death(
	struct encoder *encoder, struct encode_thread *t, const struct encode_block *block);

/* What comes next is of this thread. */
void encoder_close_turn(struct encoder *encoder);
static inline void encoder_turn(struct encoder *encoder, const struct encode_thread *t)
{
	if (__builtin_expect(encoder->run_slot != t->slot, 0)) {
		encoder_close_turn(encoder);
		encoder->run_slot = t->slot;
	}
}

/* Gives a thread that does much a larger memory; what it knew so far is forgotten. Before a run of
 * steps: it moves. */
void encode_remember_more(struct encode_thread *t);
static inline void encode_make_room(struct encode_thread *t)
{
	if (__builtin_expect(t->tokens >= t->memory_grows, 0))
		encode_remember_more(t);
}

static inline struct encode_memory *encode_remembered(
	const struct encoder *encoder, struct encode_thread *t, uint32_t site)
{
	struct encode_memory *m = &t->memory[site & t->memory_mask];
	uint64_t key = (site + 1) | (uint64_t)encoder->chunk << 32;
	if (__builtin_expect(m->key != key, 0))
		*m = (struct encode_memory){key, 0, UINT32_MAX};
	return m;
}

/* Appends the raw payload of the chunk to *ret, then starts the next chunk. now_*: META's pair of
 * clocks. */
bool encoder_finish(struct encoder *encoder, uint64_t now_tsc, uint64_t now_ns, struct buf *ret);

/* Forgets the chunk so far; then starts the next one. */
void encoder_drop(struct encoder *encoder);

#endif
