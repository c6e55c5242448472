/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory in the shapes that growth has names for, each from a function of its own: leaks() keeps
 * growing and is freed at the end, caches() levels off, bursts() comes and goes, churns() goes up
 * and down, starts() is there from the beginning.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 300

static void *leaked[ROUNDS], *cached[100], *churned[40], *burst[50], *started[20];
static int churning;

static __attribute__((noinline)) void leaks(int i)
{
	leaked[i] = malloc(1000);
}

static __attribute__((noinline)) void caches(int i)
{
	if (!cached[i % 100])
		cached[i % 100] = malloc(3000);
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
		churns();
		if (i == ROUNDS / 3)
			bursts();
		if (i == ROUNDS / 3 + 10)
			free_all(burst, 50);
		nanosleep(&round, NULL);
	}
	free_all(leaked, ROUNDS);
	free_all(cached, 100);
	free_all(churned, churning);
	free_all(started, 20);
	return 0;
}
