/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time axis of a recording, the same for every question about time: moments, series, ages,
 * lifetimes, exported curves.
 *
 *	0 ns             when recording began (HPW_TARGET_TSC_START)
 *	the end          when it ended, however long before that the last event was
 *	state at t       after all steps with a stamp of at most t: it lasts until the next stamp
 *
 * Stamps (TSC) become nanoseconds by the pair that SUMMARY has, else by two pairs taken while
 * recording, else by the frequency measured at the start.
 */
#ifndef SOURCES_HPW_CLOCK_H
#define SOURCES_HPW_CLOCK_H

#include <stdint.h>

struct hpw_clock {
	uint64_t tsc_start;
	uint64_t hz;                /* 0: unknown */
	uint64_t span_tsc, span_ns; /* this many stamps took so long; 0: unknown */
	uint64_t tsc_end; /* until then it was recorded, at least; 0: until the last event */
};

/* From a place in the order of steps to another; stamps are those of the moments as near as they
 * are known. */
struct hpw_span {
	uint64_t from_step, to_step;   /* to_step UINT64_MAX: the end */
	uint64_t from_stamp, to_stamp; /* to_stamp 0: that of the last step */
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

/* Returns the latest stamp that is not after a time. */
static inline uint64_t hpw_clock_stamp(const struct hpw_clock *clock, uint64_t ns)
{
	unsigned __int128 stamps = ns;
	if (clock->span_tsc && clock->span_ns)
		stamps = stamps * clock->span_tsc / clock->span_ns;
	else if (clock->hz)
		stamps = stamps * clock->hz / 1000000000u;
	else
		return clock->tsc_start;
	unsigned __int128 stamp = clock->tsc_start + stamps;
	return stamp > UINT64_MAX ? UINT64_MAX : (uint64_t)stamp;
}

/* Returns the end of a recording whose last event has that stamp, in ns. */
static inline uint64_t hpw_clock_end(const struct hpw_clock *clock, uint64_t last_stamp)
{
	return clock->tsc_end > last_stamp ? clock->tsc_end : last_stamp;
}

#endif
