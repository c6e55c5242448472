/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of another process, through /proc/PID/mem: other ways pin pages, which unshares every
 * page of a snapshot. It needs the right to trace the process, but traces nothing.
 */
#ifndef PROCESS_MEMORY_H
#define PROCESS_MEMORY_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "process/maps.h"

/* How memory is read of a process that is not to notice: no page is brought into memory for it. */
struct process_memory_gently {
	uint64_t reads_left; /* at 0 nothing is read any more */
	bool ended;          /* something was not read for that */
};

struct process_memory {
	int memory, pages;               /* descriptors; pages: -1 if it may not be opened */
	int shared_pages;                /* of the process that shared memory is mapped by */
	const struct process_maps *maps; /* borrowed; or NULL */
	/* Set by a signal handler when nothing is to be read any more, so that a walk through
	 * memory ends soon; NULL: none. */
	const volatile sig_atomic_t *stopped;
	/* Pages that are not in memory are not read: those that were never touched are zeros, and
	 * of others nothing is known. NULL: all are read. Borrowed; for one thread. */
	struct process_memory_gently *gently;
};

/*
 * maps: of the process, so that pages that were never touched can be distinguished; or NULL. owner:
 * of a snapshot the process that it was made of, whose page tables alone tell that of shared
 * memory: what it has not touched there reads as zeros, because to read it would make it.
 */
struct error *process_memory_open(pid_t pid, pid_t owner, const struct process_maps *maps,
	struct process_memory *ret) must_check_;
void process_memory_close(struct process_memory *memory);

/* Reads up to `bytes` bytes at `address`; returns how many were read, fewer if the rest can't be.
 */
size_t process_memory_read(
	const struct process_memory *memory, uint64_t address, void *ret, size_t bytes);

/*
 * Returns how many bytes from `address` on, at most `bytes`, are pages of private memory that were
 * never touched (or are as in the file); 0 if none, or if that is unknown.
 */
size_t process_memory_untouched(
	const struct process_memory *memory, uint64_t address, size_t bytes);

#endif
