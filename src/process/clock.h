/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time that only goes forward. */
#ifndef PROCESS_CLOCK_H
#define PROCESS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_SECOND 1000000000ull

static inline struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / NS_PER_SECOND), (long)(ns % NS_PER_SECOND)};
}

/* Returns CLOCK_MONOTONIC in nanoseconds. */
static inline uint64_t clock_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* Returns whether work is due that was done last at *last_ns, and notes that it is done now. */
static inline bool clock_is_due(uint64_t *last_ns, uint64_t every_ns)
{
	uint64_t now = clock_now_ns();
	if (now - *last_ns < every_ns)
		return false;
	*last_ns = now;
	return true;
}

#endif
