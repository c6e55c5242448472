/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two clocks of a recording: stamps of events, and nanoseconds. */
#ifndef CAPTURE_CLOCK_PAIR_H
#define CAPTURE_CLOCK_PAIR_H

#include <stdint.h>

/* The values of both clocks at one moment. */
struct clock_pair {
	uint64_t tsc, ns; /* CLOCK_MONOTONIC */
};
struct clock_pair clock_pair_now(void);

#endif
