/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stamps (TSC) → nanoseconds since recording began. By the pair that SUMMARY has, else by two pairs
 * taken while recording, else by the frequency measured at the start.
 */
#ifndef SOURCES_HPW_CLOCK_H
#define SOURCES_HPW_CLOCK_H

#include <stdint.h>

struct hpw_clock {
	uint64_t tsc_start;
	uint64_t hz;                /* 0: unknown */
	uint64_t span_tsc, span_ns; /* so many stamps took so long; 0: unknown */
};

static inline uint64_t hpw_clock_ns(const struct hpw_clock *clock, uint64_t stamp)
{
	if (stamp <= clock->tsc_start)
		return 0;
	unsigned __int128 ns = stamp - clock->tsc_start;
	if (clock->span_tsc && clock->span_ns)
		ns = ns * clock->span_ns / clock->span_tsc;
	else if (clock->hz)
		ns = ns * 1000000000u / clock->hz;
	else
		return 0;
	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

#endif
