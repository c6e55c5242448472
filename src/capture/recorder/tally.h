/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counters of the process, of each site and of each thread, up to date after each event, so
 * that a report needs no replay. How an event counts is in accounts/accounts.h; here are the rows.
 *
 * What was counted since the last tally_part() is found as a site's share of the peak is, and as
 * cheaply: a part begins an epoch, too, and a site that changes for the first time in it first
 * saves its earlier figures in a list.
 */
#ifndef CAPTURE_TALLY_H
#define CAPTURE_TALLY_H

#include "accounts/accounts.h"
#include "format/hpw.h"
#include "format/kinds.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tally_site {
	uint32_t stack;
	uint32_t next;         /* another site of the same stack, + 1; 0: none */
	uint32_t last_count;   /* allocations of last_size that are not in `sizes` yet */
	uint8_t kind;          /* enum hw_alloc_kind */
	uint8_t free_kind;     /* enum hw_free_kind that matches it */
	SITE_COUNTERS_MEMBERS; /* extremes: of this part, if it changed in it */
	uint64_t seen;         /* epoch of the last change */
	uint64_t last_size;
};

/* A row of the table of threads: one thread, or, in a program that starts very many, several
 * threads, one after another. */
struct tally_thread {
	uint32_t tid;     /* of the latest */
	uint32_t threads; /* how many */
	uint32_t next_free;
	bool ended;
	bool in_realloc; /* its last step freed the old block of a realloc */
	bool fresh;      /* it has allocated nothing yet */
	char name[16];   /* of all of them, or empty */
	uint64_t first_stamp, last_stamp;
	CALL_COUNTERS_MEMBERS;
	uint64_t stack_bytes; /* largest size when it was last seen; 0: not known */
	uint64_t stack_used;  /* how far down it was used, as seen in its pages; 0: not known */
};

/* How many threads have a row of their own; later ones take over rows of ended threads. */
#define TALLY_ROWS_OWN (16u << 10)
/* Numbers of threads have 16 bits in struct live_place. */
#define TALLY_ROWS_MAX UINT16_MAX
#define TALLY_NO_ROW UINT32_MAX

struct tally_size {
	uint64_t size, allocations;
};

/* The counters of a site when the part began. */
struct tally_before {
	uint64_t site;
	struct site_counters counters;
};

/* How often each size was requested: open addressing; allocations 0: empty. */
struct tally_sizes {
	struct tally_size *places;
	size_t count, capacity;
};

struct tally {
	struct tally_site *sites;
	uint32_t site_count, site_capacity;
	uint32_t *site_of_stack; /* + 1; 0: none */
	uint32_t stack_capacity;
	struct tally_thread *threads;
	uint32_t thread_count, thread_capacity; /* of rows */
	uint32_t thread_free;                   /* a row to be taken over, or TALLY_NO_ROW */
	uint64_t threads_seen;
	struct tally_sizes sizes;
	uint64_t events, steps, repairs, lost, unknown_frees, mismatched;
	struct call_counters calls; /* of all threads; filled by tally_settle() */
	struct heap_counters heap;
	uint64_t peak_stamp;
	/* Since tally_part(). */
	bool parts;          /* it has been called */
	uint64_t part_epoch; /* the epoch that began with the part */
	struct tally_before *before;
	size_t before_count, before_capacity;
	struct tally_sizes part_sizes;
	bool part_failed; /* no memory: `before` and `part_sizes` lack something */
};

void tally_init(struct tally *tally);
void tally_deinit(struct tally *tally);

/* Returns the site of a stack and a kind, which is made if it is new; UINT32_MAX if there is no
 * memory or the file can't have more sites. */
uint32_t tally_site_new(struct tally *tally, uint32_t stack, enum hw_alloc_kind kind);
static inline uint32_t tally_site(struct tally *tally, uint32_t stack, enum hw_alloc_kind kind)
{
	if (stack < tally->stack_capacity && tally->site_of_stack[stack]) {
		uint32_t site = tally->site_of_stack[stack] - 1;
		if (__builtin_expect(tally->sites[site].kind == kind, 1))
			return site;
	}
	return tally_site_new(tally, stack, kind);
}

/* Returns the row of a new thread; UINT32_MAX if there is no memory, or there are more than
 * TALLY_ROWS_MAX threads at a time. */
uint32_t tally_thread_new(struct tally *tally, uint32_t tid, uint64_t stamp);

/* Ends a thread: its row may be taken over. */
void tally_thread_end(struct tally *tally, uint32_t thread);

void tally_alloc(
	struct tally *tally, uint32_t site, uint32_t thread, uint64_t size, uint64_t stamp);

struct tally_free {
	uint32_t site, thread; /* the block's site; the thread that frees it */
	uint64_t stamp;
	struct account_free block;
};
void tally_free(struct tally *tally, const struct tally_free *freed);

/* Handles the first change of a site in an epoch. */
void tally_catch_up_now(struct tally *tally, struct tally_site *s);

/* Called before a site changes. */
static inline void tally_catch_up(struct tally *tally, struct tally_site *s)
{
	if (__builtin_expect(s->seen != tally->heap.epoch, 0))
		tally_catch_up_now(tally, s);
}

/* Adds last_count of a site to the table of sizes. Most sites request the same size again and
 * again, so they count by themselves until another size comes. */
void tally_count_sizes(struct tally *tally, struct tally_site *site);

/* Counts an allocation at a site. `thread` are its thread's counters, which may be kept elsewhere.
 * Returns whether more is live now than ever before. */
static inline __attribute__((always_inline)) bool tally_count_alloc(struct tally *tally,
	struct tally_site *s, struct call_counters *thread, uint64_t size, uint64_t stamp)
{
	tally_catch_up(tally, s);
	/* At least one is counted, and one more can be. */
	bool same_size = size == s->last_size && s->last_count - 1u < UINT32_MAX - 1u;
	if (!same_size) {
		tally_count_sizes(tally, s);
		s->last_size = size;
	}
	s->last_count++;
	bool peak = account_alloc(&tally->heap, &s->counters, thread, size, same_size);
	if (peak)
		tally->peak_stamp = stamp;
	return peak;
}

/* Counts a free of a block of a site. */
static inline __attribute__((always_inline)) void tally_count_free(struct tally *tally,
	struct tally_site *s, struct call_counters *thread, const struct account_free *freed)
{
	tally_catch_up(tally, s);
	account_free(&tally->heap, &s->counters, thread, freed);
}

/*
 * Begins a part. From then on `before` has the earlier counters of each site that changed in the
 * part, part_sizes has the part's allocations, and heap.highest_bytes is that of the part. The data
 * of the previous part is dropped: min_size and max_size of its sites are those of all parts again.
 */
void tally_part(struct tally *tally);

/* Ends the last part. */
void tally_parts_end(struct tally *tally);

/* Adds the requested sizes to part_sizes (to `sizes` if there are no parts). */
void tally_settle_sizes(struct tally *tally);

void tally_failed(struct tally *tally, uint32_t site, uint64_t size);

/* Brings sums, sizes and every site's peak figures up to date; call before they are read. Ends a
 * part. */
void tally_settle(struct tally *tally);

#endif
