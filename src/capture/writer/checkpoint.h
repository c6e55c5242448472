/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a recording whose events are not all kept would lack if its collector were killed: the sums.
 * So a state of them is written now and then, into places in the file that are used in turn
 * (format/FORMAT.md, CHECKPOINT): while one is overwritten another is whole. The file stays
 *bounded, since a place is used again as long as a state fits into it.
 *
 * Dropped: appending each state (the file grows for as long as the program runs); a second file
 * beside, renamed over the first (needs the right to write in the folder, and a name that still is
 * ours).
 *
 *	if (checkpoints_due(&c, now, steps)) {
 *		struct buf *content = checkpoints_begin(&c, now);
 *		…sealed chunks into it…
 *		error = checkpoints_end(&c, &writer, steps, later);
 *	}
 */
#ifndef CAPTURE_CHECKPOINT_H
#define CAPTURE_CHECKPOINT_H

#include "base/buf.h"
#include "capture/writer.h"

#include <stdbool.h>
#include <stdint.h>

/* A state is at most so old, if that costs no more than a fiftieth of the collector's time and
 * CHECKPOINT_BYTES_A_SECOND. */
#define CHECKPOINT_FIRST_NS 100000000ull
#define CHECKPOINT_NS 600000000ull
#define CHECKPOINT_BYTES_A_SECOND (4ull << 20)
/* With more blocks than that a state has no list of them. */
#define CHECKPOINT_LIVE_ROWS (64u << 10)
/* They grow by a half: more than any state needs. */
#define CHECKPOINT_PLACES 64

struct checkpoint_place {
	uint64_t at;     /* of the payload in the file */
	uint32_t bytes;  /* of the payload */
	uint64_t number; /* of the state that is there; 0: none that is whole */
};

struct checkpoints {
	struct checkpoint_place places[CHECKPOINT_PLACES];
	size_t count;
	uint64_t number; /* of the latest state, from 1; 0: there is none */
	uint64_t steps;  /* that it is about */
	uint64_t began_ns, due_ns;
	bool given_up; /* it is too large, or could not be written */
	struct buf content;
};

void checkpoints_init(struct checkpoints *checkpoints, uint64_t now_ns);
void checkpoints_deinit(struct checkpoints *checkpoints);

/* Returns whether it is time for another one: this many steps have been reported by now
 * (CLOCK_MONOTONIC).
 */
bool checkpoints_due(const struct checkpoints *checkpoints, uint64_t now_ns, uint64_t steps);

/* Where the state goes: chunks as writer_seal() makes them. Owned by the checkpoints. */
struct buf *checkpoints_begin(struct checkpoints *checkpoints, uint64_t now_ns);

/* Writes it. If that fails the states before stay, and there are no more; that is an error if the
 * file as a whole has failed. */
struct error *checkpoints_end(struct checkpoints *checkpoints, struct writer *writer,
	uint64_t steps, uint64_t now_ns) must_check_;

/* The recording is complete: gives back what they take on the disk. */
void checkpoints_finish(const struct checkpoints *checkpoints, struct writer *writer);

#endif
