/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings of processes that allocated next to nothing, of which scripts and build tools leave
 * dozens. When the program ends, they become rows in its own recording (HPW_SMALL), and their files
 * are removed. A row says which process it was, how it ended, and its totals: it has the chunks
 * TARGET and SUMMARY of the file. It does not say where allocations were made.
 *
 * That is done at the end, since only then the largest recordings are known, which stay however
 * small they are. Until then, and if the collector is killed, everything is in files.
 */
#ifndef CAPTURE_SMALL_H
#define CAPTURE_SMALL_H

#include "capture/collector/lineage.h"
#include "capture/collector/tracked_process.h"

/* A recording is small if its peak and its duration are at most these. */
#define SMALL_PEAK_BYTES (256ull << 10)
#define SMALL_NS 10000000000ull
/* How many of the small ones stay, the largest. */
#define SMALL_KEPT 4u

struct small {
	char *file; /* owned */
	uint64_t peak_bytes, began_ns;
	uint64_t image, parent; /* numbers in the lineage; parent 0: none is named */
	uint64_t forks;
	bool is_process; /* no other recording of this process came before */
};
DEFINE_VEC(small_vec, struct small)

/* Returns whether a process ended with status 0 or by executing another program. */
bool small_ended_well(const struct recorder_end *end);

/* Returns whether a recording that was completed is small, ended well, and has nothing that a row
 * does not say. `empty`: only if it has no block left, because leaks are searched for. Notes one
 * that is. */
bool small_is(const struct tracked_process *process, const struct recorder_end *end,
	const struct recorder_totals *totals, bool empty);
void small_note(struct small_vec *list, const struct tracked_process *process,
	const struct recorder_totals *totals);

/*
 * Moves what is noted, but for those that stay, into a recording. Those whose files are gone
 * afterwards come first in the list: returns how many. What others name as their parent's, or may
 * yet, stays.
 */
size_t small_move(struct small_vec *list, struct lineage *lineage, struct recorder *into);

void small_deinit(struct small_vec *list);

#endif
