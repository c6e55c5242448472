/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long the collector sleeps between two passes over the rings. A pass that finds little costs
 * more than that, and the processors are the program's; but no ring should fill meanwhile, and
 * what is compared with the counts should not be late.
 */
#ifndef CAPTURE_PACE_H
#define CAPTURE_PACE_H

#include "base/util.h"

#include <stdbool.h>
#include <stdint.h>

#define PACE_MIN_NS 300000
/* The longest after a pass that brings something, if counts are to be about a millisecond old. */
#define PACE_FEW_NS (PACE_MIN_NS << 2)
#define PACE_MAX_NS (PACE_MIN_NS << 5)
/* A quarter of the smallest ring: a pass that brings less is followed by a longer sleep. */
#define PACE_FEW_WORDS (1ul << 10)
#define PACE_SOME_WORDS (4 * PACE_FEW_WORDS) /* the shortest sleep follows */
#define PACE_BUSY_WORDS (1ul << 16)          /* the next pass follows at once */

/* Returns how long to sleep, in nanoseconds, after a sleep of `slept_ns` and a pass that brought at
 * most `words` of one process. `can_wait`: none of them minds the longest sleep. */
static inline uint64_t pace_sleep_ns(uint64_t slept_ns, uint64_t words, bool can_wait)
{
	uint64_t longest = can_wait || !words ? PACE_MAX_NS : PACE_FEW_NS;
	if (words > PACE_BUSY_WORDS)
		return 0;
	if (words >= PACE_SOME_WORDS || !slept_ns)
		return PACE_MIN_NS;
	return min(words < PACE_FEW_WORDS ? slept_ns * 2 : slept_ns, longest);
}

#endif
