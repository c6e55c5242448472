/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/collector/clock_pair.h"

#include <time.h>

/* Both clocks are read within this many ticks of one of them, unless that is too much to ask. */
#define PAIR_TICKS 5000u
#define PAIR_TRIES 8u

static uint64_t tsc_now(void)
{
	__builtin_ia32_lfence();
	return __builtin_ia32_rdtsc();
}

struct clock_pair clock_pair_now(void)
{
	struct clock_pair best = {0, 0};
	uint64_t least = UINT64_MAX;
	/* A thread that is interrupted between the two reads gets a pair that is wrong by that
	 * time.
	 */
	for (unsigned i = 0; i < PAIR_TRIES && least > PAIR_TICKS; i++) {
		struct timespec ts;
		uint64_t before = tsc_now();
		clock_gettime(CLOCK_MONOTONIC, &ts);
		uint64_t after = tsc_now();
		if (after - before >= least)
			continue;
		least = after - before;
		best.tsc = before + least / 2;
		best.ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	}
	return best;
}
