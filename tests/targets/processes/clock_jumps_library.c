/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For a preload: the clock of the wall jumps by ten years, to and fro, at each look, as if somebody
 * set it all the time. The clocks that nobody can set go on as they are.
 */
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t jump(time_t seconds)
{
	static int looks;
	return seconds + (__atomic_fetch_add(&looks, 1, __ATOMIC_RELAXED) & 1 ? 1 : -1) * 315360000;
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int failed = (int)syscall(SYS_clock_gettime, clock, ret);
	if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		ret->tv_sec = jump(ret->tv_sec);
	return failed;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
	int failed = (int)syscall(SYS_gettimeofday, ret, zone);
	if (!failed)
		ret->tv_sec = jump(ret->tv_sec);
	return failed;
}

time_t time(time_t *ret)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (ret)
		*ret = now.tv_sec;
	return now.tv_sec;
}
