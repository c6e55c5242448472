/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings of processes that allocated next to nothing, of which scripts and build tools leave
 * dozens: when the program ends, they are told as rows in its own recording (HPW_SMALL), and their
 * files go. A row has all that says who it was, how it ended, and its totals: the chunks TARGET and
 * SUMMARY as they stood in the file. Where allocations were made, it has not.
 *
 * That waits for the end, because only then it is known what the run is about: the largest
 * recordings stay, however small they are. Until then, and if the collector is killed, everything
 * is in files.
 */
#ifndef CAPTURE_SMALL_H
#define CAPTURE_SMALL_H

#include "capture/collector/lineage.h"
#include "capture/collector/subject.h"

/* What is small: at most so much at a time, and that for so long. */
#define SMALL_PEAK_BYTES (256ull << 10)
#define SMALL_NS 10000000000ull
/* So many of the small ones stay, the largest. */
#define SMALL_KEPT 4u

struct small {
	char *file; /* owned */
	uint64_t peak_bytes, began_ns;
	uint64_t image, parent; /* numbers in the lineage; parent 0: none is named */
	uint64_t forks;
	bool is_process; /* no other recording of this process came before */
};
DEFINE_VEC(small_vec, struct small)

/* With status 0, or by going on as another program. */
bool small_ended_well(const struct recorder_end *end);

/* Whether a recording that was completed is small, ended well, and has nothing that a row does not
 * say. `empty`: only if it has no block left, because leaks are searched for. Notes one that is. */
bool small_is(const struct subject *subject, const struct recorder_end *end,
	const struct recorder_totals *totals, bool empty);
void small_note(struct small_vec *list, const struct subject *subject,
	const struct recorder_totals *totals);

/*
 * Moves what is noted, but for those that stay, into a recording. Those whose files are gone
 * afterwards come first in the list: returns how many. What others name as their parent's, or may
 * yet, stays.
 */
size_t small_move(struct small_vec *list, struct lineage *lineage, struct recorder *into);

void small_deinit(struct small_vec *list);

#endif
