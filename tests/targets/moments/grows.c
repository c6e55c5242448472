/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory in the shapes that growth has names for, each from a function of its own: leaks() and
 * drips() keep growing and are freed at the end, caches() levels off, bursts() comes and goes,
 * churns() goes up and down, starts() is there from the beginning. Its next version, `grows_next`,
 * leaks twice as much in leaks(), no longer in drips(), and has a cache that never levels off.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 300

#ifdef NEXT
#define LEAKED_BYTES 2000
#define CACHED ROUNDS
#define DRIPS 0
#else
#define LEAKED_BYTES 1000
#define CACHED 100
#define DRIPS 1
#endif

static void *leaked[ROUNDS], *cached[CACHED], *dripped[ROUNDS], *churned[40], *burst[50],
	*started[20];
static int churning;

static __attribute__((noinline)) void leaks(int i)
{
	leaked[i] = malloc(LEAKED_BYTES);
}

static __attribute__((noinline)) void caches(int i)
{
	if (!cached[i % CACHED])
		cached[i % CACHED] = malloc(3000);
}

static __attribute__((noinline)) void drips(int i)
{
	dripped[i] = malloc(700);
}

static __attribute__((noinline)) void bursts(void)
{
	for (int i = 0; i < 50; i++)
		burst[i] = malloc(20000);
}

static __attribute__((noinline)) void churns(void)
{
	churned[churning++] = malloc(5000);
	if (churning < 40)
		return;
	while (churning)
		free(churned[--churning]);
}

static __attribute__((noinline)) void starts(void)
{
	for (int i = 0; i < 20; i++)
		started[i] = malloc(10000);
}

static void free_all(void **blocks, int count)
{
	for (int i = 0; i < count; i++)
		free(blocks[i]);
}

int main(void)
{
	const struct timespec round = {0, 3000000};
	starts();
	for (int i = 0; i < ROUNDS; i++) {
		leaks(i);
		caches(i);
		if (DRIPS)
			drips(i);
		churns();
		if (i == ROUNDS / 3)
			bursts();
		if (i == ROUNDS / 3 + 10)
			free_all(burst, 50);
		nanosleep(&round, NULL);
	}
	free_all(leaked, ROUNDS);
	free_all(cached, CACHED);
	free_all(dripped, ROUNDS);
	free_all(churned, churning);
	free_all(started, 20);
	return 0;
}
