/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of another process, through /proc/PID/mem: other ways pin pages, which unshares every
 * page of a snapshot. It needs the right to trace the process, but traces nothing.
 */
#ifndef PROCESS_MEMORY_H
#define PROCESS_MEMORY_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "process/maps.h"

struct process_memory {
	int memory, pages;               /* descriptors; pages: -1 if nobody may ask */
	int shared_pages;                /* of the process that shared memory is mapped by */
	const struct process_maps *maps; /* borrowed; or NULL */
	/* Where a signal's handler says that nothing is to be read any more, so that whoever goes
	 * through memory comes to its end; NULL: nobody says so. */
	const volatile sig_atomic_t *stopped;
};

/*
 * maps: of the process, so that pages that were never touched can be told apart; or NULL. owner: of
 * a snapshot the process that it was made of, whose page tables alone tell that of shared memory:
 * what it has not touched there reads as zeros, because to read it would make it.
 */
struct error *process_memory_open(pid_t pid, pid_t owner, const struct process_maps *maps,
	struct process_memory *ret) must_check_;
void process_memory_close(struct process_memory *memory);

/* Reads at most `bytes` from address on; returns how many: fewer where nothing can be read. */
size_t process_memory_read(
	const struct process_memory *memory, uint64_t address, void *ret, size_t bytes);

/*
 * How many bytes from address on, at most `bytes`, are pages of private memory that were never
 * touched (or are as they stand in the file). 0: not one, or nobody knows.
 */
size_t process_memory_untouched(
	const struct process_memory *memory, uint64_t address, size_t bytes);

#endif
