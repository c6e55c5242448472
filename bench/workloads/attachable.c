/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attachable MIB THREADS [WINDOWS [DEPTH]]: has so much memory in blocks of 64 KiB, and threads
 * that sleep. Says "ready PID". Each line of its input makes it say what a pair of malloc(64) and
 * free takes now: the least of many short windows, in ns of the thread's CPU time, so many calls
 * deep. Ends when its input does.
 */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCK ((size_t)64 << 10)
#define WINDOWS 400
#define PAIRS 20000

static int windows = WINDOWS, depth;

static void *volatile kept;

static void *sleep_on(void *unused)
{
	pause();
	return unused;
}

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static __attribute__((noinline)) double pair_ns(void)
{
	double start = now_ns();
	for (int i = 0; i < PAIRS; i++) {
		char *volatile block = malloc(64);
		*block = 1;
		free(block);
	}
	return (now_ns() - start) / PAIRS;
}

static __attribute__((noinline)) double least_ns(void)
{
	double least = pair_ns();
	for (int i = 1; i < windows; i++) {
		double ns = pair_ns();
		least = ns < least ? ns : least;
	}
	return least;
}

static __attribute__((noinline)) double least_ns_below(int calls)
{
	volatile double least = calls ? least_ns_below(calls - 1) : least_ns();
	return least;
}

int main(int argc, char **argv)
{
	size_t mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	int threads = argc > 2 ? atoi(argv[2]) : 0;
	windows = argc > 3 ? atoi(argv[3]) : windows;
	depth = argc > 4 ? atoi(argv[4]) : depth;
	char line[64];
	for (size_t i = 0; i < (mib << 20) / BLOCK; i++) {
		void **block = malloc(BLOCK);
		if (!block)
			return 1;
		memset(block, 1, BLOCK);
		*block = kept;
		kept = block;
	}
	for (int i = 0; i < threads; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, sleep_on, NULL))
			return 1;
	}
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		printf("%.3f\n", least_ns_below(depth));
		fflush(stdout);
	}
	return 0;
}
