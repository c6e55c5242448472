/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the memory of a running process grows: which stacks touched the pages that it has now and
 * did not have at the start, and which ones changed its mappings. By page faults and system calls,
 * seen from the kernel by eBPF; allocations cost nothing. docs/watch.md.
 */
#ifndef CAPTURE_GROWTH_H
#define CAPTURE_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"
#include "capture/watch.h"

#define GROWTH_PAGE_BYTES 4096u

/* A stack that touched pages or made a system call. */
struct growth_stack {
	const uint64_t *frames; /* as those of struct watch_stack */
	unsigned frame_count;
	const char *call;   /* "mmap", …; NULL: it touched pages */
	bool is_overflow;   /* stands for all stacks that found no room */
	bool is_incomplete; /* the outermost frames are missing */
	bool is_guessed;    /* some frames were found by frame pointers */
	/* Pages that are in memory now and were not at the start, and which it touched last: */
	uint64_t pages;
	uint64_t along_pages; /* of those: it touched a neighbour, the kernel brought them too */
	uint64_t file_pages;  /* of those: in mappings of files */
	/* Since the start. */
	uint64_t more_calls, less_calls; /* that mapped, that unmapped or gave back */
	uint64_t more_bytes, less_bytes; /* of addresses, whether there was memory or not */
};
DEFINE_VEC(growth_stacks, struct growth_stack)

/* Pages of the process, and how they come to be. */
struct growth_sums {
	uint64_t pages, start_pages;     /* in memory, by its page tables */
	uint64_t counted, start_counted; /* by the kernel's counters (RSS) */
	uint64_t touched;                /* of stacks: new since the start */
	uint64_t gone;                   /* were there at the start */
	uint64_t unexplained;            /* new, and no fault was seen: populated, locked, pinned */
	uint64_t swapped;                /* swapped out now */
	bool has_ended; /* so `touched` is what was ever touched, given back or not, and the others
			   are 0 */
};
/* pages - start_pages = touched + unexplained - gone */

struct growth_losses {
	uint64_t pages;        /* faults whose page found no room: unexplained */
	uint64_t stacks;       /* faults and calls whose stack found no room */
	uint64_t threads;      /* faults and calls of threads that found no room */
	uint64_t rows_missing; /* of unwind tables */
	uint64_t programs;     /* that the process executed: the last one began with no page */
	uint64_t events, incomplete; /* faults that were seen, and those with incomplete stacks */
};

struct growth;

/*
 * Begins. What is in memory at that moment is the start. ERROR_INPUT: the process can't be
 * followed, ERROR_ENVIRONMENT: the kernel refuses.
 */
struct error *growth_open(pid_t pid, struct growth **ret) must_check_;
void growth_close(struct growth *growth);

static inline void growth_cleanup(struct growth **growth)
{
	growth_close(*growth);
}

/* To be called some ten times a second. *ret_ended: the process has ended. */
struct error *growth_poll(struct growth *growth, bool *ret_ended) must_check_;

/* A descriptor that can be read when growth_poll() should be called at once. */
int growth_fd(const struct growth *growth);

/*
 * Reads what there is now; takes about 20 ms for each GiB that the process has in memory. Stacks
 * are in the order of their discovery. Of a process that has ended, all pages count that it
 * touched.
 */
struct error *growth_look(struct growth *growth) must_check_;
const struct growth_stacks *growth_stacks_get(const struct growth *growth);
const struct growth_sums *growth_sums_get(const struct growth *growth);
const struct growth_losses *growth_losses_get(const struct growth *growth);

const struct watch_modules *growth_modules_get(const struct growth *growth);

#endif
