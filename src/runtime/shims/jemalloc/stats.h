/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Figures of the process's allocator for stats.*, where there is no real jemalloc to ask. */
#ifndef RUNTIME_SHIMS_JEMALLOC_STATS_H
#define RUNTIME_SHIMS_JEMALLOC_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JE_VERSION "5.3.0-heapwise"

/* In bytes; as of the last je_stats_refresh(). */
struct je_stats {
	size_t allocated, active, resident, mapped;
	bool known; /* the allocator is glibc's, which says them */
};

/* Reads them anew, as writing `epoch` does. Returns the number of the reading. */
uint64_t je_stats_refresh(void);
/* Returns those of the last reading; of the first one if there was none. */
struct je_stats je_stats_read(void);
uint64_t je_stats_epoch(void);
/* In a forked child: another thread may have held the lock in its parent. */
void je_stats_free_lock(void);

#endif
